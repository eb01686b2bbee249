"""Reads an optimised program, of a trace or compiled here: instructions, work, lines.

The numbers of the fields are those of ``hlo.proto`` and ``xla_data.proto`` in
openxla/xla. They never change, where the text of a program and the private classes
that print it did between 0.6.2 and 0.12; and no JAX is needed, so that programs of a
TPU that is not here are read as well. Up to 0.7.2 an instruction says one line of the
source; later ones point into a table of stack frames, which has the whole stack.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from jaxtui.core.model import Precision
from jaxtui.core.model.profile import Frame
from jaxtui.core.model.programs import Exchanged, Fusion
from jaxtui.xla.proto import Proto, entry

MOST_FRAMES = 100
"""Most frames of a stack, as JAX's own limit; a damaged table could go round in
circles."""

DEEPEST = 50
"""Computations in computations."""

IDLE = {
    *("after-all", "bitcast", "constant", "get-tuple-element", "parameter"),
    *("partition-id", "replica-id", "tuple"),
}
"""Instructions that name or rearrange values and do nothing on the device."""

NO_WORK = IDLE | {"broadcast", "copy", "iota", "reshape", "transpose"}
"""Instructions inside of a kernel that only name, place or repeat values."""

_UNCOUNTED = NO_WORK | {
    *("all-gather", "all-to-all", "collective-permute", "concatenate", "convert"),
    *("custom-call", "dynamic-slice", "dynamic-update-slice", "gather", "pad"),
    *("reverse", "slice"),
}
"""Instructions without arithmetic."""

WORK = {
    **dict.fromkeys(("divide", "remainder"), 14),
    **dict.fromkeys(("rsqrt", "sqrt"), 65),
    **dict.fromkeys(("exponential", "exponential-minus-one"), 85),
    **dict.fromkeys(("erf", "log", "log-plus-one", "logistic", "power", "tanh"), 90),
    **dict.fromkeys(("atan2", "cosine", "sine", "tan"), 270),
}
"""The time of an element relative to a flop of a product; other opcodes take 1. As
measured on a CPU with AVX-512, in one fusion with a product."""

_SLICES = frozenset({"dynamic-slice", "gather", "slice"})

_IN_PLACE = {"dynamic-update-slice": 1, "scatter": 2}
"""Instructions that change their first operand in place, and which one is written."""

CONTROL = frozenset({"call", "conditional", "while"})
"""Instructions that run other computations as they stand."""

COLLECTIVES = {
    *("all-gather", "all-reduce", "all-to-all", "collective-broadcast"),
    *("collective-permute", "ragged-all-to-all", "reduce-scatter"),
}

_CONTRACTED = re.compile(rb'"lhs_contracting_dimensions":\[([^]]*)\]')
_PRECISION = re.compile(rb'"operand_precision":\["(DEFAULT|HIGHEST|HIGH)"')
_PRECISIONS: tuple[Precision, ...] = ("default", "high", "highest")
"""The precisions by the numbers of ``PrecisionConfig``."""
_NUMBER = re.compile(rb"\d+")
"""A number in the configuration of a product by cuBLAS, which is JSON."""

_DTYPES = (
    *("?", "pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "f32"),
    *("f64", "tuple", "opaque", "c64", "bf16", "token", "c128", "f8e5m2", "f8e4m3fn"),
    *("s4", "u4", "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "s2", "u2", "f8e4m3"),
    *("f8e3m4", "s1", "u1", "f4e2m1fn", "f8e8m0fnu"),
)
"""The dtypes by the numbers of ``PrimitiveType``."""


_BITS = re.compile(r"[0-9]{1,3}")
"""The bits in the name of a dtype."""


class Shape(NamedTuple):
    dtype: str
    dims: tuple[int, ...]
    parts: tuple[Shape, ...] = ()
    """The parts of a tuple."""

    def leaves(self) -> Iterator[Shape]:
        """The arrays of a tuple."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()

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


class Metadata(NamedTuple):
    op_name: str = ""
    """JAX's path to it: ``jit(step)/transpose(jvp())/dot_general``."""
    file: str = ""
    line: int = 0
    frame: int = 0
    """The number of the frame in the program's table; 0 for none."""


