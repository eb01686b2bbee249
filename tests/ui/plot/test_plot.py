"""Any floats at any size give text of exactly that size, and never end the process."""

from __future__ import annotations

import math
import re
import sys
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtui.core.text import PLAIN
from jaxtui.ui.plot import Mark, Picture, Reading, Series, Spot, Value, frame, strokes
from jaxtui.ui.plot.axes import Axis, fit, ticks
from jaxtui.ui.plot.strokes import clip

NASTY = (0.0, -0.0, 5e-324, -5e-324, 1e-300, 1e300, -1e300, 1.7e308, math.inf)
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def draw(
    series: Any, *, width: Any, height: Any, color: bool = True, **more: Any
) -> str:
    """A picture of these series."""
    return Picture(tuple(series), **more).draw(width, height, color=color)


def plain(text: str) -> list[str]:
    return ESCAPES.sub("", text).split("\n")


def check_size(text: str, width: int, height: int) -> None:
    lines = plain(text)
    assert [len(line) for line in lines] == [width] * height
    assert "\x1b" not in "".join(lines)


floats = st.one_of(
    st.floats(), st.sampled_from(NASTY), st.just(math.nan), st.floats(1e-9, 1e3)
)
axes = st.builds(
    Axis,
    label=st.sampled_from(["", "call", "seconds per call"]),
    log=st.booleans(),
    limits=st.none() | st.tuples(floats, floats),
    ticks=st.just(()) | st.lists(floats, max_size=5),
)
curves = st.builds(
    Series,
    label=st.sampled_from(["", "ready", "日本 \x1b[31m\n", "a rather long label " * 3]),
    x=st.lists(floats, max_size=40),
    y=st.lists(floats, max_size=40),
    spans=st.lists(st.tuples(floats, floats), max_size=40),
    points=st.booleans(),
    line=st.booleans(),
    bars=st.booleans(),
)
readings = st.builds(
    Reading,
    st.sampled_from(["", "1024 ready", "日本 \x1b[31m"]),
    st.lists(
        st.builds(
            Value,
            st.sampled_from(["0.83 ms", "1.2 GFLOP/s"]),
            st.sampled_from(["", "1.2–1.4 ms"]),
            st.none() | st.integers(0, 4),
        ),
        max_size=6,
    ).map(tuple),
)
marks = st.builds(
    Mark, at=floats, label=st.text(max_size=12), axis=st.sampled_from(["x", "y"])
)
texts = st.builds(
    Spot,
    floats,
    floats,
    st.sampled_from(["A", "float32", "日本"]),
    where=st.sampled_from(["at", "above"]),
)


@settings(max_examples=120)
@given(
    series=st.lists(curves, max_size=3),
    marks=st.lists(marks, max_size=2),
    spots=st.lists(texts, max_size=4),
    width=st.integers(1, 130),
    height=st.integers(1, 45),
    x=axes,
    y=axes,
    color=st.booleans(),
    failing=st.booleans(),
    places=st.just(()) | st.lists(floats, max_size=4),
    reading=readings,
)
def test_any_floats_at_any_size(
    series: Any,
    marks: Any,
    spots: Any,
    width: Any,
    height: Any,
    x: Any,
    y: Any,
    color: Any,
    failing: Any,
    places: Any,
    reading: Any,
) -> None:
    made = Picture(
        tuple(series),
        x,
        y,
        marks=tuple(marks),
        spots=tuple(spots),
        places=places,
        read=lambda _: reading,
    )
    with pytest.MonkeyPatch.context() as patch:
        if failing:
            patch.setattr(strokes, "_build", lambda *_: 1 / 0)
        cursor = 0 if places else None
        text = made.draw(width, height, color=color, cursor=cursor)
        if places and height > 0:
            assert made.nearest(0, width, height) in range(len(places))
    check_size(text, width, height)
    if not color:
        assert "\x1b" not in text


