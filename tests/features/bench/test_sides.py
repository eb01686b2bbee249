"""Both sides of a function of a file are held against each other."""

from __future__ import annotations

from pathlib import Path

import pytest

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


def test_sides_that_differ_are_noted_on_both() -> None:
    names = [(name, mode) for name in EXPECTED for mode in ("eager", "numpy")]
    both = measured(
        *(own(name, "f32[8]", mode, file=FILE) for name, mode in names),  # type: ignore[arg-type]
        # One number may lose more digits than an array.
        *(own("agrees", "bf16[8]", mode, file=FILE) for mode in ("jit", "numpy")),  # type: ignore[arg-type]
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
