"""A roofline: verdicts in words, the text of a report, the plot and the document."""

from __future__ import annotations

import itertools
import math
import string
from collections.abc import Iterator, Sequence
from typing import Literal

from jaxtui import format as fmt
from jaxtui.analysis.roofline import (
    Place,
    arithmetic,
    bandwidth_roof,
    compute_roofs,
    ridge,
)
from jaxtui.model import Case, Failure, Host, Measurement, Record, Remark
from jaxtui.model.measurement import is_vague
from jaxtui.model.roofs import MissingRoof, Roof, RoofDtype, RoofsMeasured
from jaxtui.plot import Axis, Color, Picture, Series, Spot
from jaxtui.state import Job
from jaxtui.view import words
from jaxtui.view.bench import failure_text
from jaxtui.view.curves import NUMPY_COLOR
from jaxtui.view.document import SCHEMA, Outcome, Results
from jaxtui.view.text import INCOMPLETE, table, wrap

AT_THE_ROOF = 1.05
"""Shares up to this are the roof itself: two measurements of one speed differ so."""

NEAR = 0.3
"""From this share on it is the roof that limits; below, something else does."""

NEARLY_FITTING = 4
"""Arrays of so many times the last cache are partly still there in the next call."""

OP_BY_OP = ("eager", "numpy", "tensorflow")
"""Modes that write every intermediate result to memory."""

LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits[1:]
"""What cases are called in the picture, in their order."""

BEYOND = 4.0
"""How many times further than the outermost case or ridge the roofs are drawn."""

SLOPE = 20.0
"""How many times the first ridge the axis begins before it: its name stands there."""

HEADROOM = 1.8
"""How many times higher than the highest roof the picture is, and as much lower."""

DOTS = 24
"""Of the dotted line of published roofs."""


# In words.


def verdict(place: Place) -> str:
    """What limits a case, and whether that rests on an uncertain figure."""
    words = _verdict(place)
    rests = place.share is not None and _is_vague(place)
    return f"{fmt.UNCERTAIN}: {words}" if rests else words


def _verdict(place: Place) -> str:
    """What limits a case and how near it comes, e.g. ``memory bound at 71 % of the
    roof``; without a full stop, unless it is the sentence that says why there is none.
    """
    share = place.share
    if share is None or place.roof is None:
        return place.why_not or "it has no place under the roofs"
    percent = fmt.percent(share)
    if share > AT_THE_ROOF:
        return _cause_above(place, percent)
    moves = f"moves data at {percent} of the bandwidth roof"
    if _in_cache(place):
        words = moves if place.intensity is None else f"{percent} of the memory roof"
        return (
            f"{words}, though {_why_in_cache(place)}: it is not the memory that limits "
            "it"
        )
    if place.intensity is None:
        return moves if share >= NEAR else f"{moves}: {_other_cause(place)}"
    if share >= NEAR:
        return f"{place.bound} bound at {percent} of the roof"
    return f"{percent} of the {place.bound} roof: {_other_cause(place)}"


def limit(place: Place) -> str:
    """The same in a word or two, for a column."""
    share = place.share
    if share is None:
        return "no rate"
    if _is_vague(place):
        return fmt.UNCERTAIN
    if share > AT_THE_ROOF:
        return "cache" if _in_cache(place) else "over the roof"
    if share < NEAR or _in_cache(place):
        return "something else"
    return "memory" if place.bound == "memory" else "arithmetic"


def _is_vague(place: Place) -> bool:
    """Whether its rate or its roof is not known to within a third."""
    ready, roof = place.measurement.ready, place.roof
    if ready is not None and ready.vague:
        return True
    if roof is None:
        return False
    # What was written before roofs had a confidence says nothing of it.
    sure = 1.0 if roof.confidence is None else roof.confidence
    return is_vague(roof.ci_low, roof.ci_high, sure)


def roof_name(roof: Roof) -> str:
    """``bandwidth``, or ``compute float32``."""
    return "bandwidth" if roof.of is None else f"compute {roof.of.label}"


def rate_text(roof: Roof, value: float | None = None) -> str:
    """Its speed, or another one in its unit: ``64.2 GFLOP/s``.

    Integer arithmetic is counted like any other.
    """
    return fmt.rate(roof.per_second if value is None else value, _quantity(roof))


