"""The screen that writes files, and what can be written of each tab."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.content import Content
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.widgets import Input, Static
from textual.widgets.option_list import Option

from jaxtui import format as fmt
from jaxtui import scripts
from jaxtui.document import Devices, Results, check_results, encode
from jaxtui.engine.client import EngineUnavailableError
from jaxtui.export import (
    DARK,
    FORMATS,
    ExistsError,
    ExportError,
    Look,
    check,
    file_stem,
    here,
    of_cases,
    stamp,
    write,
)
from jaxtui.model import Case, Experiment, Plan
from jaxtui.text import visible
from jaxtui.tui.base import base
from jaxtui.tui.dialogs import Question
from jaxtui.tui.threads import Latest, Work, in_thread
from jaxtui.tui.widgets.panel import BorderedInput, Panel, PanelList
from jaxtui.view import bench
from jaxtui.view.bench import collect
from jaxtui.view.check import text as check_text

if TYPE_CHECKING:
    from jaxtui.model import Host
    from jaxtui.plot import Picture
    from jaxtui.state import Job
    from jaxtui.tui.base import BaseApp
    from jaxtui.tui.state import State
    from jaxtui.view.check import Report

LABELS = {
    ".json": "JSON",
    ".csv": "CSV",
    ".md": "Markdown",
    ".svg": "SVG",
    ".txt": "Text",
    ".py": "Script",
}
"""What a format is called, by the ending of its file."""

CLIPBOARD_BYTES = 74_994
"""What the escape code for the clipboard carries at most in common terminals: 100,000
bytes, of which the encoding takes a quarter and the code itself a few."""

KEYS = "Enter write · Esc leave · Up Down format · Tab name · a copy too"

NOT_READY = "JAX is not ready yet, and it is what writes the script."


# What there is to write.


Make = Callable[[], "str | Awaitable[str]"]
"""Makes a text, at once or when the disk or the engine has answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One way to write something down."""

    ending: str
    """Of the file's name, with its dot: one of ``LABELS``."""
    holds: str
    """What is in it: a plain line of at most 60 cells."""
    stem: str
    """What the file is called by default, without the ending."""
    make: Make

    @property
    def name(self) -> str:
        """What the file is called by default."""
        return self.stem + self.ending

    async def content(self) -> str:
        """The text of the file; an ``ExportError`` says why there is none."""
        made = self.make()
        return made if isinstance(made, str) else await made


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Everything that can be exported at the moment."""

    what: str
    """What it is of, in a few words."""
    formats: tuple[Format, ...]
    """At least one."""


def formats(stem: str, *described: tuple[str, str, Make]) -> list[Format]:
    """Several formats of one thing.

    Args:
        stem: what the files are called by default.
        described: ending, what is in it, and what makes it.
    """
    return [
        Format(ending=ending, holds=holds, stem=stem, make=make)
        for ending, holds, make in described
    ]


Planner = Callable[[Experiment], Awaitable[Plan]]
"""Asks the engine for the recipes of cases; raises ``ExportError`` if it cannot."""


def planner(app: BaseApp) -> Planner:
    """What asks the engine of the app."""

    async def plan(experiment: Experiment) -> Plan:
        if app.session.state.engine not in ("ready", "running"):
            raise ExportError(NOT_READY)
        try:
            return await app.session.plan(experiment, recipes=True)
        except EngineUnavailableError as error:
            raise ExportError(str(error)) from error

    return plan


def script_of(case: Case, plan: Planner) -> Format:
    """The script of a single case."""
    stem = file_stem(of_cases((case,)), case.mode, stamp())
    holds = f"plain JAX and NumPy that time {case.label}"
    return script(stem, holds, (case,), plan)


def script(stem: str, holds: str, cases: tuple[Case, ...], plan: Planner) -> Format:
    """The script of cases, which take turns if there are several."""

    async def make() -> str:
        return scripts.of_cases((await plan(Experiment(cases=cases))).cases)

    return Format(ending=".py", holds=holds, stem=stem, make=make)


def look_of(app: BaseApp) -> Look:
    """The colours of the theme; where it leaves them to the terminal, dark ones."""
    variables = app.theme_variables
    found = [Color.parse(variables[name]) for name in ("background", "foreground")]
    if any(color.ansi is not None for color in found):
        return DARK
    return Look(*(color.rgb for color in found))


def of_run(
    state: State, run: Job, picture: Picture | None, look: Look, plan: Planner
) -> Offer:
    """The run of the tab Bench.

    Args:
        state: what is on screen.
        run: its run.
        picture: the plot that is shown, if there is one.
        look: the colours of the theme.
        plan: for the scripts.
    """
    cases = tuple(each.case for each in run.cases)
    count = f", {len(cases)} cases" if len(cases) > 1 else ""
    going = "" if run.outcome else ", what has arrived so far"
    stem = file_stem(of_cases(cases), stamp())
    files = bench.files(so_far(state.host, run), run, picture, str, look)
    drawn = "the plot as it is shown" if picture else "the table: there is no plot yet"
    found = formats(
        stem,
        (
            ".json",
            "every figure, as jaxtui bench --json; for jaxtui compare",
            files[".json"],
        ),
        (".csv", "a row per case in base units, for spreadsheets", files[".csv"]),
        (".md", "a table for people", files[".md"]),
        (".svg", f"{drawn}, as a picture", files[".svg"]),
        (".txt", f"{drawn}, and the results", files[".txt"]),
    )
    if state.case is not None:
        found.append(script_of(state.case.case, plan))
    if len(cases) > 1:
        every = "both" if len(cases) == 2 else f"all {len(cases)}"
        holds = f"the same for {every} cases, which take turns"
        found.append(script(stem, holds, cases, plan))
    return Offer(what=f"{bench.title(run)}{count}{going}", formats=tuple(found))


def so_far(host: Host | None, run: Job) -> Results:
    """A run as a document; while it is running, only what has arrived."""
    if run.outcome is None:
        arrived = (
            one
            for one in run.cases
            if one.failure or (one.measurement and one.measurement.ready)
        )
        run = replace(run, cases=tuple(arrived))
    return collect(host, (), run)


def of_check(state: State, report: Report) -> Offer:
    """The health check, and the devices."""

    def document() -> str:
        exam = report.exam
        results = check_results(
            state.host,
            state.devices,
            report.verdicts,
            level=exam.level if exam else "quick",
            baseline=None,
            outcome=(exam.outcome if exam else None) or "cancelled",
        )
        return encode(results).decode()

    stem = file_stem("check", state.host.hostname if state.host else "", stamp())
    found = formats(
        stem,
        (".json", "every reading and verdict, as jaxtui check --json", document),
        (
            ".txt",
            "the verdicts and their reasons, in words",
            lambda: check_text(report),
        ),
    )
    return Offer(what="the health check", formats=(*found, *_devices(state)))


def of_devices(state: State) -> Offer:
    """What the machine has."""
    return Offer(what="the devices of this machine", formats=tuple(_devices(state)))


def with_devices(offer: Offer, state: State) -> Offer:
    """An offer of the tab Devices: what the machine has can be written as well."""
    return replace(offer, formats=(*offer.formats, *_devices(state)))


def _devices(state: State) -> list[Format]:
    def document() -> str:
        return encode(Devices.of(state.host, state.devices)).decode()

    holds = "what JAX sees on this machine, as jaxtui devices --json"
    stem = file_stem("devices", state.host.hostname if state.host else "", stamp())
    return formats(stem, (".json", holds, document))


# Which file is meant.


def ending_of(name: str) -> str:
    """The known ending of a name; empty if it has none."""
    ending = Path(name).suffix.lower()
    return ending if ending in FORMATS else ""


def renamed(typed: str, ending: str) -> str:
    """What was typed, with the ending of another format."""
    known = ending_of(typed)
    return typed if known in ("", ending) else typed[: -len(known)] + ending


def target(typed: str, chosen: Format, offered: Sequence[Format], folder: Path) -> Path:
    """The file that is meant; looks whether there is a folder of this name.

    A name without a known ending gets that of the format, and a folder the name that
    the format suggests.

    Args:
        typed: a path.
        chosen: the format.
        offered: all there are: no file gets the ending of another one.
        folder: what the path is relative to.

    Raises:
        ExportError: Nothing was typed, or an ending that is not offered.
    """
    typed = typed.strip()
    if not typed:
        raise ExportError("Type the name of a file.")
    path, ending = folder / os.path.expanduser(typed), ending_of(typed)
    is_folder = typed in (os.curdir, os.pardir, "~") or typed.endswith(
        (os.sep, f"{os.sep}..")
    )
    if is_folder or (not ending and os.path.isdir(path)):
        return path / chosen.name
    endings = dict.fromkeys(one.ending for one in offered)
    if ending and ending not in endings:
        raise ExportError(
            f"There is no {path.suffix} of this: {', '.join(endings)} can be written."
        )
    return path if ending else Path(f"{path}{chosen.ending}")


def preview(
    typed: str, chosen: Format, offered: Sequence[Format], folder: Path
) -> tuple[str, bool]:
    """What Enter would do, without touching anything, and whether that is bad."""
    try:
        path = target(typed, chosen, offered, folder)
        check(path)
    except ExistsError as error:
        return f"{error} Enter asks before it is replaced.", True
    except ExportError as error:
        return str(error), True
    return f"Enter writes {path}", False


# The screen.


class _Formats(PanelList):
    """A list whose Enter is the screen's; a click only chooses."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "screen.write", "Write", show=False),
    ]


