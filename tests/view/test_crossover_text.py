"""A crossover in sentences and in tables that fit."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from jaxtui.analysis.crossover import Answer, Crossing, Payback, Point, Search, begin
from jaxtui.model import Case, Note
from jaxtui.view import crossover as tables
from jaxtui.view.crossover import (
    Names,
    names,
    payback_sentence,
    sentence,
    sentences,
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
    first, *_ = [line[1:5] for line in cells(tables.calls_table(search))[1:]]
    assert first == ["0.100", "ms", "2.00", "ms"]


def test_each_of_two_of_jax_has_a_line_and_the_slower_start_has_to_pay() -> None:
    search = tall(case(), case(dtype="bfloat16"))
    starts = cells(tables.starts_table(search))
    assert starts[0][:2] == ["size", "of"]
    assert [line[1] for line in starts[1:3]] == ["float32", "bfloat16"]
    assert len(starts) == 1 + 2 * len(search.points)
    # A size has one answer: the other side has nothing to pay for.
    lengths = {len(line) for line in starts[-2:]}
    assert lengths == {6, 8}


def test_without_jax_or_figures_there_is_no_table_of_starts() -> None:
    assert tables.starts_table(tall(NUMPY, case("numpy", dtype="float64"))) == ""
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


def test_an_interval_of_few_rounds_is_what_was_seen() -> None:
    few = Point(64, measurement(NUMPY, 1e-3, rounds=4), measurement(JIT, 1e-3))
    search = replace(tall(NUMPY, JIT), points=(few, *tall(NUMPY, JIT).points[1:]))
    head, first, *others = tables.calls_table(search).splitlines()
    assert "98 %" in head
    assert "(min–max)" in first
    assert "(" not in "".join(others)
    # One round, or few, everywhere: never "0 %".
    for rounds in (1, 3):
        lone = Point(
            64,
            measurement(NUMPY, 1e-3, rounds=rounds),
            measurement(JIT, 1e-3, rounds=rounds),
        )
        head, row = tables.calls_table(replace(search, points=(lone,))).splitlines()
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


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (
            {"crossings": (crossing(),)},
            "jit is faster from about 380 on: numpy is still ahead at 370, jit at 400.",
        ),
        # A stretch without a difference, or with one now and then.
        (
            {
                "crossings": (
                    crossing(below=1600, above=2600, undecided=(1800, 2000, 2300)),
                )
            },
            "numpy is faster up to 1600 and jit from 2600 on; between 1800 and 2300 no "
            "difference can be measured.",
        ),
        (
            {"crossings": (crossing(undecided=(384,)),)},
            "numpy is faster up to 370 and jit from 400 on; at 384 no difference can "
            "be measured.",
        ),
        (
            {"crossings": (crossing(undecided=(375, 384), mixed=True),)},
            "numpy is faster up to 370 and jit from 400 on; between 375 and 384 it was "
            "now the one, now the other.",
        ),
        # Those before the last are mentioned.
        (
            {"crossings": (crossing(below=16, above=64), crossing(faster="first"))},
            "numpy is faster from about 380 on: jit is still ahead at 370, numpy at "
            "400. They cross before that, too: between 16 and 64 (jit ahead above).",
        ),
        # No crossover is an answer.
        (
            {"found": "always", "faster": "first", "sure": 8192},
            "numpy is faster at every size from 16 to 8192: no crossover up to 8192.",
        ),
        (
            {"found": "always", "faster": "second", "sure": 256, "even": (1024, 8192)},
            "jit is faster up to 256, and above that, up to 8192, no difference can be "
            "measured: no crossover up to 8192.",
        ),
        (
            {"found": "always", "faster": "second", "sure": 8192, "even": (64,)},
            "jit is faster at every size from 16 to 8192, but for 64, where no "
            "difference can be measured: no crossover up to 8192.",
        ),
        (
            {"found": "even", "even": (16, 8192)},
            "no difference between numpy and jit can be measured at every size from 16 "
            "to 8192.",
        ),
        (
            {"found": "always", "faster": "second", "sure": 16, "high": 16},
            "jit is faster at 16, the only size that was measured: no crossover up to "
            "16.",
        ),
    ],
)
def test_an_answer_in_words(facts: dict[str, object], text: str) -> None:
    given = {"clock": "call", "found": "crossing", "low": 16, "high": 8192, **facts}
    assert sentence(Answer(**given), CALLED) == f"Per call, {text}"  # type: ignore[arg-type]


def test_a_mark_lies_between_the_sizes_between_which_the_crossing_is() -> None:
    assert wins(crossing(), CALLED) == "jit beats numpy from ~380"
    assert wins(crossing(faster="first"), CALLED) == "numpy beats jit from ~380"
    assert wins(crossing(at=1240, below=1218, above=1300), CALLED).endswith("~1240")


def test_every_clock_has_a_sentence() -> None:
    sizes = [16 * 4**step for step in range(13)]
    nothing = Answer(clock="call", found="unknown")
    assert sentence(nothing, CALLED) == "Per call: nothing was measured at both."
    state = found(lambda n: 1e-9 * n, lambda n: 1e-6 + 2e-10 * n, sizes)
    lines = [*sentences(state)]
    assert [line.partition(",")[0] for line in lines] == [
        "Per call",
        "Per call",
        "For one single call",
        "For one single call",
    ]
    assert len(set(lines)) == 4
    # 1e-9 n = 1e-6 + 2e-10 n; with 110 µs for the copies; with 44 ms for the start.
    places = [found.crossing.at for found in state.answers if found.crossing]
    assert places == pytest.approx([1250, 138_750, 44e6, 44.11e6], rel=0.1)


def test_when_a_start_pays_in_words() -> None:
    paid = [
        Payback(size=64, side="second", calls=None),
        Payback(size=512, side="second", calls=12_345),
        Payback(size=1024, side="second", calls=27),
        Payback(size=4096, side="second", calls=1),
    ]
    assert payback_sentence(paid, CALLED) == (
        "The start of jit, compile and first transfer, pays after 12,000 calls at 512 "
        "and after 1 call at 4096."
    )
    assert payback_sentence(paid[:3][-1:], CALLED).endswith(
        "pays after 27 calls at 1024."
    )
    assert "never pays at the sizes" in payback_sentence(paid[:1], CALLED)
    assert payback_sentence([], CALLED) == ""


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
    notes = tuple(Note(flag=flag, text=f"It is {flag}.") for flag in flags)
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
        assert f"{flag}: It is {flag}." in told
    assert "inline" not in told
    assert "too few rounds" in told
    assert "can be measured" not in told
    rows = cells(tables.calls_table(doubtful()))
    assert {line[-1] for line in rows[2:]} == {"rounds"}


def test_what_is_true_of_all_sizes_is_said_of_the_whole_run() -> None:
    note = Note(flag="contended", text="Others.", amount=1.5)
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
    assert "contended: Others.\n  – the whole run" in told
