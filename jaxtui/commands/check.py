"""``jaxtui check``: is this machine all right? A verdict, live, and an exit code."""

from __future__ import annotations

import sys
import time
from datetime import datetime, timezone
from typing import Any

import click

from jaxtui.analysis import baseline as baselines
from jaxtui.analysis.baseline import Baseline, BaselineError
from jaxtui.analysis.check import EXIT_CODES
from jaxtui.analysis.examination import begin
from jaxtui.commands import CANNOT_RUN, CASE_FAILED, check_report
from jaxtui.commands.check_report import Report
from jaxtui.commands.check_request import Request
from jaxtui.commands.engine import Driver, EngineFactory
from jaxtui.commands.options import (
    Common,
    engine_flags,
    json_flag,
    valued,
)
from jaxtui.commands.terminal import live_line, progress_line, say
from jaxtui.engine.client import EngineOptions
from jaxtui.model import CHECK_TESTS, Check
from jaxtui.state import with_series


def run(
    factory: EngineFactory, options: EngineOptions, request: Request, *, as_json: bool
) -> int:
    """Checks the machine, prints what was found, and gives the exit code.

    Raises:
        CannotRun: if the engine cannot start, or the baseline is of other hardware;
            nothing is on stdout then.
        SelectionError: if a device does not exist.
    """
    checked = Driver(factory, options)
    report = Report(checked, request, as_json)
    checked.drive(_run(report))
    report.end()
    code = EXIT_CODES[report.verdict]
    if checked.interrupted:
        say(_interrupted(report))
        return code
    if report.outcome == "incomplete":
        # What was found to be wrong stays so; all else says nothing.
        code = max(code, CASE_FAILED) if report.verdict != "skipped" else CASE_FAILED
    return code if request.save_as is None else _save(report, request.save_as, code)


async def _run(report: Report) -> None:
    checked, request, began = report.checked, report.request, time.monotonic()

    def draw(width: int, ascii_only: bool) -> str:
        state, elapsed = checked.state, time.monotonic() - began
        if report.examination is None or state.engine == "starting":
            return progress_line(state, elapsed, width, ascii_only=ascii_only)
        return check_report.progress_line(
            report.examination, elapsed, width, ascii_only=ascii_only
        )

    async with checked.started() as session, live_line(sys.stderr, draw):
        await session.ready()
        session.refuse("verdicts")
        state = session.state
        assert state.host is not None
        chosen = request.chosen(state.devices, state.host)
        exam = begin(chosen, request.level, request.limit)
        session.state = with_series(state, "check", exam)
        report.begin()
        await session.play(exam, "check", report.after)


def _interrupted(report: Report) -> str:
    job = report.checked.state.jobs.get("check")
    if job is None or not isinstance(job.work, Check):
        return "Interrupted before the first test."
    test = job.work.test
    number = CHECK_TESTS.index(test) + 1
    return (
        f"Interrupted in test {number} of {len(CHECK_TESTS)}, {test}: "
        "this is what had arrived."
    )


def _save(report: Report, name: str, code: int) -> int:
    """Keep the figures unless something is wrong with them; the exit code."""
    state, examination = report.checked.state, report.examination
    if (
        code >= EXIT_CODES["fail"]
        or report.outcome != "complete"
        or state.host is None
        or examination is None
    ):
        say(f'Not saved as baseline "{name}", because the check did not pass.')
        return code
    saved = Baseline(
        name=name,
        saved_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        host=state.host,
        devices=tuple(one for one in state.devices if one.addressable),
        readings=examination.readings,
    )
    try:
        path = baselines.save(saved)
    except BaselineError as error:
        say(f"jaxtui: {error}")
        return CANNOT_RUN
    if code:
        say("Mind that the verdict is low: a later check compares with these figures.")
    say(f'Saved as baseline "{name}" in {path}.')
    return code


@click.command("check")
@valued("--level", "LEVEL", "quick, about ten seconds, or full, some minutes.", "quick")
@valued(
    "--devices",
    "DEVICES",
    "cpu:0,cpu:3 or tpu.  [default: all of this process]",
)
@valued(
    "--limit",
    "SECONDS",
    "For each test: a device that takes longer hangs.  [default: a minute or more]",
)
@valued("--save-baseline", "NAME", "Keep the figures, to compare with later.")
@valued("--baseline", "NAME", "Compare with the figures that were kept.")
@json_flag
@engine_flags
@click.pass_obj
def command(common: Common, /, *, as_json: bool, **typed: Any) -> int:
    """Say whether this machine is all right: everything there, right, and fast."""
    request = Request.typed(**typed)
    return run(*common.engine(), request, as_json=as_json)
