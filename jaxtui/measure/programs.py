"""What JAX and XLA say of a program: its cost, its memory and its optimised HLO."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import SingleDeviceSharding

from jaxtui.measure import peaks
from jaxtui.measure.devices import probe
from jaxtui.measure.ops.base import Op
from jaxtui.model import Case, Peak, Precision
from jaxtui.model.own import XLA_DTYPES, itemsize
from jaxtui.model.programs import Exchanged, Fusion, Program, ProgramMemory

_COMPUTATION = re.compile(
    r"^(ENTRY )?%?([\w.\-]+) [^\n]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL
)
_INSTRUCTION = re.compile(
    r"^\s+(?:ROOT )?%?([\w.\-]+) = .*? ([a-z][\w\-]*)\((.*)$", re.MULTILINE
)
_TO_APPLY = re.compile(r"to_apply=%?([\w.\-]+)")
_CALLS = re.compile(r"calls=%?([\w.\-]+)")
_LEADS_TO = re.compile(
    r"(?:to_apply|body|condition|branch_computations|true_computation"
    r"|false_computation)=(\{[^}]*\}|[^\s,]+)"
)
_NAME = re.compile(r"[\w.\-]+")
_KIND = re.compile(r"kind=(\w+)")

IDLE = frozenset(
    {
        "after-all",
        "bitcast",
        "constant",
        "get-tuple-element",
        "parameter",
        "partition-id",
        "replica-id",
        "tuple",
    }
)
"""Instructions that name or rearrange values and do nothing on the device."""

_CONTROL = frozenset({"call", "conditional", "while"})
"""Instructions that run other computations as they stand."""


def shapes(op: Op, case: Case, device: Any) -> list[jax.ShapeDtypeStruct]:
    """The arguments of a case as shapes and dtypes on the device, without any data."""
    return [
        array_shape(argument.shape, argument.dtype(case.dtype), device)
        for argument in op.arguments(case.size)
    ]


def array_shape(dims: tuple[int, ...], dtype: str, device: Any) -> jax.ShapeDtypeStruct:
    place = SingleDeviceSharding(device)
    return jax.ShapeDtypeStruct(dims, jnp.dtype(dtype), sharding=place)


def text_of(stage: Any) -> str | None:
    """The text of a lowered or compiled program; ``None`` where there is none."""
    text = probe(lambda: stage.as_text())
    return text if isinstance(text, str) else None


def costs(stage: Any) -> dict[str, Any] | None:
    """XLA's ``cost_analysis`` of a lowered or compiled program.

    It may be missing, raise, or be a list of one, by platform and version: ``None``
    where nothing is known.
    """
    found = probe(lambda: stage.cost_analysis())
    if isinstance(found, list) and len(found) == 1:
        (found,) = found
    return found if isinstance(found, dict) else None


class Count(NamedTuple):
    """XLA's ``cost_analysis`` of a function of a file, which has no formula."""

    flops: float | None = None
    """Flops plus transcendentals; ``None`` where XLA does not say."""
    bytes: float | None = None
    """Bytes that its kernels read and write."""
    loops: bool = False
    """There is a loop in it, whose body XLA counts once."""
    libraries: tuple[str, ...] = ()
    """What it leaves to libraries, whose work XLA does not know."""

    def times(self, devices: int) -> Count:
        """Of all devices that run the program."""
        flops = None if self.flops is None else devices * self.flops
        moved = None if self.bytes is None else devices * self.bytes
        return self._replace(flops=flops, bytes=moved)

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole work."""
        return not (self.loops or self.libraries)

    @property
    def is_rewritten(self) -> bool:
        """Whether XLA counts all of it before it compiles, and not afterwards."""
        calls = map(_REWRITTEN.fullmatch, self.libraries)
        return bool(self.libraries) and all(calls) and not self.loops


NOTHING = Count()
"""Nothing is known."""


_LOOP = re.compile(r" while\(|\bstablehlo\.while\b")
_LIBRARY = re.compile(
    r'custom_call_target="([^"]+)"|\bstablehlo\.custom_call @([\w.$]+)'
)
_MARK = re.compile(
    r"Sharding|SPMD\w+|annotate_device_placement|AllocateBuffer|AssumeGatherIndices\w*"
    r"|xla\.sdy\..*|sdy\..*"
)
"""Calls that are no work."""
_REWRITTEN = re.compile(r"__cublas\$.*|__cudnn\$.*")
"""What XLA for GPUs calls in the place of an operation that it could count."""


def inner(stage: Any) -> Any:
    """What JAX has traced, lowered or compiled, where a library has wrapped that."""
    for name in ("traced", "lowered", "compiled"):
        stage = getattr(stage, name, stage)
    return stage


def count(stage: Any) -> Count:
    """What XLA says of a lowered or a compiled program."""
    if (known := costs(stage)) is None:
        return NOTHING
    text = text_of(stage) or ""
    return Count(
        counted_flops(stage) or None,
        _number(known, "bytes accessed") or None,
        bool(_LOOP.search(text)),
        _libraries(text),
    )


def _libraries(text: str) -> tuple[str, ...]:
    called = dict.fromkeys(one or other for one, other in _LIBRARY.findall(text))
    return tuple(name for name in called if not _MARK.fullmatch(name))


def counted_flops(stage: Any) -> float | None:
    """XLA's count of flops plus transcendentals, 0 where it counts none.

    ``None`` where it cannot count all: for a call of a library it puts -1.
    """
    known = costs(stage)
    if known is None or _libraries(text_of(stage) or ""):
        return None
    counts = (known.get("flops", 0.0), known.get("transcendentals", 0.0))
    return float(sum(counts)) if min(counts) >= 0 else None


def read(compiled: Any, device_kind: str) -> Program:
    """Kernels, XLA's own counts, and memory."""
    text = text_of(compiled)
    found = None if text is None else instructions(text)
    known = costs(compiled) or {}
    return Program(
        kernels=None if found is None else sum(found.values()),
        instructions=found or {},
        fusions=() if text is None else fusions(text),
        collectives=() if text is None else collectives(text),
        xla_flops=_number(known, "flops"),
        xla_bytes=_number(known, "bytes accessed"),
        xla_transcendentals=_number(known, "transcendentals"),
        memory=_memory(compiled, device_kind),
    )


