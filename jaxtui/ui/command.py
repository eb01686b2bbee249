"""The shape of a command that measures: options, engine, progress, what it prints."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import click

from jaxtui.commands import CASE_FAILED, FINE, CannotRun
from jaxtui.commands.common import Common, engine_flags, named
from jaxtui.commands.engine import Driver
from jaxtui.commands.options import json_flag
from jaxtui.commands.output import Exports, close, export_flags
from jaxtui.commands.terminal import in_colour, width_of
from jaxtui.model import Work
from jaxtui.state import Purpose
from jaxtui.ui.outcome import Outcome
from jaxtui.ui.report import terminal


def measures(
    purpose: Purpose, outcome: Outcome[Any], *examples: str
) -> Callable[[Callable[..., Work]], click.Command]:
    """Make a command of what builds its work from the state and its own options.

    Args:
        purpose: the name of the command, and what its run is for.
        outcome: what comes of the run.
        examples: for the help.
    """

    def decorate(build: Callable[..., Work]) -> click.Command:
        @json_flag
        @export_flags("the results", (".json", ".md", ".svg"))
        @engine_flags
        @click.pass_obj
        def command(
            common: Common, /, *, as_json: bool, exports: Exports, **options: Any
        ) -> int:
            driver = Driver(common)

            async def run() -> None:
                async with driver.started() as session, driver.progress():
                    await session.ready()
                    session.refuse("verdicts")
                    work = build(session.state, **options)
                    driver.warn()
                    await session.run(work, purpose)

            driver.drive(run())
            state = driver.state
            result = outcome.result(state, driver.outcome == "complete")
            measured, asked = outcome.count(result)
            errors = [note.text for note in result.notes if note.level == "error"]
            if errors and not measured:
                raise CannotRun(errors[0])

            def text() -> str:
                report = outcome.report(result, state)
                return terminal(report, width_of(sys.stdout), colour=in_colour())

            return close(
                document=result,
                text=text if measured else None,
                as_json=as_json,
                code=FINE if measured == asked else CASE_FAILED,
                lost=driver.lost,
                contents=(lambda: outcome.files(result, state)) if measured else None,
                exports=exports,
            )

        # Its own options come first in the help.
        functools.update_wrapper(command, build, updated=())
        own: list[click.Parameter] = getattr(build, "__click_params__", [])
        command.__click_params__ += own  # type: ignore[attr-defined]
        return named(purpose, *examples)(command)

    return decorate
