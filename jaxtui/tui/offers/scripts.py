"""The scripts among the formats: the engine puts them together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from jaxtui import scripts
from jaxtui.export import named, of_cases, stamp
from jaxtui.model import Case, Experiment, Plan
from jaxtui.tui.offers.offer import Content, Format

Planner = Callable[[Experiment], Awaitable[Plan]]
"""Asks the engine for the recipes of cases; raises ``ExportError`` if it cannot."""


def script_of(case: Case, plan: Planner) -> Format:
    """The script of a single case."""
    return Format(
        ending=".py",
        holds=f"plain JAX and NumPy that time {case.label}",
        stem=named(of_cases((case,)), case.mode, stamp()),
        content=script((case,), plan),
    )


def script(cases: tuple[Case, ...], plan: Planner) -> Content:
    """What makes the script of cases, which take turns if there are several."""

    async def content() -> str:
        return scripts.of_cases((await plan(Experiment(cases=cases))).cases)

    return content
