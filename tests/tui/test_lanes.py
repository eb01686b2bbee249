"""From stamps to lanes: any stamps give a drawing of the right size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.model import Case, Loop, LoopCall, LoopKernel
from jaxtui.tui import loop_words
from jaxtui.tui.lane_drawing import BLOCKS, GUTTER, SOLID, Row, Shot, draw, layout, tick
from jaxtui.tui.lanes import (
    SMALLEST_SPAN,
    Bar,
    Timeline,
    Window,
    queue,
    timeline,
    whole,
)
from jaxtui.tui.playback import SECONDS, SLOW_SECONDS, Playback
from jaxtui.tui.widgets.giant import fits, large
from tests.tui.fake_engine import looped

CASE = Case(op="matmul", size=1000, dtype="float32", device="cpu:0", mode="jit")

stamps = st.floats(width=64)
call_lists = st.lists(
    st.builds(
        LoopCall,
        entered=stamps,
        returned=stamps,
        ready=stamps,
        waited=st.none() | stamps,
    ),
    max_size=40,
)
fractions = st.floats(0, 1)


def calls(count: int = 40, style: str = "never") -> tuple[LoopCall, ...]:
    loop = Loop(case=CASE, calls=count, style=style)  # type: ignore[arg-type]
    return looped(loop).calls


def text(rows: Sequence[Row]) -> list[str]:
    return ["".join(cell.text for cell in row) for row in rows]


def drawn_calls(rows: Sequence[Row], *roles: str) -> set[int]:
    return {
        cell.call
        for row in rows
        for cell in row
        if cell.call is not None and cell.role.startswith(roles)
    }


# The lanes.


def test_the_device_begins_a_result_when_it_ends_the_one_before() -> None:
    line = timeline(calls(3))
    first, second, third = line.device
    assert first.start == 0.0
    assert (second.start, third.start) == (first.end, second.end)


def test_an_idle_device_begins_when_the_call_is_entered() -> None:
    late = LoopCall(entered=1.0, returned=1.1, ready=1.5)
    line = timeline([LoopCall(entered=0.0, returned=0.1, ready=0.5), late])
    assert (line.device[1].start, line.device[1].end) == (1.0, 1.5)


def on_device(count: int, *kernels: LoopKernel) -> list[LoopCall]:
    """Calls that were computed in the last fifth of the time until they were ready."""
    return [
        msgspec.structs.replace(
            call, device_start=call.ready - 1e-3, device_end=call.ready, kernels=kernels
        )
        for call in calls(count)
    ]


def test_the_devices_own_times_are_drawn_where_there_are_any() -> None:
    line = timeline(on_device(3))
    assert line.measured
    assert [bar.end - bar.start for bar in line.device] == pytest.approx([1e-3] * 3)
    drawn = text(draw(Shot(line, whole(line.total)), 80, 12))
    assert any(row.startswith("measured") for row in drawn)
    assert not any(row.startswith("inferred") for row in drawn)
    # One call without them, and all are inferred.
    assert not timeline([*on_device(2), calls(1)[0]]).measured


def test_the_kernels_of_a_call_are_named_as_far_as_there_is_room() -> None:
    some = (
        LoopKernel(name="short", count=1, seconds=1e-5),
        LoopKernel(name="long", count=2, seconds=1e-3),
    )
    line = timeline(on_device(3, *some))
    found = queue(line)
    assert loop_words.call(line, found, 1, False, 400)[1].endswith(
        " Kernels: 2× long 1.00 ms, short 10.0 µs."
    )
    alone = loop_words.call(timeline(calls(3)), found, 1, False, 400)[1]
    assert "Kernels" not in alone
    for room in range(len(alone), 400):
        name, said = loop_words.call(line, found, 1, False, room)
        assert len(name) + len(said) <= max(room, len(name) + len(alone))
        assert "Kernels" not in said or "long" in said
    assert loop_words.call(line, found, 1, False, len(alone) + 18)[1] == (
        f"{alone} 2 kernels."
    )


def test_the_host_waits_after_each_call_or_once() -> None:
    each = timeline(calls(3, "each"))
    assert [bar.call for bar in each.host if bar.kind == "wait"] == [0, 1, 2]
    stamped = [
        LoopCall(entered=0.0, returned=0.1, ready=1.0, waited=2.1),
        LoopCall(entered=0.1, returned=0.2, ready=2.0, waited=2.2),
    ]
    waits = [bar for bar in timeline(stamped).host if bar.kind == "wait"]
    # Nobody waits for the first while the second is being called.
    assert [(bar.start, bar.end) for bar in waits] == [(0.2, 2.1), (2.1, 2.2)]


def test_the_stopwatch_stops_when_the_code_is_through() -> None:
    line = timeline(calls(20))
    assert line.through == pytest.approx(20 * 2e-5)
    assert line.total == pytest.approx(20 * 5e-3, rel=0.01)
    assert line.pending == 20
    assert timeline(calls(20, "each")).pending == 0


@given(call_lists)
def test_any_stamps_give_bars_in_order(some: list[LoopCall]) -> None:
    line = timeline(some)
    assert len(line.device) == len(some)
    for bar in (*line.host, *line.device):
        assert 0 <= bar.start <= bar.end <= line.total
    ends = [bar.end for bar in line.device]
    assert ends == sorted(ends)
    waits = [bar for bar in line.host if bar.kind == "wait"]
    assert all(one.end <= two.start for one, two in pairwise(waits))


# The queue.


def test_the_queue_is_full_from_the_33rd_call() -> None:
    found = queue(timeline(calls(64)))
    assert found.deepest == found.depth == 32
    assert found.held == 32
    assert found.is_held(40)
    assert not found.is_held(31)


@pytest.mark.parametrize(("count", "style"), [(20, "never"), (64, "each"), (1, "end")])
def test_no_call_is_held_back_where_the_queue_is_not_full(
    count: int, style: str
) -> None:
    assert queue(timeline(calls(count, style))).held is None


def test_a_slow_call_in_a_short_queue_is_the_machines_doing() -> None:
    some = list(calls(64))
    slow = LoopCall(
        entered=some[3].entered, returned=some[3].entered + 4e-3, ready=some[3].ready
    )
    some[3] = slow
    assert queue(timeline(some)).held == 32


def test_results_that_were_seen_late_make_no_deeper_queue() -> None:
    some = list(calls(64))
    for index in range(20):
        call = some[index]
        some[index] = LoopCall(
            entered=call.entered, returned=call.returned, ready=some[index + 2].ready
        )
    found = queue(timeline(some))
    assert found.deepest > 32
    assert found.depth == 32


@given(call_lists)
def test_any_stamps_give_a_queue(some: list[LoopCall]) -> None:
    found = queue(timeline(some))
    assert len(found.in_flight) == len(found.dispatch) == len(some)
    assert all(0 <= count <= index for index, count in enumerate(found.in_flight))


# The window.


def windows(total: float, share: float, place: float) -> Window:
    everything = whole(total)
    span = max(share * everything.span, min(SMALLEST_SPAN, everything.span))
    start = place * (everything.end - span)
    return Window(start, start + span)


@given(call_lists, fractions, fractions, st.booleans(), fractions)
def test_every_zoom_and_scroll_stays_inside(
    some: list[LoopCall], share: float, place: float, closer: bool, anchor: float
) -> None:
    line = timeline(some)
    everything = whole(line.total)
    window = windows(line.total, share, place)
    bar = Bar(0, "compute", anchor * line.total, line.total)
    for moved in (
        window.zoomed(2.0 if closer else 0.5, bar.start, everything),
        window.showing(bar, everything),
        window.following(bar.start, everything),
    ):
        slack = 1e-9 * everything.span
        assert everything.start - slack <= moved.start < moved.end
        assert moved.end <= everything.end + slack


def test_zooming_keeps_the_anchor_in_its_place() -> None:
    zoomed = Window(0.0, 1.0).zoomed(2.0, 0.25, Window(0.0, 1.0))
    assert (0.25 - zoomed.start) / zoomed.span == pytest.approx(0.25)


def test_scrolling_brings_a_bar_into_view() -> None:
    everything = Window(0.0, 1.0)
    bar = Bar(0, "compute", 0.5, 0.52)
    window = Window(0.0, 0.1).showing(bar, everything)
    assert window.start <= bar.start
    assert bar.end <= window.end
    assert window.showing(bar, everything) == window
    assert Window(0.9, 1.0).showing(bar, everything).shows(bar)


# The drawing.


@given(
    call_lists,
    st.integers(0, 130),
    st.integers(0, 40),
    st.none() | fractions,
    st.none() | st.integers(1, 40),
    fractions,
    fractions,
)
def test_any_stamps_fill_the_room_exactly(
    some: list[LoopCall],
    width: int,
    height: int,
    until: float | None,
    count: int | None,
    share: float,
    place: float,
) -> None:
    line = timeline(some)
    shot = Shot(
        line,
        windows(line.total, share, place),
        len(some) // 2,
        None if until is None else until * line.total,
        count,
    )
    for glyphs in (BLOCKS, SOLID):
        rows = draw(shot, width, height, glyphs)
        assert len(rows) == (height if width else 0)
        assert all(len(row) == width for row in rows)
        assert all(len(cell.text) == 1 for row in rows for cell in row)


@given(call_lists.filter(bool), st.integers(GUTTER + 45, 130), st.integers(40, 60))
def test_every_call_has_its_cell_on_both_lanes(
    some: list[LoopCall], width: int, height: int
) -> None:
    """Also one that took no time at all, unless another hides it in the same row."""
    some = some[: layout(height).host]
    line = timeline(some)
    rows = draw(Shot(line, whole(line.total)), width, height)
    everyone = set(range(len(some)))
    assert drawn_calls(rows, "host", "selected", "wait") == everyone
    assert drawn_calls(rows, "device", "selected") == everyone


def test_five_microseconds_in_two_hundred_milliseconds_are_a_mark() -> None:
    some = [LoopCall(entered=0.1, returned=0.100005, ready=0.2)]
    rows = draw(Shot(timeline(some), whole(0.2)), 80, 12)
    host = text(rows)[0]
    assert host[GUTTER:].strip() == "█1"


def test_neighbours_differ_without_colour() -> None:
    rows = draw(
        Shot(timeline(calls(4, "each")), whole(0.02), selected=3), 80, 12, BLOCKS
    )
    shades = {
        cell.call: cell.text
        for row in rows
        for cell in row
        if cell.role.startswith(("device", "selected"))
    }
    assert shades[0] == shades[2] != shades[1]
    assert shades[3] not in (shades[0], shades[1])


def test_nothing_later_than_the_cursor_is_drawn() -> None:
    line = timeline(calls(40))
    rows = draw(Shot(line, whole(line.total), until=line.total / 2), 89, 12)
    lane = [cell for row in rows for cell in row if cell.role.startswith("device")]
    last = max(
        column
        for row in rows
        for column, cell in enumerate(row)
        if cell.role.startswith("device")
    )
    assert lane
    assert last - GUTTER <= 41
    assert any(cell.role == "cursor" for row in rows for cell in row)


def test_only_the_calls_that_were_stepped_to_are_drawn() -> None:
    line = timeline(calls(40))
    rows = draw(Shot(line, whole(line.total), selected=2, count=3), 89, 12)
    assert drawn_calls(rows, "host", "device", "selected") == {0, 1, 2}


def test_an_inferred_lane_says_so() -> None:
    rows = text(draw(Shot(timeline(calls(40)), whole(0.2)), 80, 12))
    assert any(row.startswith("device") for row in rows)
    assert any(row.startswith("inferred") for row in rows)
    inline = Shot(timeline(calls(40)), whole(0.2), inline=True)
    assert any(row.startswith("inline") for row in text(draw(inline, 80, 12)))


def test_the_two_clocks_stand_below_their_lanes() -> None:
    line = timeline(calls(64))
    rows = "\n".join(text(draw(Shot(line, whole(line.total)), 120, 16)))
    assert "stopwatch" in rows
    assert "work 320 ms" in rows


def test_a_close_up_has_the_digits_that_it_needs() -> None:
    near = Window(0.1001, 0.1003)
    assert tick(0.10012, near) == "100.12ms"
    assert tick(0.0, whole(0.2)) == "0"
    assert tick(0.05, whole(0.2)) == "50ms"
    labels = text(draw(Shot(timeline(calls(40)), near), 100, 12))[-1].split()
    assert len(labels) == len(set(labels)) >= 3


# The playback.


def test_a_cursor_reaches_the_end_in_its_time() -> None:
    play = Playback(total=0.2, since=10.0)
    assert play.time(10.0) == 0.0
    assert play.time(10.0 + SECONDS / 2) == pytest.approx(0.1)
    assert not play.over(10.0 + 0.99 * SECONDS)
    assert play.over(10.0 + SECONDS)
    assert play.time(1e9) == 0.2


def test_slow_motion_goes_on_from_where_it_was() -> None:
    play = Playback(total=0.2, since=0.0).at_speed(True, SECONDS / 2)
    assert play.time(SECONDS / 2) == pytest.approx(0.1)
    assert play.time(SECONDS / 2 + SLOW_SECONDS / 4) == pytest.approx(0.15)
    assert "100× slower" in play.words


def test_a_pause_takes_no_time() -> None:
    paused = Playback(total=0.2, since=0.0).toggled(1.0)
    assert paused.time(50.0) == paused.time(1.0)
    assert not paused.over(50.0)
    assert paused.toggled(50.0).time(50.5) == pytest.approx(0.2 * 1.5 / SECONDS)


def test_a_loop_slower_than_the_screen_is_called_faster() -> None:
    assert "faster than it ran" in Playback(total=40.0, since=0.0).words


# The giant numbers.


@given(
    st.text("0123456789.mµns ?", max_size=10), st.integers(1, 200), st.integers(0, 30)
)
def test_large_figures_stay_in_their_room(what: str, width: int, height: int) -> None:
    lines = large(what, width, height)
    assert len(lines) <= height
    assert all(len(line) <= width for line in lines)
    assert len({len(line) for line in lines}) <= 1


@pytest.mark.parametrize("figure", ["0.213 ms", "201 ms", "20.3 µs", "1.20 s", "?"])
def test_figures_are_seven_rows_high_on_the_smallest_projector(figure: str) -> None:
    assert fits(figure)
    assert len(large(figure, 78, 7)) == 7


def test_what_has_no_large_form_is_text() -> None:
    assert large("5 € and more", 80, 10) == ["5 € and more"]


def test_timelines_of_nothing_are_empty() -> None:
    assert timeline([]) == Timeline()
    assert math.isfinite(whole(0.0).span)
