"""The words of the health check: verdicts in cells, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtui import format as fmt
from jaxtui.health.verdict import SEVERITY, VerdictWord
from jaxtui.health.words import culprits, unrated
from jaxtui.model import CheckTest, Device
from jaxtui.tui.check_report import Report, word_of, worst
from jaxtui.view.chipmap import Mark

WORDS: dict[VerdictWord, str] = {
    "pass": "pass",
    "low": "low",
    "impossible": "impossible",
    "fail": "FAIL",
    "skipped": "skipped",
}
"""Verdicts as they are drawn: they must tell without a colour, too."""

MARKS: dict[VerdictWord | None, str] = {
    "pass": "✓",
    "low": "▾",
    "impossible": "!",
    "fail": "✗",
    "skipped": "–",
    None: "·",
}
"""One cell each; ``None`` is untested. Terminals without them have stand-ins."""

COLORS: dict[VerdictWord, str] = {
    "pass": "check-pass",
    "low": "check-low",
    "impossible": "check-fail",
    "fail": "check-fail",
    "skipped": "check-none",
}
"""Variables of the theme."""

FINE: tuple[VerdictWord | None, ...] = (None, "pass", "skipped")
"""Where there is nothing to worry about."""

WAITING = "…"
"""Stands where a verdict is being worked out."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a cell of the device table, and the verdict that colours it."""

    text: str = ""
    word: VerdictWord | None = None


def style(word: VerdictWord | None) -> str:
    """How a verdict is drawn, in the words of Textual."""
    if word is None:
        return "$check-none"
    return f"{'' if word in FINE else 'bold '}${COLORS[word]}"


def overall_cell(report: Report, device: str) -> Cell:
    """The worst verdict of a device so far."""
    word = word_of(report.of_device(device))
    if word is None:
        return Cell(WAITING if device in report.at_work else "")
    return Cell(WORDS[word], word)


def test_cell(report: Report, device: str, test: CheckTest) -> Cell:
    """The verdict of a device in one test; a figure alone has passed."""
    row = worst(report.at(device, test))
    if row is None:
        return _without(report, device, test)
    shares = [one.verdict.share for one in row.members]
    share = min((share for share in shares if share is not None), default=None)
    if row.verdict == "pass" and share is not None:
        return Cell(fmt.percent(share), "pass")
    if row.verdict == "low" and share is not None:
        return Cell(f"low {100 * share:.0f}%", "low")
    return Cell(WORDS[row.verdict], row.verdict)


def _without(report: Report, device: str, test: CheckTest) -> Cell:
    """The cell of a test that has read nothing of the device."""
    if report.check.test == test and device in report.at_work:
        return Cell(WAITING)
    word = word_of(report.at(None, test))
    # What is wrong with the machine as a whole is not this device's fault.
    if word is None or word not in FINE or report.stage(test) != "done":
        return Cell()
    return Cell(WORDS[word], word)


def meaning(report: Report) -> str:
    """The overall verdict in words: who is to blame, and what to do."""
    word, verdicts = report.word, [one.verdict for one in report.judged]
    if word == "skipped":
        return "Nothing could be tested: the reasons stand below."
    if word == "pass":
        if not any(unrated(verdicts, report.devices)):
            return "Everything works and is as fast as it should be: nothing to do."
        return (
            "Everything works. Not every figure has one to be compared with: "
            "`jaxtui check --save-baseline NAME` keeps them for the next time."
        )
    bad = [one for one in verdicts if one.verdict == word]
    named = culprits(bad, report.devices)
    if word == "low":
        return (
            f"Usable, but not as it should be: {named}. See who else uses the "
            "machine, then check again."
        )
    if word == "impossible":
        return (
            f"More than the hardware can do: {named}. Believe no timing of this "
            "machine until a full check says otherwise."
        )
    return (
        f"Do not rely on {named}. Restart the machine and check again; if it stays, "
        "ask for another."
    )


def marks(report: Report, devices: Sequence[Device]) -> dict[str, Mark]:
    """What the chip map says of each device, the best first.

    Args:
        report: the check.
        devices: all that are drawn, those that are not tested among them.
    """
    words = {one.name: word_of(report.of_device(one.name)) for one in devices}
    ordered = sorted(words, key=lambda name: _severity(words[name]))
    return {name: _mark(words[name]) for name in ordered}


def _severity(word: VerdictWord | None) -> int:
    """The order of the legend: untested last."""
    return len(SEVERITY) if word is None else SEVERITY.index(word)


def _mark(word: VerdictWord | None) -> Mark:
    if word is None:
        return Mark(MARKS[None], "untested", COLORS["skipped"])
    return Mark(MARKS[word], WORDS[word], COLORS[word])
