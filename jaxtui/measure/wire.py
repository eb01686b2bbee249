"""Protocol buffers as they lie in a file: number and value of each field.

What a message holds is known to its reader (``xspace``, ``hlo``); a field of another
kind than its reader expects is skipped, as a field is that a later version added.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack_from

VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
"""Kinds of a field on the wire."""

LONGEST_VARINT = 10
"""Bytes: seven bits in each, for 64."""

_WHOLE = 2**64 - 1

Value = int | float | bytes
"""Of a varint; of eight or four bytes, which are all ``double`` or ``float`` in what is
read here; of texts, bytes and messages."""


def fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Number and value of each field of a message.

    Raises:
        ValueError: It is cut off, or no message.
    """
    place, size = 0, len(data)
    while place < size:
        key = data[place]
        place += 1
        if key > 127:
            key, place = _varint(data, place - 1)
        number, kind = key >> 3, key & 7
        if not number:
            raise ValueError("there is no field 0")
        if kind == VARINT:
            if place >= size:
                raise ValueError("cut off")
            value = data[place]
            place += 1
            if value > 127:
                value, place = _varint(data, place - 1)
            yield number, value
        elif kind == BYTES:
            if place >= size:
                raise ValueError("cut off")
            length = data[place]
            place += 1
            if length > 127:
                length, place = _varint(data, place - 1)
            end = place + length
            if end > size:
                raise ValueError("cut off")
            yield number, data[place:end]
            place = end
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            length, code = (8, "<d") if kind == EIGHT_BYTES else (4, "<f")
            if place + length > size:
                raise ValueError("cut off")
            yield number, unpack_from(code, data, place)[0]
            place += length
        else:
            raise ValueError(f"a field of kind {kind}")


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """An integer in groups of seven bits, the lowest first, and where it ends."""
    value = shift = 0
    for byte in data[place : place + LONGEST_VARINT]:
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value & _WHOLE, place
    raise ValueError("cut off")


def signed(value: int) -> int:
    """An ``int64``, whose negative numbers are written as large ones."""
    return value - 2**64 if value >= 2**63 else value


def integers(value: Value) -> list[int]:
    """Those of a repeated field, which is written packed or one by one."""
    if isinstance(value, int):
        return [signed(value)]
    found, place = [], 0
    if isinstance(value, bytes):
        while place < len(value):
            number, place = _varint(value, place)
            found.append(signed(number))
    return found
