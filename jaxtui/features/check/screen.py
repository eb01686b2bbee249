"""The health check: the devices by test, the chips by verdict, the figures below."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from rich.console import Group, RenderableType
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal

from jaxtui.core.model import CheckLevel
from jaxtui.features.check.exam import Examination, begin
from jaxtui.features.check.messages import Checked
from jaxtui.features.check.report import (
    FINE,
    OUTCOME,
    exam_of,
    figures,
    grid,
    headline,
    marks,
)
from jaxtui.ui.app.base import BaseApp
from jaxtui.ui.app.modal import modal_keys
from jaxtui.ui.report import Notes
from jaxtui.ui.screen import ReportScreen
from jaxtui.ui.sheet import Sheet
from jaxtui.ui.table import Listing
from jaxtui.ui.widgets.chip_map import ChipMap
from jaxtui.ui.widgets.device_table import DeviceMoved
from jaxtui.ui.widgets.panel import Panel, ScrollPanel, hint


class CheckScreen(ReportScreen):
    """Checks the devices when it opens, unless that was done."""

    HELP = "On the check"
    PURPOSE = "check"
    OUTCOME = OUTCOME

    BINDINGS: ClassVar[list[BindingType]] = modal_keys(
        "check",
        (
            *ReportScreen.KEYS,
            ("C", "full", "Full", "Check thoroughly (full): takes some minutes."),
            ("enter", "device", "Device", "The figures of one device, or of all."),
        ),
        ("Back", "Again", "Full", "Device", "Export"),
    )

    DEFAULT_CSS = """
    CheckScreen {
        #check-upper { height: auto; max-height: 50%; }
        #check-devices { width: 3fr; height: auto; max-height: 100%; }
        Listing { height: auto; max-height: 100%; }
        #check-map { width: 2fr; height: 100%; }
        #check-figures { height: 1fr; }
        &.-narrow #check-map { display: none; }
    }
    """

    AUTO_FOCUS = ""
    """:meth:`draw` sets the focus, when it knows how many devices there are."""

    def __init__(self, level: CheckLevel = "quick") -> None:
        super().__init__()
        self.level = level
        self.one_device = False
        """Only the figures of the device at the cursor are shown."""
        self._judged: tuple[Examination | None, Checked] | None = None
        self.table = Listing()
        self.chips = ChipMap()

    def body(self) -> ComposeResult:
        with Horizontal(id="check-upper"):
            with Panel("devices", id="check-devices"):
                yield self.table
            with Panel("map · by verdict", id="check-map"):
                yield self.chips
        with ScrollPanel("check", id="check-figures"):
            yield Sheet(id="check-report")

    def on_mount(self) -> None:
        exam = exam_of(self.base.session.state)
        if exam is not None and (exam.level, self.level) == ("quick", "full"):
            self.call_after_refresh(self.perform, "again")

    @property
    def result(self) -> Checked:
        state = self.base.session.state
        exam = exam_of(state)
        if self._judged is None or self._judged[0] is not exam:
            self._judged = exam, OUTCOME.result(state, True)
        return self._judged[1]

    def action_again(self) -> None:
        session = self.base.session
        own = tuple(device for device in session.state.devices if device.addressable)
        exam = begin(own, self.level, session.state.ops)
        self.base.background(partial(session.play, exam, "check"))

    def action_full(self) -> None:
        self.level = "full"
        self.action_again()

    def why_not(self, action: str) -> str | None:
        return super().why_not("again" if action == "full" else action)

    def action_device(self) -> None:
        self.one_device = not self.one_device
        self.redraw()

    @on(Listing.RowHighlighted)
    def _select(self) -> None:
        self.redraw()

    @on(Listing.RowSelected)
    def _enter(self) -> None:
        self.action_device()

    @on(DeviceMoved)
    def _aim(self, event: DeviceMoved) -> None:
        event.stop()
        names = [device.name for device in self._exam.devices] if self._exam else []
        if event.name in names:
            self.table.move_cursor(row=names.index(event.name))

    @property
    def _exam(self) -> Examination | None:
        return exam_of(self.base.session.state)

    def draw(self) -> None:
        exam, check = self._exam, self.result
        devices = exam.devices if exam else ()
        self.query_one("#check-upper").display = len(devices) > 1
        tests, title = check.tests, f"check · {check.level}"
        if len(devices) > 1:
            names = [device.name for device in devices]
            self.table.show(grid(check, exam).columns, names)
            device = devices[self.table.cursor_row]
            self.chips.show(devices, device.name, marks(check, devices))
            if self.one_device:
                tests = tuple(x for x in tests if x.device in (device.name, None))
                title += f" · {device.label}"
        if devices and self.focused is None:
            (
                self.table if len(devices) > 1 else self.query_one("#check-figures")
            ).focus()
        running = exam is not None and exam.outcome is None
        hints = [hint(self, "app.stop", "stop") if running else hint(self, "full")]
        self.query_one("#check-figures", Panel).set_title(title, hints)
        notes = check.notes
        # What is wrong is in sight.
        wrong = [x for x in notes if x.level != "info" and check.verdict not in FINE]
        rest = [note for note in notes if note not in wrong]
        parts: list[RenderableType] = [headline(check, exam)]
        parts += ["", Notes(wrong)] if wrong else []
        parts += ["", figures(tests, devices)] if tests else []
        parts += ["", Notes(rest)] if rest else []
        self.query_one("#check-report", Sheet).content = Group(*parts)


def open_check(app: BaseApp, level: CheckLevel) -> None:
    """Show the check of the devices that this process can use, or say why not."""
    state = app.session.state
    if refusal := state.refusal("verdicts"):
        app.session.say(refusal, "key")
    elif state.devices and not any(device.addressable for device in state.devices):
        app.say("None of these devices belongs to this process.")
    else:
        app.push_screen(CheckScreen(level))
