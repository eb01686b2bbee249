"""What is known of an engine that is starting: what it does, what may take it so long.

Pure, so that the app, the commands and the client say the same.
"""

from __future__ import annotations

from msgspec.structs import replace

from jaxtui.machine import messages, topologies
from jaxtui.model import EngineFailed, Event, Finding, Hello, Logged, Noticed, Record

KEPT_LINES = 40
"""The last lines of the log, kept to explain an end."""

SLICE_SECONDS = 60.0
"""From when on JAX itself says that a TPU may be one host of a slice."""


class Start(Record, frozen=True):
    hardware: str = ""
    """What JAX is to initialise, in words; empty until the engine has looked."""
    makers: tuple[str, ...] = ()
    tpu_chips: int = 0
    """As in ``Noticed``."""
    imported: bool = False
    """JAX is imported; its backend may still be starting."""
    findings: tuple[Finding, ...] = ()
    """What the engine has found out about the machine."""
    logged: tuple[Finding, ...] = ()
    """What its log has said beyond that."""
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
        case Logged():
            found = messages.from_log(event.line)
            if found is not None and found.name == "slice-waits":
                advice = topologies.slice_advice(start.tpu_chips)
                found = replace(found, advice=advice)
            new = found is not None and found not in start.logged
            return replace(
                start,
                log=(*start.log, event.line)[-KEPT_LINES:],
                logged=(*start.logged, found) if found and new else start.logged,
            )
        case _:
            return start


def doing(start: Start) -> str:
    """What the engine does: ``initialising JAX on 8 chips TPU v5e``."""
    if not start.imported:
        return "starting JAX"
    return f"initialising JAX on {start.hardware}" if start.hardware else "starting JAX"


def slow(start: Start, elapsed_seconds: float) -> Finding:
    """That the start takes longer than usual, and what that usually means."""
    text = doing(start)
    return Finding(
        name="slow-start",
        severity="warning" if elapsed_seconds >= SLICE_SECONDS else "info",
        what=f"{text[0].upper()}{text[1:]} has taken {elapsed_seconds:.0f} s so far.",
        how=_how(start),
        advice=_advice(start, elapsed_seconds),
    )


def timed_out(start: Start, limit_seconds: float) -> EngineFailed:
    """That the engine was ended, because it did not start in time."""
    return EngineFailed(
        reason="timeout",
        error=f"JAX did not start within {limit_seconds:g} s, so jaxtui ended it. "
        f"{_how(start)}",
        hint=f"{_advice(start, max(limit_seconds, SLICE_SECONDS))} A longer limit is "
        "--start-limit SECONDS; 0 is none.",
        detail="\n".join(start.log),
    )


def died(start: Start, text: str) -> EngineFailed:
    """Why an engine ended before it was ready, as far as its log says so.

    Args:
        start: how far it had come.
        text: how it ended, one sentence.
    """
    for one in start.logged:
        if one.name in messages.FATAL:
            return EngineFailed(
                reason="backend", error=one.what, hint=one.advice, detail=one.detail
            )
    return EngineFailed(
        reason="died",
        error=f"{text} That was before JAX was up.",
        hint="Its last words may say why.",
        detail=messages.last_words(start.log),
    )


def _how(start: Start) -> str:
    if not start.imported:
        return "Python was still importing JAX."
    on = f" on {start.hardware}" if start.hardware else ""
    return f"JAX is imported, but its backend{on} had not answered."


def _advice(start: Start, elapsed_seconds: float) -> str:
    for finding in start.findings:
        if finding.name == "pod-slice":
            return f"{finding.what} {finding.advice}"
    if not start.imported:
        return (
            "The first import after installing takes long, and so does one from a "
            "network file system or on a busy machine."
        )
    if "tpu" in start.makers:
        if elapsed_seconds < SLICE_SECONDS:
            return "A TPU takes seconds, after a restart of the machine up to a minute."
        return (
            "On one host of a TPU slice JAX waits until it runs on all of them. "
            f"{topologies.slice_advice(start.tpu_chips)} "
            "Otherwise restart the machine."
        )
    if start.makers:
        tool = "nvidia-smi" if "cuda" in start.makers else "rocm-smi"
        return (
            f"The first program after a restart loads the driver. If `{tool}` does "
            "not answer either, the driver hangs: restart the machine."
        )
    return "Nothing here should take that long: look at what else the machine does."
