"""Copies between all pairs of devices: how fast, and which pairs lag."""
