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
from collections.abc import Hashable, Mapping, Sequence
from itertools import accumulate, islice
from typing import NamedTuple

from jaxtui.measure.hlo import Program
from jaxtui.measure.kernels import GRAPH, Kernel

CLEARS = "Memset"
"""Begins the name of what clears memory; before a kernel of cuBLAS it is part of that.
"""


class _Place(NamedTuple):
    """What a node of a graph is."""

    name: str
    """Of an instruction; its own where none is known."""
    by_order: bool
    begins: bool = True


def named(ran: Sequence[Kernel], programs: Mapping[str, Program]) -> list[Kernel]:
    """The kernels, those of graphs with the names of their instructions.

    Args:
        ran: in the order of their starts.
        programs: those that ran, by their names.
    """
    nodes: dict[tuple[str, str], dict[Hashable, str]] = defaultdict(dict)
    for each in ran:
        if each.program in programs:
            nodes[each.program, each.device].setdefault(_node(each), each.name)
    known: dict[tuple[str, str, Hashable], _Place] = {}
    for (program, device), names in nodes.items():
        if any(isinstance(node, tuple) for node in names):
            sequence = [one.name for one in programs[program].sequence()]
            found = _places(list(names.values()), sequence)
            keys = ((program, device, node) for node in names)
            known |= zip(keys, found, strict=True)
    return [
        each._replace(**place._asdict())
        if GRAPH in each.stats
        and (place := known.get((each.program, each.device, _node(each))))
        else each
        for each in ran
    ]


def _node(kernel: Kernel) -> Hashable:
    stats = kernel.stats
    return (stats.get("cuda_graph_id"), stats[GRAPH]) if GRAPH in stats else kernel.name


def _places(nodes: Sequence[str], sequence: Sequence[str]) -> list[_Place]:
    """The place of each node in a program, by the names of both."""
    known = {_in_c(name): place for place, name in enumerate(sequence)}
    found: list[_Place] = []
    latest: dict[str, str] = {}
    reached = -1
    for at, place in enumerate(
        [*(known.get(_in_c(n), -1) for n in nodes), len(sequence)]
    ):
        if place <= reached:  # of a library, or once more
            continue
        free = nodes[len(found) : at]
        between = _between(free, sequence[reached + 1 : place])
        for own, instruction in zip(free, between, strict=True):
            again = known.get(_in_c(own))
            latest[own] = (
                instruction
                or latest.get(own)
                or ("" if again is None else sequence[again])
            )
            begins = not (instruction and found and found[-1].name == instruction)
            found.append(_Place(latest[own] or own, bool(latest[own]), begins))
        if at < len(nodes):
            latest[nodes[at]] = sequence[place]
            found.append(_Place(sequence[place], False))
        reached = place
    return found


def _between(free: Sequence[str], slots: Sequence[str]) -> list[str]:
    """The instructions of nodes between two that are known; empty where nothing tells.

    Args:
        free: the names of the nodes.
        slots: the instructions of the same stretch.
    """
    if len(slots) == 1:
        return [slots[0]] * len(free)
    clears = [name.startswith(CLEARS) for name in free]
    if len(free) == len(slots):
        return list(slots)
    if len(free) - sum(clears) != len(slots):
        return [""] * len(free)
    done = accumulate((not clear for clear in clears), initial=0)
    return [slots[min(count, len(slots) - 1)] for count in islice(done, len(free))]


def _in_c(name: str) -> str:
    """An instruction as XLA names its kernel."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)
