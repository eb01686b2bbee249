"""The engine as the commands use it: start it, listen until it is ready, end it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from jaxtui.commands.launch import CannotRun, spawn_process
from jaxtui.engine.client import Engine, EngineClient, EngineOptions
from jaxtui.engine.protocol import Envelope
from jaxtui.model import EngineDied, EngineFailed
from jaxtui.tui.state import EMPTY, State, reduce

EngineFactory = Callable[[EngineOptions], Engine]


def spawn_engine(options: EngineOptions) -> Engine:
    """An engine process and its client."""
    return EngineClient(options, spawn_process(options))


@dataclass
class Session:
    """An engine that is up, and the snapshot of what it has said so far."""

    engine: Engine
    state: State = field(default=EMPTY)

    async def events(self) -> AsyncIterator[Envelope]:
        """Every event, after the snapshot has taken it in.

        An engine that fails later than this is told by the events of its run.

        Raises:
            CannotRun: if the engine fails or dies before it has listed its devices.
        """
        async for envelope in self.engine.events():
            self.state = reduce(self.state, envelope)
            match envelope.event:
                case EngineFailed() as failed if not self.state.devices:
                    raise CannotRun(explain(failed))
                case EngineDied() as died if not self.state.devices:
                    raise CannotRun(_last_words(died, self.state.log))
                case _:
                    yield envelope


@asynccontextmanager
async def session(
    factory: EngineFactory, options: EngineOptions
) -> AsyncIterator[Session]:
    """An engine for the length of a ``with`` block; it is gone afterwards."""
    engine = factory(options)
    try:
        await engine.start()
        yield Session(engine)
    finally:
        await engine.close()


def _last_words(died: EngineDied, log: Sequence[str]) -> str:
    printed = " ".join(line.strip() for line in log[-3:])
    said = f" It printed: {printed}" if printed else ""
    how = f"exit status {died.returncode}"
    return f"The engine ended before it had listed its devices ({how}).{said}"


def explain(failed: EngineFailed) -> str:
    """Why the engine cannot serve, what to do, and who holds the accelerator."""
    holders = [
        f"{holder.command} (process {holder.pid}, user {holder.user or 'unknown'})"
        for holder in failed.holders
    ]
    held = f"Held by {', '.join(holders)}." if holders else ""
    return " ".join(part for part in (failed.error, held, failed.hint) if part)
