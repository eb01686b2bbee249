"""Lanes, clocks and the scenes of a class as they are drawn: ``views.txt`` holds them.

With ``JAXTUI_GOLDEN=write`` in the environment it is written instead of compared with.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.text import Text

from jaxtui.core.model import Loop, LoopCall, LoopClock, Peak, Remark
from jaxtui.features.timeline import report as view
from jaxtui.features.timeline import stopwatch
from jaxtui.features.timeline.lanes import BLOCKS, SOLID, Shot, draw, timeline
from jaxtui.features.timeline.loops import SECONDS, SLOW_SECONDS, Playback
from jaxtui.features.timeline.scene import CLOCKS, STEPS, Scene, judge_bet
from jaxtui.features.timeline.stopwatch import LoopClocks, judgement, loop_lines
from jaxtui.ui import words
from tests.features.timeline.test_lanes import (
    CASE,
    LATE,
    calls,
    measured,
    on_device,
)
from tests.golden.test_documents import check_frozen

TWENTY, FORTY, HELD = timeline(calls(20)), timeline(calls(40)), timeline(calls(64), 32)
FEW = timeline(calls(4, "each"))
# A call takes four cells, and the wait for it the rest.
THIN = timeline(
    [
        LoopCall(entered=i / 10, returned=i / 10 + 0.01, ready=(i + 1) / 10, waited=w)
        for i, w in enumerate((0.1, 0.2))
    ]
)
SHORT = timeline([LoopCall(entered=0.1, returned=0.100005, ready=0.2)])

FULL = calls(64)
# One call found room at once.
ROOM = replace(FULL[40], entered=FULL[40].returned - 2e-5)
# The second is called while the first is computed, or after that.
FIRST = LoopCall(entered=0.0, returned=0.1, ready=1.0, waited=2.1)
SECOND = LoopCall(entered=0.1, returned=0.2, ready=2.0, waited=2.2)
LINES = {
    "3 calls": timeline(calls(3)),
    "3 calls, each waited for": timeline(calls(3, "each")),
    "3 calls, the last waited for": timeline(calls(3, "end")),
    "3 calls, the device's own times": timeline(on_device(3)),
    "2 of the device, and one without": timeline([*on_device(2), FULL[0]]),
    "waits that overlap a call": timeline([FIRST, SECOND]),
    "an idle device": timeline([FIRST, replace(SECOND, entered=1.2, returned=1.3)]),
    "64 calls": timeline(FULL),
    "64 calls, held": HELD,
    "64 calls, one of which found room": timeline([*FULL[:40], ROOM, *FULL[41:]], 32),
    "64 calls, seen late": timeline(LATE, 32),
    "no call": timeline([]),
}


def times() -> Iterator[str]:
    """Of a line of few calls its bars, of a longer one its queue."""
    for name, line in LINES.items():
        ends = f"{line.through:.6g} of {line.total:.6g} s"
        yield f"== {name}: {ends}{', measured' * line.measured}"
        yield f"in flight {line.in_flight}, held {line.held}"
        for bar in (*line.host, *line.device) if line.calls < 5 else ():
            yield f"{bar.kind} {bar.call} {bar.start:.6g}–{bar.end:.6g}"
    for ratio in (1.004, 0.9, 1.12, 4.2):
        facts = {"repeats": 7, "traced": True, "work": ratio, "stopwatch": 1.0}
        yield words.sentence(Remark("instrumented", {**facts}))


def plays() -> Iterator[str]:
    """The cursor of a playback, by a clock that is handed in."""
    plain = Playback(total=0.2, since=10.0)
    paused = plain.toggled(11.0)
    ways = {
        "plain": plain,
        "from its middle on slow": plain.at_speed(True, 10.0 + SECONDS / 2),
        "paused": paused,
        "resumed": paused.toggled(50.0),
        "of a long loop": replace(plain, total=40.0),
    }
    for name, play in ways.items():
        yield f"== {name}: {play.words}"
        moments = (10, 10.5, 10 + SECONDS / 2, 10 + 0.99 * SECONDS, 10 + SECONDS)
        for now in (*moments, 11 + SLOW_SECONDS / 4, 50.5, 1e9):
            if now >= 11 or name == "plain":
                yield f"{now:g} s: {play.time(now):.6g} s{', over' * play.over(now)}"


SHOTS = {
    "20 calls": (Shot(TWENTY), 48, 8, SOLID),
    "20 calls, low": (Shot(TWENTY, 7), 30, 4, BLOCKS),
    "20 calls, high": (Shot(TWENTY, 7), 48, 18, BLOCKS),
    "20 calls, a wait after each": (Shot(timeline(calls(20, "each"))), 48, 8, BLOCKS),
    "20 calls, a wait at the end": (Shot(timeline(calls(20, "end"))), 48, 5, BLOCKS),
    "64 calls, held from 32": (Shot(HELD, 40), 48, 12, BLOCKS),
    "64 calls, seen late": (Shot(timeline(LATE)), 48, 8, SOLID),
    "200 calls": (Shot(timeline(calls(200), 32), 199), 48, 8, SOLID),
    "half of 40": (Shot(FORTY).playing(FORTY.total / 2), 48, 12, BLOCKS),
    "a tenth of the stopwatch": (
        Shot(FORTY).playing(FORTY.through / 10),
        48,
        8,
        BLOCKS,
    ),
    "20 calls that go on": (Shot(TWENTY, complete=False), 48, 8, BLOCKS),
    "4 calls, the last selected": (Shot(FEW, 3), 48, 8, BLOCKS),
    "2 calls, long waits": (Shot(THIN, 1, complete=False), 48, 8, BLOCKS),
    "5 µs in 200 ms": (Shot(SHORT, complete=False), 48, 8, SOLID),
    "no call": (Shot(timeline([])), 48, 5, SOLID),
    "hardly any room": (Shot(TWENTY), 9, 6, SOLID),
    **{
        f"room for {width}×{height}": (Shot(TWENTY), width, height, SOLID)
        for width, height in ((8, 2), (1, 1), (48, 1), (0, 3), (48, 0))
    },
    "3 calls, the device's own times": (Shot(timeline(on_device(3))), 48, 6, BLOCKS),
}
MARKS = {"host-1": "H", "device-1": "D", "name": ".", "axis": "-", "blank": " "}
"""The letters of roles that are not their first."""


def lanes() -> Iterator[str]:
    """Each row, and beside it the letters of its roles."""
    for name, (shot, width, height, shades) in SHOTS.items():
        yield f"== {name}"
        for row in draw(shot, width, height, shades):
            roles = "".join(MARKS.get(cell.role, cell.role[0]) for cell in row)
            yield "".join(cell.text for cell in row) + f"▏{roles}".rstrip()


def spoken() -> Iterator[str]:
    """Of one call."""
    for line, places in ((HELD, (2, 9, 40, 64, -1)), (FEW, (1,)), (THIN, (0,))):
        for index in places:
            yield f"call {index}: {view.call_text(line, index, inline=False)}"
    yield view.call_text(HELD, 2, inline=True)


FOUND = LoopClocks(815e-6, 0.541)
WORK = LoopClocks(0.02, 0.2, flops=2e9)
COMPARED = {
    "never waited for": FOUND,
    "with work": WORK,
    "impossible": LoopClocks(1e-3, 0.1, flops=1e12, peak=1e13),
    "below a peak": LoopClocks(0.1, 0.2, flops=1e11, peak=1e13, repeats=7, ends=(2, 2)),
    "just before the end": LoopClocks(0.1, 0.13),
    "waited": LoopClocks(0.1, 0.1, flops=2e9),
    "inline": LoopClocks(0.1, 0.5, inline=True),
    "watched": LoopClocks(4e-4, 0.1, flops=2e9, repeats=0),
    "steady": LoopClocks(1e-3, 0.1, repeats=7, ends=(80.0, 120.0)),
    "unsteady": LoopClocks(1e-3, 0.1, repeats=7, ends=(40.0, 120.0)),
    "no range": LoopClocks(1e-3, 0.1, repeats=7),
    "one repeat": LoopClocks(1e-3, 0.1, repeats=1, ends=(100.0, 100.0)),
    # No stopwatch reads a small part of a unit.
    "far apart": LoopClocks(2.14e-6, 0.0123),
    # Also the times of a clock between them have the unit of both.
    "1.5 s": LoopClocks(1.5, 2.4),
    "15 s": LoopClocks(15.0, 24.0),
}


def clocks() -> Iterator[str]:
    for name, of in COMPARED.items():
        yield f"== {name}: {of.factor}, {of.unit.name}{', wrong' * of.wrong}"
        yield from (line.markup for line in (*loop_lines(of, 70), judgement(of, 70)))
        yield judgement(of, 40).plain
    for until in (0.01, 0.1, 0.2):
        yield f"== until {until} s"
        yield from (line.markup for line in loop_lines(WORK, 70, until=until))


LOOP = Loop(case=CASE, calls=20)
TURNS = replace(FOUND, repeats=7, ends=(500.0, 800.0))
SCENES: dict[str, Scene] = {
    **{step: Scene(step, LOOP, FOUND, 10) for step in STEPS},
    "race, begins": Scene("race", LOOP, FOUND, 10, 0.0),
    "race, 0.27 s": Scene("race", LOOP, FOUND, 1000, 0.27),
    "fix, 0.27 s": Scene("fix", LOOP, TURNS, 10, 0.27),
    "bet, of turns": Scene("bet", LOOP, TURNS, 10),
    "factor, of turns": Scene("factor", LOOP, TURNS, 1000),
    "factor, vague": Scene("factor", LOOP, replace(TURNS, ends=(1.0, 9e3)), 300),
    "race, inline": Scene("race", LOOP, replace(FOUND, inline=True), 10),
    "race, recorded": Scene("race", LOOP, FOUND, 10, recorded=True),
    "race, not run": Scene("race", LOOP, None, 10),
    # One millisecond is not counted as 0, 0, 1.
    "race, 1 ms": Scene("race", LOOP, LoopClocks(163e-6, 1.05e-3), 10, 0.42e-3),
    # No reading below a hundredth of its unit.
    "race, 9 µs": Scene("race", LOOP, LoopClocks(9.3e-6, 6.48e-3), 10),
}


def scenes() -> Iterator[str]:
    for name, scene in SCENES.items():
        yield f"== {name}: {scene.bars_title()}"
        yield f"{scene.steps().markup} {[scene.clock(clock) for clock in CLOCKS]}"
        programs = [scene.program()] * (name in STEPS)
        parts = (*programs, *scene.bars(60, 2), *scene.hero("Not yet", 60, 8))
        yield from (part.markup.rstrip() for part in parts)
    yield from (line.plain for line in SCENES["fix"].hero("", 60, 2))
    thick = [line.markup.rstrip() for line in SCENES["race, 0.27 s"].bars(60, 3)]
    yield from thick
    assert all(Text.from_markup(line).cell_len <= 60 for line in thick)
    yield from (judge_bet(bet, 10.0) for bet in (2, 6, 7, 10, 15, 100))


def test_the_figures_are_those_of_the_plain_repeats() -> None:
    """A traced repeat may be ten times slower: nothing above it is its own."""
    peak = Peak(flops_per_second=1e12, bytes_per_second=None, source="somewhere")
    clock = LoopClock(
        repeats=7, stopwatch_seconds=4e-5, true_seconds=0.09, factor=(2000, 2500)
    )
    one = measured(20, peak=peak, undisturbed=clock, traced=clock)
    found = stopwatch.of_loop(TWENTY, one)
    assert (found.stopwatch, found.work, found.repeats) == (4e-5, 0.09, 7)
    assert found.ratio == pytest.approx(0.09 / 4e-5)
    assert found.claimed == pytest.approx(20 * 2e9 / 4e-5)
    assert found.true == pytest.approx(20 * 2e9 / 0.09)
    assert (found.peak, found.impossible) == (1e12, True)
    assert "median of 7 repeats" in judgement(found, 200).plain
    # Both ends of its playback are those of the figures.
    ends = (0.0, TWENTY.through, TWENTY.total)
    moments = [stopwatch.moment(found, TWENTY, end) for end in ends]
    assert moments == [0.0, 4e-5, 0.09]


def test_what_is_drawn_of_a_loop_is_as_it_was() -> None:
    drawn = [*times(), *plays(), *lanes(), *spoken(), *clocks(), *scenes()]
    text = "".join(f"{line.rstrip()}\n" for line in drawn)
    check_frozen(Path(__file__).with_name("views.txt"), text)
