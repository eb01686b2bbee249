"""Memory: the same NumPy line with fresh memory, with reused memory, with none."""

from __future__ import annotations

from jaxtui.features.lessons.base import Conclusion, Row
from jaxtui.features.lessons.figures import (
    Figures,
    at_least,
    count,
    over,
    times,
    which,
)
from jaxtui.features.lessons.trial import Code, Trial, lesson, size
from jaxtui.format import seconds
from jaxtui.machine import malloc

SLOWER = 1.5
"""The factor by which fresh memory must be slower for the claim to hold."""

FEW = 0.1
"""Page faults for each page of an array that count as none."""

PAGE_BYTES = 4096


FRESH, REUSED = "fresh memory", "reused memory"
FRESH_FAULTS = "page faults, fresh"


def _ends(figures: Figures) -> Conclusion:
    fresh, reused = figures[FRESH], figures[REUSED]
    faults = figures[FRESH_FAULTS]
    factor, holds = over(fresh, reused), at_least(fresh, SLOWER, reused)
    cost = seconds(over(fresh - reused, faults))
    sentences = [
        f"With reused memory the line took {seconds(reused)}, with fresh memory "
        f"{seconds(fresh)}: {times(factor)} as long for the same arithmetic.",
    ]
    if faults < _least_faults(figures):
        holds = None
        sentences.append(
            "But no call got fresh memory: this malloc takes no settings of glibc's."
        )
    else:
        sentences += [
            f"A call touched about {count(faults)} fresh pages, and each cost {cost}."
            if holds
            else "",
            f"Set {malloc.setting('reused')} to force reuse, and "
            f"{malloc.setting('fresh')} to prevent it.",
        ]
    return Conclusion(
        holds=holds,
        answer=None if holds is None else which(factor, SLOWER, 3),
        rows=(
            figures.row("with reused memory", REUSED, "0.42 ms"),
            figures.row("with fresh memory", FRESH, "1.7 ms"),
            Row("page faults of a call, fresh", count(faults), "980"),
        ),
        sentences=tuple(sentences),
    )


def _least_faults(figures: Figures) -> float:
    """Count page faults below which malloc gave no new pages."""
    return FEW * 4 * figures.setting.size / PAGE_BYTES


NEW, KEPT = "new results", "results written into one array"
NEW_FAULTS, KEPT_FAULTS = "page faults, new", "page faults, into one array"


def _kept(figures: Figures) -> Conclusion:
    least, new, kept = _least_faults(figures), figures[NEW_FAULTS], figures[KEPT_FAULTS]
    holds = kept < least

    def row(what: str, name: str, faults: float) -> Row:
        counted = not figures.missing(NEW_FAULTS, KEPT_FAULTS)
        remark = f"{count(faults)} page faults a call" if counted else ""
        return figures.row(what, name, remark=remark)

    if not holds:
        sentence = ""
    elif new < least:
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
            _ends,
            (
                Code(4.0, size, cpu_devices=lambda _: 1, malloc="fresh"),
                Code(4.0, size, cpu_devices=lambda _: 1, malloc="reused"),
            ),
            needs=(FRESH, REUSED, FRESH_FAULTS),
        ),
        "One array that is kept": Trial(
            _kept,
            Code(4.0, size, cpu_devices=lambda _: 1),
            needs=(NEW, KEPT, NEW_FAULTS, KEPT_FAULTS),
        ),
    },
    sizes={"cpu": 250_000},
    minimum=50_000,
    maximum=20_000_000,
)
