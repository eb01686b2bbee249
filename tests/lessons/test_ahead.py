from __future__ import annotations

from jaxtui.lessons.ahead import LESSON
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Loop, LoopMeasured, LoopSeen
from tests.lessons.figures import (
    TPU,
    after,
    conclude,
    here,
    looped,
    shown,
    timed,
    works,
    yours,
)

PROMISE, MANY, WAITING, QUEUE = range(4)


def loops(step: int) -> tuple[Loop, ...]:
    return works(LESSON, step)  # type: ignore[return-value]


def promise(value: float) -> Outcome:
    names = ("call", "shape and dtype", "passed on")
    outcome = timed(dict.fromkeys(names, 5e-05) | {"a value": value})
    return shown(outcome, "ready at once", "False")


def test_only_a_value_waits() -> None:
    found = conclude(LESSON, PROMISE, promise(5e-3))
    assert found.holds is True
    assert found.answer == 2
    assert "100 times" in found.takeaway
    assert yours(found)["y.is_ready() right after the call"] == "False"


def test_if_everything_takes_as_long_the_claim_does_not_hold() -> None:
    found = conclude(LESSON, PROMISE, promise(60e-6))
    assert found.holds is False
    assert "less than the claim" in found.takeaway


def test_a_loop_that_never_waits_reads_too_little() -> None:
    never, each = loops(MANY)
    outcome = after(looped(never, 300e-6, 60e-3), looped(each, 66e-3, 66e-3))
    found = conclude(LESSON, MANY, outcome)
    assert found.holds is True
    assert found.answer == 2
    assert "200 times" in found.takeaway
    assert "66.0 ms, which is the truth" in found.takeaway


def test_work_that_runs_inline_confirms_nothing() -> None:
    never, each = loops(MANY)
    outcome = after(
        looped(never, 59e-3, 60e-3, inline=True), looped(each, 60e-3, 60e-3)
    )
    found = conclude(LESSON, MANY, outcome)
    assert found.holds is False
    assert found.answer == 0
    assert "calling thread" in found.takeaway


def waiting(end: float, each: float, printing: float) -> Outcome:
    taken = {"end": end, "each": each, "asarray": each, "print": printing}
    return after(*(looped(one, taken[one.style], taken[one.style]) for one in loops(2)))


def test_waiting_and_printing_cost() -> None:
    found = conclude(LESSON, WAITING, waiting(1e-3, 4e-3, 20e-3))
    assert found.holds is True
    assert found.answer == 2
    assert "20 times" in found.takeaway
    assert yours(found)["blocking after every call"] == "40.0 µs"


def test_of_two_passes_the_faster_one_counts() -> None:
    first, *rest = waiting(9e-3, 4e-3, 20e-3).loops[:4]
    assert first.loop.style == "end"
    faster = looped(first.loop, 1e-3, 1e-3)
    found = conclude(LESSON, WAITING, after(first, *rest, faster))
    assert found.holds is True
    assert yours(found)["blocking once at the end"] == "10.0 µs"


def test_where_waiting_costs_nothing_it_says_so() -> None:
    found = conclude(LESSON, WAITING, waiting(1e-3, 1e-3, 1e-3))
    assert found.holds is False
    assert found.answer == 0


def queue(held_from: int | None, inline: bool = False) -> LoopMeasured:
    (never,) = loops(QUEUE)
    return looped(never, 80e-3, 160e-3, held_from=held_from, inline=inline)


def test_the_33rd_call_is_held_back() -> None:
    found = conclude(LESSON, QUEUE, after(queue(32)))
    assert found.holds is True
    assert found.answer == 1
    assert found.rows[0].yours == "call 33"
    assert "32 computations" in found.takeaway


def test_another_depth_refutes_the_claim_on_a_cpu_only() -> None:
    assert conclude(LESSON, QUEUE, after(queue(12))).holds is False
    on_tpu = here(LESSON, devices=TPU)
    assert conclude(LESSON, QUEUE, after(queue(12)), on_tpu).holds is True


def test_a_host_that_is_never_held_back_is_reported() -> None:
    found = conclude(LESSON, QUEUE, after(queue(None)))
    assert found.holds is False
    assert found.answer == 0
    on_tpu = here(LESSON, devices=TPU)
    assert conclude(LESSON, QUEUE, after(queue(None)), on_tpu).holds is None
    inline = conclude(LESSON, QUEUE, after(queue(None, inline=True)))
    assert "too small" in inline.takeaway


def test_the_picture_grows_and_marks_where_the_host_is_held_back() -> None:
    draw = LESSON.steps[QUEUE].picture
    assert draw is not None
    whole = queue(32)
    seen = after(LoopSeen(first=4, calls=whole.calls[4:10]))
    growing = draw(here(LESSON), seen)
    assert growing is not None
    assert list(growing.series[0].x) == [5, 6, 7, 8, 9, 10]
    assert not growing.marks
    picture = draw(here(LESSON), after(whole))
    assert picture is not None
    assert [mark.at for mark in picture.marks] == [33]
    assert len(picture.series[1].y) == 64
