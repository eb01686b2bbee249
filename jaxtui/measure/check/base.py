"""What a test of the check is given, how it visits the devices, and what it reads."""

from __future__ import annotations

import importlib
import os
import queue
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax

from jaxtui.machine.survey import Survey
from jaxtui.measure import devices, errors
from jaxtui.measure.devices import name
from jaxtui.measure.errors import headline
from jaxtui.measure.host import available_host_bytes
from jaxtui.measure.runner import Runner
from jaxtui.measure.turns import never
from jaxtui.model import (
    Case,
    Check,
    CheckDoing,
    CheckDone,
    CheckRead,
    CheckStarted,
    CheckTest,
    Device,
    Reading,
    RunEvent,
    WorkFailed,
)
from jaxtui.stats import Interval, median

POLL_SECONDS = 0.05
"""How often the threads of the devices are looked at."""

UNSUPPORTED = re.compile(r"UNIMPLEMENTED|NotImplementedError")
"""What compilers and runtimes say about what they cannot do: no fault of a device."""

SUSPICIOUS = 0.75
"""A rate below this share of the median of all devices is measured again."""

MEMORY_HINT = "Something else holds memory of the device; the test `memory` says more."
"""The sizes were chosen to fit, so a smaller one is no advice here."""


@dataclass(frozen=True)
class Context:
    check: Check
    seen: Survey
    """The machine from outside, as it was before JAX started."""
    stop: Callable[[], bool]
    """Called between turns; once true, the test returns without further readings."""

    @property
    def devices(self) -> tuple[jax.Device, ...]:
        """Those that take part.

        Raises:
            ValueError: There is no such device.
        """
        return tuple(devices.find(name) for name in self.check.devices)


def run_check(
    check: Check, seen: Survey | None = None, *, stop: Callable[[], bool] = never
) -> Iterator[RunEvent]:
    """Run one test on its devices; ``seen`` is for the test ``present``.

    Every device of the test ends in ``CheckDone`` unless the test was stopped or
    ``WorkFailed`` says why not.
    """
    return _Run(check, seen or Survey(), stop).events()


class _Run(Runner):
    def __init__(self, check: Check, seen: Survey, stop: Callable[[], bool]) -> None:
        super().__init__(CheckStarted(check=check), check.budget_seconds, stop)
        self._context = Context(check, seen, stop)
        self._test = check.test

    def work(self) -> Iterator[RunEvent]:
        test = importlib.import_module(f"jaxtui.measure.check.{self._test}").test
        yield from test(self._context)

    def failure(self, error: BaseException) -> WorkFailed:
        # Whatever is not one device's affair ends this test only.
        return WorkFailed(
            error=f"The test {self._test} broke off: {headline(error)}",
            hint="The original text has the details.",
            detail=errors.full_text(error),
        )


@dataclass(frozen=True)
class Setting:
    """What sizes depend on: the device, its memory, and its neighbours."""

    device: Device
    free_bytes: int | None = None
    """Free memory where it computes; ``None`` where that is unknown."""
    sharing: int = 1
    """How many of the devices share its silicon; they share the time, too."""
    cores: int = 1
    """Of the host."""


class TroubleError(Exception):
    """Something of a test failed for a reason that is already in plain words."""

    def __init__(self, what: str, sentence: str, detail: str = "") -> None:
        super().__init__(sentence)
        self.what, self.sentence, self.detail = what, sentence, detail


class UnsupportedError(TroubleError):
    """The compiler or the runtime of the device does not do this at all."""


# Devices.


def shares_silicon(found: Sequence[jax.Device]) -> bool:
    """Whether the devices compute on the same cores, as CPU devices do."""
    return any(device.platform == "cpu" for device in found)


def setting(context: Context, device: jax.Device) -> Setting:
    together = context.devices
    return of_device(device, len(together) if shares_silicon(together) else 1)


def of_device(device: jax.Device, sharing: int = 1) -> Setting:
    described = devices.describe_device(device)
    return Setting(
        device=described,
        free_bytes=devices.free_bytes(described, available_host_bytes()),
        sharing=sharing,
        cores=os.cpu_count() or 1,
    )


# Readings.


