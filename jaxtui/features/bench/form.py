"""The form of the tab Bench: what to time, the command that does the same, and Run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.command import SimpleCommand
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.markup import escape
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Button, Input, Label, OptionList, SelectionList, Static
from textual.widgets.selection_list import Selection

from jaxtui.core import format as fmt
from jaxtui.core.experiments import op_info
from jaxtui.core.model import DTYPES, INPUTS, MODES, PRECISIONS, Experiment
from jaxtui.core.model.machine import group_name, members
from jaxtui.core.model.own import brief_name, is_own
from jaxtui.features.bench.values import (
    Meaning,
    Values,
    interpret,
    of_cases,
    of_functions,
    takes_mesh,
)
from jaxtui.ui.app.state import EMPTY, State
from jaxtui.ui.text import meter, plain
from jaxtui.ui.widgets.panel import Hint, Hints, Panel, hint

SWEEP = "256..2048"
"""Sizes to begin with for products of matrices."""

VECTORS = "1e4,1e5,1e6"
"""Sizes to begin with for vectors."""

BUFFERS = "1k..16Mx4"
"""Sizes to begin with for collectives, in bytes."""

TYPED = ("sizes", "budget", "processes", "mesh", "arguments")
MARKED = ("dtypes", "modes", "devices", "inputs", "precisions")
"""The ids of the inputs and of the lists, which are fields of ``Values``."""


TAB = Binding("tab", "app.focus_next", "Next", priority=True)
"""Before all others, as what a slow line delivers with it is for the next field."""


class Field(Input):
    """An input that says what its keys do: letters are typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Run", tooltip="Run what the form says."),
        Binding(
            "escape",
            "leave",
            "Leave",
            tooltip="Leave the input, so that letters are keys again.",
        ),
        TAB,
    ]

    class Left(Message):
        """Esc was pressed."""

    def action_leave(self) -> None:
        self.post_message(self.Left())


class OpField(Static, can_focus=True):
    """Shows the op; Enter, space or a click opens the list of all."""

    # Before all others, as what a slow line delivers with them is text of the list.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space,down", "open", "Choose", show=False, priority=True),
        TAB,
    ]

    op: reactive[str] = reactive(Values().op)
    state: reactive[State] = reactive(EMPTY, repaint=False)

    class Chosen(Message):
        """An op was chosen from the list."""

    def render(self) -> Content:
        return Content.assemble(brief_name(self.op, 20), " ▾")

    def on_click(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Open the list, which typing filters."""
        listed = [(op.name, op.summary) for op in self.state.ops]
        listed += [(op, f"From {op}.") for op in self.state.opened]
        commands = [
            SimpleCommand(brief_name(op, 40), partial(self._choose, op), escape(about))
            for op, about in listed
        ]
        file = partial(self.app.simulate_key, "f")
        about = "Functions of a Python file. The key f opens one, too."
        self.app.search_commands(
            [*commands, SimpleCommand("Open file…", file, about)], "Find an op"
        )

    def _choose(self, op: str) -> None:
        self.op = op
        self.post_message(self.Chosen())


class Marks(SelectionList[str]):
    """A list of which several can be marked, under its name."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "app.focus_previous", show=False),
        Binding("right", "app.focus_next", show=False),
        TAB,
    ]

    DEFAULT_CSS = """
    Marks {
        height: auto; padding: 0; background: transparent;
        border: none; border-top: solid $foreground 20%;
        border-title-color: $foreground 60%;
        &:focus {
            border: none; border-top: solid $panel-lit;
            border-title-color: $panel-lit; background-tint: transparent;
        }
        /* An X in the colour of its ground is none, also in grey. */
        & > .selection-list--button, & > .selection-list--button-highlighted {
            color: $panel; background: $panel;
        }
        & > .option-list--option-highlighted {
            background: transparent; color: $foreground; text-style: none;
        }
        &:focus > .option-list--option-highlighted {
            background: $primary 35%; color: $foreground;
        }
    }
    """

    def __init__(self, name: str, title: str) -> None:
        super().__init__(id=name)
        self.border_title = title
        self.values: Sequence[str] = ()

    @property
    def chosen(self) -> tuple[str, ...]:
        """What is marked, in the order of the list."""
        return tuple(value for value in self.values if value in self.selected)

    def on_option_list_option_highlighted(
        self, event: OptionList.OptionHighlighted
    ) -> None:
        """Stop it: the base class looks up an option that may be gone by then."""
        event.stop().prevent_default()

    def offer(
        self, values: Sequence[str], usable: Sequence[str], chosen: Sequence[str]
    ) -> None:
        """List values, grey those that are not usable, and mark the chosen others."""
        marked = [value in chosen and value in usable for value in values]
        self.values = values
        self.clear_options()
        self.add_options(
            Selection(Content(value), value, mark, disabled=value not in usable)
            for value, mark in zip(values, marked, strict=True)
        )
        self.highlighted = marked.index(True) if any(marked) else None


