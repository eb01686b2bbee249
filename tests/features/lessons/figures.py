"""Figures of a step as a run would have yielded them, and what JAX yields here."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import msgspec

from jaxtui import api
from jaxtui.core.model import (
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
from jaxtui.features.bench.measure.experiment import run as run_experiment
from jaxtui.features.lessons import catalogue as lessons
from jaxtui.features.lessons.base import Setting
from jaxtui.features.lessons.figures import NOTHING, Outcome, collect
from jaxtui.features.lessons.measure import run_snippet
from jaxtui.features.lessons.play import StepRun
from jaxtui.features.lessons.trial import Lesson, Trial, setting
from jaxtui.features.timeline.measure import run_loop
from jaxtui.tasks.host import host
from tests.fake_engine import HOST, cpu_devices, tpu_devices
from tests.records import measurement, summary, told

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


def on(lesson: Lesson, size: int | None = None, machine: str = "") -> Setting:
    return setting(lesson, MACHINES[machine], HOST, size)


@cache
def real(name: str) -> Setting:
    """The first device of this machine, at the lesson's smallest size."""
    lesson = lessons.load(name)
    size = lesson.minimum if lesson.size_means else None
    return setting(lesson, api.devices(), host(), size)


@cache
def played(name: str, step: int) -> Outcome:
    """What comes of all that a step, counted from 1, runs in JAX on this machine.

    Its clocks had hardly any time: they are there, and mean nothing.
    """
    run = StepRun(lessons.load(name).steps[step - 1], real(name))
    while work := run.next_work:
        for event in _events(work):
            run = run.observe(event)
    # Every work collects before it times.
    gc.freeze()
    return run.outcome


def _events(work: Work) -> Iterable[Event]:
    match msgspec.structs.replace(work, budget_seconds=0.02):
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
    return CaseFailed(index=0, failure=Failure(case=case, remark=told(error)))


def works(lesson: Lesson, step: int, there: Setting | None = None) -> tuple[Work, ...]:
    """What a step, counted from 1, runs at once."""
    return lesson.steps[step - 1].works(there or on(lesson))


def cases(lesson: Lesson, step: int, there: Setting | None = None) -> tuple[Case, ...]:
    """The cases of a step's only experiment."""
    (experiment,) = works(lesson, step, there)
    assert isinstance(experiment, Experiment)
    return experiment.cases


class Time(float):
    """Seconds: of a clock, a case or a phase, and no number of a program."""


def sec(number: float) -> Time:
    return Time(number)


def ms(number: float) -> Time:
    return Time(number * 1e-3)


def us(number: float) -> Time:
    return Time(number * 1e-6)


def complaining(text: str) -> Value:
    """What an expression gave with a warning."""
    return Value(name="", text=text, warnings=("UserWarning: …",))


Given = Mapping[str, object]
"""Figures by name: a time of a clock or a case, numbers, a text or an error; of a loop
its stopwatch and its work.

A case has more by a dot: the clock ``JAX.dispatch``, a phase such as ``JAX.compile``,
``JAX.note`` with a code, any number of a measurement; a loop ``never.held`` and
``never.inline``. ``None`` takes a figure away.
"""


def figures(
    lesson: Lesson, step: int, there: Setting, given: Given, before: Outcome = NOTHING
) -> Outcome:
    """What is known of a step when these figures have come."""
    known = {name: value for name, value in given.items() if value is not None}
    facts: dict[str, dict[str, Any]] = {name: {} for name in known}
    for name in known:
        owner, _, fact = name.rpartition(".")
        if owner in known:
            facts[owner][fact] = known[name]
            del facts[name]
    named = trial(lesson, step).cases(there)
    loops = {
        work.style: work
        for work in works(lesson, step, there)
        if isinstance(work, Loop)
    }
    for name, more in facts.items():
        if (case := named.get(name)) is not None:
            event: Event = _case(case, known[name], more)
        elif name in loops:
            event = _loop(loops[name], known[name], more)
        else:
            event = _value(name, known[name])
        before = after(event, before=before)
    return before


def _value(name: str, given: Any) -> SnippetTimed | SnippetShown:
    if isinstance(given, Time):
        return SnippetTimed(timing=Timing(name=name, seconds=summary(given)))
    if isinstance(given, Exception):
        error = f"{type(given).__name__}: {given}"
        return SnippetShown(value=Value(name=name, text="", error=error))
    if isinstance(given, Value):
        return SnippetShown(value=msgspec.structs.replace(given, name=name))
    if isinstance(given, str):
        return SnippetShown(value=Value(name=name, text=given))
    numbers = given if isinstance(given, tuple) else (given,)
    text = " ".join(f"{number:g}" for number in numbers)
    value = Value(name=name, text=text, numbers=tuple(map(float, numbers)))
    return SnippetShown(value=value)


def _case(case: Case, ready: Any, facts: Mapping[str, Any]) -> Event:
    if isinstance(ready, Exception):
        return failed(case, str(ready))
    phases: dict[str, float] = {}
    changes: dict[str, object] = {}
    for name, value in facts.items():
        if name == "dispatch":
            changes[name] = summary(value)
        elif name == "note":
            changes["notes"] = (Remark(value),)
        elif isinstance(value, Time):
            phases[name] = value
        else:
            changes[name] = value
    return measured(case, ready, phases=Phases(**phases), **changes)


def _loop(loop: Loop, taken: Any, facts: Mapping[str, Any]) -> LoopMeasured:
    """Its calls return at once until they are held back."""
    stopwatch, true = taken if isinstance(taken, tuple) else (taken, taken)
    clock = LoopClock(repeats=7, stopwatch_seconds=stopwatch, true_seconds=true)
    each, held = true / loop.calls, facts.get("held")
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
        inline=facts.get("inline", False),
        queue_depth=32,
        flops=1e9,
        held_from=held,
    )
