"""The picture of a roofline: roofs as lines, each case as a letter under them."""

from __future__ import annotations

import math
import string
from collections.abc import Iterator, Sequence

from jaxtui import format as fmt
from jaxtui.model.roofs import Roof, RoofDtype, RoofsMeasured
from jaxtui.plot import Axis, Color, Picture, Series, Spot
from jaxtui.roofline.placing import (
    Place,
    bandwidth_roof,
    compute_roofs,
    kind,
    ridge,
)
from jaxtui.roofline.words import dtype_name, rate_text

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


def letters(places: Sequence[Place]) -> tuple[str, ...]:
    """What each place is called in the picture; empty for those that are not drawn.

    An op that only moves data has no intensity, and so no place on the axis.
    """
    drawn = [bool(place.intensity and place.rate) for place in places]
    numbers = [sum(drawn[:index]) for index in range(len(drawn))]
    return tuple(
        LETTERS[number % len(LETTERS)] if shown else ""
        for shown, number in zip(drawn, numbers, strict=True)
    )


def picture(
    places: Sequence[Place],
    roofs: RoofsMeasured,
    colors: Sequence[Color],
    selected: Place | None = None,
) -> Picture | None:
    """Both axes logarithmic: flops per byte along, FLOP/s up.

    Measured roofs are lines and published ones are dotted; cases are letters.

    Args:
        places: the cases, also those without a place.
        roofs: of the device.
        colors: for the roofs, then for the cases.
        selected: the one that stands out; the others have the colour of their bound.

    Returns:
        ``None`` if the memory roof is not known.
    """
    memory = bandwidth_roof(roofs)
    if memory is None:
        return None
    shown = _shown(places, roofs)
    low, high = _range(places, memory, shown)
    drawn = list(_measured(memory, shown, low, high, colors))
    drawn += _published(memory, shown, low, high, colors)
    return Picture(
        series=tuple(drawn),
        x=Axis("flops per byte", log=True, limits=(low, high)),
        y=Axis(
            "FLOP/s over flops per byte",
            log=True,
            limits=_heights(places, drawn),
            format=fmt.tick_flops_rate,
        ),
        title=f"roofline of {roofs.device}",
        spots=(
            *_letters(places, colors, selected),
            *_names(memory, shown, low, high),
        ),
    )


def _shown(places: Sequence[Place], roofs: RoofsMeasured) -> tuple[Roof, ...]:
    """The compute roofs that some case is under; all, where there are no cases."""
    known = compute_roofs(roofs)
    wanted: set[RoofDtype | None] = {
        kind(place.measurement.case) for place in places if place.rate is not None
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


def _measured(
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


def _published(
    memory: Roof,
    compute: Sequence[Roof],
    low: float,
    high: float,
    colors: Sequence[Color],
) -> Iterator[Series]:
    """Dotted, where somebody publishes figures: as far as there are such."""
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
    """The selected one first, so that it gives way to none."""
    named = list(zip(places, letters(places), strict=True))
    for place, letter in sorted(named, key=lambda one: one[0] is not selected):
        if letter and place.intensity and place.rate:
            tint = _tint(place, colors, selected)
            yield Spot(place.intensity, place.rate, letter, tint)


def _tint(
    place: Place, colors: Sequence[Color], selected: Place | None
) -> Color | None:
    if selected is not None:
        # The terminal's own is the brightest that is sure to be readable.
        return None if place is selected else colors[1 % len(colors)]
    return colors[(1 if place.bound == "memory" else 2) % len(colors)]


def _names(
    memory: Roof, compute: Sequence[Roof], low: float, high: float
) -> Iterator[Spot]:
    """What each roof is, written on it."""
    for roof in compute:
        assert roof.of is not None
        text = f"{dtype_name(roof.of)} {rate_text(roof)}"
        yield Spot(high, roof.per_second, text, where="above")
    top = compute[0].per_second if compute else high * memory.per_second
    # Half-way up the slope, whose upper left is always empty.
    middle = math.sqrt(low * (top / memory.per_second))
    yield Spot(middle, middle * memory.per_second, rate_text(memory), where="above")
