"""The cases that lessons are made of: float32, and NumPy where NumPy runs."""

from __future__ import annotations

from jaxtui.model import HOST, Case, Inputs, Mode


def numpy(op: str, size: int, dtype: str = "float32") -> Case:
    """The op in NumPy on the host."""
    return Case(op=op, size=size, dtype=dtype, device=HOST, mode="numpy", inputs="host")


def jax(
    device: str,
    op: str,
    size: int,
    mode: Mode = "jit",
    inputs: Inputs = "device",
    dtype: str = "float32",
) -> Case:
    """The op in JAX on a device."""
    return Case(op=op, size=size, dtype=dtype, device=device, mode=mode, inputs=inputs)
