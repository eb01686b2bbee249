"""Reads the optimised program that a trace holds: instructions, work and lines.

The numbers of the fields are those of ``hlo.proto`` and ``xla_data.proto`` in
openxla/xla. They never change, where the text of a program and the private classes
that print it did between 0.6.2 and 0.12; and no JAX is needed, so that programs of a
TPU that is not here are read as well. Up to 0.7.2 an instruction says one line of the
source; later ones point into a table of stack frames, which has the whole stack.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from jaxtui.measure.wire import fields, integers, signed
from jaxtui.model import Precision

MOST_FRAMES = 100
"""Of a stack, as JAX's own limit; a damaged table could go round in circles."""

DEEPEST = 50
"""Of tuples in tuples, and of computations in computations."""

NO_WORK = frozenset(
    {
        "after-all",
        "bitcast",
        "broadcast",
        "constant",
        "copy",
        "get-tuple-element",
        "iota",
        "parameter",
        "partition-id",
        "replica-id",
        "reshape",
        "transpose",
        "tuple",
    }
)
"""Instructions inside of a kernel that only name, place or repeat values."""

_NOTHING = NO_WORK - {"broadcast", "copy", "iota", "transpose"}
"""Instructions that are no kernel where they stand alone."""

_UNCOUNTED = NO_WORK | {
    "all-gather",
    "all-to-all",
    "collective-permute",
    "concatenate",
    "convert",
    "custom-call",
    "dynamic-slice",
    "dynamic-update-slice",
    "gather",
    "pad",
    "reverse",
    "slice",
}
"""Instructions without arithmetic."""

WORK = {
    **dict.fromkeys(("divide", "remainder"), 14),
    **dict.fromkeys(("rsqrt", "sqrt"), 65),
    **dict.fromkeys(("exponential", "exponential-minus-one"), 85),
    **dict.fromkeys(("erf", "log", "log-plus-one", "logistic", "power", "tanh"), 90),
    **dict.fromkeys(("atan2", "cosine", "sine", "tan"), 270),
}
"""How much longer than a flop of a product an element takes; others take as long. As
measured on a CPU with AVX-512, in one fusion with a product."""

_SLICES = frozenset({"dynamic-slice", "gather", "slice"})

_IN_PLACE = {"dynamic-update-slice": 1, "scatter": 2}
"""Instructions that change their first operand in place, and which one is written."""

CONTROL = frozenset({"call", "conditional", "while"})
"""Instructions that run other computations as they stand."""

_CONTRACTED = re.compile(rb'"lhs_contracting_dimensions":\[([^]]*)\]')
_PRECISION = re.compile(rb'"operand_precision":\["(DEFAULT|HIGHEST|HIGH)"')
_PRECISIONS: tuple[Precision, ...] = ("default", "high", "highest")
"""By the numbers of ``PrecisionConfig``."""
_NUMBER = re.compile(rb"\d+")
"""Of the configuration of a product by cuBLAS, which is JSON."""

