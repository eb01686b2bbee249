"""A stopwatch beside what it timed: one unit, bars to scale, and what cannot be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jaxtui import format as fmt
from jaxtui.model import Summary
from jaxtui.state import CaseState
from jaxtui.stats import break_even_calls
from jaxtui.view.bench import share_of_peak
from jaxtui.view.text import Line, Span, bar
from jaxtui.view.timeline import Figures


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    seconds: float | None = None
    """``None`` while it is not known."""
    role: str = "label"
    """Of its bar."""
    digits: int = 3
    """How many of its figure are known."""
    parts: tuple[str, ...] = ()
    """What follows from it, the most important first."""
    wrong: bool = False
    """Whether that is a danger."""


def lines(bars: Sequence[Bar], width: int) -> list[Line]:
    """The times in one unit, each with its bar to scale and what follows from it.

    What does not fit behind a bar is left out, the least important first.
    """
    known = [one.seconds for one in bars if one.seconds is not None]
    unit = fmt.common(known)
    figures = fmt.aligned(
        "" if one.seconds is None else unit.text(one.seconds, one.digits)
        for one in bars
    )
    label = max((len(one.label) for one in bars), default=0) + 1
    figure = max(map(len, figures), default=0)
    room = max(1, width - label - (figure + len(unit.name) + 2 if known else 0))
    longest = max(known, default=1.0) or 1.0
    least = room // 3
    shares = [(one.seconds or 0.0) / longest for one in bars]
    texts = [
        _fitting(one.parts, room - 2 - round(least * share))
        for one, share in zip(bars, shares, strict=True)
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
    found: list[Line] = []
    for one, shown, share, text in zip(bars, figures, shares, texts, strict=True):
        head = Span(one.label.ljust(label), "muted")
        tail = Span(text, "danger" if one.wrong else "label")
        if one.seconds is None:
            found.append((head, Span(text, "danger" if one.wrong else "muted")))
            continue
        time = Span(f"{shown} {unit.name} ", "title")
        drawn = bar(share, full).rstrip() or "▏"
        found.append((head, time, Span(drawn, one.role), Span(" "), tail))
    return found


def _fitting(parts: Sequence[str], room: int) -> str:
    text = ""
    for part in parts:
        longer = f"{text}  {part}" if text else part
        if len(longer) > room:
            break
        text = longer
    return text


# The first minute: one case of JAX, and NumPy's.

BEFORE = (
    Bar("stopwatch", parts=("until the call returns",)),
    Bar("truth", parts=("until the result is there",)),
    Bar("NumPy", parts=("the same on the host",)),
)
"""What is going to be timed."""


def figures(case: CaseState) -> Figures | None:
    """What a stopwatch around one call reads, beside what its work took.

    ``None`` before there are figures.
    """
    measured = case.measurement
    if measured is None or measured.ready is None or measured.dispatch is None:
        return None
    peak = measured.peak.flops_per_second if measured.peak else None
    read, took = measured.dispatch.median, measured.ready.median
    return Figures(read, took, measured.flops, peak)


def _verdict(found: Figures) -> tuple[str, ...]:
    """What to say beside the speed that the stopwatch claims."""
    if found.impossible:
        return "IMPOSSIBLE", f"peak {fmt.rate(found.peak)}"
    return ("result not awaited",) if found.wrong else ("returned with the result",)


def comparison(case: CaseState, numpy: CaseState | None) -> tuple[Bar, ...]:
    """Stopwatch and truth of a case of JAX, and NumPy's time for the same."""
    measured, said = case.measurement, figures(case)
    true_rate = measured.flops_per_second if measured else None

    def in_unit(rate: float) -> str:
        """A rate in the unit of the true one."""
        unit = fmt.common([true_rate or rate], "FLOP/s")
        return f"{unit.text(rate)} {unit.name}"

    doing = (case.doing.replace("_", " ") or "waiting",)
    found = [Bar("stopwatch", parts=doing), Bar("truth", parts=doing)]
    if measured and measured.ready and measured.dispatch and said is not None:
        rate = said.claimed
        parts = (*((in_unit(rate),) if rate else ()), *_verdict(said))
        digits = fmt.digits_known(measured.dispatch)
        seconds = said.stopwatch
        found[0] = Bar("stopwatch", seconds, "host", digits, parts, said.wrong)
        truth = []
        if measured.flops_per_second:
            truth.append(in_unit(measured.flops_per_second))
        elif measured.has("host-bound"):
            truth.append("host-bound: no rate")
        if (share := share_of_peak(measured)) is not None:
            truth.append(f"{fmt.percent(share)} of peak")
        truth.append(ends(measured.ready))
        digits = fmt.digits_known(measured.ready)
        found[1] = Bar("truth", said.work, "device", digits, tuple(truth))
    if numpy is not None:
        found.append(_numpy(numpy, in_unit))
    return tuple(found)


def _numpy(case: CaseState, in_unit: Callable[[float], str]) -> Bar:
    label, measured = "NumPy", case.measurement
    if case.failure is not None:
        return Bar(label, parts=(case.status,), wrong=True)
    if measured is None or measured.ready is None:
        return Bar(label, parts=(case.doing.replace("_", " ") or "waiting",))
    rate = measured.flops_per_second
    found = (in_unit(rate),) if rate else ()
    return Bar(
        label,
        measured.ready.median,
        "numpy",
        fmt.digits_known(measured.ready),
        (*found, case.case.dtype),
    )


def cold(case: CaseState, numpy: CaseState | None) -> Line:
    """The first call, and after how many calls NumPy has taken longer."""
    if case.phases.first_call is None:
        return ()
    first = case.phases.cold_seconds
    head = Span("first call ", "muted"), Span(fmt.seconds(first), "title")
    mine, theirs = case.measurement, numpy.measurement if numpy else None
    if not (mine and mine.ready and theirs and theirs.ready):
        return head
    calls = break_even_calls(first, mine.ready.median, theirs.ready.median)
    text = "compile never repaid: NumPy is faster"
    if calls is not None:
        text = f"compile repaid after {fmt.plural(calls, 'call')}"
    return (*head, Span(f" · {text}"))


def ends(summary: Summary) -> str:
    """An interval as its two ends: ``0.65–1.63 ms``."""
    if summary.rounds < 2:
        return "one round"
    unit = fmt.common((summary.ci_low, summary.ci_high))
    digits = 2 if summary.half_width > 0.05 else 3
    low, high = (unit.text(x, digits) for x in (summary.ci_low, summary.ci_high))
    return f"{low}–{high} {unit.name}" if low != high else f"{low} {unit.name}"
