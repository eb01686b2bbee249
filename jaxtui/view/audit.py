"""How a program times itself: its report, its document, its source with findings."""

from __future__ import annotations

import ast
import linecache
import os
from collections import Counter
from collections.abc import Iterator, Sequence

from jaxtui import format as fmt
from jaxtui.model import Fact, Record
from jaxtui.model.audit import Audit, Finding, Place, Site
from jaxtui.view import words
from jaxtui.view.document import SCHEMA
from jaxtui.view.report import Report, Statement, Table, gather, statement_lines
from jaxtui.view.text import Line, Span, columns, fold

AROUND = 2
"""Lines of the source that are shown before a finding."""


class SpanRow(Record, frozen=True, kw_only=True):
    """A pair of lines between which the program measured; seconds are medians."""

    file: str
    start_line: int
    stop_line: int
    called_from: int | None
    """The line that called the function in which the clock is read."""
    count: int
    clock: str
    functions: tuple[str, ...]
    read_seconds: float
    corrected_seconds: float | None


class FindingRow(Record, frozen=True, kw_only=True):
    """A mistake in how something was timed."""

    kind: str
    file: str
    line: int
    seconds: float
    text: str
    facts: dict[str, Fact]
    detail: str
    """JAX's own explanation, where it gave one."""
    fix: tuple[str, ...]
    """Lines of a diff; empty where no single line mends it."""


class RemarkRow(Record, frozen=True, kw_only=True):
    """What could not be judged."""

    flag: str
    text: str


class HostRow(Record, frozen=True, kw_only=True):
    """Where the program ran."""

    hostname: str
    python: str | None
    jax: str | None


class Document(Record, frozen=True, kw_only=True):
    """What ``jaxtui audit --json`` prints."""

    schema: int = SCHEMA
    host: HostRow
    script: str
    status: int
    """The exit status of the program."""
    spans: tuple[SpanRow, ...]
    findings: tuple[FindingRow, ...]
    notes: tuple[RemarkRow, ...]


def source(place: Place) -> str:
    """A line of a file, without its end; the whole file for line 0."""
    lines = linecache.getlines(place.file)
    if not place.line:
        return "".join(lines)
    return lines[place.line - 1].rstrip("\n") if place.line <= len(lines) else ""


def document(audit: Audit, host: HostRow, status: int) -> Document:
    return Document(
        host=host,
        script=audit.script,
        status=status,
        spans=tuple(map(_span_row, audit.sites)),
        findings=tuple(
            FindingRow(
                kind=finding.remark.code,
                file=finding.place.file,
                line=finding.place.line,
                seconds=finding.seconds,
                text=words.text(finding.remark),
                facts=dict(finding.remark.facts),
                detail=finding.remark.detail,
                fix=tuple(fix(finding)),
            )
            for finding in audit.findings
        ),
        notes=tuple(
            RemarkRow(flag=remark.code, text=words.text(remark))
            for remark in audit.remarks
        ),
    )


def _span_row(site: Site) -> SpanRow:
    return SpanRow(
        file=site.begin.file,
        start_line=site.begin.line,
        stop_line=site.end.line,
        called_from=site.caller.line if site.caller is not None else None,
        count=site.count,
        clock=site.clock,
        functions=site.functions,
        read_seconds=site.read_seconds,
        corrected_seconds=site.corrected_seconds,
    )


def report(audit: Audit) -> Report:
    """The verdict, the spans with what they read and what they took, the findings."""
    return Report(
        title=os.path.basename(audit.script),
        verdict=verdict(audit),
        tables=(_table(audit.sites),) if audit.sites else (),
        remarks=(
            *(
                Statement(finding.remark, (_at(finding.place),))
                for finding in audit.findings
            ),
            *gather((), audit.remarks),
        ),
    )


def verdict(audit: Audit) -> Line:
    name = os.path.basename(audit.script)
    count = len(audit.findings)
    if count:
        mistakes = fmt.plural(count, "timing mistake")
        return (Span(mistakes, "danger"), Span(f" in {name}."))
    if not audit.sites:
        return (Span(f"{name} times no JAX work.", "title"),)
    sites = fmt.plural(len(audit.sites), "timed span")
    return (
        Span("No timing mistake", "pass"),
        Span(f" in {name}: {sites}, each compiled before and waited for."),
    )


def overview(audit: Audit) -> Line:
    """Every finding by its line, in their order in the program."""
    places = sorted(
        audit.findings, key=lambda finding: (finding.place.file, finding.place.line)
    )
    spans: list[Span] = []
    for finding in places:
        spans += [
            Span(" · " if spans else "", "muted"),
            Span(f"{finding.place.line} ", "muted"),
            Span(words.label(finding.remark)),
        ]
    return tuple(spans)


def _table(sites: Sequence[Site]) -> Table:
    several = Counter((site.begin, site.end) for site in sites)
    head = ("lines", "times", "it read", "it took", "ratio", "function")
    rows = [
        (
            _lines(site, named=several[site.begin, site.end] > 1),
            str(site.count),
            fmt.seconds(site.read_seconds),
            fmt.ABSENT
            if site.corrected_seconds is None
            else fmt.seconds(site.corrected_seconds),
            _ratio(site),
            ", ".join(site.functions[:3]) or fmt.ABSENT,
        )
        for site in sites
    ]
    return Table(columns(head, rows, right=(), grows="function"))


def _ratio(site: Site) -> str:
    if not site.corrected_seconds or site.read_seconds <= 0:
        return fmt.ABSENT
    return f"{site.corrected_seconds / site.read_seconds:.3g}×"


