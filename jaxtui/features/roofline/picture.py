"""The picture of a roofline: roofs are lines, published ones dots, cases letters."""

from __future__ import annotations

import itertools
import math
import string
from collections.abc import Iterator, Sequence

from jaxtui.core import format as fmt
from jaxtui.core.model.roofs import Roof, RoofsMeasured
from jaxtui.features.roofline.judge import (
    bandwidth_roof,
    compute_roofs,
    rate_text,
    ridge,
)
from jaxtui.features.roofline.messages import Place
from jaxtui.ui.plot import SERIES, Axis, Color, Picture, Series, Spot

LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits[1:]
"""The letters of the cases in the picture, in their order."""

BEYOND = 4.0
"""The factor by which the roofs are drawn beyond the outermost case or ridge."""

SLOPE = 20.0
"""The factor by which the axis begins before the first ridge: its name stands there."""

HEADROOM = 1.8
"""The factor by which the picture is higher than the highest roof, and as much
lower."""

DOTS = 24
"""The dots of the line of published roofs."""


def letters(places: Sequence[Place | None]) -> tuple[str, ...]:
    """Return the letter of each place in the picture; empty for those that are not
    drawn.

    An op that only moves data has no intensity, and so no place on the axis.
    """
    names = itertools.cycle(LETTERS)
    return tuple(
        next(names) if place and place.intensity and place.rate else ""
        for place in places
    )


def picture(
    places: Sequence[Place],
    roofs: RoofsMeasured,
    colors: Sequence[Color],
    selected: Place | None = None,
) -> Picture | None:
    """Draw the roofline on two logarithmic axes: flops per byte along, FLOP/s up.

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
            format=fmt.tick_rate,
        ),
        title=f"roofline of {roofs.device}",
        spots=(
            *_letters(places, colors, selected),
            *_names(memory, compute, low, high),
        ),
    )


def _roofs_shown(places: Sequence[Place], roofs: RoofsMeasured) -> tuple[Roof, ...]:
    """The compute roofs that some case is under; all, where there are no cases."""
    every = compute_roofs(roofs)
    wanted = {place.arithmetic for place in places if place.rate is not None}
    return tuple(roof for roof in every if roof.of in wanted) or every


def _range(
    places: Sequence[Place], memory: Roof, compute: Sequence[Roof]
) -> tuple[float, float]:
    """Return the range of the intensities, with room on both sides."""
    inside = [place.intensity for place in places if place.intensity and place.rate]
    ridges = [ridge(roof, memory) for roof in compute]
    inside += ridges
    finite = [intensity for intensity in inside if 1e-12 < intensity < 1e12] or [1.0]
    low = min(
        [
            min(finite) / BEYOND,
            *(intensity / SLOPE for intensity in ridges if intensity > 1e-12),
        ]
    )
    return low, max(finite) * BEYOND


def _heights(places: Sequence[Place], drawn: Sequence[Series]) -> tuple[float, float]:
    """Return the range of the rates, with room for a name over the highest roof."""
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
    flats = [
        (i, roof.published.value) for i, roof in enumerate(compute) if roof.published
    ]
    label = "published"
    if slope < math.inf:
        top = max((value for _, value in flats), default=math.inf)
        x = [at for at in _spread(low, high) if at * slope <= top]
        y = [at * slope for at in x]
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
    """Yield the letters in the colour of JAX or NumPy; the selected one in the
    terminal's own, the brightest that is sure to be readable, and first, so that it
    gives way to none.
    """
    lettered = list(zip(places, letters(places), strict=True))
    for case, letter in sorted(lettered, key=lambda pair: pair[0] is not selected):
        if letter and case.intensity and case.rate:
            color = SERIES.get(case.case.mode, 0) % len(colors)
            tint = None if case is selected else colors[color]
            # With an arrow: a colour alone is not seen by all.
            text = f"{letter}◂" if case is selected else letter
            yield Spot(case.intensity, case.rate, text, tint)


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
