from __future__ import annotations

import pytest

from jaxtui.lessons import values
from jaxtui.lessons.outcome import NOTHING, Outcome, collect
from jaxtui.lessons.updates import LESSON
from jaxtui.model import SnippetShown, Value
from tests.lessons.figures import BOTH, CPU, here, shown, timed


def broken(error: str, detail: str = "") -> Outcome:
    value = Value(name="a", text="", error=error, detail=detail)
    return collect(NOTHING, SnippetShown(value=value))


def test_a_value_stands_in_one_short_line() -> None:
    outcome = shown(NOTHING, "a", "[1. 2.\n  3.]")
    assert values.shown(outcome, "a") == "[1. 2. 3.]"
    assert values.shown(outcome, "a", 5) == "[1.…"
    assert values.shown(outcome, "b") == "—"
    assert values.shown(broken("TypeError: no"), "a") == "TypeError: no"


def test_an_error_is_known_by_its_type_and_its_whole_text() -> None:
    outcome = broken("ValueError: first line", "first line\nsecond line")
    assert values.raised(outcome, "a", "ValueError", "second")
    assert not values.raised(outcome, "a", "TypeError")
    assert not values.raised(outcome, "a", "ValueError", "third")
    assert not values.raised(shown(NOTHING, "a", "1"), "a", "ValueError")
    assert values.failure(outcome, "a") == "ValueError: first line"
    assert not values.gave(outcome, "a")
    assert values.gave(shown(NOTHING, "a", "1"), "a")


@pytest.mark.parametrize(
    ("found", "near"), [((1.0, 2.01), True), ((1.0, 2.2), False), ((1.0,), False)]
)
def test_numbers_are_near_within_a_tolerance(
    found: tuple[float, ...], near: bool
) -> None:
    assert values.near(found, (1.0, 2.0), 0.1) is near


def test_numbers_as_text() -> None:
    assert values.decimals((0.25, 0.196612, 1.0)) == "0.25, 0.19661, 1"
    assert values.decimals(()) == "—"
    assert values.whole(1234567.0) == "1,234,567"
    assert values.whole(None) == "—"


def test_what_has_neither_a_value_nor_a_time_is_absent() -> None:
    outcome = shown(timed({"b": 1.0}), "a", "1")
    assert values.absent(outcome, "a", "b", "c") == ["c"]


def test_the_default_device_needs_no_mention() -> None:
    assert values.chosen(here(LESSON, devices=CPU)) is None
    setting = here(LESSON, devices=BOTH)
    assert values.chosen(setting) is None
    assert values.chosen(setting, "cpu:0") == "cpu:0"
