"""The context of a test of the check, its visits to the devices, and its readings."""

from __future__ import annotations

import dataclasses
import importlib
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
from msgspec.structs import replace

from jaxtui.machine import limits, messages
from jaxtui.machine.survey import Survey
from jaxtui.measure import devices, errors
from jaxtui.measure.devices import name
from jaxtui.measure.errors import headline
from jaxtui.measure.failures import translate
from jaxtui.measure.host import available_host_bytes
from jaxtui.measure.pace import ALONE, Pace
from jaxtui.measure.runner import Runner
from jaxtui.measure.turns import never
from jaxtui.model import (
    Case,
    Check,
    CheckDoing,
    CheckDone,
    CheckRead,
    CheckTest,
    Device,
    Reading,
    Remark,
    RunEvent,
    WorkFailed,
)
from jaxtui.model.measurement import Interval

POLL_SECONDS = 0.05
"""Seconds between two looks at the threads of the devices."""


@dataclass(frozen=True)
class Context:
    check: Check
    survey: Survey
    """The machine from outside, as it was before JAX started."""
    stop: Callable[[], bool]
    """Called between turns; once true, the test returns without further readings."""
    pace: Pace = ALONE
    """The pace of the processes that do the test at the same time."""

    @property
    def devices(self) -> tuple[jax.Device, ...]:
        """The devices of the test.

        Raises:
            RefusedError: There is no such device.
        """
        return tuple(devices.find(name) for name in self.check.devices)

    @property
    def shared(self) -> bool:
        return shares_silicon(self.devices)


def shares_silicon(taking_part: Sequence[jax.Device]) -> bool:
    """Return whether the devices compute on the same cores, as CPU devices do."""
    return any(device.platform == "cpu" for device in taking_part)


def run_check(
    check: Check,
    survey: Survey | None = None,
    *,
    stop: Callable[[], bool] = never,
    pace: Pace = ALONE,
) -> Iterator[RunEvent]:
    """Run one test on its devices; ``seen`` is for the test ``present``.

    Every device of the test ends in ``CheckDone`` unless the test was stopped or
    ``WorkFailed`` says why not.
    """
    return _CheckRun(Context(check, survey or Survey(), stop, pace)).events()


class _CheckRun(Runner):
    def __init__(self, context: Context) -> None:
        check = context.check
        super().__init__(check.budget_seconds, context.stop)
        self._context, self._test = context, check.test

    def work(self) -> Iterator[RunEvent]:
        test = importlib.import_module(f"jaxtui.measure.check.{self._test}").test
        yield from test(self._context)

    def failure(self, error: BaseException) -> WorkFailed:
        # Whatever is not one device's affair ends this test only.
        facts = {"error": headline(error)}
        text = errors.full_text(error)
        return WorkFailed(remark=Remark("test-raised", {**facts}, "error", text))


@dataclass(frozen=True)
class Setting:
    """The facts that sizes depend on: the device, its memory, and its neighbours."""

    device: Device
    free_bytes: int | None = None
    """Free memory where it computes; ``None`` where that is unknown."""
    sharing: int = 1
    """The number of devices that share its silicon, and thus the time."""
    cores: int = 1
    """Cores that this process may use."""


def setting(context: Context, device: jax.Device) -> Setting:
    return of_device(device, len(context.devices) if context.shared else 1)


def of_device(device: jax.Device, sharing: int = 1) -> Setting:
    described = devices.describe_device(device)
    free = devices.free_bytes(described, available_host_bytes())
    return Setting(described, free, sharing, max(1, int(limits.cores() or 1)))


# Readings.


class TroubleError(Exception):
    """A reading could not be made.

    Args:
        what: was to be measured.
        remark: why not; an ``error`` unless it is no fault of the device, which was not
            meant to do this.
    """

    def __init__(self, what: str, remark: Remark) -> None:
        super().__init__(remark.code)
        self.what, self.remark = what, remark


def reading(
    test: CheckTest,
    device: jax.Device | str | None,
    what: str,
    figure: Interval | float | None = None,
    *,
    per: float | None = None,
    **facts: Any,
) -> Reading:
    """Return the reading of a figure, with the interval that it has from rounds.

    The figure is as it was measured, or with ``per`` the seconds in which so many
    operations or bytes were done: then the reading is a rate. Without a device it is
    that of the machine as a whole; all else is as in ``Reading``.
    """
    if isinstance(figure, Interval):
        facts["confidence"] = figure.confidence
        ends = figure.median, figure.low, figure.high
        if per is not None:
            ends = per / figure.median, per / figure.high, per / figure.low
        figure, facts["ci_low"], facts["ci_high"] = ends
    if device is not None and not isinstance(device, str):
        device = name(device)
    return Reading(test=test, device=device, what=what, measured=figure, **facts)


