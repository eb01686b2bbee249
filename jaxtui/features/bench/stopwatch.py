"""A stopwatch beside what it timed: one unit, bars to scale, and what cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from rich.console import RenderableType

from jaxtui.core import format as fmt
from jaxtui.core.model import Interval
from jaxtui.core.state import CaseState, Job
from jaxtui.core.stats import break_even_calls, ratio
from jaxtui.features.bench.figures import APART, awaited, numpy_of, share_of_peak
from jaxtui.features.bench.messages import Results
from jaxtui.features.bench.report import gathered
from jaxtui.ui import words
from jaxtui.ui.progress import doing
from jaxtui.ui.report import Notes, Statement, styled
from jaxtui.ui.text import Line, Span, bar

CLOSE = 1.05
"""A stopwatch that is off by less is right."""


class Clocks(msgspec.Struct, frozen=True):
    """The reading of a stopwatch around some calls, and the time of their work."""

    stopwatch: float
    """Seconds."""
    work: float
    """Seconds."""
    flops: float | None = None
    """Flops of all calls."""
    peak: float | None = None
    """FLOP/s of the chip."""

    @property
    def ratio(self) -> float:
        """The ratio of the work's time to the stopwatch's."""
        return max(self.work, 1e-12) / max(self.stopwatch, 1e-12)

    @property
    def factor(self) -> str:
        """The ratio as it is written: ``541×``."""
        return fmt.ratio(self.ratio) if self.ratio >= CLOSE else "1×"

    @property
    def claimed(self) -> float | None:
        """FLOP/s, if the stopwatch were right."""
        return self.flops / self.stopwatch if self.flops and self.stopwatch else None

    @property
    def impossible(self) -> bool:
        """The claimed speed is above the chip's known peak."""
        return bool(self.claimed and self.peak and self.claimed > self.peak)

    @property
    def wrong(self) -> bool:
        """The stopwatch has missed a good part of the work."""
        return self.impossible or self.ratio > APART


def of_case(case: CaseState) -> Clocks | None:
    """A stopwatch around one call; ``None`` before there are figures."""
    measured = case.measurement
    if measured is None or measured.ready is None or measured.dispatch is None:
        return None
    peak = measured.peak.flops_per_second if measured.peak else None
    stopwatch, took = measured.dispatch.median, measured.ready.median
    return Clocks(stopwatch, took, measured.flops, peak)


class Factor(NamedTuple):
    """The ratio of a call's time to the stopwatch's."""

    text: str
    """``14×``; one that is not known to within a third is its interval: ``8.4–20×``."""
    ends: str = ""
    """The interval, if it is not in the text; single rounds have none."""
    wide: bool = False
    """The interval spans more than a factor of two."""


def off_by(case: CaseState) -> Factor | None:
    """Return a stopwatch's error as a factor; ``None`` before there are figures."""
    measured, clocks = case.measurement, of_case(case)
    if clocks is None or not (measured and measured.ready and measured.dispatch):
        return None
    factor = ratio(measured.ready.interval, measured.dispatch.interval)
    if factor is None or factor.low == factor.high:  # single rounds have no interval
        return Factor(clocks.factor)
    ends = f"{fmt.ratio_ends(factor)}×"
    wide = factor.high > 2 * factor.low
    return Factor(ends, "", wide) if factor.vague else Factor(clocks.factor, ends, wide)


# Bars with what follows from them.


class Bar(msgspec.Struct, frozen=True):
    label: str
    seconds: float | None = None
    """``None`` while it is not known."""
    role: str = "label"
    """The role of its bar."""
    digits: int = 3
    """The known digits of its figure."""
    parts: tuple[str, ...] = ()
    """The consequences of it, the most important first."""
    wrong: bool = False
    """True if these are a danger."""
    vague: bool = False
    """True if its figure is not known to within a third."""


