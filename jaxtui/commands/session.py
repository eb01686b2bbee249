"""The engine as the commands use it: start it, listen until it is ready, end it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from jaxtui.commands.findings import narrate
from jaxtui.commands.launch import CannotRun, spawn_process
from jaxtui.engine.client import EngineClient, EngineOptions
from jaxtui.engine.protocol import Envelope
from jaxtui.history.recording import Recording
from jaxtui.model import EngineDied, EngineFailed, Waiting
from jaxtui.tui.state import EMPTY, State, reduce
from jaxtui.view.devices import failure_text, finding_text

EngineFactory = Callable[[EngineOptions], EngineClient]


def spawn_engine(options: EngineOptions) -> EngineClient:
    """An engine process and its client."""
    return EngineClient(options, spawn_process(options))


@dataclass
class Session:
    """An engine that is up, and the snapshot of what it has said so far."""

    engine: EngineClient
    state: State = field(default=EMPTY)
    recording: Recording | None = None
    """Keeps what is measured; ``None`` keeps nothing."""

    async def events(self) -> AsyncIterator[Envelope]:
        """Every event, after the snapshot has taken it in.

        An engine that fails later than this is told by the events of its run.

        Raises:
            CannotRun: if the engine fails or dies before it has listed its devices.
        """
        async for envelope in self.engine.events():
            self.state = reduce(self.state, envelope)
            if self.recording is not None:
                self.recording.observe(envelope.event)
            match envelope.event:
                case EngineFailed() as failed if not self.state.devices:
                    raise CannotRun(failure_text(failed, self.state.findings))
                case EngineDied() as died if not self.state.devices:
                    raise CannotRun(_last_words(died, self.state.log))
                case EngineDied(error=error):
                    narrate(error)
                case Waiting(finding=finding):
                    narrate(finding_text(finding))
            yield envelope

    def warn(self) -> None:
        """Says what may keep this machine from doing what it can."""
        for finding in self.state.findings:
            if finding.severity != "info":
                narrate(finding_text(finding))


@asynccontextmanager
async def session(
    factory: EngineFactory, options: EngineOptions, *, record: bool = False
) -> AsyncIterator[Session]:
    """An engine for the length of a ``with`` block; it is gone afterwards.

    Args:
        factory: makes the engine.
        options: how to start it.
        record: keep what is measured in the history; it is on disk afterwards.
    """
    engine = factory(options)
    recording = Recording(narrate) if record else None
    try:
        await engine.start()
        yield Session(engine, recording=recording)
    finally:
        try:
            await engine.close()
        finally:
            if recording is not None:
                recording.close()


def _last_words(died: EngineDied, log: Sequence[str]) -> str:
    printed = " ".join(line.strip() for line in log[-3:])
    said = f" It printed: {printed}" if printed else ""
    how = f"exit status {died.returncode}"
    return f"The engine ended before it had listed its devices ({how}).{said}"
