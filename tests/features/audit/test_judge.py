"""Findings from what was seen of a program, by hand-made spans and runs."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from jaxtui.features.audit.judge import judge
from jaxtui.features.audit.messages import (
    Audit,
    Compile,
    Execution,
    Place,
    Span,
    Transfer,
    Wait,
    Witness,
)
from jaxtui.ui import words

START, STOP, OTHER = (Place("/a.py", line) for line in (1, 3, 7))
MS = 1e-3


def span(
    start: float, stop: float, clock: str = "time.perf_counter", **more: Any
) -> Span:
    more = {"begin": START, "end": STOP, "thread": 0} | more
    return Span(start_seconds=start, stop_seconds=stop, clock=clock, **more)


def lasting(kind: type[Any], start: float, end: float, **facts: Any) -> Any:
    return kind(start_seconds=start, end_seconds=end, **facts)


def run(
    called: float,
    end: float,
    program: str = "jit_f(1)",
    thread: int | None = None,
    function: str = "f",
) -> Execution:
    facts: dict[str, Any] = {"function": function, "program": program}
    return lasting(
        Execution, called, end, **facts, thread=thread, called_seconds=called
    )


def compiled(
    start: float, end: float, function: str = "f", reason: str = ""
) -> Compile:
    facts = {"function": function, "place": START, "reason": reason}
    return lasting(Compile, start, end, **facts)


def waited(start: float, end: float, on: str = "", *, pending: bool = False) -> Wait:
    return lasting(Wait, start, end, place=OTHER, on=on, was_pending=pending)


def audit(*spans: Span, source: Any = lambda place: "", **seen: Any) -> Audit:
    seen = {"traced_seconds": (0.0, 10.0)} | seen
    witness = Witness(python="3", jax="0", seconds=10.0, spans=spans, **seen)
    return judge(witness, "a.py", 0, source)


def kinds(judged: Audit) -> list[str]:
    return [finding.remark.code for finding in judged.findings]


def notes(judged: Audit) -> list[str]:
    return [note.remark.code for note in judged.notes]


AGAIN = run(5.0, 5.001)
"""So that nothing is done once."""


@pytest.mark.parametrize(
    ("late", "waits", "found"),
    [
        (40e-6, (), []),  # within the tolerance
        (60e-6, (), ["unawaited"]),
        # The thread that writes ends lost its core, and the program had waited.
        (15 * MS, (waited(1.0005, 1.001),), []),
        (96 * MS, (waited(1.0005, 1.001),), ["unawaited"]),
        # The trace lacks the call, and begins with the run.
        (15 * MS, (waited(1.0001, 1.001),), []),
        # It waited for what came before.
        (15 * MS, (waited(0.9995, 1.0001),), ["unawaited"]),
    ],
)
def test_work_that_is_not_done_when_the_clock_stops(
    late: float, waits: tuple[Wait, ...], found: list[str]
) -> None:
    runs = (run(1.0001, 1.0003), run(1.0002, 1.001 + late))
    judged = audit(span(1.0, 1.001), executions=runs, waits=waits)
    assert kinds(judged) == found
    for finding in judged.findings:
        assert (finding.place, finding.seconds) == (STOP, pytest.approx(late))
        facts = finding.remark.facts
        assert facts["corrected_seconds"] == pytest.approx(1 * MS + late)
        assert facts["read_seconds"] == pytest.approx(1 * MS)


@pytest.mark.parametrize(
    ("begin", "found"), [(1.0, []), (1.001, []), (0.9, ["unawaited"])]
)
def test_who_reads_the_clock_again_when_work_is_done_wants_to_know_both(
    begin: float, found: list[str]
) -> None:
    late = [run(1.0001, 1.05), AGAIN]
    again = span(begin, 1.051, end=OTHER)
    assert kinds(audit(span(1.0, 1.001), again, executions=late)) == found
    # What is called in between is timed there.
    lap = [*late, run(1.002, 1.0505, "jit_g(2)")]
    assert "unawaited" in kinds(audit(span(1.0, 1.001), again, executions=lap))


def test_earlier_work_that_still_runs_when_the_clock_starts() -> None:
    runs = (run(0.9, 1.02, "jit_g(2)"), run(1.001, 1.029), run(1.002, 1.03))
    judged = audit(span(1.0, 1.03), executions=runs)
    assert kinds(judged) == ["started-busy"]
    assert judged.findings[0].place == START
    assert judged.findings[0].seconds == pytest.approx(20 * MS)
    assert judged.sites[0].corrected_seconds == pytest.approx(10 * MS)
    # The host compiles meanwhile, so that nothing waits for it.
    hidden = audit(span(1.0, 1.03), executions=runs, compiles=(compiled(1.0, 1.021),))
    assert kinds(hidden) == ["first-call"]
    # A span that lost its core does not hide that all started busy; and functions may
    # have one name, as ``<lambda>``.
    spans = [span(n, n + 0.03) for n in range(1, 6)]
    runs = tuple(run(n - 0.1, n + 0.02, "jit_f(2)") for n in range(1, 6))
    runs += tuple(run(n + 0.001, n + 0.029) for n in range(1, 5))
    waits = tuple(waited(n + 0.002, n + 0.03) for n in range(1, 6))
    judged = audit(*spans, executions=(*runs, run(5.001, 5.055)), waits=waits)
    assert kinds(judged) == ["started-busy"]


def test_work_that_cannot_be_told_is_unknown_and_not_none() -> None:
    """It is not awaited, and earlier work ran while the host compiled."""
    runs = (run(0.9, 1.025, "jit_g(2)"), run(1.022, 1.04))
    judged = audit(span(1.0, 1.03), executions=runs, compiles=(compiled(1.0, 1.021),))
    [found] = [one for one in judged.findings if one.remark.code == "unawaited"]
    assert found.remark.facts["corrected_seconds"] is None
    assert words.text(found.remark)


@pytest.mark.parametrize(
    ("spans", "delay"), [(1, "stops 99.9 ms before"), (4, "stops before")]
)
def test_a_delay_with_the_work_of_calls_before_is_not_told(
    spans: int, delay: str
) -> None:
    timed = [span(1 + n * MS, 1 + n * MS + 1e-4) for n in range(spans)]
    runs = [run(one.start_seconds + 5e-5, 1.1 + 0.1 * n) for n, one in enumerate(timed)]
    [found] = audit(*timed, executions=tuple(runs)).findings
    text = words.text(found.remark)
    assert f"{delay} `f` is done: it reads 100 µs for 100 ms of work." in text


def test_what_explains_the_busy_start_of_a_span() -> None:
    spans = [span(1 + n * MS, 1 + n * MS + 1e-4) for n in range(4)]
    runs = [run(s.start_seconds + 5e-5, 1 + 0.1 * n) for n, s in enumerate(spans)]
    # The span before it, which was not awaited.
    assert kinds(audit(*spans, executions=tuple(runs))) == ["unawaited"]
    # Not work that was awaited: who wrote its end had lost its core.
    runs.append(run(0.9, 1.01, "jit_g(2)"))
    judged = audit(*spans, executions=tuple(runs), waits=(waited(0.985, 0.99),))
    assert kinds(judged) == ["unawaited"]


def test_the_work_of_another_thread_that_measures_itself_is_its_own() -> None:
    mine, theirs = span(1.0, 1.01, thread=1), span(1.0, 1.1, thread=2)
    runs = [run(1.001, 1.009, thread=1)] * 2 + [run(1.002, 1.09, thread=2)] * 2
    assert kinds(audit(mine, theirs, executions=tuple(runs))) == []
    assert kinds(audit(mine, executions=(run(1.002, 1.09),) * 2)) == ["unawaited"]


@pytest.mark.parametrize(
    ("spans", "first", "mistakes", "remarks"),
    [
        (21, [0], [], ["first-call"]),
        (2, [0], [], ["first-call"]),
        (12, [0, 4, 8], [], ["first-call"]),
        (1, [0], ["first-call"], []),
        (3, [0, 1, 2], ["first-call"], []),
        # The program of these is that of the third.
        (3, [0, 1], [], ["first-call"]),
    ],
)
def test_a_first_span_that_compiles_among_others_is_no_mistake(
    spans: int, first: list[int], mistakes: list[str], remarks: list[str]
) -> None:
    timed = [span(n + 1.0, n + 1.5) for n in range(spans)]
    judged = audit(
        *timed,
        executions=tuple(run(n.start_seconds + 0.01, n.stop_seconds) for n in timed),
        compiles=tuple(compiled(n + 1.01, n + 1.4, f"f{n}") for n in first),
        traced_seconds=(0.0, 99.0),
    )
    assert (kinds(judged), notes(judged)) == (mistakes, remarks)
    [finding] = (*judged.findings, *judged.notes)
    facts = finding.remark.facts
    assert facts["compile_seconds"] == pytest.approx(0.39)
    assert facts["corrected_seconds"] == pytest.approx(0.11)
    assert words.text(finding.remark)


def test_jax_s_own_reason_takes_the_place_of_advice_that_was_followed() -> None:
    reason = (
        "TRACING CACHE MISS at a.py:7 (<module>):\n"
        "  for f defined at a.py:2\n  different input types:\n"
        "  * at lr, now f32[]{weak_type=False} and before f32[]{weak_type=True}https://x"
    )
    compiles = (compiled(1.01, 1.4, reason=reason),)
    judged = audit(span(1.0, 1.5), executions=(run(1.4, 1.6),), compiles=compiles)
    # Both stand there, and the wait does not hide the other.
    found = {one.remark.code: words.text(one.remark) for one in judged.findings}
    assert found.keys() == {"first-call", "unawaited"}
    assert "at lr, now f32[]{weak_type=False} and before" in found["first-call"]
    assert "https" not in found["first-call"]
    assert "Call the function once" not in found["first-call"]


def crossing(start: float, end: float, size: int, place: Place | None) -> Transfer:
    direction = "to host" if place else "to device"
    facts = {"direction": direction, "bytes": size, "place": place}
    return lasting(Transfer, start, end, **facts)


def test_what_is_fetched_while_it_compiles_is_a_constant_of_the_program() -> None:
    seen = {"executions": (run(1.4, 1.44),), "compiles": (compiled(1.01, 1.4),)}
    for at, found in ((1.2, False), (1.45, True)):
        transfers = (crossing(at, at + MS, 2**20, OTHER),)
        judged = audit(span(1.0, 1.5), transfers=transfers, **seen)
        assert ("transfer" in kinds(judged)) == found


@pytest.mark.parametrize(("program", "found"), [("f", []), ("g", ["first-call"])])
def test_compiling_is_timed_on_purpose_where_the_program_is_timed_again(
    program: str, found: list[str]
) -> None:
    judged = audit(
        span(1.0, 1.5),
        span(3.0, 3.1, begin=OTHER, end=OTHER),
        executions=(run(1.4, 1.5, "f"), run(3.01, 3.09, program), AGAIN),
        compiles=(compiled(1.01, 1.4),),
    )
    assert kinds(judged) == found
    assert notes(judged)[: 1 - len(found)] == ["first-call"][: 1 - len(found)]


def test_who_compiles_and_runs_nothing_times_that() -> None:
    seen = {"compiles": (compiled(1.01, 1.4),)}
    assert kinds(audit(span(1.0, 1.5), **seen)) == []
    # Nobody knows what ran.
    unseen = audit(span(1.0, 1.5), **seen, traced_seconds=None)
    assert kinds(unseen) == ["first-call"]


def new(at: float, line: int) -> Compile:
    reason = f"never seen function:\n f id={at} defined at a.py:{line}"
    return compiled(at, at + 0.1, reason=reason)


BOTH = (compiled(1.01, 1.2), compiled(1.21, 1.4))


@pytest.mark.parametrize(
    ("compiles", "stop", "found"),
    [
        (BOTH, 1.5, "recompiles"),
        ((BOTH[0], compiled(1.21, 1.4, "g")), 1.5, "first-call"),
        # JAX explains what is the program's own, and that is compiled once.
        ((*BOTH, compiled(1.4, 1.9, "g", "never seen …")), 2.0, "first-call"),
        # Most of the time goes to what is compiled once.
        ((*BOTH, compiled(1.4, 9.9, "g")), 9.95, "first-call"),
        # Functions of one name are told apart by where they are defined.
        ((new(1.0, 2), new(1.1, 3)), 1.5, "first-call"),
        ((new(1.0, 2), new(1.1, 2)), 1.5, "recompiles"),
    ],
)
def test_one_function_compiled_twice_from_one_line(
    compiles: tuple[Compile, ...], stop: float, found: str
) -> None:
    runs = (run(1.2, 1.21), run(1.4, 1.5))
    judged = audit(span(1.0, stop), executions=runs, compiles=compiles)
    assert kinds(judged) == [found]
    facts = judged.findings[0].remark.facts
    assert facts.get("times") == (2 if found == "recompiles" else None)
    if stop == 2.0:
        assert facts["functions"] == ("g", "f")


def test_functions_that_one_line_times_are_judged_apart() -> None:
    """And what runs no JAX is left out: neither hides that nobody waits for ``g``."""
    spans = [span(n + 1.0, n + 1.001) for n in range(8)]
    numpy = [span(n + 1.5, n + 1.6) for n in range(8)]
    good = [run(n.start_seconds, n.stop_seconds) for n in spans[:6]]
    bad = [
        run(n.start_seconds, n.stop_seconds + 0.1, "jit_g(2)", function="g")
        for n in spans[6:]
    ]
    judged = audit(*spans, *numpy, executions=(*good, *bad))
    assert kinds(judged) == ["unawaited"]
    sites = sorted((site.functions, site.count) for site in judged.sites)
    assert sites == [(("f",), 6), (("g",), 2)]


def test_late_work_that_is_an_exception_or_a_share_is_not_told() -> None:
    # A hundredth of the span.
    runs = (run(1.1, 1.2), run(1.5, 2.009))
    assert kinds(audit(span(1.0, 2.0), executions=runs)) == []
    # One of three.
    spans = [span(float(n), n + 0.001) for n in (1, 2, 3)]
    runs = tuple(run(s.start_seconds + 1e-4, s.stop_seconds) for s in spans[:2])
    assert kinds(audit(*spans, executions=(*runs, run(3.0001, 3.5)))) == []
    # The queue is full from the first span on: what a span gets from the one before it,
    # it may leave to the next.
    spans = [span(1 + 0.01 * n, 1.01 + 0.01 * n) for n in range(200)]
    runs = tuple(run(s.start_seconds + 1e-3, s.stop_seconds + 0.015) for s in spans)
    assert kinds(audit(*spans, executions=runs)) == []
    assert kinds(audit(*spans[:50], executions=runs[:50])) == ["unawaited"]


LATE = (run(1.0001, 1.5), run(1.0002, 1.5))


@pytest.mark.parametrize("place", [START, STOP])
def test_a_line_that_says_so_is_not_judged(place: Place) -> None:
    lines = {place: "    t = clock()  # jaxtui: ok"}
    judged = audit(
        span(1.0, 1.001),
        source=lambda place: lines.get(place, ""),
        executions=LATE,
        waits=(waited(1.003, 1.0031, "ndarray"),),
    )
    assert kinds(judged) == ["idle-wait"]  # of another line
    assert len(judged.sites) == 1


def test_clocks_that_count_something_else() -> None:
    clock = {"clock": "time.process_time", "cpu_seconds": 0.9}
    spans = [span(float(n), n + 0.5, **clock) for n in (1, 2)]
    runs = tuple(run(each.start_seconds, each.stop_seconds) for each in spans)
    judged = audit(*spans, executions=runs)
    assert kinds(judged) == ["cpu-time"]
    [site] = judged.sites
    assert (site.read_seconds, site.corrected_seconds) == (0.9, 0.5)
    judged = audit(span(1.0, 1.001, while_tracing=True))
    assert (kinds(judged), judged.sites) == (["traced-clock"], ())


def test_a_progress_bar_is_no_benchmark() -> None:
    bar = span(1.0, 2.0, "tqdm", end=START)
    runs = (run(1.1, 1.2), run(1.21, 2.09))
    judged = audit(bar, executions=runs, compiles=(compiled(1.01, 1.1),))
    assert (kinds(judged), notes(judged)) == ([], ["first-call"])
    late = audit(bar, executions=(run(1.1, 1.2), run(1.21, 2.2)))
    assert kinds(late) == ["unawaited"]


@pytest.mark.parametrize(
    ("runs", "remarks"),
    [
        ((run(1.0, 1.02), run(1.02, 1.04)), ["idle-device"]),
        ((run(1.0, 1.02), run(1.02, 1.06)), []),
        ((run(1.0, 1.02),), ["one-repeat"]),
    ],
)
def test_a_span_in_which_the_host_does_other_work(
    runs: tuple[Execution, ...], remarks: list[str]
) -> None:
    judged = audit(span(1.0, 1.1), executions=runs)
    assert (kinds(judged), notes(judged)) == ([], remarks)


@pytest.mark.parametrize(
    ("last", "others", "pending", "found"),
    [
        (run(1.0004, 1.5), (), True, []),  # it waited for nothing else
        (run(1.0004, 1.5), (), False, ["unawaited"]),
        # It waited for the first, after which the second began.
        (run(1.045, 1.5), (run(1.0003, 1.045, "jit_g(2)"),), True, ["unawaited"]),
        # The second takes 20 ms elsewhere.
        (
            run(1.04, 1.5),
            (run(1.0003, 1.04, "jit_g(2)"), run(2.0, 2.02), run(3.0, 3.02)),
            True,
            [],
        ),
    ],
)
def test_what_a_program_waited_for_is_over_however_late_that_was_written(
    last: Execution, others: tuple[Execution, ...], pending: bool, found: list[str]
) -> None:
    runs = (run(1.0001, 1.0002, "jit_h(3)"), last, *others)
    waits = (waited(1.001, 1.051, pending=pending),)
    assert kinds(audit(span(1.0, 1.051), executions=runs, waits=waits)) == found


@pytest.mark.parametrize(("size", "found"), [(65_536, ["transfer"]), (65_535, [])])
@pytest.mark.parametrize("place", [OTHER, None])
def test_arrays_that_cross_while_the_clock_runs(
    place: Place | None, size: int, found: list[str]
) -> None:
    seen: dict[str, Any] = {"transfers": (crossing(1.003, 1.008, size, place),)}
    runs = (run(1.001, 1.002), run(1.0011, 1.002))
    judged = audit(span(1.0, 1.01), executions=runs, **seen)
    assert kinds(judged) == found
    assert [each.place for each in judged.findings] == [place or START] * len(found)
    # In one of three spans it is an exception.
    others = [span(n, n + 0.01) for n in (2.0, 3.0)]
    more = (run(each.start_seconds, each.stop_seconds) for each in others)
    judged = audit(span(1.0, 1.01), *others, executions=(*runs, *more), **seen)
    assert kinds(judged) == []


def test_a_wait_for_nothing() -> None:
    runs = (run(1.001, 1.002), run(1.0011, 1.002))
    waits = (waited(1.003, 1.0031, "ndarray"), waited(1.004, 1.0041, "ndarray"))
    judged = audit(span(1.0, 1.01), executions=runs, waits=waits)
    assert kinds(judged) == ["idle-wait"]
    assert judged.findings[0].remark.facts == {"type": "ndarray", "times": 2}
    # A function that times JAX as well waits for NumPy's results, too.
    both = (*waits, waited(1.005, 1.006))
    assert kinds(audit(span(1.0, 1.01), executions=runs, waits=both)) == []


def test_after_the_trace_has_ended_nobody_knows_whether_work_was_done() -> None:
    judged = audit(span(1.0, 1.001), executions=LATE, traced_seconds=(0.0, 0.9))
    assert judged.findings == ()
    assert judged.sites[0].corrected_seconds is None


UNSEEN = Witness(python="3", jax=None, seconds=1.0, spans=())


@pytest.mark.parametrize(
    ("witness", "status", "code", "facts"),
    [
        (UNSEEN, 0, "audit-no-jax", {}),
        (replace(UNSEEN, jax="0"), 0, "audit-no-spans", {}),
        (None, 137, "audit-lost", {"status": 137}),
    ],
)
def test_a_program_that_cannot_be_judged(
    witness: Witness | None, status: int, code: str, facts: dict[str, int]
) -> None:
    [remark] = judge(witness, "a.py", status, lambda place: "").remarks
    assert (remark.code, remark.facts) == (code, facts)
