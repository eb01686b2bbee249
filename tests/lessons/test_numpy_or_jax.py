from __future__ import annotations

import pytest

from jaxtui.lessons.numpy_or_jax import LESSON
from jaxtui.lessons.outcome import Outcome
from tests.lessons.figures import (
    BOTH,
    TPU,
    after,
    asked,
    conclude,
    failed,
    here,
    measured,
    shown,
    works,
)

FIVE, TWO, MIXED = range(3)


def five(*seconds: float, devices: tuple = ()) -> Outcome:
    setting = here(LESSON, devices=devices) if devices else None
    cases = asked(LESSON, FIVE, setting)
    assert len(cases) == len(seconds)
    return after(*map(measured, cases, seconds))


def test_a_cpu_does_a_b_and_c() -> None:
    modes = [(case.mode, case.inputs) for case in asked(LESSON, FIVE)]
    assert modes == [("numpy", "host"), ("eager", "host"), ("eager", "device")]
    found = conclude(LESSON, FIVE, five(5e-3, 11e-3, 10e-3))
    assert found.holds is True
    assert found.answer == 0
    assert [row.yours for row in found.rows] == [
        "5.00 ms",
        "11.0 ms",
        "10.0 ms",
        "—",
        "—",
    ]
    assert found.rows[1].remark == "2.2× slower than A"
    assert found.rows[4].remark == "needs an accelerator"
    assert "2.0 times as slow as NumPy, as published" in found.takeaway
    assert "D and E need an accelerator" in found.takeaway


def test_it_says_when_the_published_order_does_not_hold() -> None:
    found = conclude(LESSON, FIVE, five(12e-3, 11e-3, 10e-3))
    assert found.answer == 1
    assert "unlike in the published figures" in found.takeaway
    close = conclude(LESSON, FIVE, five(9e-3, 11e-3, 10e-3))
    assert "no law" in close.takeaway


def test_a_product_so_small_that_the_copy_shows_refutes_the_claim() -> None:
    found = conclude(LESSON, FIVE, five(5e-3, 20e-3, 10e-3))
    assert found.holds is False
    assert "does not hold" in found.takeaway


@pytest.mark.parametrize(("d", "holds"), [(30e-3, True), (5e-3, False)])
def test_an_accelerator_pays_the_transfer(d: float, holds: bool) -> None:
    setting = here(LESSON, devices=BOTH)
    outcome = five(150e-3, 300e-3, 290e-3, d, 5e-3, devices=BOTH)
    found = conclude(LESSON, FIVE, outcome, setting)
    assert found.holds is holds
    assert found.answer == 2
    assert "30 times as fast as NumPy" in found.takeaway


def test_an_accelerator_alone_leaves_b_and_c_open() -> None:
    setting = here(LESSON, devices=TPU)
    outcome = five(150e-3, 30e-3, 5e-3, devices=TPU)
    found = conclude(LESSON, FIVE, outcome, setting)
    assert found.holds is True
    assert [row.yours for row in found.rows][1:3] == ["—", "—"]
    assert found.rows[1].remark == "needs JAX's CPU device"


def test_a_failure_stands_in_its_row() -> None:
    numpy, host, device = asked(LESSON, FIVE)
    outcome = after(
        failed(numpy, "Too slow."), measured(host, 11e-3), measured(device, 10e-3)
    )
    found = conclude(LESSON, FIVE, outcome)
    assert found.holds is True
    assert found.rows[0].remark == "Too slow."


def two(*seconds: float) -> Outcome:
    return after(*map(measured, asked(LESSON, TWO), seconds))


def test_numpy_saves_half_of_the_work() -> None:
    found = conclude(LESSON, TWO, two(5e-3, 9e-3, 8e-3, 8e-3))
    assert found.holds is True
    assert found.answer == 0
    assert "1.8 times as long" in found.takeaway
    assert "In JAX it took 1.0 times" in found.takeaway
    # 2 n³ operations of n = 800 in 5 ms, although only half of them were done.
    assert found.rows[0].remark == "2·n³ operations would be 205 GFLOP/s"


def test_a_numpy_that_saves_nothing_refutes_the_claim() -> None:
    found = conclude(LESSON, TWO, two(9e-3, 9e-3, 8e-3, 8e-3))
    assert found.holds is False
    assert found.answer == 1
    assert "no work was saved" in found.takeaway


def test_without_jax_the_claim_about_numpy_stands() -> None:
    found = conclude(LESSON, TWO, after(*map(measured, asked(LESSON, TWO)[:2], (1, 2))))
    assert found.holds is True
    assert "In JAX" not in found.takeaway


def kinds(first: str = "ndarray") -> Outcome:
    (snippet,) = works(LESSON, MIXED)
    outcome = after()
    for index, part in enumerate(snippet.parts):  # type: ignore[union-attr]
        kind = "jax.Array" if "jnp" in part.name or "@" in part.name else "ndarray"
        outcome = shown(outcome, part.name, first if index == 0 else kind)
    return outcome


def test_functions_belong_to_their_library() -> None:
    found = conclude(LESSON, MIXED, kinds())
    assert found.holds is True
    assert found.answer == 0


def test_other_versions_may_return_something_else() -> None:
    found = conclude(LESSON, MIXED, kinds(first="jax.Array"))
    assert found.holds is False
    assert found.answer == 1
    assert "np.dot(jax_array, jax_array) returned jax.Array" in found.takeaway
