"""Figures of a step, written as text: what a run would have yielded.

``plain call = 100us; a.dtype = 'float32'; b = !ValueError: no; old numbers = 1 2`` are
two clocks or cases, a text, an error and numbers. A case has more by a dot: the clock
``JAX.dispatch``, a phase such as ``JAX.compile``, ``JAX.note`` with a flag, and any
number of a measurement. Loops are named by their style and take ``stopwatch of work``.
``-`` takes a figure away; a value that begins with ``~`` has a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

import msgspec

from jaxtui import api, lessons
from jaxtui.lessons.base import Setting
from jaxtui.lessons.outcome import NOTHING, Outcome, collect
from jaxtui.lessons.play import StepRun
from jaxtui.lessons.trial import Lesson, Trial, setting
from jaxtui.measure.experiment import run as run_experiment
from jaxtui.measure.host import host
from jaxtui.measure.loops import run_loop
from jaxtui.measure.snippets import run_snippet
from jaxtui.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    Device,
    Event,
    Experiment,
    Failure,
    Loop,
    LoopCall,
    LoopClock,
    LoopMeasured,
    MemorySpan,
    Phases,
    Remark,
    Snippet,
    SnippetShown,
    SnippetTimed,
    Summary,
    Timing,
    Value,
    Work,
)
from tests.fake_engine import HOST, cpu_devices, tpu_devices
from tests.records import measurement, summary

OPS = api.ops()

GPU = Device(id=0, platform="gpu", device_kind="NVIDIA T4", process_index=0)
CPU, TPU = cpu_devices(), tpu_devices()
MACHINES: dict[str, tuple[Device, ...]] = {
    "": CPU,
    "tpu": TPU,
    "both": (*TPU, *CPU),
    "gpu": (GPU, *CPU),
    "eight": cpu_devices(8, simulated=True),
}
"""On all of them every lesson must know what to do; the first is a laptop."""

_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def on(lesson: Lesson, size: int | None = None, machine: str = "") -> Setting:
    return setting(lesson, MACHINES[machine], HOST, OPS, size)


@cache
def real(name: str) -> Setting:
    """The first device of this machine, at the lesson's smallest size."""
    lesson = lessons.load(name)
    size = lesson.minimum if lesson.size_means else None
    return setting(lesson, api.devices(), host(), OPS, size)


@cache
def played(name: str, step: int) -> Outcome:
    """What comes of all that a step, counted from 1, runs in JAX on this machine.

    Its clocks had hardly any time: they are there, and mean nothing.
    """
    run = StepRun(lessons.load(name).steps[step - 1], real(name))
    while work := run.next_work:
        for event in _events(work):
            run = run.observe(event)
    return run.outcome


def _events(work: Work) -> Iterable[Event]:
    match msgspec.structs.replace(work, budget_seconds=0.02):  # type: ignore[call-arg]
        case Snippet() as snippet:
            return run_snippet(snippet)
        case Loop() as loop:
            return run_loop(loop)
        case Experiment() as experiment:
            # The caches of JAX that the other tests of this process use are left alone.
            return run_experiment(experiment, own_process=False)
        case _:
            raise TypeError(work)


def trial(lesson: Lesson, step: int) -> Trial:
    """What a step, counted from 1, runs and claims."""
    return lesson.steps[step - 1].trial


def after(*events: Event, before: Outcome = NOTHING) -> Outcome:
    """What a step knows after these events."""
    for event in events:
        before = collect(before, event)
    return before


def measured(case: Case, ready: float | Summary, **facts: object) -> CaseMeasured:
    return CaseMeasured(index=0, measurement=measurement(case, ready, **facts))


def failed(case: Case, error: str) -> CaseFailed:
    return CaseFailed(index=0, failure=Failure(case=case, error=error, hint=""))


def works(lesson: Lesson, step: int, there: Setting | None = None) -> tuple[Work, ...]:
    """What a step, counted from 1, runs at once."""
    return lesson.steps[step - 1].works(there or on(lesson))


