"""What the ops of the catalogue take: seeded arrays, drawn and written out alike.

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

from jaxtui.model import ITEMSIZE

Array = npt.NDArray[Any]

CHUNK = 1 << 20
"""Elements drawn at once where a narrower dtype needs a float32 scratch buffer."""

PERIOD = 4_194_301
"""Elements after which normal data repeat; a prime, so that no two rows are alike."""

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
    """One argument of an op at one size."""

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

    Beyond ``PERIOD`` elements the data repeat: drawing a gigabyte takes many seconds,
    copying it a fraction of one, and no op here is faster on data that it has seen.
    """

    scale: float = 1.0
    """What the data are multiplied by, unless they are integers."""

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


class PositiveDefinite(Argument, frozen=True):
    """A Hermitian matrix whose eigenvalues are positive and within a factor of ten.

    Normal data X give X + Xᴴ, whose eigenvalues lie within ±2√2 √n where they are real
    and ±4 √n where complex (Wigner's semicircle), and a multiple of the identity lifts
    them. Nothing repeats, because repetition would widen that circle.
    """

    def fill(self, rng: np.random.Generator, out: Array, seed: int) -> None:
        """Draw, add the transpose in place, lift the diagonal."""
        _draw(rng, out.reshape(-1))
        out += out.conj().T
        out.reshape(-1)[:: len(out) + 1] += self._lift

    def code(self, case_dtype: str, seed: int) -> str:
        draw = draw_code(self.shape, case_dtype, repeats=False)
        identity = f"np.eye({self.shape[0]}, dtype=x.dtype)"
        return f"(lambda x: x + x.conj().T + {self._lift} * {identity})({draw})"

    @property
    def _lift(self) -> int:
        return 6 * math.isqrt(self.shape[0]) + 10


def _draw(rng: np.random.Generator, out: Array, scale: float = 1.0) -> None:
    if np.issubdtype(out.dtype, np.integer):
        low, high = -SMALL_INTEGER, SMALL_INTEGER + 1
        out[...] = rng.integers(low, high, out.shape, dtype=out.dtype)
        return
    direct = out.view(np.float32) if out.dtype == np.complex64 else out
    if direct.dtype in (np.float32, np.float64):
        rng.standard_normal(dtype=direct.dtype.type, out=direct)
        if scale != 1.0:
            out *= scale
        return
    for start in range(0, out.size, CHUNK):
        part = out[start : start + CHUNK]
        drawn = rng.standard_normal(part.size, dtype=np.float32)
        part[...] = drawn if scale == 1.0 else drawn * np.float32(scale)


def draw_code(
    shape: tuple[int, ...], dtype: str, scale: float = 1.0, *, repeats: bool = True
) -> str:
    """The expression that draws an array from ``rng``, in plain NumPy.

    Floating-point numbers are standard normal, times ``scale``; integers are small.
    Beyond ``PERIOD`` elements they repeat, unless they must not.
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
    scaled = "" if scale == 1.0 else f" * {scale!r}"
    if dtype.startswith("complex"):
        doubled = (*shape[:-1], 2 * shape[-1])
        part = "float32" if dtype == "complex64" else "float64"
        drawn = f"rng.standard_normal({doubled}, dtype=np.{part}).view(np.{dtype})"
        return f"{drawn}{scaled}"
    if dtype in ("float32", "float64"):
        return f"rng.standard_normal({shape}, dtype=np.{dtype}){scaled}"
    drawn = f"rng.standard_normal({shape}, dtype=np.float32)"
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
        """Nothing to write."""

    def code(self, case_dtype: str, seed: int) -> str:
        return f"np.empty({self.shape}, dtype={dtype_code(case_dtype)})"
