"""The class view: a program, a stopwatch that lies, a bet, the factor, and the fix."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec
from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.model import Case, Loop, LoopClock, LoopMeasured
from jaxtui.features.timeline.stopwatch import LoopClocks, median_of
from jaxtui.ui.report import styled
from jaxtui.ui.text import bar, large

_QUESTIONS = {
    "program": "What does this program time?",
    "bet": "It read {stopwatch}. How long does the device really work?   ← → bet",
    "race": "STILL COMPUTING, {unit} so far · the stopwatch read {stopwatch}",
    "factor": "{work} of work, and the stopwatch says {stopwatch}",
    "fix": "same run: the stopwatch reads {work} with this line, {stopwatch} without",
}
"""The text over the large figure of a step."""

Step = Literal["program", "bet", "race", "factor", "fix"]

STEPS: tuple[Step, ...] = get_args(Step)
"""The steps in their order."""

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

LABEL = 11
"""Cells of the names of the bars."""

COMPUTING = " STILL COMPUTING "


BETS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
"""The bets: the ratio of the work's time to the stopwatch's."""

FIRST_BET = 2


def next_bet(bet: int, by: int) -> int:
    """The bet so many places higher or lower."""
    return BETS[max(0, min(BETS.index(bet) + by, len(BETS) - 1))]


def judge_bet(bet: float, ratio: float) -> str:
    """Judge a bet in words."""
    off = max(bet / ratio, ratio / bet)
    if off < 1.5:
        return f"bet {bet:g}×: right"
    way = "high" if bet > ratio else "low"
    return f"bet {bet:g}×: {fmt.ratio(off)} too {way}"


_RECORDED_CLOCK = LoopClock(
    repeats=7, stopwatch_seconds=2.57e-4, true_seconds=0.412, factor=(1079.0, 2015.0)
)

RECORDED = LoopMeasured(
    loop=Loop(
        case=Case(op="matmul", size=1000, dtype="float32", device="cpu:0", mode="jit"),
        calls=20,
    ),
    calls=(),
    watched=_RECORDED_CLOCK,
    undisturbed=_RECORDED_CLOCK,
    inline=False,
    queue_depth=32,
    flops=2e9,
)
"""A run of this very program, for a class whose machine gives none."""

RECORDED_ON = "2-core AMD EPYC, jax 0.10.2"
"""The machine and version of that run."""


class Scene(msgspec.Struct, frozen=True):
    """The view of the class at one moment: nothing that it has not predicted."""

    step: Step
    loop: Loop
    clocks: LoopClocks | None
    """The clocks of the program; ``None`` before it has run."""
    bet: int
    """The bet on the ratio of the work's time to the stopwatch's."""
    time: float | None = None
    """The position of the playback, in seconds; ``None`` when all is shown."""
    recorded: bool = False
    """The run is ``RECORDED``, and none of this machine."""

    @property
    def unit(self) -> fmt.Unit:
        """The unit of all steps."""
        return fmt.common(()) if self.clocks is None else self.clocks.unit

    @property
    def read(self) -> float:
        """Seconds on the stopwatch: with the fix it waits for the same work."""
        if self.clocks is None:
            return 0.0
        return self.clocks.work if self.step == "fix" else self.clocks.stopwatch

    def steps(self) -> Text:
        parts = [(f" {step} ", "badge" * (step == self.step)) for step in STEPS]
        if self.recorded:
            parts += [(" RECORDED ", "badge-low"), (f" {RECORDED_ON}", "")]
        return Text.assemble(*parts)

    def bars_title(self) -> str:
        """The title of the bars, with the number of repeats."""
        title = "stopwatch and work"
        if self.clocks is None or not self.clocks.repeats:
            return f"{title}, to one scale"
        title = f"{title} · {median_of(self.clocks.repeats)}"
        if self.step == "fix":
            return f"{title}, the same as without this line"
        spread = self.clocks.spread if self.step == "factor" else ""
        return f"{title} · {spread}" if spread else title

    def program(self) -> Text:
        """The program; in the last step with the line that it lacks."""
        lines = [
            Text(line.format(calls=self.loop.calls), "host" * ("perf" in line))
            for line in PROGRAM
        ]
        if self.step == "fix":
            lines.insert(3, Text(FIX, "badge-pass"))
        return Text("\n").join(lines)

    def clock(self, name: Clock) -> tuple[str, str]:
        """Return a clock's reading, and whether it runs; no reading while it is
        hidden.
        """
        if (
            self.clocks is None
            or self.step == "program"
            or (self.step == "bet" and name == "work")
        ):
            return "", "?"
        seconds = self.read if name == "stopwatch" else self.clocks.work
        state = "STOPPED" if self._over(seconds) else "RUNNING"
        return self._reading(seconds), state

    def bars(self, width: int, thick: int) -> list[Text]:
        """Stopwatch and work as bars to one scale, what was missed in red, the bet.

        Args:
            width: cells of a line.
            thick: lines of a bar.

        Returns:
            Two bars and one line more, blank while nothing may be seen.
        """
        clocks = self.clocks
        if clocks is None or self.step == "program":
            return [Text()] * (2 * thick + 1)
        bet_seconds = self.bet * self.read
        fixed, betting = self.step == "fix", self.step == "bet"
        longest = max(0.0 if betting else clocks.work, 0.0 if fixed else bet_seconds)
        room = width - LABEL
        now = clocks.work if self.time is None else self.time

        def rows(label: str, role: str, *parts: tuple[str, str]) -> list[Text]:
            names = [label if row == thick // 2 else "" for row in range(thick)]
            return [Text.assemble((name.ljust(LABEL), role), *parts) for name in names]

        bar_read = bar(min(self.read, now) / longest, room)
        lines = rows("STOPWATCH", "host", (bar_read, "host"))
        if betting:
            hidden = "░" * room, "muted"
            return [*lines, *rows(f"BET {self.bet}×", "value", hidden), Text()]
        work = bar(now / longest, room)
        done, missed = work[: len(bar_read)], work[len(bar_read) :]
        role = "device" if fixed else "danger"
        lines += rows("WORK", "device", (done, "device"), (missed, role))
        if fixed:
            return [*lines, Text()]
        if self.time is not None and now >= self.read:
            full = missed.rstrip("▏▎▍▌▋▊▉")
            if len(full) >= len(COMPUTING):
                row = lines[thick + thick // 2]
                row.right_crop(len(missed))
                row.append(COMPUTING.center(len(full)), "badge-fail")
                row.append(missed[len(full) :], role)
        place = min(room - 1, round(bet_seconds / longest * room))
        text = f"bet {self.bet}×"
        mark = f"{text} ▲".rjust(place + 1)
        if place + len(text) + 2 <= room:
            mark = " " * place + f"▲ {text}"
        return [*lines, Text(" " * LABEL + mark, "value")]

    def hero(self, waiting: str, width: int, height: int) -> list[Text]:
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
        lines = [styled(text, "strong"), Text()]
        lines += [Text(line, role) for line in drawn]
        for line in lines:
            line.pad_left(max(0, (width - line.cell_len) // 2))
        return lines

    def _headline(self, waiting: str) -> tuple[str, str, str]:
        """The text, the figure below it, and the role of that."""
        clocks, unit = self.clocks, self.unit
        if clocks is None:
            return f"{waiting} · o shows a recorded run", "?", "muted"
        if clocks.inline:
            return clocks.verdict, "?", "muted"
        stopwatch, work = (
            f"{unit.text(seconds)} {unit.name}"
            for seconds in (clocks.stopwatch, clocks.work)
        )
        text = _QUESTIONS[self.step].format(
            stopwatch=stopwatch, work=work, unit=unit.name
        )
        match self.step:
            case "bet":
                return text, f"{self.bet}×", "value"
            case "race":
                if self.time is None:
                    text = f"done after {work}"
                elif not self._over(clocks.stopwatch):
                    text = f"both clocks run, {unit.name} so far"
                return text, self._reading(clocks.work), "danger"
            case "factor":
                text += f" · {judge_bet(self.bet, clocks.ratio)}"
                return text, clocks.factor, "muted" if clocks.vague else "danger"
            case "fix":
                return text, "1×" if self.time is None else "", "pass"
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
