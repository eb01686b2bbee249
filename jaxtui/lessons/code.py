"""The plain Python of a step: what it ran, without jaxtui, as one file."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

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

Planner = Callable[[Experiment], Awaitable[Plan]]
"""Asks an engine what an experiment would do; its answer carries the scripts."""

_DEFAULTS = {"jax_enable_x64": "False", "jax_default_device": "None"}
"""What a part may set for the whole process, and how the next part is rid of it."""

_ALONE = """\
import subprocess
import sys

# This part has to choose JAX's devices before JAX starts: it gets its own process.
subprocess.run([sys.executable, "-c", {code}], check=True)
"""


@dataclass(frozen=True, kw_only=True)
class CodePart:
    """The script of one experiment, one loop or one snippet."""

    title: str
    """One line."""
    code: str
    """Runs by itself; only a comment where the case cannot run here."""
    alone: bool = False
    """It needs a process of its own."""


async def step_script(step: Step, setting: Setting, plan: Planner) -> str:
    """The script of everything that a step runs from the start.

    What a step decides to run in view of its figures, as in a bisection, is not in it.
    """
    return joined(await code_parts(step.works(setting), plan), step.title)


async def code_parts(works: Sequence[Work], plan: Planner) -> tuple[CodePart, ...]:
    """The scripts of some works; the cases of an experiment take turns in one part."""
    parts: list[CodePart] = []
    for work in works:
        parts += await _parts(work, plan)
    return tuple(parts)


def joined(parts: Sequence[CodePart], title: str) -> str:
    """The parts as one file; a single part stays as it is."""
    if not parts:
        return f'"""{title}: nothing runs here."""\n'
    if len(parts) == 1:
        return parts[0].code
    whole = [f'"""{title}"""\n']
    for part in parts:
        heading = f"# {part.title}\nprint({_literal(part.title)}, flush=True)\n"
        whole.append(f"{heading}\n{_runnable(part)}")
    return "\n\n".join(whole)


async def _parts(work: Work, plan: Planner) -> list[CodePart]:
    match work:
        case Snippet():
            from jaxtui.scripts.snippets import snippet_script

            code = snippet_script(work)
            alone = work.cpu_devices is not None
            return [CodePart(title=work.title, code=code, alone=alone)]
        case Loop():
            from jaxtui.scripts.loops import loop_title

            planned = (await plan(Experiment(cases=(work.case,)))).cases[0]
            return [CodePart(title=loop_title(work), code=_loop_code(work, planned))]
        case Experiment():
            return _experiment_parts(await plan(work))
        case Check() | Inspection() | Roofs():
            # The machine is measured, or a program looked into; no lesson has that.
            return []


def _experiment_parts(plan: Plan) -> list[CodePart]:
    """One part for all cases that take turns, and one for each that cannot run here."""
    able = [one for one in plan.cases if one.script and one.problem is None]
    groups: dict[tuple[int, str], list[PlannedCase]] = {}
    for one in able:
        # Where memory is short, sizes run one after another here, too.
        key = (one.case.size, one.case.op) if plan.grouped else (0, "")
        groups.setdefault(key, []).append(one)
    return [
        *map(_turns_part, groups.values()),
        *(
            CodePart(title=one.case.label, code=_missing(one))
            for one in plan.cases
            if one not in able
        ),
    ]


def _turns_part(group: Sequence[PlannedCase]) -> CodePart:
    if len(group) == 1:
        return CodePart(title=group[0].case.label, code=group[0].script)
    from jaxtui.scripts.turns import turns_script, turns_title

    title = turns_title([one.case for one in group])
    return CodePart(title=title, code=turns_script(group))


def _loop_code(loop: Loop, planned: PlannedCase) -> str:
    if not planned.setup:
        return _missing(planned)
    from jaxtui.scripts.loops import loop_script

    return loop_script(loop, planned)


def _missing(planned: PlannedCase) -> str:
    problem = planned.problem
    why = f"{problem.error} {problem.hint}" if problem else "It has no script."
    return f"# {planned.case.label} does not run here. {' '.join(why.split())}\n"


def _runnable(part: CodePart) -> str:
    """The part as it stands in a file with others."""
    if part.alone:
        return _ALONE.format(code=_quoted(part.code))
    resets = [
        f'jax.config.update("{name}", {default})'
        for name, default in _DEFAULTS.items()
        if f'jax.config.update("{name}"' in part.code
    ]
    return "\n".join([_untitled(part).strip("\n"), *resets]) + "\n"


def _untitled(part: CodePart) -> str:
    """The code without a first line that says the title once more."""
    first, _, rest = part.code.partition("\n")
    said = first.removeprefix("# ").strip('"').removesuffix(", timed without jaxtui.")
    told = part.title.endswith(said.rstrip("."))
    return rest if rest and said and told else part.code


def _quoted(code: str) -> str:
    """The code as a Python literal, readable where that is possible."""
    readable = "'''" not in code and "\\" not in code
    return f"'''\\\n{code}'''" if readable else repr(code)


def _literal(text: str) -> str:
    # As JSON for its quotes, which are those that formatters prefer.
    return json.dumps(text, ensure_ascii=False)
