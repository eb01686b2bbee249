"""The class view, step by step: a stopwatch that lies, a bet, the factor, the fix."""

from __future__ import annotations

from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from jaxtui import format as fmt
from jaxtui.model import Loop, LoopStyle, explanation
from jaxtui.tui import themes
from jaxtui.tui.loops import FIRST_BET, FIRST_CALLS, LoopScreen, next_bet
from jaxtui.tui.pane import bindings
from jaxtui.tui.status import MessageLine
from jaxtui.tui.widgets.keys_line import KeysLine
from jaxtui.tui.widgets.panel import Panel
from jaxtui.tui.widgets.paper import Figure, Paper
from jaxtui.view import timeline as view
from jaxtui.view.text import Line, Span, bar

STEPS = ("program", "bet", "race", "factor", "fix")

PROGRAM = (
    "start = perf_counter()",
    "for _ in range({calls}):",
    "    y = f(x)",
    "seconds = perf_counter() - start",
    "print(seconds)",
)

FIX = "y.block_until_ready()"

QUESTIONS = {
    "program": "What does this program time?",
    "bet": "It read {stopwatch}. How long does the device really work?   ← → bet",
    "race": "STILL COMPUTING, {name} so far · the stopwatch read {stopwatch}",
    "factor": "{work} of work, and the stopwatch says {stopwatch}",
    "fix": "one line: the stopwatch waits for the result",
}
"""What stands over the large figure of a step."""

_FONT = {
    "0": "75557",
    "1": "26227",
    "2": "71747",
    "3": "71717",
    "4": "55711",
    "5": "74717",
    "6": "74757",
    "7": "71111",
    "8": "75757",
    "9": "75717",
    "×": "05250",
    ".": "00002",
    "?": "71202",
}
"""Three pixels across, a row of each character an octal digit."""


