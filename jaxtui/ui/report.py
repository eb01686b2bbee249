"""The report of a feature, built once: on a terminal, a screen and in files."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.measure import Measurement
from rich.style import Style
from rich.table import Table
from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.model import Host, Remark
from jaxtui.core.model.document import Note
from jaxtui.core.model.measurement import amount, without_amount
from jaxtui.core.model.remark import Severity
from jaxtui.core.text import Painted, visible
from jaxtui.ui import words
from jaxtui.ui.plot import HEIGHT, WIDEST, Picture, Row
from jaxtui.ui.text import Line, plain
from jaxtui.ui.theme import TERMINAL

PROSE = 80
"""Cells of a line of sentences, however wide the terminal is."""

UNLIMITED = 10_000
"""Cells of a line in a file or a pipe: tables keep all their columns."""

SVG_WIDTH, SVG_PLOT = 100, 28
"""Cells of a picture of a report, and lines of the plot in it: some 5 : 3."""


def styled(text: str, role: str = "") -> Text:
    """A text from anywhere in the style of a role; a terminal acts on none of it."""
    return Text(visible(text, line=True), role)


Cell = Text | str | Line
"""A cell of a table; spans of a line have their roles."""


class Column(Struct, frozen=True):
    """Cells below a head."""

    head: str
    cells: Sequence[Cell]
    right: bool = False
    rank: int = 0
    """The column with the highest drops out first where there is no room; 0 stays."""
    least: int = 0
    """Cells that it takes at least."""
    most: int | None = None
    """Cells that it takes at most; longer ones are cut."""
    grows: bool = False
    """True if it takes what the others leave; longer cells go over several lines."""
    tail: bool = False
    """True if the end of a cut cell stays."""
    key: str = ""
    """A name for it where its head tells none, or differs between runs."""

    @property
    def width(self) -> int:
        """Cells that it needs."""
        return max(self.least, _width(self.head), 0 if self.grows else self.longest)

    @property
    def longest(self) -> int:
        """Cells that its longest cell takes."""
        longest = max(map(_width, self.cells), default=0)
        return min(longest, self.most or longest)


def _width(cell: Cell) -> int:
    if isinstance(cell, Text):
        return cell.cell_len
    text = cell if isinstance(cell, str) else plain(cell)
    if not text.isprintable():
        text = visible(text, line=True)
    return len(text) if text.isascii() else cell_len(text)


def fitting(
    columns: Iterable[Column], room: int, gap: int = 2
) -> list[tuple[Column, int]]:
    """The columns for which there is room, in so many cells, and their widths.

    Those with the highest rank drop out; those that grow take what is left.
    """
    left = [(column, column.width) for column in columns]

    def spare() -> int:
        return room - sum(width + gap for _, width in left) + gap

    while spare() < 0 and any(column.rank for column, _ in left):
        left.remove(max(left, key=lambda item: item[0].rank))
    for place, (column, width) in enumerate(left):
        if column.grows:
            # The last takes all: a run whose texts grow is not laid out anew.
            is_last = place == len(left) - 1
            more = spare() if is_last else min(spare(), column.longest - width)
            left[place] = column, width + max(0, more)
    return left


def as_text(cell: Cell) -> Text:
    if isinstance(cell, Text):
        return cell
    if isinstance(cell, str):
        return styled(cell)
    return Text.assemble(*((visible(part.text, line=True), part.role) for part in cell))


def joined(lines: Iterable[Cell]) -> Text:
    """Lines as one text."""
    return Text("\n").join(map(as_text, lines))


class _Tail(Struct, frozen=True):
    """A cell whose end stays where it is cut."""

    cell: Text

    def __rich_measure__(
        self, console: Console, options: ConsoleOptions
    ) -> Measurement:
        return Measurement(1, self.cell.cell_len)

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        missing = self.cell.cell_len - options.max_width
        if missing > 0:
            yield Text("…").append_text(self.cell[missing + 1 :])
        else:
            yield self.cell


class Rows(Struct, frozen=True):
    """A table of a report."""

    columns: Sequence[Column]
    title: str = ""
    gap: int = 2
    """Blanks between columns."""

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        if self.title:
            yield styled(self.title, "title")
        if self.columns:
            width = options.max_width
            shown = [column for column, _ in fitting(self.columns, width, self.gap)]
            yield self._table(shown, cut=width < UNLIMITED)

    def _table(self, columns: Sequence[Column], *, cut: bool) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, self.gap, 0, 0))
        table.header_style = "head"
        table.show_header = any(column.head for column in columns)
        for column in columns:
            table.add_column(
                styled(column.head),
                justify="right" if column.right else "left",
                min_width=column.least or None if cut else None,
                max_width=column.most if cut else None,
                no_wrap=not column.grows,
                overflow="fold" if column.grows else "ellipsis",
            )
        for row in zip(*(column.cells for column in columns), strict=True):
            table.add_row(
                *(
                    _Tail(as_text(cell)) if column.tail else as_text(cell)
                    for cell, column in zip(row, columns, strict=True)
                )
            )
        return table


def figures(head: str, cells: Sequence[fmt.Cell], rank: int = 0) -> Column:
    """A column of figures in one unit."""
    write = fmt.alike([head, *cells])
    return Column(head, [write(cell) for cell in cells], right=True, rank=rank)


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[fmt.Cell | Text]],
    right: Collection[str] = (),
    grows: str | None = None,
    title: str = "",
) -> Rows:
    """Rows as a table.

    Args:
        heads: of the columns.
        rows: texts and figures.
        right: the heads of columns of figures: each in one unit, at the right.
        grows: the head of the column that takes what the others leave.
        title: above the heads.
    """
    columns = []
    for head, *cells in zip(heads, *rows, strict=True):
        plain = [cell for cell in cells if not isinstance(cell, Text)]
        write = fmt.alike([head, *plain]) if head in right else str
        texts = [cell if isinstance(cell, Text) else write(cell) for cell in cells]
        at_right = head in right
        columns.append(Column(head, texts, right=at_right, grows=head == grows))
    return Rows(columns, title)


class Statement(Struct, frozen=True):
    """A remark of the engine as a note."""

    remark: Remark
    about: Sequence[str] = ()
    """The rows that it is about; none where it is about all."""
    with_original: bool = False
    """True if the original text stands below it."""

    @property
    def flag(self) -> str:
        return words.label(self.remark)

    @property
    def level(self) -> Severity:
        return self.remark.severity

    @property
    def text(self) -> str:
        return words.text(self.remark)

    @property
    def note(self) -> Note:
        """The same for a document."""
        return Note(
            flag=self.flag, text=self.text, about=(*self.about,), level=self.level
        )


_LEVELS = ("error", "warning", "info")


def gather(
    rows: Iterable[tuple[str, Iterable[Remark]]], of_all: Iterable[Remark] = ()
) -> list[Statement]:
    """Each remark once, with the labels of the rows that have it; the worst first.

    Remarks that differ in an amount alone are one, with the largest.

    Args:
        rows: a label and its remarks, for each row, those without any among them.
        of_all: remarks about all rows, which come first among their equals, and with
            their original text.
    """
    labels: list[str] = []
    about: dict[Remark, dict[str, Remark]] = {}
    for label, remarks in rows:
        labels.append(label)
        for remark in remarks:
            alike = about.setdefault(without_amount(remark), {})
            alike[label] = max(alike.get(label, remark), remark, key=amount)
    statements = [Statement(remark, with_original=True) for remark in of_all]
    for alike in about.values():
        most = max(alike.values(), key=amount)
        if any(remark != most for remark in alike.values()):
            most = replace(most, facts={**most.facts, "most": True})
        rows_alike = () if [*alike] == labels else tuple(alike)
        statements.append(Statement(most, rows_alike))
    codes = list(dict.fromkeys(statement.remark.code for statement in statements))
    return sorted(
        statements,
        key=lambda statement: (
            _LEVELS.index(statement.level),
            codes.index(statement.remark.code),
        ),
    )


AnyNote = Note | Statement


def _by_flag(notes: Iterable[AnyNote]) -> Iterator[list[AnyNote]]:
    """The notes of a flag together, the worst first."""
    groups: dict[tuple[int, str], list[AnyNote]] = {}
    for note in notes:
        groups.setdefault((_LEVELS.index(note.level), note.flag), []).append(note)
    for _, group in sorted(groups.items(), key=lambda item: item[0][0]):
        yield group


def _sentences(group: Sequence[AnyNote]) -> list[Text]:
    """Write the notes of a flag, with what to do about all of them once."""
    if len(group) == 1:
        (note,) = group
        about = f" – {fmt.some(note.about)}" if note.about else ""
        return [styled(note.text).append_text(styled(about, "muted"))]
    lines, advice = [], dict[str, None]()
    for note in group:
        about, text = f"{fmt.some(note.about)}: " if note.about else "", note.text
        if isinstance(note, Statement):
            text = words.sentence(note.remark)
            advice[words.advice(note.remark)] = None
        lines.append(Text.assemble(styled(about, "muted"), styled(text)))
    return [*lines, *filter(None, [styled(" ".join(filter(None, advice)))])]


class Notes(Struct, frozen=True):
    """Sentences that qualify a result, each with its rows, the worst first."""

    notes: Sequence[AnyNote]
    brief: bool = False
    """Each in a line; errors are always in full."""
    hint: str = ""
    """The way to have them in full."""

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        groups = list(_by_flag(self.notes))
        if not groups:
            return
        label = max(styled(group[0].flag).cell_len for group in groups) + 2
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column()
        for group in groups:
            first, lines = group[0], _sentences(group)
            if self.brief and first.level != "error":
                line = _in_a_line(group, options.max_width - label)
                grid.add_row(styled(first.flag, first.level), line)
                continue
            for note in group:
                if isinstance(note, Statement) and note.with_original:
                    original = filter(None, note.remark.detail.splitlines())
                    lines += [styled(line, "muted") for line in original]
            text = Constrain(Text("\n").join(lines), PROSE - label)
            grid.add_row(styled(first.flag, first.level), text)
        yield grid
        if self.brief and self.hint and any(g[0].level != "error" for g in groups):
            yield styled(self.hint, "muted")


def _in_a_line(group: Sequence[AnyNote], width: int) -> Text:
    note = group[0]
    brief = note.text.partition(". ")[0].rstrip(".")
    if isinstance(note, Statement):
        brief = words.brief(note.remark)
    rows = tuple(dict.fromkeys(row for note in group for row in note.about))
    endings = (fmt.some(rows), fmt.plural(len(rows), "row")) if rows else ()
    for ending in endings:
        if len(brief) + len(ending) + 3 <= width:
            return styled(brief).append_text(styled(f" – {ending}", "muted"))
    return styled(brief)


class Plot(Struct, frozen=True):
    """A picture as wide as there is room, up to a width that stretches it no more."""

    picture: Picture
    height: int = HEIGHT

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        width = min(options.max_width, WIDEST)
        yield Text("\n").join(map(_row, self.picture.rows(width, self.height)))


def _row(row: Row) -> Text:
    return Text.assemble(
        *((text, Style(color=f"rgb{color}") if color else "") for text, color in row),
        no_wrap=True,
        overflow="crop",
    )


class Report(Struct, frozen=True):
    """The report of a feature."""

    title: str
    """A noun phrase: of a panel, a heading, a picture."""
    verdict: Text | str = ""
    """A sentence with its number first."""
    tables: Sequence[Rows] = ()
    notes: Sequence[AnyNote] = ()
    host: str = ""
    picture: Picture | None = None

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        yield from _apart(
            console,
            options,
            [
                self.headline,
                *self.tables,
                Notes(self.notes) if self.notes else "",
                styled(self.host, "muted"),
                Plot(self.picture) if self.picture else "",
            ],
        )

    @property
    def headline(self) -> Text:
        """The verdict in its style."""
        if isinstance(self.verdict, str):
            return styled(self.verdict, "strong")
        return self.verdict


class AnswerLast(Struct, frozen=True):
    """A report for a command line, whose last lines people see."""

    report: Report
    full: bool
    """True for whole notes, else each is a line."""
    hint: str

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        report = self.report
        notes = Notes(report.notes, brief=not self.full, hint=self.hint)
        yield from _apart(
            console,
            options,
            [
                Plot(report.picture) if report.picture else "",
                styled(report.host, "muted"),
                notes if report.notes else "",
                report.headline,
                *report.tables,
            ],
        )


def _apart(
    console: Console, options: ConsoleOptions, blocks: Sequence[RenderableType]
) -> RenderResult:
    """Blocks with an empty line between them; those of sentences are not too wide."""
    prose = options.update(max_width=min(options.max_width, PROSE))
    shown = [block for block in blocks if block]
    for place, block in enumerate(shown):
        if place:
            yield ""
        is_text = isinstance(block, Text) or (
            isinstance(block, Notes) and not block.brief
        )
        yield from console.render(block, prose if is_text else options)


class Fitted(Struct, frozen=True):
    """Lines that are made for the width there is."""

    write: Callable[[int], Iterable[RenderableType | Line]]

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        for part in self.write(options.max_width):
            yield as_text(part) if isinstance(part, tuple) else part


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


def terminal(
    report: Report,
    width: int | None,
    *,
    colour: bool = False,
    full: bool | None = None,
    hint: str = "",
) -> Painted:
    """A report for a command line; what goes to a file or a pipe has no picture.

    Args:
        report: what to say.
        width: cells of a line at most; ``None`` for a file or a pipe, where tables keep
            all their columns, and text is as wide as a small terminal.
        colour: whether the terminal takes colours.
        full: the answer comes last, and notes in full or not; ``None`` for the order of
            a report.
        hint: the way to have the notes in full.
    """
    if width is None:
        report = replace(report, picture=None)
    shown = report if full is None else AnswerLast(report, full, hint)
    return written(shown, width or UNLIMITED, colour=colour)


def text(report: Report) -> str:
    """A report in a file or on the clipboard."""
    return f"{terminal(report, None)}\n"


def written(content: RenderableType, width: int, *, colour: bool = False) -> Painted:
    """Anything in the lines of a terminal."""
    system = "truecolor" if colour else None
    console = _console(width, force_terminal=colour, color_system=system)
    console.print(content)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    return Painted("\n".join(line.rstrip() for line in lines))


_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Rich names fonts in the network."""


