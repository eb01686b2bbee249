from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.lessons.prose import Block, Span, blocks, lines, plain, text_of

PROSE = """\
A call returns before the work is done: `f(x)`
gives a promise.

    y = f(x)
      .block_until_ready()

Then look.
"""


def test_paragraphs_and_code_are_told_apart() -> None:
    assert blocks(PROSE) == (
        Block("A call returns before the work is done: `f(x)` gives a promise."),
        Block("y = f(x)\n  .block_until_ready()", code=True),
        Block("Then look."),
    )


def test_code_may_follow_a_paragraph_without_an_empty_line() -> None:
    assert blocks("Look:\n    x = 1") == (Block("Look:"), Block("x = 1", code=True))


def test_code_lines_stay_as_they_are() -> None:
    drawn = [text_of(line) for line in lines(PROSE, 12)]
    assert "      .block_until_ready()" in drawn


def test_inline_code_has_its_style_and_no_backticks() -> None:
    (line,) = lines("Call `f(x)`, then wait.", 60)
    assert line == (Span("Call "), Span("f(x)", code=True), Span(", then wait."))


def test_backticks_are_kept_where_no_style_shows_code() -> None:
    assert plain("Call `f(x)`.", 60) == "Call `f(x)`."


def test_a_lone_backtick_is_text() -> None:
    assert plain("5` is no code", 60) == "5` is no code"


def test_inline_code_is_not_broken_where_it_fits() -> None:
    drawn = [text_of(line) for line in lines("take `a + b + c` now", 10)]
    assert drawn == ["take", "a + b + c", "now"]


def test_inline_code_that_fits_no_line_is_broken() -> None:
    drawn = lines("`aaaa bbbb cccc dddd`", 10)
    assert [text_of(line) for line in drawn] == ["aaaa bbbb", "cccc dddd"]
    assert all(span.code for line in drawn for span in line)


@pytest.mark.parametrize("ticks", [True, False])
@given(
    words=st.lists(st.text("ab`,()", min_size=1, max_size=9), max_size=40),
    width=st.integers(12, 80),
)
def test_no_line_is_wider_and_no_word_is_lost(
    ticks: bool, words: list[str], width: int
) -> None:
    text = " ".join(words)
    drawn = [text_of(line) for line in lines(text, width, ticks=ticks)]
    assert all(len(line) <= width for line in drawn)
    if ticks:
        assert "".join("".join(drawn).split()) == "".join(words)


def test_nothing_is_nothing() -> None:
    assert lines("", 40) == []
