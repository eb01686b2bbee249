"""Where the time of a step goes, by line of the source."""
