"""Two measurements side by side: one report for every face."""

from __future__ import annotations

from typing import Any

import pytest

from jaxtui.core.comparison import Pair, Side, pairs
from jaxtui.features.bench import comparison as compare
from jaxtui.ui.report import terminal
from tests.core.history.making import DEVICE, HOST, measurement


def pair(first: dict[str, Any], second: dict[str, Any]) -> Pair:
    sides = (
        [Side(label=label, host=HOST, device=DEVICE, measurement=measurement(**one))]
        for label, one in (("A", first), ("B", second))
    )
    return pairs(*sides)[0]


@pytest.mark.parametrize(
    ("second", "said", "log"),
    [
        ({"median": 0.004}, "slower than", False),
        ({"median": 0.001, "width": 1e-5}, "faster than", False),
        ({"median": 0.00205}, "No difference seen: B takes", False),
        ({"median": 0.0023}, "Cannot tell. B takes", False),
        ({"median": 0.6, "width": 0.05}, "slower than", True),
        ({"size": 512}, "A and B differ in the size: not comparable.", False),
    ],
)
def test_the_answer_and_the_intervals_on_one_scale(
    second: dict[str, Any], said: str, log: bool
) -> None:
    found = pair({}, second)
    assert said in compare.headline(found)
    drawn = terminal(compare.report([found]), 100).split("\n")
    (head,) = (line for line in drawn if "ready" in line)
    assert head.endswith(" log") == log
    a, b = (line for line in drawn if "•" in line)
    assert (a[0], b[0]) == ("A", "B")
    if second.get("median", 0.002) > 0.002:
        assert a.index("•") < b.index("•")


def test_the_points_of_intervals_lie_where_the_scale_says() -> None:
    found = pair({"width": 0.0002}, {"median": 0.004, "width": 0.0002})
    drawn = terminal(compare.report([found]), 100).split("\n")
    a, b = (line for line in drawn if "•" in line)
    (head,) = (line for line in drawn if "ready" in line)
    bars = head.index("interval") + len("interval")
    assert abs(a.index("•") - head.index("2 ms", bars)) <= 2
    assert abs(b.index("•") - head.index("4 ms", bars)) <= 2


def test_of_several_pairs_the_answers_are_counted() -> None:
    several = [pair({}, {"median": 0.004}), pair({}, {"median": 0.0023})]
    whole = compare.report(several)
    verdict = whole.headline.plain
    assert "slower in 1" in verdict
    assert [column.head for column in whole.tables[0].columns] == [
        *("size", "mode", "A", "B", "B/A", "interval", "answer")
    ]
    assert [note.flag for note in whole.notes] == ["not in turns"]


def test_a_document_has_facts_and_words() -> None:
    there = pair({}, {"median": 0.004, "dtype": "bfloat16"})
    (row,) = compare.Pairs.of([there]).pairs
    assert "2.0×" in row.comparison.sentence
    assert row.comparison.differences == ("dtype: float32 and bfloat16",)
    assert row.comparison.differing == there.comparison.differences
