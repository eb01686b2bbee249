"""``jaxtui check``: is this machine all right? A verdict, live, and an exit code."""

from __future__ import annotations

import sys
from datetime import datetime, timezone

from jaxtui.analysis import baseline as baselines
from jaxtui.analysis.baseline import Baseline, BaselineError
from jaxtui.analysis.check import EXIT_CODES
from jaxtui.commands import CANNOT_RUN, CASE_FAILED, check_report
from jaxtui.commands.check_report import Report
from jaxtui.commands.check_request import Request
from jaxtui.commands.check_run import Checked
from jaxtui.commands.progress import live_line, progress_line
from jaxtui.commands.session import EngineFactory
from jaxtui.commands.terminal import say
from jaxtui.engine.client import EngineOptions
from jaxtui.model import CHECK_TESTS

__all__ = ["Request", "run"]


def run(
    factory: EngineFactory, options: EngineOptions, request: Request, *, as_json: bool
) -> int:
    """Checks the machine, prints what was found, and gives the exit code.

    Raises:
        CannotRun: if the engine cannot start, or the baseline is of other hardware;
            nothing is on stdout then.
        SelectionError: if a device does not exist.
    """
    checked = Checked()
    report = Report(checked, request, as_json)
    checked.drive(_run(factory, options, request, report))
    report.end()
    code = EXIT_CODES[report.verdict]
    if checked.interrupt.happened:
        say(_interrupted(checked))
        return code
    if report.outcome == "incomplete":
        # What was found to be wrong stays so; all else says nothing.
        code = max(code, CASE_FAILED) if report.verdict != "skipped" else CASE_FAILED
    return code if request.save_as is None else _save(report, request.save_as, code)


async def _run(
    factory: EngineFactory, options: EngineOptions, request: Request, report: Report
) -> None:
    checked = report.checked

    def draw(width: int, ascii_only: bool) -> str:
        elapsed = checked.elapsed_seconds
        if checked.examination is None or checked.state.engine == "starting":
            return progress_line(checked.state, elapsed, width, ascii_only=ascii_only)
        return check_report.progress_line(
            checked.examination, elapsed, width, ascii_only=ascii_only
        )

    async with checked.started(factory, options), live_line(sys.stderr, draw):
        await checked.begin(request)
        report.begin()
        await checked.examine(report.ended)


def _interrupted(checked: Checked) -> str:
    if checked.test is None:
        return "Interrupted before the first test."
    number = CHECK_TESTS.index(checked.test) + 1
    return (
        f"Interrupted in test {number} of {len(CHECK_TESTS)}, {checked.test}: "
        "this is what had arrived."
    )


def _save(report: Report, name: str, code: int) -> int:
    """Keep the figures unless something is wrong with them; the exit code."""
    state, examination = report.checked.state, report.checked.examination
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