class _CopyToo(Static):
    """Whether the clipboard gets it as well; a mark that needs no colour."""

    on: reactive[bool] = reactive(False)
    """Whether it does."""

    def render(self) -> str:
        return f"[{'x' if self.on else ' '}] copy it to the clipboard as well"

    def on_click(self) -> None:
        self.on = not self.on


class ExportScreen(ModalScreen[None]):
    """A list of formats, the file's path, and what will come of it.

    Nothing is lost while it stays open: what cannot be written is said in a sentence.

    Args:
        offer: what there is.
    """

    HELP = "Export"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "write", "Write", tooltip="Write the file."),
        Binding("up", "choose(False)", "Up", show=False),
        Binding("down", "choose(True)", "Down", show=False),
        Binding(
            "a",
            "toggle_copy",
            "Copy too",
            tooltip="Copy the text to the clipboard as well, or not.",
        ),
        Binding("escape,q", "leave", "Leave", tooltip="Write nothing."),
    ]

    DEFAULT_CSS = """
    ExportScreen {
        align: center middle;
        #export { width: 96%; max-width: 100; max-height: 100%; }
        PanelList { height: auto; max-height: 12; background: transparent; }
        #where { min-height: 2; height: auto; width: 100%; padding: 0 1; }
        #where.-bad { color: $text-error; text-style: bold; }
        _CopyToo { width: 100%; padding: 0 1; }
    }
    """

    def __init__(self, offer: Offer) -> None:
        super().__init__()
        self._offer = offer
        self._folder = here()
        """What a path is relative to."""
        self._looking = Latest()
        self._writing = ""

    def compose(self) -> ComposeResult:
        found = self._offer.formats
        labels = [LABELS[one.ending] for one in found]
        width = max(map(len, labels)) + 2
        with Panel(f"export {self._offer.what}", KEYS, id="export"):
            yield _Formats(
                *(
                    Option(Content.assemble((f"{label:{width}}", "bold"), one.holds))
                    for label, one in zip(labels, found, strict=True)
                )
            )
            path = BorderedInput(found[0].name, id="path", select_on_focus=False)
            path.border_title = "file"
            yield path
            yield Static(id="where", markup=False)
            yield _CopyToo(markup=False)

    def on_mount(self) -> None:
        listing = self.query_one(_Formats)
        listing.highlighted = 0
        listing.focus()
        # Not its message: a slow line delivers an arrow and Enter at once.
        self.watch(listing, "highlighted", self._name_after_format)

    # Choosing.

    @property
    def _chosen(self) -> Format:
        return self._offer.formats[self.query_one(_Formats).highlighted or 0]

    def action_choose(self, down: bool) -> None:
        listing = self.query_one(_Formats)
        (listing.action_cursor_down if down else listing.action_cursor_up)()

    def _name_after_format(self) -> None:
        """The ending follows the format, and the name until it is edited."""
        field, chosen = self.query_one(Input), self._chosen
        suggested = {one.name for one in self._offer.formats}
        field.value = (
            chosen.name
            if field.value in suggested
            else renamed(field.value, chosen.ending)
        )
        self._look()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        """An ending that was typed chooses its format."""
        event.stop()
        endings = [one.ending for one in self._offer.formats]
        ending = ending_of(self.query_one(Input).value.strip())
        if ending in endings and ending != self._chosen.ending:
            self.query_one(_Formats).highlighted = endings.index(ending)
        self._look()

    def _look(self) -> None:
        """Say what would come of it, as far as that can be known beforehand."""
        meant = self.query_one(Input).value, self._chosen, self._offer.formats

        def show(found: tuple[str, bool]) -> None:
            if not self._writing:  # meanwhile Enter was pressed
                self._show(*found)

        look = partial(preview, *meant, self._folder)
        begin: Work = partial(self._looking.ask, look, show)
        self.run_worker(begin)

    def _show(self, text: str, bad: bool = False) -> None:
        where = self.query_one("#where", Static)
        where.update(text)
        where.set_class(bad, "-bad")

    # Writing.

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_write()

    def action_write(self, replace: bool = False) -> None:
        """Write the file; what is there is replaced after a question."""
        if self._writing:
            return
        self._writing = typed = self.query_one(Input).value
        self._show("Writing…")
        begin: Work = partial(self._write, typed, self._chosen, replace)
        self.run_worker(begin)

    async def _write(self, typed: str, chosen: Format, replace: bool) -> None:
        meant = partial(target, typed, chosen, self._offer.formats, self._folder)
        try:
            path = await in_thread(meant)
            text = visible(await chosen.content())
            await in_thread(partial(write, path, text, replace=replace))
        except ExportError as error:
            self._writing = ""
            self._show(str(error), bad=True)
            if isinstance(error, ExistsError):
                question = Question(str(error), "replaces it", "keeps it")
                self.app.push_screen(question, self._answered)
            return
        size, copied = len(text.encode()), ""
        if self.query_one(_CopyToo).on:
            copied = "; it is too long for the clipboard"
            if size <= CLIPBOARD_BYTES:
                copied = ", and copied if the terminal allows it"
                self.app.copy_to_clipboard(text)
        self._writing = ""
        base(self).say(f"Wrote {fmt.bytes_text(size)} to {path}{copied}.")
        self.dismiss()

    def _answered(self, yes: bool | None) -> None:
        if yes:
            self.action_write(replace=True)

    def action_toggle_copy(self) -> None:
        self.query_one(_CopyToo).on_click()

    def action_leave(self) -> None:
        """Leave; what is being written may come into being all the same."""
        if self._writing:
            base(self).say(
                f"Left while {self._writing} was written: it may still appear."
            )
        self.dismiss()