def _number(known: dict[str, Any], name: str) -> float | None:
    value = known.get(name)
    # XLA says -1 where it cannot count, as it does for a kernel of Pallas.
    return None if value is None or value < 0 else float(value)


def _memory(compiled: Any, device_kind: str) -> ProgramMemory | None:
    stats = probe(lambda: compiled.memory_analysis())
    if stats is None:
        return None
    limit = peaks.memory(device_kind)
    # XLA takes all temporaries at once, also where fewer are alive together, and its
    # own peak leaves them out on a CPU; jax older than 0.7 has none.
    together = stats.argument_size_in_bytes + stats.temp_size_in_bytes
    together += max(0, stats.output_size_in_bytes - stats.alias_size_in_bytes)
    peak = max(together, getattr(stats, "peak_memory_in_bytes", 0))
    return ProgramMemory(
        arguments_bytes=stats.argument_size_in_bytes,
        output_bytes=stats.output_size_in_bytes,
        temporaries_bytes=stats.temp_size_in_bytes,
        aliased_bytes=stats.alias_size_in_bytes,
        program_bytes=stats.generated_code_size_in_bytes,
        peak_bytes=peak,
        limit_bytes=limit.value if limit else None,
        limit_source=str(limit.source.facts["source"]) if limit else "",
    )


# What a function of a file multiplies, by its jaxpr.


class Product(NamedTuple):
    """A product of matrices, or a convolution."""

    work: float
    """Operations of all of its runs in a call."""
    once: float
    """As XLA counts it: a loop's body once. 0 of a convolution, where XLA leaves the
    padding out."""
    dtype: str
    """Of its first operand."""
    precision: Precision


def largest_product(jaxpr: Any) -> Product | None:
    """The one with the most work; ``None`` where nothing is multiplied.

    Args:
        jaxpr: A ``jax.core.ClosedJaxpr``.
    """
    return max(_products(jaxpr.jaxpr), default=None)


