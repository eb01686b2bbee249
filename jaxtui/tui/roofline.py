"""The roofline of the tab Bench: the cases of the run under their roofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jaxtui import format as fmt
from jaxtui.analysis.roofline import (
    Place,
    arithmetic,
    bandwidth_roof,
    compute_roof,
    merge,
    needed,
    on_the_roofs,
    place,
    same_silicon,
)
from jaxtui.analysis.roofline import of_device as known_roofs
from jaxtui.model import HOST, Case, explanation
from jaxtui.model.roofs import Roof, Roofs, RoofsMeasured
from jaxtui.plot import Color, Picture
from jaxtui.tui.state import State
from jaxtui.view import bench
from jaxtui.view import roofline as view
from jaxtui.view.bench import Sentence
from jaxtui.view.results import bar_role, names
from jaxtui.view.text import Column, Line, Span, bar

WHAT_IT_IS = """\
A roofline shows what limits each case: under the slanting roof it waits for the \
memory, under the flat one for arithmetic. The nearer a case comes to its roof, the \
less is left to gain."""

SECONDS = Roofs(device="", dtypes=()).budget
"""For measuring the roofs of a device; compiling comes on top."""

# Which roofs are of interest.


def device(state: State) -> str | None:
    """The device whose roofs are of interest: that of the selected case.

    NumPy has none. It computes on the host, whose roofs are those of any CPU device;
    but beside cases of an accelerator theirs are what people look for.

    Returns:
        ``None`` without a run.
    """
    if state.run is None or state.case is None:
        return None
    cases = [one.case for one in (state.case, *state.run.cases)]
    devices = [case.device for case in cases if case.device != HOST]
    return devices[0] if devices else "cpu:0"


def work_for(state: State, device: str) -> Roofs:
    """What to ask of the engine: the dtypes that are not known yet, or else all again.

    Args:
        state: its run; cases of other devices do not count.
        device: the one whose roofs are of interest.
    """
    cases = [one.case for one in state.run.cases] if state.run is not None else []
    wanted = needed(cases, device, state.ops)
    old = known_roofs(state.roofs, device)
    if old is None:
        return Roofs(device=device, dtypes=wanted)
    known = {roof.of for roof in old.roofs} | {one.of for one in old.missing}
    new = tuple(one for one in wanted if one not in known)
    return Roofs(device=device, dtypes=new or wanted)


def of_device(state: State, device: str) -> RoofsMeasured | None:
    """What limits a device; while it is measured, as far as that has come."""
    old, job = known_roofs(state.roofs, device), state.measured_roofs
    if job is None or job.outcome is not None:
        return old
    found = job.result
    if not isinstance(found, RoofsMeasured) or not same_silicon(found.device, device):
        return old
    return merge(found, old)


def is_measured(state: State, device: str) -> bool:
    """Whether the roofs of this very device are being measured."""
    work = state.job.work if state.job is not None else None
    return isinstance(work, Roofs) and same_silicon(work.device, device)


# Where the cases stand.


@dataclass(frozen=True, slots=True)
class Places:
    """The cases of a run under roofs, in the run's order."""

    roofs: RoofsMeasured
    places: tuple[Place | None, ...]
    """``None`` for a case that has no figures yet."""
    letters: tuple[str, ...]
    """What they are called in the picture; empty for those that are not in it."""


def places(state: State) -> Places | None:
    """The run under the roofs, as far as these are known; ``None`` while none is."""
    where = device(state)
    roofs = None if where is None else of_device(state, where)
    if roofs is None or state.run is None:
        return None
    found = tuple(
        None if one.measurement is None else place(one.measurement, roofs)
        for one in state.run.cases
    )
    called = iter(view.letters([one for one in found if one is not None]))
    names = tuple("" if one is None else next(called) for one in found)
    return Places(roofs, found, names)


def verdict(state: State, found: Places, index: int) -> str:
    """What limits a case and how near it comes, or why that cannot be said.

    Args:
        state: what is on screen.
        found: its cases under the roofs.
        index: of the case.
    """
    where = found.places[index]
    if where is None:
        return ""
    if _waits(state, found, index):
        return "its roofs are still being measured"
    case, words = where.measurement.case, view.verdict(where)
    if where.rate is not None or not _lacks(case, found.roofs):
        return words
    tried = arithmetic(case) in [one.of for one in found.roofs.missing]
    return words if tried else f"{words} z measures it."


def _waits(state: State, found: Places, index: int) -> bool:
    """Whether a case has no place yet, because its roofs are being measured."""
    where = found.places[index]
    if where is None or where.rate is not None:
        return False
    lacks = _lacks(where.measurement.case, found.roofs)
    return lacks and is_measured(state, found.roofs.device)


def _lacks(case: Case, roofs: RoofsMeasured) -> bool:
    """Whether it is for want of a roof that a case has no place."""
    if not on_the_roofs(case, roofs.device):
        return False
    return bandwidth_roof(roofs) is None or compute_roof(case, roofs) is None


# The table and the sentences.


