"""The arguments of the ops of the catalogue: seeded arrays, drawn and written out
alike.

Each kind of argument knows how to fill a buffer and which line of plain NumPy does the
same, side by side, so that the printed script makes exactly the data that was timed.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import msgspec
import numpy as np
import numpy.typing as npt

from jaxtui.core.model import ITEMSIZE

Array = npt.NDArray[Any]

CHUNK = 1 << 20
"""Elements drawn at once where a narrower dtype needs a float32 scratch buffer."""

PERIOD = 262_139
"""Elements after which normal data repeat: a mebibyte of float32, which a cache keeps
while it is copied. A prime, so that each row of a matrix begins elsewhere in them."""

SMALL_INTEGER = 8
"""Integers are drawn from −8 to 8: products and sums stay inside the dtype."""

FOREIGN = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
"""The dtypes that NumPy does not have; ``ml_dtypes`` adds them to it."""


def as_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of a dtype name; some come from ``ml_dtypes``."""
    return np.dtype(getattr(ml_dtypes, name) if name in FOREIGN else name)


def dtype_code(name: str) -> str:
    return f"{'ml_dtypes' if name in FOREIGN else 'np'}.{name}"


class Argument(msgspec.Struct, frozen=True):
    """An argument of an op at one size."""

    shape: tuple[int, ...]

    def dtype(self, case_dtype: str) -> str:
        return case_dtype

    def elements(self) -> int:
        return math.prod(self.shape)

    def nbytes(self, case_dtype: str) -> int:
        return self.elements() * ITEMSIZE[self.dtype(case_dtype)]

    def fill(self, rng: np.random.Generator, out: Array, seed: int) -> None:
        """Write the seeded data into ``out``, which is C-contiguous."""
        raise NotImplementedError

    def code(self, case_dtype: str, seed: int) -> str:
        """The expression that makes the same data from ``rng`` in plain NumPy."""
        raise NotImplementedError

    def numpy_code(self, case_dtype: str, seed: int) -> str:
        """Like ``code``, for the NumPy form, which has no bfloat16 or float8."""
        code = self.code(case_dtype, seed)
        widened = self.dtype(case_dtype) in FOREIGN
        return f"{code}.astype(np.float32)" if widened else code


class Normal(Argument, frozen=True):
    """Standard normal data; small integers where the dtype is an integer.

    Beyond ``PERIOD`` elements the data repeat: drawing 2 × 67 million numbers takes 3
    to 7 s, copying them 0.2 s. Only a sort then takes another time, see ``Uniform``.
    """

    scale: float = 1.0
    """The factor of the data, unless they are integers."""

    def fill(self, rng: np.random.Generator, out: Array, seed: int) -> None:
        """Draw in the dtype itself where NumPy can, else in chunks of float32."""
        flat = out.reshape(-1)
        _draw(rng, flat[:PERIOD], self.scale)
        for start in range(PERIOD, flat.size, PERIOD):
            part = flat[start : start + PERIOD]
            part[...] = flat[: part.size]

    def code(self, case_dtype: str, seed: int) -> str:
        """The ``Generator`` call, narrowed where NumPy draws no such dtype."""
        return draw_code(self.shape, case_dtype, self.scale)


class Uniform(Argument, frozen=True):
    """Numbers from 0 to 1 that do not repeat; small integers where those are wanted.

    To sort 4 million floats of which each comes sixteen times took NumPy 0.041 s in
    place of 0.074, and XLA on a CPU 5.1 s in place of 4.2.
    """

    def fill(self, rng: np.random.Generator, out: Array, seed: int) -> None:
        """Draw in chunks, which are narrowed where NumPy draws no such dtype."""
        _draw(rng, out.reshape(-1), uniform=True)

    def code(self, case_dtype: str, seed: int) -> str:
        return draw_code(self.shape, case_dtype, repeats=False, uniform=True)


class PositiveDefinite(Argument, frozen=True):
    """A Hermitian matrix whose eigenvalues are positive and within a factor of ten.

    Each row is the one above, shifted by an element, so that 2 n numbers are enough
    (a Toeplitz matrix). Without its diagonal its eigenvalues lie between the extremes
    of a random trigonometric polynomial: ±7 √n for real and ±9.6 √n for complex numbers
    at n = 16,384, computed for ten seeds. The diagonal lifts them.
    """

    def fill(self, rng: np.random.Generator, out: Array, seed: int) -> None:
        """Draw what is right of the diagonal in the first row, and shift it."""
        side = np.empty(len(out) - 1, out.dtype)
        _draw(rng, side)
        diagonal = np.full(1, self._lift, out.dtype)
        line = np.concatenate([side[::-1].conj(), diagonal, side])
        out[...] = np.lib.stride_tricks.sliding_window_view(line, len(out))[::-1]

    def code(self, case_dtype: str, seed: int) -> str:
        (n, _) = self.shape
        draw = draw_code((n - 1,), case_dtype, repeats=False)
        line = f"[x[::-1].conj(), np.full(1, {self._lift}, x.dtype), x]"
        shifted = f"sliding_window_view(np.concatenate({line}), {n})[::-1].copy()"
        return f"(lambda x: np.lib.stride_tricks.{shifted})({draw})"

    @property
    def _lift(self) -> int:
        return 12 * math.isqrt(self.shape[0]) + 20


