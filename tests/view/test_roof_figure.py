"""The picture of a roofline."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jaxtui.analysis.roofline import Place, place
from jaxtui.model import Expected
from jaxtui.plot import Picture
from jaxtui.text import PLAIN
from jaxtui.view.roofline import letters, picture
from tests.analysis.figures import BFLOAT16, bandwidth, compute, measured, roofs

COLORS = ((10, 20, 30), (40, 50, 60), (70, 80, 90))


def places(*facts: dict[str, object], under=None) -> list[Place]:
    under = under or roofs()
    return [place(measured(**one), under) for one in facts]  # type: ignore[arg-type]


def made(found: list[Place], under=None, selected: Place | None = None) -> Picture:
    picture_of = picture(found, under or roofs(), COLORS, selected)
    assert picture_of is not None
    return picture_of


def drawn(found: list[Place], under=None) -> list[str]:
    lines = made(found, under).draw(80, 20, color=False).splitlines()
    return [line.encode("ascii", PLAIN).decode() for line in lines]


def test_cases_are_letters_under_their_roof_and_data_movers_are_left_to_words() -> None:
    found = places(
        {"flops": 1e6},
        {"flops": None},
        {"flops": 1e9},
        {"rated": False},
        {"flops": 1e7},
    )
    assert letters(found) == ("A", "", "B", "", "C")
    lines = drawn(found)
    body = "\n".join(line[6:] for line in lines[1:]).replace("GB/s", "")
    assert [body.count(letter) for letter in "ABCD"] == [1, 1, 1, 0]
    row = next(row for row, line in enumerate(lines) if row and "A" in line)
    column = lines[row].index("A")
    roof = next(row for row, line in enumerate(lines) if row and line[column] == "*")
    assert roof < row


def test_roofs_are_named_and_published_ones_are_told_apart_without_colour() -> None:
    under = roofs(
        bandwidth(published=Expected(value=20e9, kind="peak", source="x")),
        compute(published=Expected(value=300e9, kind="peak", source="a data sheet")),
        compute(20e9, BFLOAT16),
    )
    found = places({"flops": 1e9}, {"flops": 1e9, "dtype": "bfloat16"}, under=under)
    head, *lines = drawn(found, under)
    for name in ("float32 150 GFLOP/s", "bfloat16 20.0 GFLOP/s", "12.0 GB/s"):
        assert name in "\n".join(lines)
    assert ("measured" in head, "published" in head) == (True, True)
    assert "published" not in drawn(found)[0]
    # Measured roofs are lines, published ones dots; in colour as well.
    assert [one.line for one in made(found, under).series] == [True, True, False, False]


def test_only_roofs_that_some_case_is_under_are_drawn() -> None:
    under = roofs(bandwidth(), compute(), compute(20e9, BFLOAT16))
    text = "\n".join(drawn(places({}, under=under), under))
    assert ("float32" in text, "bfloat16" in text) == (True, False)
    assert "bfloat16" in "\n".join(drawn([], under))
    # Without the memory roof there is no picture.
    assert picture(places({}), roofs(compute()), COLORS) is None


def test_a_case_has_the_colour_of_what_ran_and_the_selected_one_stands_out() -> None:
    facts = ({"flops": 1e6}, {"flops": 1e7}, {"flops": 1e5, "mode": "numpy"})
    found = places(*facts)
    shown = made(found, selected=found[1]).spots[:3]
    assert [(spot.text, spot.color) for spot in shown] == [
        ("B", None),
        ("A", COLORS[0]),
        ("C", COLORS[2]),
    ]


@given(
    st.lists(
        st.tuples(
            st.none() | st.floats(0, 1e30), st.floats(1, 1e30), st.floats(1e-9, 1e6)
        ),
        max_size=70,
    )
)
def test_any_cases_can_be_drawn(facts) -> None:
    found = [place(measured(flops, moved, s), roofs()) for flops, moved, s in facts]
    lines = made(found).draw(60, 12, color=False).splitlines()
    assert [len(line) for line in lines] == [60] * 12
