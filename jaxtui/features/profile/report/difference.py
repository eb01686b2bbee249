"""The changes since another profile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.model import Remark
from jaxtui.features.profile import judge as analysis
from jaxtui.features.profile.judge import By, Change, Spent
from jaxtui.features.profile.report import NO_LINE, ROWS
from jaxtui.features.profile.report.document import ProfileDocument
from jaxtui.ui import words
from jaxtui.ui.report import Report, table


def keys(document: ProfileDocument, by: By) -> Iterator[Spent]:
    """The keys of a document and what they take."""
    for row in document.rows:
        variance = (row.deviation_seconds or 0.0) ** 2 / max(document.steps, 1)
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


def difference(before: ProfileDocument, after: ProfileDocument, by: By) -> Report:
    """Return the report on slower and faster keys, the largest change first."""
    changes = analysis.changes(keys(before, by), keys(after, by))
    old, new = before.step_seconds or 0.0, after.step_seconds or 0.0
    idle = Change("idle", before.idle_seconds or 0.0, after.idle_seconds or 0.0)
    facts: dict[str, Any] = {"before": old, "after": new}
    if changes and changes[0].is_seen:
        facts |= {"row": changes[0].key or NO_LINE, "change": changes[0].seconds}
    rows = [*changes[:ROWS], idle]
    unit = fmt.shared([time for c in rows for time in c[1:3]], "s")
    cut = changes[ROWS:]
    if cut:
        rest = (
            sum(c.before for c in cut),
            sum(c.after for c in cut),
        )
        rows.append(Change(f"{fmt.plural(len(cut), 'row')} more", *rest))
    roles = [
        ("slower" if c.seconds > 0 else "faster") if c.is_seen else "muted"
        for c in rows
    ]
    heads = (by, f"before {unit.name}".strip(), f"now {unit.name}".strip(), "change")
    cells = [
        (
            c.key or NO_LINE,
            unit.text(c.before),
            unit.text(c.after),
            Text(_signed(c.seconds, unit), role),
        )
        for c, role in zip(rows, roles, strict=True)
    ]
    return Report(
        title=f"{before.source} → {after.source}",
        verdict=words.sentence(Remark("profile-change", facts)),
        tables=[table(heads, cells, right=heads[1:], grows=by)],
    )
