"""Reads a trace of JAX's profiler where JAX itself cannot, which is up to 0.6.2.

The file is an ``XSpace`` of protocol buffers; only what ``trace`` looks at is read, and
given as ``jax.profiler.ProfileData`` gives it. The numbers of the fields are those of
``xplane.proto`` in openxla/xla.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack
from typing import Any, NamedTuple

Stat = tuple[str, float | str | None]

VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
"""Kinds of a field on the wire."""


class Event(NamedTuple):
    name: str
    start_ns: int
    duration_ns: float
    stats: tuple[Stat, ...]


class Line(NamedTuple):
    name: str
    events: tuple[Event, ...]


class Plane(NamedTuple):
    name: str
    lines: tuple[Line, ...]


class Space(NamedTuple):
    planes: tuple[Plane, ...]


def read(data: bytes) -> Space:
    """The planes of a serialised ``XSpace``.

    Raises:
        ValueError: It is cut off, or none.
    """
    planes = (_plane(part) for field, part in _fields(data) if field == 1)
    return Space(tuple(planes))


def _plane(data: bytes) -> Plane:
    name, lines = "", []
    events: dict[int, str] = {}
    stats: dict[int, str] = {}
    for field, value in _fields(data):
        if field == 2:
            name = value.decode()
        elif field == 3:
            lines.append(value)
        elif field in (4, 5):  # maps of a number to metadata, of which 2 is the name
            entry = dict(_fields(value))
            known = dict(_fields(entry.get(2, b"")))
            names = events if field == 4 else stats
            names[entry.get(1, 0)] = known.get(2, b"").decode()
    return Plane(name, tuple(_line(one, events, stats) for one in lines))


def _line(data: bytes, events: dict[int, str], stats: dict[int, str]) -> Line:
    name, start, found = "", 0, []
    for field, value in _fields(data):
        if field == 2:
            name = value.decode()
        elif field == 3:
            start = value
        elif field == 4:
            found.append(value)
    return Line(name, tuple(_event(one, start, events, stats) for one in found))


def _event(
    data: bytes, line_start: int, events: dict[int, str], stats: dict[int, str]
) -> Event:
    name, offset, duration, found = "", 0, 0, []
    for field, value in _fields(data):
        if field == 1:
            name = events.get(value, "")
        elif field == 2:
            offset = value
        elif field == 3:
            duration = value
        elif field == 4:
            found.append(_stat(value, stats))
    return Event(name, line_start + offset // 1000, duration / 1000, tuple(found))


def _stat(data: bytes, names: dict[int, str]) -> Stat:
    name, found = "", None
    for field, value in _fields(data):
        if field == 1:
            name = names.get(value, "")
        elif field == 2:
            (found,) = unpack("<d", value)
        elif field == 3:
            found = value
        elif field == 4:
            found = value - 2**64 if value >= 2**63 else value
        elif field == 5:
            found = value.decode()
        elif field == 7:
            found = names.get(value, "")
    return name, found


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Number and value of each field: an integer, or the bytes of it."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        kind = key & 7
        if kind == VARINT:
            value, place = _varint(data, place)
            yield key >> 3, value
            continue
        if kind == BYTES:
            size, place = _varint(data, place)
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            size = 8 if kind == EIGHT_BYTES else 4
        else:
            raise ValueError("This is no trace.")
        if place + size > len(data):
            raise ValueError("The trace is cut off.")
        yield key >> 3, data[place : place + size]
        place += size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """An integer in groups of seven bits, the lowest first, and where it ends."""
    value = shift = 0
    while place < len(data):
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
    raise ValueError("The trace is cut off.")
