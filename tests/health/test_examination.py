"""The state machine of the check, driven as commands and screens drive it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jaxtui.health import plan
from jaxtui.health.examination import (
    Examination,
    begin,
    cancelled,
    given_up,
    observe,
    overdue,
)
from jaxtui.health.verdict import judge, overall
from jaxtui.model import (
    CHECK_LEVELS,
    CHECK_TESTS,
    Check,
    CheckDoing,
    CheckDone,
    CheckRead,
    CheckStarted,
    Event,
    Logged,
    Reading,
    RunFinished,
    WorkFailed,
)
from tests.health.making import tpus

COMPLETE = RunFinished(outcome="complete", elapsed_seconds=1.0)
CANCELLED = RunFinished(outcome="cancelled", elapsed_seconds=1.0)
CRASHED = RunFinished(outcome="crashed", elapsed_seconds=1.0)
DIED = WorkFailed(error="The engine crashed (SIGABRT)", hint="", detail="last words")


def after(state: Examination, *events: Event) -> Examination:
    for event in events:
        state = observe(state, event)
    return state


def read(check: Check, name: str | None) -> CheckRead:
    return CheckRead(
        reading=Reading(test=check.test, device=name, what="it", measured=1.0)
    )


def doing(*names: str) -> CheckDoing:
    return CheckDoing(devices=names, what=f"work on {len(names)} devices")


def sound(check: Check) -> Iterator[Event]:
    """A test whose devices take turns, all of them well."""
    yield CheckStarted(check=check)
    for name in check.devices:
        yield doing(name)
        yield read(check, name)
        yield CheckDone(device=name)
    yield COMPLETE


def started(state: Examination) -> Examination:
    check = state.next_check
    assert check is not None
    return observe(state, CheckStarted(check=check))


def rest(state: Examination) -> Examination:
    """Everything that is left, without trouble."""
    while (check := state.next_check) is not None:
        state = after(state, *sound(check))
    return state


def faults(state: Examination) -> dict[str | None, str]:
    return {one.device: one.fault for one in state.readings if one.fault}


def skipped(state: Examination) -> dict[str | None, str]:
    return {one.device: one.skipped for one in state.readings if one.skipped}


@pytest.fixture
def three() -> Examination:
    return begin(tpus(3), "quick")


def test_the_whole_flow(three: Examination) -> None:
    state, seen = three, []
    while (check := state.next_check) is not None:
        seen.append(check.test)
        assert check.devices == ("tpu:0", "tpu:1", "tpu:2")
        assert state.limit_seconds == plan.limit_seconds(check)
        for event in sound(check):
            state = observe(state, event)
            assert (state.next_check is None) == (
                event is not COMPLETE or check.test == CHECK_TESTS[-1]
            )
    assert tuple(seen) == CHECK_TESTS
    assert state.outcome == "complete"
    assert len(state.readings) == 27
    assert (state.check, state.at_work, state.what) == (None, (), "")
    assert overall(judge(state.readings, state.devices)) == "pass"


def test_what_a_test_shows_while_it_goes_on(three: Examination) -> None:
    state = started(three)
    check = state.check
    assert check is not None
    state = observe(state, doing("tpu:0", "tpu:1", "tpu:2"))
    assert state.at_work == ("tpu:0", "tpu:1", "tpu:2")
    assert state.what == "work on 3 devices"
    state = after(state, read(check, "tpu:1"), CheckDone(device="tpu:1"))
    assert state.at_work == ("tpu:0", "tpu:2")
    assert state.through == ("tpu:1",)
    assert observe(state, Logged(line="hello")) == state
    again = observe(state, doing("tpu:0", "tpu:1"))
    assert again.at_work == ("tpu:0",)


def test_the_user_cancels_and_what_was_read_stays(three: Examination) -> None:
    check = three.next_check
    assert check is not None
    state = after(started(three), doing("tpu:0"), read(check, "tpu:0"), CANCELLED)
    assert state.outcome == "cancelled"
    assert state.next_check is None
    assert len(state.readings) == 1
    assert (state.check, state.at_work) == (None, ())


@pytest.mark.parametrize("late", [False, True])
def test_cancelling_is_final_whatever_still_arrives(
    three: Examination, late: bool
) -> None:
    check = three.next_check
    assert check is not None
    state = observe(started(three), doing("tpu:0"))
    state = cancelled(overdue(state) if late else state)
    state = after(state, *sound(check), DIED, CRASHED)
    assert state.outcome == "cancelled"
    assert state.next_check is None
    assert not faults(state)


def test_cancelled_before_the_first_event(three: Examination) -> None:
    assert observe(three, CANCELLED).outcome == "cancelled"


def test_one_of_several_devices_hangs(three: Examination) -> None:
    state = observe(started(three), doing("tpu:0", "tpu:1", "tpu:2"))
    check = state.check
    assert check is not None
    for name in ("tpu:0", "tpu:2"):
        state = after(state, read(check, name), CheckDone(device=name))
    state = overdue(state)
    assert state.late
    state = observe(state, CANCELLED)
    assert state.hung == ("tpu:1",)
    fault = faults(state)["tpu:1"]
    limit = plan.limit_seconds(check)
    assert fault.startswith(f"tpu:1 did not finish within {limit:.1f} s.")
    assert "work on 3 devices" in fault
    assert state.next_check is not None
    assert state.next_check.test == CHECK_TESTS[1]
    assert state.next_check.devices == ("tpu:0", "tpu:2")
    state = rest(state)
    assert state.outcome == "complete"
    assert list(faults(state)) == ["tpu:1"]
    skipped = [one for one in state.readings if one.skipped]
    assert [one.test for one in skipped] == list(CHECK_TESTS[1:])
    assert {one.device for one in skipped} == {"tpu:1"}
    assert overall(judge(state.readings, state.devices)) == "fail"


def test_the_limit_of_the_user_is_the_one_that_is_named() -> None:
    state = overdue(observe(started(begin(tpus(1), "full", 7.0)), doing("tpu:0")))
    assert state.limit_seconds == 7.0
    assert "within 7.00 s" in faults(observe(state, CANCELLED))["tpu:0"]


def test_all_devices_hang(three: Examination) -> None:
    state = observe(started(three), doing("tpu:0", "tpu:1", "tpu:2"))
    state = observe(overdue(state), CANCELLED)
    assert state.outcome == "complete"
    assert state.next_check is None
    assert set(faults(state)) == {"tpu:0", "tpu:1", "tpu:2"}
    assert sum(bool(one.skipped) for one in state.readings) == 3 * 8
    assert overall(judge(state.readings, state.devices)) == "fail"


def test_one_after_the_other_hangs_and_the_others_get_their_turn(
    three: Examination,
) -> None:
    state = after(started(three), doing("tpu:0"), CheckDone(device="tpu:0"))
    state = observe(state, doing("tpu:1"))
    state = observe(overdue(state), CANCELLED)
    again = state.next_check
    assert again is not None
    assert (again.test, again.devices) == (CHECK_TESTS[0], ("tpu:2",))
    state = observe(overdue(observe(started(state), doing("tpu:2"))), CANCELLED)
    assert state.hung == ("tpu:1", "tpu:2")
    assert state.next_check is not None
    assert state.next_check.test == CHECK_TESTS[1]
    assert state.next_check.devices == ("tpu:0",)
    assert rest(state).outcome == "complete"


def test_a_test_that_was_late_but_came_to_its_end_blames_nobody(
    three: Examination,
) -> None:
    check = three.next_check
    assert check is not None
    *most, last = sound(check)
    state = after(overdue(after(three, *most)), last)
    assert not faults(state)
    assert state.hung == ()
    assert state.next_check is not None
    assert not state.late


def test_late_before_the_engine_said_that_it_began(three: Examination) -> None:
    state = after(started(overdue(three)), doing("tpu:0"), CANCELLED)
    assert state.outcome is None
    assert state.hung == ("tpu:0",)
    silent = observe(overdue(three), CANCELLED)
    assert set(faults(silent)) == {"tpu:0", "tpu:1", "tpu:2"}


def test_late_when_all_devices_were_through(three: Examination) -> None:
    check = three.next_check
    assert check is not None
    *most, _ = sound(check)
    state = observe(overdue(after(three, *most)), CANCELLED)
    assert state.hung == ()
    assert "The test present did not finish" in faults(state)[None]
    assert state.next_check is not None
    assert state.next_check.test == CHECK_TESTS[1]


def test_the_engine_dies_and_the_others_get_the_test_again(
    three: Examination,
) -> None:
    check = three.next_check
    assert check is not None
    state = after(started(three), doing("tpu:0"), CheckDone(device="tpu:0"))
    state = after(state, doing("tpu:1"), DIED, CRASHED)
    assert state.hung == ()
    (blamed,) = state.readings
    assert blamed.device == "tpu:1"
    assert (blamed.fault, blamed.skipped) == (
        "",
        "The engine crashed (SIGABRT). Last seen: work on 1 devices.",
    )
    assert blamed.detail == "last words"
    again = state.next_check
    assert again is not None
    assert (again.test, again.devices) == (check.test, ("tpu:2",))
    state = after(state, *sound(again))
    following = state.next_check
    assert following is not None
    assert following.devices == ("tpu:0", "tpu:1", "tpu:2")
    assert rest(state).outcome == "incomplete"


def test_a_test_that_begins_again_reads_everything_again(three: Examination) -> None:
    check = three.next_check
    assert check is not None
    state = after(started(three), read(check, "tpu:0"), CheckDone(device="tpu:0"))
    state = after(state, *sound(check))
    assert [one.device for one in state.readings] == ["tpu:0", "tpu:1", "tpu:2"]
    assert state.deaths == 1
    assert rest(state).outcome == "complete"


def test_an_engine_that_dies_before_it_begins_does_not_go_round_for_ever(
    three: Examination,
) -> None:
    state, runs = three, 0
    while state.next_check is not None:
        state = after(state, DIED, CRASHED)
        runs += 1
        assert runs <= len(CHECK_TESTS)
    assert state.outcome == "incomplete"
    assert len(state.readings) == 27
    assert all(one.skipped for one in state.readings)


def test_a_crash_without_a_word_is_told_too(three: Examination) -> None:
    state = after(started(three), doing("tpu:0"), CRASHED)
    assert "The engine ended in the middle" in skipped(state)["tpu:0"]


def test_devices_of_others_cannot_be_blamed(three: Examination) -> None:
    state = after(started(three), doing("tpu:7"), DIED, CRASHED)
    assert set(skipped(state)) == {"tpu:0", "tpu:1", "tpu:2"}
    assert state.next_check is not None
    assert state.next_check.test == CHECK_TESTS[1]


def test_a_test_that_breaks_off_after_all_devices_is_not_lost(
    three: Examination,
) -> None:
    check = three.next_check
    assert check is not None
    *most, last = sound(check)
    state = after(three, *most, DIED, last)
    assert faults(state) == {
        None: "The engine crashed (SIGABRT). Last seen: work on 1 devices."
    }
    assert state.next_check is not None
    assert state.next_check.test == CHECK_TESTS[1]


def test_the_failure_of_one_test_is_not_that_of_the_next(three: Examination) -> None:
    state = after(started(three), doing("tpu:0", "tpu:1", "tpu:2"), DIED, CRASHED)
    assert len(skipped(state)) == 3
    count = len(state.readings)
    assert state.next_check is not None
    state = after(state, *sound(state.next_check))
    assert not any(one.skipped for one in state.readings[count:])


def test_no_engine_is_left(three: Examination) -> None:
    state = given_up(after(three, *sound(three.waiting[0])), "JAX does not start.")
    assert (state.outcome, faults(state)) == ("incomplete", {})
    assert sum(one.skipped == "JAX does not start." for one in state.readings) == 3 * 8


@pytest.mark.parametrize("level", CHECK_LEVELS)
def test_the_plan_has_every_test_once(level: str) -> None:
    checks = plan.plan(level, ["cpu:0", "cpu:1"], seed=3)  # type: ignore[arg-type]
    assert tuple(check.test for check in checks) == CHECK_TESTS
    for check in checks:
        assert check.devices == ("cpu:0", "cpu:1")
        assert check.seed == 3
        assert plan.limit_seconds(check) > check.budget


def test_a_quick_check_measures_for_less_than_ten_seconds() -> None:
    assert sum(check.budget for check in plan.plan("quick", ["tpu:0"])) < 10