def columns(state: State, *, room: int) -> list[Column]:
    """The columns of the results while the roofline is shown, from left to right.

    Args:
        state: what is on screen.
        room: cells of a bar.
    """
    run = state.run
    if run is None:
        return []
    found = places(state)
    shown = [
        None if found is None or _waits(state, found, index) else found.places[index]
        for index in range(len(run.cases))
    ]
    letters = found.letters if found is not None else [""] * len(run.cases)
    rates = [one.rate if one and one.intensity is not None else None for one in shown]
    unit = fmt.common([rate for rate in rates if rate], "FLOP/s")
    told = [bench.row(case, run) for case in run.cases]
    limits: list[Line] = []
    for case, one, row in zip(run.cases, shown, told, strict=True):
        if case.measurement is None:
            # A column of times would say that in other views.
            role = "bad" if case.failure else "muted"
            limits.append((Span(row["ready"], role),))
        else:
            limits.append((Span(view.limit(one)),) if one else ())
    return [
        Column("letter", "", [(Span(letter, "value"),) for letter in letters], least=1),
        *names(run, told),
        Column(
            "intensity",
            "flops/byte",
            [(Span(view.intensity_text(one)),) if one else () for one in shown],
            rank=2,
            right=True,
        ),
        Column(
            "rate",
            unit.name,
            [
                (Span(unit.text(rate), "value"),) if rate else (Span(row["rate"]),)
                for rate, row in zip(rates, told, strict=True)
            ],
            rank=1,
            right=True,
            least=7,
        ),
        Column(
            "share",
            "of roof",
            [(Span(fmt.percent(one.share), "value"),) if one else () for one in shown],
            right=True,
        ),
        Column(
            "bar",
            "",
            [
                (Span(bar(one.share or 0.0, room), bar_role(case)),) if one else ()
                for case, one in zip(run.cases, shown, strict=True)
            ],
            rank=3,
            least=room,
        ),
        Column("limit", "limited by", limits, least=14, grows=True),
    ]


def sentences(state: State) -> tuple[Sentence, ...]:
    """What limits the selected case, and how the roofs became known."""
    found, index = places(state), state.case_index
    if found is None:
        return ()
    words = verdict(state, found, index)
    told = [Sentence(found.letters[index] or "roofline", words)] if words else []
    roofs = found.roofs
    told += [Sentence(view.roof_name(one), of_a_roof(one)) for one in roofs.roofs]
    told += [Sentence("missing", view.missing_text(one)) for one in roofs.missing]
    cached = view.cache_text(roofs)
    return (*told, Sentence("cache", cached)) if cached else tuple(told)


def of_a_roof(roof: Roof) -> str:
    """How high it is, what reached that, and what others publish."""
    told = f"{view.rate_text(roof)}, reached by {roof.what}"
    if roof.published is not None:
        told = f"{told}; that is {view.published_text(roof)}"
    return f"{told}. {roof.disturbed}" if roof.disturbed else told


# What became of measuring the roofs.


def message(state: State) -> str:
    """What the last measuring has come to; empty while it runs."""
    job = state.measured_roofs
    if job is None or job.outcome is None or not isinstance(job.work, Roofs):
        return ""
    device = job.work.device
    if job.failed is not None:
        why = explanation(job.failed)
        if job.outcome == "crashed":
            return f"Incomplete: no new roofs of {device}. {why}"
        return f"The roofs of {device} could not be measured. {why}"
    roofs = known_roofs(state.roofs, device)
    if job.outcome != "complete":
        stays = "the roofs that were found stay" if roofs else "no roof was found"
        return f"Stopped; {stays}. z measures the roofs of {device} again."
    return "" if roofs is None else f"Roofs of {heights(roofs)}."


def heights(roofs: RoofsMeasured) -> str:
    """How high they are: ``cpu:0: 95.2 GFLOP/s float32, 11.8 GB/s``."""
    known = [
        view.rate_text(roof) + ("" if roof.of is None else f" {roof.of.label}")
        for roof in roofs.roofs
    ]
    return f"{roofs.device}: {', '.join(known) or 'none'}"


# The plot.


def picture(state: State, colors: Sequence[Color]) -> Picture | None:
    """The roofs and the cases under them; ``None`` while there are no roofs."""
    found = places(state)
    if found is None:
        return None
    index = state.case_index
    known = [one for one in found.places if one is not None]
    drawn = view.picture(known, found.roofs, colors, found.places[index])
    letter = found.letters[index]
    if drawn is None or not letter:
        return drawn
    # With an arrow at the selected case: a colour alone is not seen by all.
    spots = [
        replace(spot, text=f"{letter}◂") if spot.text == letter else spot
        for spot in drawn.spots
    ]
    return replace(drawn, spots=tuple(spots))


def why_no_plot(state: State) -> str:
    """What stands in the place of the plot: what it would be, and what makes it."""
    where = device(state)
    if where is None:
        return WHAT_IT_IS
    job = state.measured_roofs
    fine = job is None or (job.outcome == "complete" and job.failed is None)
    trouble = "" if fine else message(state)
    to_do = f"z measures the roofs of {where}, about {SECONDS:.0f} s."
    if is_measured(state, where):
        found = places(state)
        so_far = f" So far {heights(found.roofs)}." if found else ""
        to_do = f"The roofs of {where} are being measured.{so_far}"
    return "\n\n".join(filter(None, (WHAT_IT_IS, trouble, to_do)))
