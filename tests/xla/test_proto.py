"""Messages by tables of fields, as they lie in a file."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.xla.proto import Message, entry
from tests.measure.spaces import message

INNER = Message(lambda x=0: x, {1: ("x", "int")})
EVERY: Message[dict[str, Any]] = Message(
    dict,
    {
        1: ("whole", "int"),
        2: ("natural", "uint"),
        3: ("real", "double"),
        4: ("text", "text"),
        5: ("raw", "bytes"),
        6: ("inner", INNER),
        7: ("many", ["int"]),
        8: ("inners", [INNER]),
        9: ("map", [entry(INNER)]),
    },
)
EVERY.add(10, "self", EVERY)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([(1, -1), (2, 2**64 - 1)], {"whole": -1, "natural": 2**64 - 1}),
        (
            [(3, 0.5), (4, b"\xff"), (5, b"\xff")],
            {"real": 0.5, "text": "\ufffd", "raw": b"\xff"},
        ),
        ([(6, b"\x08\x05"), (6, b"\x08\x07")], {"inner": 7}),
        # Packed, and one by one.
        ([(7, b"\x05\xac\x02"), (7, -1)], {"many": [5, 300, -1]}),
        ([(8, b""), (8, b"\x08\x05")], {"inners": [0, 5]}),
        (
            [(9, message((1, 3), (2, b"\x08\x05"))), (9, b"")],
            {"map": [(3, 5), (0, None)]},
        ),
        ([(10, message((1, 1)))], {"self": {"whole": 1}}),
        # Of a later version, or of another kind.
        ([(77, b"new"), (78, 5), (79, 0.5)], {}),
        ([(1, b"five"), (4, 5), (3, 5), (7, 0.5), (6, 9)], {}),
    ],
)
def test_fields_are_decoded(fields: Any, expected: dict[str, Any]) -> None:
    assert EVERY.decode(message(*fields)) == expected


def nested(levels: int) -> bytes:
    data = b""
    for _ in range(levels):
        data = message((10, data))
    return data


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x08", "cut off"),
        (b"\x08" + 11 * b"\xff", "cut off"),
        (b"\x22\x05abc", "cut off"),
        (b"\x22\xff\xff\xff\xff\xff\xff\xff\xff\x7fabc", "cut off"),
        (b"\x19abc", "cut off"),
        (b"\x00\x00", "no field 0"),
        (b"\x0b", "a field of kind 3"),
        (message((7, b"\xff")), "cut off"),
        (nested(60), "without end"),
    ],
)
def test_what_is_no_message_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        EVERY.decode(data)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_none(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        EVERY.decode(data)
