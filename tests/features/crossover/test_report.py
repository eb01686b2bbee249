"""The sentences, the table at any width and the picture of a crossover."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from jaxtui.core.model import Case, Ending, Remark
from jaxtui.core.state import CaseState, Job, State
from jaxtui.features.crossover.judge import names, of_curves, partner, result
from jaxtui.features.crossover.messages import Crossover
from jaxtui.features.crossover.report import report
from jaxtui.ui.report import terminal
from tests.core.figures import JIT, NUMPY, START, case, crowded, measurement
from tests.features.crossover.crossing import found, state_of

LONG = (
    case(dtype="bfloat16", precision="highest", device="tpu:12"),
    case("eager", dtype="float32", precision="default", device="cpu:10", inputs="host"),
)


def first(size: int) -> float:
    return 1e-9 * size


def second(size: int) -> float:
    return 2e-6 + 2e-10 * size


def crossover(*sides: Case, **more: Any) -> Crossover:
    """The first takes 1 ns an element, the second 2 µs more and a fifth of that."""
    sizes = more.pop("sizes", (16, 1000, 1_000_000))
    return found(first, second, sides=sides or (NUMPY, JIT), sizes=sizes, **more)


@pytest.mark.parametrize(
    ("one", "other", "called"),
    [
        (NUMPY, JIT, ("numpy", "jit")),
        (NUMPY, case(dtype="bfloat16"), ("numpy float32", "jit bfloat16")),
        (case("eager"), JIT, ("eager", "jit")),
        (case(dtype="bfloat16"), JIT, ("bfloat16", "float32")),
        (case(device="tpu:0"), JIT, ("tpu:0", "cpu:0")),
        (case(inputs="host"), JIT, ("host inputs", "device inputs")),
        (case("eager", device="tpu:0"), JIT, ("eager tpu:0", "jit cpu:0")),
    ],
)
def test_as_few_words_as_tell_the_two_apart(one, other, called) -> None:
    assert names(one, other) == called
    assert names(other, one) == tuple(reversed(called))


@pytest.mark.parametrize(
    ("sizes", "more", "verdict"),
    [
        (
            (16, 1000, 1_000_000),
            {},
            "From size 2700, jit is faster than numpy: they cross between 1000 and"
            " 5623.",
        ),
        (
            (16, 64),
            {},
            "No crossing: numpy is faster than jit from 16 to 64.",
        ),
        (
            (16,),
            {},
            "No crossing: numpy is faster than jit at 16, the only size of this"
            " search.",
        ),
        (
            (16, 64),
            {"ending": "crashed"},
            "numpy is faster than jit from 16 to 64. The engine died before the search"
            " ended, so they may cross at another size.",
        ),
        (
            (16, 2500),
            {"width": 0.3},
            "No crossing: numpy is faster than jit at 1 of 2 sizes from 16 to 2500; no"
            " difference seen at the others.",
        ),
        (
            (2500,),
            {"width": 0.3},
            "No difference seen between numpy and jit at 2500, the only size of this"
            " search.",
        ),
        (
            (16, 64),
            {"too_large": 1},
            "No size has an interval on both sides, so there is nothing to compare.",
        ),
    ],
)
def test_the_verdict(sizes: tuple[int, ...], more: Any, verdict: str) -> None:
    assert crossover(sizes=sizes, **more).verdict == verdict


@pytest.mark.parametrize(
    ("ratios", "verdict", "title"),
    [
        (
            {64: 0.5, 128: 1, 256: 1, 512: 1, 1024: 2, 2048: 1},
            "jit is faster than numpy at 1024; from 128 to 512 and at 2048 this run"
            " cannot tell.",
            "jit beats numpy at 1024",
        ),
        (
            {64: 0.5, 128: 1, 256: 2, 512: 2},
            "jit is faster than numpy from 256 to 512; at 128 this run cannot tell.",
            "jit beats numpy at 256",
        ),
        (
            {64: 0.5, 256: 2, 512: 1, 1024: 2},
            "From size 130, jit is faster than numpy: they cross between 64 and 256; at"
            " 512 this run cannot tell.",
            "jit beats numpy from ~130",
        ),
        # Sizes at which nothing can be told below the crossing are not above it.
        (
            {16: 1, 64: 0.5, 256: 2},
            "From size 130, jit is faster than numpy: they cross between 64 and 256.",
            "jit beats numpy from ~130",
        ),
    ],
)
def test_the_verdict_agrees_with_the_rows(
    ratios: dict[int, float], verdict: str, title: str
) -> None:
    def numpy(size: int) -> float:
        return 1e-3 * ratios[size]

    seen = found(numpy, lambda _: 1e-3, sizes=tuple(ratios), refined=False)
    assert seen.verdict == verdict
    told = report(seen, State())
    assert told.title == f"selu: {title}"
    assert told.picture is not None
    assert [mark.label for mark in told.picture.marks] == [title]


@pytest.mark.parametrize(
    ("ending", "flags"),
    [
        ("complete", ["first call"]),
        ("cancelled", ["stopped", "first call"]),
        ("crashed", ["incomplete", "first call"]),
    ],
)
def test_what_ended_it_early_is_said(ending: Ending, flags: list[str]) -> None:
    assert [note.flag for note in crossover(ending=ending).notes] == flags


def test_when_a_first_call_pays_off() -> None:
    repaid = crossover()
    (note,) = repaid.notes
    # 44 ms of compile against 0.8 ns an element, less 2 µs a call.
    calls = START.cold_seconds / (0.8e-9 * 1_000_000 - 2e-6)
    payback = repaid.sizes[-1].payback
    assert payback is not None
    assert payback.calls == pytest.approx(calls, rel=0.05)
    assert f"after {payback.calls} calls at size 1,000,000" in note.text
    (note,) = crossover(sizes=(16, 64)).notes
    assert "of jit, compile included, never pays off" in note.text
    assert crossover(NUMPY, case("numpy", dtype="float64")).notes == ()


def test_a_busy_machine_stands_with_its_sizes() -> None:
    busy = crowded()

    def noted(*places: int) -> list[tuple[str, tuple[str, ...]]]:
        state = state_of(first, second, sizes=(16, 64))
        cases = list(state.jobs["bench"].cases)
        for place in places:
            measured = cases[place].measurement
            assert measured is not None
            notes = (busy, Remark("inline"))
            measured = msgspec.structs.replace(measured, notes=notes)
            cases[place] = replace(cases[place], measurement=measured)
        job = replace(state.jobs["bench"], cases=tuple(cases))
        told = result(replace(state, jobs={"bench": job}), complete=True)
        return [(note.flag, note.about) for note in told.notes][:-1]

    assert noted(0) == [("busy machine", ("16 numpy",))]
    assert noted(0, 1, 2, 3) == [("busy machine", ())]


@pytest.mark.parametrize("width", [60, 80, 120, None])
@pytest.mark.parametrize(
    "sides", [(NUMPY, JIT), (case(), case(dtype="bfloat16")), LONG]
)
def test_a_report_fits_its_width(sides: tuple[Case, Case], width: int | None) -> None:
    lines = terminal(report(crossover(*sides), State()), width).splitlines()
    if width is not None:
        assert max(map(len, lines)) <= width
    shown = next(line for line in lines if line.split()[:1] == ["size"]).split()
    assert "faster" in shown
    assert "95" in shown or width == 60


def test_before_anything_was_timed_there_is_nothing_to_draw() -> None:
    nothing = result(State(), complete=False)
    told = report(nothing, State())
    assert (nothing.complete, told.tables, told.picture) == (False, (), None)


def test_the_picture_marks_the_crossing() -> None:
    told = report(crossover(), State())
    assert told.picture is not None
    assert [mark.label for mark in told.picture.marks] == ["jit beats numpy from ~2700"]
    assert told.title == "selu: jit beats numpy from ~2700"


# The curves of a run.


def run_of(*modes: str, sizes: tuple[int, ...] = (64, 256)) -> State:
    cases = tuple(
        CaseState(
            one,
            status="done",
            measurement=measurement(one, 1e-6 * size),
            rounds=(1e-6 * size,) * 8,
        )
        for size in sizes
        for mode in modes
        for one in [msgspec.structs.replace(case(mode), size=size)]
    )
    return State(jobs={"bench": Job(number=1, cases=cases)})


@pytest.mark.parametrize(
    ("modes", "selected", "called"),
    [
        (("jit", "numpy"), 0, ("numpy", "jit")),
        (("jit", "numpy"), 1, ("numpy", "jit")),
        (("numpy", "eager", "jit"), 2, ("numpy", "jit")),
        (("numpy", "eager", "jit"), 0, ("numpy", "eager")),
        (("eager", "jit"), 1, ("eager", "jit")),
        (("jit",), 0, None),
    ],
)
def test_a_curve_is_compared_with_numpys_or_else_with_another(
    modes: tuple[str, ...], selected: int, called: tuple[str, str] | None
) -> None:
    state = run_of(*modes)
    sides = partner(state.jobs["bench"], selected)
    assert (sides and tuple(side.mode for side in sides)) == called
    if sides:
        seen = of_curves(state, sides)
        assert [size.size for size in seen.sizes] == [64, 256]
        assert [x.case.mode for x in seen.measurements] == [*called] * 2  # type: ignore[misc]
