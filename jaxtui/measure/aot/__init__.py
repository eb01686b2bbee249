"""Compiling ahead of time, for a TPU that is not here.

libtpu brings the TPU's compiler along with the runtime, and describes topologies
without a chip. Both run in a process of their own, ``entry``:
the compiler may abort, cannot be cancelled, and prints to fd 2; and the environment
that keeps it away from the machine's own TPU must be set before jax is imported.
"""
