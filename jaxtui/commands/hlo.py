"""``jaxtui hlo``: what JAX and XLA make of an op, stage by stage."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from jaxtui.commands.hlo_request import STAGES, Request, Stage
from jaxtui.commands.interrupt import Interrupt, ctrl_c
from jaxtui.commands.launch import CannotRun
from jaxtui.commands.progress import progress
from jaxtui.commands.session import EngineFactory, Session, session
from jaxtui.commands.terminal import put, put_bytes, say
from jaxtui.document import SCHEMA, encode
from jaxtui.engine.client import EngineOptions, EngineUnavailableError
from jaxtui.model import (
    Case,
    Hello,
    Inspected,
    Inspection,
    Ready,
    RunFinished,
    WorkFailed,
)
from jaxtui.tui import inspect_text
from jaxtui.tui.state import EMPTY, State

__all__ = ["STAGES", "Request", "run"]

FINE, CASE_FAILED, INTERRUPTED = 0, 1, 130

_TEXTS: tuple[Stage, ...] = ("jaxpr", "stablehlo", "hlo")


@dataclass
class _Outcome:
    """What has arrived; read when it is interrupted."""

    case: Case | None = None
    inspected: Inspected | None = None
    failed: WorkFailed | None = None
    session: Session | None = None
    number: int | None = None
    interrupt: Interrupt = field(default_factory=Interrupt)

    @property
    def state(self) -> State:
        return self.session.state if self.session else EMPTY

    def stop(self) -> Coroutine[Any, Any, None] | None:
        """Ends the run once there is one."""
        if self.number is None or self.session is None:
            return None
        return self.session.engine.stop()


def run(
    factory: EngineFactory, options: EngineOptions, request: Request, *, as_json: bool
) -> int:
    """Compiles what was asked for, prints what became of it, gives the exit code.

    Args:
        factory: makes the engine.
        options: how to start it.
        request: the case, and which texts to print.
        as_json: print one JSON document.

    Raises:
        CannotRun: if the engine cannot start; nothing is on stdout then.
        SelectionError: if an op or a device does not exist.
    """
    outcome = _Outcome()
    try:
        asyncio.run(_inspect(factory, options, request, outcome))
    except EngineUnavailableError as error:
        raise CannotRun(str(error)) from error
    except (asyncio.CancelledError, KeyboardInterrupt):
        outcome.interrupt.happened = True
    if as_json:
        put_bytes(encode(_document(outcome, request)))
    elif outcome.inspected is not None:
        put("\n\n".join(_report(outcome.inspected, request.stage)))
    if outcome.failed is not None and not as_json:
        say(_sentence(outcome.failed, outcome.case))
        if outcome.failed.detail:
            say(outcome.failed.detail)
    if outcome.interrupt.happened:
        say("Interrupted.")
        return INTERRUPTED
    return FINE if outcome.inspected is not None else CASE_FAILED


async def _inspect(
    factory: EngineFactory, options: EngineOptions, request: Request, outcome: _Outcome
) -> None:
    async with session(factory, options) as engine:
        outcome.session = engine
        with ctrl_c(outcome.interrupt, outcome.stop):
            async with progress(sys.stderr, lambda: outcome.state):
                await _follow(engine, request, outcome)


async def _follow(engine: Session, request: Request, outcome: _Outcome) -> None:
    """Asks as soon as the devices are known, and listens until the answer is there."""
    async for envelope in engine.events():
        match envelope.event:
            case Hello(ops=ops):
                # Before the backend is up, which on a TPU takes seconds.
                request.check(ops)
            case Ready(ops=ops, devices=devices) if outcome.number is None:
                outcome.case = request.case(ops, devices)
                inspection = Inspection(case=outcome.case)
                outcome.number = await engine.engine.run(inspection)
            case Inspected() as inspected:
                outcome.inspected = inspected
            case WorkFailed() as failed:
                outcome.failed = failed
            case RunFinished() if envelope.run == outcome.number:
                return


def _sentence(failed: WorkFailed, case: Case | None) -> str:
    """What went wrong with which case: of an engine that died only that is known."""
    sentence = f"{failed.error} {failed.hint}".rstrip()
    if case is None or case.op in failed.error:
        return sentence
    return f"{case.label}: {sentence}"


def _report(inspected: Inspected, stage: Stage | None) -> Iterator[str]:
    yield inspect_text.summary(inspected)
    if stage is None:
        yield inspect_text.entry(inspect_text.hlo(inspected.hlo))
    for name in _TEXTS:
        if stage in (name, "all"):
            text = str(getattr(inspected, name)).strip()
            yield f"{name}:\n\n{text}" if stage == "all" else text


def _document(outcome: _Outcome, request: Request) -> dict[str, Any]:
    """The JSON document; texts that were not asked for are ``None``."""
    inspected = outcome.inspected
    facts: dict[str, Any] = (
        msgspec.structs.asdict(inspected)
        if inspected is not None
        else dict.fromkeys(Inspected.__struct_fields__)
    )
    for name in _TEXTS:
        if request.stage not in (None, name, "all"):
            facts[name] = None
    eager = None if inspected is None else inspected.eager_kernels
    return {
        "schema": SCHEMA,
        "host": outcome.state.host,
        **facts,
        "case": outcome.case,
        "eager_kernels": eager,
        "failure": outcome.failed,
    }
