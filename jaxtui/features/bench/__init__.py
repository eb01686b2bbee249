"""The bench: cases that take turns, their report, command and tab."""