def test_a_terminal_without_braille_gets_the_same_plot_in_ascii() -> None:
    series = [
        Series("a", range(9), range(9)),
        Series("b", range(9), [4] * 9, points=True, line=False),
        Series("c", range(9), range(9), bars=True),
    ]
    text = plain(draw(series, width=40, height=15, marks=(Mark(3, "m"),)))
    for line in text:
        assert len(line.encode("ascii", PLAIN)) == len(line)
    drawn = "\n".join(text).encode("ascii", PLAIN).decode()
    assert set("*&#-|+") <= set(drawn)
    assert "?" not in drawn


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("decades", [1, 3, 6])
def test_an_axis_has_its_name_and_two_labels_at_least(width: int, decades: int) -> None:
    x = Axis("flops per byte", log=True, limits=(0.3, 0.3 * 10**decades))
    picture = Picture((Series("", [1.0], [1.0], points=True),), x, Axis(""))
    lines = picture.draw(width, 6, color=False).splitlines()
    assert lines[-1].count("flops per byte") == 1
    assert len(re.findall(r"[0-9.]+", lines[-1])) >= 2


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("values", [[3.0], [3.0, 3.0, 3.0]])
def test_equal_values_get_limits_around_them(log: bool, values: list[float]) -> None:
    scale = fit(values, Axis(log=log), padded=True)
    assert scale.low < 3 < scale.high
    assert scale.at(3.0) == pytest.approx(0.5)


@settings(max_examples=100)
@given(
    st.floats(-1e300, 1e300),
    st.floats(-1e300, 1e300),
    st.booleans(),
    st.booleans(),
    st.integers(1, 120),
)
def test_ticks_never_touch(a: Any, b: Any, log: Any, along: Any, cells: Any) -> None:
    axis = Axis(log=log)
    placed = ticks(fit([a, b], axis, padded=not along), axis, cells, along=along)
    for left, right in pairwise(placed):
        assert left.cell < right.cell
        if along:
            assert left.start + len(left.label) + 2 <= right.start
    for tick in placed:
        assert 0 <= tick.cell < cells
        assert not along or 0 <= tick.start <= cells - len(tick.label)


INNER = st.floats(-50, 150)


@settings(max_examples=50)
@given(st.lists(st.tuples(INNER, INNER), max_size=30))
def test_clipped_parts_lie_inside(points: Any) -> None:
    for part in clip(points, 80, 20):
        assert len(part) >= 2
        for x, y in part:
            assert -1e-9 <= x <= 80 + 1e-9
            assert -1e-9 <= y <= 20 + 1e-9


LABELS = ("alpha", "beta", "gamma", "delta")


@settings(max_examples=40)
@given(
    places=st.lists(st.integers(0, 20), min_size=4, max_size=4),
    ends=st.lists(st.integers(0, 20), min_size=4, max_size=4),
    width=st.integers(8, 90),
    height=st.integers(4, 30),
)
def test_names_are_whole_or_absent(
    places: Any, ends: Any, width: Any, height: Any
) -> None:
    """Of marks: none is cut or written over."""
    series = [Series("", [0, end], [end, end]) for end in ends]
    names = [f"{label[0].upper()}mark" for label in LABELS]
    at = [
        Mark(place, name, "x" if index % 2 else "y")
        for index, (place, name) in enumerate(zip(places, names, strict=True))
    ]
    text = draw(
        series,
        width=width,
        height=height,
        x=Axis(limits=(0, 20)),
        y=Axis(limits=(0, 20), format=lambda _: ""),
        color=False,
        marks=at,
    )
    assert set(re.findall(r"[A-Za-z]{2,}", text)) <= {*names}


@pytest.mark.parametrize("width", [20, 40, 81])
def test_the_place_under_the_mouse_is_the_nearest(width: int) -> None:
    picture = Picture(
        (Series("", range(9), range(9)),), Axis(), Axis(), "", places=range(9)
    )
    for place in range(9):
        text = picture.draw(width, 8, color=False, cursor=place).split("\n")
        bare = picture.draw(width, 8, color=False).split("\n")
        changed = {
            column
            for row, other in zip(text[1:], bare[1:], strict=True)
            for column, (a, b) in enumerate(zip(row, other, strict=True))
            if a != b
        }
        assert {picture.nearest(column, width, 8) for column in changed} == {place}


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.floats(0, 50), st.floats(0, 20)), max_size=30),
    st.integers(0, 50),
)
def test_no_bar_is_higher_than_the_highest(points: Any, columns: Any) -> None:
    found = frame.bar_heights(points, columns)
    assert len(found) == columns
    assert max(found, default=0) <= max((y for _, y in points), default=0)


