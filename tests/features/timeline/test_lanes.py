"""From the stamps of a loop to two lanes, a queue, and cells of the right size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.core.model import Case, Loop, LoopCall, LoopMeasured
from jaxtui.features.timeline import report as view
from jaxtui.features.timeline.lanes import (
    BLOCKS,
    GUTTER,
    SOLID,
    Row,
    Shot,
    draw,
    timeline,
)
from tests.fake_engine import looped

CASE = Case(op="matmul", size=1000, dtype="float32", device="cpu:0", mode="jit")

stamps = st.floats(width=64)
# Inferred, and with the device's own times.
stamped = tuple(
    st.builds(
        LoopCall,
        entered=stamps,
        returned=stamps,
        ready=stamps,
        waited=st.none() | stamps,
        device_start=own,
        device_end=own,
    )
    for own in (st.none(), stamps)
)
call_lists = st.one_of(*(st.lists(each, max_size=40) for each in stamped))


def loop(count: int = 40, style: str = "never") -> Loop:
    return Loop(case=CASE, calls=count, style=style)  # type: ignore[arg-type]


def calls(count: int = 40, style: str = "never") -> tuple[LoopCall, ...]:
    return looped(loop(count, style)).calls


def measured(count: int = 40, **changes: object) -> LoopMeasured:
    return msgspec.structs.replace(looped(loop(count)), **changes)


def on_device(count: int) -> list[LoopCall]:
    """Calls that were computed in the last fifth of the time until they were ready."""
    return [
        msgspec.structs.replace(
            call, device_start=call.ready - 1e-3, device_end=call.ready
        )
        for call in calls(count)
    ]


# The lanes.


@given(call_lists)
def test_any_stamps_give_bars_in_order_and_a_queue(some: list[LoopCall]) -> None:
    line = timeline(some)
    assert len(line.device) == len(some)
    for bar in (*line.host, *line.device):
        assert 0 <= bar.start <= bar.end <= line.total
    ends = [bar.end for bar in line.device]
    assert ends == sorted(ends)
    waits = [bar for bar in line.host if bar.kind == "wait"]
    assert all(one.end <= two.start for one, two in pairwise(waits))
    assert len(line.in_flight) == len(some)
    assert all(0 <= count <= index for index, count in enumerate(line.in_flight))


LATE = [
    msgspec.structs.replace(call, ready=calls(64)[index + 2 * (index < 20)].ready)
    for index, call in enumerate(calls(64))
]
"""The first twenty results are seen two calls late."""


def test_results_that_were_seen_late_make_no_deeper_queue() -> None:
    assert max(timeline(LATE).in_flight) > 32
    line = timeline(LATE, held_from=32)
    assert max(line.in_flight) == 32
    for index in line.held:
        assert "32 in flight" in view.call_text(line, index, inline=False)


# The drawing.

fractions = st.floats(0, 1)


def text(rows: Sequence[Row]) -> list[str]:
    return ["".join(cell.text for cell in row) for row in rows]


def drawn_calls(rows: Sequence[Row], *roles: str) -> set[int]:
    return {
        cell.call
        for row in rows
        for cell in row
        if cell.call is not None and cell.role.startswith(roles)
    }


@given(
    call_lists,
    st.integers(0, 130),
    st.integers(0, 40),
    st.none() | fractions,
)
def test_any_stamps_fill_the_room_exactly(
    some: list[LoopCall],
    width: int,
    height: int,
    until: float | None,
) -> None:
    line = timeline(some)
    end = None if until is None else until * line.total
    shot = Shot(line, len(some) // 2, end)
    for shades in (BLOCKS, SOLID):
        rows = draw(shot, width, height, shades)
        assert len(rows) == (height if width else 0)
        assert all(len(row) == width for row in rows)
        assert all(len(cell.text) == 1 for row in rows for cell in row)


@pytest.mark.parametrize("height", [4, 5, 6, 9, 12, 15, 30])
@pytest.mark.parametrize("count", [1, 3, 20, 64, 200])
def test_the_device_is_one_row_of_calls_in_order(height: int, count: int) -> None:
    line = timeline(calls(count))
    rows = draw(Shot(line), 80, height)
    assert "0" in text(rows)[-1], "the axis is the last line"
    lane = [row for row in rows if drawn_calls([row], "device", "selected", "number")]
    lane = [row for row in lane if not drawn_calls([row], "host", "clock")]
    shape = [[cell.call for cell in row[GUTTER:]] for row in lane]
    # However high it is, its rows are alike: nothing is drawn as if it were parallel.
    assert all(row == shape[0] for row in shape)
    found = [call for call in shape[0] if call is not None]
    assert found == sorted(found)
    numbers = [row for row in lane if any(cell.role == "number" for cell in row)]
    assert len(numbers) == 1
    written = "".join(
        cell.text if cell.role == "number" else " " for cell in numbers[0]
    ).split()
    assert [int(one) for one in written] == sorted(int(one) for one in written)
    assert written[0] == "1"
    assert len(set(written)) == len(written)
    assert count > 20 or written == [str(index + 1) for index in range(count)]


def test_numbers_stand_on_bars_also_where_a_playback_has_cut_them() -> None:
    line = timeline(calls(40))
    for percent in range(101):
        shot = Shot(line, until=line.total * percent / 100)
        rows = draw(shot, 80, 8)
        numbers = [cell for row in rows for cell in row if cell.role == "number"]
        assert all(cell.under.startswith(("device", "sel")) for cell in numbers)
