"""What is said of a loop."""

from __future__ import annotations

import pytest

from jaxtui.core.model import Remark
from jaxtui.ui import words


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