def lines(bars: Sequence[Bar], width: int, *, until: float | None = None) -> list[Line]:
    """The times in one unit, each with its bar to scale and what follows from it.

    What does not fit behind a bar is left out, the least important first.

    Args:
        bars: what there is.
        width: cells of every line at most.
        until: only what was so by then, seconds: a time that is not over has no figure.
    """
    known_seconds = [b.seconds for b in bars if b.seconds is not None]
    shared = fmt.shared(known_seconds)
    units = [shared.of(b.seconds or 0.0, b.digits) for b in bars]
    figures = fmt.aligned(
        "" if b.seconds is None else "~" * b.vague + unit.text(b.seconds, b.digits)
        for b, unit in zip(bars, units, strict=True)
    )
    label = max((len(b.label) for b in bars), default=0) + 1
    figure = max(map(len, figures), default=0)
    name = max((len(unit.name) for unit in units), default=0)
    room = max(1, width - label - (figure + name + 2 if known_seconds else 0))
    longest = max(known_seconds, default=1.0) or 1.0
    least = room // 3
    shares = [(b.seconds or 0.0) / longest for b in bars]
    texts = [
        _fitting(b.parts, room - 2 - round(least * share))
        for b, share in zip(bars, shares, strict=True)
    ]
    scale = min(
        (
            (room - 2 - len(text)) / share
            for text, share in zip(texts, shares, strict=True)
            if share
        ),
        default=0,
    )
    full = max(least, min(room, int(scale)))
    rows: list[Line] = []
    for b, unit, shown, share, text in zip(
        bars, units, figures, shares, texts, strict=True
    ):
        head = Span(b.label.ljust(label), "muted")
        tail = Span(text, "danger" if b.wrong else "label")
        if b.seconds is None:
            rows.append((head, Span(text, "danger" if b.wrong else "muted")))
            continue
        if until is not None and until < b.seconds:
            time = Span(f"{'…':>{len(shown)}} {'':{name}} ", "title")
            drawn = bar(share * until / b.seconds, full).rstrip() or "▏"
            rows.append((head, time, Span(drawn, b.role)))
            continue
        role = "unknown" if b.vague else "title"
        time = Span(f"{shown} {unit.name:{name}} ", role)
        drawn = bar(share, full).rstrip() or "▏"
        rows.append((head, time, Span(drawn, b.role), Span(" "), tail))
    return rows


