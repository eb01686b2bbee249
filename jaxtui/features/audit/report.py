"""The audit of a program: its report, its document, its source with findings."""

from __future__ import annotations

import ast
import linecache
import os
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.model import Fact, Host, Record
from jaxtui.core.model.document import Document, Note
from jaxtui.features.audit.messages import Audit, Finding, Place, Site
from jaxtui.ui import words
from jaxtui.ui.documents import notes
from jaxtui.ui.report import Notes, Report, Rows, Statement, gather, styled, table

AROUND = 2
"""Lines of the source that are shown before a finding."""


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


class AuditDocument(Document, frozen=True, kw_only=True):
    """The document of ``jaxtui audit --json``."""

    command: str = "audit"
    script: str
    status: int
    """The exit status of the program."""
    spans: tuple[Site, ...]
    findings: tuple[FindingRow, ...]


def source(place: Place) -> str:
    """A line of a file, without its end; the whole file for line 0."""
    lines = linecache.getlines(place.file)
    if not place.line:
        return "".join(lines)
    return lines[place.line - 1].rstrip("\n") if place.line <= len(lines) else ""


def document(audit: Audit, host: Host, status: int) -> AuditDocument:
    return AuditDocument(
        host=host,
        complete=status == 0,
        script=audit.script,
        status=status,
        spans=audit.sites,
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
        notes=(
            *(
                Note(
                    flag=note.remark.code,
                    text=words.text(note.remark),
                    about=(f"{note.place.file}:{note.place.line}",),
                )
                for note in audit.notes
            ),
            *notes(audit.remarks),
        ),
    )


def report(audit: Audit) -> Report:
    """The verdict, the spans with what they read and what they took, the findings."""
    return Report(
        title=os.path.basename(audit.script),
        verdict=verdict(audit),
        tables=[_table(audit.sites)] if audit.sites else (),
        notes=[
            *(
                Statement(finding.remark, (_at(finding.place),))
                for finding in (*audit.findings, *audit.notes)
            ),
            *gather((), audit.remarks),
        ],
    )


def verdict(audit: Audit) -> Text:
    name = os.path.basename(audit.script)
    if count := len(audit.findings):
        mistakes = fmt.plural(count, "timing mistake")
        return Text.assemble((mistakes, "danger"), styled(f" in {name}."))
    if not audit.sites:
        return styled(f"{name} times no JAX work.", "title")
    sites = fmt.plural(len(audit.sites), "timed span")
    return Text.assemble(("No timing mistake", "pass"), styled(f" in {name}: {sites}."))


def overview(audit: Audit) -> Text:
    """Every finding and note by its line, in their order in the program."""
    places = sorted(
        (*audit.findings, *audit.notes),
        key=lambda finding: (finding.place.file, finding.place.line),
    )
    return Text(" · ", "muted").join(
        Text.assemble(
            (f"{finding.place.line} ", "muted"),
            (
                words.label(finding.remark),
                "muted" if finding.remark.severity == "info" else "",
            ),
        )
        for finding in places
    )


