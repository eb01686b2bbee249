"""A health check as far as it has come: one immutable record, and how events change it.

Commands and screens drive it alike: they run ``next_check`` in an engine, feed every
event of that run to ``observe``, and call ``overdue`` before they stop a run that took
longer than ``limit_seconds``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from jaxtui import format as fmt
from jaxtui.health import plan
from jaxtui.health.reasons import joined
from jaxtui.model import (
    Check,
    CheckDoing,
    CheckDone,
    CheckLevel,
    CheckRead,
    CheckStarted,
    Device,
    Event,
    Reading,
    RunFinished,
    WorkFailed,
)


@dataclass(frozen=True, slots=True)
class Examination:
    """The tests that are left, the one that goes on, and what was read so far."""

    devices: tuple[Device, ...]
    """Those that are tested."""
    waiting: tuple[Check, ...]
    """The tests that have not begun, in order."""
    readings: tuple[Reading, ...] = ()
    check: Check | None = None
    """The test that goes on."""
    at_work: tuple[str, ...] = ()
    """The devices that work on it now, without those that are through."""
    through: tuple[str, ...] = ()
    """The devices that have all their readings of it."""
    what: str = ""
    """What is being done, one phrase."""
    before: int = 0
    """How many readings there were when it began."""
    deaths: int = 0
    """How often a test was begun again, because its engine had died."""
    hung: tuple[str, ...] = ()
    """Devices that did not answer in time: no further test tries them."""
    limit: float | None = None
    """Seconds for each test, if the user has said."""
    late: bool = False
    """The test that goes on has passed its time limit and is being ended."""
    failed: WorkFailed | None = None
    """Why the test that goes on, or the last one, ended without all its readings."""
    lost: bool = False
    """Some test ended because its engine died, which says nothing about a device."""
    outcome: Literal["complete", "cancelled", "incomplete"] | None = None
    """``None`` while there is more to do; ``incomplete`` at the end if some test was
    lost."""

    @property
    def next_check(self) -> Check | None:
        """What to run now; ``None`` while a test goes on, and at the end."""
        if self.check is not None or self.outcome is not None or not self.waiting:
            return None
        return self.waiting[0]

    @property
    def limit_seconds(self) -> float:
        """How long the test that goes on, or comes next, may take."""
        check = self.check or self.next_check
        if self.limit is not None or check is None:
            return self.limit or 0.0
        return plan.limit_seconds(check)


def begin(
    devices: tuple[Device, ...], level: CheckLevel, limit: float | None = None
) -> Examination:
    """An examination of these devices, all of them addressable, at least one.

    Args:
        devices: Those to test.
        level: How thorough.
        limit: Seconds that each test may take; by default what ``plan`` says.
    """
    names = [device.name for device in devices]
    return Examination(devices, plan.plan(level, names), limit=limit)


def observe(state: Examination, event: Event) -> Examination:
    """The examination after one event of the run of its test."""
    if isinstance(event, CheckRead):
        return replace(state, readings=(*state.readings, event.reading))
    if state.outcome is not None:
        # What a test that was broken off still sends must not begin it again.
        return state
    match event:
        case CheckStarted():
            return _started(state, event.check)
        case CheckDoing():
            return replace(state, at_work=_fresh(state, event), what=event.what)
        case CheckDone():
            left = tuple(one for one in state.at_work if one != event.device)
            return replace(state, at_work=left, through=(*state.through, event.device))
        case WorkFailed():
            return replace(state, failed=event)
        case RunFinished():
            return _finished(state, event)
        case _:
            return state


def overdue(state: Examination) -> Examination:
    """The time limit has passed: the test is about to be ended, by force if need be."""
    return replace(state, late=True)


def cancelled(state: Examination) -> Examination:
    """The user has had enough; what was read stays.

    To be called whenever the user ends a check: the events of a test that is late do
    not tell who ended it.
    """
    return replace(
        state,
        check=None,
        at_work=(),
        what="",
        waiting=(),
        late=False,
        outcome="cancelled",
    )


def given_up(state: Examination, why: str) -> Examination:
    """No engine is left to run the next test: what is left is skipped.

    Args:
        state: an examination with a test that goes on or comes next.
        why: one sentence.
    """
    rest = (state.check, *state.waiting) if state.check else state.waiting
    left = tuple(
        Reading(test=one.test, device=name, what=one.test, skipped=why)
        for one in rest
        for name in one.devices
    )
    return replace(
        state,
        readings=(*state.readings, *left),
        check=None,
        at_work=(),
        what="",
        waiting=(),
        late=False,
        lost=True,
        outcome="incomplete",
    )


def _started(state: Examination, check: Check) -> Examination:
    # Where the engine died it begins again, and what it had read is read again.
    again = state.check is not None
    kept = state.readings[: state.before] if again else state.readings
    return replace(
        state,
        check=check,
        waiting=state.waiting if again else state.waiting[1:],
        readings=kept,
        before=len(kept),
        deaths=state.deaths + again,
        at_work=(),
        through=(),
        what="",
        failed=None,
    )


def _fresh(state: Examination, event: CheckDoing) -> tuple[str, ...]:
    """Those at work that can be blamed for this test."""
    mine = state.check.devices if state.check else ()
    return tuple(
        name for name in event.devices if name in mine and name not in state.through
    )


def _finished(state: Examination, event: RunFinished) -> Examination:
    if event.outcome == "cancelled" and not state.late:
        return cancelled(state)
    if state.check is None and state.next_check is not None:
        # The engine was gone before it could say that it began.
        state = replace(_started(state, state.next_check), failed=state.failed)
    if state.check is None:
        return state
    if _is_broken_off(state, event):
        died = event.outcome == "crashed" and not state.late
        state = _broken_off(replace(state, lost=state.lost or died), state.check, died)
    return _go_on(replace(state, check=None, at_work=(), what="", late=False))


def _is_broken_off(state: Examination, event: RunFinished) -> bool:
    """Whether readings are missing; a late test may have come to its end after all."""
    return event.outcome != "complete" or state.failed is not None


def _broken_off(state: Examination, check: Check, died: bool) -> Examination:
    """Blame the devices that were at work; the others get the test once more."""
    left = tuple(name for name in check.devices if name not in state.through)
    suspects = state.at_work or left
    # Where all devices are through, what they have in common went wrong.
    readings = tuple(_blamed(state, check, name, died) for name in suspects or (None,))
    rest = tuple(name for name in left if name not in suspects)
    again = (msgspec.structs.replace(check, devices=rest),) if rest else ()
    return replace(
        state,
        readings=(*state.readings, *readings),
        hung=(*state.hung, *suspects) if state.late else state.hung,
        waiting=(*again, *state.waiting),
    )


def _blamed(
    state: Examination, check: Check, device: str | None, died: bool
) -> Reading:
    failed = state.failed
    if state.late:
        who = device or f"The test {check.test}"
        fault = f"{who} did not finish within {fmt.seconds(state.limit_seconds)}."
    elif failed is not None:
        fault = joined(failed.error, failed.hint)
    else:
        fault = "The engine ended in the middle of the test."
    if state.what:
        fault = joined(fault, f"Last seen: {state.what}")
    return Reading(
        test=check.test,
        device=device,
        what=check.test,
        fault="" if died else fault,
        skipped=fault if died else "",
        detail=failed.detail if failed else "",
    )


def _go_on(state: Examination) -> Examination:
    """Leave devices that hung out of the next test; end where none is left."""
    while state.waiting:
        check = state.waiting[0]
        kept = tuple(name for name in check.devices if name not in state.hung)
        out = [name for name in check.devices if name in state.hung]
        state = replace(
            state,
            readings=(*state.readings, *(_left_out(check, name) for name in out)),
        )
        if kept:
            first = msgspec.structs.replace(check, devices=kept)
            return replace(state, waiting=(first, *state.waiting[1:]))
        state = replace(state, waiting=state.waiting[1:])
    return replace(state, outcome="incomplete" if state.lost else "complete")


def _left_out(check: Check, device: str) -> Reading:
    return Reading(
        test=check.test,
        device=device,
        what=check.test,
        skipped=f"{device} did not finish an earlier test.",
    )
