"""The tab Devices: what there is, and why a stopwatch lies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from msgspec.structs import replace
from rich.console import RenderableType
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.reactive import reactive
from textual.widgets import Label

from jaxtui.core import experiments
from jaxtui.core import format as fmt
from jaxtui.core.model import Case, CheckLevel, Experiment, Remark, SelectionError
from jaxtui.core.state import CaseState, Job
from jaxtui.features.bench import calls, figures, stopwatch
from jaxtui.features.bench import report as bench
from jaxtui.features.bench.case_pane import CASE_KEYS, CasePane
from jaxtui.features.bench.choices import disturbed
from jaxtui.features.devices import report as devices
from jaxtui.features.devices.hardware import Hardware
from jaxtui.features.devices.load_panel import LoadPanel
from jaxtui.features.devices.messages import Devices
from jaxtui.registry import part
from jaxtui.ui.app.colors import series_colors
from jaxtui.ui.app.pane import WIDE_COLUMNS, WIDER, bindings
from jaxtui.ui.app.state import State
from jaxtui.ui.documents import encode
from jaxtui.ui.export import file_stem
from jaxtui.ui.findings import failure_lines, finding_lines
from jaxtui.ui.plot import COLORS
from jaxtui.ui.progress import describe, starting
from jaxtui.ui.report import Notes, text, written
from jaxtui.ui.sheet import Figure, Sheet
from jaxtui.ui.text import Line, Span, meter
from jaxtui.ui.widgets.device_table import DeviceMoved, DeviceTable
from jaxtui.ui.widgets.panel import Panel, hint
from jaxtui.ui.widgets.plot_view import PlotView

_KEYS = (
    ("enter,r,f5", "run", "Run", "Time the case in the panel."),
    ("e", "edit", "Edit", "Take the case to the form."),
    *(key for key in CASE_KEYS if key[1] in ("timeline", "code")),
    (
        "c",
        "check('quick')",
        "Check",
        "Check (quick) that every device is present, correct and fast.",
    ),
    (
        "C",
        "check('full')",
        "Full check",
        "Check thoroughly (full): takes some minutes.",
    ),
    ("escape", "back", "Hide", "Hide the details."),
    ("p", "class", "Class", "For a class: a stopwatch, a bet, the factor, the fix."),
    ("d", "details", "Details", "List every attribute the device reports."),
    (
        "o",
        "recorded",
        "Recorded",
        "Show a recorded TPU that you don't have.",
    ),
    (
        "y",
        "copy",
        "Copy",
        "Copy the results, also to a file next to the history.",
    ),
    ("u", "export", "Export", "Write the results or the devices to a file."),
)
"""Keys, action, label, and what it does."""

_SHOWN = ("Run", "Edit", "Calls", "Code", "Check", "Details")


class DevicesPane(CasePane):
    """Devices and their map; below them the first minute."""

    HELP = "On the tab Devices"
    PURPOSES = ("bench",)

    BINDINGS: ClassVar[list[BindingType]] = bindings("devices", _KEYS, _SHOWN)

    DEFAULT_CSS = """
    DevicesPane {
        height: 1fr;
        #top { height: auto; }
        #below { height: 1fr; }
        #details-panel { height: 100%; display: none; }
        #details { height: 1fr; }
        FirstMinute { width: 1fr; }
    }
    """

    guesses = True

    details: reactive[bool | None] = reactive(None)
    """True or false as the details are shown; ``None`` leaves it to the room
    there is."""

    def __init__(self) -> None:
        super().__init__()
        self._sizes: dict[str, int] = {}
        """The size of the first minute by device, where a run has shown it."""
        self._hardware = Hardware()
        self._first = FirstMinute()
        self._facts = Sheet(id="facts")

    def compose(self) -> ComposeResult:
        with Vertical(id="top"):
            yield self._hardware
            yield LoadPanel()
        with Horizontal(id="below"):
            yield self._first
            with (
                Panel("details", [hint(self, "details", "hide")], id="details-panel"),
                VerticalScroll(id="details", can_focus=True),
            ):
                yield self._facts

    # What is on screen.

    @property
    def offer(self) -> Experiment | None:
        """Return the experiment that Enter runs: the first case, on the devices that
        are marked, or else on the selected one.
        """
        state, device = self.state, self.state.device
        if device is None or state.host is None or not state.ops:
            return None
        ordered = (device,) if device.addressable else state.devices
        try:
            offer = experiments.default_experiment(
                ordered, state.ops, state.host, self._sizes
            )
        except SelectionError:
            return None
        return experiments.on_devices(offer, state.chosen)

    @property
    def case(self) -> Case | None:
        """The case that the panel names: on it act the keys of this tab."""
        if (case := _shown_case(self.state)) is not None:
            return case.case
        offer = self.offer
        return offer.cases[0] if offer else None

    def watch_state(self, old: State, state: State) -> None:
        self.disturbed = _shown_case(state) is not None and disturbed(state)
        self._arrange()

    def watch_details(self) -> None:
        self._arrange()

    def on_resize(self, event: events.Resize) -> None:
        self._arrange()

    def draw(self) -> None:
        if self.size.area:
            panel = self.query_one("#details-panel")
            findings = () if panel.display else _urgent(self.state)
            self._first.show(self.state, self.offer, findings)

    def take_focus(self) -> None:
        self.screen.set_focus(self._hardware.table)

    def _arrange(self) -> None:
        """Share out the room, and draw the devices and details."""
        width, height = self.size
        if not width or not height:
            return
        wide = width >= WIDE_COLUMNS
        shown = bool(self.state.devices or self.state.findings)
        beside = self.details if self.details is not None else shown and width >= WIDER
        alone = bool(beside) and not wide
        panel = self.query_one("#details-panel", Panel)
        # Not by classes of this tab: with each, Textual would match all rules of its
        # style sheets with all widgets in it.
        panel.display = bool(beside)
        panel.styles.width = 44 if wide else "1fr"
        self._first.display = not alone
        self._hardware.show(self.state, self.size)
        single = self._hardware.is_single
        self.query_one("#top").styles.layout = "horizontal" if single else "vertical"
        self._hardware.styles.width = "auto" if single else "1fr"
        load = self.query_one(LoadPanel)
        # To take a height away lays out everything anew, also where there was none.
        if single or load.has_class("-framed"):
            load.styles.height = self._hardware.styles.height if single else None
        load.set_class(single, "-framed")
        load.display = bool(self.state.devices)
        device = self.state.device
        panel.set_title(f"details · {device.name}" if device else "details")
        self._facts.show(partial(_details, self.state))
        self.draw()

    # What happens in the parts.

    @on(DeviceMoved)
    def _select(self, event: DeviceMoved) -> None:
        event.stop()
        selected = self.session.state.device
        if selected is None or selected.name != event.name:
            self.session.update(cursor=event.name)

    @on(DeviceTable.RowSelected)
    def _enter(self, event: DeviceTable.RowSelected) -> None:
        event.stop()
        self.perform("run")

    # Keys.

    def why_not(self, action: str) -> str | None:
        state = self.session.state
        match action:
            case "edit" if self.case is None:
                return state.no_jax
            case "back" if not self.details:
                return "Nothing to close here."
            case "copy" if state.run is None:
                return "No result yet."
            case "export" if not state.devices and state.run is None:
                return state.no_jax
            case _:
                return super().why_not(action)

    def action_run(self) -> None:
        if (offer := self.offer) is not None:
            self.base.start(offer, "bench", self._fit)

    def _fit(self) -> None:
        """Run a larger product where twenty dispatches take longer than this one."""
        run = self.session.state.run
        measured = run.cases[0].measurement if run and run.cases else None
        if measured and (size := experiments.larger_size(measured)) is not None:
            self._sizes[measured.case.device] = size
            self.perform("run")

    def action_edit(self) -> None:
        if (case := self.case) is not None:
            from jaxtui.features.bench.values import of_case

            values, marked = of_case(case), self.session.state.chosen
            self.base.to_form(replace(values, devices=marked or values.devices))

    def action_class(self) -> None:
        part("timeline", "classroom").open_classroom(self.base, self.case)

    def action_copy(self) -> None:
        if (run := self.session.state.run) is not None:
            self.base.copy_to_file(text(bench.report(run)), "results.txt")

    def action_export(self) -> None:
        from jaxtui.features.bench.export import run_screen
        from jaxtui.ui.app.export import ExportScreen

        state = self.session.state
        if state.run is None:
            document = Devices.of(state.host, state.devices, state.hosts)
            name = file_stem("devices", state.host.hostname if state.host else "")
            contents = {".json": lambda: encode(document).decode()}
            screen = ExportScreen(name, contents)
        else:
            case = _shown_case(self.state)
            picture = calls.live(case, COLORS) if case else None
            screen = run_screen(self.base, state.run, picture)
        self.app.push_screen(screen)

    def action_check(self, level: CheckLevel) -> None:
        """Show the health check, which begins unless there was one of this level."""
        part("check", "screen").open_check(self.base, level)

    def action_back(self) -> None:
        self.details = False

    def action_details(self) -> None:
        self.details = not self.query_one("#details-panel").display

    def action_recorded(self) -> None:
        from jaxtui.features.devices import recorded

        recorded.choose(self.base)


def _details(state: State, width: int) -> list[RenderableType]:
    """Write the machine's problems, then all facts about it and the selected device."""
    urgent, device = _urgent(state), state.device
    parts: list[Sequence[RenderableType]] = [*map(finding_lines, urgent)]
    if device is not None:
        parts.append(devices.facts(device, state.devices, state.host, width))
    infos = (finding for finding in state.findings if finding not in urgent)
    parts += map(finding_lines, infos)
    return [line for part in parts if part for line in ("", *part)][1:]