_DTYPES = (
    *("?", "pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "f32"),
    *("f64", "tuple", "opaque", "c64", "bf16", "token", "c128", "f8e5m2", "f8e4m3fn"),
    *("s4", "u4", "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "s2", "u2", "f8e4m3"),
    *("f8e3m4", "s1", "u1", "f4e2m1fn", "f8e8m0fnu"),
)
"""By the numbers of ``PrimitiveType``."""


_BITS = re.compile(r"[0-9]{1,3}")
"""In the name of a dtype."""


class Shape(NamedTuple):
    dtype: str
    dims: tuple[int, ...]
    parts: tuple[Shape, ...] = ()
    """Of a tuple."""

    @property
    def elements(self) -> int:
        if self.parts:
            return sum(part.elements for part in self.parts)
        return math.prod(self.dims)

    @property
    def nbytes(self) -> float:
        if self.parts:
            return sum(part.nbytes for part in self.parts)
        digits = _BITS.search(self.dtype)
        bits = 8 if self.dtype == "pred" else int(digits[0] if digits else 0)
        return self.elements * bits / 8

    def __str__(self) -> str:
        if self.parts:
            return f"({', '.join(map(str, self.parts))})"
        return f"{self.dtype}[{','.join(map(str, self.dims))}]"


NO_SHAPE = Shape("?", ())


class SourceLine(NamedTuple):
    """A frame of a stack."""

    file: str
    line: int
    function: str


class Instruction(NamedTuple):
    name: str
    opcode: str
    shape: Shape
    op_name: str
    """How JAX came to it: ``jit(step)/transpose(jvp())/dot_general``."""
    source: SourceLine | None
    frame: int
    """In the module's table; 0 for none."""
    id: int
    operands: tuple[int, ...]
    called: tuple[int, ...]
    """Computations: of a fusion what it fused, of a loop its body and condition."""
    fusion_kind: str
    contracted: tuple[int, ...]
    """Dimensions of the first operand that a product sums over, of a library's too."""
    precision: Precision
    """Of a product, as its first operand has it."""
    target: str
    """Of a custom call."""

    @property
    def is_product(self) -> bool:
        """Whether it multiplies matrices, or is a convolution; a library's too."""
        opcode = self.opcode.removesuffix("-start")
        return opcode in ("dot", "convolution") or bool(
            opcode == "custom-call" and self.contracted
        )


class Frame(NamedTuple):
    location: int
    parent: int


class Tables(NamedTuple):
    """Where instructions come from; all numbers begin with 1."""

    files: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    locations: tuple[tuple[int, int, int], ...] = ()
    """File, function and line."""
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class Program:
    """A module as a profile asks it."""

    entry: int
    computations: dict[int, tuple[Instruction, ...]]
    tables: Tables
    schedule: dict[int, tuple[int, ...]]
    """The instructions of computations in the order in which they run."""

    @cached_property
    def instructions(self) -> dict[str, Instruction]:
        """By their names, which are unique in a module."""
        every = self.computations.values()
        return {one.name: one for each in every for one in each}

    @cached_property
    def _by_id(self) -> dict[int, Instruction]:
        every = self.computations.values()
        return {one.id: one for each in every for one in each}

    @cached_property
    def holders(self) -> dict[str, frozenset[str]]:
        """The loops, branches and calls that an instruction runs in, by their names."""
        direct = {
            inner.name: outer.name
            for outer in self.instructions.values()
            if outer.opcode in CONTROL
            for called in outer.called
            for inner in self.computations.get(called, ())
        }
        found: dict[str, frozenset[str]] = {}
        for name in direct:
            outer, around = name, set[str]()
            while (outer := direct.get(outer, "")) and outer not in around:
                around.add(outer)
            found[name] = frozenset(around)
        return found

    def sequence(self) -> Iterator[Instruction]:
        """What runs, in that order; of a loop its body once, after the condition."""
        return self._sequence(self.entry, 0)

    def _sequence(self, computation: int, depth: int) -> Iterator[Instruction]:
        listed = self.computations.get(computation, ())
        order = self.schedule.get(computation, tuple(one.id for one in listed))
        if depth > DEEPEST:
            return
        for one in filter(None, map(self._by_id.get, order)):
            if one.opcode in CONTROL or (one.opcode.endswith("-start") and one.called):
                for called in reversed(one.called):
                    yield from self._sequence(called, depth + 1)
            elif one.opcode not in _NOTHING and not one.opcode.endswith("-done"):
                yield one

    def inside(self, outer: Instruction, depth: int = 0) -> Iterator[Instruction]:
        """What a kernel computes: of a fusion all that it fused, else itself."""
        if outer.opcode not in ("fusion", "call", "async-start") or depth > DEEPEST:
            yield outer
            return
        for called in outer.called:
            for inner in self.computations.get(called, ()):
                yield from self.inside(inner, depth + 1)

    def stack(self, instruction: Instruction) -> tuple[SourceLine, ...]:
        """The user's lines, the innermost first; empty where XLA made it up."""
        tables, found = self.tables, list[SourceLine]()
        place = instruction.frame
        while 0 < place <= len(tables.frames) and len(found) < MOST_FRAMES:
            frame = tables.frames[place - 1]
            if 0 < frame.location <= len(tables.locations):
                file, function, line = tables.locations[frame.location - 1]
                found.append(
                    SourceLine(
                        _at(tables.files, file), line, _at(tables.functions, function)
                    )
                )
            place = frame.parent
        if not found and instruction.source is not None:
            found.append(instruction.source)
        return tuple(found)

    def flops(self, kernel: Instruction) -> float:
        """Of one run, transcendentals as one each; of a loop 0: its body has them."""
        if kernel.opcode in CONTROL - {"call"}:
            return 0.0
        return sum(map(self._flops, self.inside(kernel)))

    def _flops(self, one: Instruction) -> float:
        opcode = one.opcode.removesuffix("-start")
        if one.is_product and opcode != "convolution":
            return 2.0 * _result(one).elements * self._summed(one)
        if opcode == "convolution":
            kernel = self._operand(one, 1)
            outputs = one.shape.dims[-1] if one.shape.dims else 1
            return 2.0 * one.shape.elements * kernel.elements / max(outputs, 1)
        if opcode in ("reduce", "reduce-window", "all-reduce", "reduce-scatter"):
            return float(self._operand(one, 0).elements)
        if opcode == "sort":
            size = self._operand(one, 0).elements
            return size * math.log2(max(size, 2))
        idle = opcode in _UNCOUNTED or opcode.endswith("-done") or one.called
        return 0.0 if idle else float(one.shape.elements)

    def product(self, kernel: Instruction) -> tuple[str, Precision] | None:
        """The dtype, as XLA names it, and the precision of what a kernel multiplies: of
        several products that of the largest.
        """
        products = [one for one in self.inside(kernel) if one.is_product]
        if not products or kernel.opcode in CONTROL - {"call"}:
            return None
        largest = max(products, key=self._flops)
        return self._operand(largest, 0).dtype, largest.precision

    def _summed(self, one: Instruction) -> int:
        dims = self._operand(one, 0).dims
        return math.prod(dims[place] for place in one.contracted if place < len(dims))

    def _operand(self, one: Instruction, place: int) -> Shape:
        if place >= len(one.operands) or one.operands[place] not in self._by_id:
            return NO_SHAPE
        return self._by_id[one.operands[place]].shape

    def bytes(self, kernel: Instruction) -> float:
        """Read and written by one run, each operand once, and of slices only they; of
        a loop 0.
        """
        if kernel.opcode in CONTROL - {"call"}:
            return 0.0
        if kernel.opcode == "fusion" and len(kernel.called) == 1:
            inside = self.computations.get(kernel.called[0], ())
            read = sum(
                self._read(each, inside)
                for each in inside
                if each.opcode == "parameter"
            )
            return read + (self._written(inside[-1]) if inside else 0.0)
        known = (self._by_id.get(operand) for operand in kernel.operands)
        read = sum(self._read(operand, (kernel,)) for operand in known if operand)
        return read + self._written(kernel)

    @staticmethod
    def _read(value: Instruction, users: Sequence[Instruction]) -> float:
        """How much of a value its users read."""
        names = {value.id}
        for each in users:
            if each.opcode in ("bitcast", "convert") and names & {*each.operands}:
                names.add(each.id)
        users = [
            each for each in users if each.id not in names and names & {*each.operands}
        ]
        first = all(each.operands[0] in names for each in users)
        if users and first and all(each.opcode in _SLICES for each in users):
            part = sum(each.shape.elements for each in users)
            return value.shape.nbytes * part / max(value.shape.elements, 1)
        if users and first and all(each.opcode in _IN_PLACE for each in users):
            return 0.0
        return value.shape.nbytes

    def _written(self, one: Instruction) -> float:
        if (update := _IN_PLACE.get(one.opcode)) is not None:
            return self._operand(one, update).nbytes
        return _result(one).nbytes

    def work(self, one: Instruction) -> float:
        """How a fusion's time is shared among what it fused: by flops, of which some
        take longer, and at least by the elements that each yields.
        """
        elements = float(one.shape.elements)
        return max(self._flops(one), elements * WORK.get(one.opcode, 1))


def _result(one: Instruction) -> Shape:
    """Of a library's product without its scratch memory."""
    if one.opcode == "custom-call" and one.contracted and one.shape.parts:
        return one.shape.parts[0]
    return one.shape


def _at(names: tuple[str, ...], number: int) -> str:
    return names[number - 1] if 0 < number <= len(names) else ""


def read(data: bytes) -> Program:
    """The program of a serialised ``HloProto``.

    Raises:
        ValueError: It is damaged, or none.
    """
    entry = 0
    computations: dict[int, tuple[Instruction, ...]] = {}
    tables = Tables()
    schedule: dict[int, tuple[int, ...]] = {}
    for number, value in fields(next(_messages(data, 1), b"")):
        if number == 3 and isinstance(value, bytes):
            at, instructions = _computation(value)
            computations[at] = instructions
        elif number == 6 and isinstance(value, int):
            entry = value
        elif number == 7 and isinstance(value, bytes):
            schedule = dict(map(_order, _messages(value, 1)))
        elif number == 17 and isinstance(value, bytes):
            tables = _tables(value)
    if not computations:
        raise ValueError("a program without computations")
    return Program(entry, computations, tables, schedule)


def _order(entry: bytes) -> tuple[int, tuple[int, ...]]:
    """A computation and its instructions as they run."""
    at, order = 0, list[int]()
    for number, value in fields(entry):
        if number == 1 and isinstance(value, int):
            at = value
        elif number == 2 and isinstance(value, bytes):
            for place, ids in fields(value):
                order += integers(ids) if place == 1 else ()
    return at, tuple(order)


def _messages(data: bytes, wanted: int) -> Iterator[bytes]:
    return (
        value
        for number, value in fields(data)
        if number == wanted and isinstance(value, bytes)
    )


def _computation(data: bytes) -> tuple[int, tuple[Instruction, ...]]:
    at, found = 0, []
    for number, value in fields(data):
        if number == 2 and isinstance(value, bytes):
            found.append(_instruction(value))
        elif number == 5 and isinstance(value, int):
            at = value
    return at, tuple(found)


_TEXTS = {1: "name", 2: "opcode", 11: "fusion_kind", 28: "target"}


def _instruction(data: bytes) -> Instruction:
    texts = dict.fromkeys(_TEXTS.values(), "")
    at, operands, called, contracted = 0, list[int](), list[int](), list[int]()
    shape, metadata, precision = NO_SHAPE, b"", 0
    for number, value in fields(data):
        if number == 36:
            operands += integers(value)
        elif number == 38:
            called += integers(value)
        elif isinstance(value, bytes):
            if number in _TEXTS:
                texts[_TEXTS[number]] = value.decode(errors="replace")
            elif number == 3:
                shape = _shape(value)
            elif number == 7:
                metadata = value
            elif number == 30:
                for place, dims in fields(value):
                    contracted += integers(dims) if place == 1 else ()
            elif number == 51:
                for place, config in fields(value):
                    precision = (
                        (integers(config) or [0])[0] if place == 1 else precision
                    )
            elif number == 43 and (known := _CONTRACTED.search(value)):
                contracted += map(int, _NUMBER.findall(known[1]))
                if named := _PRECISION.search(value):
                    precision = (b"DEFAULT", b"HIGH", b"HIGHEST").index(named[1])
        elif number == 35 and isinstance(value, int):
            at = value
    op_name, source, frame = _metadata(metadata)
    return Instruction(
        shape=shape,
        op_name=op_name,
        source=source,
        frame=frame,
        id=at,
        operands=tuple(operands),
        called=tuple(called),
        contracted=tuple(contracted),
        precision=_PRECISIONS[precision] if 0 <= precision < 3 else "default",
        **texts,
    )


def _metadata(data: bytes) -> tuple[str, SourceLine | None, int]:
    op_name, file, line, frame = "", "", 0, 0
    for number, value in fields(data):
        if number == 2 and isinstance(value, bytes):
            op_name = value.decode(errors="replace")
        elif number == 3 and isinstance(value, bytes):
            file = value.decode(errors="replace")
        elif number == 4 and isinstance(value, int):
            line = signed(value)
        elif number == 15 and isinstance(value, int):
            frame = signed(value)
    return op_name, SourceLine(file, line, "") if file else None, frame


def _shape(data: bytes, depth: int = 0) -> Shape:
    dtype, dims, parts = "?", list[int](), list[Shape]()
    if depth > DEEPEST:
        raise ValueError("a shape without end")
    for number, value in fields(data):
        if number == 2 and isinstance(value, int):
            dtype = _DTYPES[value] if value < len(_DTYPES) else "?"
        elif number == 3:
            dims += integers(value)
        elif number == 4 and isinstance(value, bytes):
            parts.append(_shape(value, depth + 1))
    return Shape(dtype, tuple(dims), tuple(parts))


def _tables(data: bytes) -> Tables:
    texts: dict[int, list[str]] = {1: [], 2: []}
    locations, frames = list[tuple[int, int, int]](), list[Frame]()
    for number, value in fields(data):
        if not isinstance(value, bytes):
            continue
        if number in texts:
            texts[number].append(value.decode(errors="replace"))
            continue
        known = dict(fields(value))
        first, second, third = (
            signed(one) if isinstance(one := known.get(place, 0), int) else 0
            for place in (1, 2, 3)
        )
        if number == 3:
            locations.append((first, second, third))
        elif number == 4:
            frames.append(Frame(first, second))
    return Tables(tuple(texts[1]), tuple(texts[2]), tuple(locations), tuple(frames))
