"""What was measured before, and two measurements beside each other."""
