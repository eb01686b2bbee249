"""Decodes protocol buffers by tables of fields: no library, no generated code.

A ``Message`` names the fields that a reader wants, by their numbers in the ``.proto``
file, and what is made of them. Fields that it does not name are skipped, and so are
fields of another kind than it expects: a later version may have added them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from struct import unpack_from
from typing import Any, Generic, TypeVar

T = TypeVar("T")

DEEPEST = 50
"""Levels of messages inside messages: tuples of shapes, say."""

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5

_KINDS: dict[str, int] = {"int": _VARINT, "uint": _VARINT, "double": _EIGHT_BYTES}

_SKIPPED = "", None, False


class Message(Generic[T]):
    """A kind of message.

    Args:
        make: Called with the fields that a message has, by their names; repeated ones
            are lists.
        fields: Name and type of each field, by its number. A type is ``int``, ``uint``,
            ``double``, ``text``, ``bytes`` (a message that is decoded later, say) or a
            message; in a list it is repeated.
    """

    def __init__(self, make: Callable[..., T], fields: Mapping[int, Any]) -> None:
        self._make = make
        self._fields: dict[int, tuple[str, Any, bool]] = {}
        """Name, type and whether it is repeated, by number and kind as in the file."""
        for number, (name, kind) in fields.items():
            self.add(number, name, kind)

    def add(self, number: int, name: str, kind: Any) -> None:
        """Name one more field, of this very message, say."""
        is_repeated = isinstance(kind, list)
        if is_repeated:
            (kind,) = kind
        on_wire = _KINDS.get(kind, _BYTES) if isinstance(kind, str) else _BYTES
        self._fields[number << 3 | on_wire] = name, kind, is_repeated
        if is_repeated and on_wire == _VARINT:
            self._fields[number << 3 | _BYTES] = name, kind, True

    def decode(self, data: bytes, depth: int = 0) -> T:
        """Make what a message stands for.

        Raises:
            ValueError: It is cut off, or none.
        """
        if depth > DEEPEST:
            raise ValueError("messages without end")
        values: dict[str, Any] = {}
        fields, place, size = self._fields, 0, len(data)
        value: Any
        try:
            while place < size:
                key = data[place]
                place += 1
                if key > 127:
                    key, place = _varint(data, place - 1)
                kind = key & 7
                name, form, is_repeated = fields.get(key, _SKIPPED)
                if kind in (_VARINT, _BYTES):
                    value = data[place]
                    place += 1
                    if value > 127:
                        value, place = _varint(data, place - 1)
                    if kind == _BYTES:
                        start, place = place, place + value
                        if place > size:
                            raise ValueError("cut off")
                        if form == "bytes":
                            value = data[start:place]
                        elif form == "text":
                            value = data[start:place].decode(errors="replace")
                        elif form == "int":
                            numbers = values.setdefault(name, [])
                            numbers.extend(_packed(data[start:place]))
                            continue
                        elif name:
                            value = form.decode(data[start:place], depth + 1)
                    elif form == "int" and value >= 2**63:
                        value -= 2**64
                elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
                    start, place = place, place + (8 if kind == _EIGHT_BYTES else 4)
                    if place > size:
                        raise ValueError("cut off")
                    value = unpack_from("<d", data, start)[0] if name else None
                else:
                    raise ValueError(f"a field of kind {kind}")
                if is_repeated:
                    values.setdefault(name, []).append(value)
                elif name:
                    values[name] = value
                elif key < 8:
                    raise ValueError("there is no field 0")
        except IndexError:
            raise ValueError("cut off") from None
        if self._make is dict:
            return values  # type: ignore[return-value]
        return self._make(**values)


def entry(value: Any) -> Message[tuple[int, Any]]:
    """Key and value of one entry of a map; a value that is left out is ``None``."""
    fields = {1: ("key", "int"), 2: ("value", value)}
    return Message(lambda key=0, value=None: (key, value), fields)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """An integer in groups of seven bits, the lowest first, and where it ends."""
    value = shift = 0
    for byte in data[place : place + 10]:
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value & 2**64 - 1, place
    raise ValueError("cut off")


def _packed(data: bytes) -> Iterator[int]:
    place = 0
    while place < len(data):
        value, place = _varint(data, place)
        yield value - 2**64 if value >= 2**63 else value
