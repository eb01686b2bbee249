"""Two measurements side by side: one report for every face."""

from __future__ import annotations

from typing import Any

from jaxtui.core.comparison import Pair, Side, pairs
from jaxtui.features.bench import comparison as compare
from jaxtui.ui.report import terminal
from tests.core.history.making import DEVICE, HOST, measurement
from tests.golden.test_documents import DOCUMENTS, check_frozen


def pair(second: dict[str, Any], width: float = 0.00005) -> Pair:
    """Against one of 2 ms."""
    sides = (
        [Side(label=label, host=HOST, device=DEVICE, measurement=measurement(**one))]
        for label, one in (("A", {"width": width}), ("B", second))
    )
    return pairs(*sides)[0]


SECONDS = {
    "slower": {"median": 0.004},
    "faster": {"median": 0.001, "width": 1e-5},
    "alike": {"median": 0.00205},
    "cannot tell": {"median": 0.0023},
    "far slower": {"median": 0.6, "width": 0.05},
    "another size": {"size": 512},
    "another dtype": {"median": 0.004, "dtype": "bfloat16"},
}


def test_the_answer_and_the_intervals_on_one_scale() -> None:
    found = {name: [pair(second)] for name, second in SECONDS.items()}
    found["several"] = [pair(SECONDS["slower"]), pair(SECONDS["cannot tell"])]
    lines = []
    for name, compared in found.items():
        lines += [f"# {name}: {compare.headline(compared[0])}"]
        lines += [terminal(compare.report(compared), 100), ""]
        for row in compare.Pairs.of(compared).pairs:
            told = row.comparison
            lines += [told.sentence, f"{told.differences} {told.differing}", ""]
    check_frozen(DOCUMENTS / "comparisons.txt", "\n".join(lines))


def test_the_points_of_intervals_lie_where_the_scale_says() -> None:
    found = pair({"median": 0.004, "width": 0.0002}, 0.0002)
    drawn = terminal(compare.report([found]), 100).split("\n")
    a, b = (line for line in drawn if "•" in line)
    (head,) = (line for line in drawn if "ready" in line)
    bars = head.index("interval") + len("interval")
    assert abs(a.index("•") - head.index("2 ms", bars)) <= 2
    assert abs(b.index("•") - head.index("4 ms", bars)) <= 2
