"""Any floats at any size give text of exactly that size, and never end the process."""

from __future__ import annotations

import math
import re
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtui.core.text import PLAIN
from jaxtui.ui.plot import Mark, Picture, Reading, Series, Spot, Value, frame, strokes
from jaxtui.ui.plot.axes import Axis, fit, ticks
from jaxtui.ui.plot.strokes import clip

NASTY = (0.0, -0.0, 5e-324, -5e-324, 1e-300, 1e300, -1e300, 1.7e308, math.inf)
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def draw(series, *, width, height, color=True, **more) -> str:
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


def test_a_name_that_is_cut_has_its_escapes_counted() -> None:
    curves = [Series("", (), ()), Series("日本 \x1b[31m\n", (0.0,), (0.0,))]
    check_size(draw(curves, width=31, height=1), 31, 1)


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
    series, marks, spots, width, height, x, y, color, failing, places, reading
):
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


def test_a_terminal_without_braille_gets_the_same_plot_in_ascii():
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
def test_an_axis_has_its_name_and_two_labels_at_least(width, decades):
    x = Axis("flops per byte", log=True, limits=(0.3, 0.3 * 10**decades))
    picture = Picture((Series("", [1.0], [1.0], points=True),), x, Axis(""))
    lines = picture.draw(width, 6, color=False).splitlines()
    assert lines[-1].count("flops per byte") == 1
    assert len(re.findall(r"[0-9.]+", lines[-1])) >= 2


@pytest.mark.parametrize(
    ("spots", "shown"),
    [
        # Letters at one place stand beside each other, and a name gives way to them.
        ([Spot(5.0, 5.0, letter) for letter in "ABC"], ["CAB"]),
        (
            [Spot(9.0, 6.0, "A"), Spot(10.0, 5.0, "float32", where="above")],
            ["A", "float32"],
        ),
        # What is outside of the limits is left out.
        ([Spot(20.0, 5.0, "A"), Spot(-1.0, 5.0, "A"), Spot(5.0, 11.0, "A")], []),
    ],
)
def test_texts_at_points(spots, shown):
    axis = Axis(limits=(0, 10))
    text = Picture((), axis, axis, spots=tuple(spots)).draw(40, 12, color=False)
    assert sorted(re.findall(r"[A-Za-z][A-Za-z\d]*", text)) == shown


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("values", [[3.0], [3.0, 3.0, 3.0]])
def test_equal_values_get_limits_around_them(log, values):
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
def test_ticks_never_touch(a, b, log, along, cells):
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
def test_clipped_parts_lie_inside(points):
    for part in clip(points, 80, 20):
        assert len(part) >= 2
        for x, y in part:
            assert -1e-9 <= x <= 80 + 1e-9
            assert -1e-9 <= y <= 20 + 1e-9


def test_a_curve_is_drawn_where_its_points_are():
    """Dots of braille, from the lower left to the upper right cell."""
    rising = Picture(
        (Series("", [0, 1], [0, 1], (1, 2, 3)),),
        Axis(limits=(0, 1)),
        Axis(limits=(0, 1), format=lambda _: ""),
    )
    rows = rising.rows(21, 6)
    body = ["".join(text for text, _ in row)[-20:] for row in rows[:-1]]
    found = [
        [column for column, char in enumerate(line) if "\u2800" < char <= "\u28ff"]
        for line in body
    ]
    highest = [max(columns) for columns in found]
    assert highest == sorted(highest, reverse=True)
    assert found[-1][0] == 0
    assert found[0][-1] == 19
    assert ("⠀", (1, 2, 3)) not in [piece for row in rows for piece in row]


LABELS = ("alpha", "beta", "gamma", "delta")


@settings(max_examples=40)
@given(
    places=st.lists(st.integers(0, 20), min_size=4, max_size=4),
    ends=st.lists(st.integers(0, 20), min_size=4, max_size=4),
    width=st.integers(8, 90),
    height=st.integers(4, 30),
)
def test_names_are_whole_or_absent(places, ends, width, height):
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


