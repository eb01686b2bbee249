"""A bench run in words: table, notes, and how much faster than NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from jaxtui.document import Results, encode
from jaxtui.engine.protocol import Envelope
from jaxtui.export import as_csv, as_markdown
from jaxtui.model import (
    Case,
    CaseFailed,
    CaseStarted,
    Failure,
    Measurement,
    Mode,
    Note,
    PhaseStarted,
    RunFinished,
    RunStarted,
    differing,
    run_notes,
)
from jaxtui.state import CaseState, Job, reduce
from jaxtui.tui import status
from jaxtui.tui.state import EMPTY
from jaxtui.view import bench
from jaxtui.view.bench import against_numpy, times_numpy
from tests.history.making import HOST
from tests.history.making import measurement as kept
from tests.tui.fake_engine import measurement, summary
from tests.view.making import JIT, NUMPY, done, run_of


def test_rows_have_every_column() -> None:
    state = run_of(done(JIT), done(NUMPY), CaseState(JIT))
    for one in state.cases:
        assert set(bench.row(one, state)) == set(bench.WIDE)
    assert bench.row(state.cases[2], state)["ready"] == "waiting"


def test_a_case_that_was_never_tried_is_not_run_and_not_failed() -> None:
    second = msgspec.structs.replace(JIT, mode="eager")
    third = msgspec.structs.replace(JIT, mode="pallas")
    known = EMPTY
    for event in (
        RunStarted(cases=(JIT, second, third), budget_seconds=1.0),
        CaseStarted(index=0, case=JIT),
        PhaseStarted(index=0, phase="compile"),
        CaseFailed(index=0, failure=Failure(case=JIT, error="It broke.", hint="")),
        CaseStarted(index=1, case=second),
        CaseFailed(index=1, failure=Failure(case=second, error="Stopped.", hint="")),
        RunFinished(outcome="cancelled", elapsed_seconds=1.0),
    ):
        known = reduce(known, Envelope(generation=1, run=1, event=event))
    state = known.run
    assert state is not None
    words = ["failed", "not run", "waiting"]
    assert [bench.row(one, state)["ready"] for one in state.cases] == words
    assert bench.remarks(state) == [
        f"failed: {JIT.label}\n  It broke.",
        f"not run: {second.label}\n  Stopped.",
    ]
    assert [bench.sentences(one, state)[0].flag for one in state.cases[:2]] == words[:2]
    results = bench.collect(None, (), state)
    assert [one.error for one in results.failures] == [
        "It broke.",
        "Stopped.",
        "The run was cancelled before its turn came.",
    ]
    assert bench.failure_text(results.failures[2], state).startswith("not run: ")
    done = status.message(
        replace(EMPTY, jobs={"bench": replace(state, outcome="complete")})
    )
    assert "1 failed, 1 not run." in done


# Against NumPy.


def test_times_numpy_prefers_the_twin_of_the_same_dtype() -> None:
    jit = done(msgspec.structs.replace(JIT, dtype="float32"))
    other = msgspec.structs.replace(NUMPY, dtype="float64")
    state = run_of(
        jit, done(other, ready=summary(9.0)), done(NUMPY, ready=summary(1.0))
    )
    assert jit.measurement is not None
    assert jit.measurement.ready is not None
    expected = 1.0 / jit.measurement.ready.median
    assert times_numpy(jit, state) == pytest.approx(expected)
    assert times_numpy(state.cases[1], state) is None


def timed(mode: Mode, rounds: tuple[float, ...]) -> CaseState:
    """A case whose figures, apart from its rounds, are the fake engine's."""
    host = mode == "numpy"
    case = Case(
        op="selu",
        size=1000,
        dtype="float32",
        device="host" if host else "cpu:0",
        mode=mode,
        inputs="host" if host else "device",
    )
    return CaseState(case, status="done", measurement=measurement(case), rounds=rounds)


def test_a_load_that_comes_half_way_does_not_move_the_ratio() -> None:
    # Each is twice as slow in the second half; NumPy always takes three times as long.
    jit = timed("jit", (1.0,) * 5 + (2.0,) * 6)
    numpy = timed("numpy", (3.0,) * 5 + (6.0,) * 6)
    found = against_numpy(jit, run_of(numpy, jit))
    assert found is not None
    assert (found.low, found.median, found.high) == (3.0, 3.0, 3.0)


