"""An op of the catalogue."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax import Device as JaxDevice

from jaxtui.core.model import ITEMSIZE, MODES, Arithmetic, Mode, OpInfo, Precision
from jaxtui.tasks.ops.arguments import Argument, Array, Indices, Normal

Rows = slice | Array
"""Rows of a result: all of them, or the given ones in order."""

JaxForm = Callable[..., jax.Array]

FLOATS = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn")
INTEGERS = ("int32", "int8")
NUMBERS = (*FLOATS, *INTEGERS, "complex64")

EXACT: Mapping[str, float] = dict.fromkeys(NUMBERS, 0.0)
"""Tolerances of ops that only move data."""


def tolerances(*of_floats: float) -> Mapping[str, float]:
    """Map dtypes to tolerances, those of ``FLOATS`` in order; complex64 has that of
    float32, integers are exact.
    """
    by_dtype = dict(zip(FLOATS, of_floats, strict=True))
    return by_dtype | {"complex64": by_dtype["float32"]} | dict.fromkeys(INTEGERS, 0.0)


ARITHMETIC = tolerances(1e-14, 2e-6, 1e-2, 5e-2, 2e-1)
"""Tolerances of a few roundings per element."""

TRANSCENDENTAL = tolerances(1e-10, 1e-4, 1e-2, 5e-2, 2e-1)
"""Tolerances of exponentials, which accelerators approximate by a few units in the last
place."""

PRODUCT = tolerances(1e-11, 1e-4, 1e-2, 5e-2, 1e-2)
"""Tolerances of matrix products, whose rounding errors grow with the square root of n.
Those of float8 are added up in float32, or in the matrix unit's own format."""

TF32_TOLERANCE = 5e-3
"""The tolerance of products whose inputs are rounded to TF32 (10 bits) or to three
bfloat16."""


MAX_INDEX = 2**31 - 1
"""Indices are int32."""


def wide(array: Array) -> Array:
    """The array in float64 or complex128; indices and other integers exactly so."""
    return array.astype(np.complex128 if np.iscomplexobj(array) else np.float64)


def in_float64(form: Callable[..., Array]) -> Callable[..., Array]:
    """The reference of an op whose rows are its NumPy form of its arguments' rows."""
    return lambda rows, *args: form(*(wide(arg[rows]) for arg in args))


def square(size: int) -> tuple[int, ...]:
    return (size, size)


def vector(size: int) -> tuple[Argument, ...]:
    """The argument of an op whose size is a number of elements."""
    return (Normal((size,)),)


def matrix(size: int) -> tuple[Argument, ...]:
    """The argument of an op whose size is n of n×n."""
    return (Normal(square(size)),)


def sum_dtype(dtype: str) -> str:
    """The results of sums: int32 of integers and float32 of float8, which overflow."""
    if dtype == "float8_e4m3fn":
        return "float32"
    return "int32" if dtype in INTEGERS else dtype


def no_count(size: int) -> float | None:
    """XLA's count of an op that it does in ways of its own, or through a library."""
    return None


def counted(
    of_n: Callable[[int], float], *, complex_times: float = 1
) -> Callable[[int, str], float]:
    """Flops by size and dtype: those of real numbers, and so many times for complex.

    Complex arithmetic is counted in real operations; XLA counts a complex one as one.
    """

    def flops(size: int, dtype: str) -> float:
        times = complex_times if dtype.startswith("complex") else 1
        return float(times * of_n(size))

    return flops


