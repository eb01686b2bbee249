"""What a loop calls, and the loops that are refused before anything is allocated."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import jax

from jaxtui import format as text
from jaxtui.measure import coldpath, estimate, notes, ops, own, planning, workload
from jaxtui.measure.failures import RefusedError
from jaxtui.measure.loops.repeats import ARRAY, Results, of_own
from jaxtui.measure.ops.arguments import Argument
from jaxtui.measure.ops.base import Op
from jaxtui.measure.workload import Pool, Workload
from jaxtui.model import (
    HOST_MODES,
    LOOP_STYLES,
    MAXIMUM_LOOP_CALLS,
    Loop,
    Note,
    PlannedCase,
)
from jaxtui.model.own import short_name

BUDGETS_AT_MOST = 10.0
"""A single repeat that takes more than so many budgets is refused."""

SEED = 0
"""Of the arguments; a loop names none."""


class Subject:
    """What a loop calls: its cold path, and what is known once that is done."""

    workload: Workload

    def __init__(self, loop: Loop, planned: PlannedCase, device: jax.Device) -> None:
        self._loop, self._planned, self._device = loop, planned, device
        self._source = own.source(loop.case.op)
        self._depth = 0
        self.results: Results = ARRAY
        """What the loop does with what its calls return."""
        self.flops = planned.flops
        """Of one call."""
        self.peak = planned.peak
        self.notes: tuple[Note, ...] = ()
        """What must be said of it beside what the loop shows."""

    def check(self, depth: int) -> None:
        """Refuse what is known to be too much, before anything is allocated.

        Nothing is known of a function of a file before it has run.

        Args:
            depth: computations that may be in flight.

        Raises:
            RefusedError: It is too much.
        """
        self._depth = depth
        if self._source is None:
            check_memory(self._loop, self._planned, depth)
            check_time(self._loop, self._device)

    def phases(self) -> Iterator[str]:
        """Do the phases of the cold path one by one; each is named before it is done.

        Those copies are left out that are only there to be timed. A function of a file
        is called once more, to learn from that.

        Raises:
            RefusedError: Only now it shows that the loop cannot be.
            Exception: Whatever a phase raises.
        """
        case, pool = self._loop.case, Pool(SEED)
        if self._source is None:
            yield "inputs"
            op = ops.get(case.op)
            self.workload = made = workload.of_op(case, op, self._device, pool)
        else:
            yield "import"
            function = own.load(self._source, self._device)
            yield "inputs"
            made = workload.of_function(function, case, self._device, pool)
            self.workload = made
            jax.clear_caches()  # what the function has jitted itself is cold, too
        with made.scope():
            made.args = made.hosts() if case.inputs == "host" else made.resident()
        for phase, step in coldpath.steps(made):
            if phase not in ("transfer", "fetch"):
                yield phase
                with made.scope():
                    step()
        if self._source is not None:
            self.flops, self.peak = made.flops, made.peak
            self.notes = (notes.own(made),)
            yield "warm-up"
            self._learn()

    def _learn(self) -> None:
        """What a call returns, how large that is, and how long it takes."""
        made = self.workload
        with made.scope():
            start = perf_counter()
            result = made.call(*made.args)
            jax.block_until_ready(result)
            seconds = perf_counter() - start
        check_repeat(self._loop, self._loop.calls * seconds)
        check_results(self._loop, made.result_bytes, self._depth)
        self.results = of_own(self._loop, made, result)


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
    planned = planning.plan_case(case, planning.Supply())
    if planned.problem is not None:
        problem = planned.problem
        raise RefusedError(problem.error, problem.hint, problem.detail)
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
    op, supply = ops.get(case.op), planning.Supply()
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
    """The same for a function of a file, whose arguments are there already.

    Args:
        loop: As for ``check_memory``.
        size: Bytes of one result.
        depth: As for ``check_memory``.

    Raises:
        RefusedError: As for ``check_memory``.
    """
    supply, alive = planning.Supply(), results_alive(loop, depth)
    free = supply.free_bytes(supply.device(loop.case.device))
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
    """Estimate a slow case from a smaller size before it is waited for.

    Raises:
        RefusedError: One call takes longer than the budget, or the loop much longer.
    """
    case, op = loop.case, ops.get(loop.case.op)
    seconds = estimate.of_case(case, op, device, SEED)
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
    """Refuse a loop that takes many times its budget.

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
