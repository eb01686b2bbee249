"""The shape of a command that measures: options, engine, progress, what it prints."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from inspect import iscoroutinefunction, unwrap
from typing import Any, cast

import click

from jaxtui.core.model import Work
from jaxtui.core.session import Session
from jaxtui.core.state import Purpose, State
from jaxtui.ui.commands import CASE_FAILED, FINE, CannotRun
from jaxtui.ui.commands.common import Common, composed, engine_flags, named, no_history
from jaxtui.ui.commands.engine import Driver
from jaxtui.ui.commands.options import json_flag
from jaxtui.ui.commands.output import Exports, close, export_flags, rendered
from jaxtui.ui.outcome import Outcome

Build = Callable[..., Work | Coroutine[Any, Any, None]]
"""Returns the work; or has the driver do several."""


def measures(
    name: str, outcome: Outcome[Any], *examples: str, record: bool = False
) -> Callable[[Build], click.Command]:
    """Make a command of what builds its work from the state and its own options.

    Where it takes several runs, a coroutine function is given the driver, and runs
    them.

    Args:
        name: of the command, and of what its run is for.
        outcome: what comes of the run.
        examples: for the help.
        record: keep what is measured in the history.
    """

    def decorate(build: Build) -> click.Command:
        @(no_history if record else composed())
        @json_flag
        @export_flags("the results", (".json", ".md", ".svg"))
        @engine_flags
        @click.pass_obj
        def command(
            common: Common, /, *, as_json: bool, exports: Exports, **options: Any
        ) -> int:
            driver = Driver(common, record=record)

            async def run() -> None:
                async with driver.started() as session:
                    if iscoroutinefunction(unwrap(build)):
                        several: Any = build(driver, **options)
                        await several
                    else:
                        await measure(session)

            async def measure(session: Session[State]) -> None:
                async with driver.progress():
                    await session.ready()
                    session.refuse("verdicts")
                    work: Any = build(session.state, **options)
                    driver.warn()
                    await session.run(work, cast("Purpose", name))

            driver.drive(run())
            state = driver.state
            result = outcome.result(state, driver.complete)
            measured, requested = outcome.count(result)
            errors = [note.text for note in result.notes if note.level == "error"]
            if errors and not measured:
                raise CannotRun(errors[0])

            code = FINE if measured == requested else CASE_FAILED
            if outcome.code is not None:
                code = outcome.code(result)

            def text() -> str:
                report = outcome.report(result, state)
                # People see the last lines: below a plot, these are the answer.
                return rendered(report, notes=True if report.picture else None)

            return close(
                document=result,
                text=text if measured or driver.complete else None,
                as_json=as_json,
                code=code,
                lost=driver.lost,
                contents=(lambda: outcome.files(result, state)) if measured else None,
                exports=exports,
            )

        # Its own options come first in the help.
        functools.update_wrapper(command, build, updated=())
        own: list[click.Parameter] = getattr(build, "__click_params__", [])
        command.__click_params__ += own  # type: ignore[attr-defined]
        return named(name, *examples)(command)

    return decorate
