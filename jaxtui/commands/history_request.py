"""What ``jaxtui history`` was asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from jaxtui import selection
from jaxtui.history.store import Filter
from jaxtui.selection import SelectionError

_AGO = re.compile(r"(\d+)\s*(h|d|w)")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Which measurements, and how many of them."""

    wanted: Filter
    limit: int = 30

    @property
    def is_empty(self) -> bool:
        """Whether it means everything there is."""
        return self.wanted == Filter()

    @classmethod
    def typed(
        cls,
        *,
        words: tuple[str, ...],
        op: str | None,
        size: str | None,
        dtype: str | None,
        device: str | None,
        mode: str | None,
        host: str | None,
        since: str | None,
        until: str | None,
        limit: int,
    ) -> Request:
        """Reads the texts of a command line.

        Raises:
            SelectionError: if one of them makes no sense.
        """
        return cls(
            wanted=Filter(
                op=op,
                size=None if size is None else _one_size(size),
                dtype=None if dtype is None else selection.parse_dtypes(dtype)[0],
                device=device,
                mode=None if mode is None else selection.parse_modes(mode)[0],
                host=host,
                since=None if since is None else moment(since),
                until=None if until is None else moment(until),
                text=" ".join(words) or None,
            ),
            limit=limit,
        )


def moment(text: str, now: datetime | None = None) -> float:
    """Seconds since 1970 of ``2026-11-21``, ``2026-11-21 14:30``, ``today``, ``3d``.

    A date means its beginning, in the reader's own time; ``12h``, ``3d`` and ``2w``
    count back from now.

    Args:
        text: What was typed.
        now: The present; for tests.

    Raises:
        SelectionError: It is none of these.
    """
    now = now or datetime.now()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if text == "today":
        return midnight.timestamp()
    if text == "yesterday":
        return (midnight - timedelta(days=1)).timestamp()
    try:
        if ago := _AGO.fullmatch(text.strip()):
            return (now - int(ago[1]) * _UNITS[ago[2]]).timestamp()
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise SelectionError(
            f'"{text}" is no date: 2026-11-21, "2026-11-21 14:30", today, yesterday,'
            " 12h, 3d or 2w."
        ) from None


def _one_size(text: str) -> int:
    sizes = selection.parse_sizes(text)
    if len(sizes) > 1:
        raise SelectionError(f'"{text}" is more than one size: give one.')
    return sizes[0]