def _table(sites: Sequence[Site]) -> Rows:
    head = ("lines", "times", "it read", "it took", "ratio", "function")
    rows = [
        (
            _lines(site),
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
    return table(head, rows, grows="function")


def _ratio(site: Site) -> str:
    if not site.corrected_seconds or site.read_seconds <= 0:
        return fmt.ABSENT
    return fmt.ratio(site.corrected_seconds / site.read_seconds)


def _lines(site: Site) -> str:
    """``train.py:12–15``."""
    if site.begin.file != site.end.file:
        return f"{_at(site.begin)}–{_at(site.end)}"
    if site.begin.line != site.end.line:
        return f"{_at(site.begin)}–{site.end.line}"
    return _at(site.begin)


def _at(place: Place) -> str:
    return f"{os.path.basename(place.file)}:{place.line}"


# The source.


def excerpts(audit: Audit) -> Iterator[Text]:
    """The lines of each finding, and how they are mended."""
    for finding in audit.findings:
        place = finding.place
        label = f"  {words.label(finding.remark)}"
        yield _row(styled(_at(place), "title"), (label, "danger"))
        for number in range(max(1, place.line - AROUND), place.line + 1):
            if number == place.line:  # what is added comes before it
                for change in _diff(finding):
                    yield _row(("      │ ", "muted"), change)
            role = "strong" if number == place.line else ""
            text = styled(source(Place(place.file, number)), role or "muted")
            yield _row((f"{number:5} │ ", "muted"), text)
        for line in finding.remark.detail.splitlines():
            yield _row(("      │ ", "muted"), styled(line, "muted"))
        yield Text()


def _row(*parts: Text | tuple[str, str]) -> Text:
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def _diff(finding: Finding) -> Iterator[Text]:
    for line in fix(finding):
        yield styled(line, "bad" if line[0] == "-" else "check-pass")


def files(audit: Audit) -> list[str]:
    """Return the files with findings, most first; else that of the first span."""
    counts = Counter(finding.place.file for finding in audit.findings)
    return [name for name, _ in counts.most_common()] or [
        site.begin.file for site in audit.sites[:1]
    ]


def margin(audit: Audit, file: str) -> list[Text]:
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
    rows = []
    for number, text in enumerate(linecache.getlines(file), 1):
        role = "danger" if number in marked else "device"
        rows.append(
            Text.assemble(
                ("▌" if number in marked or number in timed else " ", role),
                (f"{number:4} ", "muted"),
                styled(text.rstrip("\n"), "strong" if number in marked else ""),
            )
        )
    return rows


def about(audit: Audit, place: Place) -> list[RenderableType]:
    """Write the facts about a line: its findings with their fixes, notes, and spans."""
    parts: list[RenderableType] = []
    for finding in (*audit.findings, *audit.notes):
        if finding.place == place:
            note = Statement(finding.remark, with_original=True)
            parts += [Notes([note]), Text(), *_diff(finding)]
    for site in audit.sites:
        if site.begin.file == place.file and site.begin.line <= place.line <= (
            site.end.line
        ):
            work = site.corrected_seconds
            times = "" if site.count == 1 else f", {site.count} times (medians),"
            right = "" if work is None else f" for {fmt.seconds(work)} of work"
            parts.append(
                f"Lines {site.begin.line} to {site.end.line}{times} read"
                f" {fmt.seconds(site.read_seconds)}{right}."
            )
    return parts


def fix(finding: Finding) -> Iterator[str]:
    """The lines of a diff that mends it, where a line does."""
    facts, place = finding.remark.facts, finding.place
    if finding.remark.severity == "info":
        return
    start, stop = facts.get("start_line"), facts.get("end_line", place.line)
    if not isinstance(start, int) or not isinstance(stop, int):
        return
    indent = " " * _indent(source(place))
    if finding.remark.code == "first-call":
        calls = _calls(place.file, range(start + 1, stop))
        if calls and calls[0].value is not None:
            called = ast.unparse(calls[0].value)
            yield f"+{indent}{_WAIT}({called})  # compiles"
    elif finding.remark.code == "unawaited":
        calls = _calls(place.file, range(start + 1, stop))
        last = calls[-1] if calls else None
        if isinstance(last, ast.Expr) and last.lineno == last.end_lineno:
            text = source(Place(place.file, last.lineno))
            yield f"-{text}"
            inner = " " * _indent(text)
            yield f"+{inner}{_WAIT}({ast.unparse(last.value)})"
        elif last is not None and (name := _assigned(last)):
            yield f"+{indent}{_WAIT}({name})"


_WAIT = "jax.block_until_ready"

_Statement = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _calls(file: str, lines: range) -> list[_Statement]:
    """The statements of some lines that compute something, in their order."""
    try:
        tree = ast.parse(source(Place(file, 0)))
    except (SyntaxError, ValueError):
        return []
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, _Statement)
        and node.lineno in lines
        and isinstance(node.value, (ast.Call, ast.BinOp))
        and not ast.unparse(node.value).startswith(_WAIT)
    ]
    return sorted(calls, key=lambda node: node.lineno)


def _assigned(statement: _Statement) -> str:
    match statement:
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            return ast.unparse(target)
        case ast.AugAssign(target=target):
            return ast.unparse(target)
    return ""
