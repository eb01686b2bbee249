"""Names what ran in CUDA graphs by the instructions of their programs.

XLA runs most of a program as a graph or two, and all that a graph runs says no more
than that: ``command_buffer_1``. But it runs in the order of the program's schedule, and
a kernel that XLA has made is named after its instruction. What libraries run between
two of these (cuBLAS, copies) are the instructions that the schedule has there; so is a
kernel that several equal instructions share.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Hashable, Mapping, Sequence
from typing import NamedTuple

from jaxtui.xla.kernels import GRAPH, Kernel
from jaxtui.xla.programs import Instruction, Program

CLEARS = "Memset"
"""Begins the name of what clears memory; before a kernel of cuBLAS it is part of that.
"""


class _Place(NamedTuple):
    """The instruction of a graph's node."""

    name: str
    """The name of the instruction; the node's own where none is known."""
    by_order: bool
    is_first: bool = True


def named(ran: Sequence[Kernel], programs: Mapping[str, Program]) -> list[Kernel]:
    """The kernels, those of graphs with the names of their instructions.

    Args:
        ran: in the order of their starts.
        programs: those that ran, by their names.
    """
    nodes: dict[tuple[str, str], dict[Hashable, str]] = defaultdict(dict)
    for kernel in ran:
        if kernel.program in programs:
            nodes[kernel.program, kernel.device].setdefault(_node(kernel), kernel.name)
    by_key: dict[tuple[str, str, Hashable], _Place] = {}
    for (program, device), names in nodes.items():
        if any(isinstance(node, tuple) for node in names):
            sequence = list(programs[program].running())
            matches = _places(list(names.values()), sequence)
            keys = ((program, device, node) for node in names)
            by_key |= zip(keys, matches, strict=True)
    return [
        kernel._replace(**place._asdict())
        if GRAPH in kernel.stats
        and (place := by_key.get((kernel.program, kernel.device, _node(kernel))))
        else kernel
        for kernel in ran
    ]


def _node(kernel: Kernel) -> Hashable:
    stats = kernel.stats
    return (stats.get("cuda_graph_id"), stats[GRAPH]) if GRAPH in stats else kernel.name


def _places(nodes: Sequence[str], sequence: Sequence[Instruction]) -> list[_Place]:
    """The place of each node in a program, by the names of both."""
    by_name = {_in_c(slot.name): place for place, slot in enumerate(sequence)}
    matches: list[_Place] = []
    latest: dict[str, str] = {}
    reached = -1
    ends = [*(by_name.get(_in_c(name), -1) for name in nodes), len(sequence)]
    for at, place in enumerate(ends):
        if place <= reached:  # of a library, or once more
            continue
        free = nodes[len(matches) : at]
        between = _between(free, sequence[reached + 1 : place], by_name)
        for own, instruction in zip(free, between, strict=True):
            again = by_name.get(_in_c(own))
            latest[own] = (
                instruction
                or latest.get(own)
                or ("" if again is None else sequence[again].name)
            )
            is_first = not (instruction and matches and matches[-1].name == instruction)
            matches.append(_Place(latest[own] or own, bool(latest[own]), is_first))
        if at < len(nodes):
            latest[nodes[at]] = sequence[place].name
            matches.append(_Place(sequence[place].name, False))
        reached = place
    return matches


def _between(
    free: Sequence[str], slots: Sequence[Instruction], taken: Container[str]
) -> list[str]:
    """The instructions of nodes between two that are known; empty where nothing tells.

    Args:
        free: the names of the nodes.
        slots: the instructions of the same stretch. Some may run nothing, such as the
            condition of a loop whose end is known.
        taken: the kernels that are named after an instruction.
    """
    names = [slot.name for slot in slots]
    if len(free) == len(slots):
        return names
    kernels = [at for at, name in enumerate(free) if not name.startswith(CLEARS)]
    by_xla = [slot.name for slot in slots if slot.opcode == "fusion"]
    of_libraries = [slot.name for slot in slots if slot.opcode != "fusion"]
    own = [at for at in kernels if _in_c(free[at]) in taken]
    foreign = [at for at in kernels if _in_c(free[at]) not in taken]
    matches: dict[int, str] = {}
    for nodes, fitting in ((kernels, names), (own, by_xla), (foreign, of_libraries)):
        if len(fitting) == 1 and not matches:
            matches |= dict.fromkeys(nodes, fitting[0])
        elif len(nodes) == len(fitting) and not matches.keys() & {*nodes}:
            matches |= zip(nodes, fitting, strict=True)
    for at in reversed(range(len(free) - 1)):
        if free[at].startswith(CLEARS):
            matches.setdefault(at, matches.get(at + 1, ""))
    return [matches.get(at, "") for at in range(len(free))]


def _in_c(name: str) -> str:
    """An instruction as XLA names its kernel."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)
