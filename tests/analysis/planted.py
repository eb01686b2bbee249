"""Machines on which the seconds of a call are a function of the size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from jaxtui.analysis.crossover import Search, begin
from jaxtui.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Event,
    Experiment,
    Failure,
    Measurement,
    Mode,
    Phases,
    RunFinished,
    RunStarted,
    Sampled,
    Summary,
)

Seconds = Callable[[int], float]

START = Phases(
    transfer=1e-4, trace=1e-3, lower=2e-3, compile=0.04, first_call=1e-3, fetch=1e-5
)
"""44 ms for a start, 110 µs for the copies of a call."""


def case(mode: Mode = "jit", **changes: object) -> Case:
    host = mode == "numpy"
    facts: dict[str, object] = {
        "op": "selu",
        "size": 1,
        "dtype": "float32",
        "device": "host" if host else "cpu:0",
        "mode": mode,
        "inputs": "host" if host else "device",
    }
    return Case(**{**facts, **changes})  # type: ignore[arg-type]


NUMPY, JIT = case("numpy"), case("jit")


def summary(median: float, width: float = 0.005, rounds: int = 12) -> Summary:
    """``width`` is the half-width of the interval, relative to the median."""
    return Summary(
        n=100,
        rounds=rounds,
        median=median,
        mean=median,
        mad=0.0,
        p10=median,
        p90=median,
        p99=median,
        max=median,
        ci_low=median * (1 - width),
        ci_high=median * (1 + width),
    )


def measurement(
    of: Case,
    seconds: float,
    width: float = 0.005,
    phases: Phases | None = None,
    rounds: int = 12,
) -> Measurement:
    return Measurement(
        case=of,
        phases=phases or (Phases(first_call=seconds) if of.on_host else START),
        dispatch=None,
        ready=summary(seconds, width, rounds),
        pipelined_seconds=None,
        flops=None,
        bytes=None,
        flops_per_second=None,
        bytes_per_second=None,
        output_dtype="float32",
        error_vs_float64=None,
        stopped="target",
        stable=True,
    )


def sampled(index: int, round_: int, measured: Measurement, seconds: float) -> Sampled:
    return Sampled(
        index=index,
        round=round_,
        calls=3,
        dispatch=(),
        ready=(seconds * 0.9, seconds, seconds * 2),
        ready_median=seconds,
        measurement=measured,
    )


def events(
    experiment: Experiment,
    costs: Sequence[Seconds],
    width: float = 0.005,
    too_large: int | None = None,
    used: float = 0.8,
) -> Iterator[Event]:
    """The run of an experiment.

    Args:
        experiment: what is asked for.
        costs: seconds per call over size, for each case.
        width: of the intervals.
        too_large: the smallest size that fails.
        used: the share of the budget that it takes.
    """
    yield RunStarted(cases=experiment.cases, budget_seconds=experiment.budget)
    for index, (one, cost) in enumerate(zip(experiment.cases, costs, strict=True)):
        yield CaseStarted(index=index, case=one)
        if too_large is not None and one.size >= too_large:
            failure = Failure(case=one, error="There is no room for it.", hint="")
            yield CaseFailed(index=index, failure=failure)
        else:
            measured = measurement(one, cost(one.size), width)
            yield CaseMeasured(index=index, measurement=measured)
    elapsed = used * experiment.budget
    yield RunFinished(outcome="complete", elapsed_seconds=elapsed)


def found(
    first: Seconds,
    second: Seconds,
    sizes: Sequence[int] = tuple(16 * 4**step for step in range(9)),
    *,
    sides: tuple[Case, Case] = (NUMPY, JIT),
    budget: float = 1e6,
    width: float = 0.005,
    too_large: int | None = None,
    most: int = 200,
) -> Search:
    """A search until its end, which must come before so many sizes."""
    state, tried = begin(*sides, sizes, budget), 0
    while (experiment := state.next_work) is not None:
        tried += 1
        assert tried <= most, "it goes on for ever"
        for event in events(experiment, (first, second), width, too_large):
            state = state.observe(event)
    return state