def peak(product: Product | None, device_kind: str) -> Peak | None:
    """The peak of one device for what is multiplied."""
    if product is None:
        return peaks.peak(device_kind, "", matrix=False)
    return peaks.peak(device_kind, product.dtype, product.precision)


def _products(jaxpr: Any) -> Iterator[Product]:
    for equation in jaxpr.eqns:
        runs = float(equation.params.get("length", 1))
        for inner in _inner(equation):
            for product in _products(inner):
                yield product._replace(work=runs * product.work)
        name = equation.primitive.name
        if name not in ("dot_general", "conv_general_dilated"):
            continue
        first, second = (variable.aval for variable in equation.invars)
        size = 2.0 * math.prod(equation.outvars[0].aval.shape)
        if name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            work = once = size * math.prod(first.shape[axis] for axis in contracted)
        else:
            features = second.shape[equation.params["dimension_numbers"].rhs_spec[0]]
            work, once = size * math.prod(second.shape) / max(1, features), 0.0
        wanted = equation.params["precision"]
        wanted = wanted[0] if isinstance(wanted, tuple) else wanted
        precision = _PRECISIONS.get(str(getattr(wanted, "name", "")), "default")
        yield Product(work, once, str(first.dtype), precision)


_PRECISIONS: dict[str, Precision] = {"HIGH": "high", "HIGHEST": "highest"}
"""By the names of ``jax.lax.Precision``."""


def _inner(equation: Any) -> Iterator[Any]:
    """The jaxprs among the parameters of an equation: bodies, branches, conditions."""
    for value in equation.params.values():
        for part in value if isinstance(value, (tuple, list)) else (value,):
            jaxpr = getattr(part, "jaxpr", part)
            if hasattr(jaxpr, "eqns"):
                yield jaxpr


class Instruction(NamedTuple):
    name: str
    opcode: str
    rest: str
    """Operands and attributes, as they are written."""


class Module(NamedTuple):
    computations: dict[str, tuple[Instruction, ...]]
    entry: str | None
    """The name of the one that the others are called from."""


def module(text: str) -> Module:
    """The program whose text this is."""
    computations: dict[str, tuple[Instruction, ...]] = {}
    entry = None
    for first, name, body in _COMPUTATION.findall(text):
        computations[name] = tuple(map(Instruction._make, _INSTRUCTION.findall(body)))
        if first:
            entry = name
    return Module(computations, entry)


def instructions(text: str) -> dict[str, int] | None:
    """The instructions of the entry computation that do something, by their opcode.

    Each is a kernel of its own, or a copy; what XLA fused lies inside a ``fusion``. The
    two halves of an asynchronous one, such as ``copy-start`` and ``copy-done``, count
    once, under the name of both. A loop counts once, whatever its body holds. A
    ``call`` is nothing by itself, so what it calls is counted: XLA for the CPU wraps so
    whatever it splits among threads.

    Returns:
        The most frequent first; ``None`` where there is no entry computation.
    """
    program = module(text)
    if program.entry is None:
        return None
    counted = Counter(
        one.opcode.removesuffix("-start") for one in _working(program, program.entry)
    )
    return dict(counted.most_common())


def fusions(text: str) -> tuple[Fusion, ...]:
    """The fusions that run as kernels of a program, those in its loops included.

    What lies in the comparator of a sort, or in the function of a reduction, is a part
    of that kernel.
    """
    program, found = module(text), list[Fusion]()
    for name in _in_control(program):
        for one in program.computations[name]:
            fused = _CALLS.search(one.rest)
            if one.opcode != "fusion" or fused is None:
                continue
            inside = program.computations.get(fused[1], ())
            counted = Counter(each.opcode for each in inside if each.opcode not in IDLE)
            kind = _KIND.search(one.rest)
            found.append(
                Fusion(
                    name=one.name,
                    kind=kind[1] if kind else "",
                    operations=dict(counted.most_common()),
                )
            )
    return tuple(found)


