"""A test of the check: its context, and its visits to the devices."""

from __future__ import annotations

import dataclasses
import importlib
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import jax

from jaxtui.core.format import some
from jaxtui.core.model import (
    Check,
    CheckDoing,
    CheckDone,
    CheckRead,
    Remark,
    RunEvent,
    WorkFailed,
)
from jaxtui.features.bench.measure.rates import error_reading
from jaxtui.machine.survey import Survey
from jaxtui.tasks import devices, errors
from jaxtui.tasks.devices import name
from jaxtui.tasks.errors import headline
from jaxtui.timing.runner import Runner
from jaxtui.timing.turns import never

POLL_SECONDS = 0.05
"""Seconds between two looks at the threads of the devices."""


@dataclass(frozen=True)
class Context:
    """The request, the machine and its devices, which every test is given."""

    check: Check
    survey: Survey
    """The machine from outside, as it was before JAX started."""
    stop: Callable[[], bool]
    """Called between turns; once true, the test returns without further readings."""

    @property
    def devices(self) -> tuple[jax.Device, ...]:
        """The devices of the test.

        Raises:
            RefusedError: There is no such device.
        """
        return tuple(devices.find(name) for name in self.check.devices)

    @property
    def shared(self) -> bool:
        """True if the devices share their silicon."""
        return shares_silicon(self.devices)


def shares_silicon(taking_part: Sequence[jax.Device]) -> bool:
    """Return whether the devices compute on the same cores, as CPU devices do."""
    return any(device.platform == "cpu" for device in taking_part)


def run_check(
    check: Check, survey: Survey | None = None, *, stop: Callable[[], bool] = never
) -> Iterator[RunEvent]:
    """Run one test on its devices.

    Every device of the test ends in ``CheckDone`` unless the test was stopped or
    ``WorkFailed`` says why not.
    """
    return _CheckRun(Context(check, survey or Survey(), stop)).events()


class _CheckRun(Runner):
    def __init__(self, context: Context) -> None:
        super().__init__(context.check.budget_seconds, context.stop)
        self._context = context

    def work(self) -> Iterator[RunEvent]:
        test = self._context.check.test
        file = test if test in ("present", "memory", "numerics") else "rates"
        module = importlib.import_module(f"jaxtui.features.check.measure.{file}")
        for event in getattr(module, test)(self._context):
            yield event
            if isinstance(event, CheckDoing):
                doing = "compile" if event.doing == "compiling" else test
                yield self.progress(doing, some(event.devices))

    def failure(self, error: BaseException) -> WorkFailed:
        # Whatever is not one device's affair ends this test only.
        facts = {"error": headline(error)}
        text = errors.full_text(error)
        return WorkFailed(remark=Remark("test-raised", {**facts}, "error", text))


Job = Callable[[Context, Sequence[jax.Device], float], Iterator[RunEvent]]
"""The part of a test that belongs to some devices, which take turns: what they do and
read. The seconds are their budget."""


def visit(context: Context, job: Job, *, in_turn: bool = False) -> Iterator[RunEvent]:
    """Do a job on every device: all at once, unless they share their silicon.

    Devices that share it take turns and share the budget, so that a test never takes
    longer for more of them. An exception costs its own device the test, no other.

    Args:
        context: Of the test.
        job: The test of some devices.
        in_turn: One after the other anyway, for jobs that time the host.
    """
    taking_part, budget = context.devices, context.check.budget_seconds
    groups = [taking_part] if context.shared else [(device,) for device in taking_part]
    if len(groups) > 1 and not in_turn:
        yield from at_once(context, job)
        return
    for group in groups:
        if context.stop():
            return
        yield CheckDoing(devices=tuple(map(name, group)))
        yield from job(context, group, budget / len(groups))
        if context.stop():
            return
        yield from (CheckDone(device=name(device)) for device in group)


def at_once(context: Context, job: Job, *, join: bool = True) -> Iterator[RunEvent]:
    """Do a job on every device, each in a thread of its own.

    Unless it is to ``join`` them, a device that never answers does not keep the test
    from ending; the others end as soon as they can.
    """
    taking_part, done = context.devices, queue.SimpleQueue[RunEvent]()
    over = threading.Event()
    within = dataclasses.replace(context, stop=lambda: over.is_set() or context.stop())

    def at(device: jax.Device) -> None:
        try:
            for event in job(within, (device,), context.check.budget_seconds):
                if isinstance(event, CheckRead):
                    done.put(event)
        except Exception as error:
            figure = error_reading(context.check.test, device, error)
            done.put(CheckRead(reading=figure))
        done.put(CheckDone(device=name(device)))

    yield CheckDoing(devices=tuple(map(name, taking_part)))
    # Daemons: a device that never answers must not keep the engine from ending.
    threads = [
        threading.Thread(target=at, args=(device,), daemon=True)
        for device in taking_part
    ]
    try:
        for thread in threads:
            thread.start()
        working = len(taking_part)
        while working and not context.stop():
            try:
                event = done.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            working -= isinstance(event, CheckDone)
            yield event
    finally:
        over.set()
    # The next run may start after a stop: no device should be at work then.
    for thread in threads if join else ():
        thread.join()
