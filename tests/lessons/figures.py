"""Figures for conclusions, as a run would have brought them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxtui.lessons.base import Conclusion, Lesson, Setting, setting
from jaxtui.lessons.outcome import NOTHING, Outcome, collect
from jaxtui.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    Event,
    Failure,
    Loop,
    LoopCall,
    LoopClock,
    LoopMeasured,
    Measurement,
    Phases,
    SnippetShown,
    SnippetTimed,
    Summary,
    Timing,
    Value,
    Work,
)
from tests.tui.fake_engine import HOST, OPS, cpu_devices, tpu_devices

CPU = cpu_devices()
TPU = tpu_devices()
BOTH = (*TPU, *CPU)


def here(lesson: Lesson, size: int | None = None, devices: Sequence = CPU) -> Setting:
    """A machine with these devices; a laptop unless said otherwise."""
    return setting(lesson, devices, HOST, OPS, size)


def summary(seconds: float, n: int = 100) -> Summary:
    """A clock that always read the same."""
    return Summary(
        n=n,
        rounds=8,
        median=seconds,
        mean=seconds,
        mad=0.0,
        p10=seconds,
        p90=seconds,
        p99=seconds,
        max=seconds,
        ci_low=seconds,
        ci_high=seconds,
    )


def timed(seconds: Mapping[str, float]) -> Outcome:
    """A snippet that took these times, by name."""
    return after(
        *(
            SnippetTimed(timing=Timing(name=name, seconds=summary(each)))
            for name, each in seconds.items()
        )
    )


def shown(
    outcome: Outcome, name: str, text: str, numbers: tuple[float, ...] = ()
) -> Outcome:
    """The outcome with one more value."""
    value = Value(name=name, text=text, numbers=numbers)
    return collect(outcome, SnippetShown(value=value))


def measured(
    case: Case,
    ready: float,
    *,
    dispatch: float | None = None,
    phases: Phases | None = None,
    stopped: str | None = "target",
    n: int = 100,
) -> CaseMeasured:
    """A case whose calls all took ``ready`` seconds."""
    return CaseMeasured(
        index=0,
        measurement=Measurement(
            case=case,
            phases=phases or Phases(),
            dispatch=None if dispatch is None else summary(dispatch, n),
            ready=summary(ready, n),
            pipelined_seconds=None,
            flops=None,
            bytes=None,
            flops_per_second=None,
            bytes_per_second=None,
            output_dtype="float32",
            error_vs_float64=0.0,
            stopped=stopped,  # type: ignore[arg-type]
            stable=True,
        ),
    )


def failed(case: Case, error: str = "It would take too long.") -> CaseFailed:
    """A case without a figure."""
    return CaseFailed(index=0, failure=Failure(case=case, error=error, hint=""))


def looped(
    loop: Loop,
    stopwatch: float,
    true: float,
    *,
    held_from: int | None = None,
    inline: bool = False,
) -> LoopMeasured:
    """A loop that took so long; calls return at once until they are held back."""
    each = true / loop.calls
    held = loop.calls if held_from is None else held_from
    calls = []
    for index in range(loop.calls):
        entered = 1e-6 * index if index < held else each * (index - held)
        returned = entered + (1e-6 if index < held else each)
        calls.append(
            LoopCall(entered=entered, returned=returned, ready=each * (index + 1))
        )
    clock = LoopClock(repeats=7, stopwatch_seconds=stopwatch, true_seconds=true)
    return LoopMeasured(
        loop=loop,
        calls=tuple(calls),
        watched=clock,
        undisturbed=clock,
        inline=inline,
        queue_depth=32,
        flops=1e9,
        held_from=held_from,
    )


def after(*events: Event) -> Outcome:
    """What a step knows after these events."""
    outcome = NOTHING
    for event in events:
        outcome = collect(outcome, event)
    return outcome


def conclude(
    lesson: Lesson, step: int, outcome: Outcome, setting: Setting | None = None
) -> Conclusion:
    """What the step makes of it, steps counted from 0."""
    return lesson.steps[step].conclude(setting or here(lesson), outcome)


def works(
    lesson: Lesson, step: int, setting: Setting | None = None
) -> tuple[Work, ...]:
    """What the step runs at once."""
    return lesson.steps[step].works(setting or here(lesson))


def asked(
    lesson: Lesson, step: int, setting: Setting | None = None
) -> tuple[Case, ...]:
    """The cases of a step's only experiment."""
    (experiment,) = works(lesson, step, setting)
    return experiment.cases  # type: ignore[union-attr]


def yours(conclusion: Conclusion) -> dict[str, str]:
    """The learner's column of the table."""
    return {row.what: row.yours for row in conclusion.rows}
