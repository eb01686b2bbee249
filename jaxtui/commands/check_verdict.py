"""The last words of a check: what the figures were compared with, and what to do."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from jaxtui.commands.check_lines import coloured
from jaxtui.document import INCOMPLETE, Outcome
from jaxtui.health.verdict import Verdict, overall
from jaxtui.health.words import meaning, sources, unrated
from jaxtui.model import Device
from jaxtui.text import painted
from jaxtui.view.text import COLUMNS

_COMMAND = re.compile(r"`[^`]+`")


def closing(
    verdicts: Sequence[Verdict],
    devices: Sequence[Device],
    *,
    outcome: Outcome = "complete",
    disturbed: str = "",
    colour: bool = False,
) -> str:
    """The sources, then the verdict in words with what to do next as the last lines.

    Args:
        verdicts: of everything that was read.
        devices: those that were tested.
        outcome: whether every test was run.
        disturbed: who else used the cores, and during which tests.
        colour: whether to paint the verdict.
    """
    word = overall(verdicts)
    title = "Verdict" if outcome == "complete" else "Verdict of what there is"
    found = list(sources(verdicts))
    parts = []
    if found:
        lines = (_wrapped(one, "  ") for one in found)
        parts.append("\n".join(("What was expected, and who says so:", *lines)))
    parts += map(_wrapped, unrated(verdicts, devices))
    if outcome == "incomplete":
        parts.append(_wrapped(INCOMPLETE))
    parts += [_wrapped(disturbed)] if disturbed else []
    # Where something is missing, that nothing is wrong would be too much.
    fine = outcome == "incomplete" and word in ("pass", "skipped")
    said = "Check again." if fine else meaning(word, verdicts, devices)
    last = _wrapped(f"{title}: {word}. {said}")
    parts.append(coloured(last, word, colour))
    return painted(parts, "\n\n")


def _wrapped(text: str, indent: str = "") -> str:
    """Lines of which none ends within a command, so that it can be copied."""
    whole = _COMMAND.sub(lambda found: found[0].replace(" ", "\xa0"), text)
    lines = textwrap.fill(
        whole,
        COLUMNS,
        initial_indent=indent,
        subsequent_indent=2 * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines.replace("\xa0", " ")
