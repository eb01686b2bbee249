"""One test of a check as text: its rows, and what is to be said of them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from jaxtui.commands.check_lines import coloured
from jaxtui.health.rows import Judged, Row, anonymous, placed, rows, who
from jaxtui.health.verdict import Verdict, overall
from jaxtui.model import CheckTest, Device
from jaxtui.text import painted
from jaxtui.view.text import COLUMNS, wrap

LARGEST_ORIGINAL = 3
"""So many lines of an original text are shown; the JSON has them all."""

WITH_WORDS: tuple[CheckTest, ...] = (
    "present",
    "dispatch",
    "numerics",
    "steady",
    "together",
)
"""Where a figure that is as it should be needs all that is said of it. Elsewhere the
first sentence tells how it was come by, such as its rounds, which is in the JSON."""

_NARROWEST_WHAT = 16

_SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z]|[a-z]+:\d)")
"""Between two sentences."""

_FIGURE = re.compile(r"[\d.]+")


def block(
    test: CheckTest,
    judged: Sequence[Judged],
    devices: Sequence[Device],
    *,
    colour: bool = False,
) -> str:
    """The rows of one test, and what is to be said of them.

    Args:
        test: which one.
        judged: its readings, at least one.
        devices: those that are tested.
        colour: whether to paint the verdict.
    """
    word = overall([one.verdict for one in judged])
    lines = [coloured(f"{test}: {word}", word, colour)]
    found, told = rows(judged), set[str]()
    shown = [row for row in found if not _is_without(row)]
    for row, line in zip(shown, _table(shown, devices), strict=True):
        lines += line
        lines += _remarks(row, devices, colour, told)
    for several in _alike_in_words([row for row in found if _is_without(row)]):
        lines += _without(several, devices, colour)
    return painted(lines)


def _table(found: Sequence[Row], devices: Sequence[Device]) -> Iterator[list[str]]:
    """Each row in columns; one whose name is too long takes more lines than one."""
    cells = [
        (row.what, who(row.names, devices), row.figure, row.share) for row in found
    ]
    if not cells:
        return
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    others = sum(width + 2 for width in widths[1:] if width)
    room = max(COLUMNS - 2 - others, _NARROWEST_WHAT)
    widths[0] = min(widths[0], room)
    for what, *rest in cells:
        first, *more = textwrap.wrap(what, widths[0], break_on_hyphens=False) or [""]
        line = "  ".join(
            text.ljust(width)
            for text, width in zip((first, *rest), widths, strict=True)
            if width
        )
        yield [f"  {line}".rstrip(), *(f"    {part}" for part in more)]


def _remarks(
    row: Row, devices: Sequence[Device], colour: bool, told: set[str]
) -> Iterator[str]:
    """Why a row is not as it should be, or what else there is to say about it.

    Args:
        row: what it is about.
        devices: those that are tested.
        colour: whether to paint the verdict.
        told: sentences that were told of other rows and are not told again.
    """
    first = row.members[0]
    if row.verdict == "pass":
        yield from wrap(_said(row, told), "    ")
        return
    reason = _untold(first.verdict.reason, told)
    head, *more = wrap(f"{row.verdict}: {reason}", "    ")
    yield coloured(head, row.verdict, colour)
    yield from more
    if len(row.members) > 1:
        # A device and its place stay on one line.
        places = (placed(name, devices).replace(" ", "\xa0") for name in row.names)
        for line in wrap(f"The same on each of {', '.join(places)}.", "    "):
            yield line.replace("\xa0", " ")
    yield from _original(first.verdict)


def _untold(text: str, told: set[str]) -> str:
    """Those sentences of a text that are new."""
    sentences = _SENTENCE.split(text)
    new = [one for one in sentences if one not in told]
    told.update(sentences)
    return " ".join(new)


def _said(row: Row, told: set[str]) -> str:
    """What a figure that is as it should be does not say by itself."""
    first = row.members[0].reading
    sentences = _SENTENCE.split(first.said) if first.said else []
    if first.test not in WITH_WORDS:
        sentences = sentences[1:]
    kept = [one for one in sentences if _alike(one) not in told]
    told.update(map(_alike, sentences))
    said = {anonymous(one.reading.said, one.reading.device) for one in row.members}
    # Where every device has its own figures, those of one are enough.
    of = f"{first.device}: " if kept and len(said) > 1 else ""
    return f"{of}{' '.join(kept)}"


def _alike(sentence: str) -> str:
    """The same for sentences that only differ in their figures."""
    return _FIGURE.sub("#", sentence)


def _is_without(row: Row) -> bool:
    """Whether there is no figure, and nothing wrong."""
    return row.verdict == "skipped" or (row.verdict == "pass" and not row.figure)


def _alike_in_words(found: Sequence[Row]) -> Iterator[list[Row]]:
    """The rows of which the same is said, of the same devices."""
    alike: dict[tuple[object, ...], list[Row]] = {}
    for row in found:
        one = row.members[0].verdict
        key = (row.verdict, row.names, anonymous(one.reason, one.device))
        alike.setdefault(key, []).append(row)
    yield from alike.values()


def _without(
    several: Sequence[Row], devices: Sequence[Device], colour: bool
) -> Iterator[str]:
    """One sentence for all that has no figure for the same reason."""
    row, first = several[0], several[0].members[0].verdict
    subjects = [who(row.names, devices)] if row.names else []
    if row.names and row.what != first.test:
        more = f" and {len(several) - 1} more" if len(several) > 1 else ""
        subjects.insert(0, f"{row.what}{more}")
    reason = first.reason
    if len(row.members) > 1:
        reason = anonymous(reason, first.device, "each")
    elif first.device is not None and first.device in reason:
        subjects.pop()
    if row.verdict == "skipped":
        subjects.insert(0, "skipped")
    head, *more_lines = wrap(": ".join((*subjects, reason)), "  ")
    yield coloured(head, "skipped", colour)
    yield from more_lines
    if row.verdict == "skipped":
        yield from _original(first)


def _original(verdict: Verdict) -> Iterator[str]:
    """The end of a traceback, the beginning of anything else, unless it was said."""
    lines = [line.strip() for line in verdict.detail.splitlines() if line.strip()]
    traceback = bool(lines) and lines[0].startswith("Traceback")
    for line in lines[-1:] if traceback else lines[:LARGEST_ORIGINAL]:
        if line not in verdict.reason:
            yield from wrap(line, "    | ")
