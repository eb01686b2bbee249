"""What is true of a whole run is told once, and a row tells what is different."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from jaxtui.document import Results, encode
from jaxtui.exports import as_csv, as_markdown
from jaxtui.model import Measurement, Note, differing, run_notes
from jaxtui.tui import copying, results, status
from jaxtui.tui.report import report
from jaxtui.tui.run_state import CaseState, RunState
from jaxtui.tui.state import EMPTY
from tests.history.making import HOST, measurement

COPY = Note(flag="memcpy", text="On CPU a transfer is a copy.")
FETCH = Note(flag="aliased", text="Zero-copy fetch.")
INLINE = Note(flag="inline", text="It runs inline.")


def busy(cores: float) -> Note:
    return Note(flag="contended", text=f"Others used {cores} cores.", amount=cores)


def one(*notes: Note, **facts: Any) -> Measurement:
    return msgspec.structs.replace(measurement(**facts), notes=notes)


def on_host(*notes: Note) -> Measurement:
    return one(*notes, mode="numpy", device="host")


MEASURED = (
    one(busy(1.0), FETCH, COPY),
    one(INLINE, busy(0.8), FETCH, COPY, size=9),
    on_host(busy(0.9)),
)
RUN = RunState(
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

    copied = copying.results_text(RUN)
    for text in (report(RUN), copied, as_markdown(found)):
        for said in found.notes:
            assert text.count(said.text) == 1
    first, second, _ = as_csv(found).splitlines()[1:]
    assert ",,contended aliased memcpy,," in first
    assert ",inline,contended aliased memcpy,," in second

    cells = [results.row(case, RUN)["notes"] for case in RUN.cases]
    assert cells == ["", "inline", ""]
    assert status.busy(replace(EMPTY, run=RUN))
    assert not status.busy(EMPTY)


def test_a_document_from_before_there_were_notes_of_runs_is_read() -> None:
    old = msgspec.to_builtins(Results.of(HOST, MEASURED, ()))
    del old["notes"]
    assert msgspec.convert(old, Results).notes == ()
