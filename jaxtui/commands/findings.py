"""What is to be known of the machine, as the commands print it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from jaxtui.commands.progress import wipe
from jaxtui.commands.terminal import say
from jaxtui.machine.processes import describe
from jaxtui.model import EngineFailed, Finding


def explain(failed: EngineFailed, findings: Sequence[Finding] = ()) -> str:
    """Why the engine cannot serve, what to do, who holds the accelerator, what was
    found out about the machine, and the original text.
    """
    lines = [f"{failed.error} {failed.hint}".strip()]
    lines += [
        f"Held by {describe(holder)}."
        for holder in failed.holders
        if f"rocess {holder.pid} " not in failed.error
    ]
    lines += [
        finding_text(finding)
        for finding in findings
        if finding.severity != "info" and finding.what != failed.error
    ]
    if failed.detail:
        lines += ["The original text:", *_indented(failed.detail)]
    return "\n".join(lines)


def finding_text(finding: Finding) -> str:
    """A finding in plain lines: what, what to do, how we know, the original text."""
    facts = "\n".join((finding.advice, finding.how, finding.detail))
    return "\n".join([f"{finding.severity}: {finding.what}", *_indented(facts)])


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines() if line]


def narrate(text: str) -> None:
    """Lines on stderr, where a progress line may be."""
    wipe(sys.stderr)
    say(text)
