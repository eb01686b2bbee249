"""Readers of XLA's output: traces of its profiler, programs, and the peaks of its
devices.
"""