def _urgent(state: State) -> tuple[Remark, ...]:
    return tuple(finding for finding in state.findings if finding.severity != "info")


def _shown_case(state: State) -> CaseState | None:
    """The case of the last run whose figures belong to the selected device."""
    run, device, selected = state.run, state.device, state.case
    if run is None or device is None:
        return None
    cases = [case for case in run.cases if case.case.device == device.name]
    if selected in cases:
        return selected
    return cases[0] if cases else None


PLOT_ROWS = 5
"""Rows that a note leaves to the plot below it."""


class FirstMinute(Panel):
    """Stopwatch, truth and NumPy as bars in one unit, and each call as a dot."""

    DEFAULT_CSS = """
    FirstMinute {
        height: 1fr;
        #first-words { height: auto; max-height: 100%; }
        #first-words Horizontal { height: auto; }
        #first-factor { width: auto; height: 4; margin-left: 2; display: none; }
        #first-factor Label { text-style: dim; }
        Figure { width: auto; height: 3; color: $danger; text-style: bold; }
        &.-wrong.-wide #first-factor { display: block; }
        #first-plot { display: none; }
        &.-ran #first-plot { display: block; }
    }
    """

    def __init__(self) -> None:
        super().__init__("why did my stopwatch lie?", id="first-minute")
        self._words = Sheet(id="readout")
        self._plot = PlotView(id="first-plot")

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="first-words", can_focus=False), Horizontal():
            yield self._words
            with Vertical(id="first-factor"):
                yield Label("off by", id="off-by")
                yield Figure()
        yield self._plot

    def on_resize(self) -> None:
        self.set_class(self.content_size.width >= 70, "-wide")
        self.query_ancestor(DevicesPane).draw()

    @property
    def text(self) -> str:
        """The figures, without their colours."""
        return self._words.text

    def show(
        self,
        state: State,
        offer: Experiment | None,
        findings: Sequence[Remark],
    ) -> None:
        """Draw what differs.

        Args:
            state: what is on screen.
            offer: what is run next.
            findings: of the machine, told here until there are figures.
        """
        case = _shown_case(state)
        self._set_title(state, offer, case)
        height = self.content_size.height
        self._words.show(partial(_lines, state, offer, findings, case, height))
        clocks = stopwatch.of_case(case) if case and not case.failure else None
        self.set_class(clocks is not None and clocks.wrong, "-wrong")
        off_by = stopwatch.off_by(case) if case is not None else None
        if off_by is not None:
            self.query_one("#off-by", Label).update(f"off by {off_by.ends}".rstrip())
            # As Digits has them.
            factor = off_by.text.translate({0xD7: "x", 0x2013: "-"})
            self.query_one(Figure).update(factor)
        colors = series_colors(self.app.theme_variables)
        picture = None if case is None else calls.live(case, colors)
        self.set_class(picture is not None and self.size.height >= 9, "-ran")
        if picture is not None and self.has_class("-ran"):
            self._plot.show(replace(picture, title="").rows)

    def _set_title(
        self,
        state: State,
        offer: Experiment | None,
        case: CaseState | None,
    ) -> None:
        offered = offer.cases[0] if offer else None
        target = case.case if case else offered
        title = "why did my stopwatch lie?"
        if state.engine == "failed" and case is None:
            self.set_title("no engine", [hint(self, "retry", "try again")])
            return
        if target is not None:
            title += f"  {target.label}"
        if state.running:
            hints = [hint(self, "stop")]
        elif offered is None:
            hints = []
        else:
            run = "" if offered == target else f"run {offered.label}"
            if len(state.chosen) > 1:
                run = f"run on {len(state.chosen)} devices"
            hints = [
                hint(self, "run", run),
                hint(self, "timeline", "calls, one by one"),
                hint(self, "class"),
                hint(self, "edit"),
            ]
        self.set_title(title, hints)


