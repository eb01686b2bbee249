"""Findings about the machine and failures of the engine, in words."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from jaxtui.core.model import EngineFailed, Failure, Holder, Remark
from jaxtui.machine import processes
from jaxtui.machine.words import process
from jaxtui.ui import words
from jaxtui.ui.report import styled


def finding_lines(remark: Remark) -> list[Text]:
    """Write a finding: the problem, the advice, the original text.

    The first line has the severity as its role.
    """
    lines = [styled(f"{remark.severity}: {words.sentence(remark)}", remark.severity)]
    if advice := words.advice(remark):
        lines.append(styled(advice))
    original = remark.detail.splitlines()
    return lines + [styled(line, "muted") for line in original if line]


def finding_text(remark: Remark) -> str:
    """Write a finding in plain lines, all but the first of them indented."""
    return "\n  ".join(line.plain for line in finding_lines(remark))


def _holder_text(holder: Holder) -> str:
    opened = f" has {', '.join(holder.paths)} open" if holder.paths else ""
    return f"{process(processes.facts(holder))}{opened}"


def failure_lines(failed: EngineFailed | Failure) -> list[Text]:
    """Write a failure: the problem, the advice, and the holders of the accelerator."""
    remark = failed.remark
    lines = [styled(words.sentence(remark), "error"), styled(words.advice(remark))]
    holders = failed.holders if isinstance(failed, EngineFailed) else ()
    lines += [styled(_holder_text(holder)) for holder in holders]
    lines += [styled(f"  {line}", "muted") for line in remark.detail.splitlines()]
    return [line for line in lines if line]


SAID = ("hosts-awaited",)
"""Findings that a failure repeats."""


def failure_text(failed: EngineFailed, findings: Sequence[Remark] = ()) -> str:
    """Write why the engine cannot serve, the advice, the holders of the accelerator,
    the findings about the machine, and the original text.
    """
    remark = failed.remark
    pid = remark.facts.get("pid")
    holders = [holder for holder in failed.holders if holder.pid != pid]
    lines = [words.text(remark)]
    lines += [f"Held by {process(processes.facts(holder))}." for holder in holders]
    lines += [
        finding_text(finding)
        for finding in findings
        if finding.severity != "info" and finding != remark and finding.code not in SAID
    ]
    if remark.detail:
        original = [line for line in remark.detail.splitlines() if line]
        lines += ["The original text:", *(f"  {line}" for line in original)]
    return "\n".join(lines)
