from __future__ import annotations

import jax
import pytest

from jaxtui.lessons.old_code import LESSON, MISCALLED, MOVED
from jaxtui.lessons.outcome import NOTHING, Outcome, collect
from jaxtui.model import SnippetShown, Value
from tests.lessons.figures import conclude, yours
from tests.lessons.real import concluded, shown_values


def with_value(outcome: Outcome, value: Value) -> Outcome:
    return collect(outcome, SnippetShown(value=value))


@pytest.mark.parametrize("step", [0, 1])
def test_the_old_forms_fail_or_warn_and_the_new_ones_work(step: int) -> None:
    found = concluded("old-code", step)
    forms = (MOVED, MISCALLED)[step]
    assert found.holds is True
    assert found.answer == 2
    assert f"{len(forms)} of {len(forms)} old forms" in found.takeaway
    assert jax.__version__ in found.takeaway


def test_what_still_works_is_called_so() -> None:
    outcome = shown_values("old-code", 0)
    name = MOVED[0].name
    outcome = with_value(outcome, Value(name=f"{name}, old", text="cpu"))
    found = conclude(LESSON, 0, outcome)
    assert found.holds is False
    assert found.answer == 1
    assert yours(found)[name] == "still works here"
    assert f"Still working here: {name}" in found.takeaway


def test_a_warning_counts_as_a_complaint() -> None:
    name = MOVED[0].name
    value = Value(name=f"{name}, old", text="cpu", warnings=("It is deprecated.",))
    found = conclude(LESSON, 0, with_value(shown_values("old-code", 0), value))
    assert found.holds is True
    assert yours(found)[name] == "warns: It is deprecated."


def test_a_new_form_that_fails_refutes_the_claim() -> None:
    name = MISCALLED[0].name
    value = Value(name=f"{name}, new", text="", error="AttributeError: fromdense")
    found = conclude(LESSON, 1, with_value(shown_values("old-code", 1), value))
    assert found.holds is False
    assert f"Today's form fails here for {name}" in found.takeaway


def test_both_keys_draw_the_same_and_only_one_refuses_arithmetic() -> None:
    found = concluded("old-code", 2)
    assert found.holds is True
    assert found.answer == 0
    assert yours(found)["  key(0) + 1"].startswith("TypeError")


def test_nothing_is_claimed_from_nothing() -> None:
    for step in range(3):
        assert conclude(LESSON, step, NOTHING).holds is None
