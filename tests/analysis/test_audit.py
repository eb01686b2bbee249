"""Findings from what was seen of a program, by hand-made spans and runs."""

from __future__ import annotations

import msgspec
import pytest

from jaxtui.analysis.audit import judge
from jaxtui.model.audit import (
    Audit,
    Compile,
    Execution,
    Place,
    Span,
    Transfer,
    Wait,
    Witness,
)
from jaxtui.view import words

START, STOP, OTHER = (Place("/a.py", line) for line in (1, 3, 7))
MS = 1e-3


def span(start: float, stop: float, *, grain: float = 1e-7, thread: int = 0) -> Span:
    return Span(
        begin=START,
        end=STOP,
        taken=STOP,
        start_seconds=start,
        stop_seconds=stop,
        thread=thread,
        clock="time.perf_counter",
        grain_seconds=grain,
    )


def run(
    called: float, end: float, program: str = "jit_f(1)", thread: int | None = None
) -> Execution:
    return Execution(
        function="f",
        program=program,
        called_seconds=called,
        start_seconds=called,
        end_seconds=end,
        thread=thread,
    )


def compiled(start: float, end: float, function: str = "f") -> Compile:
    return Compile(function=function, start_seconds=start, end_seconds=end, place=START)


def waited(start: float, end: float, on: str = "") -> Wait:
    return Wait(place=OTHER, start_seconds=start, end_seconds=end, on=on)


def audit(*spans: Span, source: str = "", **seen: object) -> Audit:
    witness = Witness(
        python="3",
        jax="0",
        seconds=10.0,
        spans=spans,
        **({"traced_seconds": (0.0, 10.0)} | seen),  # type: ignore[arg-type]
    )
    return judge(witness, "a.py", 0, lambda place: source)


def kinds(judged: Audit) -> list[str]:
    return [finding.remark.code for finding in judged.findings]


AGAIN = run(5.0, 5.001)
"""So that nothing is done once."""


