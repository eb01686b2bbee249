"""A bench run in words: table, notes, and how much faster than NumPy."""

from __future__ import annotations

import csv
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from jaxtui.core.engine.protocol import Envelope
from jaxtui.core.model import (
    Case,
    CaseFailed,
    CaseStarted,
    Experiment,
    Failure,
    Measurement,
    PhaseStarted,
    Remark,
    RunFinished,
    differing,
    run_notes,
)
from jaxtui.core.processes import fold
from jaxtui.core.state import CaseState, begin_run, reduce
from jaxtui.features.bench import report as bench
from jaxtui.features.bench.choices import disturbed
from jaxtui.features.bench.figures import against_numpy, numpy_of
from jaxtui.features.bench.messages import Results
from jaxtui.features.bench.spreadsheet import as_csv
from jaxtui.ui import report, words
from jaxtui.ui.app import status
from jaxtui.ui.app.state import EMPTY
from jaxtui.ui.documents import encode, notes
from jaxtui.ui.report import markdown
from jaxtui.ui.text import plain
from tests import records
from tests.core.history.making import HOST
from tests.records import measurement, told
from tests.ui.making import JIT, NUMPY, done, run_of


def test_a_case_that_was_never_tried_is_not_run_and_not_failed() -> None:
    second = msgspec.structs.replace(JIT, mode="eager")
    third = msgspec.structs.replace(JIT, mode="pallas")
    experiment = Experiment(cases=(JIT, second, third))
    known = begin_run(EMPTY, 1, "bench", experiment)
    for event in (
        CaseStarted(index=0, case=JIT),
        PhaseStarted(index=0, phase="compile"),
        CaseFailed(index=0, failure=Failure(case=JIT, remark=told("It broke."))),
        CaseStarted(index=1, case=second),
        CaseFailed(index=1, failure=Failure(case=second, remark=told("Stopped."))),
        RunFinished(outcome="cancelled", elapsed_seconds=1.0),
    ):
        known = reduce(known, Envelope(generation=1, run=1, event=event))
    state = known.run
    assert state is not None
    words = ["failed", "not run", "not run"]
    assert [bench.status(one) for one in state.cases] == words
    remarks = bench.report(state).notes
    assert [(one.remark.code, one.about) for one in remarks] == [
        ("refused", ("matmul 1024 jit",)),
        ("refused", ("matmul 1024 eager",)),
    ]
    results = bench.collect(None, (), state)
    assert [one.code for one in results.failures] == [
        "refused",
        "refused",
        "broken-off",
    ]
    complete = {"bench": replace(state, outcome="complete")}
    assert "1 failed, 2 not run." in status.message(
        replace(EMPTY, jobs=complete), ("bench",)
    )


# Against NumPy.


def test_a_case_is_compared_with_numpy_over_the_rounds_of_both() -> None:
    # Half-way a load comes that makes both slower, and NumPy goes on alone.
    jit = replace(done(JIT), rounds=(1.0,) * 5 + (2.0,) * 6)
    numpy = replace(done(NUMPY), rounds=(3.0,) * 5 + (6.0,) * 6 + (100.0,) * 50)
    run = run_of(numpy, jit)
    found = against_numpy(jit, run)
    assert (found.low, found.median, found.high) == (3.0, 3.0, 3.0)
    assert against_numpy(numpy, run) is None
    assert against_numpy(jit, run_of(jit)) is None
    assert against_numpy(replace(jit, measurement=None), run) is None


def test_the_ratio_to_numpy_is_in_every_file() -> None:
    jit = replace(done(JIT), rounds=(1.0,) * 5 + (2.0,) * 6)
    numpy = replace(done(NUMPY), rounds=(3.0,) * 5 + (8.0,) * 6)
    run = run_of(numpy, jit)
    results = bench.collect(HOST, (), run)
    found = against_numpy(jit, run)
    assert (found.low, found.high) == (3.0, 4.0)
    assert [one.times_numpy for one in results.measurements] == [None, found]
    document = msgspec.json.decode(encode(results))
    told = document["measurements"][1]["times_numpy"]
    assert (told["low"], told["high"]) == (3.0, 4.0)
    head, *rows = csv.reader(as_csv(results).splitlines())
    columns = [head.index(name) for name in ("times_numpy_low", "times_numpy_high")]
    assert [[row[place] for place in columns] for row in rows] == [
        ["", ""],
        ["3.0", "4.0"],
    ]
    assert "| 4.0× 3.0–4.0 |" in markdown(bench.report(run))
    assert "× NumPy" not in markdown(bench.report(run_of(jit)))
    assert "4.0× 3.0–4.0" in report.text(bench.report(run))