def _quantity(roof: Roof) -> Literal["FLOP/s", "B/s"]:
    return "FLOP/s" if roof.kind == "compute" else "B/s"


def published_text(roof: Roof) -> str:
    """The published figure, next to the measured one."""
    published = roof.published
    if published is None:
        return "no published peak"
    value = published.value
    share = fmt.percent(roof.per_second / value if value > 0 else None)
    return f"{share} of {rate_text(roof, value)} ({words.sentence(published.source)})"


def missing_text(missing: MissingRoof) -> str:
    """A roof that there is not, and why."""
    of = missing.of
    name = "bandwidth roof" if of is None else f"compute roof for {of.label}"
    return f"no {name}: {words.text(missing.remark)}"


def ridges_text(roofs: RoofsMeasured) -> str:
    """From which intensities on arithmetic limits; empty if that is not known."""
    memory, compute = bandwidth_roof(roofs), compute_roofs(roofs)
    if memory is None or not compute:
        return ""
    parts = [
        f"{fmt.significant(ridge(roof, memory), 2)} flops per byte in "
        + (roof.of.label if roof.of else roof_name(roof))
        for roof in compute
    ]
    return f"The memory limits up to {', '.join(parts)}; above that, arithmetic does."


def cache_text(roofs: RoofsMeasured) -> str:
    """What arrays that fit into the last cache may do; empty where it is not known."""
    if roofs.cache_bytes is None:
        return ""
    return (
        f"Arrays that fit into the last cache, {fmt.bytes_text(roofs.cache_bytes)}, "
        "may move faster than the bandwidth roof."
    )


def intensity_text(place: Place) -> str:
    """``0.75``, or a dash for what only moves data."""
    if place.intensity is None:
        return fmt.ABSENT
    return fmt.significant(place.intensity, 3)


def _cause_above(place: Place, percent: str) -> str:
    """What may have let a case be faster than its roof."""
    if _in_cache(place):
        return f"faster than the memory roof ({percent}): {_why_in_cache(place)}"
    assert place.roof is not None
    moved, cache = place.measurement.bytes, place.cache_bytes
    nearly_fits = moved and cache and moved < NEARLY_FITTING * cache
    if place.bound == "memory" and nearly_fits:
        cause = (
            f"part of its arrays ({fmt.bytes_text(moved)}) may stay in the last cache "
            f"({fmt.bytes_text(cache)}), and reading alone is faster than copying"
        )
    elif place.roof.disturbed:
        cause = "other programs used the cores while the roof was measured"
    elif place.bound == "memory":
        cause = (
            "the machine was slower while the roof was measured, or it mostly reads, "
            "which is faster than copying"
        )
    else:
        cause = (
            "the machine was slower while the roof was measured, or the op needs fewer "
            "operations than its formula counts"
        )
    return f"over the {place.bound} roof ({percent}): {cause}"


def _other_cause(place: Place) -> str:
    """What else may limit a case that is far below its roof."""
    flags = {note.code for note in place.measurement.notes}
    mode = place.measurement.case.mode
    if "contended" in flags:
        return "other programs used the cores while it was measured"
    span, ready = place.measurement.memory, place.measurement.ready
    fresh = span and ready and 2 * ready.median > span.reused + span.fresh
    if fresh or "page-faults" in flags:
        return "memory for its result is mapped anew in every call, which takes longer"
    if place.bound == "memory" and mode in OP_BY_OP:
        return f"mode {mode} writes every intermediate result to memory"
    what = "the memory" if place.bound == "memory" else "arithmetic at full speed"
    return f"something other than {what} limits it"


def _in_cache(place: Place) -> bool:
    """Whether the memory roof, under which a case stands, need not hold for it."""
    return place.bound == "memory" and place.cached


def _why_in_cache(place: Place) -> str:
    arrays = fmt.bytes_text(place.measurement.bytes)
    cache = fmt.bytes_text(place.cache_bytes)
    return f"its arrays ({arrays}) fit into the last cache ({cache})"


def head(roofs: RoofsMeasured) -> str:
    """The roofs in a table, and what there is to know about them."""
    kind = roofs.device_kind
    same = not kind or kind == roofs.device.partition(":")[0]
    lines = [f"Roofs of {roofs.device}" + ("" if same else f", {kind}")]
    if roofs.roofs:
        rows = [(roof_name(one), *_figures(one), one.what) for one in roofs.roofs]
        titles = ("roof", "measured", "interval", "reached by")
        lines.append(table(titles, rows, titles[1:3]))
    return "\n".join(filter(None, [*lines, wrap(*_about(roofs))]))