_EXCHANGE = re.compile(
    r"^\s+(?:ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) "
    r"(all-reduce|all-gather|reduce-scatter|all-to-all|ragged-all-to-all"
    r"|collective-permute|collective-broadcast)(-start)?\((.*)$",
    re.MULTILINE,
)
_ARRAY = re.compile(r"\b(" + "|".join(XLA_DTYPES) + r")\[([\d,]*)\]")
_GROUPS = re.compile(
    r"replica_groups=(?P<mesh>mesh\[[^\]]*\](?: ?\{[^}]*\})?)"
    r"|replica_groups=(?P<iota>\[[\d,]+\]<=\[[\d,]+\](?:T\([\d,]+\))?)"
    r"|(?:replica_groups|source_target_pairs)=(?P<lists>\{(?:\{[\d,]*\},?)*\})"
)
_AXIS = re.compile(r"'([^']+)'(?:=(\d+))?")


def collectives(text: str) -> tuple[Exchanged, ...]:
    """Every collective of a program, wherever it stands."""
    found: list[Exchanged] = []
    for name, shape, kind, start, rest in _EXCHANGE.findall(text):
        sizes = [
            math.prod(map(int, filter(None, dims.split(","))))
            * itemsize(XLA_DTYPES[dtype])
            for dtype, dims in _ARRAY.findall(shape)
        ]
        # The first half of an asynchronous one has its operands in its type, too.
        both = start and kind != "all-reduce"
        size = max(sizes, default=0) if both else sum(sizes)
        match = _GROUPS.search(rest)
        groups, participants = _grouped(match) if match else (None, None)
        if kind == "reduce-scatter" and not both:
            size *= participants or 1
        found.append(
            Exchanged(
                name=name,
                kind=kind,
                bytes=size,
                groups=groups,
                participants=participants,
                replica_groups=match[0].partition("=")[2] if match else "",
            )
        )
    return tuple(found)


def _grouped(match: re.Match[str]) -> tuple[int | None, int | None]:
    """How many groups, and devices of each."""
    if mesh := match["mesh"]:
        axes, _, over = mesh.partition("]")
        sizes = {axis: int(size or 1) for axis, size in _AXIS.findall(axes)}
        named = [axis for axis, _ in _AXIS.findall(over)] or [*sizes]
        # A part of an axis has a name of its own, which is not among them.
        if not sizes.keys() >= {*named}:
            return None, None
        each = math.prod(sizes[axis] for axis in named)
        return math.prod(sizes.values()) // each, each
    if iota := match["iota"]:
        shape = [int(size) for size in iota[1:].partition("]")[0].split(",")]
        return math.prod(shape[:-1]), shape[-1]
    lists = [
        [int(number) for number in part.split(",") if number]
        for part in re.findall(r"\{([\d,]*)\}", match["lists"])
    ]
    if match[0].startswith("source_target_pairs"):
        lists = _rings({pair[0]: pair[1] for pair in lists if len(pair) == 2})
    if not lists or not lists[0]:
        return None, None
    return len(lists), len(lists[0])


def _rings(following: dict[int, int]) -> list[list[int]]:
    """Chains of devices each of which sends to the next."""
    waiting, rings = {*following, *following.values()}, list[list[int]]()
    starts = [*(waiting - {*following.values()}), *sorted(following)]
    for start in starts:
        ring: list[int] = []
        at: int | None = start
        while at in waiting:
            waiting.discard(at)
            ring.append(at)
            at = following.get(at)
        if ring:
            rings.append(ring)
    return rings


def _in_control(program: Module) -> tuple[str, ...]:
    """The entry, and the bodies of the calls, loops and branches that it leads to."""
    waiting = [program.entry] if program.entry else []
    reached: dict[str, None] = {}
    while waiting:
        name = waiting.pop()
        if name in reached or name not in program.computations:
            continue
        reached[name] = None
        for one in program.computations[name]:
            if one.opcode in _CONTROL:
                for words in _LEADS_TO.findall(one.rest):
                    waiting.extend(_NAME.findall(words))
    return tuple(reached)


def _working(program: Module, name: str) -> Iterator[Instruction]:
    for one in program.computations.get(name, ()):
        if one.opcode in IDLE or one.opcode.endswith("-done"):
            continue
        called = _TO_APPLY.search(one.rest) if one.opcode == "call" else None
        if called and called[1] in program.computations:
            yield from _working(program, called[1])
        else:
            yield one
