"""A row of the history as people read it, in commands and on the screen."""

from __future__ import annotations

from datetime import datetime

from jaxtui import format as fmt
from jaxtui.history.query import Row
from jaxtui.model.own import short_name

HEAD = ("id", "when", "op", "size", "dtype", "device", "mode", "ready", "rate", "host")
"""One per cell."""

RIGHT = ("id", "size", "ready", "rate")
"""The heads of columns that are aligned at the right."""


def cells(row: Row) -> tuple[str, ...]:
    """The texts of a row, in the order of ``HEAD``."""
    return (
        str(row.id),
        when(row.at),
        short_name(row.op),
        fmt.size(row.size),
        row.dtype + ("" if row.precision == "default" else f" {row.precision}"),
        row.device,
        row.mode + (" host inputs" if row.inputs == "host" and row.device_kind else ""),
        fmt.seconds(row.ready),
        rate(row),
        row.hostname,
    )


def unreadable(count: int) -> str:
    """What is said of damaged rows."""
    return f"{fmt.plural(count, 'row')} of the history could not be read."


def when(seconds: float) -> str:
    """A moment in the reader's own time."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def short_when(seconds: float, now: datetime | None = None) -> str:
    """The same in eleven characters: without the year, or else without the time.

    Args:
        seconds: Since 1970.
        now: The present; for tests.
    """
    moment = datetime.fromtimestamp(seconds)
    this_year = moment.year == (now or datetime.now()).year
    return moment.strftime("%m-%d %H:%M" if this_year else "%Y-%m-%d")


def rate(row: Row) -> str:
    """FLOP/s, or bytes per second where there are no flops."""
    if row.flops_per_second is not None:
        return fmt.flops_rate(row.flops_per_second)
    return fmt.bytes_rate(row.bytes_per_second)