def _figures(roof: Roof) -> tuple[fmt.Cell, fmt.Cell]:
    """What was measured, and the ends of its interval."""
    quantity, ends = _quantity(roof), (roof.ci_low, roof.ci_high)
    unit = fmt.common([roof.per_second], quantity)
    return fmt.figure(roof.per_second, quantity), fmt.Figure(ends, quantity, unit)


def _about(roofs: RoofsMeasured) -> Iterator[str]:
    published = [one for one in roofs.roofs if one.published is not None]
    for roof in published:
        yield f"{roof_name(roof)}: {published_text(roof)}."
    if roofs.roofs and not published:
        yield "No published peak for this device."
    for missing in roofs.missing:
        text = missing_text(missing)
        yield f"{text[0].upper()}{text[1:]}"
    disturbed = [roof for roof in roofs.roofs if roof.disturbed]
    if disturbed:
        # One of the remarks: they differ in a digit.
        said = words.text(disturbed[0].remarks[0])
        yield f"{', '.join(map(roof_name, disturbed))}: {said}"
    yield from filter(None, (ridges_text(roofs), cache_text(roofs)))


def _cases(places: Sequence[Place], device: str) -> Iterator[str]:
    """Two lines or more for each case: its figures, and what they mean."""
    names = [
        place.measurement.case.label.removesuffix(f" on {device}") for place in places
    ]
    widest = max(map(len, names), default=0)
    for place, letter, name in zip(places, letters(places), names, strict=True):
        figures = ""
        if place.rate is not None and place.intensity is None:
            figures = fmt.rate(place.rate, "B/s")
        elif place.rate is not None:
            speed = fmt.rate(place.rate)
            figures = f"{speed} at {intensity_text(place)} flops per byte"
        yield f"{letter or '-'}  {name.ljust(widest)}  {figures}".rstrip()
        yield wrap(f"   {verdict(place)}")


def verdicts(
    roofs: RoofsMeasured,
    places: Sequence[Place],
    failures: Sequence[Failure],
    run: Job | None,
    *,
    lost: bool = False,
) -> str:
    """A verdict for each case, and what did not work."""
    parts = ["\n".join(_cases(places, roofs.device))]
    parts += [failure_text(failure, run) for failure in failures]
    parts += [wrap(INCOMPLETE)] if lost else []
    return "\n\n".join(filter(None, parts))


# The plot.


def letters(places: Sequence[Place]) -> tuple[str, ...]:
    """What each place is called in the picture; empty for those that are not drawn.

    An op that only moves data has no intensity, and so no place on the axis.
    """
    names = itertools.cycle(LETTERS)
    return tuple(
        next(names) if place.intensity and place.rate else "" for place in places
    )


def picture(
    places: Sequence[Place],
    roofs: RoofsMeasured,
    colors: Sequence[Color],
    selected: Place | None = None,
) -> Picture | None:
    """Both axes logarithmic: flops per byte along, FLOP/s up.

    Measured roofs are lines and published ones are dotted; cases are letters.

    Returns:
        ``None`` if the memory roof is not known.
    """
    memory = bandwidth_roof(roofs)
    if memory is None:
        return None
    compute = _roofs_shown(places, roofs)
    low, high = _range(places, memory, compute)
    series = list(_measured_lines(memory, compute, low, high, colors))
    series += _published_dots(memory, compute, low, high, colors)
    return Picture(
        series=tuple(series),
        x=Axis("flops per byte", log=True, limits=(low, high)),
        y=Axis(
            "FLOP/s over flops per byte",
            log=True,
            limits=_heights(places, series),
            format=fmt.tick_flops_rate,
        ),
        title=f"roofline of {roofs.device}",
        spots=(
            *_letters(places, colors, selected),
            *_names(memory, compute, low, high),
        ),
    )


def _roofs_shown(places: Sequence[Place], roofs: RoofsMeasured) -> tuple[Roof, ...]:
    """The compute roofs that some case is under; all, where there are no cases."""
    known = compute_roofs(roofs)
    wanted: set[RoofDtype | None] = {
        arithmetic(place.measurement.case) for place in places if place.rate is not None
    }
    return tuple(roof for roof in known if roof.of in wanted) or known


