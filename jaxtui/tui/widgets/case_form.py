"""The form: what to time, in two lines, and what it amounts to."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Button, Input, Label, Static

from jaxtui.model import DTYPES, INPUTS, PRECISIONS, USUAL_MODES, Experiment, OpInfo
from jaxtui.model.own import brief_name, is_own
from jaxtui.tui import form
from jaxtui.tui.screens.op_popup import OPEN, OpPopup, entries
from jaxtui.tui.state import EMPTY, Picked, State
from jaxtui.tui.widgets.choice import Choice


class OpChoice(Choice):
    """Its list says of each op what it is, and ends with opening a file."""

    class OpenWanted(Message):
        """A file is to be opened."""

    ops: tuple[OpInfo, ...] = ()
    """What there is to choose."""
    picks: tuple[Picked, ...] = ()
    """Functions that were chosen before."""

    def action_open(self) -> None:
        """Open the list below this widget."""
        listed = entries(self.ops, self.picks)
        popup = OpPopup(listed, self.chosen, self.region.offset)
        self.app.push_screen(popup, self._take)

    def _summary(self) -> str:
        if len(self.chosen) == 1:
            return brief_name(self.chosen[0])
        return super()._summary()

    def _take(self, chosen: tuple[str, ...] | None) -> None:
        if chosen == (OPEN,):
            self.post_message(self.OpenWanted())
            return
        super()._take(chosen)


class CaseForm(Vertical):
    """Op, sizes, dtypes, modes, devices, inputs, precision, budget; Run or Stop."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave the input", show=False)
    ]

    state: reactive[State] = reactive(EMPTY, repaint=False)
    """What is on screen."""
    verdict: reactive[form.Verdict] = reactive(
        form.Verdict(None, "", False), repaint=False
    )
    """What the form means at the moment."""

    class Submitted(Message):
        """Enter or the button: run this."""

    class Changed(Message):
        """The form means something else now."""

        def __init__(self, experiment: Experiment | None) -> None:
            super().__init__()
            self.experiment = experiment

    def compose(self) -> ComposeResult:
        """Two lines and a message."""
        with Horizontal(classes="row"):
            yield OpChoice("op", id="op")
            yield Label("size ")
            yield Input(form.SWEEP, id="sizes", compact=True, select_on_focus=False)
            yield Choice("dtype", DTYPES, ("float32",), multiple=True, id="dtypes")
            yield Choice(
                "mode", USUAL_MODES, ("numpy", "jit"), multiple=True, id="modes"
            )
            yield Button("▶ Run", id="run", compact=True, variant="primary")
        with Horizontal(classes="row"):
            yield Choice("device", multiple=True, id="devices")
            yield Choice("inputs", INPUTS, ("device",), multiple=True, id="inputs")
            yield Choice(
                "precision", PRECISIONS, ("default",), multiple=True, id="precisions"
            )
            yield Label("args ", id="arguments-label")
            yield Input(
                id="arguments", placeholder="such as f32[8,128] i32[8]", compact=True
            )
            yield Label("budget ")
            yield Input(id="budget", placeholder="auto", compact=True)
            yield Label(" s")
        yield Static(id="verdict", markup=False)

    @property
    def values(self) -> form.Values:
        """What is chosen and typed."""
        chosen = {choice.id: choice.chosen for choice in self.query(Choice)}
        return form.Values(
            op=(*chosen["op"], "")[0],
            others=chosen["op"][1:],
            sizes=self.query_one("#sizes", Input).value,
            dtypes=chosen["dtypes"],
            devices=chosen["devices"],
            modes=chosen["modes"],
            inputs=chosen["inputs"],
            precisions=chosen["precisions"],
            budget=self.query_one("#budget", Input).value,
            arguments=self.query_one("#arguments", Input).value,
        )

    def fill(self, values: form.Values) -> None:
        """Choose and type all of this."""
        with self.prevent(Input.Changed):
            self.query_one("#sizes", Input).value = values.sizes
            self.query_one("#budget", Input).value = values.budget
            self.query_one("#arguments", Input).value = values.arguments
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
            button.label = "■ Stop" if new.running else "▶ Run"
            button.variant = "error" if new.running else "primary"
        # Not each time: an ending may have left the form without its choices.
        if old.opened.picks != new.opened.picks:
            self.query_one(OpChoice).picks = new.opened.picks
        if (old.ops, old.devices) == (new.ops, new.devices):
            return
        self._take_options(new)
        self.check()

    def check(self) -> None:
        """Judge the form anew and say what it amounts to."""
        self._hide_what_arguments_decide()
        self.verdict = form.judge(self.values, self.state)
        self.post_message(self.Changed(self.verdict.experiment))

    def watch_verdict(self, verdict: form.Verdict) -> None:
        """Write the sentence; a problem stands out."""
        self.say(verdict.message, verdict.problem)

    def say(self, message: str, problem: bool) -> None:
        """Write the sentence below the form."""
        line = self.query_one("#verdict", Static)
        line.update(message)
        line.set_class(problem, "-problem")

    def action_leave(self) -> None:
        """Esc gives the letter keys back."""
        self.query_one("#run", Button).focus()

    @on(Choice.Changed)
    @on(Input.Changed)
    def _edited(self, event: Choice.Changed | Input.Changed) -> None:
        event.stop()
        if isinstance(event, Choice.Changed) and event.choice.id == "op":
            self._adopt_op()
        self.check()

    @on(Input.Submitted)
    @on(Button.Pressed)
    def _submitted(self, event: Input.Submitted | Button.Pressed) -> None:
        event.stop()
        self.query_one("#run", Button).focus()
        self.post_message(self.Submitted())

    def _adopt_op(self) -> None:
        """Offer the op's dtypes and modes, and sizes that suit it if none suit yet."""
        self._offer_what_the_op_has()
        info = form.op_info(self.values.op, self.state)
        pick = self.state.opened.pick(self.values.op)
        if pick is not None:
            self.fill(form.with_pick(self.values, pick))
            return
        sizes = self.query_one("#sizes", Input)
        if info is not None and sizes.value in ("", form.SWEEP, form.VECTORS):
            sizes.value = form.default_sizes(info)

    def _offer_what_the_op_has(self) -> None:
        """The ops' dtypes and modes, of which those stay chosen that were."""
        shared = form.shared(self.values.ops, self.state)
        if not any(shared):
            return
        dtypes, modes = self._choice("dtypes"), self._choice("modes")
        for choice, offered in zip((dtypes, modes), shared, strict=True):
            choice.options = tuple(offered)
            choice.chosen = tuple(one for one in choice.chosen if one in offered)
        dtypes.chosen = dtypes.chosen or dtypes.options[:1]

    def _hide_what_arguments_decide(self) -> None:
        """Of functions of one's own the dtype, and a size beside typed arguments."""
        values = self.values
        own = form.takes_arguments(values.op, self.state)
        self.set_class(own, "-own")
        sizes = self.query_one("#sizes", Input)
        sizes.disabled = own and bool(values.arguments.strip())
        sizes.placeholder = "its own" if own else ""

    def _take_options(self, state: State) -> None:
        op, devices = self.query_one(OpChoice), self._choice("devices")
        op.options = tuple(info.name for info in state.ops)
        op.ops = state.ops
        chosen = (*op.chosen, "")[0]
        if op.options and chosen not in op.options and not is_own(chosen):
            op.chosen = op.options[:1]
            self._adopt_op()
        devices.options = tuple(d.name for d in state.devices if d.addressable)
        if not set(devices.chosen) & set(devices.options):
            devices.chosen = devices.options[:1]

    def _choice(self, name: str) -> Choice:
        return self.query_one(f"#{name}", Choice)