def _lines(
    state: State,
    offer: Experiment | None,
    findings: Sequence[Remark],
    case: CaseState | None,
    height: int,
    width: int,
) -> list[RenderableType | Line]:
    if case is None or state.run is None:
        return _before(state, offer, findings, height, width)
    if case.failure is not None:
        return [*failure_lines(case.failure)]
    numpy = figures.numpy_of(case, state.run)
    lines: list[RenderableType | Line] = []
    lines += stopwatch.four_lines(case, state.run, width)
    if state.job is state.run:
        lines.append(_progress(state.run, width))
    elif height - len(lines) > PLOT_ROWS and (busy := stopwatch.busy(state.run)):
        lines.append(Notes(busy, brief=True))
    if numpy is not None and numpy.failure is not None:
        lines += failure_lines(numpy.failure)
    return lines


def _before(
    state: State,
    offer: Experiment | None,
    findings: Sequence[Remark],
    height: int,
    width: int,
) -> list[RenderableType | Line]:
    """Write what Enter runs, or why nothing can run yet."""
    lines: list[RenderableType | Line] = []
    if state.engine == "failed" and state.failed is not None:
        lines += failure_lines(state.failed)
    else:
        line = Text.assemble(("Enter ", "title"), _offer_text(state, offer))
        lines.append(line)
        taken = len(written(line, width).splitlines())
        room = 0 if findings else height - taken - 1
        drawn = stopwatch.sketch(width, room)
        lines += [""] * (len(drawn) < room)
        lines += drawn
    for finding in findings:
        lines += ["", *finding_lines(finding)]
    return lines


def _offer_text(state: State, offer: Experiment | None) -> str:
    if offer is None:
        return f"starts automatically when JAX is ready ({starting(state.start)})"
    return f"runs {describe(offer)}"


def _progress(job: Job, width: int) -> Line:
    """Write the progress of the run."""
    remaining = fmt.left(job.remaining_seconds) if job.reported else "starting"
    # A full bar would say that it is done.
    drawn = meter(job.share, min(24, width // 3)) if job.share < 1 else ()
    return Span("running   ", "muted"), *drawn, Span(" " * bool(drawn) + remaining)
