"""What can be asked of a history, and the rows of the answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jaxtui.model import Inputs, Mode, Precision, Record

COLUMNS = (
    "m.id",
    "m.at",
    "h.hostname",
    "coalesce(d.device_kind, '')",
    "m.op",
    "m.size",
    "m.dtype",
    "m.precision",
    "m.device",
    "m.mode",
    "m.inputs",
    "m.ready",
    "m.ci_low",
    "m.ci_high",
    "m.flops_per_second",
    "m.bytes_per_second",
)
"""In the order of ``Row``'s fields."""

LAST_MOMENT = 253_370_764_800.0
"""9999-01-01, UTC: what no calendar of Python goes far beyond."""

TABLES = (
    "measurements m LEFT JOIN hosts h ON h.id = m.host"
    " LEFT JOIN devices d ON d.id = m.kind"
)


class Row(Record, frozen=True, kw_only=True):
    """One measurement as a list shows it. Times are seconds."""

    id: int
    at: float
    """Seconds since 1970, UTC."""
    hostname: str
    device_kind: str
    """Empty for NumPy."""
    op: str
    size: int
    dtype: str
    precision: Precision
    device: str
    mode: Mode
    inputs: Inputs
    ready: float | None
    """Median until the result was ready."""
    ci_low: float | None
    ci_high: float | None
    flops_per_second: float | None
    bytes_per_second: float | None

    def __post_init__(self) -> None:
        check_moment(self.at)


class Page(Record, frozen=True, kw_only=True):
    """Some of the measurements that a filter means, the newest first."""

    rows: tuple[Row, ...]
    unreadable: int
    """How many damaged rows were passed over on the way."""
    count: int
    """How many the filter means, damaged ones among them."""


def check_moment(at: float) -> None:
    """Nothing, if it is a time that a calendar has.

    Raises:
        ValueError: It is none.
    """
    if not 0 <= at < LAST_MOMENT:
        raise ValueError(f"{at} is no time")


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """Which measurements are meant; a field that is ``None`` lets all pass."""

    op: str | None = None
    size: int | None = None
    dtype: str | None = None
    device: str | None = None
    """A name, such as ``tpu:0``, or a platform, such as ``tpu``."""
    mode: str | None = None
    host: str | None = None
    since: float | None = None
    """Seconds since 1970; this moment is included."""
    until: float | None = None
    """Seconds since 1970; this moment is not."""
    text: str | None = None
    """Words that must all stand somewhere in op, dtype, device, its kind, mode or
    hostname."""


def where(wanted: Filter) -> tuple[str, list[Any]]:
    """The condition in SQL and its arguments."""
    conditions, arguments = [], []
    for condition, values in _conditions(wanted):
        conditions.append(condition)
        # SQLite takes no text that is not UTF-8, and none of the file's is like it.
        arguments += [
            value.encode("utf-8", "backslashreplace").decode()
            if isinstance(value, str)
            else value
            for value in values
        ]
    return " AND ".join(conditions) or "1", arguments


def _conditions(wanted: Filter) -> Iterator[tuple[str, list[Any]]]:
    for name in ("op", "size", "dtype", "mode"):
        value = getattr(wanted, name)
        if value is not None:
            yield f"m.{name} = ?", [value]
    if wanted.device is not None:
        yield "(m.device = ? OR m.device LIKE ? || ':%')", [wanted.device] * 2
    if wanted.host is not None:
        yield "h.hostname = ?", [wanted.host]
    if wanted.since is not None:
        yield "m.at >= ?", [wanted.since]
    if wanted.until is not None:
        yield "m.at < ?", [wanted.until]
    for word in (wanted.text or "").split():
        yield "instr(m.words, ?)", [word.lower()]
