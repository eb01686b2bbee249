"""The plain Python of a step: what it ran, without jaxtui, as one file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from jaxtui import scripts
from jaxtui.lessons.base import Setting, Step
from jaxtui.model import (
    Check,
    Experiment,
    Inspection,
    Loop,
    Plan,
    PlannedCase,
    Roofs,
    Snippet,
    Work,
)
from jaxtui.scripts import Script

Planner = Callable[[Experiment], Awaitable[Plan]]
"""Asks an engine how to do an experiment without jaxtui."""


async def step_script(step: Step, setting: Setting, plan: Planner) -> str:
    """The script of everything that a step runs from the start.

    What a step decides to run in view of its figures, as in a bisection, is not in it.
    """
    return scripts.joined(await code_parts(step.works(setting), plan), step.title)


async def code_parts(works: Sequence[Work], plan: Planner) -> tuple[Script, ...]:
    """The scripts of some works; the cases of an experiment take turns in one."""
    found: list[Script] = []
    for work in works:
        match work:
            case Snippet():
                found.append(scripts.snippet_script(work))
            case Loop():
                (planned,) = (await plan(Experiment(cases=(work.case,)))).cases
                found.append(scripts.loop_script(work, planned))
            case Experiment():
                found += _experiment_scripts(await plan(work))
            case Check() | Inspection() | Roofs():
                # The machine is measured, or a program looked into: no lesson's part.
                pass
    return tuple(found)


def _experiment_scripts(plan: Plan) -> list[Script]:
    """One for all cases that take turns, and one for each that cannot run here."""
    groups: dict[tuple[int, str], list[PlannedCase]] = {}
    for one in plan.cases:
        # Where memory is short, sizes run one after another here, too.
        key = (one.case.size, one.case.op) if plan.grouped else (0, "")
        if one.recipe:
            groups.setdefault(key, []).append(one)
    able = map(scripts.experiment_script, groups.values())
    return [*able, *(scripts.missing(one) for one in plan.cases if not one.recipe)]
