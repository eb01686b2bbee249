"""The health check without widgets and engine: events in, next test and words out."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from jaxtui.engine.protocol import Envelope
from jaxtui.model import (
    CHECK_TESTS,
    Check,
    CheckDoing,
    CheckDone,
    CheckRead,
    CheckStarted,
    Event,
    Hello,
    Ready,
    RunFinished,
    WorkFailed,
)
from jaxtui.tui import check_play, check_text, check_words
from jaxtui.tui.check_report import NO_REPORT, Report, report, worst_first
from jaxtui.tui.check_state import NO_CHECK, CheckState
from jaxtui.tui.state import EMPTY, State, begun, reduce
from jaxtui.view.chipmap import layout, render
from jaxtui.view.text import plain
from tests.tui.check_figures import BROKEN, SLOW, events
from tests.tui.fake_engine import HOST, OPS, tpu_devices

DEVICES = tpu_devices()


def after(state: State, *happened: Event, run: int | None = None) -> State:
    for event in happened:
        state = reduce(state, Envelope(generation=1, run=run, event=event))
    return state


@pytest.fixture
def ready() -> State:
    state = after(EMPTY, Hello(pid=1, ops=OPS))
    return after(state, Ready(host=HOST, devices=DEVICES, ops=OPS))


def begin(state: State) -> State:
    return replace(state, check=check_play.begun(state.devices, "quick"))


def ask(state: State, number: int) -> tuple[State, Check]:
    """The next test, given to the engine."""
    check, work = check_play.following(state.check, state.running)
    assert work is not None
    return begun(replace(state, check=check), number, "check"), work


def play(state: State, *, faulty: bool = True, tests: int = 9) -> State:
    """A check as far as so many tests."""
    state = begin(state)
    for number in range(1, tests + 1):
        state, work = ask(state, number)
        state = after(state, *events(work, faulty=faulty), run=number)
    return state


def judged(state: State) -> Report:
    return report(state.check)


def text(content: object) -> str:
    return content.plain  # type: ignore[attr-defined,no-any-return]


# What runs next.


def test_every_test_is_asked_for_once_and_in_order(ready: State) -> None:
    state, asked = begin(ready), []
    while state.check.going:
        state, work = ask(state, len(asked) + 1)
        asked.append(work.test)
        assert state.running
        assert check_play.following(state.check, state.running) == (state.check, None)
        state = after(state, *events(work), run=len(asked))
        assert not state.running
    assert tuple(asked) == CHECK_TESTS
    assert state.check.elapsed_seconds == pytest.approx(9 * 1.5)


def test_it_is_busy_between_its_tests(ready: State) -> None:
    state = play(ready, tests=2)
    assert not state.running
    assert state.busy
    assert (state.check.test, state.check.place) == ("compute", 3)
    assert not play(ready).busy


def test_nothing_is_asked_for_while_another_run_goes_on(ready: State) -> None:
    state = begin(ready)
    assert check_play.following(state.check, running=True) == (state.check, None)


def test_events_of_another_run_change_nothing(ready: State) -> None:
    state, work = ask(begin(ready), 1)
    assert after(state, *events(work), run=7).check == state.check


def test_only_devices_of_this_process_are_tested(ready: State) -> None:
    theirs = msgspec.structs.replace(DEVICES[7], addressable=False)
    state = begin(replace(ready, devices=(*DEVICES[:7], theirs)))
    exam = state.check.exam
    assert exam is not None
    assert exam.devices == DEVICES[:7]
    shown = judged(state)
    assert "another process has it" in text(check_text.device(shown, "tpu:7", 78))
    marks = check_words.marks(shown, state.devices)
    assert marks["tpu:7"].word == "untested"


def test_stopping_between_tests_begins_no_other(ready: State) -> None:
    check = check_play.stopped(play(ready, tests=3).check)
    ended, work = check_play.following(check, running=False)
    assert work is None
    assert not ended.going
    shown = report(ended)
    assert {one.verdict.test for one in shown.judged} == set(CHECK_TESTS[:3])
    assert "STOPPED  3 of 9 tests" in text(check_text.verdict(shown, 78))
    assert shown.stage("bandwidth") == "left"


def test_an_overdue_test_blames_who_was_at_work(ready: State) -> None:
    state, work = ask(play(ready, faulty=False, tests=3), 4)
    state = after(
        state,
        CheckStarted(check=work),
        CheckDoing(devices=("tpu:0", "tpu:1"), what="copying"),
        CheckDone(device="tpu:0"),
        run=4,
    )
    state = replace(state, check=check_play.overdue(state.check))
    ended = RunFinished(outcome="cancelled", elapsed_seconds=70.0)
    shown = judged(after(state, ended, run=4))
    assert check_words.test_cell(shown, "tpu:1", "bandwidth").text == "FAIL"
    assert check_words.overall_cell(shown, "tpu:2").text == "pass"
    (blamed,) = shown.at("tpu:1", "bandwidth")
    assert "did not finish" in blamed.verdict.reason
    # The others, which had not had their turn, get it in the same test once more.
    assert shown.check.test == "bandwidth"


def test_an_engine_that_dies_costs_a_test(ready: State) -> None:
    state, work = ask(play(ready, faulty=False, tests=2), 3)
    state = after(
        state,
        CheckStarted(check=work),
        CheckDoing(devices=work.devices, what="compiling"),
        WorkFailed(error="The engine was killed (signal 9).", hint=""),
        RunFinished(outcome="crashed", elapsed_seconds=2.0),
        run=3,
    )
    shown = judged(state)
    assert shown.word == "pass"
    assert state.check.test == "bandwidth"
    assert "signal 9" in text(check_text.tests(report(end(state)), 78, check_text.LONG))


def end(state: State) -> CheckState:
    return check_play.given_up(state.check, "JAX could not be started again.")


def test_giving_up_says_why_and_skips_the_rest(ready: State) -> None:
    shown = report(end(play(ready, faulty=False, tests=4)))
    assert not shown.check.going
    lines = text(check_text.tests(shown, 78, check_text.BRIEF))
    assert "JAX could not be started again" in lines
    assert check_words.test_cell(shown, "tpu:0", "steady").text == "skipped"


def test_without_a_check_there_is_nothing(ready: State) -> None:
    assert report(NO_CHECK) is NO_REPORT
    event = RunFinished(outcome="complete", elapsed_seconds=1.0)
    assert after(begun(ready, 1, "check"), event, run=1).check is NO_CHECK


def test_what_was_judged_is_not_judged_again(ready: State) -> None:
    state, work = ask(play(ready, tests=3), 4)
    first = judged(state)
    state = after(state, CheckStarted(check=work), run=4)
    assert report(state.check, first).judged is first.judged


# Words.


def test_a_cell_tells_without_its_colour(ready: State) -> None:
    shown = judged(play(ready))
    cells = {
        (name, test): check_words.test_cell(shown, name, test).text
        for name in ("tpu:0", SLOW, BROKEN)
        for test in CHECK_TESTS
    }
    assert cells["tpu:0", "compute"] == "86 %"
    assert cells["tpu:0", "present"] == "pass"
    assert cells[SLOW, "compute"].startswith("low ")
    assert cells[BROKEN, "numerics"] == "FAIL"
    assert check_words.overall_cell(shown, BROKEN) == check_words.Cell("FAIL", "fail")


def test_a_cell_says_that_it_is_being_worked_out(ready: State) -> None:
    state, work = ask(begin(ready), 1)
    doing = CheckDoing(devices=("tpu:0",), what="counting")
    shown = judged(after(state, CheckStarted(check=work), doing, run=1))
    assert check_words.test_cell(shown, "tpu:0", "present").text == "…"
    assert check_words.overall_cell(shown, "tpu:0").text == "…"
    assert check_words.test_cell(shown, "tpu:1", "present").text == ""


def test_the_verdict_names_who_is_to_blame_and_what_to_do(ready: State) -> None:
    said = text(check_text.verdict(judged(play(ready)), 78))
    assert said.startswith(" FAIL  Do not rely on tpu:3 (3,0,0) in numerics.")
    assert "Restart the machine" in said
    fine = text(check_text.verdict(judged(play(ready, faulty=False)), 78))
    assert fine.startswith(" PASS  Everything works.")


@pytest.mark.parametrize("width", [60, 78, 118])
@pytest.mark.parametrize("depth", [check_text.BRIEF, check_text.LONG])
def test_no_line_is_wider_than_there_is_room(
    ready: State, width: int, depth: check_text.Depth
) -> None:
    for shown in (judged(play(ready)), judged(play(ready, tests=3)), NO_REPORT):
        for content in (
            check_text.verdict(shown, width),
            check_text.tests(shown, width, depth),
            check_text.device(shown, BROKEN, width),
            check_text.details(shown, BROKEN, width),
        ):
            assert all(len(line) <= width for line in text(content).split("\n"))


def test_while_it_goes_on_every_test_has_one_line(ready: State) -> None:
    state, work = ask(play(ready, tests=3), 4)
    doing = CheckDoing(devices=work.devices, what="copying 2 GiB on 8 devices")
    state = after(state, CheckStarted(check=work), doing, run=4)
    lines = text(check_text.tests(judged(state), 78, check_text.LONG)).split("\n")
    assert [line[2:].split()[0] for line in lines[:9]] == list(CHECK_TESTS)
    assert "running     copying 2 GiB on 8 devices" in lines[3]
    assert lines[2].startswith("▾ compute    low")
    assert all("waiting" in line for line in lines[4:9])


def test_in_the_end_what_is_wrong_comes_first(ready: State) -> None:
    shown = judged(play(ready))
    assert worst_first(shown)[:3] == ["numerics", "compute", "together"]
    lines = text(check_text.tests(shown, 78, check_text.BRIEF)).split("\n")
    assert lines[0].startswith("✗ numerics   FAIL        tpu:3 (3,0,0)")
    assert "gives other bits" in lines[1]
    heads = [line for line in lines if line[:2].strip()]
    assert len([line for line in heads if line[2:].split()[0] in CHECK_TESTS]) == 9
    assert "This machine as a whole" in lines


def test_long_texts_say_where_expectations_come_from(ready: State) -> None:
    shown = judged(play(ready))
    assert "cloud.google" not in text(check_text.tests(shown, 78, check_text.BRIEF))
    assert "cloud.google" in text(check_text.tests(shown, 78, check_text.LONG))
    assert "cloud.google" in text(check_text.details(shown, SLOW, 42))


def test_a_device_in_a_line_and_in_full(ready: State) -> None:
    shown = judged(play(ready))
    line = text(check_text.device(shown, SLOW, 78))
    assert line.startswith(f"{SLOW} (1,1,0) low: compute low 56%, together low 66%")
    assert line.endswith("d shows its figures")
    whole = text(check_text.details(shown, SLOW, 78))
    assert "matmul 8192 int8" in whole
    assert "slower than the median" in whole
    nothing = judged(begin(ready))
    assert "nothing was read yet" in text(check_text.device(nothing, SLOW, 78))


def test_the_text_to_take_away_has_everything_that_is_wrong(ready: State) -> None:
    taken = check_text.whole(judged(play(ready)), 80)
    assert taken.startswith(" FAIL  Do not rely on tpu:3")
    for name in (SLOW, BROKEN):
        assert f"{name} " in taken
    assert "tpu:0 (0,0,0) in the check" not in taken


# The chip map.


@pytest.mark.parametrize(("width", "height"), [(30, 7), (19, 14)])
def test_the_map_has_marks_and_a_legend(ready: State, width: int, height: int) -> None:
    marks = check_words.marks(judged(play(ready)), DEVICES)
    lines = render(replace(layout(DEVICES), marks=marks), width, height, "tpu:0")
    drawn = "\n".join(map(plain, lines))
    assert all(len(plain(line)) <= width for line in lines)
    for mark in ("0✓", "3✗", "5▾", "✓ pass", "▾ low", "✗ FAIL"):
        assert mark in drawn
    roles = {span.device: span.role for line in lines for span in line if span.device}
    assert roles["tpu:0"] == "check-pass-selected"
    assert roles[BROKEN] == "check-fail"
    assert roles[SLOW] == "check-low"


def test_the_map_marks_devices_without_coords_too(ready: State) -> None:
    marks = check_words.marks(judged(begin(ready)), DEVICES)
    flat = [msgspec.structs.replace(one, coords=None) for one in DEVICES]
    drawn = "\n".join(
        map(plain, render(replace(layout(flat), marks=marks), 40, 8, None))
    )
    assert "[0·][1·]" in drawn
    assert "· untested" in drawn


def test_a_reading_beyond_the_peak_is_impossible(ready: State) -> None:
    state, work = ask(play(ready, tests=2), 3)
    found = [
        CheckRead(reading=msgspec.structs.replace(one.reading, measured=400e12))
        if isinstance(one, CheckRead) and one.reading.device == "tpu:0"
        else one
        for one in events(work, faulty=False)
    ]
    shown = judged(after(state, *found, run=3))
    cell = check_words.test_cell(shown, "tpu:0", "compute")
    assert cell == check_words.Cell("impossible", "impossible")
    stopped, _ = check_play.following(check_play.stopped(shown.check), running=False)
    said = text(check_text.verdict(report(stopped), 300))
    assert "So far: impossible." in said
    assert "More than the hardware can do: tpu:0" in said
