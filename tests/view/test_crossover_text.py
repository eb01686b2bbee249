"""A crossover in sentences and in tables that fit."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from jaxtui.analysis.crossover import Crossing, Point, Search, begin
from jaxtui.model import Case, Remark
from jaxtui.view import crossover as tables
from jaxtui.view.crossover import (
    Names,
    names,
    wins,
)
from tests.analysis.figures import JIT, NUMPY, case, found, measurement

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


def test_the_calls_of_both_sides_are_in_one_unit() -> None:
    search = found(lambda n: 1e-7 * n, lambda n: 2e-3, (1000, 2000), sides=(NUMPY, JIT))
    first, *_ = [line[1:5] for line in cells(tables.sizes_table(search))[1:]]
    assert first == ["0.100", "ms", "2.00", "ms"]


@pytest.mark.parametrize(
    ("first", "second", "ratio"),
    [
        (NUMPY, JIT, "numpy/jit"),
        (case(), case(dtype="bfloat16"), "ratio"),
        (case("numpy", dtype="float64"), case(dtype="bfloat16"), "first/second"),
        (*LONG, "first/second"),
    ],
)
def test_every_table_fits_into_80_columns(
    first: Case, second: Case, ratio: str
) -> None:
    search = tall(first, second)
    drawn = tables.sizes_table(search)
    assert ratio in drawn.splitlines()[0].split()
    assert max(map(len, drawn.splitlines())) <= 80, drawn


def test_an_interval_of_few_rounds_is_what_was_seen() -> None:
    few = Point(64, measurement(NUMPY, 1e-3, rounds=4), measurement(JIT, 1e-3))
    search = replace(tall(NUMPY, JIT), points=(few, *tall(NUMPY, JIT).points[1:]))
    head, first, *others = tables.sizes_table(search).splitlines()
    assert "98 %" in head
    assert "(min–max)" in first
    assert "(" not in "".join(others)
    # One round everywhere: never "0 %".
    lone = Point(64, *(measurement(one, 1e-3, rounds=1) for one in (NUMPY, JIT)))
    head, row = tables.sizes_table(replace(search, points=(lone,))).splitlines()
    assert "min–max" in head
    assert "%" not in head + row
    assert " uncertain " in row


# Sentences.

CALLED = Names("numpy", "jit")


@pytest.mark.parametrize(
    ("first", "second", "called"),
    [
        (NUMPY, JIT, ("numpy", "jit")),
        (NUMPY, case(dtype="bfloat16"), ("numpy float32", "jit bfloat16")),
        (case("eager"), JIT, ("eager", "jit")),
        (case(dtype="bfloat16"), JIT, ("bfloat16", "float32")),
        (case(device="tpu:0"), JIT, ("tpu:0", "cpu:0")),
        (case(inputs="host"), JIT, ("host inputs", "device inputs")),
        (
            case("eager", device="tpu:0"),
            JIT,
            ("eager tpu:0", "jit cpu:0"),
        ),
    ],
)
def test_as_few_words_as_tell_the_two_apart(first, second, called) -> None:
    assert names(first, second) == called
    assert names(second, first) == tuple(reversed(called))


def crossing(**changes: object) -> Crossing:
    facts = {"below": 370, "above": 400, "at": 384, "faster": "second", **changes}
    return Crossing(**facts)  # type: ignore[arg-type]


def test_a_mark_lies_between_the_sizes_between_which_the_crossing_is() -> None:
    assert wins(crossing(), CALLED) == "jit beats numpy from ~380"
    assert wins(crossing(faster="first"), CALLED) == "numpy beats jit from ~380"
    assert wins(crossing(at=1240, below=1218, above=1300), CALLED).endswith("~1240")


def test_the_head_names_both_sides_whatever_the_function_is_called() -> None:
    own = {"op": "/home/my files/step.py:step"}
    search = begin(case("eager", **own), case(**own), SIZES, 1.0)
    assert (
        tables.text(search, "n")
        .splitlines()[0]
        .startswith(
            "my files/step.py:step, float32 eager on cpu:0 against float32 jit on"
        )
    )


def doubtful(*flags: str) -> Search:
    """Sizes of which all but the first have these notes and few rounds."""
    search = tall(NUMPY, JIT)
    notes = tuple(Remark(flag, text=f"It is {flag}.") for flag in flags)
    points = []
    for point in search.points:
        sides = (point.first, point.second)
        if point.size != SIZES[0]:
            ready = [msgspec.structs.replace(one.ready, rounds=3) for one in sides]
            sides = (
                msgspec.structs.replace(one, ready=clock, notes=notes)
                for one, clock in zip(sides, ready, strict=True)
            )
        points.append(Point(point.size, *sides))
    return replace(search, points=tuple(points))


def test_a_busy_machine_and_few_rounds_are_said_with_their_sizes() -> None:
    told = tables.text(doubtful("contended", "few-rounds", "inline"), "number")
    for flag in ("contended", "few-rounds"):
        assert f"It is {flag}." in told
    assert "inline" not in told


def test_what_is_true_of_all_sizes_is_said_of_the_whole_run() -> None:
    note = Remark("contended", {"by": "processes", "used_cores": 1.5, "cores": 2})
    search = tall(NUMPY, JIT)
    points = tuple(
        Point(
            one.size,
            *(
                msgspec.structs.replace(side, notes=(note,))
                for side in (one.first, one.second)
            ),
        )
        for one in search.points
    )
    told = tables.text(replace(search, points=points), "number")
    assert "busy machine: " in told
    assert "  – the whole run" in told
