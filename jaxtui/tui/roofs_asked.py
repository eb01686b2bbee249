"""Which roofs the cases of a run ask for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxtui.model import Case, OpInfo
from jaxtui.model.base import HOST
from jaxtui.model.roofs import Roofs
from jaxtui.roofline.needs import needed
from jaxtui.tui.roofs_state import RoofsState, of_device


def device_of(cases: Sequence[Case], selected: int) -> str | None:
    """The device whose roofs are of interest: that of the selected case.

    NumPy has none. It computes on the host, whose roofs are those of any CPU device;
    but beside cases of an accelerator theirs are what people look for.

    Args:
        cases: of a run.
        selected: index of the selected one.
    """
    if not cases:
        return None
    chosen = cases[min(selected, len(cases) - 1)]
    devices = [case.device for case in (chosen, *cases) if case.device != HOST]
    return devices[0] if devices else "cpu:0"


def work_for(
    state: RoofsState, cases: Iterable[Case], device: str, ops: Iterable[OpInfo] = ()
) -> Roofs:
    """What to ask of the engine: the dtypes that are not known yet, or else all again.

    Args:
        state: what is known.
        cases: of the run; those of other devices do not count.
        device: the one whose roofs are of interest.
        ops: the catalogue.
    """
    wanted, old = needed(cases, device, ops), of_device(state, device)
    if old is None:
        return Roofs(device=device, dtypes=wanted)
    known = {roof.of for roof in old.roofs} | {one.of for one in old.missing}
    new = tuple(one for one in wanted if one not in known)
    return Roofs(device=device, dtypes=new or wanted)
