"""Two measurements side by side: one report for every face."""

from __future__ import annotations

from typing import Any

from jaxtui.core.comparison import Pair, Side, pairs
from jaxtui.features.bench import comparison as compare
from jaxtui.ui.report import terminal
from tests.core.history.making import DEVICE, HOST, measurement


def pair(second: dict[str, Any], width: float = 0.00005) -> Pair:
    """Against one of 2 ms."""
    sides = (
        [Side(label=label, host=HOST, device=DEVICE, measurement=measurement(**one))]
        for label, one in (("A", {"width": width}), ("B", second))
    )
    return pairs(*sides)[0]


SLOWER, CLOSE = pair({"median": 0.004}), pair({"median": 0.0023})
COMPARED = {
    "slower": [SLOWER],
    "faster": [pair({"median": 0.001, "width": 1e-5})],
    "alike": [pair({"median": 0.00205})],
    "cannot tell": [CLOSE],
    "far slower": [pair({"median": 0.6, "width": 0.05})],
    "another size": [pair({"size": 512})],
    "another dtype": [pair({"median": 0.004, "dtype": "bfloat16"})],
    "several": [SLOWER, CLOSE],
}


def test_the_points_of_intervals_lie_where_the_scale_says() -> None:
    found = pair({"median": 0.004, "width": 0.0002}, 0.0002)
    drawn = terminal(compare.report([found]), 100).split("\n")
    a, b = (line for line in drawn if "•" in line)
    (head,) = (line for line in drawn if "ready" in line)
    bars = head.index("interval") + len("interval")
    assert abs(a.index("•") - head.index("2 ms", bars)) <= 2
    assert abs(b.index("•") - head.index("4 ms", bars)) <= 2
