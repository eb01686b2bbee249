"""What each capability says and draws, once, for every face."""