class Groups(NamedTuple):
    """Devices that exchange something; ``None`` where that is not told."""

    groups: int | None = None
    participants: int | None = None
    text: str = "{}"
    """The groups as XLA writes them."""


class Instruction(NamedTuple):
    name: str
    opcode: str
    shape: Shape
    metadata: Metadata = Metadata()
    id: int = 0
    operands: Sequence[int] = ()
    called: Sequence[int] = ()
    """Computations: of a fusion what it fused, of a loop its body and condition."""
    fusion_kind: str = ""
    target: str = ""
    """The target of a custom call."""
    dot: Sequence[int] = ()
    """Dimensions of the first operand that a product sums over."""
    precisions: Sequence[int] = ()
    """The precisions of the operands of a product, as places in ``_PRECISIONS``."""
    config: bytes = b""
    """JSON of the compiler's backend: of a library's product its dimensions."""
    groups: Groups = Groups()
    pairs: Sequence[tuple[int, int]] = ()
    """Sources and targets of a permutation."""

    @property
    def contracted(self) -> Sequence[int]:
        """Dimensions of the first operand that a product sums over, of a library's
        too.
        """
        if match := _CONTRACTED.search(self.config):
            return [*self.dot, *map(int, _NUMBER.findall(match[1]))]
        return self.dot

    @property
    def precision(self) -> Precision:
        """The precision of a product, as its first operand has it."""
        place = self.precisions[0] if self.precisions else 0
        match = _PRECISION.search(self.config)
        if match and _CONTRACTED.search(self.config):
            place = (b"DEFAULT", b"HIGH", b"HIGHEST").index(match[1])
        return _PRECISIONS[place] if 0 <= place < 3 else "default"

    @property
    def is_product(self) -> bool:
        """Return whether it is a matrix product or a convolution, or a library's."""
        opcode = self.opcode.removesuffix("-start")
        return opcode in ("dot", "convolution") or bool(
            opcode == "custom-call" and self.contracted
        )