def error_reading(
    test: CheckTest, device: jax.Device, error: Exception, **facts: Any
) -> Reading:
    """The reading that says in place of a figure what went wrong."""
    if not isinstance(error, TroubleError):
        detail = errors.full_text(error)
        remark = Remark("test-raised", {"error": headline(error)}, "error", detail)
        error = TroubleError(test, remark)
    return reading(test, device, error.what, remarks=(error.remark,), **facts)


@contextmanager
def translate_errors(case: Case, what: str, phase: str) -> Iterator[None]:
    """Give whatever is raised within a code.

    Raises:
        TroubleError: With the original text; no ``error`` if this kind of device cannot
            do it at all.
    """
    try:
        yield
    except TroubleError:
        raise
    except Exception as error:
        failure = translate(error, case, phase)
        remark = failure.remark
        if remark.code == messages.UNSUPPORTED:  # no fault of a device
            remark = replace(remark, severity="info")
        raise TroubleError(what, remark) from error


# Visits.

Measure = Callable[[], Reading | None]
"""Makes a reading; ``None`` where the test was stopped meanwhile."""

Job = Callable[[Context, jax.Device, float], Iterator[Reading | Measure]]
"""The part of a test that belongs to one device: its readings, or what makes them when
it is their turn. The seconds are its budget."""


def by_device(
    context: Context, job: Job, *, in_turn: bool = False, first_only: bool = False
) -> Iterator[RunEvent]:
    """Do a job on every device: all at once, unless they share their silicon.

    Devices that share it take turns and share the budget, so that a test never takes
    longer for more of them. An exception costs its own device the test, no other.

    Args:
        context: Of the test.
        job: The test of one device.
        in_turn: Take turns anyway, for jobs that time the host.
        first_only: Let only the first of those that share their memory work, with the
            whole budget.
    """
    taking_part, budget = context.devices, context.check.budget_seconds
    first, share = taking_part[0], budget / len(taking_part)

    def by_first(
        context: Context, device: jax.Device, seconds: float
    ) -> Iterator[Reading | Measure]:
        if device == first:
            yield from job(context, device, budget)
        else:
            test, shared = (
                context.check.test,
                Remark("shared-memory", {"with": name(first)}),
            )
            yield reading(test, device, test, remarks=(shared,))

    if len(taking_part) > 1 and not (in_turn or context.shared):
        yield from at_once(context, job)
        return
    part = by_first if first_only and context.shared else job
    for device in taking_part:
        if context.stop():
            return
        yield CheckDoing(devices=(name(device),))
        for figure in guard(context, part, device, share):
            yield CheckRead(reading=figure)
        yield CheckDone(device=name(device))


def at_once(context: Context, job: Job, *, join: bool = True) -> Iterator[RunEvent]:
    """Do a job on every device, each in a thread of its own.

    Unless it is to ``join`` them, a device that never answers does not keep the test
    from ending; the others end as soon as they can.
    """
    taking_part, done = context.devices, queue.SimpleQueue[RunEvent]()
    over = threading.Event()
    within = dataclasses.replace(context, stop=lambda: over.is_set() or context.stop())

    def visit(device: jax.Device) -> None:
        for figure in guard(within, job, device, context.check.budget_seconds):
            done.put(CheckRead(reading=figure))
        done.put(CheckDone(device=name(device)))

    yield CheckDoing(devices=tuple(map(name, taking_part)))
    # Daemons: a device that never answers must not keep the engine from ending.
    threads = [
        threading.Thread(target=visit, args=(device,), daemon=True)
        for device in taking_part
    ]
    try:
        for thread in threads:
            thread.start()
        left = len(taking_part)
        while left and not context.stop():
            try:
                event = done.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            left -= isinstance(event, CheckDone)
            yield event
    finally:
        over.set()
    # The next run may start after a stop: no device should be at work then.
    for thread in threads if join else ():
        thread.join()


def guard(
    context: Context, job: Job, device: jax.Device, seconds: float
) -> Iterator[Reading]:
    """The readings of a job until the test is stopped.

    What goes wrong with one costs its figure alone; an exception of the job itself ends
    the job.
    """
    test = context.check.test
    try:
        for item in job(context, device, seconds):
            if isinstance(item, Reading):
                yield item
                continue
            if context.stop():
                return
            try:
                figure = item()
            except TroubleError as trouble:
                figure = error_reading(test, device, trouble)
            if figure is not None:
                yield figure
    except Exception as error:
        yield error_reading(test, device, error)