@pytest.mark.parametrize("ends", [(0, 0, 0, 0), (20, 20, 20, 20), (0, 9, 9, 20)])
def test_names_at_the_right_make_room_for_each_other(ends):
    series = [
        Series(label, [0, 1], [end, end])
        for label, end in zip(LABELS, ends, strict=True)
    ]
    axes = {"x": Axis(limits=(0, 1)), "y": Axis(limits=(0, 20))}
    text = draw(series, width=60, height=8, color=False, **axes)
    found = re.findall(r" ([a-z]+) *$", text, re.MULTILINE)
    assert sorted(found) == sorted(LABELS)


def reading(values: int) -> Reading:
    return Reading("at 1", tuple(Value("1 s", "1–1.1 s", 0) for _ in range(values)))


@pytest.mark.parametrize(
    ("cursor", "values", "top"),
    [
        (None, 1, "a title · seconds"),
        (1, 0, "at 1"),
        (1, 1, "at 1:  ready 1 s 1–1.1 s"),
        # Intervals go first, and then the last values.
        (1, 3, "at 1:  ready 1 s  ready 1 s  ready 1 s"),
        (1, 5, "at 1:  ready 1 s  ready 1 s  +3"),
    ],
)
def test_a_reading_covers_the_title(cursor, values, top):
    picture = Picture(
        (Series("ready", [1, 2], [1, 2], points=True),),
        Axis(),
        Axis("seconds"),
        "a title",
        places=(1.0, 2.0),
        read=lambda _: reading(values),
    )
    lines = picture.draw(40, 8, color=False, cursor=cursor).split("\n")
    assert lines[0].rstrip() == top
    assert len(lines) == 8


@pytest.mark.parametrize("width", [20, 40, 81])
def test_the_place_under_the_mouse_is_the_nearest(width):
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
def test_no_bar_is_higher_than_the_highest(points, columns):
    found = frame.bar_heights(points, columns)
    assert len(found) == columns
    assert max(found, default=0) <= max((y for _, y in points), default=0)


MS = [0.005 if call % 2 else 0.0051 for call in range(40)]
CLOCKS = [
    Series("ready 5.0 ms", range(40), MS, (1, 2, 3)),
    Series("dispatch 92 µs", range(40), [ms / 54 for ms in MS], (4, 5, 6)),
]


def test_what_leaves_the_limits_comes_back_as_a_new_part():
    parts = list(clip([(1, 1), (1, 30), (5, 30), (5, 1)], 10, 10))
    assert parts == [[(1, 1), (1, 10)], [(5, 10), (5, 1)]]
    series = [Series("", [0, 1, 2, 3], [0.5, 1e12, 0.5, 0.5])]
    text = draw(series, width=40, height=10, y=Axis(limits=(0, 1)), color=False)
    assert re.search("[⠁-⣿]", text.split("\n")[0])


def test_a_plotext_that_fails_or_is_missing_is_said_in_the_plot(monkeypatch):
    def fail(*_):
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


def test_sizes_are_the_ticks_marks_are_named_and_an_interval_is_a_bar():
    sizes = (256, 512, 1024, 2048, 4096)
    axis = Axis("n", log=True, format=lambda v: f"{v:g}", ticks=sizes)
    spans = [(1, 1e5), *((9.9, 10.1) for _ in sizes[1:])]
    times = Series("", sizes, [10] * 5, (1, 2, 3), spans=spans, points=True)
    at = [Mark(600, "middle"), Mark(1e3, "peak", axis="y"), Mark(1e9, "outside")]
    axes = {"x": axis, "y": Axis(log=True)}
    coloured = draw([times], width=60, height=13, marks=at, **axes)
    assert "\x1b[38;2;1;2;3m" in coloured
    assert "\x1b[48" not in coloured
    lines = plain(coloured)
    text = "\n".join(lines)
    assert re.findall(r"\d+", lines[-1]) == [*map(str, sizes)]
    found = [name in text for name in ("┆ middle", "peak", "outside")]
    assert found == [True, True, False]
    bars = [line.index("┃") for line in lines if "┃" in line]
    assert len(bars) > 5
    assert len({*bars}) == 1
    # Of a narrow one the dot is all there is to see.
    assert text.count("•") == len(sizes)