@dataclass(frozen=True)
class Program:
    entry: int
    computations: Mapping[int, Sequence[Instruction]]
    tables: tuple[Sequence[str], Sequence[str], Sequence[Any], Sequence[Any]]
    """Files, functions, locations (file, function and line) and frames (location and
    the next outer frame), each of which the others count from 1."""
    schedule: Mapping[int, Sequence[int]]
    """The instructions of computations in the order in which they run."""

    @cached_property
    def instructions(self) -> dict[str, Instruction]:
        """The instructions by name, which is unique in a module."""
        every = self.computations.values()
        return {inner.name: inner for group in every for inner in group}

    @cached_property
    def _by_id(self) -> dict[int, Instruction]:
        every = self.computations.values()
        return {inner.id: inner for group in every for inner in group}

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
        holders: dict[str, frozenset[str]] = {}
        for name in direct:
            outer, around = name, set[str]()
            while (outer := direct.get(outer, "")) and outer not in around:
                around.add(outer)
            holders[name] = frozenset(around)
        return holders

    def running(
        self, through: Container[str] = CONTROL | {"async-start"}
    ) -> Iterator[Instruction]:
        """Yield the instructions in the order of running; a loop's body once, after the
        condition.

        Args:
            through: opcodes of the instructions that run others.
        """
        return self._running(self.entry, through, 0)

    def _ordered(self, computation: int) -> Iterable[Instruction]:
        if (order := self.schedule.get(computation)) is not None:
            return filter(None, map(self._by_id.get, order))
        return self.computations.get(computation, ())

    def _running(
        self, computation: int, through: Container[str], depth: int
    ) -> Iterator[Instruction]:
        for inner in self._ordered(computation) if depth <= DEEPEST else ():
            if inner.opcode in through and inner.called:
                for called in reversed(inner.called):
                    yield from self._running(called, through, depth + 1)
            elif inner.opcode not in IDLE and not inner.opcode.endswith("-done"):
                yield inner

    def inside(self, outer: Instruction, depth: int = 0) -> Iterator[Instruction]:
        """Yield the instructions of a kernel: all that a fusion fused, else itself."""
        if outer.opcode not in ("fusion", "call", "async-start") or depth > DEEPEST:
            yield outer
            return
        for called in outer.called:
            for inner in self.computations.get(called, ()):
                yield from self.inside(inner, depth + 1)

    def _fused(self, fusion: Instruction) -> Sequence[Instruction]:
        return self.computations.get(fusion.called[0], ()) if fusion.called else ()

    def stack(self, instruction: Instruction) -> tuple[Frame, ...]:
        """The user's lines, the innermost first; empty where XLA made it up."""
        stack = list[Frame]()
        files, functions, locations, frames = self.tables
        _, source, line, place = instruction.metadata
        while 0 < place <= len(frames) and len(stack) < MOST_FRAMES:
            location, place = frames[place - 1]
            if 0 < location <= len(locations):
                file, function, number = locations[location - 1]
                names = _at(files, file), _at(functions, function)
                stack.append(Frame(file=names[0], line=number, function=names[1]))
        if not stack and source:
            stack.append(Frame(file=source, line=line, function=""))
        return tuple(stack)

    def flops(self, kernel: Instruction) -> float:
        """Return the flops of a run, a transcendental as one; a loop has none."""
        if kernel.opcode in CONTROL - {"call"}:
            return 0.0
        return sum(map(self._flops, self.inside(kernel)))

    def _flops(self, instruction: Instruction) -> float:
        opcode = instruction.opcode.removesuffix("-start")
        if instruction.is_product and opcode != "convolution":
            return 2.0 * _result(instruction).elements * self._summed(instruction)
        if opcode == "convolution":
            kernel = self._operand(instruction, 1)
            outputs = instruction.shape.dims[-1] if instruction.shape.dims else 1
            return 2.0 * instruction.shape.elements * kernel.elements / max(outputs, 1)
        if opcode in ("reduce", "reduce-window", "all-reduce", "reduce-scatter"):
            return float(self._operand(instruction, 0).elements)
        if opcode == "sort":
            size = self._operand(instruction, 0).elements
            return size * math.log2(max(size, 2))
        idle = opcode in _UNCOUNTED or opcode.endswith("-done") or instruction.called
        return 0.0 if idle else float(instruction.shape.elements)

    def product(self, kernel: Instruction) -> tuple[str, Precision] | None:
        """The dtype, as XLA names it, and the precision of what a kernel multiplies: of
        several products that of the largest.
        """
        products = [inner for inner in self.inside(kernel) if inner.is_product]
        if not products or kernel.opcode in CONTROL - {"call"}:
            return None
        largest = max(products, key=self._flops)
        return self._operand(largest, 0).dtype, largest.precision

    def _summed(self, product: Instruction) -> int:
        dims = self._operand(product, 0).dims
        return math.prod(
            dims[place] for place in product.contracted if place < len(dims)
        )

    def _operand(self, user: Instruction, place: int) -> Shape:
        if place >= len(user.operands) or user.operands[place] not in self._by_id:
            return NO_SHAPE
        return self._by_id[user.operands[place]].shape

    def bytes(self, kernel: Instruction) -> float:
        """Read and written by one run, each operand once, and of slices only they; of
        a loop 0.
        """
        if kernel.opcode in CONTROL - {"call"}:
            return 0.0
        if kernel.opcode == "fusion" and (inside := self._fused(kernel)):
            read = sum(
                self._read(inner, inside)
                for inner in inside
                if inner.opcode == "parameter"
            )
            return read + self._written(inside[-1])
        operands = (self._by_id.get(operand) for operand in kernel.operands)
        read = sum(self._read(operand, (kernel,)) for operand in operands if operand)
        return read + self._written(kernel)

    @staticmethod
    def _read(value: Instruction, users: Sequence[Instruction]) -> float:
        """Return the elements of a value that its users read."""
        names = {value.id}
        for user in users:
            if user.opcode in ("bitcast", "convert") and names & {*user.operands}:
                names.add(user.id)
        users = [
            user for user in users if user.id not in names and names & {*user.operands}
        ]
        first = all(user.operands[0] in names for user in users)
        if users and first and all(user.opcode in _SLICES for user in users):
            part = sum(user.shape.elements for user in users)
            return value.shape.nbytes * part / max(value.shape.elements, 1)
        if users and first and all(user.opcode in _IN_PLACE for user in users):
            return 0.0
        return value.shape.nbytes

    def _written(self, instruction: Instruction) -> float:
        if (update := _IN_PLACE.get(instruction.opcode)) is not None:
            return self._operand(instruction, update).nbytes
        return _result(instruction).nbytes

    def work(self, instruction: Instruction) -> float:
        """Return the share of a fusion's time for one of its instructions: by flops, of
        which some take longer, and at least by the elements that it yields.
        """
        elements = float(instruction.shape.elements)
        return max(self._flops(instruction), elements * WORK.get(instruction.opcode, 1))

    def kernels(self) -> dict[str, int]:
        """The instructions of the entry computation that do something, by their opcode.

        Each is a kernel of its own, or a copy; what XLA fused lies inside a ``fusion``.
        The two halves of an asynchronous one, such as ``copy-start`` and ``copy-done``,
        count once, under the name of both. A loop counts once, whatever its body holds.
        A ``call`` is nothing by itself, so what it calls is counted: XLA for the CPU
        wraps so whatever it splits among threads.

        Returns:
            The most frequent first.
        """
        running = self.running({"call", "async-start"})
        counted = Counter(inner.opcode.removesuffix("-start") for inner in running)
        return dict(counted.most_common())

    def fusions(self) -> Iterator[Fusion]:
        """The fusions that run as kernels, those in loops included.

        What lies in the comparator of a sort, or in the function of a reduction, is a
        part of that kernel.
        """
        for fusion in self.running():
            if fusion.opcode == "fusion":
                inside = (inner.opcode for inner in self._fused(fusion))
                counted = Counter(name for name in inside if name not in IDLE)
                yield Fusion(
                    name=fusion.name,
                    kind=fusion.fusion_kind,
                    operations=dict(counted.most_common()),
                )

    def exchanges(self) -> Iterator[Exchanged]:
        """Every collective, wherever it stands."""
        for computation in self.computations:
            for inner in self._ordered(computation):
                kind = inner.opcode.removesuffix("-start")
                if kind not in COLLECTIVES:
                    continue
                sizes = [leaf.nbytes for leaf in inner.shape.leaves()]
                # The first half of an asynchronous one has its operands in its type.
                is_pair = kind not in (inner.opcode, "all-reduce")
                size = max(sizes, default=0.0) if is_pair else sum(sizes)
                groups = _rings(inner.pairs) if inner.pairs else inner.groups
                if kind == "reduce-scatter" and not is_pair:
                    size *= groups.participants or 1
                yield Exchanged(
                    name=inner.name,
                    kind=kind,
                    bytes=int(size),
                    groups=groups.groups,
                    participants=groups.participants,
                    replica_groups=groups.text,
                )


