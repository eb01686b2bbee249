"""A roofline as text, as a plot and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxtui import format as fmt
from jaxtui.commands.plots import COLORS, HEIGHT, WIDEST
from jaxtui.document import SCHEMA, Outcome, Results
from jaxtui.model import Case, Failure, Host, Measurement, Note, Record
from jaxtui.model.roofs import Roof, RoofsMeasured
from jaxtui.roofline import Place
from jaxtui.roofline.figure import letters, picture
from jaxtui.roofline.words import (
    cache_text,
    intensity_text,
    missing_text,
    place_rate_text,
    published_text,
    rate_text,
    ridges_text,
    roof_name,
    verdict,
)
from jaxtui.text import painted
from jaxtui.tui.report import failure_text
from jaxtui.view.text import INCOMPLETE, table, wrap

HEAD = ("roof", "measured", "±", "reached by")


class PlaceRow(Record, frozen=True, kw_only=True):
    """A case under its roofs."""

    case: Case
    intensity: float | None
    """Flops per byte; ``None`` for an op that only moves data."""
    rate: float | None
    """FLOP/s; bytes/s where there is no intensity."""
    limit: float | None
    """What the roof allows at this intensity, in the unit of ``rate``."""
    bound: str | None
    """``memory`` or ``compute``; ``None`` where the case has no place."""
    share: float | None
    """Rate over limit."""
    cached: bool
    """All its arrays fit into the last cache."""
    verdict: str


class Document(Record, frozen=True, kw_only=True):
    """What ``--json`` prints."""

    schema: int = SCHEMA
    host: Host | None
    """``None`` when it was interrupted before the engine had looked."""
    roofs: RoofsMeasured | None
    """``None`` when it was interrupted before any was known."""
    places: tuple[PlaceRow, ...] = ()
    """One for each measurement, in the same order."""
    notes: tuple[Note, ...] = ()
    """What is true of all measurements."""
    measurements: tuple[Measurement, ...] = ()
    failures: tuple[Failure, ...] = ()
    outcome: Outcome


def document(
    results: Results,
    roofs: RoofsMeasured | None,
    places: Sequence[Place],
    outcome: Outcome,
) -> Document:
    """All of it as a record."""
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
    return PlaceRow(
        case=place.measurement.case,
        intensity=place.intensity,
        rate=place.rate,
        limit=place.limit,
        bound=place.bound,
        share=place.share,
        cached=place.cached,
        verdict=verdict(place),
    )


def text(
    roofs: RoofsMeasured,
    places: Sequence[Place],
    failures: Sequence[Failure],
    plot: str = "",
    *,
    lost: bool = False,
) -> str:
    """The roofs, the plot, a verdict for each case, and what did not work.

    Args:
        roofs: of the device.
        places: the cases that were measured.
        failures: those that were not.
        plot: the picture; empty for none.
        lost: the engine was lost on the way.
    """
    parts = [_head(roofs), plot, "\n".join(_cases(places, roofs.device))]
    parts += [failure_text(failure) for failure in failures]
    parts += ["\n".join(wrap(INCOMPLETE))] if lost else []
    return painted(filter(None, parts), "\n\n")


def plot(
    roofs: RoofsMeasured,
    places: Sequence[Place],
    *,
    width: int,
    colour: bool,
    ascii_only: bool,
    height: int = HEIGHT,
) -> str:
    """The picture as text; empty if the memory roof is not known.

    Args:
        roofs: of the device.
        places: the cases.
        width: columns of the terminal.
        colour: whether to use colours; nothing is told by them alone.
        ascii_only: use no character beyond ASCII.
        height: lines.
    """
    drawn = picture(places, roofs, COLORS)
    if drawn is None:
        return ""
    return drawn.draw(min(width, WIDEST), height, color=colour, ascii=ascii_only)


def _head(roofs: RoofsMeasured) -> str:
    """The roofs in a table, and what there is to know about them."""
    lines = [_device(roofs)]
    if roofs.roofs:
        rows = [_cells(roof) for roof in roofs.roofs]
        lines.append(table(HEAD, rows, ("measured", "±")))
    lines += [line for said in _about(roofs) for line in wrap(said)]
    return "\n".join(lines)


def _device(roofs: RoofsMeasured) -> str:
    kind = roofs.device_kind
    same = not kind or kind == roofs.device.partition(":")[0]
    return f"Roofs of {roofs.device}" + ("" if same else f", {kind}")


def _cells(roof: Roof) -> list[str]:
    width = (roof.ci_high - roof.ci_low) / 2 / roof.per_second
    return [roof_name(roof), rate_text(roof), fmt.percent(width), roof.what]


def _about(roofs: RoofsMeasured) -> Iterator[str]:
    published = [one for one in roofs.roofs if one.published is not None]
    for roof in published:
        yield f"{roof_name(roof)}: {published_text(roof)}."
    if roofs.roofs and not published:
        yield "Nobody publishes what such a device can do at most."
    for missing in roofs.missing:
        said = missing_text(missing)
        yield f"{said[0].upper()}{said[1:]}"
    disturbed = [roof for roof in roofs.roofs if roof.disturbed]
    if disturbed:
        # One of the sentences: they differ in a digit.
        yield f"{', '.join(map(roof_name, disturbed))}: {disturbed[0].disturbed}"
    yield from filter(None, (ridges_text(roofs), cache_text(roofs)))


def _cases(places: Sequence[Place], device: str) -> Iterator[str]:
    """Two lines or more for each case: its figures, and what they mean."""
    if not places:
        return
    names = [place.measurement.case.label for place in places]
    names = [name.removesuffix(f" on {device}") for name in names]
    widest = max(map(len, names))
    for place, letter, name in zip(places, letters(places), names, strict=True):
        yield f"{letter or '-'}  {name.ljust(widest)}  {_figures(place)}".rstrip()
        yield from wrap(f"   {verdict(place)}")


def _figures(place: Place) -> str:
    if place.rate is None:
        return ""
    rate = place_rate_text(place)
    if place.intensity is None:
        return rate
    return f"{rate} at {intensity_text(place)} flops per byte"
