"""The picture of a roofline."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.analysis.roofline import Place, place
from jaxtui.model import Expected
from jaxtui.model.roofs import RoofDtype
from jaxtui.plot import Axis, Picture, Spot
from jaxtui.text import PLAIN
from jaxtui.view.roofline import letters, picture
from tests.analysis.figures import bandwidth, compute, measured, roofs

COLORS = ((10, 20, 30), (40, 50, 60), (70, 80, 90))


def on_ten(*spots: Spot) -> str:
    axis = Axis(limits=(0, 10))
    return Picture((), axis, axis, spots=spots).draw(40, 12, color=False)


def places(*facts: dict[str, object]) -> list[Place]:
    return [place(measured(**one), roofs()) for one in facts]  # type: ignore[arg-type]


def drawn(found: list[Place], under=None, *, width=80) -> list[str]:
    made = picture(found, under or roofs(), COLORS)
    assert made is not None
    return made.draw(width, 20, color=False).splitlines()


def test_cases_are_letters_and_data_movers_are_left_to_words() -> None:
    found = places(
        {"flops": 1e6},
        {"flops": None},
        {"flops": 1e9},
        {"rated": False},
        {"flops": 1e7},
    )
    assert letters(found) == ("A", "", "B", "", "C")
    body = "\n".join(line[6:] for line in drawn(found)[1:]).replace("GB/s", "")
    assert [body.count(letter) for letter in "ABCD"] == [1, 1, 1, 0]


def test_a_case_under_the_roof_is_drawn_below_its_line() -> None:
    lines = drawn(places({"flops": 1e9, "seconds": 0.02}))
    lines = [line.encode("ascii", PLAIN).decode() for line in lines]
    letter = next(row for row, line in enumerate(lines) if row and "A" in line[6:])
    column = lines[letter].index("A")
    roof = next(row for row, line in enumerate(lines) if row and line[column] == "*")
    assert roof < letter


def test_roofs_are_named_and_published_ones_are_told_apart_without_colour() -> None:
    published = Expected(value=300e9, kind="peak", source="a data sheet")
    under = roofs(
        bandwidth(published=Expected(value=20e9, kind="peak", source="x")),
        compute(published=published),
        compute(20e9, RoofDtype(dtype="bfloat16")),
    )
    found = [
        place(measured(flops=1e9), under),
        place(measured(flops=1e9, dtype="bfloat16"), under),
    ]
    text = "\n".join(drawn(found, under))
    assert "float32 150 GFLOP/s" in text
    assert "bfloat16 20.0 GFLOP/s" in text
    assert "12.0 GB/s" in text
    assert "measured" in text.splitlines()[0]
    assert "published" in text.splitlines()[0]
    assert "published" not in drawn(found)[0]
    made = picture(found, under, COLORS)
    assert made is not None
    # Measured roofs are lines, published ones dots; in colour as well.
    assert [one.line for one in made.series] == [True, True, False, False]


def test_only_roofs_that_some_case_is_under_are_drawn() -> None:
    under = roofs(bandwidth(), compute(), compute(20e9, RoofDtype(dtype="bfloat16")))
    text = "\n".join(drawn([place(measured(), under)], under))
    assert "float32" in text
    assert "bfloat16" not in text
    assert "bfloat16" in "\n".join(drawn([], under))


def test_without_the_memory_roof_there_is_no_picture() -> None:
    assert picture(places({}), roofs(compute()), COLORS) is None


def test_the_selected_case_stands_out() -> None:
    first, second = places({"flops": 1e6}, {"flops": 1e7})
    made = picture([first, second], roofs(), COLORS, selected=second)
    assert made is not None
    shown = [(spot.text, spot.color) for spot in made.spots[:2]]
    assert shown == [("B", None), ("A", COLORS[1])]


@given(
    st.lists(
        st.tuples(
            st.none() | st.floats(0, 1e30),
            st.floats(1, 1e30),
            st.floats(1e-9, 1e6),
        ),
        max_size=70,
    ),
    st.integers(1, 130),
    st.integers(1, 40),
)
def test_any_cases_fill_exactly_the_lines(facts, width: int, height: int) -> None:
    found = [place(measured(flops, moved, s), roofs()) for flops, moved, s in facts]
    made = picture(found, roofs(), COLORS)
    assert made is not None
    lines = made.draw(width, height, color=False).splitlines()
    assert [len(line) for line in lines] == [width] * height


def test_letters_at_one_place_stand_beside_each_other() -> None:
    spots = [Spot(5.0, 5.0, letter) for letter in "ABC"]
    text = on_ten(*spots)
    row = next(line for line in text.splitlines() if "A" in line)
    assert "CAB" in row


@pytest.mark.parametrize(("x", "y"), [(20.0, 5.0), (-1.0, 5.0), (5.0, 11.0)])
def test_what_is_outside_the_limits_is_left_out(x: float, y: float) -> None:
    text = on_ten(*[Spot(x, y, "A")])
    assert "A" not in text


def test_a_name_gives_way_to_letters() -> None:
    letter = Spot(9.0, 6.0, "A")
    name = Spot(10.0, 5.0, "float32", where="above")
    text = on_ten(letter, name)
    assert "A" in text
    assert "float32" in text
