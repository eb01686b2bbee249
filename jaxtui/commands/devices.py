"""``jaxtui devices``: what JAX sees on this machine."""

from __future__ import annotations

import sys

from jaxtui.commands import FINE
from jaxtui.commands.launch import CannotRun
from jaxtui.commands.progress import progress
from jaxtui.commands.session import EngineFactory, session
from jaxtui.commands.terminal import put, put_bytes, say
from jaxtui.document import devices_document, encode
from jaxtui.engine.client import EngineOptions
from jaxtui.model import Ready
from jaxtui.signals import interrupt
from jaxtui.tui.state import EMPTY, State
from jaxtui.view.devices import finding_text, overview


def run(factory: EngineFactory, options: EngineOptions, *, as_json: bool) -> int:
    """Prints the devices and gives the exit code.

    Raises:
        CannotRun: if the engine cannot start.
    """
    state = interrupt.run(_ready(factory, options)) or EMPTY
    if as_json:
        put_bytes(encode(devices_document(state.host, state.devices)))
        for finding in state.findings:
            say(finding_text(finding))
    elif state.devices:
        put(overview(state.host, state.devices, state.findings))
    return FINE


async def _ready(factory: EngineFactory, options: EngineOptions) -> State:
    """The snapshot once the engine has listed its devices, its last words included."""
    async with session(factory, options) as engine:
        async with progress(sys.stderr, lambda: engine.state):
            async for envelope in engine.events():
                if isinstance(envelope.event, Ready):
                    # JAX's reasons come by the log, which may be a little later.
                    await engine.engine.close()
        if engine.state.devices:
            return engine.state
    raise CannotRun("The engine ended before it had listed its devices.")
