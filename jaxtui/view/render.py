"""Reports as files: Markdown, and SVG as a terminal would show it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.style import Style
from rich.text import Text

from jaxtui.plot import COLORS, HEAT, SERIES, Row
from jaxtui.text import visible
from jaxtui.view.report import Paragraph, Report, Table, lines, paragraphs
from jaxtui.view.text import Line, plain

COLUMNS, LINES = 100, 28
"""The size of a plot in a file: a picture of some 5 : 3."""

# Markdown.


_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def markdown(report: Report) -> str:
    """A document: the headline, the tables, a point for each remark, the machine."""
    parts = [f"**{escaped(plain(report.verdict))}**"] if report.verdict else []
    for table in report.tables:
        if table.title:
            parts.append(escaped(table.title))
        parts.append(_table(table))
    if report.remarks:
        parts.append("\n".join(map(_point, paragraphs(report.remarks))))
    if report.host:
        parts.append(escaped(report.host))
    return "\n\n".join(parts) + "\n"


def _table(table: Table) -> str:
    rows = [
        [plain(column.cells[row]).strip() for column in table.columns]
        for row in range(len(table.columns[0].cells) if table.columns else 0)
    ]
    head = [column.head.strip() for column in table.columns]
    rule = ["--:" if column.right else ":--" for column in table.columns]
    return "\n".join(
        f"| {' | '.join(escaped(cell) for cell in row)} |"
        for row in (head, rule, *rows)
    )


def _point(paragraph: Paragraph) -> str:
    first, *more = map(escaped, map(plain, paragraph.sentences))
    if not more:
        return f"- **{paragraph.label}**: {first}"
    return "\n  - ".join((f"- **{paragraph.label}**:", first, *more))


def escaped(text: str) -> str:
    """A text in a line of Markdown, which no reader takes for HTML."""
    return _TAG.sub("&lt;", visible(text, line=True).replace("|", "\\|"))


# SVG.

_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Rich names fonts in the network."""


def svg(report: Report) -> str:
    """The plot of a report, and below it all that it says."""
    text = [tuple(_pieces(line)) for line in lines(report, COLUMNS)]
    plot = report.picture.rows(COLUMNS, LINES) if report.picture else []
    title = " · ".join(filter(None, (report.title, report.host)))
    return as_svg([*plot, *([()] if plot else []), *text], title)


_TINTS = {
    **{role: COLORS[place] for role, place in SERIES.items()},
    **{f"heat-{level}": color for level, color in enumerate(HEAT)},
}
"""The colours of the roles in a picture."""


def _pieces(line: Line) -> Iterator[tuple[str, tuple[int, int, int] | None]]:
    for span in line:
        yield visible(span.text), _TINTS.get(span.role)


def as_svg(drawing: Sequence[Row], title: str) -> str:
    """An SVG document of a drawing as a terminal shows it."""
    lines = [
        Text.assemble(
            *(
                (text, Style(color="#{:02x}{:02x}{:02x}".format(*color)))
                if color
                else text
                for text, color in row
            )
        )
        for row in drawing
    ]
    console = Console(
        record=True,
        width=max([1, *(line.cell_len for line in lines)]),
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    for line in lines:
        console.print(line, no_wrap=True, overflow="ignore", crop=False)
    return _FONT.sub("", console.export_svg(title=visible(title, line=True)), count=2)
