"""Functions that fool a stopwatch are noted by what they do; honest ones are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxtui.measure import notes
from jaxtui.model import Measurement
from tests.measure.running import measured, own

pytestmark = [
    pytest.mark.usefixtures("brief"),
    # A function with a thread cannot be traced: what that raises is the thread's.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning"),
]

FILE = str(Path(__file__).with_name("traps.py"))

MODES = ("eager", "jit", "numpy")

TRAPS = {
    "recompiled": [
        "eager jits_inside",
        "eager changes_a_static_argument",
        "eager compiles_at_times",
        "eager loops_over_a_new_body",
    ],
    "retraced": ["eager traces_inside", "eager falls_back"],
    "folded": [
        "jit drops_its_work",
        "jit drops_a_loop",
        "jit computes_with_constants",
        "jit adds_to_constants",
        "jit subtracts_itself",
        "jit multiplies_by_one",
        "jit reverses_twice",
        "jit uses_the_shape",
        "jit remembers_a_copy",
    ],
    "unchanged": [
        "jit multiplies_in_numpy_first",
        "eager computes_with_constants",
        "eager uses_the_shape",
        "eager multiplies_in_numpy_first",
        "eager remembers_a_copy",
        "jit evaluates_early",
        "jit remembers",
        "jit remembers_beside",
        "eager returns_its_argument",
        "jit returns_its_argument",
        "eager computes_another",
        "jit computes_another",
    ],
    "kept": [
        "eager remembers",
        "eager remembers_beside",
        "eager uses_an_lru_cache",
        "eager keeps_four",
        "eager alternates",
        "numpy cached",
    ],
    "unfinished": [
        "eager leaves_it_to_a_pool",
        "eager leaves_sleeping_threads",
        "eager leaves_it_to_the_device",
        "eager leaves_it_to_another_device",
    ],
    "unwaited": [
        "eager returns_a_future",
        "eager returns_a_generator",
        "eager returns_an_unknown_class",
        "numpy lazy",
    ],
    "callback": [
        "jit calls_back",
        "jit calls_back_in_a_loop",
        "jit does_io",
        "jit debugs",
        "eager debugs",
        "jit prints_when_run",
    ],
    "side-effects": ["eager writes", "eager reads"],
    "idle": [
        "eager sleeps",
        "eager sleeps_beside_work",
        "eager waits_for_a_lock",
        "numpy sleeping",
    ],
    "caught": ["jit falls_back", "eager falls_back"],
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
    "numpy in_place",
    "numpy product",
]

ARGUMENTS = {"subtracts_itself": "s32[2000]", "gradient_of_a_product": "f32[8,8]"}


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
    found = {}
    # Those that leave threads behind would disturb the others.
    for alone in (False, True):
        names = [
            name
            for flag, traps in TRAPS.items()
            if (flag in ("unfinished", "unwaited")) == alone
            for name in traps
        ]
        found |= run(*names)
    return found


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


def test_a_file_may_have_variables_that_are_no_pytrees(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("KEYS = [{1: 0, 'two': 0}]\ndef f(x):\n    return x + 1\n")
    (found,) = measured(own("f", "f32[8]", file=str(file)))
    assert found.ready is not None
