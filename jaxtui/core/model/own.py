"""Functions of a user's files: how they are named, and the arguments that are typed.

A case of such a function has ``op`` ``/path/to/file.py:name``. Its ``size`` is 0 and
its ``dtype`` empty until its arguments are known, because they decide both.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from jaxtui.core.model.mesh import NAMES

ARGUMENTS = "args"
"""The parameter of a case that holds its typed arguments, separated by blanks."""

ARGS, MAKE_ARGS, NUMPY = "_args", "make_args", "_numpy"
"""The names of what stands beside a function in its file: two endings, and one that
makes the arguments of all. ``jaxtui.tasks.own`` says what they do."""

XLA_DTYPES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "c64": "complex64",
    "c128": "complex128",
    "s64": "int64",
    "s32": "int32",
    "s16": "int16",
    "s8": "int8",
    "u64": "uint64",
    "u32": "uint32",
    "u16": "uint16",
    "u8": "uint8",
    "pred": "bool",
}
"""NumPy's names by those of XLA."""

_ALIASES = {f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)}
_NAMES = {**XLA_DTYPES, **_ALIASES, **{name: name for name in XLA_DTYPES.values()}}
_SPEC = re.compile(
    r"(\w+)\[\s*((?:\d+\s*(?:,\s*\d+\s*)*)?)\](?:\{[\d,]*\})?(?:@([\w,\-]*))?",
    re.ASCII,
)

WHOLE = "-"
"""The mark in place of an axis: the dimension is not divided."""

_BITS = re.compile(r"\d+")


class Spec(NamedTuple):
    """An argument that was typed."""

    dtype: str
    """NumPy's name of it."""
    shape: tuple[int, ...]
    axes: tuple[str, ...] = ()
    """Mesh axes that divide its dimensions, or ``WHOLE``; the rest is whole, too."""

    @property
    def elements(self) -> int:
        """The number of its elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return self.elements * itemsize(self.dtype)

    @property
    def text(self) -> str:
        """The spec as XLA writes it."""
        short = {name: xla for xla, name in XLA_DTYPES.items()}[self.dtype]
        axes = f"@{','.join(self.axes)}" if self.axes else ""
        return f"{short}[{','.join(map(str, self.shape))}]{axes}"


def is_own(op: str) -> bool:
    """Return whether an op is a function of a file: ``/path/to/file.py:name``."""
    return op.rpartition(":")[0].endswith(".py")


def parts(op: str) -> tuple[str, str]:
    """The path of the file, and the name of the function in it."""
    path, _, name = op.rpartition(":")
    return path, name


def short_name(op: str) -> str:
    """An op as it is shown: ``folder/file.py:name``; of the catalogue as it is.

    With the folder, because comparing two versions of a file is what this is for.
    """
    return "/".join(_in_a_line(op).split("/")[-2:]) if is_own(op) else op


def brief_name(op: str, columns: int = 24) -> str:
    """An op for where there is little room: ``file.py:name``, or ``file.py:one +2``.

    Args:
        op: of the catalogue, or ``/path/to/file.py:one,two,three``.
        columns: beyond which only the first of several names is written out.
    """
    if not is_own(op):
        return op
    path, names = parts(_in_a_line(op))
    file = path.rpartition("/")[2]
    first, *more = names.split(",")
    if more and len(file) + len(names) >= columns:
        return f"{file}:{first} +{len(more)}"
    return f"{file}:{names}"


def _in_a_line(op: str) -> str:
    """An op that is no sentence of its own, whatever its file is called."""
    return op.replace("\n", "\\n")


def itemsize(dtype: str) -> int:
    """Bytes of one number of a dtype."""
    bits = _BITS.search(dtype)
    return max(1, int(bits[0]) // 8) if bits else 1


def parse_spec(text: str) -> Spec:
    """The argument that a text such as ``f32[1024,1024]`` describes.

    A layout behind it, as in ``f32[8,128]{1,0}``, is ignored.

    Raises:
        ValueError: It describes none.
    """
    match = _SPEC.fullmatch(text.strip())
    dtype = _NAMES.get(match[1].lower()) if match else None
    if match is None or dtype is None:
        raise ValueError(text)
    shape = tuple(int(size) for size in match[2].split(",") if size.strip())
    axes = () if match[3] is None else tuple(match[3].lower().split(","))
    divided = [axis for axis in axes if axis != WHOLE]
    is_valid = set(divided) <= {*NAMES} and len(set(divided)) == len(divided)
    sharded = is_valid and divided and len(axes) <= len(shape)
    if 0 in shape or (match[3] is not None and not sharded):
        raise ValueError(text)
    return Spec(dtype, shape, axes)


def parse_specs(text: str) -> tuple[Spec, ...]:
    """The arguments of a case's parameter, as ``join_specs`` made it.

    Raises:
        ValueError: As for ``parse_spec``.
    """
    return tuple(parse_spec(part) for part in text.split())


def join_specs(specs: tuple[Spec, ...]) -> str:
    """Arguments as a case's parameter holds them."""
    return " ".join(spec.text for spec in specs)


def dtype_of(specs: tuple[Spec, ...]) -> str:
    """The dtype of a case with these arguments: the first that is floating-point."""
    dtypes = [spec.dtype for spec in specs]
    return next((dtype for dtype in dtypes if "float" in dtype), (dtypes or [""])[0])
