"""What XLA writes: traces of its profiler, programs, and what its devices can do."""
