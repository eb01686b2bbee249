"""Functions that fool a stopwatch are noted by what they do; honest ones are not.

The two sides of a function are held against each other.
"""

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


EXPECTED = {
    "agrees": None,
    "lacks_a_result": "wrong-result",
    "has_another_shape": "wrong-result",
    "has_other_values": "inaccurate",
    "has_other_nans": "inaccurate",
    "draws_both": "inaccurate",
    "is_in_place": None,
}


def test_sides_that_differ_are_noted_on_both() -> None:
    names = [(name, mode) for name in EXPECTED for mode in ("eager", "numpy")]
    both = measured(
        *(own(name, "f32[8]", mode, file=FILE) for name, mode in names),  # type: ignore[arg-type]
        # One number may lose more digits than an array.
        *(own("agrees", "bf16[8]", mode, file=FILE) for mode in ("jit", "numpy")),
        budget=20.0,
    )
    names += [("agrees", "bfloat16")] * 2
    for (name, mode), found in zip(names, both, strict=True):
        said = facts(found.notes)
        flags = {"wrong-result", "inaccurate"} & {*said}
        assert flags == ({EXPECTED[name]} - {None}), (name, mode, said)
        assert said["own"]["compared"] == "values" or mode == "bfloat16"


def test_a_side_alone_is_compared_with_nothing() -> None:
    (alone,) = measured(own("agrees", "f32[8]", file=FILE))
    assert facts(alone.notes)["own"]["compared"] == "nothing"
