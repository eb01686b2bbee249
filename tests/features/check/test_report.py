"""What a check says: its rows, notes, grid and headline."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from jaxtui.core.model import Check, CheckDoing, Expected, Reading, Remark, RunStarted
from jaxtui.core.state import EMPTY, State
from jaxtui.features.check import report as view
from jaxtui.features.check.exam import Examination, begin, of_level
from jaxtui.features.check.messages import Checked
from jaxtui.features.check.report import LEAST_SAID, OUTCOME
from jaxtui.ui.report import Report, fitting, terminal
from tests.core.figures import crowded, expected, reading, skipped, wrong
from tests.fake_engine import tpu_devices
from tests.features.check.check_figures import events

DEVICES = tpu_devices()
NAMES = [one.name for one in DEVICES]
QUICK = of_level("quick")


def play(*, faulty: bool = True, tests: int = len(QUICK)) -> Examination:
    """A check as far as so many tests."""
    exam = begin(DEVICES, "quick")
    for _ in range(tests):
        assert isinstance(exam.next_work, Check)
        for event in events(exam.next_work, faulty=faulty):
            exam = exam.observe(event)
    return exam


def doing(exam: Examination, *names: str) -> Examination:
    """The next test has begun on these devices."""
    assert exam.next_work is not None
    return exam.observe(RunStarted()).observe(CheckDoing(devices=names))


def state(exam: Examination | None) -> State:
    series = {} if exam is None else {"check": exam}
    return replace(EMPTY, devices=DEVICES, series=series)


def document(exam: Examination | None) -> Checked:
    return OUTCOME.result(state(exam), True)


def build(exam: Examination | None) -> Report:
    return OUTCOME.report(document(exam), state(exam))


BEGUN = begin(DEVICES, "quick")
FAULTY, SOUND = play(), play(faulty=False)
RUNNING = doing(play(tests=3), *NAMES)


def product(device: str, rate: float | None = None, **changes: object) -> Reading:
    """By default of the same matrix product, beside the same peak."""
    facts: dict[str, Any] = {
        "measured": rate,
        "device": device,
        "expected": expected(200e12),
    }
    return reading(**{**facts, **changes})


def of(*found: Reading) -> Examination:
    return replace(BEGUN, readings=found).stopped()


MOST = Expected(value=1e-2, kind="most", source=Remark("exact-integers"))
FOUR = Expected(value=4, kind="exact", source=Remark("exact-integers"))
VAGUE = {"expected": None, "ci_high": 195e12}

EXAMS = {
    "one is slow and one is wrong": FAULTY,
    "all are sound": SOUND,
    "a test is running": RUNNING,
    "the first has begun on one device": doing(BEGUN, "tpu:0"),
    "stopped": play(tests=3).stopped(),
    "the engine is lost": play(faulty=False, tests=4).lost(Remark("engine-gone")),
    "faster than possible": of(product("tpu:0", 400e12)),
    "nothing": None,
    "devices that agree share a row, the best first": of(
        *(product(one.name, 168e12 + 1e11 * one.id, what="a") for one in DEVICES[1:]),
        product("tpu:0", 101e12, what="a"),
        *(product(one, 1e14 if one == "tpu:3" else 17e13, what="b") for one in NAMES),
        product("tpu:1", what="matmul 64 int8", **skipped()),
    ),
    "all have one trouble": of(*(product(one, **wrong()) for one in NAMES)),
    "two have one trouble": of(*(product(one, **wrong()) for one in NAMES[:2])),
    "others use the cores": of(
        *(product(f"tpu:{n}", 17e13, remarks=(crowded(n / 10),)) for n in range(8))
    ),
    "units, and figures that are not known": of(
        product("tpu:0", 999e9, what="a", expected=None),
        product("tpu:1", 1e12, what="a", expected=None),
        product("tpu:0", 2e-3, what="b", unit="relative error", expected=MOST),
        product("tpu:0", 1, what="c", unit="chips", expected=FOUR),
        product("tpu:0", 3.1e-5, what="d", unit="seconds", expected=None),
        product("tpu:0", 19e13, what="e", ci_low=18e13, confidence=0.99, **VAGUE),
        product("tpu:0", 19e13, what="f", ci_low=8e13, confidence=0.99, **VAGUE),
        product("tpu:0", 19e13, what="g", ci_low=19e13, confidence=0.0, **VAGUE),
    ),
}


@pytest.mark.parametrize("width", [56, 76, 116])
def test_no_line_is_wider_than_there_is_room(width: int) -> None:
    for exam in EXAMS.values():
        written = terminal(build(exam), width)
        assert all(len(line) <= width for line in written.splitlines())


def test_where_there_is_no_room_those_that_say_least_go_first() -> None:
    def heads(exam: Examination, width: int) -> list[str]:
        columns = fitting(view.grid(document(exam), exam).columns, width)
        return [column.head for column, _ in columns[1:]]

    assert heads(FAULTY, 200) == list(QUICK)
    kept = heads(FAULTY, 56)
    assert kept == [test for test in QUICK if test in kept]
    in_order = [test for test in LEAST_SAID if test in QUICK]
    assert {*QUICK} - {*kept} == {*in_order[: len(QUICK) - len(kept)]} != set()
    # What is wrong keeps its column.
    late = reading(test="dispatch", device="tpu:1", **wrong())
    wrong_call = replace(SOUND, readings=(*SOUND.readings, late))
    assert "dispatch" in heads(wrong_call, 30)
