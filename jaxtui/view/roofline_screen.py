"""The roofline in the tab Bench: the cases of the run under their roofs."""

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
    of_device,
    on_the_roofs,
    place,
    same_silicon,
)
from jaxtui.model import HOST, explanation
from jaxtui.model.roofs import Roof, Roofs, RoofsMeasured
from jaxtui.plot import Color, Picture
from jaxtui.state import Job, State
from jaxtui.view import bench, words
from jaxtui.view import roofline as view
from jaxtui.view.bench import Sentence
from jaxtui.view.results import bar_role, names, rate_role, ready_column
from jaxtui.view.text import Column, Line, Span, bar

WHAT_IT_IS = """\
A roofline shows what limits each case: under the slanting roof it waits for the \
memory, under the flat one for arithmetic. The nearer a case comes to its roof, the \
less is left to gain."""

SECONDS = Roofs(device="", dtypes=()).budget
"""For measuring the roofs of a device; compiling comes on top."""

# The roofs.


def device_of(state: State, selected: int) -> str | None:
    """The device whose roofs are of interest: that of the selected case.

    NumPy has none. It computes on the host, whose roofs are those of any CPU device;
    but beside cases of an accelerator theirs are what people look for.

    Returns:
        ``None`` without a run.
    """
    if state.run is None or not state.run.cases:
        return None
    cases = [one.case for one in (state.run.cases[selected], *state.run.cases)]
    return next((case.device for case in cases if case.device != HOST), "cpu:0")


def work_for(state: State, device: str) -> Roofs:
    """What to ask of the engine: the dtypes that are not known yet, or else all again.

    Cases of the run on other devices do not count.
    """
    cases = [one.case for one in state.run.cases] if state.run is not None else []
    wanted = needed(cases, device, state.ops)
    old = of_device(state.roofs, device)
    if old is None:
        return Roofs(device=device, dtypes=wanted)
    known = {roof.of for roof in old.roofs} | {one.of for one in old.missing}
    new = tuple(one for one in wanted if one not in known)
    return Roofs(device=device, dtypes=new or wanted)


def roofs_of(state: State, device: str) -> RoofsMeasured | None:
    """What limits a device; while it is measured, as far as that has come."""
    old, job = of_device(state.roofs, device), state.jobs.get("roofs")
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


def message(state: State) -> str:
    """What the last measuring has come to; empty while it runs."""
    job = state.jobs.get("roofs")
    if job is None or job.outcome is None or not isinstance(job.work, Roofs):
        return ""
    device = job.work.device
    if job.failed is not None:
        why = explanation(job.failed)
        if job.outcome == "crashed":
            return f"Incomplete: no new roofs of {device}. {why}"
        return f"The roofs of {device} could not be measured. {why}"
    roofs = of_device(state.roofs, device)
    if job.outcome != "complete":
        stays = "the roofs that were found stay" if roofs else "no roof was found"
        return f"Stopped; {stays}. z measures the roofs of {device} again."
    return "" if roofs is None else f"Roofs of {_heights(roofs)}."


def _heights(roofs: RoofsMeasured) -> str:
    """How high they are: ``cpu:0: 95.2 GFLOP/s float32, 11.8 GB/s``."""
    known = [
        view.rate_text(roof) + ("" if roof.of is None else f" {roof.of.label}")
        for roof in roofs.roofs
    ]
    return f"{roofs.device}: {', '.join(known) or 'none'}"


# The cases under them.


