"""Memory spans: real second processes, judged by page faults and never by seconds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jaxtui.machine import malloc
from jaxtui.measure import children, experiment, memory, notes
from jaxtui.measure.memory import Spans, allocates
from jaxtui.model import (
    Case,
    CaseMeasured,
    Experiment,
    Measurement,
    MemorySpan,
    Progress,
    RunFinished,
)

pytestmark = [
    pytest.mark.usefixtures("brief"),
    pytest.mark.skipif(
        not memory.is_known(), reason="malloc is unknown, or set by the environment"
    ),
]

FILE = f"""
import os, signal, time
import jax.numpy as jnp

ELSEWHERE = os.getpid() != {os.getpid()}

def raises_args(): return (jnp.ones(100_000),)
dies_args = doubled_args = hangs_args = raises_args

def raises(x):
    if ELSEWHERE:
        raise ValueError("only\\nhere")
    return x + 1

def dies(x):
    if ELSEWHERE:
        os.kill(os.getpid(), signal.SIGKILL)
    return x + 2

def hangs(x):
    if ELSEWHERE:
        time.sleep(1000)
    return x + 3

def doubled(x):
    return 2 * x
"""


def numpy(op: str, size: int) -> Case:
    return Case(
        op=op, size=size, dtype="float32", device="host", mode="numpy", inputs="host"
    )


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "functions.py"
    path.write_text(FILE)
    return str(path)


def own(file: str, name: str) -> Case:
    return Case(op=f"{file}:{name}", size=0, dtype="", device="cpu:0", mode="jit")


def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans come however near their ends are and however short the budget is."""
    monkeypatch.setattr(memory, "WORTH_SAYING", -1.0)
    monkeypatch.setattr(experiment, "SPANS_BUDGET_SECONDS", 0.0)
    monkeypatch.setattr(experiment, "SPAN_SECONDS", 0.05)
    # A busy machine must not leave any without time for its span.
    monkeypatch.setattr(experiment._Run, "remaining", property(lambda self: 1.0))


def run(*cases: Case, budget: float = 1.0) -> list[Measurement]:
    asked = Experiment(cases=cases, budget_seconds=budget, target_half_width=1e9)
    found = {
        event.index: event.measurement
        for event in experiment.run(asked)
        if isinstance(event, CaseMeasured)
    }
    return [found[index] for index in range(len(cases))]


def said(measurement: Measurement, flag: str = "no-span") -> list[str]:
    return [note.text for note in measurement.notes if note.flag == flag]


@pytest.fixture
def spans() -> Iterator[Spans]:
    made = Spans(0, lambda: False)
    yield made
    made.close()


def test_the_faults_of_both_ends(
    spans: Spans, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "WORTH_SAYING", -1.0)
    pages = 4 * 250_000 / 4096
    jit = Case(op="sigmoid", size=250_000, dtype="float32", device="cpu:0", mode="jit")
    started = set()
    # What one case has freed must not serve the next.
    for case, expected in (
        (jit, pages),
        (numpy("sigmoid", 250_000), 4 * pages),
        (own(file, "doubled"), 0.4 * pages),
        (numpy("sigmoid", 250_000), 4 * pages),
    ):
        span = spans.span(case, 0.2)
        assert isinstance(span, MemorySpan)
        assert span.page_faults == pytest.approx(expected, rel=0.1)
        assert min(span.fresh, span.reused) > 0
        started.add(spans._child)
    (child,) = started
    assert child is not None
    monkeypatch.setattr(memory, "WORTH_SAYING", 1e9)
    assert spans.span(numpy("sigmoid", 250_000), 0.1) is None
    spans.close()
    assert child.process.returncode is not None


