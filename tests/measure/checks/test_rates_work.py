"""Compiled calls and the inputs that devices make for themselves."""

from __future__ import annotations

import threading

import jax
import numpy as np
import pytest

from jaxtui.measure.checks import work
from jaxtui.model import DTYPES, Case


def case(op: str = "matmul", size: int = 64, dtype: str = "float32") -> Case:
    return Case(op=op, size=size, dtype=dtype, device="cpu:1", mode="jit")


def device(index: int = 1) -> jax.Device:
    return jax.devices()[index]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("into", [False, True])
def test_calls_are_right_in_every_dtype_outside_of_any_scope(
    dtype: str, into: bool
) -> None:
    one = case(dtype=dtype)
    call = work.compiled(one, device(), into=into)
    a, b = work.arguments(one, device(), seed=1)
    assert str(a.dtype) == dtype
    last = (work.result_like(one, device()),) if into else ()
    result = call(a, b, *last)
    assert result.devices() == {device()}
    wide = np.complex128 if dtype == "complex64" else np.float64
    expected = np.asarray(a).astype(wide) @ np.asarray(b).astype(wide)
    exact = 0 if dtype.startswith("int") else 2e-2
    np.testing.assert_allclose(
        np.asarray(result).astype(wide), expected, rtol=exact, atol=10 * exact
    )
    widened = {"int8": "int32", "float8_e4m3fn": "float32"}
    assert str(result.dtype) == widened.get(dtype, dtype)


@pytest.mark.parametrize("op", ["copy", "triad", "matmul"])
def test_into_writes_the_result_where_the_last_one_was(op: str) -> None:
    one = case(op, size=512)
    call = work.compiled(one, device(), into=True)
    args = work.arguments(one, device())
    last = work.result_like(one, device())
    place = last.unsafe_buffer_pointer()
    result = call(*args, last)
    assert last.is_deleted()
    assert result.unsafe_buffer_pointer() == place
    for arg in args:
        assert arg.unsafe_buffer_pointer() != place
    np.testing.assert_array_equal(
        np.asarray(result), np.asarray(work.compiled(one, device())(*args))
    )


def test_calls_are_compiled_once_for_each_device() -> None:
    one = case(size=96)
    first = work.compiled(one, device())
    assert work.compiled(one, device()) is first
    assert work.compiled(one, device(2)) is not first
    assert work.compiled(one, device(), into=True) is not first


def test_every_thread_may_compile_and_call() -> None:
    one = case(size=80, dtype="float64")
    found: dict[int, str] = {}

    def visit(index: int) -> None:
        args = work.arguments(one, device(index))
        result = work.compiled(one, device(index))(*args).block_until_ready()
        found[index] = str(result.dtype)

    threads = [threading.Thread(target=visit, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(4), "float64")


def test_the_precision_is_the_one_of_the_case() -> None:
    precise = case(size=48)
    before = jax.config.jax_default_matmul_precision
    jax.config.update("jax_default_matmul_precision", "highest")
    try:
        with work.scope(precise, device()):
            inside = jax.config.jax_default_matmul_precision
            text = jax.jit(lambda x: x @ x).lower(np.ones((4, 4), "f4")).as_text()
    finally:
        jax.config.update("jax_default_matmul_precision", before)
    assert inside == "default"
    assert "HIGHEST" not in text


def test_arguments_are_the_same_on_every_device_and_differ_by_seed() -> None:
    one = case(size=100)
    here, there = work.arguments(one, device(0)), work.arguments(one, device(3))
    for left, right in zip(here, there, strict=True):
        assert right.devices() == {device(3)}
        np.testing.assert_array_equal(np.asarray(left), np.asarray(right))
    assert not np.array_equal(np.asarray(here[0]), np.asarray(here[1]))
    other = work.arguments(one, device(0), seed=1)
    assert not np.array_equal(np.asarray(here[0]), np.asarray(other[0]))
    huge = work.arguments(one, device(0), seed=2**40 + 1)
    assert np.isfinite(np.asarray(huge[0])).all()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_floats_are_spread_evenly(dtype: str) -> None:
    x = np.asarray(work.arguments(case("copy", 1 << 16, dtype), device())[0])
    x = x.astype(np.float64)
    assert x.min() >= -1
    assert x.max() <= 1
    assert abs(x.mean()) < 0.02
    assert x.std() == pytest.approx(3**-0.5, rel=0.02)
    # Neighbours know nothing of each other.
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 0.02


def test_integers_cannot_overflow() -> None:
    x = np.asarray(work.arguments(case("copy", 1 << 12, "int8"), device())[0])
    assert set(np.unique(x)) == set(range(-8, 8))


@pytest.mark.parametrize("op", ["gather", "normal"])
def test_keys_and_indices_are_refused(op: str) -> None:
    with pytest.raises(TypeError, match=f"{op} takes more than numbers"):
        work.arguments(case(op), device())