@pytest.mark.parametrize(
    ("late", "waits", "found"),
    [
        (40e-6, (), []),  # within the tolerance
        (60e-6, (), ["unawaited"]),
        (96 * MS, (), ["unawaited"]),
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
    judged = audit(
        span(1.0, 1.001),
        executions=(run(1.0001, 1.0003), run(1.0002, 1.001 + late)),
        waits=waits,
    )
    assert kinds(judged) == found
    if found:
        [finding] = judged.findings
        assert finding.place == STOP
        assert finding.seconds == pytest.approx(late)
        facts = finding.remark.facts
        assert facts["corrected_seconds"] == pytest.approx(1 * MS + late)
        assert facts["read_seconds"] == pytest.approx(1 * MS)


def test_a_hundredth_of_a_span_is_not_told() -> None:
    runs = (run(1.1, 1.2), run(1.5, 2.009))
    assert kinds(audit(span(1.0, 2.0), executions=runs)) == []


@pytest.mark.parametrize(
    ("begin", "found"), [(1.0, []), (1.001, []), (0.9, ["unawaited"])]
)
def test_who_reads_the_clock_again_when_work_is_done_wants_to_know_both(
    begin: float, found: list[str]
) -> None:
    late = [run(1.0001, 1.05), AGAIN]
    again = msgspec.structs.replace(span(begin, 1.051), end=OTHER)
    judged = audit(span(1.0, 1.001), again, executions=late)
    assert [kind for kind in kinds(judged) if kind != "one-repeat"] == found
    # What is called in between is timed there.
    lap = [*late, run(1.002, 1.0505, "jit_g(2)")]
    judged = audit(span(1.0, 1.001), again, executions=lap)
    assert "unawaited" in kinds(judged)


def test_one_late_span_of_three_is_no_finding() -> None:
    spans = [span(float(n), n + 0.001) for n in (1, 2, 3)]
    runs = [run(s.start_seconds + 1e-4, s.stop_seconds) for s in spans]
    late = [*runs[:2], run(3.0001, 3.5)]
    assert kinds(audit(*spans, executions=tuple(late))) == []


def test_earlier_work_that_still_runs_when_the_clock_starts() -> None:
    runs = (run(0.9, 1.02, "jit_g(2)"), run(1.001, 1.029), run(1.002, 1.03))
    judged = audit(span(1.0, 1.03), executions=runs)
    assert kinds(judged) == ["started-busy"]
    [site] = judged.sites
    assert judged.findings[0].place == START
    assert judged.findings[0].seconds == pytest.approx(20 * MS)
    assert site.corrected_seconds == pytest.approx(10 * MS)
    # The host compiles meanwhile, so that nothing waits for it.
    hidden = audit(span(1.0, 1.03), executions=runs, compiles=(compiled(1.0, 1.021),))
    assert kinds(hidden) == ["first-call"]


def test_a_span_that_lost_its_core_does_not_hide_that_all_started_busy() -> None:
    """Functions may have one name, as ``<lambda>``."""
    spans = [span(n, n + 0.03) for n in range(1, 6)]
    runs = [run(n - 0.1, n + 0.02, "jit_f(2)") for n in range(1, 6)]
    runs += [run(n + 0.001, n + 0.029) for n in range(1, 6)]
    runs[-1] = run(5.001, 5.055)
    waits = tuple(waited(n + 0.002, n + 0.03) for n in range(1, 6))
    assert kinds(audit(*spans, executions=tuple(runs), waits=waits)) == ["started-busy"]


def test_work_that_cannot_be_told_is_unknown_and_not_none() -> None:
    """It is not awaited, and earlier work ran while the host compiled."""
    runs = (run(0.9, 1.025, "jit_g(2)"), run(1.022, 1.04))
    judged = audit(span(1.0, 1.03), executions=runs, compiles=(compiled(1.0, 1.021),))
    [found] = [one for one in judged.findings if one.remark.code == "unawaited"]
    assert found.remark.facts["corrected_seconds"] is None
    assert words.text(found.remark)


def test_a_span_that_was_not_awaited_explains_the_busy_start_of_the_next() -> None:
    spans = [span(1 + n * MS, 1 + n * MS + 1e-4) for n in range(4)]
    runs = tuple(run(s.start_seconds + 5e-5, 1 + 0.1 * n) for n, s in enumerate(spans))
    assert kinds(audit(*spans, executions=runs)) == ["unawaited"]


def test_work_that_was_awaited_explains_no_busy_start_however_late_its_end() -> None:
    spans = [span(1 + n * MS, 1 + n * MS + 1e-4) for n in range(4)]
    runs = [run(s.start_seconds + 5e-5, 1 + 0.1 * n) for n, s in enumerate(spans)]
    # Who writes its end had lost its core.
    runs.append(run(0.9, 1.01, "jit_g(2)"))
    waits = (waited(0.985, 0.99),)
    judged = audit(*spans, executions=tuple(runs), waits=waits)
    assert kinds(judged) == ["unawaited"]


def test_the_work_of_another_thread_that_measures_itself_is_its_own() -> None:
    mine, theirs = span(1.0, 1.01, thread=1), span(1.0, 1.1, thread=2)
    runs = (
        *(run(1.001, 1.009, thread=1) for _ in range(2)),
        *(run(1.002, 1.09, thread=2) for _ in range(2)),
    )
    assert kinds(audit(mine, theirs, executions=runs)) == []
    unknown = tuple(run(1.002, 1.09) for _ in range(2))
    assert kinds(audit(mine, executions=unknown)) == ["unawaited"]


def test_compiling_inside_the_first_span() -> None:
    first, second = span(1.0, 1.5), span(2.0, 2.1)
    judged = audit(
        first,
        second,
        executions=(run(1.4, 1.5), run(2.0001, 2.1)),
        compiles=(compiled(1.01, 1.4),),
    )
    assert kinds(judged) == ["first-call"]
    facts = judged.findings[0].remark.facts
    assert facts["compile_seconds"] == pytest.approx(0.39)
    assert facts["corrected_seconds"] == pytest.approx(0.11)


@pytest.mark.parametrize(
    ("taken", "use", "found"),
    [
        ("times.append(clock() - start)", "print(sum(times))", ["first-call"]),
        ("times.append(clock() - start)", "print(sum(times[1:]))", []),
        ("times.append(clock() - start)", "print(np.median(times))", []),
        ("times.append(clock() - start)", "print(min(others))", ["first-call"]),
        ("times = timeit.repeat(f,\n    repeat=2)", "print(min(times))", []),
        ("print(min(timeit.repeat(f,\n    repeat=2)))", "", []),
        ("times += [clock() - start]", "report(times[burnin:])", []),
        ("times += [clock() - start]", "report(discard_first(times))", []),
        ("times += [clock() - start]", "seen.discard(times)", ["first-call"]),
        ("compile_time = clock() - start", "", []),
        ("print(clock() - start)  # not compiled", "", ["first-call"]),
        ("print('compiled', clock() - start)", "", ["first-call"]),
        ("print('without compiling', clock() - start)", "", ["first-call"]),
        ("warm = run(first_batch, clock() - start)", "", ["first-call"]),
        ("print('first batch', clock() - start)", "", ["first-call"]),
        ("print(f'{n} first call: {clock() - start}')", "", []),
        ("print(f'first call {n}, later {clock() - start}')", "", ["first-call"]),
        ("print('compile %.1f, run %.1f' % (clock() - start, 0))", "", []),
        ("print('compile %.1f, run %.1f' % (0, clock() - start))", "", ["first-call"]),
        ("log.info('cold start: %.1f', clock() - start)", "", []),
        ("times['compile'] = clock() - start", "", []),
        ("row = dict(compile=clock() - start)", "", []),
        ("dt = clock() - start", "print('warm-up took', dt)", []),
        (
            "dt = clock() - start",
            "print('burn_in', n, 'first call', m)",
            ["first-call"],
        ),
        ("a = b = clock() - start", "best = min(best, a)", []),
        ("times.append(clock() - start)", "del times\ns.burn_in()", ["first-call"]),
        (
            "times.append(clock() - start)",
            "print(min(times), mean(times))",
            ["first-call"],
        ),
        ("times.append(clock() - start)", "print(np.array(times)[3:].mean())", []),
        ("times.append(clock() - start)", "print(sorted(times)[4])", []),
        ("times.append(clock() - start)", "one, *more = times\nprint(sum(more))", []),
        ("rows.append((n, clock() - start))", "print(sorted(rows))", ["first-call"]),
        (
            "times.append(clock() - start)",
            "print(min(times))\ntimes = others()\nprint(mean(times))",
            [],
        ),
        (
            "dt = clock() - start",
            "print(dt)\ndt = clock() - start\nprint('compile', dt)",
            ["first-call"],
        ),
        ("times.append(clock() - start)", "kept = times[ramp:]\nprint(mean(kept))", []),
        (
            "times.append(clock() - start)",
            "def tell(rows):\n    print(mean(rows[1:]))\ntell(times)",
            [],
        ),
        (
            "times.append(clock() - start)",
            "def tell(rows):\n    print(mean(rows))\ntell(times)",
            ["first-call"],
        ),
        ("times.append(clock() - start", "no Python", ["first-call"]),
    ],
)
def test_a_first_span_that_compiles_and_is_not_used_is_no_mistake(
    taken: str, use: str, found: list[str]
) -> None:
    judged = audit(
        span(1.0, 1.5),
        span(2.0, 2.1),
        source=f"start = clock()\nf()\n{taken}\n{use}\n",
        executions=(run(1.4, 1.5), run(2.0001, 2.1)),
        compiles=(compiled(1.01, 1.4),),
    )
    assert kinds(judged) == found


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("times.append(dt)", ["first-call"]),
        ("if i > 0:\n    times.append(dt)", []),
        ("if i % 10 == 0:\n    times.append(dt)", ["first-call"]),
        ("if verbose:\n    times.append(dt)", ["first-call"]),
        ("if i == 0:\n    continue\ntotal += dt", []),
        ("total += dt\nif i == 0:\n    continue", ["first-call"]),
        ("print(dt)", ["first-call"]),
        ("pass", []),  # the last one is used, after the loop
    ],
)
def test_a_first_reading_that_the_program_does_not_keep_is_no_mistake(
    body: str, found: list[str]
) -> None:
    lines = ["start = clock()", "f()", "dt = clock() - start", *body.splitlines()]
    loop = "".join(f"    {line}\n" for line in lines)
    after = "print(dt)" if body == "pass" else "print(total / n, sum(times))"
    # The places count from the line of the loop.
    source = f"for i in range(9):\n{loop}{after}\n"
    first, second = (
        msgspec.structs.replace(
            each,
            begin=Place("/a.py", 2),
            end=Place("/a.py", 4),
            taken=Place("/a.py", 4),
        )
        for each in (span(1.0, 1.5), span(2.0, 2.1))
    )
    judged = audit(
        first,
        second,
        source=source,
        executions=(run(1.4, 1.5), run(2.0001, 2.1)),
        compiles=(compiled(1.01, 1.4),),
    )
    assert kinds(judged) == found


