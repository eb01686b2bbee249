"""The words of jaxtui (modes, inputs, dtypes, phases), the error of who types none of
them, and what every record is.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

Mode = Literal["numpy", "eager", "jit", "pallas", "tensorflow"]
"""The way to execute an op: NumPy, JAX op by op, compiled with ``jax.jit``, as a kernel
written in Pallas (compiled with ``jax.jit``), or TensorFlow's own NumPy."""

Inputs = Literal["device", "host"]
"""The place of arguments before each call: resident on the device, or NumPy arrays."""

Precision = Literal["default", "high", "highest"]
"""The ``precision`` of JAX matrix products; other ops have only ``default``."""

Phase = Literal["transfer", "trace", "lower", "compile", "first_call", "fetch"]
"""A clock outside the rounds."""

Stopped = Literal["target", "budget", "noise floor", "cancelled", "crashed"]
"""The reason why sampling ended."""

MODES: tuple[Mode, ...] = get_args(Mode)
USUAL_MODES: tuple[Mode, ...] = ("numpy", "eager", "jit")
"""The modes of every op of the catalogue."""
HOST_MODES: tuple[Mode, ...] = ("numpy", "tensorflow")
"""The modes that run on the host, whatever devices JAX has."""
COMPILED_MODES: tuple[Mode, ...] = ("jit", "pallas")
"""The modes that are traced, lowered and compiled before they run."""
INPUTS: tuple[Inputs, ...] = get_args(Inputs)
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
PHASES: tuple[Phase, ...] = get_args(Phase)
DTYPES: tuple[str, ...] = (
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "int32",
    "int8",
    "complex64",
)
"""Every dtype that some op of the catalogue accepts, widest real dtype first."""

HOST = "host"
"""The device and the inputs of a case that JAX does not run."""

ITEMSIZE: dict[str, int] = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "int32": 4,
    "int8": 1,
    "complex64": 8,
    "complex128": 16,
}
"""Bytes of one element, by dtype name; of results, too."""


class Record(msgspec.Struct, frozen=True):
    """Base of every record: immutable and compared by value."""


_encoder = msgspec.json.Encoder()


def encoded(record: object) -> bytes:
    """JSON; what is no UTF-8, as in the name of a file, has its bytes written out."""
    try:
        return _encoder.encode(record)
    except UnicodeEncodeError:
        return _encoder.encode(_utf8(msgspec.to_builtins(record)))


def _utf8(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_utf8(name): _utf8(item) for name, item in value.items()}
    return [*map(_utf8, value)] if isinstance(value, (list, tuple)) else value


class WithBudget(Record, frozen=True):
    """Base of what an engine is asked to measure within a budget."""

    @property
    def budget(self) -> float:
        """The budget in seconds."""
        seconds: float = self.budget_seconds  # type: ignore[attr-defined]
        return seconds


def dtype_label(dtype: str, precision: Precision) -> str:
    """``float32``, or ``float32 highest``."""
    return dtype if precision == "default" else f"{dtype} {precision}"
