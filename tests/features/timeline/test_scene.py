"""What a class sees at each moment: nothing that it has not predicted."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from rich.text import Text

from jaxtui.core.model import Case, Loop
from jaxtui.features.timeline.scene import (
    CLOCKS,
    RECORDED,
    RECORDED_ON,
    STEPS,
    Scene,
    Step,
    judge_bet,
)
from jaxtui.features.timeline.stopwatch import LoopClocks

FOUND = LoopClocks(815e-6, 0.541)
CASE = Case(op="matmul", size=1000, dtype="float32", device="cpu:0", mode="jit")


LOOP = Loop(case=CASE, calls=20)


def scene(step: Step, time: float | None = None, found: LoopClocks = FOUND) -> Scene:
    return Scene(step, LOOP, found, 10, time)


def test_the_bars_say_of_how_many_repeats_they_are() -> None:
    seven = replace(FOUND, repeats=7)
    assert "7 repeats" in scene("fix", found=seven).bars_title()
    assert "median" not in scene("race").bars_title()


def test_the_factor_says_between_what_it_lies() -> None:
    turns = replace(FOUND, repeats=7, ends=(500.0, 800.0))
    assert "500–800×" in scene("factor", found=turns).bars_title()
    assert "×" not in scene("bet", found=turns).bars_title()


def test_a_factor_without_room_for_large_characters_is_in_the_sentence() -> None:
    (text, *_) = scene("fix").hero("", 76, 2)
    assert text.plain.endswith("· 1×")


@pytest.mark.parametrize(
    ("clocks", "time", "clock", "hero"),
    [
        # One millisecond is not counted as 0, 0, 1.
        (LoopClocks(163e-6, 1.05e-3), 0.42e-3, ("0.163", "0.4"), "0.4"),
        # No reading below a hundredth of its unit.
        (LoopClocks(9.3e-6, 6.48e-3), None, ("9.30", "6480"), "6480"),
    ],
)
def test_clocks_of_the_class_can_be_read(
    clocks: LoopClocks, time: float | None, clock: tuple[str, str], hero: str
) -> None:
    shown = scene("race", time, clocks)
    assert tuple(shown.clock(name)[0] for name in CLOCKS) == clock
    assert shown.hero("", 20, 3)[2].plain.strip() == hero


def seen(lines: list[Text]) -> str:
    return "\n".join(line.plain for line in lines)


@pytest.mark.parametrize(
    ("bet", "judged"),
    [(2, "bet 2×: 5.0× too low"), (10, "bet 10×: right"), (100, "10× too high")],
)
def test_a_bet_is_judged(bet: int, judged: str) -> None:
    assert judge_bet(bet, 10.0).endswith(judged)


@pytest.mark.parametrize(
    ("step", "time", "stopwatch", "work"),
    [
        ("program", None, ("", "?"), ("", "?")),
        ("bet", None, ("0.815", "STOPPED"), ("", "?")),
        ("race", 0.0, ("0", "RUNNING"), ("0", "RUNNING")),
        ("race", 0.27, ("0.815", "STOPPED"), ("270", "RUNNING")),
        ("race", None, ("0.815", "STOPPED"), ("541", "STOPPED")),
        ("factor", None, ("0.815", "STOPPED"), ("541", "STOPPED")),
        # The same run: with its wait the stopwatch stops when the work does.
        ("fix", 0.27, ("270", "RUNNING"), ("270", "RUNNING")),
        ("fix", None, ("541", "STOPPED"), ("541", "STOPPED")),
    ],
)
def test_a_clock_is_hidden_runs_or_has_stopped(
    step: Step, time: float | None, stopwatch: tuple[str, str], work: tuple[str, str]
) -> None:
    shown = scene(step, time)
    assert (shown.clock("stopwatch"), shown.clock("work")) == (stopwatch, work)
    # Before the program has run there is nothing to read.
    waits = replace(shown, clocks=None)
    assert [waits.clock(name) for name in CLOCKS] == [("", "?")] * 2


@pytest.mark.parametrize(
    ("step", "time", "text", "role"),
    [
        ("program", None, "What does this program time?", "muted"),
        ("bet", None, "It read 0.815 ms. How long", "value"),
        ("race", 0.0, "both clocks run, ms so far", "danger"),
        ("race", 0.2, "STILL COMPUTING, ms so far · the stopwatch", "danger"),
        ("race", None, "done after 541 ms", "danger"),
        (
            "factor",
            None,
            "the stopwatch says 0.815 ms · bet 10×: 66× too low",
            "danger",
        ),
        ("fix", 0.2, "the stopwatch reads 541 ms with this line, 0.815 ms", "pass"),
    ],
)
def test_a_step_says_one_thing_over_its_figure(
    step: Step, time: float | None, text: str, role: str
) -> None:
    lines = scene(step, time).hero("", 76, 8)
    assert text in lines[0].plain
    assert {line.style for line in lines[2:]} == {role}
    # The figure of the fix comes when both clocks have stopped.
    large = "█" in seen(lines)
    assert large == (step != "fix" or time is None)
    waits = replace(scene(step, time), clocks=None)
    assert "JAX is starting" in seen(waits.hero("JAX is starting", 76, 8))
    inline = replace(FOUND, inline=True)
    assert "inside the call" in seen(scene(step, time, inline).hero("", 76, 8))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("thick", [1, 2, 3])
@pytest.mark.parametrize("time", [None, 0.0, 0.2])
def test_bars_are_to_one_scale_and_hide_the_work(
    step: Step, thick: int, time: float | None
) -> None:
    lines = scene(step, time).bars(76, thick)
    assert len(lines) == 2 * thick + 1
    assert all(line.cell_len <= 76 for line in lines)
    text, styles = seen(lines), {span.style for line in lines for span in line.spans}
    assert ("WORK" in text) == (step in ("race", "factor", "fix"))
    missed = step in ("race", "factor") and time != 0.0
    assert bool(styles & {"danger", "badge-fail"}) == missed
    assert ("STILL COMPUTING" in text) == (
        step in ("race", "factor") and time is not None and time > FOUND.stopwatch
    )
    assert ("bet 10×" in text) == (step in ("race", "factor"))
    assert ("BET 10×" in text) == (step == "bet")


@pytest.mark.parametrize("step", STEPS)
def test_the_step_is_marked_and_only_the_last_has_the_fix(step: Step) -> None:
    steps = scene(step).steps()
    (marked,) = (span for span in steps.spans if span.style == "badge")
    assert steps.plain[marked.start : marked.end].split() == [step]
    program = scene(step).program().plain
    assert "range(20)" in program
    assert ("block_until_ready" in program) == (step == "fix")


def test_a_recorded_run_is_marked_in_every_step() -> None:
    for step in STEPS:
        shown = replace(scene(step), recorded=True)
        assert "RECORDED" in shown.steps().plain
        assert RECORDED_ON in shown.steps().plain
    assert "RECORDED" not in scene("race").steps().plain
    assert RECORDED.undisturbed.stopwatch_seconds < RECORDED.undisturbed.true_seconds
