"""Messages by tables of fields, as they lie in a file."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.xla.proto import Proto, entry
from tests.tasks.spaces import message

INNER = Proto({1: ("x", "int")})
EVERY = Proto(
    {
        1: ("value", "int"),
        2: ("value", "uint"),
        3: ("value", "double"),
        4: ("value", "text"),
        5: ("value", "bytes"),
        6: ("inner", INNER),
        7: ("many", ["int"]),
        8: ("inners", [INNER]),
        9: ("map", [entry(INNER)]),
    },
    lambda *values: values,
)
EVERY.add(10, "selves", [EVERY])

EMPTY = (0, 0, (), (), (), ())
NAMES = ("value", "inner", "many", "inners", "map", "selves")


@pytest.mark.parametrize(
    ("fields", "changed"),
    [
        ([(1, -1)], {"value": -1}),
        ([(2, 2**64 - 1)], {"value": 2**64 - 1}),
        ([(3, 0.5)], {"value": 0.5}),
        ([(4, b"\xff")], {"value": "\ufffd"}),
        ([(5, b"\xff")], {"value": b"\xff"}),
        # The last one counts.
        (
            [(1, 3), (4, b"x"), (6, b"\x08\x05"), (6, b"\x08\x07")],
            {"value": "x", "inner": 7},
        ),
        # Packed, and one by one.
        ([(7, b"\x05\xac\x02"), (7, -1)], {"many": [5, 300, -1]}),
        ([(7, -1), (7, b"\x05\xac\x02")], {"many": [-1, 5, 300]}),
        ([(8, b""), (8, b"\x08\x05")], {"inners": [0, 5]}),
        ([(9, message((1, 3), (2, b"\x08\x05"))), (9, b"")], {"map": [[3, 5], [0, 0]]}),
        ([(10, message((1, 1)))], {"selves": [(1, *EMPTY[1:])]}),
        # Of a later version, or of another kind.
        ([(77, b"new"), (78, 5), (79, 0.5)], {}),
        ([(1, b"five"), (4, 5), (3, 5), (7, 0.5), (6, 9)], {}),
    ],
)
def test_fields_are_decoded(fields: Any, changed: dict[str, Any]) -> None:
    values = dict(zip(NAMES, EMPTY, strict=True)) | changed
    assert EVERY.decode(message(*fields)) == tuple(values.values())


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


@given(st.binary(max_size=400))
def test_any_bytes_are_a_message_or_none(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        EVERY.decode(data)