@pytest.mark.parametrize(
    ("caller", "found"),
    [
        ("timed(f)", []),  # nobody looks at it
        ("print(timed(f))", ["first-call"]),
        ("print('compiling:', timed(f))", []),
        ("timed(f, name='first call')", []),
        ("times = [timed(f) for _ in range(9)]\nprint(times[1:])", []),
        ("times = [timed(f) for _ in range(9)]\nprint(sum(times))", ["first-call"]),
        ("y, cold = timed(f)", ["first-call"]),
    ],
)
def test_what_the_caller_of_a_function_that_times_makes_of_the_first_reading(
    caller: str, found: list[str]
) -> None:
    source = "def timed(f):\n    start = clock(); f()\n    return clock() - start\n\n"
    place = Place("/a.py", 6)
    spans = (
        msgspec.structs.replace(each, caller=place)
        for each in (span(1.0, 1.5), span(2.0, 2.1))
    )
    judged = audit(
        *spans,
        source=f"{source}\n{caller}\n",
        executions=(run(1.4, 1.5), run(2.0001, 2.1)),
        compiles=(compiled(1.01, 1.4),),
    )
    assert kinds(judged) == found


def test_who_compiles_and_runs_nothing_times_that() -> None:
    compiles = (compiled(1.01, 1.4),)
    assert kinds(audit(span(1.0, 1.5), compiles=compiles)) == []
    # Nobody knows what ran.
    unseen = audit(span(1.0, 1.5), compiles=compiles, traced_seconds=None)
    assert kinds(unseen) == ["first-call"]


