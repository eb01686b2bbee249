"""Every case of the run under the roofs of its device."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtui.model import Case, RoofsMeasured
from jaxtui.roofline import Place, bandwidth_roof, compute_roof, place, words
from jaxtui.roofline.figure import letters
from jaxtui.roofline.placing import kind, on_the_roofs
from jaxtui.tui.roofs_asked import device_of
from jaxtui.tui.roofs_state import is_measured, of_device
from jaxtui.tui.state import State


@dataclass(frozen=True, slots=True)
class Placed:
    """The cases of a run under roofs, in the run's order."""

    roofs: RoofsMeasured
    places: tuple[Place | None, ...]
    """``None`` for a case that has no figures yet."""
    letters: tuple[str, ...]
    """What they are called in the picture; empty for those that are not in it."""

    @property
    def known(self) -> tuple[Place, ...]:
        """Those of the cases that have figures."""
        return tuple(one for one in self.places if one is not None)


def device(state: State) -> str | None:
    """The one whose roofs are of interest; ``None`` without a run."""
    run = state.run
    cases = [one.case for one in run.cases] if run is not None else []
    return device_of(cases, state.case_index)


def placed(state: State) -> Placed | None:
    """The run under the roofs, as far as these are known; ``None`` while none is."""
    where = device(state)
    roofs = None if where is None else of_device(state.roofs, where)
    if roofs is None or state.run is None:
        return None
    places = tuple(
        None if one.measurement is None else place(one.measurement, roofs)
        for one in state.run.cases
    )
    called = iter(letters([one for one in places if one is not None]))
    names = tuple("" if one is None else next(called) for one in places)
    return Placed(roofs, places, names)


def verdict(state: State, found: Placed, index: int) -> str:
    """What limits a case and how near it comes, or why that cannot be said.

    Args:
        state: what is on screen.
        found: its cases under the roofs.
        index: of the case.
    """
    where = found.places[index]
    if where is None:
        return ""
    if waits(state, found, index):
        return "its roofs are still being measured"
    case, said = where.measurement.case, words.verdict(where)
    if where.rate is not None or not _lacks(case, found.roofs):
        return said
    return said if _hopeless(case, found.roofs) else f"{said} z measures it."


def waits(state: State, found: Placed, index: int) -> bool:
    """Whether a case has no place yet, because its roofs are being measured."""
    where = found.places[index]
    if where is None or where.rate is not None:
        return False
    lacks = _lacks(where.measurement.case, found.roofs)
    return lacks and is_measured(state.roofs, found.roofs.device)


def _lacks(case: Case, roofs: RoofsMeasured) -> bool:
    """Whether it is for want of a roof that a case has no place."""
    if not on_the_roofs(case, roofs.device):
        return False
    return bandwidth_roof(roofs) is None or compute_roof(case, roofs) is None


def _hopeless(case: Case, roofs: RoofsMeasured) -> bool:
    """Whether its roof was tried for."""
    return kind(case) in [one.of for one in roofs.missing]
