"""The first line of the screen, and the line above the keys."""

from __future__ import annotations

from collections.abc import Callable, Collection

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from jaxtui.core import format as fmt
from jaxtui.core.model import Remark
from jaxtui.core.state import Purpose
from jaxtui.registry import part
from jaxtui.ui import words
from jaxtui.ui.app.state import EMPTY, State
from jaxtui.ui.progress import job_text, starting


class StatusLine(Widget):
    """Machine at the left; progress and what is held at the right.

    Args:
        clock: monotonic seconds.
    """

    DEFAULT_CSS = """
    StatusLine {
        height: 1; background: $panel; color: $foreground; padding: 0 1;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    disturbed: reactive[bool] = reactive(False)
    """Others used the cores while that was timed which is on screen."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._since = clock()
        self._shown = ""

    def on_mount(self) -> None:
        self.set_interval(1.0, self._show)

    def watch_state(self, old: State, new: State) -> None:
        begins = new.job is not None and (
            old.job is None
            or (old.job.number, old.job.between) != (new.job.number, new.job.between)
        )
        if begins or (new.engine == "starting" and old.engine != "starting"):
            self._since = self._clock()
        self._show()

    def render(self) -> Content:
        state, now = self.state, self._clock()
        simulated = any(device.simulated for device in state.devices)
        right = [
            "BUSY MACHINE" if self.disturbed else "",
            self._progress(now),
            "SIMULATED" if simulated else "",
            self._engine(now),
        ]
        width = self.size.width
        for short in (False, True):
            settings = _settings(state, short=short)
            end = "  ".join(filter(None, [settings, *right]))
            left = _machine(state, width - len(end) - 2)
            if left != "jaxtui":
                break
        room = max(2, width - len(left) - len(end))
        failed = state.engine == "failed"
        bad = settings or self.disturbed or failed or simulated
        style = "bold $text-warning" if bad else "bold $text-accent"
        return Content.assemble((left[:6], "bold"), left[6:], " " * room, (end, style))

    def _progress(self, now: float) -> str:
        """Elapsed and remaining of what runs; empty without it.

        By the screen's own clock: the engine reports between turns only, and a compile
        may take minutes.
        """
        job = self.state.job
        if job is None:
            return ""
        elapsed = job.before_seconds + now - self._since
        since = elapsed - job.elapsed_seconds
        has_share = job.reported and job.limited
        more = f", {fmt.left(job.remaining_seconds - since)}" if has_share else ""
        if job.preparing:
            more = f", {job.preparing.replace('_', ' ')} {fmt.duration(since)}"
        return f"{fmt.duration(elapsed)}{more}"

    def _engine(self, now: float) -> str:
        """Return the hold or the wait of the engine; empty where there is none."""
        state = self.state
        if state.engine == "starting":
            return f"{starting(state.start)}, {now - self._since:.0f} s"
        if state.engine == "failed":
            return "NO ENGINE (R tries again)"
        if state.engine == "released":
            return "released: the next run takes it again"
        if state.accelerator is not None:
            return f"HOLDING {state.accelerator} (x frees)"
        return "" if any(device.simulated for device in state.devices) else "CPU only"

    def _show(self) -> None:
        text = self.render().plain
        if text != self._shown:
            self._shown = text
            self.refresh()


def _machine(state: State, room: int) -> str:
    """Write kind and number of devices and JAX's version, as far as they fit."""
    text = "jaxtui"
    if not state.devices or state.host is None:
        return text
    kind = state.devices[0].device_kind
    count = fmt.plural(len(state.devices), "device")
    for fact in (kind, count, f"jax {state.host.jax}"):
        if len(text) + 2 + len(fact) > room:
            break
        text = f"{text}  {fact}"
    return text


def _settings(state: State, *, short: bool) -> str:
    """The settings of JAX that change numbers: the first, and how many more."""
    names = [*state.host.settings] if state.host is not None else []
    if not names or short:
        return "SETTINGS" if names else ""
    return names[0] + (f" +{len(names) - 1}" if names[1:] else "")


MESSAGE_CHARACTERS = 140
"""The characters of the two message lines on the smallest screen."""


class MessageLine(Widget):
    """A sentence: an event, a problem, or the current activity."""

    DEFAULT_CSS = """
    MessageLine {
        height: auto; min-height: 1; max-height: 2; padding: 0 1; color: $foreground;
    }
    """

    state: reactive[State] = reactive(EMPTY, repaint=False)
    purposes: reactive[tuple[Purpose, ...]] = reactive((), repaint=False)
    """Runs whose end is said here: those whose results the tab or screen shows."""
    line: reactive[str] = reactive("", repaint=False)

    def watch_state(self) -> None:
        self.line = message(self.state, self.purposes)

    watch_purposes = watch_state

    def watch_line(self, old: str, new: str) -> None:
        """Lay out the screen anew only when the sentence takes another line."""
        width = max(1, self.content_size.width)
        before, after = (len(Content(line).wrap(width)) for line in (old, new))
        self.refresh(layout=before != after)

    def render(self) -> Content:
        """The sentence as it is: engine texts may contain brackets."""
        return Content(self.line)


def message(state: State, purposes: Collection[Purpose]) -> str:
    """Return the message, or else the activity or the ending of the run, in one
    line.

    Args:
        state: of the app.
        purposes: of the runs whose end is said.
    """
    if state.message:
        return _message_text(state, state.message)
    if state.job is not None:
        return job_text(state.job) or "starting"
    if state.purpose not in purposes:
        return ""
    if state.purpose == "roofs":
        text: str = part("roofline", "screen").message(state)
        return text
    run = state.run
    if run is None:
        return ""
    statuses = [case.status for case in run.cases]
    trouble = "".join(
        f", {statuses.count(status)} {status}"
        for status in ("failed", "not run")
        if status in statuses
    )
    match run.outcome:
        case "cancelled":
            kept = "; its numbers stay" * any(case.measurement for case in run.cases)
            return f"Stopped after {run.elapsed_seconds:.1f} s{kept}."
        case "crashed":
            return f"Incomplete. {words.LOST}"
        case _:
            return f"Done in {run.elapsed_seconds:.1f} s{trouble}."


def _message_text(state: State, message: Remark | str) -> str:
    """Write a message; a problem of the machine comes with advice, if that fits."""
    if isinstance(message, str) or message not in state.findings:
        return words.to_text(message)
    worse = [finding for finding in state.findings if finding.severity != "info"]
    more = sum(finding != message for finding in worse)
    text = words.text(message) + f" (d: {more} more)" * bool(more)
    if len(text) <= MESSAGE_CHARACTERS:
        return text
    suffix = f", and {more} more" if more else ""
    return f"{words.sentence(message)} (d: what to do{suffix})"
