"""What a device has to compute rightly, and what is accepted as right."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtui.measure import ops
from jaxtui.measure.inputs import host_inputs
from jaxtui.measure.ops.arguments import Array
from jaxtui.model import PRECISIONS, Case, CheckLevel, Expected, Precision

VECTOR = 1 << 16
LONG_VECTOR = 1 << 20

SIZES, SIZES_ON_CPU = (512, 2048), (256, 512)
"""Of the products. Level quick takes the first."""


@dataclass(frozen=True, slots=True)
class Computation:
    """A case without a device."""

    op: str
    size: int
    dtype: str
    precision: Precision = "default"

    @property
    def what(self) -> str:
        """Its name in readings; the precision is said where it may matter."""
        rounded = self.dtype in ("float32", "complex64")
        chosen = ops.get(self.op).takes_precision and rounded
        suffix = f" {self.precision}" if chosen else ""
        return f"{self.op} {self.size} {self.dtype}{suffix}"

    @property
    def expected(self) -> Expected:
        """The largest accepted error against float64."""
        tolerance = ops.get(self.op).accepted_error(self.dtype, self.precision)
        source = "jaxtui's own bound on rounding errors"
        if tolerance == 0:
            source = "integers are computed exactly"
        elif tolerance > ops.get(self.op).tolerance[self.dtype]:
            source += ", whose inputs an accelerator may round at this precision"
        return Expected(value=tolerance, kind="most", source=source)

    def case(self, device: str) -> Case:
        """The case on a device."""
        return Case(
            op=self.op,
            size=self.size,
            dtype=self.dtype,
            precision=self.precision,
            device=device,
            mode="jit",
        )

    def inputs(self, seed: int) -> tuple[Array, ...]:
        """The arguments on the host, the same for every device."""
        return host_inputs(ops.get(self.op), self.size, self.dtype, seed)


def computations(platform: str, level: CheckLevel) -> tuple[Computation, ...]:
    """What devices of a platform are tested with, the most important first.

    Each is compiled for every device, so ``quick`` has few: products in the dtypes that
    matter, large enough for the matrix units of an accelerator, an exponential and a
    sum. ``full`` has every dtype.
    """
    return _full(platform) if level == "full" else _quick(platform)


def _quick(platform: str) -> tuple[Computation, ...]:
    size = _sizes(platform)[0]
    # A TPU has no units for float16.
    halves = ("bfloat16",) if platform in ("cpu", "tpu") else ("bfloat16", "float16")
    return (
        *(Computation("matmul", size, dtype) for dtype in halves),
        *(
            Computation("matmul", size, "float32", precision)
            for precision in _precisions(platform, "float32")
            if precision != "high"
        ),
        Computation("matmul", size, "int8"),
        Computation("selu", VECTOR, "float32"),
        Computation("sum", VECTOR, "float32"),
    )


def _full(platform: str) -> tuple[Computation, ...]:
    products = tuple(
        Computation("matmul", size, dtype, precision)
        for size in _sizes(platform)
        for dtype in _wide_last(ops.get("matmul").dtypes)
        for precision in _precisions(platform, dtype)
    )
    others = tuple(
        Computation(op, LONG_VECTOR, dtype)
        for op in ("selu", "sum")
        for dtype in _wide_last(ops.get(op).dtypes)
    )
    # In this order, and each once.
    return tuple(dict.fromkeys((*_quick(platform), *products, *others)))


def _sizes(platform: str) -> tuple[int, ...]:
    return SIZES_ON_CPU if platform == "cpu" else SIZES


def _precisions(platform: str, dtype: str) -> tuple[Precision, ...]:
    """Those that make a difference: a CPU computes float32 as it is."""
    if dtype not in ("float32", "complex64"):
        return ("default",)
    if platform == "cpu":
        return ("highest",)
    return PRECISIONS if dtype == "float32" else ("default", "highest")


def _wide_last(dtypes: tuple[str, ...]) -> tuple[str, ...]:
    """float64 last: a TPU emulates it, which takes long to compile."""
    return (*(one for one in dtypes if one != "float64"), "float64")
