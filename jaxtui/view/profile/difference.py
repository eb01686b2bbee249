"""The changes since another profile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from jaxtui import format as fmt
from jaxtui.analysis import profile as analysis
from jaxtui.analysis.profile import By, Change, Spent
from jaxtui.model import Remark
from jaxtui.view import words
from jaxtui.view.profile import NO_LINE, ROWS
from jaxtui.view.profile.document import Document
from jaxtui.view.report import Report, Table
from jaxtui.view.text import Column, Line, Span


def keys(found: Document, by: By) -> Iterator[Spent]:
    """The keys of a document and what they take."""
    for row in found.rows:
        variance = (row.deviation_seconds or 0.0) ** 2 / max(found.steps, 1)
        whole = Spent("", row.self_seconds, variance)
        match by:
            case "op":
                yield whole._replace(key=row.name)
            case "category":
                yield whole._replace(key=row.category)
            case "shape":
                yield whole._replace(key=row.shape or "?")
            case "line" | "function" if not row.lines:
                yield whole
            case "line" | "function":
                for line in row.lines:
                    file = PurePath(line.file).name
                    name = line.line if by == "line" else line.function or "?"
                    part = line.seconds / row.self_seconds if row.self_seconds else 0.0
                    yield Spent(f"{file}:{name}", line.seconds, part**2 * variance)


def _signed(seconds: float, unit: Any) -> str:
    return f"{'+' if seconds >= 0 else '−'}{unit.text(abs(seconds))}"


def difference(before: Document, after: Document, by: By) -> Report:
    """Return the report on slower and faster keys, the largest change first."""
    changes = analysis.changes(keys(before, by), keys(after, by))
    old, new = before.step_seconds or 0.0, after.step_seconds or 0.0
    idle = Change("idle", before.idle_seconds or 0.0, after.idle_seconds or 0.0)
    facts: dict[str, Any] = {"before": old, "after": new}
    if changes and changes[0].is_seen:
        facts |= {"row": changes[0].key or NO_LINE, "change": changes[0].seconds}
    shown = [*changes[:ROWS], idle]
    unit = fmt.shared([time for each in shown for time in each[1:3]], "s")
    cut = changes[ROWS:]
    if cut:
        rest = (sum(each.before for each in cut), sum(each.after for each in cut))
        shown.append(Change(f"{fmt.plural(len(cut), 'row')} more", *rest))
    roles = [
        ("slower" if each.seconds > 0 else "faster") if each.is_seen else "muted"
        for each in shown
    ]
    cells: dict[str, list[Line]] = {
        by: [(Span(each.key or NO_LINE),) for each in shown],
        f"before {unit.name}".strip(): [(Span(unit.text(e.before)),) for e in shown],
        f"now {unit.name}".strip(): [(Span(unit.text(e.after)),) for e in shown],
        "change": [
            (Span(_signed(each.seconds, unit), role),)
            for each, role in zip(shown, roles, strict=True)
        ],
    }
    table = Table(
        tuple(
            Column(key, head, lines, right=key != "key", grows=key == "key")
            for key, (head, lines) in zip(
                ("key", "before", "after", "change"), cells.items(), strict=True
            )
        )
    )
    return Report(
        title=f"{before.source} → {after.source}",
        verdict=(Span(words.sentence(Remark("profile-change", facts)), "strong"),),
        tables=(table,),
    )
