"""Which roofs some cases want."""

from __future__ import annotations

from collections.abc import Iterable

from jaxtui.model import Case, OpInfo
from jaxtui.model.roofs import RoofDtype
from jaxtui.roofline.placing import kind, on_the_roofs

MOVES_ONLY, UNCOUNTED = "none", "not counted"
"""How the catalogue's words about the flops of an op begin that has no formula."""

USUAL = "float32"
"""What the arguments of a function of the user's own mostly are, before it has run."""


def needed(
    cases: Iterable[Case], device: str, catalogue: Iterable[OpInfo] = ()
) -> tuple[RoofDtype, ...]:
    """The compute roofs that these cases stand under, each once, in their order.

    Args:
        cases: of any ops; those on other devices want none.
        device: the one whose roofs are to be measured.
        catalogue: the ops, which tell those whose operations are not counted.
    """
    without = {
        op.name for op in catalogue if op.flops.startswith((MOVES_ONLY, UNCOUNTED))
    }
    wanted = [
        kind(case) if case.dtype else RoofDtype(dtype=USUAL)
        for case in cases
        if on_the_roofs(case, device) and case.op not in without
    ]
    return tuple(dict.fromkeys(wanted))


def is_counted(flops: str) -> bool:
    """Whether an op's work is known, by what the catalogue says of its flops.

    Of an op that only moves data it is: there is none besides.
    """
    return not flops.startswith(UNCOUNTED)
