"""Functions that fool a stopwatch are noted by what they do; honest ones are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxtui.core.model import Measurement
from jaxtui.features.bench.measure import notes
from tests.tasks.running import measured, own

pytestmark = pytest.mark.usefixtures("brief")

FILE = str(Path(__file__).with_name("traps.py"))

MODES = ("eager", "jit", "numpy")

TRAPS = {
    "recompiled": [
        "eager jits_inside",
        "eager changes_a_static_argument",
        "eager compiles_at_times",
        "eager loops_over_a_new_body",
    ],
    "folded": [
        "jit drops_its_work",
        "jit drops_a_loop",
        "jit computes_with_constants",
        "jit adds_to_constants",
        "jit uses_the_shape",
    ],
    "kept": [
        "eager remembers",
        "eager uses_an_lru_cache",
        "eager returns_its_argument",
        "eager computes_another",
    ],
}
"""Under each flag, mode and name of what must have it."""

HONEST = [
    "eager adds",
    "jit adds",
    "eager computes",
    "jit computes",
    "eager has_a_cached_property",
    "jit has_a_cached_property",
    "eager keeps_its_state",
    "eager counts",
    "eager chains_donations",
    "jit chains_donations",
    "eager sets",
    "jit sets",
    "eager loops",
    "jit loops",
    "eager draws",
    "jit draws",
    "jit learns",
    "eager gradient_of_a_product",
    "jit gradient_of_a_product",
    "jit sums_up",
    "jit sorts",
    "eager scalar",
    "jit scalar",
    "eager asks_for_a_value",
    "eager looks_up",
    "eager passes_on",
    "jit passes_on",
    "eager uses_a_thread",
    "eager uses_a_pool",
    "numpy product",
]

ARGUMENTS = {"gradient_of_a_product": "f32[8,8]"}


def run(*named: str) -> dict[str, Measurement]:
    """What is eager first: nothing that the others have traced is kept by then."""
    ordered = sorted(dict.fromkeys(named), key=lambda name: name.startswith("jit"))
    cases = []
    for one in ordered:
        mode, name = one.split()
        assert mode in MODES
        typed = ARGUMENTS.get(name, "f32[8]")
        cases.append(own(name, typed, mode, file=FILE))  # type: ignore[arg-type]
    return dict(zip(ordered, measured(*cases, budget=60.0), strict=True))


@pytest.fixture(scope="module")
def trapped(brief: None) -> dict[str, Measurement]:
    return run(*(name for traps in TRAPS.values() for name in traps))


@pytest.fixture(scope="module")
def honest(brief: None) -> dict[str, Measurement]:
    return run(*HONEST)


@pytest.mark.parametrize(
    ("flag", "name"), [(flag, name) for flag, names in TRAPS.items() for name in names]
)
def test_what_fools_a_stopwatch_is_noted(
    trapped: dict[str, Measurement], flag: str, name: str
) -> None:
    found = trapped[name]
    assert found.has(flag), found.notes
    if flag in notes.UNRATED:
        assert found.flops_per_second is found.bytes_per_second is None


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_function_has_no_such_note(
    honest: dict[str, Measurement], name: str
) -> None:
    flags = {note.code for note in honest[name].notes}
    assert not flags & {*TRAPS}, honest[name].notes