@dataclass(frozen=True, slots=True)
class Roofline:
    """The cases of a run, in its order, under the roofs of one device."""

    device: str
    run: Job
    selected: int
    """Index of a case."""
    roofs: RoofsMeasured | None
    """As far as they are known."""
    measuring: bool
    """They are being measured."""
    places: tuple[Place | None, ...]
    """``None`` for a case that has no figures yet, and without roofs."""
    letters: tuple[str, ...]
    """What they are called in the picture; empty for those that are not in it."""
    message: str
    """What the last measuring has come to, unless all went well."""

    @classmethod
    def of(cls, state: State, selected: int) -> Roofline | None:
        """``None`` without a run."""
        device, run = device_of(state, selected), state.run
        if device is None or run is None:
            return None
        roofs, job = roofs_of(state, device), state.jobs.get("roofs")
        places = tuple(
            None
            if roofs is None or one.measurement is None
            else place(one.measurement, roofs)
            for one in run.cases
        )
        unused = iter(view.letters([one for one in places if one is not None]))
        letters = tuple("" if one is None else next(unused) for one in places)
        fine = job is None or (job.outcome == "complete" and job.failed is None)
        return cls(
            device,
            run,
            selected,
            roofs,
            is_measured(state, device),
            places,
            letters,
            "" if fine else message(state),
        )

    def columns(self, room: int) -> list[Column]:
        """The columns of the results, from left to right.

        Args:
            room: cells of a bar.
        """
        cases = self.run.cases
        places = [None if one and self._waits(one) else one for one in self.places]
        rates = [
            one.rate if one and one.intensity is not None else None for one in places
        ]
        unit = fmt.shared([rate for rate in rates if rate], "FLOP/s")
        rows = [bench.row(case, self.run) for case in cases]
        limits: list[Line] = [(Span(view.limit(one)),) if one else () for one in places]
        letters: list[Line] = [(Span(letter, "value"),) for letter in self.letters]
        intensities: list[Line] = [
            (Span(view.intensity_text(one)),) if one else () for one in places
        ]
        speeds: list[Line] = [
            (Span(unit.text(rate), rate_role(case.measurement)),)
            if rate
            else (Span(row["rate"], rate_role(case.measurement)),)
            for case, rate, row in zip(cases, rates, rows, strict=True)
        ]
        shares: list[Line] = [
            (Span(fmt.percent(one.share), rate_role(one.measurement)),) if one else ()
            for one in places
        ]
        bars: list[Line] = [
            (Span(bar(one.share or 0.0, room), bar_role(case)),) if one else ()
            for case, one in zip(cases, places, strict=True)
        ]
        return [
            Column("letter", "", letters, least=1),
            *names(self.run, rows),
            ready_column(self.run, rows),
            Column("intensity", "flops/byte", intensities, rank=2, right=True),
            Column("rate", unit.name or "rate", speeds, rank=1, right=True, least=7),
            Column("share", "of roof", shares, right=True),
            Column("bar", "", bars, rank=3, least=room),
            Column("limit", "limited by", limits, least=14, grows=True),
        ]

    def sentences(self) -> tuple[Sentence, ...]:
        """What limits the selected case, and how the roofs became known."""
        if self.roofs is None:
            return ()
        words = self._verdict()
        letter = self.letters[self.selected] or "roofline"
        found = [Sentence(letter, words)] if words else []
        found += [
            Sentence(view.roof_name(one), _about(one)) for one in self.roofs.roofs
        ]
        found += [
            Sentence("missing", view.missing_text(one)) for one in self.roofs.missing
        ]
        cached = view.cache_text(self.roofs)
        return (*found, Sentence("cache", cached)) if cached else tuple(found)

    def _verdict(self) -> str:
        """What limits the selected case and how near it comes, or why that cannot be
        said.
        """
        one = self.places[self.selected]
        if one is None or self.roofs is None:
            return ""
        if self._waits(one):
            return "its roofs are still being measured"
        words = view.verdict(one)
        if one.rate is not None or not self._lacks(one):
            return words
        missing = [roof.of for roof in self.roofs.missing]
        was_tried = arithmetic(one.measurement.case) in missing
        return words if was_tried else f"{words} z measures it."

    def _waits(self, one: Place) -> bool:
        """Whether a case has no place yet, because its roofs are being measured."""
        return one.rate is None and self.measuring and self._lacks(one)

    def _lacks(self, one: Place) -> bool:
        """Whether it is for want of a roof that a case has no place."""
        case, roofs = one.measurement.case, self.roofs
        if roofs is None or not on_the_roofs(case, roofs.device):
            return False
        return bandwidth_roof(roofs) is None or compute_roof(case, roofs) is None

    def picture(self, colors: Sequence[Color]) -> Picture | None:
        """The roofs and the cases under them; ``None`` while there are no roofs."""
        if self.roofs is None:
            return None
        places = [one for one in self.places if one is not None]
        picture = view.picture(places, self.roofs, colors, self.places[self.selected])
        letter = self.letters[self.selected]
        if picture is None or not letter:
            return picture
        # With an arrow at the selected case: a colour alone is not seen by all.
        spots = [
            replace(spot, text=f"{letter}◂") if spot.text == letter else spot
            for spot in picture.spots
        ]
        return replace(picture, spots=tuple(spots))

    def why_no_picture(self) -> str:
        """What the picture would be, and what makes it."""
        to_do = f"z measures the roofs of {self.device}, about {SECONDS:.0f} s."
        if self.measuring:
            so_far = f" So far {_heights(self.roofs)}." if self.roofs else ""
            to_do = f"The roofs of {self.device} are being measured.{so_far}"
        return "\n\n".join(filter(None, (WHAT_IT_IS, self.message, to_do)))


def _about(roof: Roof) -> str:
    """How high it is, what reached that, and what others publish."""
    text = f"{view.rate_text(roof)}, reached by {roof.what}"
    if roof.published is not None:
        text = f"{text}; that is {view.published_text(roof)}"
    return ". ".join((text, *map(words.text, roof.remarks)))
