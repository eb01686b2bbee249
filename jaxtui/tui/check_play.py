"""What the health check does next: decisions over the snapshot, without an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jaxtui.analysis import examination
from jaxtui.model import Check, CheckLevel, Device
from jaxtui.tui.check_state import CheckState

RESTART_SECONDS = 180.0
"""How long an engine may take to come up for the next test. A TPU starts in tens of
seconds; one that has hung may never start again."""


def addressable(devices: Sequence[Device]) -> tuple[Device, ...]:
    """Those that this process can use, and so can test."""
    return tuple(device for device in devices if device.addressable)


def begun(devices: Sequence[Device], level: CheckLevel) -> CheckState:
    """A new check of all devices that this process can use, at least one; in view."""
    exam = examination.begin(addressable(devices), level)
    return CheckState(level=level, exam=exam, shown=True)


def following(state: CheckState, running: bool) -> tuple[CheckState, Check | None]:
    """What the engine is to do next for the check, once it is free.

    Args:
        state: the check.
        running: a run goes on, whatever it is for.

    Returns:
        The state with the next test asked for, and that test; or the state of a check
        that has come to its end, and ``None``. While a test goes on nothing changes.
    """
    exam = state.exam
    if exam is None or running or state.asked or not state.going:
        return state, None
    if state.stopping:
        return replace(state, exam=examination.cancelled(exam)), None
    return replace(state, asked=True), exam.next_check


def not_begun(state: CheckState) -> CheckState:
    """The test that was asked for could not begin: it is still to do."""
    return replace(state, asked=False)


def stopped(state: CheckState) -> CheckState:
    """The user wants the check to end."""
    return replace(state, stopping=True)


def overdue(state: CheckState) -> CheckState:
    """The test that goes on has passed its time limit."""
    if state.exam is None:
        return state
    return replace(state, exam=examination.overdue(state.exam))


def given_up(state: CheckState, why: str) -> CheckState:
    """There is no engine to go on with; what was read stays.

    Args:
        state: the check.
        why: one sentence.
    """
    if state.exam is None:
        return state
    exam = state.exam
    end = (
        examination.cancelled(exam)
        if state.stopping
        else examination.given_up(exam, why)
    )
    return replace(state, exam=end, asked=False)
