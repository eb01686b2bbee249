"""The clocks of a loop, the judgement on its stopwatch, and both as bars."""

from __future__ import annotations

from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.model import LoopMeasured
from jaxtui.core.model.measurement import confidence, is_vague
from jaxtui.features.bench.figures import APART
from jaxtui.features.bench.stopwatch import CLOSE, Bar, Clocks, lines
from jaxtui.features.timeline.lanes import Timeline


class LoopClocks(Clocks, frozen=True):
    """The medians of the plain repeats of a loop."""

    inline: bool = False
    """The calls computed before they returned."""
    repeats: int | None = None
    """The number of plain repeats; 0 while there is only one, that was watched."""

    ends: tuple[float, float] | None = None
    """The range of the ratio from turn to turn."""

    @property
    def vague(self) -> bool:
        """True where the ratio is not known to within a third."""
        if self.repeats is None or self.inline:
            return False
        return self.ends is None or is_vague(*self.ends, confidence(self.repeats))

    @property
    def spread(self) -> str:
        """Between what the ratio lay from turn to turn; empty where none is known."""
        if self.ends is None:
            return ""
        low, high = map(fmt.ratio, self.ends)
        return f"{fmt.UNCERTAIN} " * self.vague + f"{low[:-1]}–{high}"

    @property
    def true(self) -> float | None:
        """FLOP/s of the work."""
        return self.flops / self.work if self.flops and self.work else None

    @property
    def wrong(self) -> bool:
        """The stopwatch has missed a good part of the work."""
        return not self.inline and super().wrong

    @property
    def unit(self) -> fmt.Unit:
        """The one in which both times are written, and those of a clock between: no
        less than a hundredth of it, for they are compared.
        """
        unit = fmt.common((self.stopwatch, self.work / 10, self.work))
        small = self.stopwatch < 0.01 * unit.factor
        return fmt.common((self.stopwatch,)) if small else unit

    @property
    def verdict(self) -> str:
        """The judgement on the stopwatch."""
        if self.inline:
            return "stopwatch right: the work runs inside the call"
        if self.impossible:
            peak = fmt.rate(self.peak)
            return f"IMPOSSIBLE: above the peak of {peak}; the stopwatch timed dispatch"
        if self.ratio > APART:
            return f"stopwatch stopped at {fmt.percent(1 / self.ratio)} of the work"
        if self.ratio >= CLOSE:
            return "stopwatch stopped just before the work ended"
        return "stopwatch right: the loop waited for its results"


def of_loop(line: Timeline, measured: LoopMeasured | None) -> LoopClocks:
    """The clocks of the plain repeats; before there are any, of the one that is drawn.

    Args:
        line: all calls of the one that is drawn.
        measured: what the engine says of all repeats, once it does.
    """
    if measured is None:
        return LoopClocks(line.through, line.total, repeats=0)
    return of_measured(measured)


def of_measured(measured: LoopMeasured) -> LoopClocks:
    """The clocks of the plain repeats of a loop."""
    clock, flops, peak = measured.undisturbed, measured.flops, measured.peak
    return LoopClocks(
        clock.stopwatch_seconds,
        clock.true_seconds,
        flops=None if flops is None else flops * measured.loop.calls,
        peak=None if peak is None else peak.flops_per_second,
        inline=measured.inline,
        repeats=clock.repeats,
        ends=clock.factor,
    )


def moment(clocks: LoopClocks, line: Timeline, time: float) -> float:
    """Return the clocks' reading when the drawn repeat has come to a time.

    It may be slower than the plain ones: its stopwatch stops when theirs does, and its
    work ends with theirs.
    """
    if time <= line.through:
        return clocks.stopwatch * time / max(line.through, 1e-12)
    share = (time - line.through) / (line.total - line.through)
    return clocks.stopwatch + share * (clocks.work - clocks.stopwatch)


def loop_lines(
    clocks: LoopClocks, width: int, *, until: float | None = None
) -> list[Text]:
    """Stopwatch and work as bars.

    Args:
        clocks: what there is to compare.
        width: cells of every line at most.
        until: only what was so by then, seconds.
    """
    claim = f"claims {fmt.rate(clocks.claimed)}" if clocks.claimed else ""
    real = [f"true {fmt.rate(clocks.true)}"] if clocks.true else []
    if clocks.true and clocks.peak:
        real.append(f"{fmt.percent(clocks.true / clocks.peak)} of peak")
    wrong, is_known = clocks.wrong, clocks.repeats != 0
    bars = (
        Bar(
            "stopwatch",
            clocks.stopwatch,
            "host",
            parts=(claim,) if wrong and claim else (),
            wrong=wrong,
        ),
        Bar("work", clocks.work, "device", parts=tuple(real) if is_known else ()),
    )
    return [
        Text.assemble(*((span.text, span.role) for span in line))
        for line in lines(bars, width, until=until)
    ]


def judgement(clocks: LoopClocks, width: int) -> Text:
    """Write the judgement on the stopwatch of a loop, and the number of repeats where
    there is room in these cells.
    """
    if clocks.repeats == 0:
        return Text("one watched repeat so far")
    parts = [Text(clocks.verdict, "danger" if clocks.wrong else "value")]
    if clocks.vague or clocks.wrong:
        spread = clocks.spread or fmt.UNCERTAIN * clocks.vague
        parts.append(Text(spread, "muted" if clocks.vague else ""))
    if clocks.repeats:
        parts.append(Text(median_of(clocks.repeats)))
    line = Text(" · ").join(filter(None, parts))
    while len(parts) > 1 and line.cell_len > width:
        parts.pop()
        line = Text(" · ").join(filter(None, parts))
    return line


def median_of(repeats: int) -> str:
    """Write the number of repeats behind the clocks of a loop."""
    return f"median of {repeats} repeats" if repeats > 1 else "of one repeat"
