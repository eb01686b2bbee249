"""A profile on a screen: the source with heat, and the kernels beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple

import msgspec
from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.model.profile import Profile
from jaxtui.features.profile import judge as analysis
from jaxtui.features.profile.judge import By, Row
from jaxtui.features.profile.report import KINDS, label, share_text, source, time_text
from jaxtui.ui.heat import Scale
from jaxtui.ui.report import styled
from jaxtui.ui.text import bar

CONTEXT = 2
"""Lines around one that takes time."""

MOST_KERNELS = 200
"""The most kernels in a list."""


class SourceLine(NamedTuple):
    """A line of a file; one without a number names the file."""

    file: str
    number: int
    text: str
    row: Row | None = None
    """The row of a line that takes time, or calls one that does."""
    share: float = 0.0
    """The share of a step."""
    heat: str = ""
    """The role of its margin; empty for what takes no time."""

    @property
    def name(self) -> str:
        name = PurePath(self.file).name
        return f"{name}:{self.number}" if self.number else name


def source_lines(profile: Profile, of: Row | None = None) -> list[SourceLine]:
    """The files of the user, the dearest first, around the lines that take time.

    Args:
        profile: of a trace.
        of: only the lines of these kernels.
    """
    files: dict[str, dict[int, Row]] = defaultdict(dict)
    kernel_ids = {id(kernel) for kernel in of.kernels} if of else None
    for row in analysis.rows(profile, "line"):
        kernels = {id(kernel) for kernel in row.kernels}
        if row.frame is not None and (kernel_ids is None or kernel_ids & kernels):
            files[row.frame.file][row.frame.line] = row
    scale = Scale.of(row.seconds for rows in files.values() for row in rows.values())
    step = profile.step_seconds or 1.0
    lines: list[SourceLine] = []
    for file, rows in sorted(
        files.items(), key=lambda item: -sum(row.seconds for row in item[1].values())
    ):
        lines.append(SourceLine(file, 0, file))
        text = source(file)
        near = {
            number
            for line in rows
            for number in range(line - CONTEXT, line + CONTEXT + 1)
            if 0 < number <= len(text)
        }
        for number in sorted({*near, *rows}):
            words = text[number - 1] if number in near else ""
            here = rows.get(number)
            share = here.seconds / step if here else 0.0
            heat = scale.role(here.seconds) if here and here.seconds and scale else ""
            lines.append(SourceLine(file, number, words, here, share, heat))
    return lines


def source_text(line: SourceLine) -> Text:
    """A line with its heat and its share of a step in the margin."""
    if not line.number:
        return styled(line.text, "head")
    share = share_text(line.share) if line.share else ""
    mark = "~" if line.row and line.row.shared else " "
    return Text.assemble(
        (f"{share:>7}{mark}", line.heat or "muted"),
        (f"{line.number:>5} ", "muted"),
        styled(line.text.expandtabs(4), "" if line.row else "muted"),
    )


def rows_of(profile: Profile, by: By, line: SourceLine | None = None) -> list[Row]:
    """The kernels by a key; only those of a line, if there is one."""
    if line is None or not line.number:
        return analysis.rows(profile, by)[:MOST_KERNELS]
    kernels = [
        kernel
        for kernel in profile.kernels
        if any(
            (profile.frames[place].file, profile.frames[place].line)
            == (line.file, line.number)
            for share in kernel.shares
            for place in share.stack[:1]
        )
    ]
    only = msgspec.structs.replace(profile, kernels=tuple(kernels))
    return analysis.rows(only, by)[:MOST_KERNELS]


def row_lines(profile: Profile, rows: Sequence[Row], by: By, width: int) -> list[Text]:
    """The kernels as a list shows them: time, share, bar and name."""
    step = profile.step_seconds or 1.0
    unit = fmt.shared([row.seconds for row in rows], "s")
    times = [time_text(row.seconds, unit) + f" {unit.name}".rstrip() for row in rows]
    room = max(map(len, times), default=0)
    longest = max((row.seconds for row in rows), default=0.0) or 1.0
    cells = max(4, min(12, width // 6))
    return [
        Text.assemble(
            f"{time:>{room}} ",
            (f"{share_text(row.seconds / step):>7} ", "muted"),
            (f"{bar(row.seconds / longest, cells):<{cells}} ", KINDS[row.kind][1]),
            label(row, "op"),
            (f"  {row.kernels[0].category}" if by == "op" else "", "muted"),
        )
        for row, time in zip(rows, times, strict=True)
    ]