def reading(
    test: CheckTest,
    device: jax.Device | str | None,
    what: str,
    figure: Interval | float | None = None,
    *,
    per: float | None = None,
    **facts: Any,
) -> Reading:
    """One figure of a test, with the interval that it has from rounds.

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
    test: CheckTest, device: jax.Device | str, error: Exception
) -> Reading:
    """The reading that says in place of a figure what went wrong."""
    if not isinstance(error, TroubleError):
        fault = f"The test failed: {headline(error)}"
        return reading(test, device, test, fault=fault, detail=errors.full_text(error))
    unsupported = isinstance(error, UnsupportedError)
    why: dict[str, Any] = {"skipped" if unsupported else "fault": error.sentence}
    return reading(test, device, error.what, detail=error.detail, **why)


@contextmanager
def translate_errors(case: Case, what: str, phase: str) -> Iterator[None]:
    """Give whatever is raised within a sentence.

    Raises:
        UnsupportedError: It cannot be done on this kind of device.
        TroubleError: It failed; both carry the original text.
    """
    try:
        yield
    except TroubleError:
        raise
    except Exception as error:
        failure = errors.translate(error, case, phase)
        if UNSUPPORTED.search(failure.detail):
            raise UnsupportedError(what, failure.error, failure.detail) from error
        hint = MEMORY_HINT if errors.MEMORY.search(failure.detail) else failure.hint
        sentence = f"{failure.error} {hint}".strip()
        raise TroubleError(what, sentence, failure.detail) from error


# Visits.

Measure = Callable[[], Reading | None]
"""Makes a reading; ``None`` where the test was stopped meanwhile."""

Job = Callable[[jax.Device, float], Iterator[Reading | Measure]]
"""The part of a test that belongs to one device: its readings, or what makes them when
it is their turn. The seconds are its budget."""


def by_device(
    context: Context, what: str, job: Job, *, in_turn: bool = False
) -> Iterator[RunEvent]:
    """Do a job on every device: all at once, unless they share their silicon.

    Devices that share it take turns and share the budget, so that a test never takes
    longer for more of them; so they do if ``in_turn``, for jobs that time the host,
    whose threads would hold each other up. An exception costs its own device the test,
    no other. What is done is one phrase.
    """
    found, budget = context.devices, context.check.budget_seconds
    if len(found) > 1 and not in_turn and not shares_silicon(found):
        yield from _at_once(context, what, job)
        return
    for device in found:
        if context.stop():
            return
        yield CheckDoing(devices=(name(device),), what=f"{what} on {name(device)}")
        for one in guard(context, job, device, budget / len(found)):
            yield CheckRead(reading=one)
        yield CheckDone(device=name(device))


def on_first(
    context: Context, what: str, job: Job, *, else_skipped: tuple[str, str]
) -> Iterator[RunEvent]:
    """A job on all devices, or on the first of those that share their silicon.

    It then has the whole budget, and the others are skipped: ``else_skipped`` is what
    their readings are called, and why there are none, with ``{name}`` and ``{first}``.
    """
    first, shared = context.devices[0], shares_silicon(context.devices)
    called, why = else_skipped

    def visit(device: jax.Device, seconds: float) -> Iterator[Reading | Measure]:
        if not shared:
            yield from job(device, seconds)
        elif device == first:
            yield from job(device, context.check.budget_seconds)
        else:
            skipped = why.format(name=name(device), first=name(first))
            yield reading(context.check.test, device, called, skipped=skipped)

    yield from by_device(context, what, visit)


def _at_once(context: Context, what: str, job: Job) -> Iterator[RunEvent]:
    found, done = context.devices, queue.SimpleQueue[RunEvent]()

    def visit(device: jax.Device) -> None:
        for one in guard(context, job, device, context.check.budget_seconds):
            done.put(CheckRead(reading=one))
        done.put(CheckDone(device=name(device)))

    yield CheckDoing(
        devices=tuple(map(name, found)), what=f"{what} on {len(found)} devices"
    )
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
    # The next run may start after a stop: no device may be at work then.
    for thread in threads:
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
        for one in job(device, seconds):
            found: Reading | None = None
            if isinstance(one, Reading):
                found = one
            elif context.stop():
                return
            else:
                try:
                    found = one()
                except TroubleError as trouble:
                    found = error_reading(test, device, trouble)
            if found is not None:
                yield found
    except Exception as error:
        yield error_reading(test, device, error)


def measure_again(
    context: Context, job: Job, events: Iterable[RunEvent]
) -> Iterator[RunEvent]:
    """The events of a test, with the better reading of devices that seemed slow.

    CPU devices share the host's cores and are measured one after the other: a device
    whose turn fell into a bad moment looks slow, and is not. One that is slow stays so.
    """
    held: list[RunEvent] = []
    rates: dict[str, dict[str | None, float]] = {}
    for event in events:
        if isinstance(event, CheckDoing):
            yield event
            continue
        held.append(event)
        if isinstance(event, CheckRead) and event.reading.measured is not None:
            of_all = rates.setdefault(event.reading.what, {})
            of_all[event.reading.device] = event.reading.measured
    slow = {
        device
        for found in rates.values()
        for device, rate in found.items()
        if rate < SUSPICIOUS * median(list(found.values()))
    }
    better: dict[tuple[str | None, str], Reading] = {}
    for device in context.devices:
        if name(device) not in slow:
            continue
        if context.stop():
            return
        what = f"looking again at {name(device)}"
        yield CheckDoing(devices=(name(device),), what=what)
        seconds = context.check.budget_seconds / len(context.devices)
        for one in guard(context, job, device, seconds):
            better[one.device, one.what] = one
    for event in held:
        if isinstance(event, CheckRead):
            old = event.reading
            new = better.get((old.device, old.what), old)
            if old.measured is not None and new.measured is not None:
                best = new if new.measured > old.measured else old
                event = CheckRead(reading=best)
        yield event
