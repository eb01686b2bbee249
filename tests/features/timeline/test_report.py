"""What is said of a loop: of one call, and its report."""

from __future__ import annotations

import re

import pytest

from jaxtui.core.model import Remark
from jaxtui.features.timeline import report as view
from jaxtui.features.timeline.lanes import timeline
from jaxtui.ui import words
from tests.features.timeline.test_lanes import calls


def test_what_happened_in_a_call() -> None:
    line = timeline(calls(64), held_from=32)

    def said(index: int, **how: object) -> str:
        how = {"inline": False, **how}
        return view.call_text(line, index, **how)  # type: ignore[arg-type]

    def times(index: int, **how: object) -> list[str]:
        return re.findall(r"[\d.]+ [mµ]s", said(index, **how))

    # When it was entered, what it took, when its result was ready, how far ahead.
    assert times(2) == ["40.0 µs", "20.0 µs", "15.0 ms", "15.0 ms"]
    assert "32 in flight" in said(40)
    # Too far apart for one unit.
    assert times(9)[1:3] == ["20.0 µs", "50.0 ms"]
    assert len(times(2, inline=True)) == 2
    assert said(99) == said(-1) == ""
    line = timeline(calls(3, "each"))
    assert "5.00 ms" in view.call_text(line, 1, inline=False)


@pytest.mark.parametrize(
    ("ratio", "change"),
    [
        (1.004, "equally long,"),
        (0.9, "10 % shorter"),
        (1.12, "12 % longer"),
        (4.2, "4.2×"),
    ],
)
def test_the_lanes_say_how_far_they_are_from_the_figures(
    ratio: float, change: str
) -> None:
    facts = {"repeats": 7, "traced": True, "work": ratio, "stopwatch": 1.0}
    assert change in words.sentence(Remark("instrumented", {**facts}))
