from __future__ import annotations

import msgspec
import pytest

from jaxtui.lessons.memory import LESSON
from jaxtui.lessons.outcome import Outcome
from jaxtui.measure.snippets import run_snippet
from jaxtui.model import (
    CaseMeasured,
    Experiment,
    MemorySpan,
    Note,
    Snippet,
    SnippetShown,
)
from tests.lessons.figures import (
    after,
    asked,
    conclude,
    failed,
    here,
    measured,
    shown,
    timed,
    works,
    yours,
)


def spanned(ready: float, span: MemorySpan | None, *notes: Note) -> Outcome:
    (case,) = asked(LESSON, 0)
    found = measured(case, ready).measurement
    with_span = msgspec.structs.replace(found, memory=span, notes=notes)
    return after(CaseMeasured(index=0, measurement=with_span))


def test_the_case_is_the_line_and_has_time_for_both_ends() -> None:
    (experiment,) = works(LESSON, 0)
    assert isinstance(experiment, Experiment)
    (case,) = experiment.cases
    assert (case.op, case.size, case.mode) == ("sigmoid", 250_000, "numpy")
    assert experiment.budget >= 5


def test_both_ends_confirm_it() -> None:
    span = MemorySpan(fresh=2.0e-3, reused=0.4e-3, page_faults=980.2)
    found = conclude(LESSON, 0, spanned(1.2e-3, span))
    assert found.holds is True
    assert found.answer == 2
    assert yours(found)["with reused memory"] == "400 µs"
    assert yours(found)["page faults of a call, fresh"] == "980"
    assert "5.0 times as long" in found.takeaway
    assert "each cost 1.63 µs" in found.takeaway
    assert "got 1.20 ms, nearer to fresh memory" in found.takeaway
    assert "MALLOC_TOP_PAD_=" in found.takeaway


@pytest.mark.parametrize(
    ("fresh", "holds", "answer"), [(0.5e-3, False, 0), (1e-3, True, 1)]
)
def test_a_small_difference_refutes_it(fresh: float, holds: bool, answer: int) -> None:
    span = MemorySpan(fresh=fresh, reused=0.4e-3, page_faults=980)
    found = conclude(LESSON, 0, spanned(0.4e-3, span))
    assert (found.holds, found.answer) == (holds, answer)
    assert "nearer to reused" in found.takeaway


def test_without_a_span_it_says_why() -> None:
    found = conclude(LESSON, 0, spanned(1.2e-3, None))
    assert (found.holds, found.answer) == (None, None)
    assert "glibc" in found.takeaway
    assert yours(found)["as it came in this process"] == "1.20 ms"
    lost = Note(flag="no-span", text="The other process was lost.")
    assert lost.text in conclude(LESSON, 0, spanned(1.2e-3, None, lost)).takeaway
    (case,) = asked(LESSON, 0)
    found = conclude(LESSON, 0, after(failed(case)))
    assert found.holds is None
    assert "too long" in found.takeaway


def two_ways(new: float, kept: float) -> Outcome:
    outcome = timed({"new results": 1.2e-3, "results written into one array": 0.3e-3})
    outcome = shown(outcome, "page faults, new", str(new), (new,))
    return shown(outcome, "page faults, into one array", str(kept), (kept,))


@pytest.mark.parametrize(
    ("new", "kept", "holds", "said"),
    [
        (980, 0.2, True, "it costs 0.25 times what new ones cost"),
        (1, 0, True, "malloc reused their memory"),
        (980, 400, False, "Something else"),
    ],
)
def test_one_array_has_no_page_faults(
    new: float, kept: float, holds: bool, said: str
) -> None:
    found = conclude(LESSON, 1, two_ways(new, kept))
    assert found.holds is holds
    assert said in found.takeaway


def test_what_runs_here_counts_them() -> None:
    (snippet,) = works(LESSON, 1, here(LESSON, 100_000))
    assert isinstance(snippet, Snippet)
    counted = msgspec.structs.replace(snippet, parts=snippet.parts[:2])
    values = {
        event.value.name: event.value.numbers
        for event in run_snippet(counted)
        if isinstance(event, SnippetShown)
    }
    (kept,) = values["page faults, into one array"]
    assert kept < 10
    assert len(values["page faults, new"]) == 1
