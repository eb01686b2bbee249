"""Loops of calls as host and device see them, for one user and for a class."""
