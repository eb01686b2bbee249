"""The state of an engine that is starting: its step, and what may delay it.

Pure, so that the app, the commands and the client say the same.
"""

from __future__ import annotations

import os

from msgspec.structs import replace

from jaxtui.core.model import (
    EngineFailed,
    Event,
    Hello,
    Joining,
    Logged,
    Noticed,
    Record,
    Remark,
)
from jaxtui.core.model.remark import Fact
from jaxtui.core.signals import signal_name
from jaxtui.machine import causes, messages
from jaxtui.machine.hosts import proxy

KEPT_LINES = 200
"""The last lines of the log, which explain an end; a crash of libtpu prints fifty."""

ENDING = ("package-missing",)
"""Codes of the log that explain an end better than the exit status does."""


class Start(Record, frozen=True):
    hardware: str = ""
    """The hardware that JAX is to initialise; empty until the engine has looked."""
    makers: tuple[str, ...] = ()
    tpu_chips: int = 0
    """TPU chips, as in ``Noticed``."""
    imported: bool = False
    """JAX is imported; its backend may still be starting."""
    joining: Joining | None = None
    """The wait for each other, for one of several processes."""
    findings: tuple[Remark, ...] = ()
    """The engine's findings about the machine."""
    logged: tuple[Remark, ...] = ()
    """The remarks of its log beyond the findings."""
    log: tuple[str, ...] = ()
    """The last lines that it has printed."""


NOTHING = Start()


def observe(start: Start, event: Event) -> Start:
    match event:
        case Noticed():
            return replace(
                start,
                hardware=event.hardware,
                makers=event.makers,
                tpu_chips=event.tpu_chips,
                findings=event.findings,
            )
        case Hello():
            return replace(start, imported=True)
        case Joining():
            return replace(start, joining=event)
        case Logged():
            start = replace(start, log=(*start.log, event.line)[-KEPT_LINES:])
            remark = messages.find(event.line, "log")
            if remark is None:
                return start
            if remark.code == "cuda-failed":
                cause = causes.find(event.line, os.environ)
                remark = replace(cause, detail=remark.detail) if cause else remark
            if remark in start.logged:
                return start
            return replace(start, logged=(*start.logged, remark))
        case _:
            return start


def slow(start: Start, elapsed_seconds: float) -> Remark:
    """Return the remark on a slow start, with its likely cause."""
    if awaits_others(start):
        facts = {**others(start), "seconds": elapsed_seconds}
        return Remark("hosts-awaited", facts, "warning")
    facts = {**_facts(start), "seconds": elapsed_seconds}
    return Remark("slow-start", facts, "warning")


def timed_out(start: Start, limit_seconds: float) -> EngineFailed:
    """Return the failure of an engine that did not start in time."""
    if awaits_others(start):
        facts = {**others(start), "seconds": limit_seconds}
        return EngineFailed(remark=Remark("hosts-missing", facts, "error"))
    facts = {**_facts(start), "seconds": limit_seconds}
    log = "\n".join(start.log)
    return EngineFailed(remark=Remark("start-timeout", facts, "error", log))


def died(start: Start, returncode: int | None) -> EngineFailed:
    """Return the failure of an engine that ended before it was ready; its log may say
    why.

    Args:
        start: how far it had come.
        returncode: as ``subprocess`` gives it.
    """
    for remark in start.logged:
        if remark.code in ENDING:
            return EngineFailed(remark=remark)
    words = messages.last_words(start.log)
    if cause := causes.find("\n".join(start.log), os.environ):
        return EngineFailed(remark=replace(cause, detail=words))
    facts = {**how_ended(returncode), "ready": False}
    return EngineFailed(remark=Remark("engine-died", facts, "error", words))


def how_ended(returncode: int | None) -> dict[str, Fact]:
    """The end of a process as facts: a ``signal``, a ``status``, or neither.

    Args:
        returncode: as ``subprocess`` gives it, negative for a signal; ``None`` for a
            process that has not ended yet.
    """
    if returncode is None:
        return {}
    if returncode >= 0:
        return {"status": returncode}
    return {"signal": signal_name(-returncode)}


def awaits_others(start: Start) -> bool:
    """Return whether it waits for other processes, as far as known."""
    return start.joining is not None and not start.joining.hostnames


def _is_slice(remark: Remark) -> bool:
    return remark.code == "pod-slice"


def is_slice(start: Start) -> bool:
    """Return whether JAX will wait for the other hosts of a TPU slice."""
    return start.imported and any(map(_is_slice, start.findings))


def others(start: Start) -> dict[str, Fact]:
    """Whom it waits for, as facts."""
    joining = start.joining
    assert joining is not None
    place, names = joining.place, joining.names
    absent = joining.missing
    if place.process and not joining.heard:
        absent = (0,)
    return {
        "coordinator": place.coordinator,
        "process": place.process,
        "processes": place.processes,
        "launcher": place.launcher,
        "missing": absent,
        "names": tuple(names[process] for process in absent) if names else (),
        "obstacle": joining.obstacle,
        "proxy": proxy(os.environ),
        "chips": start.tpu_chips,
    }


def _facts(start: Start) -> dict[str, Fact]:
    return {
        "imported": start.imported,
        "hardware": start.hardware,
        "makers": start.makers,
        "slice": is_slice(start),
        "others": next(
            (
                finding.facts.get("others", ())
                for finding in start.findings
                if _is_slice(finding)
            ),
            (),
        ),
    }
