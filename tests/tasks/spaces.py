"""Writes traces as a profiler does: of machines that are not here, and damaged ones."""

from __future__ import annotations

from collections.abc import Mapping
from struct import pack
from types import MappingProxyType
from typing import Any, NamedTuple

Stats = Mapping[str, Any]
NONE: Mapping[str, Any] = MappingProxyType({})


def message(*fields: tuple[int, int | float | bytes]) -> bytes:
    """A message of protocol buffers."""
    return b"".join(_field(number, value) for number, value in fields)


def _field(number: int, value: int | float | bytes) -> bytes:
    if isinstance(value, float):
        return _varint(number << 3 | 1) + pack("<d", value)
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value % 2**64)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


class Event(NamedTuple):
    name: str
    start: int
    duration: int
    stats: Stats


def event(name: str, start: int, duration: int, /, **stats: Any) -> Event:
    """Picoseconds after the start of its line."""
    return Event(name, start, duration, stats)


class Named(NamedTuple):
    """What events of a name share."""

    display_name: str = ""
    stats: Stats = NONE


class Line(NamedTuple):
    name: str
    events: tuple[Event, ...]
    start: int = 0
    """Nanoseconds."""


class Plane(NamedTuple):
    name: str
    lines: tuple[Line, ...] = ()
    names: Mapping[str, Named] = NONE
    stats: Stats = NONE


def named(metadata: int, start: int, duration: int, *stats: bytes) -> bytes:
    return message((1, metadata), (2, start), (3, duration), *((4, s) for s in stats))


def space(
    *planes: Plane,
    errors: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
    hosts: tuple[str, ...] = (),
) -> bytes:
    """A serialised ``XSpace``."""
    texts = {2: errors, 3: warnings, 4: hosts}
    return message(
        *((1, _plane(plane)) for plane in planes),
        *((number, text.encode()) for number in texts for text in texts[number]),
    )


def _plane(plane: Plane) -> bytes:
    events: dict[str, int] = {name: at for at, name in enumerate(plane.names, 1)}
    stats: dict[str, int] = {}

    def stat(name: str, value: Any) -> bytes:
        key = stats.setdefault(name, len(stats) + 1)
        match value:
            case float():
                field: tuple[int, Any] = (2, value)
            case int():
                field = (4, value)
            case str():
                field = (5, value.encode())
            case _:
                field = (6, value)
        return message((1, key), field)

    lines = [
        message(
            (2, line.name.encode()),
            (3, line.start),
            *(
                (
                    4,
                    named(
                        events.setdefault(one.name, len(events) + 1),
                        one.start,
                        one.duration,
                        *(stat(*each) for each in one.stats.items()),
                    ),
                )
                for one in line.events
            ),
        )
        for line in plane.lines
    ]
    metadata = [
        message(
            (1, at),
            (2, name.encode()),
            (4, known.display_name.encode()),
            *((5, stat(*each)) for each in known.stats.items()),
        )
        for name, at in events.items()
        for known in (plane.names.get(name, Named()),)
    ]
    own = [stat(*each) for each in plane.stats.items()]
    return message(
        (2, plane.name.encode()),
        *((3, line) for line in lines),
        *((4, message((1, at), (2, m))) for at, m in enumerate(metadata, 1)),
        *(
            (5, message((1, at), (2, message((1, at), (2, name.encode())))))
            for name, at in stats.items()
        ),
        *((6, part) for part in own),
    )
