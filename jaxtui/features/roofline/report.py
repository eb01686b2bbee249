"""A roofline: what limits each case of a run, and how near it comes to that.

``Roofline`` is the cases of a run under the roofs of one device, for the command and
for the tab Bench alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from jaxtui import format as fmt
from jaxtui.features.roofline.judge import (
    Place,
    bandwidth_roof,
    compute_roof,
    compute_roofs,
    multiplied,
    needed,
    on_the_roofs,
    place,
    roof_name,
    same_silicon,
    verdict,
)
from jaxtui.features.roofline.picture import letters, picture, quantity_of, rate_text
from jaxtui.features.roofline.words import reached
from jaxtui.model import (
    HOST,
    Case,
    Fact,
    Host,
    Measurement,
    Record,
    Remark,
)
from jaxtui.model.machine import members
from jaxtui.model.own import brief_name
from jaxtui.model.roofs import Roof, Roofs, RoofsMeasured
from jaxtui.plot import COLORS, Color, Picture
from jaxtui.state import Job, State
from jaxtui.view import words
from jaxtui.view.bench import names, ready_column
from jaxtui.view.document import MACHINE, SCHEMA, FailureRow, Outcome, Results, machine
from jaxtui.view.figures import bar_role, rate_role, speed_text
from jaxtui.view.report import Report, Statement, Table, gather
from jaxtui.view.text import Column, Line, Span, bar

BAR = 16
"""Cells of a bar in a report."""

LIMITS = {
    "memory-bound": "memory",
    "moves-data": "memory",
    "compute-bound": "arithmetic",
    "in-cache": "cache",
    "from-cache": "cache",
    "beyond-peak": "impossible",
    "over-the-roof": "over the roof",
    "below-the-roof": "something else",
}
"""By the code of a verdict: the limit of the case, for a column; else its label."""

PLAIN = ("memory-bound", "moves-data", "compute-bound")
"""Codes of verdicts that the table says as well."""

SECONDS = Roofs(device="", dtypes=()).budget
"""Seconds for measuring the roofs of a device; compiling comes on top."""


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
    cases = [entry.case for entry in (state.run.cases[selected], *state.run.cases)]
    device = next((case.device for case in cases if case.device != HOST), "cpu:0")
    return members(device)[0]


def work_for(state: State, device: str) -> Roofs:
    """Return the work for the engine: the dtypes of the run's cases on a device, and
    those that are known already.
    """
    entries = state.run.cases if state.run is not None else ()
    cases = [
        multiplied(entry.measurement) if entry.measurement else entry.case
        for entry in entries
    ]
    known = roofs_of(state, device)
    tried = [roof.of for roof in known.roofs] if known else []
    dtypes = (*filter(None, tried), *needed(cases, device, state.ops))
    return Roofs(device=device, dtypes=tuple(dict.fromkeys(dtypes)))


def roofs_of(state: State, device: str) -> RoofsMeasured | None:
    """Return the roofs of a device, if it was the last one; those so far."""
    job = state.jobs.get("roofs")
    roofs = job.result if job is not None else None
    if not isinstance(roofs, RoofsMeasured) or not same_silicon(roofs.device, device):
        return None
    return roofs


def is_measured(state: State, device: str) -> bool:
    """Return whether the roofs of this very device are being measured."""
    work = state.job.work if state.job is not None else None
    return isinstance(work, Roofs) and same_silicon(work.device, device)


def message(state: State) -> str:
    """Return the result of the last measuring; empty while it runs."""
    job = state.jobs.get("roofs")
    if job is None or job.outcome is None or not isinstance(job.work, Roofs):
        return ""
    device = job.work.device
    roofs, why = roofs_of(state, device), words.why(job.failed)
    have = "there is no roof yet" if roofs is None else "these are the roofs so far"
    if job.outcome == "crashed":
        return f"The engine died: {have}. Measure them again. {why}".rstrip()
    if job.failed is not None:
        return f"jaxtui could not measure the roofs of {device}. {why}"
    if job.outcome != "complete":
        return f"Stopped: {have}. Measure them again."
    return f"{reached(headline(roofs).facts)}." if roofs is not None else ""


# What there is to say of roofs.


def headline(roofs: RoofsMeasured) -> Remark:
    """Return the height of the roofs, and the intensity at which arithmetic begins to
    limit.
    """
    memory, compute = bandwidth_roof(roofs), compute_roofs(roofs)
    return Remark(
        "roofs",
        {
            "device": roofs.device,
            "bandwidth": None if memory is None else memory.per_second,
            "compute": tuple(roof.per_second for roof in compute),
            "dtypes": tuple(roof.of.label for roof in compute if roof.of),
        },
    )


def roof_statements(roofs: RoofsMeasured) -> tuple[Statement, ...]:
    """Return what qualifies the roofs, and why some are missing."""
    rows: list[tuple[str, list[Remark]]] = []
    for roof in roofs.roofs:
        source = [] if roof.published is None else [roof.published.source]
        rows.append((roof_name(roof.of), [*roof.remarks, *source]))
    rows += [(roof_name(missing.of), [missing.remark]) for missing in roofs.missing]
    of_all = []
    if roofs.roofs and not any(roof.published for roof in roofs.roofs):
        of_all.append(Remark("no-published-peak"))
    return gather(rows, of_all)


def _roof_columns(roofs: Sequence[Roof]) -> tuple[Column, ...]:
    """A row for each roof."""
    figures: list[Line] = []
    intervals: list[Line] = []
    shares: list[Line] = []
    for roof in roofs:
        ends, quantity = (roof.ci_low, roof.ci_high), quantity_of(roof)
        unit = fmt.common([roof.per_second], quantity)
        role = "unknown" if roof.vague else "value"
        figures.append((Span(rate_text(roof), role),))
        intervals.append((Span(str(fmt.Figure(ends, quantity, unit)), "muted"),))
        peak = roof.published.value if roof.published else 0.0
        share = fmt.percent(roof.per_second / peak) if peak > 0 else ""
        text = f"{share} of {fmt.rate(peak, quantity)}" if share else ""
        shares.append((Span(text),) if text else ())
    columns = [
        Column("roof", "roof", [(Span(roof_name(roof.of)),) for roof in roofs]),
        Column("measured", "measured", figures, right=True),
        Column("interval", "interval", intervals, rank=3, right=True),
        Column("published", "published", shares, rank=1),
        Column("what", "reached by", [(Span(roof.what),) for roof in roofs], rank=2),
    ]
    return tuple(column for column in columns if any(column.cells))


# The cases under them.


class Roofline(msgspec.Struct, frozen=True):
    """The cases of a run, in its order, under the roofs of one device."""

    device: str
    run: Job | None
    selected: int | None
    """Index of a case."""
    roofs: RoofsMeasured | None
    """The roofs as far as they are known."""
    measuring: bool
    """True while they are measured."""
    places: tuple[Place | None, ...]
    """``None`` for a case that has no figures yet, and without roofs."""
    letters: tuple[str, ...]
    """The letters of the cases in the picture; empty for those that are not in it."""
    message: str = ""
    """The problem of the last measuring, unless all went well."""

    @classmethod
    def of(cls, state: State, selected: int) -> Roofline | None:
        """Return the roofline of the run on the screen; ``None`` without one."""
        device, run = device_of(state, selected), state.run
        if device is None or run is None:
            return None
        roofs, job = roofs_of(state, device), state.jobs.get("roofs")
        fine = job is None or (job.outcome == "complete" and job.failed is None)
        return cls.under(
            roofs,
            run,
            device,
            selected,
            measuring=is_measured(state, device),
            message="" if fine else message(state),
        )

    @classmethod
    def under(
        cls,
        roofs: RoofsMeasured | None,
        run: Job | None,
        device: str,
        selected: int | None = None,
        *,
        measuring: bool = False,
        message: str = "",
    ) -> Roofline:
        cases = () if run is None else run.cases
        places = tuple(
            None
            if roofs is None or case.measurement is None
            else place(case.measurement, roofs)
            for case in cases
        )
        unused = iter(letters([where for where in places if where is not None]))
        texts = tuple("" if where is None else next(unused) for where in places)
        return cls(device, run, selected, roofs, measuring, places, texts, message)

    def report(
        self,
        colors: Sequence[Color] = COLORS,
        *,
        host: Host | None = None,
        lost: bool = False,
    ) -> Report:
        """The roofs, and the cases under them.

        Args:
            colors: of the picture.
            host: where they were measured.
            lost: an engine died on the way.
        """
        if self.roofs is None:
            return Report(title=f"roofline of {self.device}")
        tables = []
        if self.roofs.roofs:
            tables.append(Table(_roof_columns(self.roofs.roofs)))
        if self.run is not None and self.run.cases:
            tables.append(Table(tuple(self.columns(BAR))))
        rows = [
            (self._label(index), self._remarks(index))
            for index in range(len(self.places))
        ]
        during = Remark("incomplete", {"during": "run"}, "warning")
        whole = (Statement(during),) * lost
        return Report(
            title=f"roofline of {self.device}",
            verdict=(Span(words.sentence(headline(self.roofs)), "strong"),),
            tables=tuple(tables),
            remarks=(*whole, *gather(rows), *roof_statements(self.roofs)),
            picture=self.picture(colors),
            host=machine(host, *MACHINE, by=" · "),
        )

    def statements(self) -> tuple[Statement, ...]:
        """Return the limit of the selected case, and what qualifies the roofs."""
        if self.roofs is None or self.selected is None:
            return ()
        remark = self.verdict(self.selected)
        own = (Statement(remark),) if remark is not None else ()
        return (*own, Statement(headline(self.roofs)), *roof_statements(self.roofs))

    def verdict(self, index: int) -> Remark | None:
        """Return the limit of a case; ``None`` while it has no figures."""
        where = self.places[index]
        if where is None:
            return None
        return Remark("roof-awaited") if self._waits(where) else verdict(where)

    def _remarks(self, index: int) -> list[Remark]:
        """Return the remarks on a case beyond the table."""
        assert self.run is not None
        failure, remark = self.run.cases[index].failure, self.verdict(index)
        if failure is not None:
            return [failure.remark]
        return [remark] if remark is not None and remark.code not in PLAIN else []

    def _label(self, index: int) -> str:
        assert self.run is not None
        case = self.run.cases[index].case
        return self.letters[index] or f"{brief_name(case.op)} {case.size} {case.mode}"

    def columns(self, room: int) -> list[Column]:
        """The columns of the cases, from left to right.

        Args:
            room: cells of a bar.
        """
        assert self.run is not None
        cases = self.run.cases
        places = [
            None if where and self._waits(where) else where for where in self.places
        ]
        rates = [
            where.rate if where and where.intensity is not None else None
            for where in places
        ]
        unit = fmt.shared([rate for rate in rates if rate], "FLOP/s")
        letters: list[Line] = [(Span(letter, "value"),) for letter in self.letters]
        intensities: list[Line] = [
            (Span(_intensity_text(where)),) if where else () for where in places
        ]
        speeds: list[Line] = [
            (Span(unit.text(rate), rate_role(case.measurement)),)
            if rate
            else (Span(speed_text(case.measurement), rate_role(case.measurement)),)
            for case, rate in zip(cases, rates, strict=True)
        ]
        shares: list[Line] = [
            (Span(fmt.percent(where.share), rate_role(where.measurement)),)
            if where and (where.share is not None or where.why_not)
            else ()
            for where in places
        ]
        bars: list[Line] = [
            (Span(bar(where.share or 0.0, room), bar_role(case)),) if where else ()
            for case, where in zip(cases, places, strict=True)
        ]
        limits: list[Line] = [
            (Span(limit(where)),) if where else () for where in places
        ]
        queued = f"queued {unit.name or 'rate'}"  # unlike ``ready`` beside it
        return [
            Column("letter", "", letters, least=1),
            *names(self.run),
            ready_column(self.run),
            Column("intensity", "flops/byte", intensities, rank=2, right=True),
            Column("rate", queued, speeds, rank=1, right=True, least=7),
            Column("share", "of roof", shares, right=True),
            Column("bar", "", bars, rank=3, least=room),
            Column("limit", "limited by", limits, least=14, grows=True),
        ]

    def _waits(self, where: Place) -> bool:
        """Return whether a case has no place yet, because its roofs are being
        measured.
        """
        return where.rate is None and self.measuring and self._lacks(where)

    def _lacks(self, where: Place) -> bool:
        """Return whether a case has no place for want of a roof."""
        case, roofs = multiplied(where.measurement), self.roofs
        if roofs is None or not on_the_roofs(case, roofs.device):
            return False
        return bandwidth_roof(roofs) is None or compute_roof(case, roofs) is None

    def picture(self, colors: Sequence[Color]) -> Picture | None:
        """The roofs and the cases under them; ``None`` while there are no roofs."""
        if self.roofs is None:
            return None
        places = [where for where in self.places if where is not None]
        if self.selected is None:
            return picture(places, self.roofs, colors)
        drawn = picture(places, self.roofs, colors, self.places[self.selected])
        letter = self.letters[self.selected]
        if drawn is None or not letter:
            return drawn
        # With an arrow at the selected case: a colour alone is not seen by all.
        spots = [
            replace(spot, text=f"{letter}◂") if spot.text == letter else spot
            for spot in drawn.spots
        ]
        return replace(drawn, spots=tuple(spots))

    def why_no_picture(self) -> str:
        """Return a sentence on the picture, and the key that makes it."""
        about = (
            "A roofline shows what limits each case: under the slanting roof it waits"
            " for memory, under the flat roof for arithmetic. The nearer a case comes"
            " to its roof, the less is left to gain."
        )
        to_do = f"z measures the roofs of {self.device} in about {SECONDS:.0f} s."
        if self.measuring:
            so_far = f" So far: {_rates(self.roofs)}." if self.roofs else ""
            to_do = f"jaxtui is measuring the roofs of {self.device}.{so_far}"
        return "\n\n".join(filter(None, (about, self.message, to_do)))


def _rates(roofs: RoofsMeasured) -> str:
    """Write the height of the roofs: ``95.2 GFLOP/s float32, 11.8 GB/s``."""
    rates = [
        rate_text(roof) + ("" if roof.of is None else f" {roof.of.label}")
        for roof in roofs.roofs
    ]
    return ", ".join(rates) or "none"


def limit(place: Place) -> str:
    """Return the limit of a case, in a word or two."""
    if place.ratio is not None and place.uncertain:
        return fmt.UNCERTAIN
    remark = verdict(place)
    return LIMITS.get(remark.code) or words.label(remark)


def _intensity_text(place: Place) -> str:
    """``0.75``, or a dash for what only moves data."""
    if place.intensity is None:
        return fmt.ABSENT
    return fmt.significant(place.intensity, 3)


# The document.


class PlaceRow(Record, frozen=True, kw_only=True):
    case: Case
    intensity: float | None
    """Flops per byte; ``None`` for an op that only moves data."""
    rate: float | None
    """FLOP/s; bytes/s where there is no intensity."""
    limit: float | None
    """The height of the roof at this intensity, in the unit of ``rate``."""
    bound: str | None
    """``memory`` or ``compute``; ``None`` where the case has no place."""
    share: float | None
    """Rate over limit; ``None`` where that does not limit."""
    cached: bool
    """All its arrays fit into the last cache."""
    verdict: str
    uncertain: bool
    """True if its rate or its roof is not known to within a third."""
    code: str
    """The code of the verdict."""
    facts: dict[str, Fact]


class Document(Record, frozen=True, kw_only=True):
    schema: int = SCHEMA
    host: Host | None
    """``None`` when it was interrupted before the engine had looked."""
    roofs: RoofsMeasured | None
    """``None`` when it was interrupted before any was known."""
    places: tuple[PlaceRow, ...] = ()
    """The places of the measurements, in the same order."""
    notes: tuple[Remark, ...] = ()
    """Notes on all measurements."""
    measurements: tuple[Measurement, ...] = ()
    failures: tuple[FailureRow, ...] = ()
    outcome: Outcome


def document(
    results: Results,
    roofs: RoofsMeasured | None,
    places: Sequence[Place],
    outcome: Outcome,
) -> Document:
    return Document(
        host=results.host,
        roofs=roofs,
        places=tuple(map(_row, places)),
        notes=results.notes,
        measurements=results.measurements,
        failures=results.failures,
        outcome=outcome,
    )


def _row(place: Place) -> PlaceRow:
    remark = verdict(place)
    return PlaceRow(
        case=place.measurement.case,
        intensity=place.intensity,
        rate=place.rate,
        limit=place.limit,
        bound=place.bound,
        share=place.share,
        cached=place.cached,
        uncertain=place.uncertain,
        verdict=words.text(remark),
        code=remark.code,
        facts=remark.facts,
    )
