"""The end of a command that measures: its output, its files, its exit code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxtui.commands import CANNOT_RUN, CASE_FAILED, FINE
from jaxtui.commands.engine import Driver
from jaxtui.commands.exporting import Exports
from jaxtui.commands.terminal import put, put_bytes, say
from jaxtui.export import Contents
from jaxtui.view.text import INCOMPLETE

INTERRUPTED = "Interrupted: this is what had arrived."


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a command, each form of it made only if it is asked for."""

    document: Callable[[], bytes]
    """JSON; there is one even if nothing has arrived."""
    text: Callable[[], str] | None
    """What people read; ``None`` if nothing has arrived."""
    contents: Callable[[], Contents] | None
    """What can be written to files; ``None`` if nothing has arrived."""
    fine: bool
    """Everything that was asked for is there."""


def close(driver: Driver, report: Report, exports: Exports, *, as_json: bool) -> int:
    """Writes the files, prints a report, and gives the exit code.

    The files come first: whoever reads stdout may stop doing so. What had arrived is
    written and printed even if the command was interrupted.
    """
    try:
        written = _export(exports, report.contents)
    finally:
        if as_json:
            put_bytes(report.document())
        elif report.text is not None:
            put(report.text())
    if driver.interrupted:
        say(INTERRUPTED)
    elif driver.lost and (as_json or report.text is None):
        say(INCOMPLETE)
    if not written:
        return CANNOT_RUN
    return FINE if report.fine and not driver.lost else CASE_FAILED


def _export(exports: Exports, contents: Callable[[], Contents] | None) -> bool:
    """The files; whether they are there, if anything has arrived for them."""
    if not exports.paths:
        return True
    if contents is None:
        say("Nothing had arrived: no file was written.")
        return True
    return exports.write(contents())