def test_what_goes_wrong_in_the_second_process_is_said_once_and_costs_nothing(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    always(monkeypatch)
    names = ("raises", "dies", "doubled")
    raises, dies, doubled = run(*(own(file, name) for name in names))
    for one in (raises, dies, doubled):
        assert one.ready is not None
        assert one.memory is None
    assert said(raises) == [
        "The memory span of this case could not be measured: ValueError: only here"
    ]
    assert said(dies) == [
        "The process that measures memory spans was lost (it ended by SIGKILL): this"
        " run has no more of them."
    ]
    assert said(doubled) == []


def test_one_that_does_not_answer_is_given_up(
    spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "START_SECONDS", 0.0)
    found = spans.span(numpy("sigmoid", 250_000), 0.0)
    assert isinstance(found, str)
    assert "did not answer" in found
    assert spans._child is None
    assert spans.span(numpy("sigmoid", 250_000), 0.0) is None
    assert spans._child is None


def test_a_stop_ends_the_span_and_keeps_the_headline(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    always(monkeypatch)
    begun = 0

    def stop() -> bool:
        # The first question is whether to begin; a second process is there after it.
        nonlocal begun
        begun += spanning
        return begun > 2

    spanning, found = False, []
    asked = Experiment(cases=(own(file, "hangs"),), budget_seconds=1.0)
    for event in experiment.run(asked, stop=stop):
        found.append(event)
        spanning |= isinstance(event, Progress) and "memory span" in event.doing
    assert spanning
    *_, measured, finished = found
    assert isinstance(measured, CaseMeasured)
    assert measured.measurement.ready is not None
    assert measured.measurement.memory is None
    assert said(measured.measurement) == []
    assert isinstance(finished, RunFinished)
    assert finished.outcome == "cancelled"


def test_no_process_is_started_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> None:
        raise AssertionError("A second process was started.")

    monkeypatch.setattr(memory, "Child", start)
    small, large = numpy("sigmoid", 1000), numpy("sigmoid", 250_000)
    always(monkeypatch)
    assert run(small, budget=0.3)[0].memory is None
    with monkeypatch.context() as context:
        context.setattr(malloc, "why_unknown", lambda: "It is another one.")
        assert run(large, budget=0.3)[0].memory is None
    with monkeypatch.context() as context:
        context.setenv("MALLOC_ARENA_MAX", "2")
        assert run(large, budget=0.3)[0].memory is None
    with monkeypatch.context() as context:
        context.setattr(memory, "CALLS_AT_LEAST", 1e9)
        found = run(large, large, budget=0.5)
        assert [said(one) for one in found] == [[experiment.NO_TIME], []]
    monkeypatch.setattr(experiment, "SPANS_BUDGET_SECONDS", 1.5)
    assert run(large, budget=0.3)[0].memory is None


def test_which_cases_allocate() -> None:
    enough, on_cpu = malloc.ALLOCATES_BYTES, {"on_cpu": True}
    case = numpy("sigmoid", 250_000)
    jit = Case(op="sigmoid", size=250_000, dtype="float32", device="cpu:0", mode="jit")
    assert allocates(case, enough, on_cpu=False)
    assert not allocates(case, enough - 1, on_cpu=False)
    assert allocates(jit, enough, **on_cpu)
    assert not allocates(jit, enough, on_cpu=False)


SPAN = MemorySpan(fresh=1.7e-3, reused=0.42e-3, page_faults=980.2)


@pytest.mark.parametrize(
    ("faults", "span", "chosen", "flags", "words"),
    [
        (0, None, None, [], ""),
        (980, None, None, ["page-faults"], "About 980 page faults"),
        (980, SPAN, None, ["memory"], "1.20 ms; 420 µs with reused memory, 1.70 ms"),
        (0, None, "reused", ["memory"], "reused on purpose"),
        (980, None, "fresh", ["memory"], "about 980 page faults a call"),
        (980, "It was lost.", None, ["no-span", "page-faults"], "It was lost."),
    ],
)
def test_memory_is_said_once(
    faults: float,
    span: Any,
    chosen: Any,
    flags: list[str],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(malloc, "chosen_end", lambda: chosen)
    turns: Any = SimpleNamespace(page_faults=[float(faults)])
    found = [*notes.of_memory(turns, 1.2e-3, span)]
    assert [note.flag for note in found] == flags
    assert words in " ".join(note.text for note in found)


def test_a_child_that_closes_its_pipe_and_lives_on_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(children, "ENDING_SECONDS", 0.05)
    deaf = ["sh", "-c", "exec >&- 2>&-; exec sleep 1000"]
    monkeypatch.setattr(children.child, "command", lambda module: deaf)
    started = children.Child("", {})
    assert next(started.answers(lambda: False), None) is None
    assert started.ending() == "by SIGKILL"
    started.close()
