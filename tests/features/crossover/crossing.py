"""Crossovers on an imagined machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxtui.core.engine.protocol import Envelope
from jaxtui.core.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    CaseStarted,
    Ending,
    Event,
    Experiment,
    Failure,
    RunFinished,
    RunStarted,
)
from jaxtui.core.state import Purpose, State, begin_run, reduce
from jaxtui.features.crossover.judge import around, result
from jaxtui.features.crossover.messages import Crossover, experiment
from tests.core.figures import JIT, NUMPY, Seconds, measurement
from tests.records import told

GRID = tuple(16 * 2**step for step in range(17))
"""16 to a million."""


def events(
    experiment: Experiment,
    costs: Sequence[Seconds],
    width: float = 0.005,
    too_large: int | None = None,
    used: float = 0.8,
) -> Iterator[Event]:
    """The run of an experiment; the costs are seconds over size, of each side in turn.

    ``width`` is that of the intervals, from the size ``too_large`` on all fail, and
    ``used`` is the share of the budget that it takes.
    """
    yield RunStarted(cases=experiment.cases, budget_seconds=experiment.budget)
    for index, one in enumerate(experiment.cases):
        cost = costs[index % len(costs)]
        yield CaseStarted(index=index, case=one)
        if too_large is not None and one.size >= too_large:
            failure = Failure(case=one, remark=told("There is no room for it."))
            yield CaseFailed(index=index, failure=failure)
        else:
            measured = measurement(one, cost(one.size), width)
            yield CaseMeasured(index=index, measurement=measured)
    elapsed = used * experiment.budget
    yield RunFinished(outcome="complete", elapsed_seconds=elapsed)


def after(
    events: Sequence[Event],
    work: Experiment,
    state: State,
    purpose: Purpose = "bench",
) -> State:
    """The state after a run, or so much of it as has arrived."""
    run = 7 if purpose == "bench" else 8
    state = begin_run(state, run, purpose, work)
    for event in events:
        state = reduce(state, Envelope(generation=0, run=run, event=event))
    return state


def state_of(
    *costs: Seconds,
    sizes: Sequence[int] = GRID,
    sides: tuple[Case, Case] = (NUMPY, JIT),
    width: float = 0.005,
    too_large: int | None = None,
    refined: bool = True,
    ending: Ending = "complete",
) -> State:
    """The state after both runs, or after the grid alone."""
    grid = experiment(sides, sizes, 8.0)
    *first, _ = events(grid, costs, width, too_large)
    first.append(RunFinished(outcome=ending, elapsed_seconds=1.0))
    state = after(first, grid, State())
    more = around(result(state, complete=True)) if refined else ()
    if more:
        work = experiment(sides, more, 4.0)
        told = list(events(work, costs, width))
        state = after(told, work, state, purpose="crossover")
    return state


def found(*costs: Seconds, **more: object) -> Crossover:
    """The result of both runs."""
    return result(state_of(*costs, **more), complete=True)  # type: ignore[arg-type]
