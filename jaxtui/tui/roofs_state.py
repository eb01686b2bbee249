"""The roofs of the devices, as far as they were measured in this session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from jaxtui.model import Device, Ending, Event, RunFinished, WorkFailed
from jaxtui.model.base import HOST
from jaxtui.model.roofs import (
    Roof,
    RoofMeasured,
    Roofs,
    RoofsMeasured,
    RoofsStarted,
)


@dataclass(frozen=True, slots=True)
class RoofsState:
    """What is known of the roofs, and what became of the last measuring of some."""

    known: tuple[RoofsMeasured, ...] = ()
    """At most one of each piece of silicon; the dtypes of several runs together."""
    asked: Roofs | None = None
    """What the last measuring is, or was, to find out."""
    found: RoofsMeasured | None = None
    """What it has found while it goes on."""
    failed: WorkFailed | None = None
    outcome: Ending | None = None
    """``None`` before the first, and while one goes on."""

    @property
    def going(self) -> bool:
        """Whether some are being measured."""
        return self.asked is not None and self.outcome is None


NO_ROOFS = RoofsState()


def asking(state: RoofsState, work: Roofs) -> RoofsState:
    """The state when an engine is about to be asked: nothing is known of it yet."""
    return RoofsState(known=state.known, asked=work)


def not_begun(state: RoofsState) -> RoofsState:
    """The state when nobody measures what was asked; unchanged if somebody has."""
    return replace(state, asked=None) if state.going else state


def roofs_event(state: RoofsState, event: Event) -> RoofsState:
    """The state after one event of the run that measures roofs."""
    match event:
        case RoofsStarted():
            return asking(state, event.roofs)
        case RoofMeasured():
            return replace(state, found=_with_one(state, event.roof))
        case RoofsMeasured():
            return replace(state, found=event)
        case WorkFailed():
            return replace(state, failed=event)
        case RunFinished():
            return _ended(replace(state, outcome=event.outcome))
        case _:
            return state


def of_device(state: RoofsState, device: str) -> RoofsMeasured | None:
    """What limits a device; while it is measured, as far as that has come."""
    old = next((one for one in state.known if _same(one.device, device)), None)
    if state.found is None or not _same(state.found.device, device):
        return old
    return _together(state.found, old)


def is_measured(state: RoofsState, device: str) -> bool:
    """Whether the roofs of this very device are being measured."""
    asked = state.asked
    return asked is not None and state.going and _same(asked.device, device)


def still_there(
    state: RoofsState, before: Sequence[Device], now: Sequence[Device]
) -> RoofsState:
    """The state after an engine has started: other devices have other roofs."""
    old = [(one.name, one.device_kind) for one in before]
    new = [(one.name, one.device_kind) for one in now]
    return state if old == new or not old else NO_ROOFS


def _with_one(state: RoofsState, roof: Roof) -> RoofsMeasured | None:
    """What was found, with one roof more, or with a better one."""
    if state.asked is None:
        return None
    new = RoofsMeasured(device=state.asked.device, device_kind="", roofs=(roof,))
    return _together(new, state.found)


def _ended(state: RoofsState) -> RoofsState:
    """With what was found among what is known.

    What was broken off had less time, so it replaces nothing, and nothing is known of
    what an engine was measuring when it died.
    """
    found = state.found
    if found is None or state.outcome == "crashed":
        return replace(state, found=None)
    old = of_device(replace(state, found=None), found.device)
    whole = state.outcome == "complete" and state.failed is None
    known = _together(found, old) if whole or old is None else _together(old, found)
    others = (one for one in state.known if not _same(one.device, found.device))
    return replace(state, known=(*others, known), found=None)


def _same(one: str, other: str) -> bool:
    return _silicon(one) == _silicon(other)


def _silicon(device: str) -> str:
    """The device, or for all of a CPU's the one word: they share cores and memory."""
    return "cpu" if device == HOST or device.startswith("cpu:") else device


def _together(better: RoofsMeasured, other: RoofsMeasured | None) -> RoofsMeasured:
    """The roofs of both; of a kind that both have the first's."""
    if other is None:
        return better
    roofs = _with(better.roofs, other.roofs)
    had = {one.of for one in roofs}
    missing = {one.of: one for one in (*other.missing, *better.missing)}
    return msgspec.structs.replace(
        better,
        device_kind=better.device_kind or other.device_kind,
        roofs=roofs,
        missing=tuple(one for one in missing.values() if one.of not in had),
        cache_bytes=better.cache_bytes or other.cache_bytes,
    )


def _with(better: tuple[Roof, ...], others: tuple[Roof, ...]) -> tuple[Roof, ...]:
    """Both, each in the order of the others, whose heights the first replace."""
    new = {(one.kind, one.of): one for one in better}
    kept = [new.pop((one.kind, one.of), one) for one in others]
    return *kept, *new.values()
