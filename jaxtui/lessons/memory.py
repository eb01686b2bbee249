"""Memory: the same NumPy line with fresh memory, with reused memory, with none."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.format import figure, seconds
from jaxtui.lessons.base import Conclusion, Row, Setting
from jaxtui.lessons.figures import (
    NAN,
    Figures,
    at_least,
    count,
    over,
    quote,
    times,
    which,
)
from jaxtui.lessons.trial import Code, Trial, lesson, numpy_case, size
from jaxtui.machine import malloc
from jaxtui.model import Measurement

SLOWER = 1.5
"""How many times as long fresh memory must take before the claim holds."""

FEW = 0.1
"""Page faults for each page of an array that count as none."""

PAGE_BYTES = 4096


def _span(figures: Figures) -> Conclusion:
    measured, here = figures.measured("NumPy"), figures["NumPy"]
    span = measured.memory if measured else None
    fresh, reused = (span.fresh, span.reused) if span else (NAN, NAN)
    faults = span.page_faults if span else NAN
    factor, holds = over(fresh, reused), at_least(fresh, SLOWER, reused)
    nearer = "fresh" if here**2 > reused * fresh else "reused"
    if span is None:
        why = _why_no_span(figures.setting, measured) if measured else ""
        sentences: tuple[str, ...] = (
            "There are no figures for the two.",
            why,
        )
    else:
        each = seconds(over(fresh - reused, faults))
        sentences = (
            f"With reused memory the line took {seconds(reused)}, with fresh memory "
            f"{seconds(fresh)}: {times(factor)} as long for the same arithmetic.",
            f"A call touched about {count(faults)} fresh pages, and each cost {each}."
            if holds
            else "",
            f"This process, which sets nothing, took {seconds(here)}, nearer to "
            f"{nearer} memory. Set {malloc.setting('reused')} to force reuse, and "
            f"{malloc.setting('fresh')} to prevent it.",
        )
    return Conclusion(
        holds=holds,
        answer=which(factor, SLOWER, 3),
        rows=(
            figures.row("as it came in this process", "NumPy"),
            Row("with reused memory", (figure(reused),), quote("0.42 ms")),
            Row("with fresh memory", (figure(fresh),), quote("1.7 ms")),
            Row("page faults of a call, fresh", count(faults), "980"),
        ),
        sentences=sentences,
    )


def _why_no_span(setting: Setting, measured: Measurement) -> str:
    for note in measured.notes:
        if note.code == "no-span":
            return "There was not enough time to measure the two."
        if note.code == "memory":
            return f"Memory is {note.facts.get('end', 'set')} by request."
    names = [*setting.host.settings] if setting.host else []
    if ours := [name for name in names if name.startswith(("MALLOC_", "GLIBC_"))]:
        return f"The environment sets malloc ({fmt.listed(ours)})."
    return (
        "Either fresh and reused memory differ by less than a tenth, or its malloc is "
        "not that of glibc, the only one that jaxtui can set."
    )


NEW, KEPT = "new results", "results written into one array"
NEW_FAULTS, KEPT_FAULTS = "page faults, new", "page faults, into one array"


def _kept(figures: Figures) -> Conclusion:
    few = FEW * 4 * figures.setting.size / PAGE_BYTES
    new, kept = figures[NEW_FAULTS], figures[KEPT_FAULTS]
    holds = kept < few

    def row(what: str, name: str, faults: float) -> Row:
        counted = not figures.missing(NEW_FAULTS, KEPT_FAULTS)
        remark = f"{count(faults)} page faults a call" if counted else ""
        return figures.row(what, name, remark=remark)

    if not holds:
        sentence = ""
    elif new < few:
        sentence = (
            "New arrays caused no page faults either: malloc reused memory in this "
            "process, and may not in the next."
        )
    else:
        sentence = (
            f"The one array takes {figures.times(KEPT, NEW)} as long as new ones, in "
            "every program and with any malloc."
        )
    return Conclusion(
        holds=holds,
        answer=0 if holds else 1 if kept < new / 2 else 2,
        rows=(
            row("1 / (1 + np.exp(-x))", NEW, new),
            row("the same with out=y", KEPT, kept),
        ),
        sentences=(
            f"Four new arrays a call: {count(new)} page faults a call and "
            f"{seconds(figures[NEW])}.",
            f"All four steps in one array: {count(kept)} page faults a call and "
            f"{seconds(figures[KEPT])}.",
            sentence,
        ),
    )


LESSON = lesson(
    "memory",
    {
        "Fresh and reused": Trial(
            _span,
            cases=lambda setting: {"NumPy": numpy_case("sigmoid", setting.size)},
            budget=8.0,
            needs=("NumPy",),
        ),
        "One array that is kept": Trial(
            _kept,
            Code(4.0, size, memory=lambda n: 8 * 4 * n, cpu_devices=lambda _: 1),
            needs=(NEW, KEPT, NEW_FAULTS, KEPT_FAULTS),
        ),
    },
    sizes={"cpu": 250_000},
    minimum=50_000,
    maximum=20_000_000,
)
