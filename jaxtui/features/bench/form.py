"""The form of the tab Bench: what to time, what is wrong with it, and Run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Button, Input, Label, Static

from jaxtui.core import format as fmt
from jaxtui.core.experiments import op_info
from jaxtui.core.model import (
    DTYPES,
    INPUTS,
    PRECISIONS,
    USUAL_MODES,
    Experiment,
    OpInfo,
)
from jaxtui.core.model.machine import group_name
from jaxtui.core.model.own import brief_name, is_own
from jaxtui.features.bench.values import (
    Meaning,
    Values,
    interpret,
    of_cases,
    of_functions,
    shared,
    takes_arguments,
    takes_mesh,
)
from jaxtui.ui.app.state import EMPTY, State
from jaxtui.ui.text import meter, plain
from jaxtui.ui.widgets.choice import Choice, Entry
from jaxtui.ui.widgets.panel import Hint, Hints, Panel

OPEN = "Open file…"
"""The last entry of the list of ops, which is no op."""

SWEEP = "256..2048"
"""Sizes to begin with for products of matrices."""

VECTORS = "1e4,1e5,1e6"
"""Sizes to begin with for vectors."""

BUFFERS = "1k..16Mx4"
"""Sizes to begin with for collectives, in bytes."""


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
        Binding("tab", "app.focus_next", "Next"),
    ]

    class Left(Message):
        """Esc was pressed."""

    def action_leave(self) -> None:
        self.post_message(self.Left())


class OpChoice(Choice):
    """The choice of an op: its list describes each op, and ends with opening a file."""

    ops: tuple[OpInfo, ...] = ()
    opened: tuple[str, ...] = ()
    """Functions of files that were opened."""

    @property
    def entries(self) -> Sequence[Entry]:
        listed = [Entry(op.name, op.name, op.summary) for op in self.ops]
        before = [
            Entry(op, brief_name(op, 40), op, markable=False) for op in self.opened
        ]
        about = "Functions of a Python file. The key f opens one, too."
        return (*listed, *before, Entry(OPEN, OPEN, about, markable=False))

    @property
    def summary(self) -> str:
        """The ops, without the folder of a file."""
        if len(self.chosen) == 1:
            return brief_name(self.chosen[0])
        return super().summary

    def take(self, chosen: tuple[str, ...] | None) -> None:
        if chosen == (OPEN,):
            self.app.simulate_key("f")
        else:
            super().take(chosen)


class CaseForm(Panel):
    """Op, sizes, budget, dtypes, modes, devices, inputs, precision, processes; Run or
    Stop.

    Folded it is one line, which says what it means; Run stays in sight.
    """

    DEFAULT_CSS = """
    CaseForm {
        .row { height: 1; }
        .row Label { color: $foreground 60%; }
        #sizes { width: 14; margin-right: 2; }
        #budget { width: 6; }
        #processes { width: 5; margin-right: 2; }
        #arguments { width: 1fr; margin-right: 2; }
        #mesh { width: 8; margin-right: 2; }
        #mesh, #mesh-label { display: none; }
        &.-spread #mesh, &.-spread #mesh-label { display: block; }
        &.-spread #precisions { display: none; }
        #arguments, #arguments-label { display: none; }
        &.-own #arguments, &.-own #arguments-label { display: block; }
        &.-own #dtypes, &.-own #precisions { display: none; }
        #form-end { height: auto; max-height: 4; }
        #meaning { width: 1fr; height: auto; color: $foreground 70%; }
        #meaning.-problem { color: $text-error; text-style: bold; }
        #form-progress { width: auto; margin-right: 1; color: $lane-device; }
        Button { min-width: 0; width: 10; height: 1; padding: 0; margin-left: 1; }
        #edit { display: none; }
        &.-folded {
            border: none; height: 1; background: $panel;
            .row { display: none; }
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
            yield OpChoice("op", id="op")
            yield Label("size ")
            yield Field(SWEEP, id="sizes", compact=True, select_on_focus=False)
            yield Label("budget ")
            yield Field(id="budget", placeholder="auto", compact=True)
            yield Label(" s")
        with Horizontal(classes="row"):
            yield Choice("dtype", DTYPES, ("float32",), id="dtypes")
            yield Choice("mode", USUAL_MODES, ("numpy", "jit"), id="modes")
            yield Choice("device", id="devices")
        with Horizontal(classes="row"):
            yield Choice("inputs", INPUTS, ("device",), id="inputs")
            yield Choice("precision", PRECISIONS, ("default",), id="precisions")
            yield Label("processes ")
            yield Field(id="processes", placeholder="1", compact=True)
            yield Label("mesh ", id="mesh-label")
            yield Field(id="mesh", placeholder="2x4", compact=True)
            yield Label("args ", id="arguments-label")
            yield Field(
                id="arguments", placeholder="such as f32[8,128] i32[8]", compact=True
            )
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
        chosen = {choice.id: choice.chosen for choice in self.query(Choice)}
        return Values(
            op=(*chosen["op"], "")[0],
            others=chosen["op"][1:],
            sizes=self.query_one("#sizes", Input).value,
            dtypes=chosen["dtypes"],
            devices=chosen["devices"],
            modes=chosen["modes"],
            inputs=chosen["inputs"],
            precisions=chosen["precisions"],
            budget=self.query_one("#budget", Input).value,
            processes=self.query_one("#processes", Input).value,
            arguments=self.query_one("#arguments", Input).value,
            mesh=self.query_one("#mesh", Input).value,
        )

    @property
    def hints(self) -> Hints:
        """Return the hints for the focused widget."""
        if isinstance(self.screen.focused, Field):
            return [Hint("Enter", "run", "enter"), Hint("Esc", "leave", "escape")]
        return [Hint("Enter", "open the list", "enter")]

    @property
    def edited(self) -> bool:
        """True if the values differ from those of the run."""
        return self._as_run is None or self.values != self._as_run

    def fill(self, values: Values) -> None:
        with self.prevent(Input.Changed):
            self.query_one("#sizes", Input).value = values.sizes
            self.query_one("#budget", Input).value = values.budget
            self.query_one("#processes", Input).value = values.processes
            self.query_one("#arguments", Input).value = values.arguments
            self.query_one("#mesh", Input).value = values.mesh
        for name in ("dtypes", "modes", "inputs", "precisions"):
            self._choice(name).chosen = getattr(values, name)
        self._choice("op").chosen = values.ops
        self._offer_what_the_op_has()
        if values.devices:
            self._choice("devices").chosen = values.devices
        self.check()

    def watch_state(self, old: State, new: State) -> None:
        """Take over ops and devices; turn Run into Stop."""
        if old.running != new.running:
            button = self.query_one("#run", Button)
            button.label = "■ s stop" if new.running else "▶ r run"
            button.variant = "error" if new.running else "primary"
        # Not each time: an ending may have left the form without its choices.
        if old.opened != new.opened:
            self.query_one(OpChoice).opened = new.opened
        if (old.ops, old.devices) != (new.ops, new.devices):
            self._take_options(new)
            self.check()
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
        own = takes_arguments(values.op, self.state)
        self.set_class(own, "-own")
        self.set_class(takes_mesh(values, self.state), "-spread")
        sizes = self.query_one("#sizes", Input)
        sizes.disabled = own and bool(values.arguments.strip())
        sizes.placeholder = "its own" if own else ""
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
        meaning = self.meaning
        if self.folded and not meaning.problem:
            summary = self.values.summary
            self.say(f"{summary} · edited" if self.edited else summary, False)
        else:
            self.say(meaning.message, meaning.problem)

    def on_click(self) -> None:
        if self.folded:
            self.app.simulate_key("e")

    @on(Choice.Changed)
    @on(Input.Changed)
    def _update(self, event: Choice.Changed | Input.Changed) -> None:
        event.stop()
        if isinstance(event, Choice.Changed) and event.choice.id == "op":
            self._adopt_op()
        self.check()

    def _adopt_op(self) -> None:
        """Offer the op's dtypes and modes, and sizes that suit it if none suit yet."""
        self._offer_what_the_op_has()
        info = op_info(self.values.op, self.state.ops)
        if is_own(self.values.op):
            self.fill(of_functions(self.values, self.values.op))
            return
        sizes = self.query_one("#sizes", Input)
        devices = self._choice("devices")
        if info is not None and info.collective:  # all of them
            devices.chosen = devices.options[-1:]
        if info is not None and sizes.value in ("", SWEEP, VECTORS, BUFFERS):
            usual = SWEEP if info.default <= 4096 else VECTORS
            usual = BUFFERS if info.collective else usual
            sizes.value = "" if info.own else usual  # its arguments decide
            sizes.cursor_position = len(sizes.value)

    def _offer_what_the_op_has(self) -> None:
        """The ops' dtypes and modes, of which those stay chosen that were."""
        offers = shared(self.values.ops, self.state)
        if not any(offers):
            return
        dtypes, modes = self._choice("dtypes"), self._choice("modes")
        for choice, offered in zip((dtypes, modes), offers, strict=True):
            choice.options = tuple(offered)
            choice.chosen = tuple(value for value in choice.chosen if value in offered)
        dtypes.chosen = dtypes.chosen or dtypes.options[:1]

    def _take_options(self, state: State) -> None:
        op, devices = self.query_one(OpChoice), self._choice("devices")
        op.options = tuple(info.name for info in state.ops)
        op.ops = state.ops
        chosen = (*op.chosen, "")[0]
        if op.options and chosen not in op.options and not is_own(chosen):
            op.chosen = op.options[:1]
            self._adopt_op()
        names = [d.name for d in state.devices if d.addressable]
        together = [group_name(names)] if len(names) > 1 else []
        devices.options = (*names, *together)
        if not set(devices.chosen) & set(devices.options):
            devices.chosen = devices.options[:1]

    def _choice(self, name: str) -> Choice:
        return self.query_one(f"#{name}", Choice)
