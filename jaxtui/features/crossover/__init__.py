"""The size from which on one way of running an op is faster than another."""