def _lines(site: Site, *, named: bool) -> str:
    """``train.py:12–15``; with the line that called it where there are several."""
    lines = _at(site.begin)
    if site.begin.file != site.end.file:
        lines += f"–{_at(site.end)}"
    elif site.begin.line != site.end.line:
        lines += f"–{site.end.line}"
    return f"{lines} from {site.caller.line}" if named and site.caller else lines


def _at(place: Place) -> str:
    return f"{os.path.basename(place.file)}:{place.line}"


# The source.


def excerpts(audit: Audit) -> Iterator[Line]:
    """The lines of each finding, and how they are mended."""
    for finding in audit.findings:
        place = finding.place
        yield (
            Span(_at(place), "title"),
            Span(f"  {words.label(finding.remark)}", "danger"),
        )
        mended = list(fix(finding))
        for number in range(max(1, place.line - AROUND), place.line + 1):
            role = "strong" if number == place.line else "muted"
            text = source(Place(place.file, number))
            yield (Span(f"{number:5} │ ", "muted"), Span(text, role))
        for line in mended:
            yield (
                Span("      │ ", "muted"),
                Span(line, "bad" if line[0] == "-" else "check-pass"),
            )
        for line in finding.remark.detail.splitlines():
            yield (Span("      │ ", "muted"), Span(line, "muted"))
        yield ()


def files(audit: Audit) -> list[str]:
    """Those with findings, the one with most first; else that of the first span."""
    found = Counter(finding.place.file for finding in audit.findings)
    return [name for name, _ in found.most_common()] or [
        site.begin.file for site in audit.sites[:1]
    ]


def margin(audit: Audit, file: str) -> list[Line]:
    """Every line of a file, with a mark where there is a finding about it."""
    marked = {
        finding.place.line for finding in audit.findings if finding.place.file == file
    }
    timed = {
        line
        for site in audit.sites
        if site.begin.file == file == site.end.file
        for line in range(site.begin.line, site.end.line + 1)
    }
    rows: list[Line] = []
    for number, text in enumerate(linecache.getlines(file), 1):
        mark = Span("▌", "danger" if number in marked else "device")
        if number not in marked and number not in timed:
            mark = Span(" ")
        role = "strong" if number in marked else "label"
        rows.append(
            (mark, Span(f"{number:4} ", "muted"), Span(text.rstrip("\n"), role))
        )
    return rows


def unjudged(audit: Audit, width: int) -> Iterator[Line]:
    """What could not be judged, and why."""
    return statement_lines(gather((), audit.remarks), width)


def about(audit: Audit, place: Place, width: int) -> list[Line]:
    """What is said about a line: its findings with their fixes, or its spans."""
    findings = [finding for finding in audit.findings if finding.place == place]
    said: list[Line] = []
    for finding in findings:
        statement = Statement(finding.remark)
        said += [*statement_lines((statement,), width), ()]
        for line in fix(finding):
            said.append((Span(line, "bad" if line[0] == "-" else "check-pass"),))
        said += [(Span(line, "muted"),) for line in finding.remark.detail.splitlines()]
    for site in audit.sites:
        if site.begin.file == place.file and site.begin.line <= place.line <= (
            site.end.line
        ):
            took = site.corrected_seconds
            times = "" if site.count == 1 else f", {site.count} times (medians),"
            right = "" if took is None else f" for {fmt.seconds(took)} of work"
            text = f"Lines {site.begin.line} to {site.end.line}{times}"
            said += fold(
                (Span(f"{text} read {fmt.seconds(site.read_seconds)}{right}."),), width
            )
    return said


def fix(finding: Finding) -> Iterator[str]:
    """The lines of a diff that mends it, where a line does."""
    facts, file = finding.remark.facts, finding.place.file
    start = facts.get("start_line")
    if not isinstance(start, int) or finding.remark.code not in _FIXES:
        return
    stop = facts.get("end_line", finding.place.line)
    assert isinstance(stop, int)
    if finding.remark.code == "first-call":
        start, stop = finding.place.line, len(linecache.getlines(file)) + 1
    statement = _last_call(file, start, stop, first=finding.remark.code == "first-call")
    if statement is None:
        return
    text = source(Place(file, statement.lineno))
    indent = text[: len(text) - len(text.lstrip())]
    if finding.remark.code == "first-call":
        line = source(finding.place)
        indent = line[: len(line) - len(line.lstrip())]
        value = getattr(statement, "value", None)
        if value is None:
            return
        yield f"+{indent}jax.block_until_ready({ast.unparse(value)})  # compiles"
        return
    name = _assigned(statement)
    if name is not None:
        line = source(finding.place)
        indent = line[: len(line) - len(line.lstrip())]
        yield f"+{indent}jax.block_until_ready({name})"
    elif isinstance(statement, ast.Expr) and statement.lineno == statement.end_lineno:
        yield f"-{text}"
        yield f"+{indent}jax.block_until_ready({ast.unparse(statement.value)})"


_FIXES = ("unawaited", "first-call")

_WAIT = "jax.block_until_ready"


def _last_call(file: str, start: int, stop: int, *, first: bool) -> ast.stmt | None:
    """The last statement between two lines that calls something; or the first one."""
    try:
        tree = ast.parse(source(Place(file, 0)))
    except SyntaxError:
        return None
    statements = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr))
        and start < node.lineno < stop
        and isinstance(node.value, (ast.Call, ast.BinOp))
        and not ast.unparse(node.value).startswith(_WAIT)
    ]
    ordered = sorted(statements, key=lambda node: node.lineno)
    if not ordered:
        return None
    return ordered[0] if first else ordered[-1]


def _assigned(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return ast.unparse(statement.targets[0])
    if isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        return ast.unparse(statement.target)
    return None
