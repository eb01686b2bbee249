"""Lines of spans: wrapped and cut."""

from __future__ import annotations

import pytest

from jaxtui.ui.text import Span, cut, large, plain, wrap_spans


def test_spans_are_wrapped_whole_and_only_a_longer_one_is_broken() -> None:
    texts = ("p90 6.1 ms", "a b c d e f g h i")
    spans = [Span("ready: 5.03 ms", "title"), *map(Span, texts)]
    lines = wrap_spans(spans, 14, ", ")
    assert [plain(line) for line in lines] == [
        *("ready: 5.03 ms", "p90 6.1 ms", "a b c d e f g", "h i")
    ]
    assert lines[0][0].role == "title"


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