def _range(
    places: Sequence[Place], memory: Roof, compute: Sequence[Roof]
) -> tuple[float, float]:
    """Of the intensities: the cases and the ridges, with room on both sides."""
    inside = [place.intensity for place in places if place.intensity and place.rate]
    ridges = [ridge(roof, memory) for roof in compute]
    inside += ridges
    finite = [one for one in inside if 1e-12 < one < 1e12] or [1.0]
    low = min([min(finite) / BEYOND, *(one / SLOPE for one in ridges if one > 1e-12)])
    return low, max(finite) * BEYOND


def _heights(places: Sequence[Place], drawn: Sequence[Series]) -> tuple[float, float]:
    """Of the rates, with room for a name over the highest roof."""
    rates = [place.rate for place in places if place.intensity and place.rate]
    rates += [height for series in drawn for height in series.y]
    return min(rates) / HEADROOM, max(rates) * HEADROOM


def _measured_lines(
    memory: Roof,
    compute: Sequence[Roof],
    low: float,
    high: float,
    colors: Sequence[Color],
) -> Iterator[Series]:
    """The slope of the memory up to the highest roof, and each roof from there on."""
    if not compute:
        slope = [low * memory.per_second, high * memory.per_second]
        yield Series("measured", [low, high], slope, colors[0])
    for index, roof in enumerate(compute):
        meets = ridge(roof, memory)
        x, y = [meets, high], [roof.per_second] * 2
        if index == 0:
            x, y = [low, *x], [low * memory.per_second, *y]
        label = "measured" if index == 0 else ""
        yield Series(label, x, y, colors[index % len(colors)])


def _published_dots(
    memory: Roof,
    compute: Sequence[Roof],
    low: float,
    high: float,
    colors: Sequence[Color],
) -> Iterator[Series]:
    """The published figures, dotted, where there are any."""
    slope = memory.published.value if memory.published else math.inf
    flats = [(i, one.published.value) for i, one in enumerate(compute) if one.published]
    label = "published"
    if slope < math.inf:
        top = max((value for _, value in flats), default=math.inf)
        x = [one for one in _spread(low, high) if one * slope <= top]
        y = [one * slope for one in x]
        yield Series(label, x, y, colors[0], points=True, line=False)
        label = ""
    for index, value in flats:
        start = max(low, value / slope) if slope < math.inf else low
        x = _spread(start, high) if start < high else []
        y = [value] * len(x)
        color = colors[index % len(colors)]
        yield Series(label, x, y, color, points=True, line=False)
        label = ""


def _spread(low: float, high: float) -> list[float]:
    """Places equally far apart on a logarithmic axis."""
    step = (high / low) ** (1 / (DOTS - 1))
    return [low * step**index for index in range(DOTS)]


def _letters(
    places: Sequence[Place], colors: Sequence[Color], selected: Place | None
) -> Iterator[Spot]:
    """In the colour of what ran, JAX or NumPy; the selected one in the terminal's own,
    the brightest that is sure to be readable, and first, so that it gives way to none.
    """
    named = list(zip(places, letters(places), strict=True))
    for place, letter in sorted(named, key=lambda one: one[0] is not selected):
        if letter and place.intensity and place.rate:
            ran = NUMPY_COLOR if place.measurement.case.on_host else 0
            tint = None if place is selected else colors[ran % len(colors)]
            yield Spot(place.intensity, place.rate, letter, tint)


def _names(
    memory: Roof, compute: Sequence[Roof], low: float, high: float
) -> Iterator[Spot]:
    for roof in compute:
        assert roof.of is not None
        text = f"{roof.of.label} {rate_text(roof)}"
        yield Spot(high, roof.per_second, text, where="above")
    top = compute[0].per_second if compute else high * memory.per_second
    # Half-way up the slope, whose upper left is always empty.
    middle = math.sqrt(low * (top / memory.per_second))
    yield Spot(middle, middle * memory.per_second, rate_text(memory), where="above")


# The document.


class PlaceRow(Record, frozen=True, kw_only=True):
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
    schema: int = SCHEMA
    host: Host | None
    """``None`` when it was interrupted before the engine had looked."""
    roofs: RoofsMeasured | None
    """``None`` when it was interrupted before any was known."""
    places: tuple[PlaceRow, ...] = ()
    """One for each measurement, in the same order."""
    notes: tuple[Remark, ...] = ()
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
