"""The tables of ``jaxtui crossover``: what they say, and that they fit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jaxtui.analysis.crossover import Point, begin
from jaxtui.model import Case
from jaxtui.view import crossover as tables
from tests.analysis.planted import JIT, NUMPY, case, found, measurement

SIZES = (16, 1000, 1_000_000)

LONG = (
    case(dtype="bfloat16", precision="highest", device="tpu:12"),
    case("eager", dtype="float32", precision="default", device="cpu:10", inputs="host"),
)


def tall(first: Case, second: Case):
    """The first takes 1 ns an element, the second 2 µs more and a fifth of that."""
    return found(
        lambda n: 1e-9 * n,
        lambda n: 2e-6 + 2e-10 * n,
        SIZES,
        sides=(first, second),
    )


def cells(drawn: str) -> list[list[str]]:
    return [line.split() for line in drawn.splitlines()]


def test_numpy_against_jit() -> None:
    search = tall(NUMPY, JIT)
    calls, starts = (
        cells(tables.calls_table(search)),
        cells(tables.starts_table(search)),
    )
    assert calls[0] == ["size", "numpy", "jit", "numpy/jit", "98", "%", "faster"]
    assert calls[1] == [
        *("16", "16.0", "ns", "2.00", "µs", "0.0080×", "0.0079…0.0081", "numpy")
    ]
    assert calls[-1][-1] == "jit"
    assert starts[0] == ["size", "transfers", "first", "call", "pays", "after"]
    assert starts[1] == ["16", "110", "µs", "44", "ms", "never"]
    assert starts[-1][-1] == "calls"
    assert len(starts) == len(calls)


def test_each_of_two_of_jax_has_a_line_and_the_slower_start_has_to_pay() -> None:
    search = tall(case(), case(dtype="bfloat16"))
    starts = cells(tables.starts_table(search))
    assert starts[0][:2] == ["size", "of"]
    assert [line[1] for line in starts[1:3]] == ["float32", "bfloat16"]
    assert len(starts) == 1 + 2 * len(search.points)
    # A size has one answer: the other side has nothing to pay for.
    lengths = {len(line) for line in starts[-2:]}
    assert lengths == {6, 8}


def test_two_on_the_host_start_nothing() -> None:
    assert tables.starts_table(tall(NUMPY, case("numpy", dtype="float64"))) == ""


def test_nothing_measured_has_no_start() -> None:
    assert tables.starts_table(begin(NUMPY, JIT, SIZES, 1.0)) == ""


@pytest.mark.parametrize(
    ("first", "second", "ratio"),
    [
        (NUMPY, JIT, "numpy/jit"),
        (case(), case(dtype="bfloat16"), "float32/bfloat16"),
        (case("numpy", dtype="float64"), case(dtype="bfloat16"), "ratio"),
        (*LONG, "first/second"),
    ],
)
def test_every_table_fits_into_80_columns(
    first: Case, second: Case, ratio: str
) -> None:
    search = tall(first, second)
    drawn = tables.calls_table(search), tables.starts_table(search)
    assert ratio in drawn[0].splitlines()[0].split()
    for one in drawn:
        assert max(map(len, one.splitlines())) <= 80, one


def test_a_ratio_of_few_rounds_says_how_sure_its_interval_is() -> None:
    few = Point(64, measurement(NUMPY, 1e-3, rounds=4), measurement(JIT, 1e-3))
    search = replace(tall(NUMPY, JIT), points=(few, *tall(NUMPY, JIT).points[1:]))
    head, first, *others = tables.calls_table(search).splitlines()
    assert "98 %" in head
    # 1 − (1 − 0.875) − (1 − 0.992)
    assert "(87 %)" in first
    assert "(" not in "".join(others)
