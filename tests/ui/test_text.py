"""Lines of spans: wrapped and cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.ui.text import Span, cut, fold, large, plain

SAYS = (Span("Out of memory:\tfree 5.03 ms, run `jaxtui devices` ", "bad"), Span("now"))


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        # What stands between a figure and its unit, or in a command, is no place to
        # break; a tab is a blank.
        (80, ["Out of memory: free 5.03 ms, run `jaxtui devices` now"]),
        (
            27,
            ["Out of memory: free", "  5.03 ms, run", "  `jaxtui devices` now"],
        ),
    ],
)
def test_lines_break_at_blanks(width: int, lines: list[str]) -> None:
    found = fold(SAYS, width, later="  ")
    assert [plain(line) for line in found] == lines
    assert found[-1][-1].role == "label"
    assert found[0][0].role == "bad"


ANYTHING = st.text() | st.text(st.sampled_from("ab5 \t\n\r\x0b\xa0`%ms"))


@given(ANYTHING, st.integers(1, 30))
def test_any_text_is_folded_and_no_character_is_lost(text: str, width: int) -> None:
    lines = [plain(line) for line in fold((Span(text),), width)]
    assert all(len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_a_line_that_is_too_long_ends_in_an_ellipsis() -> None:
    assert plain(cut((Span("ab"), Span("cd")), 3)) == "ab…"


@pytest.mark.parametrize(
    ("figure", "width", "height", "rows"),
    [("541×", 120, 20, 20), ("2.4×", 76, 9, 5), ("541×", 30, 9, 5), ("1×", 8, 9, 1)],
)
def test_the_factor_is_as_large_as_there_is_room(
    figure: str, width: int, height: int, rows: int
) -> None:
    lines = large(figure, width, height)
    assert len(lines) == rows <= height
    assert all(len(line) <= width for line in lines)
    assert len({len(line) for line in lines}) == 1
