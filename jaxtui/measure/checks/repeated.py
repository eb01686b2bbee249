"""Lets one device compute everything, several times."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter

import jax
import numpy as np

from jaxtui.measure.checks import work
from jaxtui.measure.checks.attempts import UnsupportedError, explained
from jaxtui.measure.checks.ballot import Difference, difference
from jaxtui.measure.checks.base import TroubleError, name
from jaxtui.measure.checks.computations import Computation
from jaxtui.measure.clocks import Call
from jaxtui.measure.ops.arguments import Array
from jaxtui.measure.probe import probe

REFUSED = re.compile(
    r"does not accept dtype|is not supported|Unexpected operand type"
    r"|^(?:TypeError|ValueError|TypePromotionError): .*dtype",
    re.DOTALL,
)
"""What JAX and XLA say of a dtype or precision that a backend does not have."""

NO_TIME = "There was no time left for it."


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one computation on one device."""

    result: Array | None = None
    """Its first result; ``None`` where there is none."""
    wavered: Difference | None = None
    """How the worst of the others differs from it, where one does."""
    program: str = ""
    """What was compiled, where devices of one kind may get different programs."""
    skipped: str = ""
    """Why it was not computed."""
    trouble: TroubleError | None = None


@dataclass(frozen=True)
class Task:
    """The work of one device."""

    device: jax.Device
    computations: Sequence[Computation]
    inputs: Mapping[Computation, tuple[Array, ...]]
    times: int
    """How often each is computed; at least twice."""
    deadline: float
    """By ``perf_counter``: nothing is begun after it."""
    compilers: int
    """How many may compile at once for this device."""
    stop: Callable[[], bool]


def compilers(devices: int) -> int:
    """How many computations may be compiled at once for each of the devices."""
    return max(1, (os.cpu_count() or 1) // devices)


def compute(
    task: Task, compiled: Callable[[], None]
) -> Iterator[tuple[Computation, Outcome]]:
    """Compute everything, in order; ends early if the test is stopped.

    Args:
        task: What to do.
        compiled: Called when everything is compiled, or has failed to.
    """
    calls = _compile(task)
    compiled()
    for computation in task.computations:
        if task.stop():
            return
        yield computation, _attempt(task, computation, calls[computation])


def _compile(task: Task) -> dict[Computation, Future[Call | None]]:
    """Compile on several threads: code for a TPU takes a second, for each."""

    def make(computation: Computation) -> Call | None:
        if task.stop() or perf_counter() > task.deadline:
            return None
        return work.compiled(computation.case(name(task.device)), task.device)

    with ThreadPoolExecutor(task.compilers) as pool:
        return {one: pool.submit(make, one) for one in task.computations}


def _attempt(
    task: Task, computation: Computation, compiled: Future[Call | None]
) -> Outcome:
    case, what = computation.case(name(task.device)), computation.what
    try:
        try:
            with explained(case, what, "compile"):
                call = compiled.result()
        except TroubleError as trouble:
            if not REFUSED.search(trouble.detail):
                raise
            raise UnsupportedError(what, trouble.sentence, trouble.detail) from trouble
        if call is None or perf_counter() > task.deadline:
            return Outcome(skipped=NO_TIME)
        return _repeat(task, computation, call)
    except UnsupportedError as refused:
        return Outcome(skipped=refused.sentence, trouble=refused)
    except TroubleError as trouble:
        return Outcome(trouble=trouble)


def _repeat(task: Task, computation: Computation, call: Call) -> Outcome:
    case, what = computation.case(name(task.device)), computation.what
    with explained(case, what, "transfer"), work.scope(case, task.device):
        sent = jax.device_put(list(task.inputs[computation]), task.device)
        args = jax.block_until_ready(sent)
    with explained(case, what, "first_call"):
        first = np.asarray(call(*args))
    worst: Difference | None = None
    for _ in range(task.times - 1):
        with explained(case, what, "block"):
            other = difference(np.asarray(call(*args)), first)
        if other.elements and (worst is None or other.elements > worst.elements):
            worst = other
    return Outcome(result=first, wavered=worst, program=_program(call, task.device))


def _program(call: Call, device: jax.Device) -> str:
    """The optimised program for a GPU, whose kernels are chosen by trying them out.

    Other compilers give every device of a kind the same program. Where in the source
    something was written does not count.
    """
    if device.platform not in ("gpu", "cuda", "rocm"):
        return ""
    text = probe(lambda: call.as_text())  # type: ignore[attr-defined]
    lines = (line for line in str(text or "").splitlines() if " = " in line)
    return "\n".join(re.sub(r"metadata=\{[^}]*\}", "", line) for line in lines)
