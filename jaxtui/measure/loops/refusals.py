"""What is refused before anything is allocated, and what takes too long."""

from __future__ import annotations

import jax

from jaxtui import format as text
from jaxtui.measure import estimate, ops, own, planning
from jaxtui.measure.host import available_host_bytes
from jaxtui.measure.ops.arguments import Argument
from jaxtui.measure.ops.base import Op
from jaxtui.model import (
    HOST_MODES,
    LOOP_STYLES,
    MAXIMUM_LOOP_CALLS,
    Failure,
    Loop,
    PlannedCase,
    WorkFailed,
)
from jaxtui.model.own import short_name

BUDGETS_AT_MOST = 10.0
"""A single repeat that takes more than so many budgets is refused."""


class RefusedError(Exception):
    """The loop is not run; carries the event that says why."""

    def __init__(self, error: str, hint: str, detail: str = "") -> None:
        """Keep the event."""
        super().__init__(error)
        self.failed = WorkFailed(error=error, hint=hint, detail=detail)

    @classmethod
    def of(cls, failure: Failure) -> RefusedError:
        """From what is wrong with the case."""
        return cls(failure.error, failure.hint, failure.detail)


def plan(loop: Loop) -> PlannedCase:
    """The plan of the loop's case.

    Raises:
        RefusedError: The case or the loop cannot be.
    """
    case = loop.case
    if case.mode in HOST_MODES:
        raise RefusedError(
            f"Mode {case.mode} computes in the calling thread, so a loop of it has "
            "nothing asynchronous to show.",
            "Choose mode jit or eager.",
        )
    if not 1 <= loop.calls <= MAXIMUM_LOOP_CALLS:
        raise RefusedError(
            f"A loop cannot have {text.count(loop.calls)} calls.",
            f"It has from 1 to {MAXIMUM_LOOP_CALLS}.",
        )
    if loop.style not in LOOP_STYLES:
        raise RefusedError(
            f"There is no loop style {loop.style!r}.",
            f"It is one of {', '.join(LOOP_STYLES)}.",
        )
    planned = planning.plan_case(case, _supply())
    if planned.problem is not None:
        raise RefusedError.of(planned.problem)
    if loop.chained and own.source(case.op) is None:
        _check_chain(loop, ops.get(case.op))
    return planned


def check_memory(loop: Loop, planned: PlannedCase, depth: int) -> None:
    """Count the results that are alive at once.

    A computation in flight has its result allocated, whether or not the program still
    has a name for it.

    Args:
        loop: Its style says how many that are.
        planned: The plan of its case, which counts two results.
        depth: Computations that may be in flight.

    Raises:
        RefusedError: There is less memory than that, with both figures.
    """
    case = loop.case
    op, supply = ops.get(case.op), _supply()
    device = supply.device(case.device)
    assert not isinstance(device, str)
    alive = results_alive(loop, depth)
    more = max(0, alive - 2) * op.result_bytes(case.size, case.dtype)
    needed, free = planned.memory_bytes + more, supply.free_bytes(device)
    if device.platform == "cpu":
        needed += planned.host_memory_bytes
    if free is not None and needed > free:
        raise _too_much(
            f"{case.op} {case.size} {case.dtype}", loop, alive, needed, free
        )


def check_results(loop: Loop, size: int, depth: int) -> None:
    """The same for a function of the user's own, whose arguments are there already.

    Args:
        loop: As for ``check_memory``.
        size: Bytes of one result.
        depth: As for ``check_memory``.

    Raises:
        RefusedError: As for ``check_memory``.
    """
    supply = _supply()
    device = supply.device(loop.case.device)
    assert not isinstance(device, str)
    alive, free = results_alive(loop, depth), supply.free_bytes(device)
    if free is not None and alive * size > free:
        raise _too_much(short_name(loop.case.op), loop, alive, alive * size, free)


def _too_much(
    what: str, loop: Loop, alive: int, needed: int, free: int
) -> RefusedError:
    return RefusedError(
        f"{what} needs {text.bytes_text(needed)} on {loop.case.device}, because up to "
        f"{alive} results of this loop are in memory at once; {text.bytes_text(free)} "
        "are free.",
        "Take fewer calls, a smaller size or a loop that waits in every call.",
    )


def results_alive(loop: Loop, depth: int) -> int:
    """How many results of a loop are in memory at once, at most."""
    if loop.style in ("never", "end"):
        # Every step of an op by op call leaves a result of its own.
        steps = 1 if loop.case.mode != "eager" else 4
        return min(steps * loop.calls, depth + 2)
    # The new one, the last one, and what printing makes of it.
    return 4 if loop.style == "print" else 3


def check_time(loop: Loop, device: jax.Device) -> None:
    """Estimate a slow case from a smaller size before anybody waits for it.

    Raises:
        RefusedError: One call takes longer than the budget, or the loop much longer.
    """
    case, op = loop.case, ops.get(loop.case.op)
    trial = estimate.trial(case, op, device, seed=0)
    where = "cpu" if device.platform == "cpu" else "accelerator"
    seconds = estimate.call_seconds(op, case.size, case.dtype, where, trial)
    if seconds is None:
        return
    if seconds > loop.budget:
        raise RefusedError(
            f"One call would take about {text.seconds(seconds)} here (estimated from a "
            f"smaller size), more than the budget of {text.seconds(loop.budget)}.",
            "Take a smaller size or a larger budget.",
        )
    check_repeat(loop, loop.calls * seconds)


def check_repeat(loop: Loop, seconds: float) -> None:
    """Refuse a loop of which nobody would see the end.

    Args:
        loop: The loop.
        seconds: What one repeat of it takes.

    Raises:
        RefusedError: That is many times the budget.
    """
    if seconds > BUDGETS_AT_MOST * loop.budget:
        raise RefusedError(
            f"{loop.calls} calls would take about {text.seconds(seconds)} here, and "
            f"the budget is {text.seconds(loop.budget)}.",
            "Take fewer calls, a smaller size or a larger budget.",
        )


def _check_chain(loop: Loop, op: Op) -> None:
    case = loop.case
    first: Argument = op.arguments(case.size)[0]
    takes = _array_text(first.shape, first.dtype(case.dtype))
    gives = _array_text(op.result_shape(case.size), op.result_dtype(case.dtype))
    if takes != gives:
        raise RefusedError(
            f"Calls of {case.op} cannot be chained: "
            f"it takes {takes} and gives {gives}.",
            "Choose independent calls, or an op whose result is like its first "
            "argument, such as matmul.",
        )


def _array_text(shape: tuple[int, ...], dtype: str) -> str:
    return f"{dtype}[{','.join(map(str, shape))}]"


def _supply() -> planning.Supply:
    return planning.Supply(host_bytes=available_host_bytes())
