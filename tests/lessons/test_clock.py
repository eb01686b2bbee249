from __future__ import annotations

import pytest

from jaxtui.lessons.clock import LESSON
from jaxtui.lessons.outcome import Outcome
from tests.lessons.figures import (
    TPU,
    after,
    asked,
    conclude,
    failed,
    here,
    measured,
    timed,
    works,
    yours,
)


def readings(plain: float, copied: float = 5e-3, blocked: float = 5e-3) -> Outcome:
    return timed(
        {"plain call": plain, "np.asarray": copied, "block_until_ready": blocked}
    )


def test_a_plain_call_that_reads_far_too_little_confirms_the_claim() -> None:
    found = conclude(LESSON, 0, readings(100e-6))
    assert found.holds is True
    assert found.answer == 2
    assert "100 µs" in found.takeaway
    assert "50 times" in found.takeaway
    assert yours(found)["jnp.dot(x, x)"] == "100 µs"
    assert [row.published for row in found.rows] == ["269 µs", "8.09 ms", "4.92 ms"]


@pytest.mark.parametrize(("plain", "answer"), [(2e-3, 1), (4.9e-3, 0)])
def test_one_that_reads_nearly_the_truth_refutes_it(plain: float, answer: int) -> None:
    found = conclude(LESSON, 0, readings(plain))
    assert found.holds is False
    assert found.answer == answer
    assert "larger size" in found.takeaway


def test_what_asarray_does_depends_on_the_device() -> None:
    assert "copies nothing" in conclude(LESSON, 0, readings(1e-4)).takeaway
    setting = here(LESSON, devices=TPU)
    on_tpu = conclude(LESSON, 0, readings(1e-4, copied=20e-3), setting)
    assert "4.0 times" in on_tpu.takeaway
    assert "copies the result to the host" in on_tpu.takeaway


def test_a_reading_that_is_missing_concludes_nothing() -> None:
    found = conclude(LESSON, 0, timed({"plain call": 1e-4}))
    assert found.holds is None
    assert yours(found)["jnp.dot(x, x)"] == "100 µs"
    assert yours(found)["np.asarray(jnp.dot(x, x))"] == "—"


def test_the_snippet_has_the_size_that_was_asked_for() -> None:
    (snippet,) = works(LESSON, 0, here(LESSON, 128))
    assert "(128, 128)" in snippet.setup  # type: ignore[union-attr]


def test_the_claimed_speed_is_the_flops_over_the_dispatch() -> None:
    jax, numpy = asked(LESSON, 1)
    outcome = after(measured(jax, 5e-3, dispatch=100e-6), measured(numpy, 10e-3))
    found = conclude(LESSON, 1, outcome)
    assert found.holds is True
    assert found.answer == 2
    assert list(yours(found).values()) == [
        "20.0 TFLOP/s",
        "400 GFLOP/s",
        "200 GFLOP/s",
        "—",
    ]


def test_a_claim_near_the_real_speed_is_not_confirmed() -> None:
    jax, numpy = asked(LESSON, 1)
    outcome = after(measured(jax, 5e-3, dispatch=2e-3), measured(numpy, 10e-3))
    found = conclude(LESSON, 1, outcome)
    assert found.holds is False
    assert found.answer == 1


def test_without_numpy_its_row_says_why() -> None:
    jax, numpy = asked(LESSON, 1)
    outcome = after(measured(jax, 5e-3, dispatch=1e-4), failed(numpy, "Too slow."))
    found = conclude(LESSON, 1, outcome)
    assert found.holds is True
    assert found.rows[2].yours == "—"
    assert found.rows[2].remark == "Too slow."
