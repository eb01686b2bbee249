"""Memory: the same NumPy line with fresh memory, with reused memory, with none."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.format import figure, seconds
from jaxtui.lessons.base import Conclusion, Row, Setting
from jaxtui.lessons.figures import NAN, Figures, at_least, count, over, quote, which
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
        sentences: tuple[str, ...] = ("Both ends are not shown here.", why)
    else:
        each = seconds(over(fresh - reused, faults))
        sentences = (
            f"With the memory of the call before the line took {seconds(reused)}, with "
            f"new memory {seconds(fresh)}: {fmt.ratio(factor).removesuffix('×')} times "
            "as long, for the same arithmetic.",
            f"A call touched about {count(faults)} new pages, and each cost {each}."
            if holds
            else "",
            f"This process, in which nothing is set, got {seconds(here)}, nearer to "
            f"{nearer} memory. A program started with {malloc.setting('reused')} in "
            f"its environment reuses; one with {malloc.setting('fresh')} never does.",
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


def _why_no_span(setting: Setting, found: Measurement) -> str:
    for note in found.notes:
        if note.code == "no-span":
            return "There was not enough time to measure the two."
        if note.code == "memory":
            return f"Memory is {note.facts.get('end', 'set')} by request."
    names = [*setting.host.settings] if setting.host else []
    if ours := [name for name in names if name.startswith(("MALLOC_", "GLIBC_"))]:
        return f"The environment sets malloc ({fmt.listed(ours)})."
    return (
        "Either they differ by less than a tenth on this machine, or its malloc is not "
        "that of glibc, of which alone it is known how to get them."
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
        said = ""
    elif new < few:
        said = (
            "New arrays met no faults either: malloc reused their memory in this "
            "process, and may not in the next."
        )
    else:
        said = (
            "The one array stays where it is, so it costs "
            f"{figures.times(KEPT, NEW)} what new ones cost, in every program and with "
            "any malloc."
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
            said,
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
