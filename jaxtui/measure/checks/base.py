"""What a test of the health check is given, and how it visits the devices."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import jax

from jaxtui.machine.survey import Survey
from jaxtui.measure import devices
from jaxtui.measure.errors import full_text
from jaxtui.measure.snippets.values import headline
from jaxtui.model import (
    Check,
    CheckDoing,
    CheckDone,
    CheckRead,
    Reading,
    RunEvent,
)

POLL_SECONDS = 0.05
"""How often the threads of the devices are asked whether to stop."""


@dataclass(frozen=True)
class Context:
    """One test, as it is run."""

    check: Check
    seen: Survey
    """The machine from outside, as it was before JAX started."""
    stop: Callable[[], bool]
    """Asked between turns; once true, the test returns without further readings."""

    @property
    def devices(self) -> tuple[jax.Device, ...]:
        """Those that take part.

        Raises:
            ValueError: There is no such device.
        """
        return tuple(devices.find(name) for name in self.check.devices)


Job = Callable[[jax.Device, float], Iterator[Reading]]
"""The part of a test that belongs to one device; the seconds are its budget."""


class TroubleError(Exception):
    """Something of a test failed for a reason that is already in plain words."""

    def __init__(self, what: str, sentence: str, detail: str = "") -> None:
        """Keep what was being measured, and why it has no figure."""
        super().__init__(sentence)
        self.what, self.sentence, self.detail = what, sentence, detail


def troubled(context: Context, device: jax.Device, trouble: TroubleError) -> Reading:
    """The reading that has a fault instead of a figure."""
    return Reading(
        test=context.check.test,
        device=name(device),
        what=trouble.what,
        fault=trouble.sentence,
        detail=trouble.detail,
    )


def name(device: jax.Device) -> str:
    """The device as people write it: ``tpu:3``."""
    return f"{device.platform}:{device.id}"


def shares_silicon(found: Sequence[jax.Device]) -> bool:
    """Whether the devices compute on the same cores, as CPU devices do."""
    return any(device.platform == "cpu" for device in found)


def by_device(
    context: Context, what: str, job: Job, *, in_turn: bool = False
) -> Iterator[RunEvent]:
    """Do a job on every device: all at once, unless they share their silicon.

    Devices that share it take turns and share the budget, so that a test never takes
    longer for more of them. An exception costs its own device the test, no other.

    Args:
        context: The test.
        what: What is done, one phrase.
        job: What is done on one device.
        in_turn: One device after the other in any case: for jobs that time the host,
            whose threads would hold each other up.
    """
    found, budget = context.devices, context.check.budget_seconds
    if len(found) > 1 and not in_turn and not shares_silicon(found):
        yield from _at_once(context, what, job, found, budget)
        return
    for device in found:
        if context.stop():
            return
        yield CheckDoing(devices=(name(device),), what=f"{what} on {name(device)}")
        for reading in guarded(context, job, device, budget / len(found)):
            yield CheckRead(reading=reading)
        yield CheckDone(device=name(device))


def _at_once(
    context: Context,
    what: str,
    job: Job,
    found: Sequence[jax.Device],
    budget: float,
) -> Iterator[RunEvent]:
    done: queue.SimpleQueue[RunEvent] = queue.SimpleQueue()

    def visit(device: jax.Device) -> None:
        for reading in guarded(context, job, device, budget):
            done.put(CheckRead(reading=reading))
        done.put(CheckDone(device=name(device)))

    everybody = tuple(map(name, found))
    yield CheckDoing(devices=everybody, what=f"{what} on {len(found)} devices")
    # Daemons: a device that never answers must not keep the engine from ending.
    threads = [
        threading.Thread(target=visit, args=(device,), daemon=True) for device in found
    ]
    for thread in threads:
        thread.start()
    left = len(found)
    while left and not context.stop():
        try:
            event = done.get(timeout=POLL_SECONDS)
        except queue.Empty:
            continue
        left -= isinstance(event, CheckDone)
        yield event
    # Whoever stopped the test may start the next run: nobody may be at work then.
    for thread in threads:
        thread.join()


def guarded(
    context: Context, job: Job, device: jax.Device, seconds: float
) -> Iterator[Reading]:
    """The readings of a job; one with a fault instead of an exception."""
    test = context.check.test
    try:
        yield from job(device, seconds)
    except TroubleError as trouble:
        yield troubled(context, device, trouble)
    except Exception as error:
        yield Reading(
            test=test,
            device=name(device),
            what=test,
            fault=f"The test failed: {headline(error)}",
            detail=full_text(error),
        )
