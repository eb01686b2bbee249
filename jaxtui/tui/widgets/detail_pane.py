"""All that the selected device, and its host, say of themselves."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from jaxtui.model import Device
from jaxtui.tui.state import EMPTY, State
from jaxtui.tui.widgets.paper import content
from jaxtui.view import devices
from jaxtui.view.check import Report
from jaxtui.view.check_screen import details


class DetailPane(VerticalScroll, can_focus=True):
    """Facts of the device, its memory and its host, and what the layout means."""

    DEFAULT_CSS = """
    DetailPane { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""

    report: reactive[Report | None] = reactive(None, repaint=False)
    """The health check that is on screen."""

    def compose(self) -> ComposeResult:
        """One text."""
        yield Static(id="facts")

    def watch_state(self, old: State, new: State) -> None:
        """Write it anew when device or host differ."""
        if _shown(old) != _shown(new):
            self._write()

    def watch_report(self) -> None:
        """What the check has found of the device comes first."""
        self._write()

    def on_resize(self) -> None:
        """The part of the check is laid out for the width."""
        if self.report is not None:
            self._write()

    def _write(self) -> None:
        self.query_one("#facts", Static).update(self._text(self.state))

    def _text(self, state: State) -> Content:
        parts = [content(devices.finding_lines(one)) for one in state.findings]
        if state.failed is not None:
            return Content("\n\n").join([_failure(state), *parts])
        device = state.device
        if device is None:
            return Content("\n\n").join(parts)
        checked = self._checked(device)
        if checked.plain:
            parts.insert(0, checked)
        sentence = devices.explain(state.devices)
        if sentence:
            parts.append(Content(sentence))
        parts.append(_table(devices.device_facts(device)))
        parts.append(_table(devices.memory_facts(device)))
        if state.host is not None:
            parts.append(_table(devices.host_facts(state.host)))
        return Content("\n\n").join(parts)

    def _checked(self, device: Device) -> Content:
        """What the health check on screen has found of the device."""
        if self.report is None:
            return Content("")
        width = max(self.scrollable_content_region.width, 20)
        return content(details(self.report, device.name, width))


def _shown(state: State) -> tuple[object, ...]:
    """What the text is made of."""
    return state.device, state.host, state.failed, state.findings


def _table(facts: list[tuple[str, str]]) -> Content:
    width = max((len(name) for name, _ in facts), default=0) + 2
    return Content("\n").join(
        Content.assemble((name.ljust(width), "dim"), value) for name, value in facts
    )


def _failure(state: State) -> Content:
    failed = state.failed
    assert failed is not None
    parts = [Content.styled(failed.error, "bold $text-error"), Content(failed.hint)]
    parts += [Content(devices.holder_text(holder)) for holder in failed.holders]
    if failed.detail:
        parts.append(Content.styled(failed.detail, "dim"))
    return Content("\n\n").join(part for part in parts if part.plain)