def test_what_is_fetched_while_it_compiles_is_a_constant_of_the_program() -> None:
    constant, result = (
        Transfer(
            direction="to host",
            start_seconds=at,
            end_seconds=at + MS,
            bytes=2**20,
            place=OTHER,
        )
        for at in (1.2, 1.45)
    )
    seen = {"executions": (run(1.4, 1.44),), "compiles": (compiled(1.01, 1.4),)}
    assert "transfer" not in kinds(audit(span(1.0, 1.5), transfers=(constant,), **seen))
    assert "transfer" in kinds(audit(span(1.0, 1.5), transfers=(result,), **seen))


@pytest.mark.parametrize(("program", "found"), [("f", []), ("g", ["first-call"])])
def test_compiling_is_timed_on_purpose_where_the_program_is_timed_again(
    program: str, found: list[str]
) -> None:
    apart = span(3.0, 3.1)
    apart = Span(**{**_fields(apart), "begin": OTHER, "end": OTHER})
    judged = audit(
        span(1.0, 1.5),
        apart,
        executions=(run(1.4, 1.5, "f"), run(3.01, 3.09, program), AGAIN),
        compiles=(compiled(1.01, 1.4),),
    )
    assert [kind for kind in kinds(judged) if kind == "first-call"] == found


def _fields(record: Span) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def test_one_function_compiled_twice_from_one_line() -> None:
    both = (compiled(1.01, 1.2), compiled(1.21, 1.4))
    runs = (run(1.2, 1.21), run(1.4, 1.5))
    judged = audit(span(1.0, 1.5), executions=runs, compiles=both)
    assert kinds(judged) == ["recompiles"]
    assert judged.findings[0].remark.facts["times"] == 2
    apart = (compiled(1.01, 1.2), compiled(1.21, 1.4, "g"))
    judged = audit(span(1.0, 1.5), executions=runs, compiles=apart)
    assert kinds(judged) == ["first-call"]
    # JAX explains what is the program's own, and that is compiled once.
    other = msgspec.structs.replace(compiled(1.4, 1.9, "g"), reason="never seen …")
    judged = audit(span(1.0, 2.0), executions=runs, compiles=(*both, other))
    assert kinds(judged) == ["first-call"]
    assert judged.findings[0].remark.facts["functions"] == ("g", "f")
    # Most of the time goes to what is compiled once.
    most = (*both, compiled(1.4, 9.9, "g"))
    judged = audit(span(1.0, 9.95), executions=runs, compiles=most)
    assert kinds(judged) == ["first-call"]


def test_functions_of_one_name_that_are_called_again_are_no_recompiles() -> None:
    def new(at: float) -> Compile:
        return msgspec.structs.replace(
            compiled(at + 0.01, at + 0.4), reason="never seen function:\n f id=1"
        )

    spans = [span(at, at + 0.5) for at in (1.0, 2.0, 3.0, 4.0)]
    runs = tuple(run(each.start_seconds + 0.4, each.stop_seconds) for each in spans)
    seen = {"executions": runs, "compiles": (new(1.0), new(3.0))}
    assert kinds(audit(*spans, **seen)) == ["first-call"]
    # One that is made anew for every call is compiled for every call.
    assert kinds(audit(*spans[::2], **seen)) == ["recompiles"]