def test_one_that_ended_earlier_is_compared_over_the_rounds_of_both() -> None:
    jit = timed("jit", (1.0,) * 6)
    numpy = timed("numpy", (4.0,) * 6 + (100.0,) * 50)
    found = against_numpy(jit, run_of(numpy, jit))
    assert found is not None
    assert found.median == 4.0


def test_of_few_rounds_it_is_the_ratio_of_the_figures() -> None:
    jit, numpy = timed("jit", (1.0,) * 5), timed("numpy", (9.0,) * 5)
    found = against_numpy(jit, run_of(numpy, jit))
    assert found is not None
    assert jit.measurement is not None
    assert numpy.measurement is not None
    assert jit.measurement.ready is not None
    assert numpy.measurement.ready is not None
    figures = numpy.measurement.ready.median / jit.measurement.ready.median
    assert found.median == pytest.approx(figures)
    assert found.low < figures < found.high


def test_numpy_has_no_ratio_with_itself_and_jax_none_alone() -> None:
    jit, numpy = timed("jit", (1.0,) * 6), timed("numpy", (2.0,) * 6)
    assert against_numpy(numpy, run_of(numpy, jit)) is None
    assert against_numpy(jit, run_of(jit)) is None
    assert against_numpy(replace(jit, measurement=None), run_of(numpy, jit)) is None


# Notes.


COPY = Note(flag="memcpy", text="On CPU a transfer is a copy.")
FETCH = Note(flag="aliased", text="Zero-copy fetch.")
INLINE = Note(flag="inline", text="It runs inline.")


def busy(cores: float) -> Note:
    return Note(flag="contended", text=f"Others used {cores} cores.", amount=cores)


def one(*notes: Note, **facts: Any) -> Measurement:
    return msgspec.structs.replace(kept(**facts), notes=notes)


def on_host(*notes: Note) -> Measurement:
    return one(*notes, mode="numpy", device="host")


MEASURED = (
    one(busy(1.0), FETCH, COPY),
    one(INLINE, busy(0.8), FETCH, COPY, size=9),
    on_host(busy(0.9)),
)
RUN = Job(
    number=1,
    cases=tuple(CaseState(one.case, "done", measurement=one) for one in MEASURED),
)


def test_a_note_is_the_runs_if_it_stands_on_all_of_a_platform() -> None:
    assert run_notes([]) == ()
    assert run_notes([one(FETCH, INLINE), on_host()]) == (FETCH,)
    assert run_notes([one(FETCH), one(COPY), on_host()]) == ()
    both = [one(FETCH, device="cpu:1"), one(FETCH), one(device="tpu:0")]
    assert run_notes(both) == (FETCH,)
    # Two readings of one flag: neither holds for all, or both do.
    other = Note(flag="waits", text="Because of that.")
    this = Note(flag="waits", text="Because of this.")
    assert run_notes([one(this), one(other)]) == ()
    assert run_notes([one(this, other), one(this, other)]) == (this, other)


def test_where_the_figure_varies_the_middle_is_told_and_what_is_far_off_stays() -> None:
    measured = [one(busy(cores)) for cores in (0.8, 1.9, 0.9, 0.2)]
    (told,) = run_notes([*measured, one()])
    assert told == busy(0.9)
    assert [differing(each.notes, [told]) for each in measured] == [
        (),
        (busy(1.9),),
        (),
        (),
    ]
    few = [one(busy(1.0)), one(), one()]
    assert run_notes(few) == ()
    assert differing(few[0].notes, ()) == (busy(1.0),)


def test_every_face_tells_it_once() -> None:
    found = Results.of(HOST, MEASURED, ())
    assert found.notes == (busy(0.9), FETCH, COPY)
    assert [each.notes for each in found.measurements] == [(), (INLINE,), ()]
    assert msgspec.json.decode(encode(found), type=Results) == found

    copied = bench.results_text(RUN)
    for text in (bench.report(RUN), copied, as_markdown(found)):
        for said in found.notes:
            assert text.count(said.text) == 1
    first, second, _ = as_csv(found).splitlines()[1:]
    assert ",,contended aliased memcpy,," in first
    assert ",inline,contended aliased memcpy,," in second

    cells = [bench.row(case, RUN)["notes"] for case in RUN.cases]
    assert cells == ["", "inline", ""]
    assert status.busy(replace(EMPTY, jobs={"bench": RUN}))
    assert not status.busy(EMPTY)


def test_a_document_from_before_there_were_notes_of_runs_is_read() -> None:
    old = msgspec.to_builtins(Results.of(HOST, MEASURED, ()))
    del old["notes"]
    assert msgspec.convert(old, Results).notes == ()