def _result(call: Instruction) -> Shape:
    """The shape of a result, of a library's product without its scratch memory."""
    if call.opcode == "custom-call" and call.shape.parts and call.contracted:
        return call.shape.parts[0]
    return call.shape


def _at(names: Sequence[str], number: int) -> str:
    return names[number - 1] if 0 < number <= len(names) else ""


def _rings(pairs: Sequence[tuple[int, int]]) -> Groups:
    """Chains of devices each of which sends to the next."""
    following = dict(pairs)
    waiting, sizes = {*following, *following.values()}, list[int]()
    for start in [*(waiting - {*following.values()}), *sorted(following)]:
        size, device = 0, start
        while device in waiting:
            waiting.discard(device)
            size, device = size + 1, following.get(device, -1)
        if size:
            sizes.append(size)
    return Groups(len(sizes), sizes[0], _listed(pairs))


def _listed(groups: Sequence[Sequence[int]]) -> str:
    """Devices as XLA writes them: ``{{0,1},{2,3}}``."""
    return f"{{{','.join(f'{{{_joined(group)}}}' for group in groups)}}}"


def _joined(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def read(data: bytes) -> Program:
    """The program of a serialised ``HloModuleProto``.

    Raises:
        ValueError: It is damaged, or none.
    """
    program: Program = _MODULE.decode(data)
    if not program.computations:
        raise ValueError("a program without computations")
    return program


def read_traced(data: bytes) -> Program:
    """The program of a serialised ``HloProto``, as a trace holds it.

    Raises:
        ValueError: It is damaged, or none.
    """
    return read(Proto({1: ("module", "bytes")}).decode(data))


def _shape(dtype: int, dims: Sequence[int], parts: Sequence[Shape] = ()) -> Shape:
    name = _DTYPES[dtype] if 0 <= dtype < len(_DTYPES) else "?"
    return Shape(name, tuple(dims), tuple(parts))


def _of_lists(groups: Sequence[Sequence[int]], iota: Groups) -> Groups:
    if iota.groups or not groups:
        return iota
    return Groups(len(groups), len(groups[0]), _listed(groups))


def _of_iota(
    count: int, size: int, dims: Sequence[int], order: Sequence[int]
) -> Groups:
    if not size:
        return Groups()
    text = f"[{count},{size}]<=[{_joined(dims)}]"
    return Groups(count, size, f"{text}T({_joined(order)})" if len(dims) > 1 else text)


def _of_mesh(
    axes: Sequence[tuple[str, int]], over: Sequence[tuple[int, tuple[int, int]]]
) -> Groups:
    """Groups along axes of a mesh, or along a part of one."""
    size, names = 1, list[str]()
    for place, (before, part) in over:
        name, whole = axes[place] if 0 <= place < len(axes) else ("?", 1)
        size *= part or whole
        names.append(f"'{name}':({before}){part}" if part else f"'{name}'")
    mesh = ",".join(f"'{name}'={length}" for name, length in axes)
    count = math.prod(length for _, length in axes) // max(size, 1)
    return Groups(count, size, f"mesh[{mesh}] {{{','.join(names)}}}")


_INTEGERS = Proto({1: ("values", ["int"])})
_PAIR = Proto({1: ("first", "int"), 2: ("second", "int")})
_TRIPLE = Proto({1: ("first", "int"), 2: ("second", "int"), 3: ("third", "int")})
_IOTA = Proto(
    {
        1: ("count", "int"),
        2: ("size", "int"),
        3: ("dims", ["int"]),
        4: ("order", ["int"]),
    },
    _of_iota,
)
_LISTS = Proto({1: ("groups", [_INTEGERS]), 2: ("iota", _IOTA)}, _of_lists)
_AXES = Proto({1: ("axes", [Proto({1: ("name", "text"), 2: ("size", "int")})])})
_MESH = Proto({1: ("axes", _AXES), 2: ("over", [entry(_PAIR)])}, _of_mesh)
_SHAPE = Proto({2: ("dtype", "int"), 3: ("dims", ["int"])}, _shape)
_SHAPE.add(4, "parts", [_SHAPE])
_METADATA = Proto(
    {
        2: ("op_name", "text"),
        3: ("file", "text"),
        4: ("line", "int"),
        15: ("frame", "int"),
    },
    Metadata,
)
_INSTRUCTION = Proto(
    {
        1: ("name", "text"),
        2: ("opcode", "text"),
        3: ("shape", _SHAPE),
        7: ("metadata", _METADATA),
        35: ("id", "int"),
        36: ("operands", ["int"]),
        38: ("called", ["int"]),
        11: ("fusion_kind", "text"),
        28: ("target", "text"),
        30: ("dot", _INTEGERS),
        51: ("precisions", _INTEGERS),
        43: ("config", "bytes"),
        # By version of XLA.
        87: ("groups", _LISTS),
        92: ("groups", _IOTA),
        93: ("groups", _MESH),
        52: ("pairs", [_PAIR]),
    },
    Instruction,
)
_COMPUTATION = Proto({5: ("id", "int"), 2: ("instructions", [_INSTRUCTION])})
_SCHEDULE = Proto({1: ("orders", [entry(_INTEGERS)])}, dict)
_TABLES = Proto(
    {
        1: ("files", ["text"]),
        2: ("functions", ["text"]),
        3: ("locations", [_TRIPLE]),
        4: ("frames", [_PAIR]),
    }
)
_MODULE = Proto(
    {
        6: ("entry", "int"),
        3: ("computations", [_COMPUTATION]),
        17: ("tables", _TABLES),
        7: ("schedule", _SCHEDULE),
    },
    lambda entry, computations, *rest: Program(entry, dict(computations), *rest),
)
