"""Run a program, and find mistakes in how it times JAX."""