MS = [0.005 if call % 2 else 0.0051 for call in range(40)]
CLOCKS = [
    Series("ready 5.0 ms", range(40), MS, (1, 2, 3)),
    Series("dispatch 92 µs", range(40), [ms / 54 for ms in MS], (4, 5, 6)),
]


def test_what_leaves_the_limits_comes_back_as_a_new_part() -> None:
    parts = list(clip([(1, 1), (1, 30), (5, 30), (5, 1)], 10, 10))
    assert parts == [[(1, 1), (1, 10)], [(5, 10), (5, 1)]]


def test_a_plotext_that_fails_or_is_missing_is_said_in_the_plot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("math domain error")

    monkeypatch.setattr(strokes, "_build", fail)
    check_size(text := draw(CLOCKS, width=78, height=10), 78, 10)
    assert "plotext has failed: math domain error" in text
    strokes._plotext.cache_clear()
    monkeypatch.setitem(sys.modules, "plotext", None)
    try:
        assert "plotext cannot be loaded" in draw(CLOCKS, width=78, height=10)
    finally:
        strokes._plotext.cache_clear()


def reads(values: int) -> Picture:
    """A picture under a cursor, with so many values to read there."""
    found = tuple(Value("1 s", "1–1.1 s", 0) for _ in range(values))
    line = Series("ready", [1, 2], [1, 2], points=True)
    facts: dict[str, Any] = {
        "places": (1.0, 2.0),
        "read": lambda _: Reading("at 1", found),
    }
    return Picture((line,), Axis(), Axis("seconds"), "a title", **facts)


def named(*ends: int) -> Picture:
    """Curves whose names stand at their right ends."""
    pairs = zip(LABELS, ends, strict=True)
    series = tuple(Series(label, [0, 1], [end, end]) for label, end in pairs)
    return Picture(series, Axis(limits=(0, 1)), Axis(limits=(0, 20)))


def spotted(*spots: Spot) -> Picture:
    return Picture((), Axis(limits=(0, 10)), Axis(limits=(0, 10)), spots=spots)


SIZES = (256, 512, 1024, 2048, 4096)
SWEEP = Series(
    *("", SIZES, [10] * 5, (1, 2, 3)),
    spans=[(1, 1e5), *((9.9, 10.1) for _ in SIZES[1:])],
    points=True,
)
MARKS = (Mark(600, "middle"), Mark(1e3, "peak", axis="y"), Mark(1e9, "outside"))
BY_SIZE = Axis("n", log=True, format=lambda v: f"{v:g}", ticks=SIZES)
WAVE = Series("", range(10_000), [math.sin(call / 5) for call in range(10_000)])

DRAWN = {
    "two clocks": Picture(tuple(CLOCKS), Axis("call"), Axis(log=True)),
    "sizes, an interval and marks": Picture(
        (SWEEP,), BY_SIZE, Axis(log=True), marks=MARKS
    ),
    "a window of many points": Picture((WAVE,), Axis(limits=(500, 530)), Axis()),
    "a value beyond the limits": Picture(
        (Series("", [0, 1, 2, 3], [0.5, 1e12, 0.5, 0.5]),), y=Axis(limits=(0, 1))
    ),
    "bars": Picture(
        (Series("", [1, 2, 3, 4], [1, 0, 4, 2], bars=True),),
        *(Axis(limits=(0.5, 4.5)), Axis(limits=(0, 4))),
    ),
    "a name with escapes": Picture((Series("日本 \x1b[31m\n", (0.0,), (0.0,)),)),
    # Letters at one place stand beside each other, and a name gives way to them.
    "letters": spotted(*(Spot(5.0, 5.0, letter) for letter in "ABC")),
    "a name": spotted(Spot(9.0, 6.0, "A"), Spot(10.0, 5.0, "float32", where="above")),
    "out of the limits": spotted(
        Spot(20.0, 5.0, "A"), Spot(-1.0, 5.0, "A"), Spot(5.0, 11.0, "A")
    ),
    "names below": named(0, 0, 0, 0),
    "names above": named(20, 20, 20, 20),
    "names apart": named(0, 9, 9, 20),
    **{f"{count} values": reads(count) for count in (0, 1, 3, 5)},
}
