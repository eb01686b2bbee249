"""Both sides of a function of a file are held against each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxtui.core.model import Measurement
from tests.tasks.running import facts, measured, own

pytestmark = pytest.mark.usefixtures("brief")

FILE = str(Path(__file__).with_name("traps.py"))

EXPECTED = {
    "agrees": None,
    "lacks_a_result": "wrong-result",
    "has_another_shape": "wrong-result",
    "has_other_values": "inaccurate",
    "has_other_nans": "inaccurate",
    "draws_both": "inaccurate",
    "is_in_place": None,
}


@pytest.fixture(scope="module")
def both(brief: None) -> dict[tuple[str, str], Measurement]:
    names = [(name, mode) for name in EXPECTED for mode in ("eager", "numpy")]
    cases = [own(name, "f32[8]", mode, file=FILE) for name, mode in names]  # type: ignore[arg-type]
    return dict(zip(names, measured(*cases, budget=20.0), strict=True))


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("mode", ["eager", "numpy"])
def test_sides_that_differ_are_noted_on_both(
    both: dict[tuple[str, str], Measurement], name: str, mode: str
) -> None:
    said = facts(both[name, mode].notes)
    flags = {"wrong-result", "inaccurate"} & {*said}
    assert flags == ({EXPECTED[name]} - {None}), said
    assert said["own"]["compared"] == "values"


def test_a_side_alone_is_compared_with_nothing() -> None:
    (alone,) = measured(own("agrees", "f32[8]", file=FILE))
    assert facts(alone.notes)["own"]["compared"] == "nothing"


def test_one_number_may_lose_more_digits_than_an_array() -> None:
    (jit, numpy) = measured(
        own("agrees", "bf16[8]", file=FILE),
        own("agrees", "bf16[8]", "numpy", file=FILE),
    )
    assert not {"wrong-result", "inaccurate"} & {*facts(jit.notes), *facts(numpy.notes)}
