"""The Python API: the measuring core in this process."""

from __future__ import annotations

import pytest

import jaxtui
from jaxtui.model import HOST
from jaxtui.selection import SelectionError


def test_bench_measures_in_this_process() -> None:
    results = jaxtui.bench(
        "matmul", size=[32, 64], mode=["jit", "numpy"], budget=2.0, samples=True
    )
    assert results.failures == ()
    assert [(one.case.size, one.case.mode) for one in results.measurements] == [
        (32, "jit"),
        (32, "numpy"),
        (64, "jit"),
        (64, "numpy"),
    ]
    assert results.measurements[1].case.device == HOST
    assert all(one.ready and one.ready.median > 0 for one in results.measurements)
    assert results.host is not None
    assert results.host.jax


def test_sizes_may_be_numbers_or_text() -> None:
    with pytest.raises(SelectionError, match='"0" is no size'):
        jaxtui.bench("matmul", size=0)
    with pytest.raises(SelectionError, match='"x" is no size'):
        jaxtui.bench("matmul", size="x")


def test_an_unknown_op_is_a_selection_error() -> None:
    with pytest.raises(SelectionError, match="Did you mean matmul"):
        jaxtui.bench("matmull")


def test_devices_and_ops() -> None:
    assert jaxtui.devices()[0].name
    assert "matmul" in {op.name for op in jaxtui.ops()}
