"""Reports as files: Markdown, HTML, and SVG as a terminal would show it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME, TerminalTheme
from rich.text import Text

from jaxtui.plot import COLORS, HEAT, SERIES, Row
from jaxtui.text import visible
from jaxtui.view.report import Paragraph, Report, Table, lines, paragraphs
from jaxtui.view.text import Line, Span, plain

# ``html`` has these, too, but loads the names of two thousand others.
_ENTITIES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}
)

COLUMNS, LINES = 100, 28
"""Of a plot in a file: a picture of some 5 : 3."""

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


# HTML, as a notebook shows it: in its own colours, dark or light.


def html(report: Report) -> str:
    """The headline, the tables and a paragraph for each remark."""
    remarks = (
        f"<b>{_html(each.label)}</b>: "
        + "<br>".join(map(_html, map(plain, each.sentences)))
        for each in paragraphs(report.remarks)
    )
    headline, *rest = (
        f'<p style="white-space: pre-line">{text}</p>'
        for text in (_html(plain(report.verdict)), *remarks)
    )
    return "".join([headline, *map(_html_table, report.tables), *rest])


def _html_table(table: Table) -> str:
    heads = [(Span(column.head),) for column in table.columns]
    rows = list(zip(*(column.cells for column in table.columns), strict=True))
    head = _html_row("th", table, heads)
    body = "".join(_html_row("td", table, row) for row in rows)
    caption = f"<caption>{_html(table.title)}</caption>" if table.title else ""
    return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"


def _html_row(tag: str, table: Table, cells: Iterable[Line]) -> str:
    written = (
        f'<{tag} style="text-align: {"right" if column.right else "left"}">'
        f"{_html(plain(cell))}</{tag}>"
        for column, cell in zip(table.columns, cells, strict=True)
    )
    return f"<tr>{''.join(written)}</tr>"


def _html(text: str) -> str:
    return visible(text).translate(_ENTITIES)


# SVG.

_SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" \
xmlns="http://www.w3.org/2000/svg">
    <title>TITLE</title>
    <style>
    .{unique_id}-matrix {{
        font-family: "Fira Code", "DejaVu Sans Mono", monospace;
        font-size: {char_height}px;
        line-height: {line_height}px;
    }}
    .{unique_id}-title {{ font: bold 18px sans-serif; }}
    {styles}
    </style>
    <defs>
    <clipPath id="{unique_id}-clip-terminal">
      <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
    </clipPath>
    {lines}
    </defs>
    <rect fill="BACKGROUND" width="{width}" height="{height}" rx="8"/>
    <text class="{unique_id}-title" fill="FOREGROUND" x="16" y="28">TITLE</text>
    <g transform="translate({terminal_x}, {terminal_y})" \
clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix">
    {matrix}
    </g>
    </g>
</svg>
"""
"""Rich's own without the buttons of a window, and without fonts from the network."""


class Look(NamedTuple):
    background: tuple[int, int, int]
    foreground: tuple[int, int, int]


DARK = Look(SVG_EXPORT_THEME.background_color, SVG_EXPORT_THEME.foreground_color)
"""Where no theme says otherwise."""


def svg(report: Report, look: Look | None = None) -> str:
    """The plot of a report, and below it all that it says."""
    text = [tuple(_pieces(line)) for line in lines(report, COLUMNS)]
    plot = report.picture.rows(COLUMNS, LINES) if report.picture else []
    title = " · ".join(filter(None, (report.title, report.host)))
    return as_svg([*plot, *([()] if plot else []), *text], title, look or DARK)


_TINTS = {
    **{role: COLORS[place] for role, place in SERIES.items()},
    **{f"heat-{level}": color for level, color in enumerate(HEAT)},
}
"""Of the roles that have a colour in a picture."""


def _pieces(line: Line) -> Iterator[tuple[str, tuple[int, int, int] | None]]:
    for span in line:
        yield visible(span.text), _TINTS.get(span.role)


def as_svg(drawing: Sequence[Row], title: str, look: Look = DARK) -> str:
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
    theme = TerminalTheme(look.background, look.foreground, [])
    theme.ansi_colors = SVG_EXPORT_THEME.ansi_colors
    # It passes through str.format once more.
    shown = _html(visible(title, line=True)).replace("{", "{{").replace("}", "}}")
    template = (
        _SVG.replace("BACKGROUND", theme.background_color.hex)
        .replace("FOREGROUND", theme.foreground_color.hex)
        .replace("TITLE", shown)
    )
    return console.export_svg(theme=theme, code_format=template)
