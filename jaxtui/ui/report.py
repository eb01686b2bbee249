"""The report of a feature, built once: on a terminal, a screen and in files."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from jaxtui import format as fmt
from jaxtui.model import Host
from jaxtui.model.document import Note
from jaxtui.text import Painted, visible
from jaxtui.ui.theme import TERMINAL
from jaxtui.view.render import escaped

PROSE = 80
"""Cells of a line of sentences, however wide the terminal is."""

UNLIMITED = 10_000
"""Cells of a line in a file or a pipe: tables keep all their columns."""

SVG_WIDTH = 100


def styled(text: str, role: str = "") -> Text:
    """A text from anywhere in the style of a role; a terminal acts on none of it."""
    return Text(visible(text, line=True), role)


@dataclass(frozen=True)
class Column:
    """Cells below a head."""

    head: str
    cells: Sequence[Text | str]
    right: bool = False
    rank: int = 0
    """The column with the highest drops out first where there is no room; 0 stays."""
    least: int = 0
    """Cells that it takes at least."""


@dataclass(frozen=True)
class Rows:
    """A table of a report."""

    columns: Sequence[Column]
    title: str = ""
    gap: int = 2
    """Blanks between columns."""

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        left = list(self.columns)
        while sum(map(_width, left)) + self.gap * (len(left) - 1) > options.max_width:
            last = max(left, key=lambda column: column.rank)
            if not last.rank:
                break
            left.remove(last)
        table = Table(box=None, pad_edge=False, padding=(0, self.gap, 0, 0))
        table.header_style = "muted"
        table.show_header = any(column.head for column in left)
        for column in left:
            table.add_column(
                styled(column.head),
                justify="right" if column.right else "left",
                min_width=column.least or None,
                no_wrap=True,
            )
        for row in zip(*(column.cells for column in left), strict=True):
            table.add_row(*(_cell(cell) for cell in row))
        if self.title:
            yield styled(self.title, "title")
        yield table


def _cell(cell: Text | str) -> Text:
    return styled(cell) if isinstance(cell, str) else cell


def _width(column: Column) -> int:
    cells = (_cell(cell).cell_len for cell in (column.head, *column.cells))
    return max(column.least, *cells)


def figures(head: str, cells: Sequence[fmt.Cell], rank: int = 0) -> Column:
    """A column of figures in one unit."""
    write = fmt.alike([head, *cells])
    return Column(head, [write(cell) for cell in cells], right=True, rank=rank)


@dataclass(frozen=True)
class Notes:
    """Sentences that qualify a result, each with its rows, the worst first."""

    notes: Sequence[Note]

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(max_width=PROSE)
        for note in sorted(self.notes, key=lambda note: _LEVELS.index(note.level)):
            about = f" – {fmt.some(note.about)}" if note.about else ""
            text = styled(note.text).append_text(styled(about, "muted"))
            grid.add_row(styled(note.flag, note.level), text)
        yield grid


_LEVELS = ("error", "warning", "info")


@dataclass(frozen=True)
class Report:
    """The report of a feature."""

    title: str
    """A noun phrase: of a panel, a heading, a picture."""
    verdict: str = ""
    """A sentence with its number first."""
    tables: Sequence[Rows] = ()
    notes: Sequence[Note] = ()
    host: str = ""

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        prose = options.update(max_width=min(options.max_width, PROSE))
        blocks: list[RenderableType] = []
        if self.verdict:
            blocks.append(styled(self.verdict, "strong"))
        blocks += self.tables
        if self.notes:
            blocks.append(Notes(self.notes))
        if self.host:
            blocks.append(styled(self.host, "muted"))
        for place, block in enumerate(blocks):
            if place:
                yield ""
            is_table = isinstance(block, Rows)
            yield from console.render(block, options if is_table else prose)


@dataclass(frozen=True)
class Themed:
    """A renderable in the colours of a theme, whatever those of the console are."""

    content: RenderableType
    theme: Theme

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        with console.use_theme(self.theme):
            yield from console.render(self.content, options)


def _console(width: int, **more: object) -> Console:
    return Console(
        file=io.StringIO(),
        width=width,
        theme=TERMINAL,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        **more,  # type: ignore[arg-type]
    )


def terminal(report: Report, width: int | None, *, colour: bool = False) -> Painted:
    """A report for a command line; ``None`` is the width of a file or a pipe."""
    system = "truecolor" if colour else None
    console = _console(width or UNLIMITED, force_terminal=colour, color_system=system)
    console.print(report)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    return Painted("\n".join(line.rstrip() for line in lines))


_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Rich names fonts in the network."""


def svg(report: Report) -> str:
    """A picture of what a terminal shows."""
    console = _console(
        SVG_WIDTH, record=True, force_terminal=True, color_system="truecolor"
    )
    console.print(report)
    title = " · ".join(filter(None, (report.title, report.host)))
    return _FONT.sub("", console.export_svg(title=visible(title, line=True)), count=2)


def markdown(report: Report) -> str:
    """A document: the verdict, the tables, a point for each note, the machine."""
    parts = [f"**{escaped(report.verdict)}**"] if report.verdict else []
    for table in report.tables:
        heads = [column.head for column in table.columns]
        rule = ["--:" if column.right else ":--" for column in table.columns]
        rows = zip(*(column.cells for column in table.columns), strict=True)
        lines = [
            f"| {' | '.join(escaped(_cell(cell).plain.strip()) for cell in row)} |"
            for row in (heads, rule, *rows)
        ]
        parts += [escaped(table.title)] if table.title else []
        parts.append("\n".join(lines))
    if report.notes:
        parts.append(
            "\n".join(
                f"- **{escaped(note.flag)}**: {escaped(note.text)}"
                + (f" ({escaped(fmt.some(note.about))})" if note.about else "")
                for note in report.notes
            )
        )
    return "\n\n".join([*parts, *filter(None, [escaped(report.host)])]) + "\n"


def of_host(host: Host | None) -> str:
    """Name the host: ``box · Xeon E5 · jax 0.12.0``; empty where nothing is known."""
    if host is None:
        return ""
    return " · ".join(filter(None, (host.hostname, host.cpu_model, f"jax {host.jax}")))