def test_one_line_makes_one_finding_of_a_kind_whoever_called_it() -> None:
    spans = [
        msgspec.structs.replace(span(at, at + 0.1), caller=Place("/a.py", int(at)))
        for at in (20.0, 30.0)
    ]
    runs = tuple(run(each.start_seconds, each.stop_seconds + 0.1) for each in spans)
    judged = audit(*spans, executions=runs, traced_seconds=(0.0, 90.0))
    assert kinds(judged) == ["unawaited"]
    assert judged.findings[0].remark.facts["callers"] == 2


@pytest.mark.parametrize(
    ("left", "others", "found"),
    [
        (0.04, (), []),
        # More is left than was waited for, or it waited for something else.
        (0.06, (), ["unawaited"]),
        (0.04, (run(1.0005, 1.051),), ["unawaited"]),
    ],
)
def test_what_a_long_wait_was_for_is_over(
    left: float, others: tuple[Execution, ...], found: list[str]
) -> None:
    judged = audit(
        span(1.0, 1.051),
        executions=(run(1.0001, 1.0003), run(1.0004, 1.051 + left), *others),
        waits=(waited(1.001, 1.051),),
    )
    assert kinds(judged) == found


@pytest.mark.parametrize(("size", "found"), [(65_536, ["transfer"]), (65_535, [])])
def test_a_result_that_is_fetched_before_the_clock_stops(
    size: int, found: list[str]
) -> None:
    fetched = Transfer(
        direction="to host",
        start_seconds=1.003,
        end_seconds=1.008,
        bytes=size,
        place=OTHER,
    )
    runs = (run(1.001, 1.002), run(1.0011, 1.002))
    judged = audit(span(1.0, 1.01), executions=runs, transfers=(fetched,))
    assert kinds(judged) == found
    assert [finding.place for finding in judged.findings] == [OTHER] * len(found)


def test_a_wait_for_nothing() -> None:
    runs = (run(1.001, 1.002), run(1.0011, 1.002))
    waits = (waited(1.003, 1.0031, "ndarray"), waited(1.004, 1.0041, "ndarray"))
    judged = audit(span(1.0, 1.01), executions=runs, waits=waits)
    assert kinds(judged) == ["idle-wait"]
    assert judged.findings[0].remark.facts == {"type": "ndarray", "times": 2}


@pytest.mark.parametrize(("grain", "found"), [(0.9e-5, []), (1.1e-5, ["too-short"])])
def test_a_span_is_too_short_for_a_coarse_clock(grain: float, found: list[str]) -> None:
    spans = [span(float(n), n + 1 * MS, grain=grain) for n in (1, 2)]
    runs = tuple(run(s.start_seconds + 1e-4, s.stop_seconds) for s in spans)
    assert kinds(audit(*spans, executions=runs)) == found


def test_what_is_timed_once() -> None:
    once = audit(span(1.0, 1.01), executions=(run(1.001, 1.009),))
    assert kinds(once) == ["one-repeat"]
    looped = audit(span(1.0, 1.01), executions=(run(1.001, 1.004), run(1.005, 1.009)))
    assert kinds(looped) == []


def test_after_the_trace_has_ended_nobody_knows_whether_work_was_done() -> None:
    witness = Witness(
        python="3",
        jax="0",
        seconds=10.0,
        spans=(span(1.0, 1.001),),
        executions=(run(1.0001, 1.5), run(1.0002, 1.5)),
        traced_seconds=(0.0, 0.9),
    )
    judged = judge(witness, "a.py", 0, lambda place: "")
    assert judged.findings == ()
    assert judged.sites[0].corrected_seconds is None


@pytest.mark.parametrize(
    ("jax", "spans", "code"),
    [(None, (), "audit-no-jax"), ("0", (), "audit-no-spans")],
)
def test_a_program_that_cannot_be_judged(
    jax: str | None, spans: tuple[Span, ...], code: str
) -> None:
    judged = judge(
        Witness(python="3", jax=jax, seconds=1.0, spans=spans),
        "a.py",
        0,
        lambda place: "",
    )
    assert [remark.code for remark in judged.remarks] == [code]


def test_a_program_that_was_killed_was_not_judged() -> None:
    judged = judge(None, "a.py", 137, lambda place: "")
    [remark] = judged.remarks
    assert (remark.code, remark.facts) == ("audit-lost", {"status": 137})
