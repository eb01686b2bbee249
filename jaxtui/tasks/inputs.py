"""Seeded inputs of a case, laid out so that a transfer really copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxtui.tasks.ops.arguments import FOREIGN, Array, Key, as_dtype
from jaxtui.tasks.ops.base import Op

ALIGNMENT = 64
"""XLA takes over a host buffer without a copy when its address is a multiple of it."""

OFFSET = 16
"""Bytes past a 64-byte boundary at which inputs begin: enough for every dtype, too
little for zero-copy, and where NumPy's large arrays lie, behind the header of glibc's
own pages."""


def numpy_dtype(dtype: str) -> str:
    """The dtype in which NumPy runs a case: it has no bfloat16 or float8."""
    return "float32" if dtype in FOREIGN else dtype


def misaligned_copy(array: Array) -> Array:
    """A fresh copy whose address keeps ``jax.device_put`` from aliasing it."""
    copy = _allocate(array.shape, array.dtype)
    copy[...] = array
    return copy


def random_bytes(nbytes: int, seed: int) -> Array:
    """A mebibyte, repeated: no link of a TPU or GPU compresses. Copied as above."""
    array = _allocate((nbytes,), np.dtype(np.uint8))
    drawn = np.random.default_rng(seed).bytes(min(nbytes, 2**20))
    for begin in range(0, nbytes, 2**20):
        part = array[begin : begin + 2**20]
        part[:] = np.frombuffer(drawn, np.uint8, len(part))
    return array


def host_inputs(op: Op, size: int, dtype: str, seed: int) -> tuple[Array, ...]:
    """The seeded arguments of a case in its own dtype, not aligned to 64 bytes.

    Zero-copy is a matter of the address alone, and NumPy's addresses are a lottery: one
    and the same "transfer" of 200 MB takes 26 µs or 66 ms. These always copy.
    """
    rng = np.random.default_rng(seed)
    arrays = []
    for argument in op.arguments(size):
        array = _allocate(argument.shape, as_dtype(argument.dtype(dtype)))
        argument.fill(rng, array, seed)
        arrays.append(array)
    return tuple(arrays)


def numpy_inputs(op: Op, size: int, dtype: str, seed: int) -> tuple[Any, ...]:
    """Return the same values for the NumPy form, where a NumPy program has them.

    bfloat16 and float8 values come as float32, and a key as a ``Generator``.
    """
    arguments = op.arguments(size)
    dtypes = [numpy_dtype(argument.dtype(dtype)) for argument in arguments]
    if any(isinstance(argument, Key) for argument in arguments):
        return tuple(
            np.random.default_rng(seed)
            if isinstance(argument, Key)
            else np.empty(argument.shape, name)
            for argument, name in zip(arguments, dtypes, strict=True)
        )
    arrays = []
    for array, name in zip(host_inputs(op, size, dtype, seed), dtypes, strict=True):
        own = array
        if array.dtype != name:
            own = _allocate(array.shape, np.dtype(name))
            own[...] = array
        arrays.append(own)
    return tuple(arrays)


def _allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An uninitialised array whose address is ``OFFSET`` beyond a multiple of 64."""
    count = int(np.prod(shape, dtype=np.int64))
    room = np.empty(count * dtype.itemsize + 2 * ALIGNMENT, np.uint8)
    start = (OFFSET - room.ctypes.data) % ALIGNMENT
    return room[start : start + count * dtype.itemsize].view(dtype).reshape(shape)
