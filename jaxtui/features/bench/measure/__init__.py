"""Runs a bench: from the selection to measurements with notes."""