def svg(report: Report) -> str:
    """A picture of what a terminal shows, the plot first."""
    parts: list[RenderableType] = [replace(report, picture=None)]
    if report.picture:
        parts = [Plot(report.picture, SVG_PLOT), "", *parts]
    title = " · ".join(filter(None, (report.title, report.host)))
    return as_svg(Group(*parts), title)


def as_svg(content: RenderableType, title: str, width: int = SVG_WIDTH) -> str:
    """Anything as a terminal shows it."""
    console = _console(
        width, record=True, force_terminal=True, color_system="truecolor"
    )
    console.print(content)
    return _FONT.sub("", console.export_svg(title=visible(title, line=True)), count=2)


def markdown(report: Report) -> str:
    """A document: the verdict, the tables, a point for each note, the machine."""
    parts = [f"**{escaped(report.headline.plain)}**"] if report.verdict else []
    for table in report.tables:
        heads = [column.head for column in table.columns]
        rule = ["--:" if column.right else ":--" for column in table.columns]
        rows = zip(*(column.cells for column in table.columns), strict=True)
        lines = [
            f"| {' | '.join(escaped(as_text(cell).plain.strip()) for cell in row)} |"
            for row in (heads, rule, *rows)
        ]
        parts += [escaped(table.title)] if table.title else []
        parts.append("\n".join(lines))
    points = []
    for group in _by_flag(report.notes):
        flag = f"- **{escaped(group[0].flag)}**:"
        first, *more = (escaped(line.plain) for line in _sentences(group))
        text = "\n  - ".join(("", first, *more)) if more else f" {first}"
        points.append(f"{flag}{text}")
    parts += ["\n".join(points), escaped(report.host)]
    return "\n\n".join(filter(None, parts)) + "\n"


_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def escaped(text: str) -> str:
    """A text in a line of Markdown, which no reader takes for HTML."""
    return _TAG.sub("&lt;", visible(text, line=True).replace("|", "\\|"))


def of_host(host: Host | None) -> str:
    """Name the host: ``box · Xeon E5 · jax 0.12.0``; empty where nothing is known."""
    if host is None:
        return ""
    return " · ".join(filter(None, (host.hostname, host.cpu_model, f"jax {host.jax}")))
