from __future__ import annotations

from dataclasses import replace

import pytest

from jaxtui.lessons import words
from jaxtui.lessons.clock import LESSON
from jaxtui.lessons.outcome import NOTHING
from jaxtui.model import WorkFailed
from tests.lessons.figures import BOTH, CPU, TPU, after, asked, failed, here


def test_figures_carry_their_unit() -> None:
    assert words.duration(4.92e-3) == "4.92 ms"
    assert words.ratio(9.0, 0.5) == "18×"
    assert words.times(9.0, 0.5) == "18 times"
    assert words.rate(2e9, 1e-3) == "2.00 TFLOP/s"
    assert words.bandwidth(100e6, 155e-6) == "645 GB/s"


@pytest.mark.parametrize(
    ("above", "below"), [(None, 1.0), (1.0, None), (1.0, 0.0), (float("inf"), 1.0)]
)
def test_what_is_missing_is_a_dash(above: float | None, below: float | None) -> None:
    assert words.quotient(above, below) is None
    assert words.ratio(above, below) == "—"
    assert words.rate(above, below) == "—"


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (("the call",), "The call was not measured on this machine (device cpu:0)"),
        (("a", "b"), "A and b were not measured"),
        (("a", "b", "c"), "A, b and c were not measured"),
    ],
)
def test_missing_figures_make_a_sentence(names: tuple[str, ...], sentence: str) -> None:
    said = words.missing(here(LESSON), *names)
    assert said.startswith(sentence)
    assert said.endswith("so there is nothing to conclude.")


def test_the_reason_follows_once() -> None:
    jax, numpy = asked(LESSON, 1)
    outcome = after(failed(jax, "Too slow."), failed(numpy, "Too slow."))
    found = words.inconclusive(here(LESSON), outcome, (), "the call")
    assert found.holds is None
    assert found.takeaway.endswith("nothing to conclude. Too slow.")
    assert words.trouble(outcome, mode="numpy") == "Too slow."
    assert words.trouble(outcome, mode="eager") == ""
    broken = replace(NOTHING, problem=WorkFailed(error="It broke.", hint=""))
    assert words.reasons(broken) == ["It broke."]


def test_devices_by_what_they_are() -> None:
    laptop, both = here(LESSON, devices=CPU), here(LESSON, devices=BOTH)
    assert (words.processor(laptop), words.accelerator(laptop)) == ("cpu:0", None)
    assert (words.processor(both), words.accelerator(both)) == ("cpu:0", "tpu:0")
    alone = here(LESSON, devices=TPU)
    assert (words.processor(alone), words.accelerator(alone)) == (None, "tpu:0")
