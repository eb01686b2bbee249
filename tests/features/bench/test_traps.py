"""Functions that fool a stopwatch are noted by what they do; honest ones are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxtui.core.model import Measurement
from jaxtui.features.bench.measure import notes
from tests.tasks.running import facts, measured, own

pytestmark = pytest.mark.usefixtures("brief")

FILE = str(Path(__file__).with_name("traps.py"))

TRAPS = {
    "recompiled eager": "jits_inside changes_a_static_argument compiles_at_times"
    " loops_over_a_new_body",
    "folded jit": "drops_its_work drops_a_loop computes_with_constants"
    " adds_to_constants uses_the_shape",
    "kept eager": "remembers uses_an_lru_cache returns_its_argument computes_another",
}
"""By flag and mode, the functions that must have it."""

FLAGS = {words.split()[0] for words in TRAPS}

HONEST = {
    "eager": "adds computes has_a_cached_property keeps_its_state counts"
    " chains_donations sets loops draws gradient_of_a_product scalar asks_for_a_value"
    " looks_up passes_on uses_a_thread uses_a_pool",
    "jit": "adds computes has_a_cached_property chains_donations sets loops draws"
    " learns gradient_of_a_product sums_up sorts scalar passes_on",
    "numpy": "product",
}

ARGUMENTS = {"gradient_of_a_product": "f32[8,8]"}


def run(functions: dict[str, str]) -> list[tuple[str, str, Measurement]]:
    """Flags and modes, names and measurements of functions.

    What is eager first: nothing that the others have traced is kept by then.
    """
    named = [(words, name) for words in functions for name in functions[words].split()]
    named.sort(key=lambda one: one[0].endswith("jit"))
    cases = [
        own(name, ARGUMENTS.get(name, "f32[8]"), words.split()[-1], file=FILE)  # type: ignore[arg-type]
        for words, name in named
    ]
    found = measured(*cases, budget=60.0)
    return [(*one, of) for one, of in zip(named, found, strict=True)]


def test_what_fools_a_stopwatch_is_noted() -> None:
    found = run(TRAPS)
    missed = [(w, name, of.notes) for w, name, of in found if not of.has(w.split()[0])]
    assert missed == []
    for words, name, of in found:
        if words.split()[0] in notes.UNRATED:
            assert of.flops_per_second is of.bytes_per_second is None, name


def test_an_honest_function_has_no_such_note() -> None:
    noted = [
        (words, name, {*facts(of.notes)} & FLAGS) for words, name, of in run(HONEST)
    ]
    assert [one for one in noted if one[2]] == []
