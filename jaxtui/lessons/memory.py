"""Memory: the same NumPy line with fresh memory, with reused memory, with none."""

from __future__ import annotations

from collections.abc import Mapping

from jaxtui import format as fmt
from jaxtui.lessons.base import Setting
from jaxtui.lessons.figures import Figures, Holds, Value, bracket, quotient
from jaxtui.lessons.trial import Code, Trial, lesson, numpy_case
from jaxtui.machine import malloc
from jaxtui.model import Measurement

SLOWER = 1.5
"""How many times as long fresh memory must take before the claim holds."""

FEW = 0.1
"""Page faults for each page of an array that count as none."""

PAGE_BYTES = 4096


def _span_figures(figures: Figures) -> Mapping[str, Value]:
    found, here = figures.measured("NumPy"), figures["NumPy"]
    span = found.memory if found else None
    each = quotient(span.fresh - span.reused, span.page_faults) if span else None
    return {
        "span": span is not None,
        "reused": span.reused if span else None,
        "fresh": span.fresh if span else None,
        "faults": span.page_faults if span else None,
        "each fault": each,
        "nearer to fresh": bool(span and (here or 0) ** 2 > span.reused * span.fresh),
        "set to reuse": malloc.setting("reused"),
        "set to fresh": malloc.setting("fresh"),
        "why not": "" if span or not found else _why_no_span(figures.setting, found),
    }


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


def _is_slower(figures: Figures) -> bool | None:
    if not figures.all_true("span"):
        return None
    return (figures["fresh"] or 0.0) >= SLOWER * (figures["reused"] or 0.0)


def _fault_figures(figures: Figures) -> Mapping[str, Value]:
    some = FEW * 4 * figures.setting.size / PAGE_BYTES
    new, kept = figures["page faults, new"], figures["page faults, into one array"]
    return {
        "none": kept is not None and kept < some,
        "reused": new is not None and new < some,
        "half": (kept or 0.0) < (new or 0.0) / 2,
        "counted": new is not None and kept is not None,
    }


LESSON = lesson(
    "memory",
    {
        "Fresh and reused": Trial(
            cases=lambda setting: {"NumPy": numpy_case("sigmoid", setting.size)},
            budget=8.0,
            derive=_span_figures,
            claim=Holds(_is_slower, "NumPy"),
            answer=bracket("fresh", "reused", SLOWER, 3),
        ),
        "One array that is kept": Trial(
            code=Code(budget=4.0, memory=lambda n: 8 * 4 * n, cpu_devices=lambda _: 1),
            derive=_fault_figures,
            claim=Holds(
                lambda figures: figures.all_true("none"),
                "new results",
                "results written into one array",
                "page faults, new",
                "page faults, into one array",
            ),
            answer=lambda f: 0 if f["none"] else 1 if f["half"] else 2,
        ),
    },
    sizes={"cpu": 250_000},
    minimum=50_000,
    maximum=20_000_000,
)
