"""Readers of XLA's output: traces, programs, and the peaks of its devices."""
