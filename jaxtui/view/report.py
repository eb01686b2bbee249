"""What a capability has to say, built once; a renderer of each medium draws it.

``terminal`` and ``lines`` are the renderers of the command line and of the screens;
those of files stand in ``jaxtui.view.render``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from jaxtui import format as fmt
from jaxtui.model import Remark, Severity
from jaxtui.plot import HEIGHT, WIDEST, Picture
from jaxtui.text import Painted, join_painted
from jaxtui.view import words
from jaxtui.view.text import COLUMNS, Column, Line, Span, ansi, fit, fold, whole

_SEVERITIES: dict[Severity, str] = {
    "error": "danger",
    "warning": "low",
    "info": "title",
}
"""The worst first, and the roles of their labels."""

_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of a report. Columns drop out by rank where there is no room."""

    columns: tuple[Column, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """A remark, and the rows that it is about; none where it is about all of them."""

    remark: Remark
    about: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What a capability has to say."""

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

    Args:
        rows: a label and its remarks, for each row.
        of_all: remarks about all rows, which come first among their equals.
    """
    about: dict[Remark, list[str]] = {remark: [] for remark in of_all}
    for label, remarks in rows:
        for remark in remarks:
            about.setdefault(remark, []).append(label)
    order = list(dict.fromkeys(remark.code for remark in about))
    severities = list(_SEVERITIES)
    statements = (Statement(remark, tuple(names)) for remark, names in about.items())
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


def terminal(report: Report, width: int | None, *, colour: bool) -> Painted:
    """A report for a command line; what goes to a file or a pipe has no picture.

    Args:
        report: what to say.
        width: as for ``lines``.
        colour: whether the terminal takes colours.
    """
    text = [ansi(line, colour=colour) for line in lines(report, width)]
    if report.picture is not None and width is not None:
        text += ["", report.picture.draw(min(width, WIDEST), HEIGHT, color=colour)]
    return join_painted(text)


def statement_lines(statements: Iterable[Statement], width: int) -> Iterator[Line]:
    """Remarks as a screen lists them: a label, its sentences, and the rows."""
    for block in _remarks(tuple(statements), width):
        yield from block


def _table(table: Table, width: int | None) -> Iterator[Line]:
    if table.title:
        yield (Span(table.title, "title"),)
    if not table.columns:
        return
    fitted = whole(table.columns) if width is None else fit(table.columns, width)
    places, gap = range(len(fitted.columns)), Span(" " * fitted.gap)
    heads = (" " * fitted.gap).join(map(fitted.head, places)).rstrip()
    if heads:
        yield (Span(heads, "head"),)
    for row in range(len(table.columns[0].cells)):
        cells = [fitted.cell(row, place) for place in places]
        yield _trimmed([span for cell in cells for span in (*cell, gap)])


def _trimmed(spans: list[Span]) -> Line:
    """A line without blanks at its end."""
    while spans and not spans[-1].text.strip():
        spans.pop()
    if spans:
        last = spans[-1]
        spans[-1] = Span(last.text.rstrip(), last.role, last.device)
    return tuple(spans)


def _remarks(statements: tuple[Statement, ...], width: int) -> Iterator[Iterator[Line]]:
    for _, group in groupby(statements, key=lambda statement: statement.remark.code):
        yield _remark(list(group), width)


def _remark(statements: list[Statement], width: int) -> Iterator[Line]:
    """Those of one code: its label, then a sentence for each, with its rows."""
    for place, statement in enumerate(statements):
        remark = statement.remark
        role = _SEVERITIES[remark.severity]
        head = () if place else (Span(f"{words.label(remark)}: ", role),)
        rows = f" – {fmt.some(statement.about)}" if statement.about else ""
        text = (*head, Span(words.text(remark)), Span(rows, "muted"))
        yield from fold(text, width, _INDENT if place else "", _INDENT)
