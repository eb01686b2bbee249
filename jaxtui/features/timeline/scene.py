"""The class view: a program, a stopwatch that lies, a bet, the factor, and the fix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import msgspec

from jaxtui import format as fmt
from jaxtui.features.timeline.report import next_calls
from jaxtui.features.timeline.stopwatch import LoopClocks, median_of
from jaxtui.model import Case, Loop, LoopClock, LoopMeasured
from jaxtui.model.own import short_name
from jaxtui.state import State
from jaxtui.view.text import Line, Span, bar, large

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

Field = Literal["op", "size", "device", "calls"]

FIELDS: tuple[Field, ...] = get_args(Field)
"""The fields of the program that can be chosen, in their order."""

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


def adjusted(loop: Loop, field: Field, by: int, state: State) -> Loop:
    """The loop with the next value of a field, or the one before; at the ends of what
    there is, the loop itself.

    Args:
        loop: what runs now.
        field: what of it changes.
        by: 1 or -1.
        state: what there is to choose from.
    """
    case, ops = loop.case, {op.name: op for op in state.ops if "jit" in op.modes}
    match field:
        case "op":
            op = ops[_next(list(ops), case.op, by)] if ops else None
            if op is None or op.name == case.op:
                return loop
            dtype = case.dtype if case.dtype in op.dtypes else op.dtypes[0]
            case = Case(
                op=op.name, size=op.default, dtype=dtype, device=case.device, mode="jit"
            )
        case "size":
            least = ops[case.op].minimum if case.op in ops else 0
            size = case.size * 2 if by > 0 else case.size // 2
            case = msgspec.structs.replace(case, size=max(size, min(least, case.size)))
        case "device":
            names = [device.name for device in state.devices if device.addressable]
            device = _next(names, case.device, by)
            case = msgspec.structs.replace(case, device=device)
        case "calls":
            return msgspec.structs.replace(loop, calls=next_calls(loop.calls, by))
    return msgspec.structs.replace(loop, case=case)


def _next(values: Sequence[str], value: str, by: int) -> str:
    """The value that many places further, round and round."""
    if value not in values:
        return values[0] if values else value
    return values[(values.index(value) + by) % len(values)]


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
    field: Field = "op"
    """The field that the arrows change while the program is shown."""

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

    def steps(self) -> Line:
        spans = [
            Span(f" {step} ", "badge" if step == self.step else "label")
            for step in STEPS
        ]
        if self.recorded:
            spans += [Span(" RECORDED ", "badge-low"), Span(f" {RECORDED_ON}")]
        return tuple(spans)

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

    def program(self) -> list[Line]:
        """The program, and below it what can be chosen of it."""
        lines: list[Line] = []
        for text in PROGRAM:
            if text.startswith("seconds") and self.step == "fix":
                lines.append((Span(FIX, "badge-pass"),))
            role = "host" if "perf_counter" in text else "label"
            lines.append((Span(text.format(calls=self.loop.calls), role),))
        if self.step == "program":
            lines.append(self._fields())
        return lines

    def _fields(self) -> Line:
        case = self.loop.case
        values: dict[Field, str] = {
            "op": short_name(case.op),
            "size": fmt.size(case.size),
            "device": case.device,
            "calls": str(self.loop.calls),
        }
        spans: list[Span] = []
        for field in FIELDS:
            spans.append(Span(f"{field} ", "muted"))
            role = "badge" if field == self.field else "value"
            spans += [Span(f" {values[field]} ", role), Span(" ")]
        return tuple(spans)

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

    def bars(self, width: int, thick: int) -> list[Line]:
        """Stopwatch and work as bars to one scale, what was missed in red, the bet.

        Args:
            width: cells of a line.
            thick: lines of a bar.

        Returns:
            Two bars and one line more, blank while nothing may be seen.
        """
        clocks = self.clocks
        if clocks is None or self.step == "program":
            return [()] * (2 * thick + 1)
        bet_seconds = self.bet * self.read
        fixed, betting = self.step == "fix", self.step == "bet"
        longest = max(0.0 if betting else clocks.work, 0.0 if fixed else bet_seconds)
        room = width - LABEL
        now = clocks.work if self.time is None else self.time

        def rows(label: str, role: str, *parts: Span) -> list[Line]:
            names = [label if row == thick // 2 else "" for row in range(thick)]
            return [(Span(name.ljust(LABEL), role), *parts) for name in names]

        bar_read = bar(min(self.read, now) / longest, room)
        lines = rows("STOPWATCH", "host", Span(bar_read, "host"))
        if betting:
            hidden = Span("░" * room, "muted")
            return [*lines, *rows(f"BET {self.bet}×", "value", hidden), ()]
        work = bar(now / longest, room)
        missed = Span(work[len(bar_read) :], "device" if fixed else "danger")
        lines += rows("WORK", "device", Span(work[: len(bar_read)], "device"), missed)
        if fixed:
            return [*lines, ()]
        if self.time is not None and now >= self.read:
            full = missed.text.rstrip("▏▎▍▌▋▊▉")
            if len(full) >= len(COMPUTING):
                words = Span(COMPUTING.center(len(full)), "badge-fail")
                tail = Span(missed.text[len(full) :], "danger")
                row = thick + thick // 2
                lines[row] = (*lines[row][:-1], words, tail)
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