def large(text: str, width: int, height: int) -> list[str]:
    """A figure in the largest characters that fit.

    Args:
        text: such as ``541×``.
        width: cells that there are; no line is longer.
        height: lines that there are; no more are returned.

    Returns:
        The lines; the text itself as one of them where nothing larger fits.
    """
    size = min(height // 5, width // max(1, 2 * (4 * len(text) - 1)))
    if size < 1 or not set(text) <= set(_FONT):
        return [text[:width]][: max(0, height)]
    lines = []
    for row in range(5):
        pixels = "0".join(f"{int(_FONT[one][row]):03b}" for one in text)
        line = "".join(("█" if one == "1" else " ") * 2 * size for one in pixels)
        lines += [line] * size
    return lines


class Classroom(LoopScreen):
    """Everything is hidden until it was predicted; Space is the next step.

    Args:
        loop: its case is shown, first without waiting.
    """

    HELP: ClassVar[str] = "For a class"

    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "class",
        (
            ("escape,q", "close", "Back", "Leave the class view."),
            # What the remote of a presenter sends, too.
            ("space,enter,pagedown", "next", "Next", "The next step, or an end."),
            ("backspace,pageup", "previous", "Step back", "The step before."),
            ("left", "bet(-1)", "Lower bet", "Bet on less work."),
            ("right", "bet(1)", "Higher bet", "Bet on more work."),
            ("r,f5", "again", "Again", "Run the program anew."),
            ("s,f6", "app.stop", "Stop", "Stop the program."),
            ("t", "app.theme", "Theme", "Dark, light, projector."),
            ("question_mark,f1", "app.help", "Help", "Show all keys."),
        ),
        ("Back", "Next", "Lower bet", "Higher bet", "Again"),
    )

    DEFAULT_CSS = """
    Classroom {
        background: $background; overflow: hidden;
        #steps { height: 1; padding: 0 1; background: $panel; }
        #top { height: auto; }
        #program { width: 1fr; min-width: 40; height: 8; }
        #clocks { width: auto; height: auto; }
        .clock { width: 30; height: 8; }
        .clock Figure { width: 1fr; height: 3; margin-top: 1; text-align: center; }
        .clock Static { height: 1; text-style: bold; text-align: center; }
        #stopwatch Figure, #stopwatch Static { color: $lane-host; }
        #work Figure, #work Static { color: $lane-device; }
        #bars { height: auto; }
        #hero { height: 1fr; padding: 0 1; }
        &.-low, &.-flat {
            #top { layout: vertical; }
            #program { width: 100%; height: auto; }
            #clocks { width: 100%; }
            .clock { width: 1fr; height: 5; }
            .clock Figure { margin-top: 0; }
            .clock Static { display: none; }
        }
        &.-low, &.-flat {
            &.-bet, &.-race, &.-factor { #program { display: none; } }
        }
        &.-flat.-program #clocks, &.-flat.-fix #clocks { display: none; }
        &.-program #bars { display: none; }
    }
    """

    def __init__(self, loop: Loop) -> None:
        # So few that the host is not held back.
        calls = min(loop.calls, FIRST_CALLS)
        never = msgspec.structs.replace(loop, style="never", chained=False, calls=calls)
        super().__init__(never)
        self.step = 0
        """Which of ``STEPS`` is shown."""
        self.bet = FIRST_BET
        self._found: dict[LoopStyle, view.Figures] = {}
        """Of a repeat without waiting, and of one that waits."""
        self._time: float | None = None
        """Where the playback is."""
        self._theme = ""

    def compose(self) -> ComposeResult:
        yield Static(id="steps")
        with Horizontal(id="top"):
            with Panel(id="program"):
                yield Paper()
            with Horizontal(id="clocks"):
                for name in ("stopwatch", "work"):
                    with Panel(name, id=name, classes="clock"):
                        yield Figure()
                        yield Static()
        with Panel(id="bars"):
            yield Paper()
        yield Static(id="hero")
        yield MessageLine().data_bind(Classroom.state)
        yield KeysLine()

    def on_mount(self) -> None:
        self._theme = self.app.theme
        self.app.theme = themes.PROJECTOR
        self.add_class("-program")

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    # Actions.

    def action_close(self) -> None:
        self.app.theme = self._theme
        super().action_close()

    def action_next(self) -> None:
        if self.playback is not None:
            self.playback = None
            self.played()
        else:
            self._show_step((self.step + 1) % len(STEPS))

    def action_previous(self) -> None:
        self.playback = None
        self._show_step(max(0, self.step - 1))

    def action_bet(self, by: int) -> None:
        self.bet = next_bet(self.bet, by)
        self._draw()

    def action_again(self) -> None:
        self._found.clear()
        self._show_step(0)
        self.run_loop(msgspec.structs.replace(self.loop, style="never"))

    def why_not(self, action: str) -> str | None:
        if action == "bet" and STEPS[self.step] != "bet":
            return "The bet is made in the second step."
        if action == "next" and self.playback is None:
            style: LoopStyle = "end" if STEPS[self.step] == "factor" else "never"
            if style not in self._found:
                return "The program has not run yet."
        return None

    def _show_step(self, step: int) -> None:
        self.step = step
        self._time = None
        for index, name in enumerate(STEPS):
            self.set_class(index == step, f"-{name}")
        if STEPS[step] in ("race", "fix"):
            found = self._found["never" if STEPS[step] == "race" else "end"]
            self._time = 0.0
            self.play(found.work, slow=STEPS[step] == "race")
        self._draw()
        # Bars and program that come or go leave another height for the large figure.
        self.call_after_refresh(self._draw)
        self.refresh_bindings()

    # The loops.

    def show_loop(self) -> None:
        """Keep the figures of both repeats as they come; the second run follows."""
        loop, job = self.loop, self.job
        # What a class has seen stays as it is.
        late = self.step >= (1 if loop.style == "never" else len(STEPS) - 1)
        if (
            self.complete
            and job is not None
            and not (late and loop.style in self._found)
        ):
            line = view.timeline(job.seen)
            self._found[loop.style] = view.figures(line, loop, self.measured)
            self.refresh_bindings()
        if job is not None and job.outcome and loop.style == "never" and self._found:
            self.run_loop(msgspec.structs.replace(loop, style="end"))
        if self.playback is None:
            self._draw()

    def show_moment(self, time: float) -> None:
        self._time = time
        self._draw()

    def played(self) -> None:
        self._time = None
        self._draw()

    # Showing.

    @property
    def _shown(self) -> view.Figures | None:
        return self._found.get("end" if STEPS[self.step] == "fix" else "never")

    @property
    def _unit(self) -> fmt.Unit:
        """One for all steps."""
        never = self._found.get("never")
        return never.unit if never is not None else fmt.common(())

    def _draw(self) -> None:
        found, name = self._shown, STEPS[self.step]
        parts = [
            (f" {index + 1} {one} ", "reverse bold" if one == name else "")
            for index, one in enumerate(STEPS)
        ]
        _write(self.query_one("#steps", Static), Content.assemble(*parts))
        self._draw_program(name)
        self._draw_clocks(found, name)
        self._draw_bars(found, name)
        self._draw_hero(found, name)

    def _draw_program(self, name: str) -> None:
        panel, loop = self.query_one("#program", Panel), self.loop
        panel.entitle(f"f = {loop.case.label}")
        lines: list[Line] = []
        for text in PROGRAM:
            if text.startswith("seconds") and name == "fix":
                lines.append((Span(FIX, "badge-pass"),))
            clock = "perf_counter" in text
            lines.append(
                (Span(text.format(calls=loop.calls), "host" if clock else ""),)
            )
        panel.query_one(Paper).show(lambda _: lines)

    def _draw_clocks(self, found: view.Figures | None, name: str) -> None:
        shown = found is not None and name != "program"
        for clock, seconds in (
            ("stopwatch", found.stopwatch if found else 0.0),
            ("work", found.work if found else 0.0),
        ):
            panel = self.query_one(f"#{clock}", Panel)
            hidden = not shown or (clock == "work" and name == "bet")
            over = self._time is None or self._time >= seconds
            panel.entitle(f"{clock}, {self._unit.name}")
            panel.query_one(Figure).update("" if hidden else self._reading(seconds))
            state = "" if hidden else "STOPPED" if over else "RUNNING"
            _write(panel.query_one(Static), Content("?" if hidden else state))

    def _draw_bars(self, found: view.Figures | None, name: str) -> None:
        panel = self.query_one("#bars", Panel)
        panel.entitle("stopwatch and device, to one scale")
        thick = 1 if self.has_class("-flat") else 3 if self.has_class("-tall") else 2

        def lines(width: int) -> list[Line]:
            if found is None or name == "program":
                return [()] * (2 * thick + 1)
            return scaled(found, width, thick, self.bet, self._time, name)

        panel.query_one(Paper).show(lines)

    def _draw_hero(self, found: view.Figures | None, name: str) -> None:
        hero, bet = self.query_one("#hero", Static), self.bet
        question, figure, style = QUESTIONS[name], "?", "$muted"
        if found is None:
            question = self._waiting()
        elif found.inline:
            question = found.verdict
        else:
            unit, over = self._unit, self._time is None
            stopwatch, work = (
                f"{unit.text(one)} {unit.name}" for one in (found.stopwatch, found.work)
            )
            question = question.format(stopwatch=stopwatch, work=work, name=unit.name)
            if name == "bet":
                figure, style = f"{bet}×", "bold"
            elif name == "race":
                figure, style = self._reading(found.work), "bold $danger"
                if over:
                    question = f"done after {work}"
                elif self._time is not None and self._time < found.stopwatch:
                    question = f"both clocks run, {unit.name} so far"
            elif name == "factor":
                figure, style = found.factor, "bold $danger"
                question += f" · {view.judged(bet, found.ratio)}"
            elif name == "fix":
                figure = found.factor if over else ""
                style = "bold $success"
        width, height = hero.content_size
        big = large(figure, width, height - 2)
        lines = [(question, "bold"), ("", ""), *((line, style) for line in big)]
        # By hand: lines of one figure must not be centred each by its own ink.
        centred = [
            Content(" " * max(0, (width - len(text)) // 2)).append(
                Content.styled(text, one)
            )
            for text, one in lines
        ]
        _write(hero, Content("\n").join(centred))

    def _reading(self, seconds: float) -> str:
        """A clock that runs, without digits that would flicker."""
        if self._time is None or self._time >= seconds:
            return self._unit.text(seconds)
        return f"{self._time / self._unit.factor:.0f}"

    def _waiting(self) -> str:
        failed = explanation(self.job.failed) if self.job is not None else ""
        return failed or view.waiting(self.state, self.job, self.loop)


def _write(widget: Static, text: Content) -> None:
    """Write another text of the same height."""
    # Two texts are equal whatever their styles are.
    before = widget.content
    if not (isinstance(before, Content) and before.is_same(text)):
        widget.update(text, layout=False)


def scaled(
    found: view.Figures,
    width: int,
    thick: int,
    bet: int,
    until: float | None,
    name: str,
) -> list[Line]:
    """Stopwatch and work as thick bars to one scale; what was missed is red.

    Args:
        found: the figures.
        width: cells of a line.
        thick: lines of a bar.
        bet: how many times longer than the stopwatch the work was bet to take.
        until: where the playback is; ``None`` at its end.
        name: of the step; in that of the bet the work is hidden.
    """
    bet_seconds = bet * found.stopwatch
    fixed, betting = name == "fix", name == "bet"
    longest = max(0.0 if betting else found.work, 0.0 if fixed else bet_seconds)
    room = width - _LABEL
    now = found.work if until is None else until

    def rows(label: str, role: str, *parts: Span) -> list[Line]:
        names = [label if row == thick // 2 else "" for row in range(thick)]
        return [(Span(one.ljust(_LABEL), role), *parts) for one in names]

    timed = bar(min(found.stopwatch, now) / longest, room)
    lines = rows("STOPWATCH", "host", Span(timed, "host"))
    if betting:
        return [*lines, *rows(f"BET {bet}×", "value", Span("░" * room, "muted")), ()]
    drawn = bar(now / longest, room)
    missed = Span(drawn[len(timed) :], "device" if fixed else "danger")
    lines += rows("DEVICE", "device", Span(drawn[: len(timed)], "device"), missed)
    if until is not None and now >= found.stopwatch and not fixed:
        whole = missed.text.rstrip("▏▎▍▌▋▊▉")
        if len(whole) >= len(COMPUTING):
            said = Span(COMPUTING.center(len(whole)), "badge-fail")
            rest = Span(missed.text[len(whole) :], "danger")
            row = thick + thick // 2
            lines[row] = (*lines[row][:-1], said, rest)
    if fixed:
        return [*lines, ()]
    place = min(room - 1, round(bet_seconds / longest * room))
    text = f"bet {bet}×"
    mark = f"{text} ▲".rjust(place + 1)
    if place + len(text) + 2 <= room:
        mark = " " * place + f"▲ {text}"
    return [*lines, (Span(" " * _LABEL + mark, "value"),)]


COMPUTING = " STILL COMPUTING "

_LABEL = 11
