"""The report of a capability, built once; a renderer of each medium draws it.

``terminal`` and ``lines`` are the renderers of the command line and of the screens;
those of files stand in ``jaxtui.view.render``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import groupby, zip_longest

import msgspec
from msgspec.structs import replace

from jaxtui import format as fmt
from jaxtui.model import Remark, Severity
from jaxtui.model.measurement import amount, without_amount
from jaxtui.plot import HEIGHT, WIDEST, Picture
from jaxtui.text import Painted, join_painted
from jaxtui.view import words
from jaxtui.view.text import COLUMNS, Column, Line, Span, ansi, fit, fold, plain, whole
from jaxtui.view.text import Table as Fitted

_SEVERITIES: dict[Severity, str] = {
    "error": "danger",
    "warning": "low",
    "info": "title",
}
"""The worst first, and the roles of their labels."""

_INDENT = "  "


class Table(msgspec.Struct, frozen=True):
    """Rows of a report. Columns drop out by rank where there is no room."""

    columns: tuple[Column, ...]
    title: str = ""
    gap: int = 2
    """Blanks between columns."""


class Statement(msgspec.Struct, frozen=True):
    """A remark, and the rows that it is about; none where it is about all of them."""

    remark: Remark
    about: tuple[str, ...] = ()
    with_detail: bool = False
    """The original text stands below it."""


class Report(msgspec.Struct, frozen=True):
    """The report of a capability."""

    title: str
    """A noun phrase: of a panel, a heading, a picture."""
    verdict: Line = ()
    """The headline: one sentence with its number first; empty if there is none."""
    tables: tuple[Table, ...] = ()
    remarks: tuple[Statement, ...] = ()
    picture: Picture | None = None
    host: str = ""
    """The machine that it is about."""


def gather(
    rows: Iterable[tuple[str, Iterable[Remark]]], of_all: Iterable[Remark] = ()
) -> tuple[Statement, ...]:
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
    statements = [Statement(remark, with_detail=True) for remark in of_all]
    for alike in about.values():
        most = max(alike.values(), key=amount)
        if any(remark != most for remark in alike.values()):
            most = replace(most, facts={**most.facts, "most": True})
        rows_alike = () if [*alike] == labels else tuple(alike)
        statements.append(Statement(most, rows_alike))
    order = list(dict.fromkeys(statement.remark.code for statement in statements))
    severities = list(_SEVERITIES)
    return tuple(
        sorted(
            statements,
            key=lambda statement: (
                severities.index(statement.remark.severity),
                order.index(statement.remark.code),
            ),
        )
    )


def lines(report: Report, width: int | None) -> Iterator[Line]:
    """All of a report but its picture.

    Args:
        report: what to say.
        width: cells of a line at most. ``None`` for a file or a pipe: tables keep all
            their columns, and text is as wide as a small terminal.
    """
    room = COLUMNS if width is None else width
    blocks = [
        fold(report.verdict, room, later=_INDENT),
        *(list(_table(table, width)) for table in report.tables),
        *(list(block) for block in _remarks(report.remarks, room)),
        fold((Span(report.host, "muted"),), room) if report.host else [],
    ]
    for place, block in enumerate(filter(None, blocks)):
        if place:
            yield ()
        yield from block


def answer_last(
    report: Report, width: int | None, *, full: bool, hint: str = ""
) -> Iterator[Line]:
    """Yield the lines for a command line, whose last ones people see.

    Args:
        report: what to say.
        width: as for ``lines``.
        full: remarks stand in full, else each in a line; errors do in any case.
        hint: how to get them in full.
    """
    room = COLUMNS if width is None else width
    remarks = [
        line for block in _remarks(report.remarks, room) for line in (*block, ())
    ]
    if not full:
        remarks = list(_brief_remarks(report.remarks, width))
        if remarks and hint:
            remarks.append((Span(hint, "muted"),))
    blocks = [
        fold((Span(report.host, "muted"),), room) if report.host else [],
        remarks[: -1 if full else None],
        fold(report.verdict, room, later=_INDENT),
        *(list(_table(table, width)) for table in report.tables),
    ]
    for place, block in enumerate(filter(None, blocks)):
        if place:
            yield ()
        yield from block


def terminal(
    report: Report,
    width: int | None,
    *,
    colour: bool,
    full: bool | None = None,
    hint: str = "",
) -> Painted:
    """A report for a command line; what goes to a file or a pipe has no picture.

    Args:
        report: what to say.
        width: as for ``lines``.
        colour: whether the terminal takes colours.
        full: the answer comes last, and remarks in full or not; ``None`` for ``lines``.
        hint: as for ``answer_last``.
    """
    order = (
        lines(report, width)
        if full is None
        else answer_last(report, width, full=full, hint=hint)
    )
    text = [ansi(line, colour=colour) for line in order]
    if report.picture is not None and width is not None:
        drawn = report.picture.draw(min(width, WIDEST), HEIGHT, color=colour)
        text = [*text, "", drawn] if full is None else [drawn, "", *text]
    return join_painted(text)


def text(report: Report) -> str:
    """A report in a file or on the clipboard."""
    return "\n".join(map(plain, lines(report, None))) + "\n"


def statement_lines(statements: Iterable[Statement], width: int) -> Iterator[Line]:
    """Remarks as a screen lists them: a label, its sentences, and the rows."""
    for block in _remarks(tuple(statements), width):
        yield from block


def _table(table: Table, width: int | None) -> Iterator[Line]:
    room = max(len(table.title), 1) if width is None else width
    yield from fold((Span(table.title, "title"),), room)
    if not table.columns:
        return
    columns, gap = table.columns, table.gap
    fitted = whole(columns, gap) if width is None else fit(columns, width, gap)
    places, blank = range(len(fitted.columns)), Span(" " * gap)
    heads = (" " * gap).join(map(fitted.head, places)).rstrip()
    if heads:
        yield (Span(heads, "head"),)
    for row in range(len(table.columns[0].cells)):
        for line in zip_longest(*(_lines(fitted, row, place) for place in places)):
            cells = (
                fitted.aligned((), place) if cell is None else cell
                for place, cell in enumerate(line)
            )
            yield _trimmed([span for cell in cells for span in (*cell, blank)])


def _lines(table: Fitted, row: int, place: int) -> list[Line]:
    """A cell; in several lines where its column takes the room that there is."""
    column, width = table.columns[place], table.widths[place]
    cell = column.cells[row]
    if not column.grows or column.tail or len(plain(cell)) <= width:
        return [table.cell(row, place)]
    return [table.aligned(line, place) for line in fold(cell, width)]


def _trimmed(spans: list[Span]) -> Line:
    """A line without blanks at its end."""
    while spans and not spans[-1].text.strip():
        spans.pop()
    if spans:
        last = spans[-1]
        spans[-1] = Span(last.text.rstrip(), last.role, last.device)
    return tuple(spans)


class Paragraph(msgspec.Struct, frozen=True):
    """The statements of one code, with what they have in common said once."""

    label: str
    severity: Severity
    sentences: tuple[Line, ...]
    """A single one, or one for each row and what to do about them."""
    original: tuple[str, ...] = ()
    """Lines of somebody else, kept as they came."""


def paragraphs(statements: Iterable[Statement]) -> Iterator[Paragraph]:
    """Remarks in words. Those of one code stand together."""
    for _, group in groupby(statements, key=lambda statement: statement.remark.code):
        alike = list(group)
        first = alike[0].remark
        original = [
            line
            for statement in alike
            if statement.with_detail
            for line in statement.remark.detail.splitlines()
        ]
        yield Paragraph(
            words.label(first),
            first.severity,
            tuple(_sentences(alike)),
            tuple(filter(None, original)),
        )


def _sentences(statements: list[Statement]) -> Iterator[Line]:
    if len(statements) == 1:
        (statement,) = statements
        rows = f" – {fmt.some(statement.about)}" if statement.about else ""
        yield Span(words.text(statement.remark)), Span(rows, "muted")
        return
    for statement in statements:
        rows = f"{fmt.some(statement.about)}: " if statement.about else ""
        yield Span(rows, "muted"), Span(words.sentence(statement.remark))
    advice = dict.fromkeys(words.advice(statement.remark) for statement in statements)
    if any(advice):
        yield (Span(" ".join(filter(None, advice))),)


def _remarks(statements: tuple[Statement, ...], width: int) -> Iterator[Iterator[Line]]:
    for paragraph in paragraphs(statements):
        yield _folded(paragraph, width)


def _brief_remarks(
    statements: tuple[Statement, ...], width: int | None
) -> Iterator[Line]:
    for _, group in groupby(statements, key=lambda statement: statement.remark.code):
        alike = list(group)
        remark = alike[0].remark
        if remark.severity == "error":
            for paragraph in paragraphs(alike):
                yield from _folded(paragraph, width or COLUMNS)
            continue
        label = Span(f"{words.label(remark)}: ", _SEVERITIES[remark.severity])
        rows = tuple(dict.fromkeys(row for each in alike for row in each.about))
        line = label, Span(words.brief(remark))
        about = f" – {fmt.some(rows)}" if rows else ""
        if width is not None and len(plain(line)) + len(about) > width:
            about = f" – {fmt.plural(len(rows), 'row')}" if rows else ""
            about *= len(plain(line)) + len(about) <= width
        yield from fold(
            (*line, Span(about, "muted")), width or sys.maxsize, later=_INDENT
        )


def _folded(paragraph: Paragraph, width: int) -> Iterator[Line]:
    head = Span(f"{paragraph.label}:", _SEVERITIES[paragraph.severity])
    if len(paragraph.sentences) == 1:
        line = (head, Span(" "), *paragraph.sentences[0])
        yield from fold(line, width, later=_INDENT)
    else:
        yield from fold((head,), width)
        for sentence in paragraph.sentences:
            yield from fold(sentence, width, _INDENT, 2 * _INDENT)
    for text in paragraph.original:
        yield from fold((Span(text, "muted"),), width, _INDENT, 2 * _INDENT)
