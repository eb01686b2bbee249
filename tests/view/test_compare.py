"""Two measurements side by side, as lines."""

from __future__ import annotations

from typing import Any

import pytest

from jaxtui.analysis.comparison import Pair, Side, pairs
from jaxtui.view import compare
from jaxtui.view.text import plain
from tests.history.making import DEVICE, HOST, measurement

WIDTH = 50


def pair(first: dict[str, Any], second: dict[str, Any]) -> Pair:
    sides = (
        [Side(label=label, host=HOST, device=DEVICE, measurement=measurement(**one))]
        for label, one in (("A", first), ("B", second))
    )
    return pairs(*sides)[0]


def drawn(found: Pair) -> list[str]:
    sides = (found.first, found.second)
    lines = [*compare.answer(found), *compare.bars(sides, WIDTH)]
    return [plain(line) for line in lines]


@pytest.mark.parametrize(
    ("second", "answer", "scale"),
    [
        ({"median": 0.004}, "2.0×  B is slower", "ms  0 "),
        ({"median": 0.001, "width": 1e-5}, "0.50×  B is faster", "ms  0 "),
        ({"median": 0.00205}, "1.0×  uncertain  no difference: intervals", "ms "),
        ({"median": 0.0023}, "1.1×  cannot tell", "ms "),
        ({"median": 0.006, "width": 0.003}, "3.0×  uncertain  B is slower", "ms "),
        ({"median": 0.6, "width": 0.05}, "300×  B is slower", "ms log "),
        # Too far apart for one unit.
        ({"median": 9.0, "width": 0.05}, "4500×  B is slower", "     log "),
        ({"size": 512}, " not comparable   another size", "ms "),
        ({"op": "selu", "size": 9}, " not comparable   another op and another", "ms "),
    ],
)
def test_the_answer_comes_first_and_the_intervals_share_one_scale(
    second: dict[str, Any], answer: str, scale: str
) -> None:
    found = pair({}, second)
    lines = drawn(found)
    assert lines[0].startswith(answer)
    *_, a, b, axis = lines
    assert (a[0], b[0]) == ("A", "B")
    assert a.count("•") == b.count("•") == 1
    assert scale in axis
    assert max(map(len, lines[-3:])) <= WIDTH
    slower = second.get("median", 0.002) > 0.002
    if slower:
        assert a.index("•") < b.index("•")
    # Nothing follows from the times of different works.
    assert ("×" in "".join(lines)) == (not answer.startswith(" not"))


def test_a_ratio_is_large_only_where_it_is_known() -> None:
    for second, role in (
        ({"median": 0.004}, "hero"),
        # Not known to be one, though its interval does not contain 1.
        ({"median": 0.0023}, "unknown"),
    ):
        first, *_ = next(iter(compare.answer(pair({}, second))))
        assert first.role == role


def test_a_ratio_that_is_uncertain_says_so_and_always_has_its_ends() -> None:
    for second, uncertain in (
        ({"median": 0.004}, False),
        ({"median": 0.00205}, True),
        ({"median": 0.006, "width": 0.003}, True),
    ):
        found = pair({}, second)
        first, *_ = next(iter(compare.answer(found)))
        assert first.role == ("unknown" if uncertain else "hero")
        told = compare.text([found])
        assert ("uncertain" in told or "no difference" in told) == uncertain
        table = compare.text([found] * 2)
        assert ("uncertain" in table) == uncertain
        assert table.count("[") == 2
        assert max(map(len, table.splitlines())) <= 80


def test_what_cannot_be_told_says_what_to_do() -> None:
    said = drawn(pair({}, {"median": 0.0023}))[1]
    assert "20% may be chance: time both in 6 processes" in said


def test_the_points_of_intervals_lie_where_the_scale_says() -> None:
    *_, a, b, axis = drawn(pair({"width": 0.0002}, {"median": 0.004, "width": 0.0002}))
    assert "2.00  1.80–2.20" in a
    assert "4.00  3.80–4.20" in b
    assert abs(a.index("•") - axis.index("2")) <= 1
    assert abs(b.index("•") - axis.index("4")) <= 1


def test_without_room_or_figures_there_are_no_bars() -> None:
    found = pair({}, {})
    assert list(compare.bars((found.first, found.second), 20)) == []
