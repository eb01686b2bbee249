"""Memory spans: real second processes, judged by page faults and never by seconds."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from jaxtui.machine import malloc
from jaxtui.measure import children, experiment, memory, notes
from jaxtui.measure.memory import Spans, allocates
from jaxtui.model import (
    Case,
    CaseMeasured,
    Experiment,
    MemorySpan,
    Progress,
    Remark,
    RunFinished,
)
from tests.measure.running import case, facts, measured, own

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


def numpy(size: int) -> Case:
    return case("sigmoid", size, "numpy")


JIT = case("sigmoid", 250_000)


@pytest.fixture
def of_file(write: Callable[..., str]) -> Callable[[str], Case]:
    path = write(FILE)
    return lambda name: own(name, file=path)


def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans come however near their ends are and however short the budget is."""
    monkeypatch.setattr(memory, "WORTH_SAYING", -1.0)
    monkeypatch.setattr(experiment, "SPANS_BUDGET_SECONDS", 0.0)
    monkeypatch.setattr(memory, "SPAN_SECONDS", 0.05)
    # A busy machine must not leave any without time for its span.
    monkeypatch.setattr(experiment._Run, "remaining", property(lambda self: 1.0))


@pytest.fixture
def spans() -> Iterator[Spans]:
    made = Spans(0, lambda: False)
    yield made
    made.close()


def test_the_faults_of_both_ends(
    spans: Spans, of_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "WORTH_SAYING", -1.0)
    pages = 4 * 250_000 / 4096
    started = set()
    # What one case has freed must not serve the next.
    for one, expected in (
        (JIT, pages),
        (numpy(250_000), 4 * pages),
        (of_file("doubled"), 0.4 * pages),
        (numpy(250_000), 4 * pages),
    ):
        # Rounds enough that one which another process disturbed is not the median.
        span = spans.span(one, 1.0)
        assert isinstance(span, MemorySpan)
        assert span.page_faults == pytest.approx(expected, rel=0.1)
        assert min(span.fresh, span.reused) > 0
        started.add(spans._child)
    (child,) = started
    assert child is not None
    monkeypatch.setattr(memory, "WORTH_SAYING", 1e9)
    assert spans.span(numpy(250_000), 0.1) is None
    spans.close()
    assert child.process.returncode is not None


