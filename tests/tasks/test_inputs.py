from __future__ import annotations

from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtui.core.model import DTYPES
from jaxtui.tasks import inputs, ops
from jaxtui.tasks.ops.arguments import PERIOD
from tests.tasks.buffers import aligned_copy

MATMUL = ops.get("matmul")


def aligned(array: np.ndarray[Any, Any]) -> bool:
    """Whether ``jax.device_put`` on a CPU may take over the buffer without a copy."""
    return array.nbytes > 0 and array.ctypes.data % inputs.ALIGNMENT == 0


@given(
    name=st.sampled_from(list(ops.OPS)),
    size=st.integers(1, 200),
    seed=st.integers(0, 2**40),
    data=st.data(),
)
@settings(max_examples=60)
def test_inputs_are_seeded_and_never_aligned(
    name: str, size: int, seed: int, data: st.DataObject
) -> None:
    op = ops.get(name)
    dtype = data.draw(st.sampled_from(op.dtypes))
    first = inputs.host_inputs(op, size, dtype, seed)
    again = inputs.host_inputs(op, size, dtype, seed)
    for one, other in zip(first, again, strict=True):
        assert not aligned(one)
        assert one.flags.c_contiguous
        assert one.flags.aligned
        assert one.flags.writeable
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_inputs_have_the_dtype_and_are_random(dtype: str) -> None:
    a, b = inputs.host_inputs(MATMUL, 64, dtype, seed=0)
    assert str(a.dtype) == dtype
    assert a.tobytes() != b.tobytes()
    assert len(np.unique(a.astype(np.complex128))) > 10
    assert inputs.host_inputs(MATMUL, 64, dtype, seed=1)[0].tobytes() != a.tobytes()
    spread = np.std(a.astype(np.complex128))
    assert 0.8 < spread < (6 if dtype.startswith("int") else 1.6)


def test_narrow_data_are_the_float32_data_rounded() -> None:
    exact = inputs.host_inputs(MATMUL, 64, "float32", seed=0)[0]
    half = inputs.host_inputs(MATMUL, 64, "bfloat16", seed=0)[0]
    np.testing.assert_array_equal(half, exact.astype(ml_dtypes.bfloat16))
    # NumPy gets the same values in a dtype that it has, where its own large arrays lie.
    theirs = inputs.numpy_inputs(MATMUL, 64, "bfloat16", seed=0)[0]
    assert theirs.dtype == np.float32
    assert theirs.ctypes.data % inputs.ALIGNMENT == inputs.OFFSET
    np.testing.assert_array_equal(theirs, half.astype(np.float32))
    assert inputs.numpy_dtype("float16") == "float16"
    # What is scaled is so before it is narrowed.
    scan = ops.get("scan")
    (_, w), (_, wide), (_, integers) = (
        inputs.host_inputs(scan, 64, dtype, seed=0)
        for dtype in ("float8_e4m3fn", "float32", "int8")
    )
    np.testing.assert_array_equal(w, wide.astype(ml_dtypes.float8_e4m3fn))
    assert np.std(wide) == pytest.approx(1 / 8, rel=0.1)
    assert integers.max() == 8


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_large_data_repeat_without_equal_rows_unless_they_are_sorted(
    dtype: str,
) -> None:
    (x,) = inputs.host_inputs(ops.get("gram"), 2100, dtype, seed=0)
    flat = x.reshape(-1)
    assert flat.size > PERIOD
    np.testing.assert_array_equal(flat[PERIOD:], flat[: flat.size - PERIOD])
    assert not np.array_equal(x[0], x[PERIOD // 2100])
    (x,) = inputs.host_inputs(ops.get("sort"), 2 * PERIOD, dtype, seed=0)
    assert not np.array_equal(x[:PERIOD], x[PERIOD:])


def test_device_put_copies_what_is_not_aligned() -> None:
    a, _ = inputs.host_inputs(MATMUL, 64, "float32", seed=0)
    aligned_one = aligned_copy(a)
    copy = inputs.misaligned_copy(aligned_one)
    np.testing.assert_array_equal(copy, aligned_one)
    assert not np.shares_memory(copy, aligned_one)
    for one, copied in ((a, True), (copy, True), (aligned_one, False)):
        sent = jax.device_put(one, jax.devices()[0])
        assert aligned(one) != copied
        assert (sent.unsafe_buffer_pointer() != one.ctypes.data) == copied


def test_indices_and_keys_keep_their_own_dtypes() -> None:
    x, index = inputs.host_inputs(ops.get("gather"), 100, "float64", seed=0)
    assert (str(x.dtype), str(index.dtype)) == ("float64", "int32")
    assert 0 <= index.min() <= index.max() < 100
    key, like = inputs.host_inputs(ops.get("normal"), 100, "float16", seed=2**32 + 5)
    assert key.dtype == np.uint32
    assert key.tolist() == [1, 5]
    assert (like.shape, str(like.dtype), like.nbytes) == ((100, 0), "float16", 0)
    generator, _ = inputs.numpy_inputs(ops.get("normal"), 100, "float16", seed=0)
    assert isinstance(generator, np.random.Generator)


@given(st.integers(1, 3000))
def test_unique_indices_differ_and_stay_inside(size: int) -> None:
    _, index, values = inputs.host_inputs(ops.get("at_set"), size, "int8", seed=0)
    assert len(index) == len(values) == max(1, size // 4)
    assert len(np.unique(index)) == len(index)
    assert 0 <= index.min() <= index.max() < size


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize("size", [1, 2, 70, 300])
def test_a_positive_definite_matrix_is_hermitian_and_well_conditioned(
    size: int, dtype: str
) -> None:
    (x,) = inputs.host_inputs(ops.get("cholesky"), size, dtype, seed=0)
    np.testing.assert_array_equal(x, x.conj().T)
    values = np.linalg.eigvalsh(x)
    assert 0 < np.max(values) < 10 * np.min(values)
