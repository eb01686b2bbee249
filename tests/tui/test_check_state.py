"""The health check without widgets and engine: events in, next test and words out."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from jaxtui.analysis import examination
from jaxtui.analysis.examination import Examination
from jaxtui.engine.protocol import Envelope
from jaxtui.model import (
    CHECK_TESTS,
    Check,
    CheckDoing,
    CheckDone,
    CheckStarted,
    Event,
    Hello,
    Ready,
    RunFinished,
    WorkFailed,
)
from jaxtui.state import begun, reduce
from jaxtui.tui.state import EMPTY, NO_CHECK, State
from jaxtui.view import check as view
from jaxtui.view.check import marks
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
    mine = tuple(one for one in state.devices if one.addressable)
    return playing(state, examination.begin(mine, "quick"))


def playing(state: State, exam: Examination) -> State:
    more = exam.next_work or exam.check
    return replace(state, series={"check": exam}, playing="check" if more else None)


def ask(state: State, number: int) -> tuple[State, Check]:
    """The next test, given to the engine."""
    work = exam_of(state).next_work
    assert work is not None
    return begun(state, number, "check", work), work


def exam_of(state: State) -> Examination:
    assert state.check.exam is not None
    return state.check.exam


def play(state: State, *, faulty: bool = True, tests: int = 9) -> State:
    """A check as far as so many tests."""
    state = begin(state)
    for number in range(1, tests + 1):
        state, work = ask(state, number)
        state = after(state, *events(work, faulty=faulty), run=number)
    return playing(state, exam_of(state))


def judged(state: State) -> view.Report:
    return view.report(state.check.exam)


def test_it_is_busy_between_its_tests(ready: State) -> None:
    state = play(ready, tests=2)
    assert not state.running
    assert state.busy
    assert (state.check.test, state.check.place) == ("compute", 3)
    assert state.check.elapsed_seconds == pytest.approx(2 * 1.5)
    assert not play(ready).busy


def test_only_devices_of_this_process_are_tested(ready: State) -> None:
    theirs = msgspec.structs.replace(DEVICES[7], addressable=False)
    state = begin(replace(ready, devices=(*DEVICES[:7], theirs)))
    exam = state.check.exam
    assert exam is not None
    assert exam.devices == DEVICES[:7]
    shown = judged(state)
    assert marks(shown, state.devices)["tpu:7"].word == "untested"


def test_a_check_that_was_stopped_keeps_what_was_read(ready: State) -> None:
    shown = view.report(exam_of(play(ready, tests=3)).stopped())
    assert {one.verdict.test for one in shown.judged} == set(CHECK_TESTS[:3])


def test_an_overdue_test_blames_who_was_at_work(ready: State) -> None:
    state, work = ask(play(ready, faulty=False, tests=3), 4)
    state = after(
        state,
        CheckStarted(check=work),
        CheckDoing(devices=("tpu:0", "tpu:1"), what="copying"),
        CheckDone(device="tpu:0"),
        run=4,
    )
    state = playing(state, exam_of(state).overdue())
    ended = RunFinished(outcome="cancelled", elapsed_seconds=70.0)
    shown = judged(after(state, ended, run=4))
    (blamed,) = shown.at("tpu:1", "bandwidth")
    assert "did not finish" in blamed.verdict.reason
    # The others, which had not had their turn, get it in the same test once more.
    assert shown.test == "bandwidth"


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
    ended = exam_of(state).lost("JAX could not be started again.")
    assert ended.outcome == "incomplete"
    sentences = [one.verdict.reason for one in view.report(ended).judged]
    assert any("signal 9" in one for one in sentences)
    assert sum("could not be started" in one for one in sentences) == 8 * 6


def test_without_a_check_there_is_nothing(ready: State) -> None:
    event = RunFinished(outcome="complete", elapsed_seconds=1.0)
    work = Check(test="present", devices=("tpu:0",), budget_seconds=1.0)
    assert after(begun(ready, 1, "check", work), event, run=1).check is NO_CHECK


# The chip map.


@pytest.mark.parametrize(("width", "height"), [(30, 7), (19, 14)])
def test_the_map_has_marks_and_a_legend(ready: State, width: int, height: int) -> None:
    found = marks(judged(play(ready)), DEVICES)
    lines = render(replace(layout(DEVICES), marks=found), width, height, "tpu:0")
    drawn = "\n".join(map(plain, lines))
    assert all(len(plain(line)) <= width for line in lines)
    for mark in ("0✓", "3✗", "5▾", "✓ pass", "▾ low", "✗ FAIL"):
        assert mark in drawn
    roles = {span.device: span.role for line in lines for span in line if span.device}
    assert roles["tpu:0"] == "check-pass-selected"
    assert roles[BROKEN] == "check-fail"
    assert roles[SLOW] == "check-low"


def test_the_map_marks_devices_without_coords_too(ready: State) -> None:
    found = marks(judged(begin(ready)), DEVICES)
    flat = [msgspec.structs.replace(one, coords=None) for one in DEVICES]
    drawn = "\n".join(
        map(plain, render(replace(layout(flat), marks=found), 40, 8, None))
    )
    assert "[0·][1·]" in drawn
    assert "· untested" in drawn