def _draw(
    rng: np.random.Generator, out: Array, scale: float = 1.0, *, uniform: bool = False
) -> None:
    if np.issubdtype(out.dtype, np.integer):
        low, high = -SMALL_INTEGER, SMALL_INTEGER + 1
        out[...] = rng.integers(low, high, out.shape, dtype=out.dtype)
        return
    draw = rng.random if uniform else rng.standard_normal
    direct = out.view(np.float32) if out.dtype == np.complex64 else out
    if direct.dtype in (np.float32, np.float64):
        draw(dtype=direct.dtype.type, out=direct)
        if scale != 1.0:
            out *= scale
        return
    for start in range(0, out.size, CHUNK):
        part = out[start : start + CHUNK]
        drawn = draw(part.size, dtype=np.float32)
        part[...] = drawn if scale == 1.0 else drawn * np.float32(scale)


def draw_code(
    shape: tuple[int, ...],
    dtype: str,
    scale: float = 1.0,
    *,
    repeats: bool = True,
    uniform: bool = False,
) -> str:
    """The expression that draws an array from ``rng``, in plain NumPy.

    Floating-point numbers are standard normal or ``uniform``, times ``scale``; integers
    are small. Beyond ``PERIOD`` elements they repeat, unless they must not.
    """
    if repeats and math.prod(shape) > PERIOD:
        return f"np.resize({draw_code((PERIOD,), dtype, scale)}, {shape})"
    if dtype == "bool":
        return f"rng.integers(0, 2, {shape}).astype(bool)"
    if "int" in dtype:
        low = 0 if dtype.startswith("u") else -SMALL_INTEGER
        return f"rng.integers({low}, {SMALL_INTEGER + 1}, {shape}, dtype=np.{dtype})"
    if not shape:  # of which NumPy draws a float of Python's
        return f"{draw_code((1,), dtype, scale)}.reshape(())"
    draw = "random" if uniform else "standard_normal"
    scaled = "" if scale == 1.0 else f" * {scale!r}"
    if dtype.startswith("complex"):
        doubled = (*shape[:-1], 2 * shape[-1])
        part = "float32" if dtype == "complex64" else "float64"
        drawn = f"rng.{draw}({doubled}, dtype=np.{part}).view(np.{dtype})"
        return f"{drawn}{scaled}"
    if dtype in ("float32", "float64"):
        return f"rng.{draw}({shape}, dtype=np.{dtype}){scaled}"
    drawn = f"rng.{draw}({shape}, dtype=np.float32)"
    if scaled:
        drawn = f"({drawn}{scaled})"
    return f"{drawn}.astype({dtype_code(dtype)})"


class Indices(Argument, frozen=True):
    """Random int32 indices below ``bound``; all different where ``unique``."""

    bound: int
    unique: bool = False

    def dtype(self, case_dtype: str) -> str:
        """Always int32, whatever is indexed."""
        return "int32"

    def fill(self, rng: np.random.Generator, out: Array, seed: int) -> None:
        """Draw with repetition, or one from each of as many equal stretches, shuffled.

        Permuting all of the range and taking the head would be several times slower.
        """
        count = out.size
        if self.unique:
            stride = self.bound // count
            out[...] = rng.permutation(np.arange(count, dtype=np.int32))
            out *= stride
            out += rng.integers(0, stride, count, dtype=np.int32)
        else:
            out[...] = rng.integers(0, self.bound, count, dtype=np.int32)

    def code(self, case_dtype: str, seed: int) -> str:
        (count,) = self.shape
        if self.unique:
            stride = self.bound // count
            starts = f"{stride} * rng.permutation(np.arange({count}, dtype=np.int32))"
            return f"{starts} + rng.integers(0, {stride}, {count}, dtype=np.int32)"
        return f"rng.integers(0, {self.bound}, {count}, dtype=np.int32)"


class Key(Argument, frozen=True):
    """The two words of a threefry key; NumPy gets a ``Generator`` instead."""

    shape: tuple[int, ...] = (2,)

    def dtype(self, case_dtype: str) -> str:
        """Key data are always 32-bit words."""
        return "uint32"

    def nbytes(self, case_dtype: str) -> int:
        return 8

    def fill(self, rng: np.random.Generator, out: Array, seed: int) -> None:
        """Write the words of ``jax.random.key(seed)``."""
        out[...] = self._words(seed)

    def code(self, case_dtype: str, seed: int) -> str:
        return f"np.array({list(self._words(seed))}, dtype=np.uint32)"

    def numpy_code(self, case_dtype: str, seed: int) -> str:
        """NumPy's own source of random numbers."""
        return f"np.random.default_rng({seed})"

    @staticmethod
    def _words(seed: int) -> tuple[int, int]:
        return (seed >> 32) & 0xFFFFFFFF, seed & 0xFFFFFFFF


class Like(Argument, frozen=True):
    """An array without elements that carries a length and a dtype into an op.

    The shape of a result must be known when JAX traces. An argument of shape ``(n, 0)``
    says it without a byte to transfer or to read.
    """

    def fill(self, rng: np.random.Generator, out: Array, seed: int) -> None:
        """Write nothing."""

    def code(self, case_dtype: str, seed: int) -> str:
        return f"np.empty({self.shape}, dtype={dtype_code(case_dtype)})"