def cases(lesson: Lesson, step: int, there: Setting | None = None) -> tuple[Case, ...]:
    """The cases of a step's only experiment."""
    (experiment,) = works(lesson, step, there)
    assert isinstance(experiment, Experiment)
    return experiment.cases


def figures(
    lesson: Lesson, step: int, there: Setting, *texts: str, before: Outcome = NOTHING
) -> Outcome:
    """What is known of a step when these figures have come; later ones count."""
    found = dict(
        field.split(" = ") for text in texts for field in text.split("; ") if field
    )
    found = {name: value for name, value in found.items() if value != "-"}
    facts: dict[str, dict[str, str]] = {name: {} for name in found}
    for name in found:
        owner, _, fact = name.rpartition(".")
        if owner in found:
            facts[owner][fact] = found[name]
            del facts[name]
    named = trial(lesson, step).cases(there)
    loops = [work for work in works(lesson, step, there) if isinstance(work, Loop)]
    for name, more in facts.items():
        events: list[Event] = [
            _loop(loop, found[name], more) for loop in loops if loop.style == name
        ]
        if (case := named.get(name)) is not None:
            events = [_case(case, found[name], more)]
        before = after(*(events or [_value(name, found[name])]), before=before)
    return before


def seconds(text: str) -> float | None:
    """``100us`` as seconds; ``None`` if it is no time."""
    match = re.fullmatch(r"([\d.]+)(s|ms|us|ns)", text)
    return float(match[1]) * _UNITS[match[2]] if match else None


def _value(name: str, text: str) -> SnippetTimed | SnippetShown:
    if (took := seconds(text)) is not None:
        return SnippetTimed(timing=Timing(name=name, seconds=summary(took)))
    if text.startswith("!"):
        return SnippetShown(value=Value(name=name, text="", error=text[1:]))
    warnings = ("UserWarning: …",) if text.startswith("~") else ()
    text = text.removeprefix("~")
    numbers = () if text.startswith("'") else tuple(map(float, text.split()))
    value = Value(name=name, text=text.strip("'"), numbers=numbers, warnings=warnings)
    return SnippetShown(value=value)


def _case(case: Case, text: str, facts: dict[str, str]) -> Event:
    if text.startswith("!"):
        return failed(case, text[1:])
    phases: dict[str, float] = {}
    changes: dict[str, object] = {}
    for name, value in facts.items():
        took = seconds(value)
        if name == "dispatch" and took:
            changes[name] = summary(took)
        elif name == "note":
            flag, _, said = value.partition(": ")
            changes["notes"] = (Remark(flag, text=said),)  # type: ignore[arg-type]
        elif name == "memory":
            fresh, reused, faults = map(float, value.split())
            changes[name] = MemorySpan(fresh=fresh, reused=reused, page_faults=faults)
        elif took:
            phases[name] = took
        else:
            changes[name] = float(value)
    ready = seconds(text)
    assert ready is not None, text
    return measured(case, ready, phases=Phases(**phases), **changes)


def _loop(loop: Loop, text: str, facts: dict[str, str]) -> LoopMeasured:
    """Its calls return at once until they are held back."""
    stopwatch, _, work = text.partition(" of ")
    true = seconds(work or stopwatch) or 0.0
    clock = LoopClock(
        repeats=7, stopwatch_seconds=seconds(stopwatch) or 0.0, true_seconds=true
    )
    each = true / loop.calls
    held = int(facts["held"]) if "held" in facts else None
    calls = []
    for index in range(loop.calls):
        late = index - (loop.calls if held is None else held)
        entered = 1e-6 * index if late < 0 else each * late
        returned = entered + (1e-6 if late < 0 else each)
        ready = each * (index + 1)
        calls.append(LoopCall(entered=entered, returned=returned, ready=ready))
    return LoopMeasured(
        loop=loop,
        calls=tuple(calls),
        watched=clock,
        undisturbed=clock,
        inline="inline" in facts,
        queue_depth=32,
        flops=1e9,
        held_from=held,
    )
