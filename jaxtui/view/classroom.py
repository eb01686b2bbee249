"""The class view: a program, a stopwatch that lies, a bet, the factor, and the fix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from jaxtui import format as fmt
from jaxtui.model import Loop
from jaxtui.view.stopwatch import Clocks, median_of
from jaxtui.view.text import Line, Span, bar, large

Step = Literal["program", "bet", "race", "factor", "fix"]

STEPS: tuple[Step, ...] = get_args(Step)
"""In their order."""

Clock = Literal["stopwatch", "work"]

CLOCKS: tuple[Clock, ...] = get_args(Clock)

PROGRAM = (
    "start = perf_counter()",
    "for _ in range({calls}):",
    "    y = f(x)",
    "seconds = perf_counter() - start",
    "print(seconds)",
)

FIX = "y.block_until_ready()"

QUESTIONS: dict[Step, str] = {
    "program": "What does this program time?",
    "bet": "It read {stopwatch}. How long does the device really work?   ← → bet",
    "race": "STILL COMPUTING, {unit} so far · the stopwatch read {stopwatch}",
    "factor": "{work} of work, and the stopwatch says {stopwatch}",
    "fix": "the stopwatch with this line {stopwatch}, without it {without}",
}
"""What stands over the large figure of a step."""

LABEL = 11
"""Cells of the names of the bars."""

COMPUTING = " STILL COMPUTING "


BETS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
"""How many times longer than the stopwatch says the work may take."""

FIRST_BET = 2


def next_bet(bet: int, by: int) -> int:
    """The bet so many places higher or lower."""
    return BETS[max(0, min(BETS.index(bet) + by, len(BETS) - 1))]


def judge_bet(bet: float, ratio: float) -> str:
    """In words: how good a bet was."""
    off = max(bet / ratio, ratio / bet)
    if off < 1.5:
        return f"bet {bet:g}×: right"
    way = "high" if bet > ratio else "low"
    return f"bet {bet:g}×: {fmt.ratio(off)} too {way}"


@dataclass(frozen=True, slots=True)
class Scene:
    """What the class sees at one moment: nothing that it has not predicted."""

    step: Step
    clocks: Clocks | None
    """Of the program with or without the fix; ``None`` before it has run."""
    unit: fmt.Unit
    """One for all steps."""
    bet: int
    """How many times longer than the stopwatch the work was bet to take."""
    time: float | None = None
    """Where the playback is, in seconds; ``None`` when all is shown."""
    without: float = 0.0
    """What the stopwatch reads without the fix, in the same run."""

    def steps(self) -> Line:
        return tuple(
            Span(f" {number} {step} ", "badge" if step == self.step else "label")
            for number, step in enumerate(STEPS, 1)
        )

    def bars_title(self) -> str:
        """What the bars show, and of how many repeats; the fix took turns with them."""
        title = "stopwatch and device"
        if self.clocks is None or not self.clocks.repeats:
            return f"{title}, to one scale"
        title = f"{title} · {median_of(self.clocks.repeats)}"
        if self.step == "fix":
            return f"{title}, in turn with those without"
        spread = self.clocks.spread if self.step == "factor" else ""
        return f"{title} · {spread}" if spread else title

    def program(self, loop: Loop) -> list[Line]:
        lines: list[Line] = []
        for text in PROGRAM:
            if text.startswith("seconds") and self.step == "fix":
                lines.append((Span(FIX, "badge-pass"),))
            role = "host" if "perf_counter" in text else "label"
            lines.append((Span(text.format(calls=loop.calls), role),))
        return lines

    def clock(self, name: Clock) -> tuple[str, str]:
        """What a clock reads, and whether it runs; no reading while it is hidden."""
        if (
            self.clocks is None
            or self.step == "program"
            or (self.step == "bet" and name == "work")
        ):
            return "", "?"
        found = self.clocks
        seconds = found.stopwatch if name == "stopwatch" else found.work
        state = "STOPPED" if self._over(seconds) else "RUNNING"
        return self._reading(seconds), state

    def bars(self, width: int, thick: int) -> list[Line]:
        """Stopwatch and work as bars to one scale, what was missed in red, the bet.

        Args:
            width: cells of a line.
            thick: lines of a bar.

        Returns:
            Two bars and one line more, blank while nothing may be seen.
        """
        found = self.clocks
        if found is None or self.step == "program":
            return [()] * (2 * thick + 1)
        bet_seconds = self.bet * found.stopwatch
        fixed, betting = self.step == "fix", self.step == "bet"
        longest = max(0.0 if betting else found.work, 0.0 if fixed else bet_seconds)
        room = width - LABEL
        now = found.work if self.time is None else self.time

        def rows(label: str, role: str, *parts: Span) -> list[Line]:
            names = [label if row == thick // 2 else "" for row in range(thick)]
            return [(Span(one.ljust(LABEL), role), *parts) for one in names]

        read = bar(min(found.stopwatch, now) / longest, room)
        lines = rows("STOPWATCH", "host", Span(read, "host"))
        if betting:
            hidden = Span("░" * room, "muted")
            return [*lines, *rows(f"BET {self.bet}×", "value", hidden), ()]
        work = bar(now / longest, room)
        missed = Span(work[len(read) :], "device" if fixed else "danger")
        lines += rows("DEVICE", "device", Span(work[: len(read)], "device"), missed)
        if fixed:
            return [*lines, ()]
        if self.time is not None and now >= found.stopwatch:
            full = missed.text.rstrip("▏▎▍▌▋▊▉")
            if len(full) >= len(COMPUTING):
                words = Span(COMPUTING.center(len(full)), "badge-fail")
                rest = Span(missed.text[len(full) :], "danger")
                row = thick + thick // 2
                lines[row] = (*lines[row][:-1], words, rest)
        place = min(room - 1, round(bet_seconds / longest * room))
        text = f"bet {self.bet}×"
        mark = f"{text} ▲".rjust(place + 1)
        if place + len(text) + 2 <= room:
            mark = " " * place + f"▲ {text}"
        return [*lines, (Span(" " * LABEL + mark, "value"),)]

    def hero(self, waiting: str, width: int, height: int) -> list[Line]:
        """A question or a sentence, and the figure that a class must see.

        Args:
            waiting: why there are no figures, while there are none.
            width: cells of a line.
            height: lines that there are.
        """
        text, figure, role = self._headline(waiting)
        drawn = large(figure, width, height - 2)
        if figure and not drawn:
            text = f"{text} · {figure}"
        lines = [(text, "strong"), ("", "label")]
        lines += [(line, role) for line in drawn]
        return [
            (Span(" " * max(0, (width - len(text)) // 2)), Span(text, role))
            for text, role in lines
        ]

    def _headline(self, waiting: str) -> tuple[str, str, str]:
        """The text, the figure below it, and the role of that."""
        found, unit = self.clocks, self.unit
        if found is None:
            return waiting, "?", "muted"
        if found.inline:
            return found.verdict, "?", "muted"
        stopwatch, work, without = (
            f"{unit.text(one)} {unit.name}"
            for one in (found.stopwatch, found.work, self.without)
        )
        text = QUESTIONS[self.step].format(
            stopwatch=stopwatch, work=work, without=without, unit=unit.name
        )
        match self.step:
            case "bet":
                return text, f"{self.bet}×", "value"
            case "race":
                if self.time is None:
                    text = f"done after {work}"
                elif not self._over(found.stopwatch):
                    text = f"both clocks run, {unit.name} so far"
                return text, self._reading(found.work), "danger"
            case "factor":
                words = f"{text} · {judge_bet(self.bet, found.ratio)}"
                return words, found.factor, "muted" if found.vague else "danger"
            case "fix":
                return text, found.factor if self.time is None else "", "pass"
            case _:
                return text, "?", "muted"

    def _over(self, seconds: float) -> bool:
        return self.time is None or self.time >= seconds

    def _reading(self, seconds: float) -> str:
        """A clock that runs: without the last digit of the work, which flickers."""
        if self.time is None or self._over(seconds):
            return self.unit.text(seconds)
        work = self.unit.text(self.clocks.work) if self.clocks else ""
        decimals = max(0, len(work.partition(".")[2]) - 1)
        return f"{self.time / self.unit.factor:.{decimals}f}"
