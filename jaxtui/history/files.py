"""A list of the history in each kind of file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

import msgspec

from jaxtui.document import SCHEMA, encode
from jaxtui.exports.files import Contents
from jaxtui.exports.tables import markdown
from jaxtui.history.listing import HEAD, RIGHT, cells
from jaxtui.history.query import Page, Row


def contents(page: Page) -> Contents:
    """Every kind of file of what is listed."""
    return {
        ".json": lambda: encode(listed(page)).decode(),
        ".csv": lambda: as_csv(page.rows),
        ".md": lambda: as_markdown(page.rows) + "\n",
    }


def listed(page: Page) -> dict[str, Any]:
    """What ``jaxtui history --json`` prints, as plain objects."""
    return {
        "schema": SCHEMA,
        "count": page.count,
        "unreadable": page.unreadable,
        "measurements": page.rows,
    }


def as_csv(rows: Sequence[Row]) -> str:
    """A row per measurement in base units, after a row of names.

    ``date`` is ``at`` in words that spreadsheets read; it is UTC.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, ("date", *Row.__struct_fields__), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        date = datetime.fromtimestamp(row.at, timezone.utc)
        writer.writerow(
            {"date": date.isoformat(timespec="seconds"), **msgspec.structs.asdict(row)}
        )
    return out.getvalue()


def as_markdown(rows: Sequence[Row]) -> str:
    """A table for people, without a newline at its end."""
    return markdown(HEAD, [cells(row) for row in rows], RIGHT)
