"""A crossover as a report: its remarks, its table at any width, its document."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from jaxtui.features.crossover import report as crossover
from jaxtui.features.crossover.judge import Search, begin
from jaxtui.features.crossover.report import names, of_run, remarks, report, verdict
from jaxtui.model import Case, Remark
from jaxtui.state import CaseState, Job
from jaxtui.view.report import lines
from jaxtui.view.text import plain
from tests.analysis.figures import JIT, NUMPY, START, case, found, measurement

SIZES = (16, 1000, 1_000_000)

LONG = (
    case(dtype="bfloat16", precision="highest", device="tpu:12"),
    case("eager", dtype="float32", precision="default", device="cpu:10", inputs="host"),
)


def search(first: Case = NUMPY, second: Case = JIT, **more: Any) -> Search:
    """The first takes 1 ns an element, the second 2 µs more and a fifth of that."""
    return found(
        lambda n: 1e-9 * n,
        lambda n: 2e-6 + 2e-10 * n,
        more.pop("sizes", SIZES),
        sides=(first, second),
        **more,
    )


def with_notes(state: Search, *notes: Remark, place: int | None = None) -> Search:
    """These notes at one size, or at all of them."""
    points = tuple(
        replace(
            point,
            first=msgspec.structs.replace(point.first, notes=notes),
            second=msgspec.structs.replace(point.second, notes=notes),
        )
        if place in (None, index)
        else point
        for index, point in enumerate(state.points)
    )
    return replace(state, points=points)


@pytest.mark.parametrize(
    ("first", "second", "called"),
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
def test_as_few_words_as_tell_the_two_apart(first, second, called) -> None:
    assert names(first, second) == called
    assert names(second, first) == tuple(reversed(called))


def test_a_crossing_is_named_with_the_sizes_around_it() -> None:
    remark = verdict(search())
    assert remark.code == "crossing"
    assert (remark.facts["faster"], remark.facts["slower"]) == ("jit", "numpy")
    assert remark.facts["below"] <= 2500 <= remark.facts["above"]


@pytest.mark.parametrize(
    ("state", "code", "facts"),
    [
        (search(sizes=(16, 64)), "no-crossing", {"faster": "numpy", "high": 64}),
        (
            replace(search(sizes=(16, 64)), outcome="incomplete"),
            "crossing-unknown",
            {"faster": "numpy", "low": 16},
        ),
        (
            found(lambda n: 1e-6, lambda n: 1e-6, (16, 64)),
            "no-lead",
            {"first": "numpy", "second": "jit"},
        ),
        (search(too_large=1), "no-common-size", {}),
    ],
)
def test_without_a_crossing_the_verdict_says_what_was_seen(
    state: Search, code: str, facts: dict[str, object]
) -> None:
    remark = verdict(state)
    assert remark.code == code
    assert facts.items() <= remark.facts.items()


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        ("cancelled", "search-stopped"),
        ("incomplete", "incomplete"),
        ("complete", None),
    ],
)
def test_what_ended_a_search_early_is_said(outcome: str, code: str | None) -> None:
    codes = [one.code for one in remarks(replace(search(), outcome=outcome))]
    assert codes == [*filter(None, [code]), "repaid"]


def test_sizes_without_an_interval_are_named() -> None:
    remark, _ = remarks(replace(search(), slow=(2_000_000, 4_000_000)))
    assert (remark.code, remark.facts["sizes"]) == (
        "sizes-left-out",
        (2_000_000, 4_000_000),
    )


def test_when_a_first_call_is_repaid() -> None:
    *_, remark = remarks(search())
    assert (remark.code, remark.facts["side"]) == ("repaid", "jit")
    # 44 ms of compile against 0.8 ns an element, less 2 µs a call.
    calls = START.cold_seconds / (0.8e-9 * 1_000_000 - 2e-6)
    assert remark.facts["sizes"][-1] == 1_000_000
    assert remark.facts["calls"][-1] == pytest.approx(calls, rel=0.05)
    assert [one.code for one in remarks(search(sizes=(16, 64)))] == ["never-repaid"]
    wide = case("numpy", dtype="float64")
    assert [one.code for one in remarks(search(NUMPY, wide))] == []


def test_a_busy_machine_stands_with_its_sizes() -> None:
    busy = Remark("contended", {"cores": 1.5, "of": 2}, "warning")
    other = Remark("inline")
    at_one = report(with_notes(search(), busy, other, place=0), "n").remarks
    (statement,) = [one for one in at_one if one.remark == busy]
    assert statement.about == ("16 numpy", "16 jit")
    everywhere = report(with_notes(search(), busy, other), "n").remarks
    (statement,) = [one for one in everywhere if one.remark.code == "contended"]
    assert statement.about == ()
    assert "inline" not in {one.remark.code for one in (*at_one, *everywhere)}


@pytest.mark.parametrize("width", [60, 80, 120, None])
@pytest.mark.parametrize(
    "sides", [(NUMPY, JIT), (case(), case(dtype="bfloat16")), LONG]
)
def test_a_report_fits_its_width(sides: tuple[Case, Case], width: int | None) -> None:
    told = report(search(*sides), "number of elements")
    text = [plain(line) for line in lines(told, width)]
    if width is not None:
        assert max(map(len, text)) <= width
    head = next(line for line in text if line.split()[:1] == ["size"])
    shown = head.split()
    assert "faster" in shown
    assert "95" in shown or width == 60


def test_the_interval_of_fewer_rounds_is_the_same_interval() -> None:
    state = search()
    six = measurement(state.points[0].first.case, 1e-3, rounds=6)
    points = (replace(state.points[0], first=six), *state.points[1:])
    found = report(replace(state, points=points), "n")
    (column,) = [each for each in found.tables[0].columns if each.key == "interval"]
    assert column.head == "95 %"
    assert not any("%" in plain(cell) for cell in column.cells)


def test_a_document_has_codes_facts_and_figures() -> None:
    document = crossover.document(None, search())
    assert document.verdict == verdict(search())
    assert [row.size for row in document.sizes] == [
        point.size for point in search().points
    ]
    assert document.answer == search().answer
    nothing = crossover.document(None, None)
    assert (nothing.answer, nothing.verdict) == (None, None)


# The curves of a run.


def run_of(*modes: str, sizes: tuple[int, ...] = (64, 256)) -> Job:
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
    return Job(number=1, cases=cases)


@pytest.mark.parametrize(
    ("modes", "selected", "sides"),
    [
        (("jit", "numpy"), 0, ("numpy", "jit")),
        (("jit", "numpy"), 1, ("numpy", "jit")),
        (("numpy", "eager", "jit"), 2, ("numpy", "jit")),
        (("numpy", "eager", "jit"), 0, ("numpy", "eager")),
        (("eager", "jit"), 1, ("eager", "jit")),
    ],
)
def test_a_curve_is_compared_with_numpys_or_else_with_another(
    modes: tuple[str, ...], selected: int, sides: tuple[str, str]
) -> None:
    state = of_run(run_of(*modes), selected)
    assert state is not None
    assert (state.first.mode, state.second.mode) == sides
    assert [point.size for point in state.points] == [64, 256]
    assert all(point.rounds[0] for point in state.points)


def test_one_curve_or_one_size_has_no_crossing() -> None:
    assert of_run(run_of("jit"), 0) is None
    assert of_run(run_of("jit", "numpy", sizes=(64,)), 0) is None


def test_before_anything_was_timed_there_is_nothing_to_draw() -> None:
    state = begin(NUMPY, JIT, SIZES, 1.0)
    told = report(state, "n")
    assert (told.tables, told.picture) == ((), None)