class CaseForm(Panel):
    """Op, sizes, budget, dtypes, modes, devices, inputs, precision, processes; Run or
    Stop.

    Folded it is one line, which says what it means; Run stays in sight.
    """

    DEFAULT_CSS = """
    CaseForm {
        .row { height: 1; }
        .row Label { color: $foreground 60%; }
        #op {
            width: 24; margin-right: 2; background: $surface;
            &:focus { background: $primary 35%; }
            &:hover { background: $panel; }
        }
        #sizes, #arguments { width: 1fr; }
        #mesh { width: 8; }
        #budget { width: 6; }
        #processes { width: 5; }
        #lists { height: auto; max-height: 7; }
        #lists Marks { width: 1fr; max-height: 100%; margin-right: 1; }
        #lists #dtypes { max-width: 18; }
        #lists #modes { width: 15; }
        #ways {
            width: 13; height: auto; max-height: 100%; overflow-y: auto;
            Marks { margin-right: 0; max-height: 4; }
        }
        .own, .spread { display: none; }
        &.-own .own, &.-spread .spread { display: block; }
        &.-own #dtypes { display: none; }
        #command { height: auto; max-height: 2; text-style: bold; }
        #form-end { height: auto; max-height: 4; }
        #meaning { width: 1fr; height: auto; color: $foreground 70%; }
        #meaning.-problem { color: $text-error; text-style: bold; }
        #form-progress { width: auto; margin-right: 1; color: $lane-device; }
        Button { min-width: 0; width: 10; height: 1; padding: 0; margin-left: 1; }
        #edit { display: none; }
        &.-folded {
            border: none; height: 1; background: $panel;
            .row, #lists { display: none; }
            #edit { display: block; }
            #meaning { height: 1; text-wrap: nowrap; text-overflow: ellipsis;
                color: $foreground; text-style: bold; }
        }
    }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    meaning: reactive[Meaning] = reactive(Meaning(None, "", False), repaint=False)
    folded: reactive[bool] = reactive(False, repaint=False)

    class Changed(Message):
        """The form means something else now."""

    def __init__(self) -> None:
        super().__init__("what to time")
        self._run: int | None = None
        self._as_run: Values | None = None
        """The values of the form when the run on screen began."""

    def compose(self) -> ComposeResult:
        with Horizontal(classes="row"):
            yield Label("op ")
            yield OpField(id="op").data_bind(CaseForm.state)
            yield Label("size ")
            yield Field(SWEEP, id="sizes", compact=True, select_on_focus=False)
        with Horizontal(id="lists"):
            yield Marks("dtypes", "dtype")
            yield Marks("modes", "mode")
            yield Marks("devices", "device")
            with Vertical(id="ways"):
                yield Marks("inputs", "inputs")
                yield Marks("precisions", "precision")
        with Horizontal(classes="row own"):
            yield Label("args ")
            such = "such as f32[8,128] i32[8]"
            yield Field(id="arguments", placeholder=such, compact=True)
        with Horizontal(classes="row"):
            yield Label("budget ")
            yield Field(id="budget", placeholder="auto", compact=True)
            yield Label(" s  processes ")
            yield Field(id="processes", placeholder="1", compact=True)
            yield Label("  mesh ", classes="spread")
            yield Field(id="mesh", placeholder="2x4", classes="spread", compact=True)
        yield Static(id="command", markup=False)
        with Horizontal(id="form-end"):
            yield Static(id="meaning", markup=False)
            yield Static(id="form-progress", markup=False)
            press = "app.simulate_key('e')"
            edit = Button("e edit", id="edit", action=press, compact=True)
            edit.can_focus = False
            yield edit
            yield Button("▶ r run", id="run", compact=True, variant="primary")

    @property
    def values(self) -> Values:
        op = self.query_one(OpField).op
        typed = {name: self.query_one(f"#{name}", Input).value for name in TYPED}
        marked = {name: self.query_one(f"#{name}", Marks).chosen for name in MARKED}
        values = Values(op=op, **typed, **marked)  # type: ignore[arg-type]
        # What is hidden says nothing.
        if is_own(op):
            values = replace(values, dtypes=(), precisions=("default",))
        else:
            values = replace(values, arguments="")
        return values if takes_mesh(op, self.state) else replace(values, mesh="")

    @property
    def hints(self) -> Hints:
        """Return the hints for the focused widget."""
        focused = self.screen.focused
        if isinstance(focused, Field):
            return [Hint("Enter", "run", "enter"), Hint("Esc", "leave", "escape")]
        copy = hint(self, "copy", "copy the command")
        if isinstance(focused, Marks):
            return [Hint("Space", "mark", "space"), copy]
        return [Hint("Enter", "open the list", "enter"), copy]

    @property
    def edited(self) -> bool:
        """True if the values differ from those of the run."""
        return self._as_run is None or self.values != self._as_run

    def fill(self, values: Values) -> None:
        """Offer what the op has, and say these values as far as they can be said."""
        info = op_info(values.op, self.state.ops)
        device_names = {device.name for device in self.state.devices}
        names = [d.name for d in self.state.devices if d.addressable]
        groups = [group_name(names)] if len(names) > 1 else []
        groups += [
            name for name in values.devices if device_names.issuperset(members(name))
        ]
        usable = {
            "dtypes": info.dtypes if info else DTYPES,
            "modes": info.modes if info else MODES,
            "devices": tuple(dict.fromkeys((*names, *groups))),
            "inputs": INPUTS,
            "precisions": PRECISIONS[: None if info and info.takes_precision else 1],
        }
        every = {"dtypes": DTYPES, "modes": MODES, "precisions": PRECISIONS}
        with self.prevent(Input.Changed, SelectionList.SelectedChanged):
            self.query_one(OpField).op = values.op
            for name in TYPED:
                field, text = self.query_one(f"#{name}", Input), getattr(values, name)
                if field.value != text:
                    field.value, field.cursor_position = text, len(text)
            for name, offered in usable.items():
                marks, chosen = self.query_one(f"#{name}", Marks), getattr(values, name)
                if name == "devices":
                    chosen = chosen or marks.chosen
                if name != "modes" and not set(chosen) & set(offered):
                    chosen = offered[:1]
                marks.offer(every.get(name, offered), offered, chosen)
        self.check()

    def watch_state(self, old: State, new: State) -> None:
        """Take over ops and devices; turn Run into Stop."""
        if old.running != new.running:
            button = self.query_one("#run", Button)
            button.label = "■ s stop" if new.running else "▶ r run"
            button.variant = "error" if new.running else "primary"
        if (old.ops, old.devices) != (new.ops, new.devices):
            filled = self.query_one("#modes", Marks).values
            self.fill(self.values if filled else Values(sizes=SWEEP))
        elif old.engine != new.engine == "failed":
            self.check()
        if new.run is not None and new.run.origin != self._run:
            self._run = new.run.origin
            self._take_over(new)
        job, line = new.job, self.query_one("#form-progress", Static)
        line.display = job is not None
        if job is not None:
            over = job.share >= 1
            line.update(fmt.left(0.0) if over else plain(meter(job.share, 10)))

    def _take_over(self, state: State) -> None:
        """Say what a run is that began elsewhere."""
        work = state.run.work if state.run is not None else None
        if isinstance(work, Experiment) and work.cases:
            experiment = self.meaning.experiment
            if experiment is None or (experiment.cases, experiment.processes) != (
                work.cases,
                work.processes,
            ):
                processes = str(work.processes) if work.processes > 1 else ""
                values = replace(of_cases(work.cases), processes=processes)
                self.fill(replace(values, budget=self.values.budget))
        self._as_run = self.values
        self._write()

    def check(self) -> None:
        """Judge the form anew and say what it amounts to."""
        values = self.values
        own = is_own(values.op)
        self.set_class(own, "-own")
        self.set_class(takes_mesh(values.op, self.state), "-spread")
        sizes = self.query_one("#sizes", Input)
        sizes.disabled = own and bool(values.arguments.strip())
        info = op_info(values.op, self.state.ops)
        sizes.placeholder = "its own" if own or not info else fmt.size(info.default)
        self.meaning = interpret(values, self.state)
        self._write()
        self.post_message(self.Changed())

    def watch_folded(self, folded: bool) -> None:
        self.set_class(folded, "-folded")
        self._write()

    def say(self, message: str, problem: bool) -> None:
        """Write what the form amounts to, or what is wrong with it."""
        line = self.query_one("#meaning", Static)
        line.update(Content(message))
        line.set_class(problem, "-problem")

    def _write(self) -> None:
        meaning, command = self.meaning, self.query_one("#command", Static)
        command.display = meaning.experiment is not None and not self.folded
        command.update(Content(self.values.command))
        if self.folded and not meaning.problem:
            summary = self.values.summary
            self.say(f"{summary} · edited" if self.edited else summary, False)
        else:
            self.say(meaning.message, meaning.problem)

    def on_click(self) -> None:
        if self.folded:
            self.app.simulate_key("e")

    @on(Input.Changed)
    @on(SelectionList.SelectedChanged)
    def _update(self, event: Message) -> None:
        event.stop()
        self.check()

    @on(OpField.Chosen)
    def _adopt(self, event: OpField.Chosen) -> None:
        """Offer what the op has, and sizes that suit it if none suit yet."""
        event.stop()
        values = self.values
        info = op_info(values.op, self.state.ops)
        if is_own(values.op):
            values = of_functions(values, values.op)
        elif info is not None and values.sizes in ("", SWEEP, VECTORS, BUFFERS):
            usual = SWEEP if info.default <= 4096 else VECTORS
            values = replace(values, sizes=BUFFERS if info.collective else usual)
        if info is not None and info.collective:  # all of them
            names = [d.name for d in self.state.devices if d.addressable]
            values = replace(values, devices=(group_name(names),))
        self.fill(values)
