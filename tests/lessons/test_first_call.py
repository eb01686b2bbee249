"""The parts of a first call and the races: curves, ghosts, and who has caught up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jaxtui.lessons.first_call import COLAB, GHOST, LESSON, meeting
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Measurement, Phases
from jaxtui.plot import Picture
from tests.lessons.figures import (
    after,
    asked,
    conclude,
    failed,
    here,
    measured,
    yours,
)

PARTS, _, _, RACE, OTHER_RACE = range(5)

COLD = Phases(transfer=1e-3, trace=1e-3, lower=2e-3, compile=12e-3, first_call=5e-3)


def parts(later: float) -> Outcome:
    jax, numpy = asked(LESSON, PARTS)
    return after(measured(jax, later, phases=COLD), measured(numpy, 4e-3))


@pytest.mark.parametrize(
    ("later", "holds", "answer"), [(5e-3, True, 1), (1e-3, True, 2), (50e-3, False, 0)]
)
def test_the_first_call_costs_more_where_compiling_shows(
    later: float, holds: bool, answer: int
) -> None:
    found = conclude(LESSON, PARTS, parts(later))
    assert found.holds is holds
    assert found.answer == answer
    assert "20.0 ms" in found.takeaway
    assert "compiled for 15.0 ms" in found.takeaway


def test_every_part_has_its_row_beside_the_published_one() -> None:
    rows = {row.what: row for row in conclude(LESSON, PARTS, parts(5e-3)).rows}
    assert rows["transfer from NumPy"].yours == "1.00 ms"
    assert rows["compile"].yours == "12.0 ms"
    assert rows["compile"].published == "2.16 s GPU, 837 ms TPU"
    assert rows["NumPy"].yours == "4.00 ms"
    assert rows["JAX on CPU"].yours == "5.00 ms"


def raced(numpy: float, later: float, step: int = RACE, n: int = 100) -> Outcome:
    jax, host = asked(LESSON, step)
    stopped = "target" if n == 100 else None
    return after(
        measured(jax, later, phases=COLD, stopped=stopped, n=n),
        measured(host, numpy, stopped=stopped, n=n),
    )


def test_the_race_says_where_jax_has_caught_up() -> None:
    # 21 ms until the first result, then 1 ms a call against 3 ms: 21 + (n-1) <= 3 n.
    found = conclude(LESSON, RACE, raced(3e-3, 1e-3))
    assert found.holds is True
    assert found.answer == 0
    assert yours(found)["JAX has caught up with"] == "call 10"
    assert "call 10" in found.takeaway


def test_the_race_says_that_jax_never_catches_up() -> None:
    found = conclude(LESSON, RACE, raced(3e-3, 4e-3))
    assert found.holds is True
    assert found.answer == 3
    assert yours(found)["JAX has caught up with"] == "never"
    assert "never catches up here" in found.takeaway


def test_published_meetings_follow_from_the_published_figures() -> None:
    # 2.16 s and 68.9 ms a call against 1.61 s a call; 0.837 s is less than 1.61 s.
    numpy, gpu, tpu = COLAB
    met = f"call {meeting(gpu, numpy)} GPU, call {meeting(tpu, numpy)} TPU"
    found = conclude(LESSON, RACE, raced(3e-3, 1e-3))
    assert found.rows[3].published == met


def test_a_race_that_jax_loses_refutes_the_other_claim() -> None:
    assert conclude(LESSON, OTHER_RACE, raced(3e-3, 1e-3, OTHER_RACE)).holds is True
    lost = conclude(LESSON, OTHER_RACE, raced(3e-3, 4e-3, OTHER_RACE))
    assert lost.holds is False
    assert lost.answer == 3


def test_a_side_that_failed_is_named() -> None:
    jax, numpy = asked(LESSON, RACE)
    outcome = after(measured(jax, 1e-3, phases=COLD), failed(numpy, "Too slow."))
    found = conclude(LESSON, RACE, outcome)
    assert found.holds is None
    assert "Too slow." in found.takeaway
    assert yours(found)["NumPy, each call"] == "—"


def drawn(
    outcome: Outcome,
    step: int = RACE,
    ghosts: tuple[Measurement, ...] = (),
    ghost_label: str = "",
) -> Picture:
    setting = replace(here(LESSON), ghosts=ghosts, ghost_label=ghost_label)
    draw = LESSON.steps[step].picture
    assert draw is not None
    picture = draw(setting, outcome)
    assert picture is not None
    return picture


def test_the_published_runs_race_along_as_ghosts() -> None:
    picture = drawn(raced(3e-3, 1e-3))
    labels = [series.label for series in picture.series]
    assert labels == ["JAX", "NumPy", "Colab NumPy", "Colab GPU", "Colab TPU"]
    assert [series.color == GHOST for series in picture.series] == [
        False,
        False,
        True,
        True,
        True,
    ]
    assert [mark.at for mark in picture.marks] == [10]
    assert "published" in picture.title
    gpu = picture.series[3]
    assert gpu.y[0] == pytest.approx(2.160155)


def test_a_recorded_machine_takes_their_place() -> None:
    jax, numpy = asked(LESSON, RACE)
    ghosts = tuple(
        event.measurement
        for event in (measured(jax, 1e-3, phases=COLD), measured(numpy, 2e-3))
    )
    picture = drawn(raced(3e-3, 1e-3), ghosts=ghosts, ghost_label="v5e")
    labels = [series.label for series in picture.series]
    assert labels[2:] == ["v5e JAX 600", "v5e NumPy 600"]
    assert "published" not in picture.title
    # It ran another op than the second race.
    other = drawn(
        raced(3e-3, 1e-3, OTHER_RACE), OTHER_RACE, ghosts=ghosts, ghost_label="v5e"
    )
    assert len(other.series) == 2


def test_while_it_runs_a_curve_gets_as_far_as_the_calls() -> None:
    running = drawn(raced(3e-3, 1e-3, n=7))
    assert max(running.series[0].x) == pytest.approx(7)
    assert max(drawn(raced(3e-3, 1e-3)).series[0].x) == pytest.approx(100)


def test_before_anything_was_timed_there_is_nothing_to_draw() -> None:
    draw = LESSON.steps[RACE].picture
    assert draw is not None
    assert draw(here(LESSON), after()) is None