@pytest.mark.parametrize(
    ("flag", "comparable"),
    [("wrong-result", False), ("inaccurate", False), ("kept", True)],
)
def test_results_that_do_not_agree_have_no_ratio(flag: str, comparable: bool) -> None:
    jit, numpy = done(JIT), done(NUMPY)
    note = Remark(flag)
    noted = msgspec.structs.replace(jit.measurement, notes=(note,))
    run = run_of(numpy, jit)
    found = against_numpy(replace(jit, measurement=noted), run)
    assert (found is not None) == comparable


def test_in_several_processes_these_are_what_took_turns() -> None:
    def timed(case: Case, *medians: float) -> CaseState:
        clocks = [measurement(case, records.summary(one)) for one in medians]
        folded = fold(clocks, Experiment(cases=(case,), processes=len(medians)))
        return replace(done(case), rounds=(1.0,) * 20, measurement=folded)

    jit = timed(JIT, 1.0, 3.0, 2.0, 1.0, 1.0, 1.0)
    numpy = timed(NUMPY, 2.0, 6.0, 4.0, 2.0, 2.0, 2.0)
    found = against_numpy(jit, run_of(numpy, jit))
    assert found is not None
    assert (found.low, found.median, found.high) == (2.0, 2.0, 2.0)
    (line,) = bench.figure_lines(jit, 1000)
    assert "1.00, 3.00, 2.00, 1.00, 1.00, 1.00 s" in plain(line)


def test_numpys_twin_has_the_same_dtype_if_there_is_such_a_one() -> None:
    jit, float32 = done(JIT), done(NUMPY, 1.0)
    float64 = done(msgspec.structs.replace(NUMPY, dtype="float64"), 0.5)
    larger = done(msgspec.structs.replace(NUMPY, size=2048), 1.0)
    for others, twin in (
        ((larger, float64, float32), float32),
        ((larger, float64), float64),
        # One without figures is of no use.
        ((CaseState(NUMPY), float64), float64),
        ((larger,), None),
    ):
        assert numpy_of(jit, run_of(jit, *others)) is twin


# Notes.


COPY = Remark("memcpy")
FETCH = Remark("aliased", {"phases": ("fetch",)})
INLINE = Remark("inline")


def busy(cores: float) -> Remark:
    return Remark("contended", {"by": "processes", "used_cores": cores, "cores": 2})


def one(*notes: Remark, mode: Any = "jit", **facts: object) -> Measurement:
    return records.measurement(records.case(mode, **facts), notes=notes)


MEASURED = (
    one(busy(1.0), FETCH, COPY),
    one(INLINE, busy(0.8), FETCH, COPY, size=9),
    one(busy(0.9), mode="numpy"),
)
CASES = [replace(done(each.case), measurement=each) for each in MEASURED]
RUN = run_of(*CASES)

# Two readings of one code: neither holds for all, or both do.
THIS = Remark("waits", {"setting": "jax_debug_nans", "value": "True"})
THAT = Remark("waits", {"setting": "jax_debug_infs", "value": "True"})


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
    found = Results.of(HOST, MEASURED, ())
    assert found.notes == notes((busy(0.9), FETCH, COPY))
    assert [each.notes for each in found.measurements] == [(), (INLINE,), ()]
    assert msgspec.json.decode(encode(found), type=Results) == found
    # A document from before there were notes of runs.
    old = msgspec.to_builtins(found)
    del old["notes"]
    assert msgspec.convert(old, Results).notes == ()

    for text in (report.text(bench.report(RUN)), markdown(bench.report(RUN))):
        for note in (busy(0.9), FETCH, COPY):
            assert " ".join(text.split()).count(words.sentence(note)) == 1
    first, second, _ = as_csv(found).splitlines()[1:]
    assert ",,contended aliased memcpy,," in first
    assert ",inline,contended aliased memcpy,," in second

    about = {one.remark.code: one.about for one in bench.report(RUN).notes}
    assert about == {
        "contended": (),
        "aliased": (),
        "memcpy": (),
        "inline": ("selu 9 jit",),
    }
    assert disturbed(replace(EMPTY, jobs={"bench": RUN}))
    assert not disturbed(EMPTY)
