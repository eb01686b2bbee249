"""A bench run in words, against NumPy and against another one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from jaxtui.core.comparison import Pair, Side, pairs
from jaxtui.core.engine.protocol import Envelope
from jaxtui.core.model import (
    Case,
    CaseFailed,
    CaseStarted,
    CollectiveRates,
    Experiment,
    Failure,
    Measurement,
    PhaseStarted,
    Remark,
    RunFinished,
    Summary,
    differing,
    run_notes,
)
from jaxtui.core.processes import fold
from jaxtui.core.state import CaseState, Job, Purpose, begin_run, reduce
from jaxtui.features.bench import comparison as compare
from jaxtui.features.bench import report as bench
from jaxtui.features.bench.choices import disturbed
from jaxtui.features.bench.figures import against_numpy, numpy_of
from jaxtui.features.bench.messages import Results
from jaxtui.features.bench.spreadsheet import as_csv
from jaxtui.ui.app import status
from jaxtui.ui.app.state import EMPTY
from jaxtui.ui.documents import encode, notes
from jaxtui.ui.report import fitting, terminal
from tests import records
from tests.core.history import making
from tests.core.history.making import DEVICE, HOST
from tests.records import measurement, summary, told
from tests.ui.making import JIT, NUMPY, done, over_sizes, run_of

MS = 1e-3
changed = msgspec.structs.replace


def wide(median: float, low: float, high: float) -> Summary:
    return changed(summary(median), ci_low=low, ci_high=high)


def once(seconds: float) -> Summary:
    return summary(seconds, rounds=1)


def running(*rounds: float) -> CaseState:
    return replace(done(JIT), status="running", rounds=rounds)


def against(jit: Any, numpy: Any) -> Job:
    """Seconds of both, or summaries of them."""
    seconds = (summary(x, 0.004) if isinstance(x, float) else x for x in (jit, numpy))
    return run_of(
        *(done(a, ready=b) for a, b in zip((JIT, NUMPY), seconds, strict=True))
    )


def collective(size: int, bus: float, wrong: int | None = 0) -> CaseState:
    facts = {"algorithm_bytes_per_second": bus / 1.75, "bus_bytes_per_second": bus}
    rates = CollectiveRates(participants=8, wrong=wrong, **facts)
    case = records.case(op="all_reduce", device="tpu:0-7", size=size)
    return done(case, MS, collective=rates, pipelined_seconds=2 * MS)


BIMODAL = Remark("bimodal", {"middles": (1.0, 2.0)}, "warning")
FEW = Remark("few-rounds", {"rounds": 3, "confidence": 0.75}, "warning")
DRIFTING = Remark("drift", {"first": 1.0, "last": 2.0}, "warning")
BROKEN = Failure(case=JIT, remark=told("Out of memory.", "Go smaller."))
SELU = changed(JIT, op="selu", dtype="bfloat16", device="tpu:1", inputs="host")
MOVED = {"flops_per_second": None, "bytes_per_second": 2e9}
SWEEP = over_sizes(NUMPY, JIT)
REDUCED = collective(1024, 1.75e9), collective(4096, 7e9, 12)
LAGGING = [
    done(
        records.case(device=f"tpu:{n}"),
        MS,
        flops_per_second=1e12 if n == 2 else 3e12,
        bytes_per_second=None,
    )
    for n in range(4)
]

RUNS = {
    "over sizes": SWEEP,
    "cases that differ": run_of(done(JIT), done(SELU), done(NUMPY)),
    "one unit": run_of(done(JIT, 815e-6), done(JIT, 0.541)),
    "too far apart": run_of(
        done(JIT, ready=wide(247e-6, 175e-6, 259e-6)), done(NUMPY, 0.604)
    ),
    "a single round": run_of(done(JIT, ready=once(1.0))),
    "a single round and several": run_of(done(JIT, ready=once(1.0)), done(NUMPY)),
    "logarithmic bars": run_of(done(JIT, 1e-6), done(NUMPY, 4 * MS)),
    "being sampled": run_of(running(1.0, 2.0, 3.0), running(1.0, 1.0), running()),
    "rows in every state": run_of(
        done(JIT, notes=(FEW, BIMODAL)),
        done(changed(JIT, size=9), notes=()),
        CaseState(JIT, status="failed", doing="compile", failure=BROKEN),
        CaseState(JIT, status="running", doing="first_call"),
        CaseState(JIT),
    ),
    "bytes beside flops": run_of(done(JIT), done(JIT, **MOVED)),
    "bytes of jit": run_of(done(JIT, **MOVED)),
    "bytes of NumPy": run_of(done(NUMPY, **MOVED)),
    "faster than NumPy": against(MS, 4 * MS),
    "slower than NumPy": against(8 * MS, 4 * MS),
    "like NumPy": against(summary(MS), wide(4 * MS, 0.9 * MS, 5 * MS)),
    "hardly known against NumPy": against(summary(MS), wide(4 * MS, 3 * MS, 6.1 * MS)),
    "single rounds against NumPy": against(once(MS), once(4 * MS)),
    "a doubtful NumPy": against(MS, wide(16 * MS, 34.5e-6, 16 * MS)),
    "queued it is the other way": run_of(
        done(JIT, ready=summary(80 * MS, 0.02), pipelined_seconds=40 * MS),
        done(NUMPY, ready=summary(60 * MS, 0.02)),
    ),
    "queued it is the same": run_of(
        done(JIT, ready=summary(80 * MS, 0.02), pipelined_seconds=78 * MS),
        done(NUMPY, ready=summary(60 * MS, 0.02)),
    ),
    "time and rate of one clock": run_of(
        done(JIT, 80 * MS, flops=2e9, flops_per_second=54e9, pipelined_seconds=37 * MS)
    ),
    "host-bound": run_of(done(JIT, 80 * MS, flops=2e9, flops_per_second=None)),
    "collectives": run_of(*REDUCED),
    "a collective that is not checked": run_of(collective(1024, 1e9, None)),
    "collectives beside others": run_of(
        *REDUCED, done(records.case(), MS, flops_per_second=2e9)
    ),
    "one device lags": run_of(*LAGGING),
}


@pytest.mark.parametrize("width", [20, 40, 56, 76, 116])
def test_columns_drop_out_until_the_others_fit(width: int) -> None:
    found = fitting(bench.result_columns(SWEEP, room=8), width)
    keys = [column.key or column.head for column, _ in found]
    assert {"size", "mode", "ready"} <= set(keys)
    used = sum(width for _, width in found) + 2 * (len(keys) - 1)
    assert used <= width or set(keys) == {"size", "mode", "ready"}
    # What matters less goes first.
    later = (("interval", "rate"), ("rate", "factor"), ("factor", "bar"))
    for one, other in later:
        assert one in keys or other not in keys


def test_what_is_so_on_every_cpu_stands_in_the_full_notes_alone() -> None:
    usual = [Remark(code) for code in sorted(bench.USUAL)]
    run = run_of(done(JIT, notes=(*usual, DRIFTING)), done(NUMPY, notes=()))
    for full, codes in (True, {*bench.USUAL, "drift"}), (False, {"drift"}):
        said: Any = bench.report(run, full=full).notes
        assert {one.remark.code for one in said} == codes
        said = bench.statements(run.cases[0], run, full=full)
        assert {one.remark.code for one in said} == codes


BENCH: tuple[Purpose, ...] = ("bench",)


def test_a_case_that_was_never_tried_is_not_run_and_not_failed() -> None:
    second, third = (changed(JIT, mode=mode) for mode in ("eager", "pallas"))
    known = begin_run(EMPTY, 1, "bench", Experiment(cases=(JIT, second, third)))
    for event in (
        CaseStarted(index=0, case=JIT),
        PhaseStarted(index=0, phase="compile"),
        CaseFailed(index=0, failure=BROKEN),
        CaseStarted(index=1, case=second),
        CaseFailed(index=1, failure=changed(BROKEN, case=second)),
        RunFinished(outcome="cancelled", elapsed_seconds=1.0),
    ):
        known = reduce(known, Envelope(generation=1, run=1, event=event))
    state = known.run
    assert state is not None
    texts = [bench.status(one) for one in state.cases]
    assert texts == ["failed", "not run", "not run"]
    codes = [one.code for one in bench.collect(None, (), state).failures]
    assert codes == ["refused", "refused", "broken-off"]
    complete = replace(EMPTY, jobs={"bench": replace(state, outcome="complete")})
    assert "1 failed, 2 not run." in status.message(complete, BENCH)


# Against NumPy.


def test_a_case_is_compared_with_numpy_over_the_rounds_of_both() -> None:
    # Half-way a load comes that makes both slower, and NumPy goes on alone.
    jit = replace(done(JIT), rounds=(1.0,) * 5 + (2.0,) * 6)
    numpy = replace(done(NUMPY), rounds=(3.0,) * 5 + (6.0,) * 6 + (100.0,) * 50)
    run = run_of(numpy, jit)
    found = against_numpy(jit, run)
    assert found
    assert (found.low, found.median, found.high) == (3.0, 3.0, 3.0)
    assert against_numpy(numpy, run) is None
    assert against_numpy(jit, run_of(jit)) is None
    assert against_numpy(replace(jit, measurement=None), run) is None
    # Results that do not agree have no ratio.
    for flag, none in ("wrong-result", True), ("inaccurate", True), ("kept", False):
        assert jit.measurement
        noted = changed(jit.measurement, notes=(Remark(flag),))
        assert (against_numpy(replace(jit, measurement=noted), run) is None) == none


def test_in_several_processes_these_are_what_took_turns() -> None:
    def timed(case: Case, *medians: float) -> CaseState:
        clocks = [measurement(case, summary(one)) for one in medians]
        folded = fold(clocks, Experiment(cases=(case,), processes=len(medians)))
        return replace(done(case), rounds=(1.0,) * 20, measurement=folded)

    jit = timed(JIT, 1.0, 3.0, 2.0, 1.0, 1.0, 1.0)
    numpy = timed(NUMPY, 2.0, 6.0, 4.0, 2.0, 2.0, 2.0)
    found = against_numpy(jit, run_of(numpy, jit))
    assert found is not None
    assert (found.low, found.median, found.high) == (2.0, 2.0, 2.0)
    (line,) = bench.figure_lines(jit, 1000)
    text = "".join(span.text for span in line)
    assert "1.00, 3.00, 2.00, 1.00, 1.00, 1.00 s" in text


def test_numpys_twin_has_the_same_dtype_if_there_is_such_a_one() -> None:
    jit, float32 = done(JIT), done(NUMPY, 1.0)
    float64 = done(changed(NUMPY, dtype="float64"), 0.5)
    larger = done(changed(NUMPY, size=2048), 1.0)
    for others, twin in (
        ((larger, float64, float32), float32),
        ((larger, float64), float64),
        # One without figures is of no use.
        ((CaseState(NUMPY), float64), float64),
        ((larger,), None),
    ):
        assert numpy_of(jit, run_of(jit, *others)) is twin


# Notes.

COPY, INLINE = Remark("memcpy"), Remark("inline")
FETCH = Remark("aliased", {"phases": ("fetch",)})
# Two readings of one code: neither holds for all, or both do.
THIS, THAT = (
    Remark("waits", {"setting": setting, "value": "True"})
    for setting in ("jax_debug_nans", "jax_debug_infs")
)


def busy(cores: float) -> Remark:
    return Remark("contended", {"by": "processes", "used_cores": cores, "cores": 2})


def one(*notes: Remark, mode: Any = "jit", **facts: object) -> Measurement:
    return measurement(records.case(mode, **facts), notes=notes)


@pytest.mark.parametrize(
    ("measured", "of_run"),
    [
        ([], ()),
        # A note is the run's if it stands on all of a platform.
        ([one(FETCH, INLINE), one(mode="numpy")], (FETCH,)),
        ([one(FETCH), one(COPY), one(mode="numpy")], ()),
        ([one(FETCH, device="cpu:1"), one(FETCH), one(device="tpu:0")], (FETCH,)),
        ([one(THIS), one(THAT)], ()),
        ([one(THIS, THAT), one(THIS, THAT)], (THIS, THAT)),
        # Of a figure that varies the middle is told, if most have it.
        ([*(one(busy(n)) for n in (0.8, 1.9, 0.9, 0.2)), one()], (busy(0.9),)),
        ([one(busy(1.0)), one(), one()], ()),
    ],
)
def test_what_holds_for_the_whole_run(
    measured: list[Measurement], of_run: tuple[Remark, ...]
) -> None:
    assert run_notes(measured) == of_run


def test_what_is_far_off_stays_with_its_case() -> None:
    notes = [(busy(cores),) for cores in (0.8, 1.9, 0.9, 0.2)]
    differ = [differing(each, [busy(0.9)]) for each in notes]
    assert differ == [(), (busy(1.9),), (), ()]
    assert differing(notes[0], ()) == notes[0]


def test_every_face_tells_it_once() -> None:
    measured = (
        one(busy(1.0), FETCH, COPY),
        one(INLINE, busy(0.8), FETCH, COPY, size=9),
        one(busy(0.9), mode="numpy"),
    )
    found = Results.of(records.host(), measured, ())
    assert found.notes == notes((busy(0.9), FETCH, COPY))
    assert [each.notes for each in found.measurements] == [(), (INLINE,), ()]
    assert msgspec.json.decode(encode(found), type=Results) == found
    # A document from before there were notes of runs.
    old = msgspec.to_builtins(found)
    del old["notes"]
    assert msgspec.convert(old, Results).notes == ()
    first, second, _ = as_csv(found).splitlines()[1:]
    assert ",,contended aliased memcpy,," in first
    assert ",inline,contended aliased memcpy,," in second

    run = run_of(*(replace(done(x.case), measurement=x) for x in measured))
    noted: Any = bench.report(run).notes
    about = {one.remark.code: one.about for one in noted}
    assert about.pop("inline") == ("selu 9 jit",)
    assert about == {"contended": (), "aliased": (), "memcpy": ()}
    assert disturbed(replace(EMPTY, jobs={"bench": run}))
    assert not disturbed(EMPTY)


def pair(second: dict[str, Any], width: float = 0.00005) -> Pair:
    """Against one of 2 ms."""
    sides = (
        [
            Side(
                label=label,
                host=HOST,
                device=DEVICE,
                measurement=making.measurement(**one),
            )
        ]
        for label, one in (("A", {"width": width}), ("B", second))
    )
    return pairs(*sides)[0]


SLOWER, CLOSE = pair({"median": 0.004}), pair({"median": 0.0023})
COMPARED = {
    "slower": [SLOWER],
    "faster": [pair({"median": 0.001, "width": 1e-5})],
    "alike": [pair({"median": 0.00205})],
    "cannot tell": [CLOSE],
    "far slower": [pair({"median": 0.6, "width": 0.05})],
    "another size": [pair({"size": 512})],
    "another dtype": [pair({"median": 0.004, "dtype": "bfloat16"})],
    "several": [SLOWER, CLOSE],
}


def test_the_points_of_intervals_lie_where_the_scale_says() -> None:
    found = pair({"median": 0.004, "width": 0.0002}, 0.0002)
    drawn = terminal(compare.report([found]), 100).split("\n")
    a, b = (line for line in drawn if "•" in line)
    (head,) = (line for line in drawn if "ready" in line)
    bars = head.index("interval") + len("interval")
    assert abs(a.index("•") - head.index("2 ms", bars)) <= 2
    assert abs(b.index("•") - head.index("4 ms", bars)) <= 2
