"""The report of a roofline, and the columns of its cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace
from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.model import Remark
from jaxtui.core.model.document import Note
from jaxtui.core.model.own import brief_name
from jaxtui.core.model.remark import Severity
from jaxtui.core.model.roofs import Roof, RoofsMeasured
from jaxtui.core.state import CaseState, Job, State
from jaxtui.features.bench.figures import bar_role, rate_role, speed_text
from jaxtui.features.bench.messages import FailureRow
from jaxtui.features.bench.report import endings, names, ready_column
from jaxtui.features.roofline import judge
from jaxtui.features.roofline.judge import (
    headline,
    places,
    quantity_of,
    rate_text,
    roof_name,
)
from jaxtui.features.roofline.messages import Place, Roofline
from jaxtui.features.roofline.picture import letters, picture
from jaxtui.ui import words
from jaxtui.ui.outcome import Outcome
from jaxtui.ui.plot import COLORS
from jaxtui.ui.report import Column, Report, Rows, gather, of_host
from jaxtui.ui.text import Line, Span, bar

BAR = 16
"""Cells of a bar in a report."""

PLAIN = ("memory-bound", "moves-data", "compute-bound")
"""Codes of verdicts that the table says as well."""


def result(state: State, complete: bool) -> Roofline:
    """Return the roofs, and the cases of the last run below them."""
    job, run = state.jobs.get("roofs"), state.run
    roofs = job.result if job is not None else None
    measured, failures = endings((), run)
    if not isinstance(roofs, RoofsMeasured):
        roofs, measured = None, []
    lost = any(run.outcome == "crashed" for run in state.jobs.values())
    incomplete = Note(flag="incomplete", text=words.LOST, level="warning")
    return Roofline(
        command="roofline",
        host=state.host,
        complete=complete,
        notes=(incomplete,) * lost,
        roofs=roofs,
        places=tuple(judge.place(x, roofs) for x in measured) if roofs else (),
        measurements=tuple(measured),
        failures=tuple(map(FailureRow.of, failures)),
    )


def report(roofline: Roofline, state: State) -> Report:
    """The roofs, and the cases under them."""
    roofs, run = roofline.roofs, state.run
    if roofs is None:
        return Report("roofline")
    tables = [_roofs(roofs.roofs)] if roofs.roofs else []
    notes = [*roofline.notes, *roof_notes(roofs)]
    if run is not None and run.cases:
        under = places(run, roofs)
        shown = columns(run, under, BAR)
        tables.append(Rows([replace(column, grows=False) for column in shown]))
        notes += _notes(run, under)
    return Report(
        title=f"roofline of {roofs.device}",
        verdict=headline(roofs),
        tables=tables,
        notes=notes,
        host=of_host(roofline.host),
        picture=picture(roofline.places, roofs, COLORS),
    )


def count(roofline: Roofline) -> tuple[int, int]:
    """Return the number of roofs and cases that were measured, and of those wanted."""
    roofs = len(roofline.roofs.roofs) if roofline.roofs else 0
    measured = roofs + len(roofline.measurements)
    return measured, measured + len(roofline.failures)


OUTCOME = Outcome(Roofline, result, report, count)


def verdict_of(place: Place) -> Note:
    """Return the verdict of a case as a note."""
    placed = place.bound is not None and place.code != "beyond-peak"
    flag = place.code.replace("-", " ") if placed else place.limited_by
    return Note(flag=flag, text=place.verdict, level=place.level)


def _notes(run: Job, places: Sequence[Place | None]) -> Iterator[Note]:
    """Yield what the table does not say, with the cases that it is about."""
    about: dict[tuple[str, str, Severity], list[str]] = {}
    lettered = letters(places)
    for case, place, letter in zip(run.cases, places, lettered, strict=True):
        row = case.case
        label = letter or f"{brief_name(row.op)} {row.size} {row.mode}"
        if case.failure is not None:
            remark = case.failure.remark
            flag, text = words.label(remark), words.text(remark)
            note = Note(flag=flag, text=text, level=remark.severity)
        elif place is None or place.code in PLAIN:
            continue
        else:
            note = verdict_of(place)
        about.setdefault((note.flag, note.text, note.level), []).append(label)
    for (flag, text, level), rows in about.items():
        yield Note(flag=flag, text=text, level=level, about=(*rows,))


def roof_notes(roofs: RoofsMeasured) -> list[Note]:
    """Return what qualifies the roofs, and why some are missing."""
    rows: list[tuple[str, list[Remark]]] = []
    for roof in roofs.roofs:
        source = [] if roof.published is None else [roof.published.source]
        rows.append((roof_name(roof.of), [*roof.remarks, *source]))
    rows += [(roof_name(missing.of), [missing.remark]) for missing in roofs.missing]
    notes = [statement.note for statement in gather(rows)]
    if roofs.roofs and not any(roof.published for roof in roofs.roofs):
        text = "No published peak for this device, so no % of peak."
        notes.append(Note(flag="peak", text=text))
    return notes


def _roofs(roofs: Sequence[Roof]) -> Rows:
    """A row for each roof."""
    intervals, shares = [], []
    for roof in roofs:
        quantity = quantity_of(roof)
        unit = fmt.common([roof.per_second], quantity)
        ends = fmt.Figure((roof.ci_low, roof.ci_high), quantity, unit)
        single = roof.confidence == 0  # one turn, whose ends are itself
        intervals.append(Text("" if single else str(ends), "muted"))
        peak = roof.published.value if roof.published else 0.0
        share = fmt.percent(roof.per_second / peak) if peak > 0 else ""
        shares.append(f"{share} of {fmt.rate(peak, quantity)}" if share else "")
    figures = [
        Text(rate_text(roof), "unknown" if roof.vague else "value") for roof in roofs
    ]
    published = [Column("published", shares, rank=1)] if any(shares) else []
    return Rows(
        [
            Column("roof", [roof_name(roof.of) for roof in roofs]),
            Column("measured", figures, right=True),
            Column("interval", intervals, rank=3, right=True),
            *published,
            Column("reached by", [roof.what for roof in roofs], rank=2),
        ]
    )


def columns(run: Job, places: Sequence[Place | None], room: int) -> list[Column]:
    """The columns of the cases, from left to right; ``room`` is that of a bar."""
    rated = [place.rate for place in places if place and place.intensity]
    unit = fmt.shared([rate for rate in rated if rate], "FLOP/s")
    rows = [
        _cells(case, place, letter, unit, room)
        for case, place, letter in zip(run.cases, places, letters(places), strict=True)
    ]

    def column(key: str, head: str, **more: Any) -> Column:
        return Column(head, [row.get(key, ()) for row in rows], **more, key=key)

    head = f"pipelined {unit.name}".rstrip()  # unlike ``ready`` beside it
    return [
        column("letter", "", least=1),
        *names(run),
        ready_column(run),
        column("intensity", "flops/byte", rank=2, right=True),
        column("rate", head, rank=1, right=True, least=7),
        column("share", "of roof", right=True),
        column("bar", "", rank=3, least=room),
        column("limit", "limited by", least=14, grows=True),
    ]


def _cells(
    case: CaseState,
    place: Place | None,
    letter: str,
    unit: fmt.Unit | fmt.OwnUnits,
    room: int,
) -> dict[str, Line]:
    role, speed = rate_role(case.measurement), speed_text(case.measurement)
    if place is None:
        return {"rate": (Span(speed, role),)}
    intensity = fmt.ABSENT
    if place.intensity:
        intensity, speed = fmt.significant(place.intensity, 3), unit.text(place.rate)
    limited = place.share is not None or place.bound is None
    limit = fmt.UNCERTAIN if place.uncertain else place.limited_by
    return {
        "letter": (Span(letter, "value"),),
        "intensity": (Span(intensity),),
        "rate": (Span(speed, role),),
        "share": (Span(fmt.percent(place.share), role),) if limited else (),
        "bar": (Span(bar(place.share or 0.0, room), bar_role(case)),),
        "limit": (Span(limit),),
    }


def so_far(roofs: RoofsMeasured | None) -> str:
    """Write the height of the roofs: ``95.2 GFLOP/s float32, 11.8 GB/s``."""
    rates = [
        rate_text(roof) + ("" if roof.of is None else f" {roof.of.label}")
        for roof in (roofs.roofs if roofs else ())
    ]
    return f"So far: {', '.join(rates)}." if rates else ""
