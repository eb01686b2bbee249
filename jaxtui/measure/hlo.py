"""What a compiled program consists of, read from the text of its optimised HLO."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from jaxtui.model.programs import Fusion

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


class Instruction(NamedTuple):
    """One line of a computation."""

    name: str
    opcode: str
    rest: str
    """Operands and attributes, as they are written."""


class Module(NamedTuple):
    """The computations of a program, by name."""

    computations: dict[str, tuple[Instruction, ...]]
    entry: str | None
    """The name of the one that the others are called from."""


def module(text: str) -> Module:
    """The program whose text this is.

    Args:
        text: of ``Compiled.as_text()``.
    """
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

    Args:
        text: of ``Compiled.as_text()``.

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

    Args:
        text: of ``Compiled.as_text()``.
    """
    program = module(text)
    return tuple(
        _fusion(one, program.computations.get(fused[1], ()))
        for name in _in_control(program)
        for one in program.computations[name]
        if one.opcode == "fusion" and (fused := _CALLS.search(one.rest))
    )


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


def _fusion(one: Instruction, fused: tuple[Instruction, ...]) -> Fusion:
    kind = _KIND.search(one.rest)
    counted = Counter(each.opcode for each in fused if each.opcode not in IDLE)
    return Fusion(
        name=one.name,
        kind=kind[1] if kind else "",
        operations=dict(counted.most_common()),
    )