def test_what_goes_wrong_in_the_second_process_is_said_once_and_costs_nothing(
    of_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    always(monkeypatch)
    names = ("raises", "dies", "doubled")
    raises, dies, doubled = measured(*map(of_file, names), budget=1.0)
    for one in (raises, dies, doubled):
        assert one.ready is not None
        assert one.memory is None
    raised, lost = (facts(one.notes)["no-span"] for one in (raises, dies))
    assert raised == {"because": "raised", "error": "ValueError"}
    assert lost == {"because": "lost"}
    assert not doubled.has("no-span")


def test_one_that_does_not_answer_is_given_up(
    spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "START_SECONDS", 0.0)
    found = spans.span(numpy(250_000), 0.0)
    assert found == Remark("no-span", {"because": "lost"})
    assert spans._child is None
    assert spans.span(numpy(250_000), 0.0) is None
    assert spans._child is None


def test_a_stop_ends_the_span_and_keeps_the_headline(
    of_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    always(monkeypatch)
    begun = 0

    def stop() -> bool:
        # The first question is whether to begin; a second process is there after it.
        nonlocal begun
        begun += spanning
        return begun > 2

    spanning, found = False, []
    asked = Experiment(cases=(of_file("hangs"),), budget_seconds=1.0)
    for event in experiment.run(asked, stop=stop):
        found.append(event)
        spanning |= isinstance(event, Progress) and event.doing == "memory-span"
    assert spanning
    *_, last, finished = found
    assert isinstance(last, CaseMeasured)
    assert last.measurement.ready is not None
    assert last.measurement.memory is None
    assert not last.measurement.has("no-span")
    assert isinstance(finished, RunFinished)
    assert finished.outcome == "cancelled"


def test_no_process_is_started_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> None:
        raise AssertionError("A second process was started.")

    monkeypatch.setattr(memory, "Child", start)
    small, large = numpy(1000), numpy(250_000)
    always(monkeypatch)
    assert measured(small, budget=0.3)[0].memory is None
    with monkeypatch.context() as context:
        context.setattr(malloc, "why_unknown", lambda: "It is another one.")
        assert measured(large, budget=0.3)[0].memory is None
    with monkeypatch.context() as context:
        context.setenv("MALLOC_ARENA_MAX", "2")
        assert measured(large, budget=0.3)[0].memory is None
    with monkeypatch.context() as context:
        context.setattr(memory, "CALLS_AT_LEAST", 1e9)
        first, second = measured(large, large, budget=0.5)
        for each in (first, second):
            assert facts(each.notes)["no-span"] == {"because": "budget"}
    monkeypatch.setattr(experiment, "SPANS_BUDGET_SECONDS", 1.5)
    first, second = measured(large, large, budget=0.3)
    for each in (first, second):
        assert each.memory is None
        assert each.has("no-span")


def test_which_cases_allocate() -> None:
    enough, host = malloc.ALLOCATES_BYTES, numpy(250_000)
    assert allocates(host, enough)
    assert not allocates(host, enough - 1)
    assert allocates(JIT, enough)
    for other in ({"device": "gpu:0"}, {"mode": "pallas"}):
        assert not allocates(msgspec.structs.replace(JIT, **other), enough)


SPAN = MemorySpan(fresh=1.7e-3, reused=0.42e-3, page_faults=980.2)


@pytest.mark.parametrize(
    ("faults", "span", "chosen", "expected"),
    [
        (0, None, None, {}),
        (980, None, None, {"page-faults": {"page_faults": 980.0}}),
        (
            980,
            SPAN,
            None,
            {
                "memory": {
                    "ready": 1.2e-3,
                    "reused": 0.42e-3,
                    "fresh": 1.7e-3,
                    "page_faults": 980.2,
                    "setting": malloc.setting("reused"),
                }
            },
        ),
        *(
            (
                980,
                None,
                end,
                {
                    "memory": {
                        "end": end,
                        "page_faults": 980.0,
                        "setting": malloc.setting(end),
                    }
                },
            )
            for end in malloc.ENDS
        ),
        (
            980,
            Remark("no-span", {"because": "lost"}),
            None,
            {"no-span": {"because": "lost"}, "page-faults": {"page_faults": 980.0}},
        ),
    ],
)
def test_memory_is_remarked_once(
    faults: float,
    span: Any,
    chosen: Any,
    expected: dict[str, dict[str, object]],
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr(malloc, "chosen_end", lambda: chosen)
    turns: Any = SimpleNamespace(page_faults=[float(faults)])
    assert facts(notes.of_memory(turns, 1.2e-3, span)) == expected


@pytest.mark.parametrize(
    ("ready", "outside"), [(1.2e-3, False), (3.5e-3, True), (0.2e-3, True)]
)
def test_a_median_far_outside_its_span_is_not_to_be_believed(
    ready: float, outside: bool
) -> None:
    turns: Any = SimpleNamespace(page_faults=[980.0])
    flags = {note.code for note in notes.of_memory(turns, ready, SPAN)}
    assert ("outside-span" in flags) == outside
    assert bool(flags & notes.UNSTABLE) == outside


def test_a_child_that_closes_its_pipe_and_lives_on_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(children, "ENDING_SECONDS", 0.05)
    deaf = ["sh", "-c", "exec >&- 2>&-; exec sleep 1000"]
    monkeypatch.setattr(children.child, "command", lambda module: deaf)
    started = children.Child("", {})
    assert next(started.answers(lambda: False), None) is None
    assert started.ending() == -signal.SIGKILL
    started.close()