@dataclass(frozen=True, kw_only=True)
class Op:
    """A named computation: its inputs, its forms, its flops and bytes.

    The forms are self-contained: their source is what the printed script shows, so they
    use nothing but their arguments, ``jax``, ``jnp``, ``lax`` and ``np``. ``jax`` is
    written out of primitives, so that running it eagerly really is op by op.
    """

    name: str
    summary: str
    """A plain sentence."""
    size_means: str = "number of elements"
    """The quantity that the size counts."""
    dtypes: tuple[str, ...] = NUMBERS
    minimum: int = 1
    default: int
    maximum: int = 1 << 28
    """The sensible range of sizes; ``minimum`` is enforced, ``maximum`` is advice."""
    arguments: Callable[[int], tuple[Argument, ...]] = vector
    """The arguments at a size."""
    result_shape: Callable[[int], tuple[int, ...]] = lambda size: (size,)
    result_dtype: Callable[[str], str] = lambda dtype: dtype
    flops_formula: str
    """``flops`` for people."""
    flops: Callable[[int, str], float | None] = lambda _size, _dtype: None
    """Floating-point (or integer) operations of a call, by size and dtype; ``None``
    where none are counted."""
    arithmetic: Arithmetic = "flops"
    """The kind of work: ``flops``, or the reason why there are none to count."""
    bytes_formula: str
    """``bytes`` for people."""
    traffic: Callable[[int, str], float] | None = None
    """``bytes``, where that leaves small arguments or results out."""
    numpy: Callable[..., Any]
    """The NumPy form; takes what ``inputs.numpy_inputs`` gives."""
    jax: JaxForm
    """The JAX form; takes JAX arrays, and ``precision`` where ``takes_precision``."""
    pallas: JaxForm | None = None
    """The op as a kernel; takes JAX arrays and ``platform``, which decides about block
    sizes and, on ``cpu``, for interpret mode. Imports Pallas itself, because the engine
    should not wait for that at its start."""
    tensorflow: Callable[..., Any] | None = None
    """TensorFlow's form; takes ``tensorflow.experimental.numpy`` and tensors of it."""
    takes_precision: bool = False
    lacks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By platform, the dtypes that XLA refuses there."""
    xla_flops: Callable[[int], float | None] | None = None
    """XLA's count of flops at a size where it is not the formula; ``None`` where the
    count says nothing about the work."""
    temporaries: Callable[[int, str], float] = lambda _size, _dtype: 0.0
    """Bytes, beyond results, that no form of the op does without."""
    effort: float = 1.0
    """The factor by which a call is slower than its bytes suggest, where the work is
    not counted in flops; it only predicts which calls are slow."""
    symmetric: bool = False
    """NumPy recognises the symmetry and does half of the flops."""
    tolerance: Mapping[str, float]
    """Largest accepted error against float64, relative to the largest reference
    magnitude, by dtype; for a product that is computed in full precision."""
    reference: Callable[..., Array] | None
    """``reference(rows, *inputs)``: those rows of the result in float64, or ``None``
    where there is nothing to compare with."""
    rows_axis: int = 0
    """The axis of the result along which those rows are chosen."""
    checked: Callable[[Rows, Array], Array] | None = None
    """``checked(rows, result)``: what is compared with the reference in place of the
    rows of the result, where the latter cannot be computed one by one."""

    @property
    def forms(self) -> dict[Mode, Callable[..., Any]]:
        """The function of every mode that it has."""
        forms = (self.numpy, self.jax, self.jax, self.pallas, self.tensorflow)
        return {mode: form for mode, form in zip(MODES, forms, strict=True) if form}

    def info(self) -> OpInfo:
        return OpInfo(
            name=self.name,
            summary=self.summary,
            size_means=self.size_means,
            dtypes=self.dtypes,
            flops=self.flops_formula,
            arithmetic=self.arithmetic,
            largest=self._largest,
            bytes=self.bytes_formula,
            minimum=self.minimum,
            default=self.default,
            maximum=self.maximum,
            takes_precision=self.takes_precision,
            modes=tuple(self.forms),
        )

    @property
    def _largest(self) -> int | None:
        arguments = self.arguments(self.minimum)
        indexed = any(isinstance(argument, Indices) for argument in arguments)
        return MAX_INDEX if indexed else None

    def bind(
        self,
        precision: Precision = "default",
        *,
        send_to: JaxDevice | None = None,
        kernel_on: str = "",
    ) -> JaxForm:
        """A fresh function of the op's arguments alone.

        JAX keys its caches on the function object, so only a new one is traced, lowered
        and compiled again.

        Args:
            precision: Ignored by an op that takes none.
            send_to: Send the arguments to this device in every call. An eager call with
                NumPy arguments needs it, or NumPy's own operators would do the work.
            kernel_on: The Pallas kernel for this platform; interpreted on ``cpu``.
        """
        form, options = self.jax, dict[str, Any]()
        if kernel_on:
            form, options = self.forms["pallas"], {"platform": kernel_on}
        elif self.takes_precision and precision != "default":
            options = {"precision": precision}

        def bound(*args: Any) -> jax.Array:
            if send_to is not None:
                args = jax.device_put(args, send_to)
            return form(*args, **options)

        bound.__name__ = bound.__qualname__ = self.name
        return bound

    def bytes(self, size: int, dtype: str) -> float:
        """Ideal traffic of a call: each input read once, each result written once."""
        if self.traffic is not None:
            return self.traffic(size, dtype)
        return self.input_bytes(size, dtype) + self.result_bytes(size, dtype)

    def input_bytes(self, size: int, dtype: str) -> int:
        return sum(argument.nbytes(dtype) for argument in self.arguments(size))

    def result_bytes(self, size: int, dtype: str) -> int:
        elements = math.prod(self.result_shape(size))
        return elements * ITEMSIZE[self.result_dtype(dtype)]

    def counted_flops(self, size: int) -> float | None:
        """Return the flops that XLA should count for one call, or ``None`` where they
        say nothing.

        XLA counts a complex operation as one.
        """
        if self.xla_flops is not None:
            return self.xla_flops(size)
        return self.flops(size, "float32")

    def rounds(self, dtype: str) -> bool:
        """Return whether an accelerator may round its inputs, as ``precision`` says."""
        return self.takes_precision and dtype in ("float32", "complex64")

    def accepted_error(self, dtype: str, precision: Precision = "default") -> float:
        """The tolerance of a case.

        ``jax.lax.Precision`` lets an accelerator round the inputs of a float32 product:
        to bfloat16 by default on a TPU, to TF32 on a GPU, to three bfloat16 or TF32 at
        ``high``.
        """
        tolerance = self.tolerance[dtype]
        if self.rounds(dtype):
            if precision == "default":
                return max(tolerance, self.tolerance["bfloat16"])
            if precision == "high":
                return max(tolerance, TF32_TOLERANCE)
        return tolerance
