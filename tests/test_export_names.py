"""What files are called if nobody says otherwise."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from jaxtui.export import named, of_cases, stamp, unused
from jaxtui.model import Case
from tests.history.making import measurement

ONE = measurement("matmul", 4096, dtype="bfloat16").case


def changed(**fields: object) -> Case:
    return msgspec.structs.replace(ONE, **fields)


@pytest.mark.parametrize(
    ("cases", "name"),
    [
        ((ONE,), "matmul-4096-bfloat16"),
        ((ONE, changed(mode="numpy", dtype="float32")), "matmul-4096-bfloat16-float32"),
        ((changed(size=16), changed(size=64), ONE), "matmul-16-4096-bfloat16"),
        (
            (ONE, changed(op="selu"), changed(op="sum"), changed(dtype="float16")),
            "3-ops-4096-bfloat16-float16",
        ),
        # A function of the user's own: no size yet, and a path that is not to be.
        ((changed(op="/a b/train.py:step", size=0, dtype=""),), "step"),
    ],
)
def test_op_size_and_dtype(cases: tuple[Case, ...], name: str) -> None:
    assert of_cases(cases) == name


def test_nothing_in_a_name_needs_quotes() -> None:
    name = named("history", "bf16 µs", "a/b:c*?", "", "tpu:0", stamp(0.0))
    assert re.fullmatch(r"[\w.+-]+", name, re.ASCII)
    assert name.startswith("history-bf16_s-a_b_c-tpu_0-19")


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    path = tmp_path / "case.py"
    assert unused(path) == path
    path.touch()
    assert unused(path).name == "case-2.py"
    (tmp_path / "case-2.py").symlink_to("nowhere")
    assert unused(path).name == "case-3.py"