def sketch(width: int, height: int) -> list[Line]:
    """Draw a call on host and device, and the moments at which two clocks of it stop:
    before there are figures, so not to scale. Where there is no room, write the clocks
    in words.
    """
    label = max(len(bar.label) for bar in BEFORE) + 1
    words = {bar.label: bar.parts[0] for bar in BEFORE}
    end = width - label - max(map(len, words.values())) - 1
    tall = min(3, (height - 2) // 4)
    if tall < 1 or end < 20:
        return lines(BEFORE, width)
    call = max(3, end // 10)

    def rows(name: str, begin: int, stop: int, role: str, text: str) -> list[Line]:
        drawn = Span("█" * (stop - begin), role)
        first = Span(f"{name:{label}}", "muted"), Span(" " * begin), drawn
        below = Span(" " * (label + begin)), drawn
        return [(*first, Span(f" {text}", "muted")), *[below] * (tall - 1)]

    ends = (
        Span(" " * (label + call - 1)),
        Span("╷", "host"),
        Span(" " * (end - call - 1)),
        Span("╷", "device"),
    )
    return [
        *rows("host", 0, call, "host", "dispatches and continues"),
        *rows("device", call - 1, end, "device", "computes"),
        ends,
        *rows("stopwatch", 0, call, "host", words["stopwatch"]),
        *rows("truth", 0, end, "device", words["truth"]),
        (Span(f"{'NumPy':{label}}{words['NumPy']}", "muted"),),
    ]


def _fitting(parts: Sequence[str], room: int) -> str:
    text = ""
    for part in parts:
        longer = f"{text}  {part}" if text else part
        if len(longer) > room:
            break
        text = longer
    return text


# Of one case of JAX, and NumPy's: the first minute.

BEFORE = (
    Bar("stopwatch", parts=("until the call returns",)),
    Bar("truth", parts=("until the result arrives",)),
    Bar("NumPy", parts=("the same on the host",)),
)
"""The bars of what is going to be timed."""


def _verdict(clocks: Clocks) -> tuple[str, ...]:
    """Return the words next to the speed that the stopwatch claims."""
    if not clocks.wrong:
        return ("result included",)
    if clocks.impossible:
        return ("IMPOSSIBLE", f"peak {fmt.rate(clocks.peak)}")
    return ("result not awaited",)


def comparison(case: CaseState, numpy: CaseState | None) -> tuple[Bar, ...]:
    """Stopwatch and truth of a case of JAX, and NumPy's time for the same."""
    measured, clocks = case.measurement, of_case(case)
    phase = (doing(case.doing) or "waiting",)
    bars = [Bar("stopwatch", parts=phase), Bar("truth", parts=phase)]
    if measured and measured.ready and measured.dispatch and clocks is not None:
        rate = clocks.claimed
        parts = (*((fmt.rate(rate),) if rate else ()), *_verdict(clocks))
        digits = fmt.digits_known(measured.dispatch.interval)
        seconds = clocks.stopwatch
        vague = measured.dispatch.vague
        bars[0] = Bar("stopwatch", seconds, "host", digits, parts, clocks.wrong, vague)
        truth, per_call = [], awaited(measured)
        if per_call.flops_per_second:
            truth.append(fmt.rate(per_call.flops_per_second))
        elif measured.has("host-bound"):
            truth.append("host-bound: no rate")
        if (share := share_of_peak(per_call)) is not None:
            truth.append(f"{fmt.percent(share)} of peak")
        several = measured.ready.rounds > 1
        truth.append(str(fmt.ends(measured.ready)) if several else "one round")
        queued = measured.flops_per_second
        if queued and queued > CLOSE * (per_call.flops_per_second or queued):
            truth.append(f"pipelined {fmt.rate(queued)}")
        digits = fmt.digits_known(measured.ready.interval)
        vague = measured.ready.vague
        bars[1] = Bar("truth", clocks.work, "device", digits, tuple(truth), vague=vague)
    if numpy is not None:
        bars.append(_numpy(numpy))
    return tuple(bars)


def _numpy(case: CaseState) -> Bar:
    label, measured = "NumPy", case.measurement
    if case.failure is not None:
        return Bar(label, parts=(case.status,), wrong=True)
    if measured is None or measured.ready is None:
        return Bar(label, parts=(doing(case.doing) or "waiting",))
    rate = measured.flops_per_second
    parts = (fmt.rate(rate),) if rate else ()
    return Bar(
        label,
        measured.ready.median,
        "numpy",
        fmt.digits_known(measured.ready.interval),
        (*parts, case.case.dtype),
        vague=measured.ready.vague,
    )


def four_lines(case: CaseState, run: Job, width: int) -> list[Line]:
    """The first minute: stopwatch, truth, NumPy, and the first call once it is over."""
    numpy = numpy_of(case, run)
    drawn = lines(comparison(case, numpy), width)
    return [*drawn, cold(case, numpy)] if case.phases.first_call else drawn


def busy(run: Job) -> list[Statement]:
    """Return how far others used the cores during a run."""
    return [note for note in gathered(run) if note.remark.code == "contended"]


def first_minute(run: Job, width: int) -> list[RenderableType | Line]:
    """All of it as text, with what qualifies its figures."""
    case = next(entry for entry in run.cases if not entry.case.on_host)
    title = styled(f"why did my stopwatch lie?  {case.case.label}", "title")
    text_lines: list[RenderableType | Line] = [title, ()]
    if case.failure is not None:
        return [*text_lines, styled(words.in_full(case.failure))]
    text_lines += four_lines(case, run, width)
    if notes := gathered(run, full=False):
        text_lines += [(), Notes(notes, brief=True)]
    clocks, factor = of_case(case), off_by(case)
    if clocks is not None and factor is not None and (clocks.wrong or factor.wide):
        ends = f" ({factor.ends})" if factor.ends else ""
        verb = "is" if clocks.wrong else "may be"
        text = styled(f"The stopwatch {verb} off by {factor.text}{ends}.", "danger")
        if factor.wide:
            where = " on an idle machine" if busy(run) else ""
            text.append_text(styled(f" Run it again{where}."))
        text_lines += [(), text]
    return text_lines


class Stopwatch(Results, frozen=True, kw_only=True):
    """The document of ``jaxtui lie --json``: a run and the four lines' figures."""

    stopwatch_seconds: float | None = None
    """Until the call returned."""
    ready_seconds: float | None = None
    """Until its result was ready."""
    factor: Interval | None = None
    """The one over the other."""
    numpy_seconds: float | None = None
    first_call_seconds: float | None = None
    """Compile included."""
    repaid_calls: int | None = None
    """After how many calls NumPy has taken longer; ``None`` if that never happens."""

    @classmethod
    def of_run(cls, results: Results, run: Job | None) -> Stopwatch:
        parts = {name: getattr(results, name) for name in results.__struct_fields__}
        case = (
            next((case for case in run.cases if not case.case.on_host), None)
            if run
            else None
        )
        measured = case.measurement if case else None
        if run is None or case is None or measured is None:
            return cls(**parts)
        ready, dispatch = measured.ready, measured.dispatch
        twin = numpy_of(case, run)
        numpy = twin.measurement.ready if twin and twin.measurement else None
        first = case.phases.cold_seconds if case.phases.first_call else None
        return cls(
            **parts,
            stopwatch_seconds=dispatch.median if dispatch else None,
            ready_seconds=ready.median if ready else None,
            factor=ratio(ready.interval, dispatch.interval)
            if ready and dispatch
            else None,
            numpy_seconds=numpy.median if numpy else None,
            first_call_seconds=first,
            repaid_calls=break_even_calls(first, ready.median, numpy.median)
            if first and ready and numpy
            else None,
        )


def cold(case: CaseState, numpy: CaseState | None) -> Line:
    """The first call, and after how many calls NumPy has taken longer."""
    if case.phases.first_call is None:
        return ()
    first = case.phases.cold_seconds
    head = Span("first call ", "muted"), Span(fmt.seconds(first), "title")
    jax_side, numpy_side = case.measurement, numpy.measurement if numpy else None
    if not (jax_side and jax_side.ready and numpy_side and numpy_side.ready):
        return head
    calls = break_even_calls(first, jax_side.ready.median, numpy_side.ready.median)
    text = "compile never pays off: NumPy is faster"
    if calls is not None:
        text = f"compile pays off after {fmt.plural(calls, 'call')}"
    return (*head, Span(f" · {text}"))
