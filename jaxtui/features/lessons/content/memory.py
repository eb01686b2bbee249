"""Memory: the same NumPy line with fresh memory, with reused memory, with none."""

from __future__ import annotations

from bisect import bisect

from jaxtui.core.format import seconds
from jaxtui.features.lessons.base import Conclusion
from jaxtui.features.lessons.figures import Figures, count, over, times
from jaxtui.features.lessons.trial import Code, Trial, lesson, size
from jaxtui.machine import malloc

FEW = 0.1
"""Page faults for each page of an array that count as none."""

PAGE_BYTES = 4096

FRESH, REUSED = "fresh memory", "reused memory"


def _ends(figures: Figures) -> Conclusion:
    fresh, reused = figures[FRESH], figures[REUSED]
    faults, factor = figures["page faults, fresh"], over(fresh, reused)
    holds: bool | None = fresh >= 1.5 * reused
    cost = f"and each cost {seconds(over(fresh - reused, faults))}"
    sentences = [
        f"With reused memory the line took {seconds(reused)}, with fresh memory"
        f" {seconds(fresh)}: {times(factor)} as long for the same arithmetic.",
        f"A call touched about {count(faults)} fresh pages, {cost}." if holds else "",
        f"Set {malloc.setting('reused')} to force reuse, and {malloc.setting('fresh')}"
        " to prevent it.",
    ]
    if faults < _least_faults(figures):
        holds, why = None, "this malloc takes no settings of glibc's"
        sentences[1:] = [f"But no call got fresh memory: {why}."]
    rows = figures.table(
        ("with reused memory", REUSED, "0.42 ms"),
        ("with fresh memory", FRESH, "1.7 ms"),
        ("page faults of a call, fresh", (count(faults),), "980"),
    )
    answer = None if holds is None else bisect((1.5, 3), factor)
    return Conclusion(holds, answer, rows, sentences)


def _least_faults(figures: Figures) -> float:
    """Count page faults below which malloc gave no new pages."""
    return FEW * 4 * figures.setting.size / PAGE_BYTES


NEW, KEPT = "new results", "results written into one array"


def _kept(figures: Figures) -> Conclusion:
    new, kept = figures["page faults, new"], figures["page faults, into one array"]
    least, shorter = _least_faults(figures), figures.times(KEPT, NEW)
    holds, per_call = kept < least, "page faults a call"
    gain = (
        f"The one array takes {shorter} as long as new ones, in every program and with"
        " any malloc."
    )
    if new < least:
        gain = (
            "New arrays caused no page faults either: malloc reused memory in this"
            " process, and may not in the next."
        )
    rows = figures.table(
        ("1 / (1 + np.exp(-x))", NEW, "", f"{count(new)} {per_call}"),
        ("the same with out=y", KEPT, "", f"{count(kept)} {per_call}"),
    )
    sentences = (
        f"Four new arrays a call: {count(new)} {per_call} and {seconds(figures[NEW])}.",
        f"All four steps in one array: {count(kept)} {per_call} and"
        f" {seconds(figures[KEPT])}.",
        gain if holds else "",
    )
    return Conclusion(
        holds, 0 if holds else 1 if kept < new / 2 else 2, rows, sentences
    )


LESSON = lesson(
    "memory",
    Trial(
        _ends,
        (
            Code(4.0, size, cpu_devices=lambda _: 1, malloc="fresh"),
            Code(4.0, size, cpu_devices=lambda _: 1, malloc="reused"),
        ),
    ),
    Trial(_kept, Code(4.0, size, cpu_devices=lambda _: 1)),
    sizes={"cpu": 250_000},
    limits=(50_000, 20_000_000),
)
