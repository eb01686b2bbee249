"""Decodes protocol buffers by tables of fields: no library, no generated code.

A ``Proto`` names the fields that a reader wants, by their numbers in the ``.proto``
file. Fields that it does not name are skipped, and so are fields of another kind than
it expects: a later version may have added them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from struct import unpack_from
from typing import Any

DEEPEST = 50
"""Levels of messages inside messages: tuples of shapes, say."""

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5

_FORMS: dict[str, tuple[int, Any]] = {
    "int": (_VARINT, 0),
    "uint": (_VARINT, 0),
    "double": (_EIGHT_BYTES, 0.0),
    "text": (_BYTES, ""),
    "bytes": (_BYTES, b""),
}
"""Kind in the file, and the value of a field that is left out."""

_SKIPPED = -1, None, False


class Proto:
    """A kind of message.

    Args:
        fields: Name and form of each field, by its number. A form is one of
            ``_FORMS`` (``bytes`` may be a message that is decoded later), or a message;
            in a list it is repeated. Fields that exclude each other share a name.
        make: Called with the values of all names, in that order. Without it a message
            is its values; of a single one, that.
    """

    def __init__(
        self,
        fields: Mapping[int, tuple[str, Any]],
        make: Callable[..., Any] | None = None,
    ) -> None:
        self._make = make
        self._names: list[str] = []
        self._defaults: list[Any] = []
        self._fields: dict[int, tuple[int, Any, bool]] = {}
        """Place among the values, form, and whether it is repeated, by number and kind
        as in the file."""
        for number, (name, form) in fields.items():
            self.add(number, name, form)

    def add(self, number: int, name: str, form: Any) -> None:
        """Name one more field, that holds messages like this one, say."""
        is_repeated = isinstance(form, list)
        if is_repeated:
            (form,) = form
        kind, default = _BYTES, ()
        if isinstance(form, str):
            kind, default = _FORMS[form]
        elif not is_repeated:
            default = form.decode(b"")
        if name not in self._names:
            self._names.append(name)
            self._defaults.append(() if is_repeated else default)
        field = self._names.index(name), form, is_repeated
        self._fields[number << 3 | kind] = field
        if is_repeated and kind == _VARINT:
            self._fields[number << 3 | _BYTES] = field

    def decode(self, data: bytes, depth: int = 0) -> Any:
        """Make what a message stands for.

        Raises:
            ValueError: It is cut off, or none.
        """
        if depth > DEEPEST:
            raise ValueError("messages without end")
        values = self._defaults[:]
        fields, place, size = self._fields, 0, len(data)
        value: Any
        try:
            while place < size:
                key = data[place]
                place += 1
                if key > 127:
                    key, place = _varint(data, place - 1)
                kind = key & 7
                index, form, is_repeated = fields.get(key, _SKIPPED)
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
                            packed = _packed(data[start:place])
                            values[index] = [*values[index], *packed]
                            continue
                        elif form:
                            value = form.decode(data[start:place], depth + 1)
                    elif form == "int" and value >= 2**63:
                        value -= 2**64
                elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
                    start, place = place, place + (8 if kind == _EIGHT_BYTES else 4)
                    if place > size:
                        raise ValueError("cut off")
                    value = unpack_from("<d", data, start)[0] if form else None
                else:
                    raise ValueError(f"a field of kind {kind}")
                if is_repeated:
                    if not values[index]:
                        values[index] = []
                    values[index].append(value)
                elif form:
                    values[index] = value
                elif key < 8:
                    raise ValueError("there is no field 0")
        except IndexError:
            raise ValueError("cut off") from None
        if self._make:
            return self._make(*values)
        return values if len(values) > 1 else values[0]


def entry(value: Any) -> Proto:
    """An entry of a map."""
    return Proto({1: ("key", "int"), 2: ("value", value)})


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
