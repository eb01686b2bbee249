"""The host's load and the memory of the devices, second by second."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult

from jaxtui.core.model import Device
from jaxtui.ui.app.base import base
from jaxtui.ui.sheet import Sheet
from jaxtui.ui.text import Line
from jaxtui.ui.widgets.panel import Panel

if TYPE_CHECKING:
    from jaxtui.machine.load import Load

READINGS = 240
"""The number of kept readings, one a second: a cell each on a wide screen."""


class LoadPanel(Panel):
    """A line; in a tall terminal, or beside a single device, a panel."""

    DEFAULT_CSS = """
    LoadPanel { border: none; height: 1; display: none; }
    """

    def __init__(self) -> None:
        super().__init__("load", id="load-panel")
        self._loads: deque[Load] = deque(maxlen=READINGS)
        self._devices: deque[Sequence[Device]] = deque(maxlen=READINGS)
        self._paper = Sheet(id="load")

    def compose(self) -> ComposeResult:
        yield self._paper

    def on_mount(self) -> None:
        self.set_interval(1.0, self.read)

    def on_resize(self, event: events.Resize | None = None) -> None:
        super().on_resize()
        self._draw()

    def read(self) -> None:
        """Take a reading and draw the last ones; nothing while it is not in view."""
        app = base(self)
        state = app.session.state
        # Not before JAX is up: it needs the processor more.
        if not state.devices:
            return
        from jaxtui.machine import load
        from jaxtui.ui import documents as document

        if (now := load.read()) is None:
            return
        self._loads.append(now)
        # Those of other processes do not say what they use.
        self._devices.append([device for device in state.devices if device.memory])
        if state.accelerator is not None and not state.busy:
            app.background(app.session.engine.refresh_memory, "memory", exclusive=True)
        self.set_title(
            document.machine(state.host, "hostname", "cpu", by=" · ") or "load"
        )
        if self.screen is app.screen:
            self._draw()

    def _draw(self) -> None:
        self._paper.show(self._lines)

    def _lines(self, width: int) -> list[Line]:
        if not self._loads:
            return []
        from jaxtui.features.devices import load

        gauges = load.gauges(tuple(self._loads), tuple(self._devices))
        return load.lines(gauges, width, max(1, self.content_size.height))
