from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from jaxtui.lessons.digits import LESSON
from jaxtui.lessons.digits.formats import FORMATS
from jaxtui.lessons.outcome import NOTHING, Outcome, collect
from jaxtui.measure.snippets import run_snippet
from jaxtui.model import Event, Snippet, SnippetShown, Value
from tests.lessons.figures import (
    after,
    asked,
    conclude,
    failed,
    measured,
    shown,
    works,
    yours,
)

ERRORS = {"float64": 1e-15, "float32": 5e-7, "float16": 3e-4, "bfloat16": 2e-3}
TIMES = {"float64": 2e-3, "float32": 1e-3, "float16": 3e-3, "bfloat16": 0.4e-3}


def product(dtype: str, error: float, seconds: float) -> Event:
    (case,) = (case for case in asked(LESSON, 0) if case.dtype == dtype)
    event = measured(case, seconds)
    figure = replace(event.measurement, error_vs_float64=error, bytes=2.0**20)
    return replace(event, measurement=figure)


def products(
    errors: Mapping[str, float], times: Mapping[str, float] = TIMES
) -> Outcome:
    return after(*(product(dtype, errors[dtype], times[dtype]) for dtype in errors))


def ran(step: int) -> Outcome:
    """What the snippets of a step really show here."""
    outcome = NOTHING
    for work in works(LESSON, step):
        assert isinstance(work, Snippet)
        for event in run_snippet(work):
            outcome = collect(outcome, event)
    return outcome


def test_errors_that_grow_confirm_it() -> None:
    found = conclude(LESSON, 0, products(ERRORS))
    assert found.holds is True
    assert FORMATS[found.answer or 0] == "bfloat16"
    assert "Faster than it: bfloat16 2.5×" in found.takeaway
    assert "Slower: float64 2.0× and float16 3.0×" in found.takeaway
    assert "no arithmetic for the format" in found.takeaway


def test_times_about_the_same_are_no_gain() -> None:
    found = conclude(LESSON, 0, products(ERRORS, dict.fromkeys(ERRORS, 1e-3)))
    assert "save memory here, and no time" in found.takeaway


def test_an_error_that_does_not_grow_refutes_it() -> None:
    found = conclude(LESSON, 0, products({**ERRORS, "float32": 4e-4}))
    assert found.holds is False
    assert "computes" not in found.takeaway
    assert "in another format" in found.takeaway


def test_a_format_that_did_not_run_leaves_it_open() -> None:
    rest = {name: error for name, error in ERRORS.items() if name != "float64"}
    outcome = products(rest)
    (wide,) = (case for case in asked(LESSON, 0) if case.dtype == "float64")
    found = conclude(LESSON, 0, collect(outcome, failed(wide, "No float64 here.")))
    assert found.holds is None
    assert found.rows[0].remark == "No float64 here."
    assert yours(found)["float64"] == "—"


def test_range_and_digits_of_this_jax() -> None:
    found = conclude(LESSON, 1, ran(1))
    assert found.holds is True
    assert yours(found)["jnp.float16(70_000)"] == "inf"
    assert "70144" in found.takeaway


def test_the_silent_truncation_of_this_jax() -> None:
    found = conclude(LESSON, 2, ran(2))
    assert found.holds is True
    assert found.answer == 0
    assert yours(found)["jnp.asarray with x64"] == "float64"
    assert "16777216" in found.takeaway


def test_a_warning_refutes_that_it_is_silent() -> None:
    outcome = shown(ran(2), "other", "")
    value = Value(name="taken over", text="float32", warnings=("UserWarning: …",))
    found = conclude(LESSON, 2, collect(outcome, SnippetShown(value=value)))
    assert found.holds is False
    assert found.answer == 1


def test_mixed_dtypes_of_this_jax() -> None:
    found = conclude(LESSON, 3, ran(3))
    assert found.holds is True
    assert yours(found)["float16 + bfloat16"] == "float32"
    assert yours(found)["lax.add of the same two"].startswith("TypeError")
    assert found.rows[5].remark == "NumPy says float64"


@pytest.mark.parametrize("name", ["weak", "halves"])
def test_other_rules_of_promotion_refute_it(name: str) -> None:
    found = conclude(LESSON, 3, shown(ran(3), name, "float16"))
    assert found.holds is False
    assert "float16" in found.takeaway
