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
    hung: tuple[str, ...] = ()
    """Devices that did not answer in time: no further test tries them."""
    limit: float | None = None
    """Seconds for each test, if the user has said."""
    late: bool = False
    """The test that goes on has passed its time limit and is being ended."""
    failed: WorkFailed | None = None
    """Why the test that goes on, or the last one, ended without all its readings."""
    outcome: Literal["complete", "cancelled"] | None = None
    """``None`` while there is more to do."""

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
    match event:
        case CheckStarted():
            return _started(state, event.check)
        case CheckDoing():
            fresh = tuple(one for one in event.devices if one not in state.through)
            return replace(state, at_work=fresh, what=event.what)
        case CheckRead():
            return replace(state, readings=(*state.readings, event.reading))
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
    """The time limit has passed: the test is about to be ended by force."""
    return replace(state, late=True)


def cancelled(state: Examination) -> Examination:
    """The user has had enough; what was read stays."""
    return replace(state, check=None, waiting=(), outcome="cancelled")


def _started(state: Examination, check: Check) -> Examination:
    return replace(
        state,
        check=check,
        waiting=state.waiting[1:],
        at_work=(),
        through=(),
        what="",
        late=False,
        failed=None,
    )


def _finished(state: Examination, event: RunFinished) -> Examination:
    if state.check is None:
        return state
    if event.outcome == "cancelled" and not state.late:
        return cancelled(state)
    if state.late or state.failed is not None:
        state = _broken_off(state, state.check)
    return _go_on(replace(state, check=None, at_work=(), what="", late=False))


def _broken_off(state: Examination, check: Check) -> Examination:
    """Blame the devices that were at work; the others get the test once more."""
    left = tuple(name for name in check.devices if name not in state.through)
    suspects = state.at_work or left
    readings = tuple(_blamed(state, check, name) for name in suspects)
    rest = tuple(name for name in left if name not in suspects)
    again = (msgspec.structs.replace(check, devices=rest),) if rest else ()
    return replace(
        state,
        readings=(*state.readings, *readings),
        hung=(*state.hung, *suspects) if state.late else state.hung,
        waiting=(*again, *state.waiting),
    )


def _blamed(state: Examination, check: Check, device: str) -> Reading:
    if state.late:
        doing = f" ({state.what})" if state.what else ""
        fault = (
            f"{device} did not finish within {fmt.seconds(state.limit_seconds)}{doing};"
            " the engine was ended."
        )
        return Reading(test=check.test, device=device, what=check.test, fault=fault)
    failed = state.failed
    assert failed is not None
    return Reading(
        test=check.test,
        device=device,
        what=check.test,
        fault=f"{failed.error} {failed.hint}".strip(),
        detail=failed.detail,
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
    return replace(state, outcome="complete")


def _left_out(check: Check, device: str) -> Reading:
    return Reading(
        test=check.test,
        device=device,
        what=check.test,
        skipped=f"{device} hung in an earlier test.",
    )
