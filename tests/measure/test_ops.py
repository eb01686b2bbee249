"""Every op is right in every dtype and mode that it claims, and describes itself."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest

from jaxtui.measure import accuracy, inputs, ops
from jaxtui.measure.ops.base import Op
from jaxtui.measure.x64 import enable_x64
from jaxtui.model import DTYPES, MODES, USUAL_MODES

PAIRS = [(op, dtype) for op in ops.OPS.values() for dtype in op.dtypes]
NAMED = pytest.mark.parametrize(
    ("op", "dtype"), PAIRS, ids=[f"{op.name}-{dtype}" for op, dtype in PAIRS]
)
EACH = pytest.mark.parametrize("op", ops.OPS.values(), ids=list(ops.OPS))


def small(op: Op) -> int:
    return 33 if "×" in op.size_means else 3000


@NAMED
@pytest.mark.parametrize("mode", ["jit", "eager"])
def test_jax_forms_are_right_and_keep_their_dtype(
    op: Op, dtype: str, mode: str
) -> None:
    size = small(op)
    args = inputs.host_inputs(op, size, dtype, seed=1)
    with enable_x64(dtype):
        function = op.bind("highest")
        call = jax.jit(function) if mode == "jit" else function
        result = np.asarray(call(*jax.device_put(args)))
    assert str(result.dtype) == op.result_dtype(dtype)
    assert result.shape == op.result_shape(size)
    found = accuracy.check(op, dtype, size, args, result, precision="highest")
    assert found.ok, found


@NAMED
def test_numpy_forms_are_right(op: Op, dtype: str) -> None:
    size = small(op)
    args = inputs.numpy_inputs(op, size, dtype, seed=1)
    result = np.asarray(op.numpy(*args))
    assert str(result.dtype) == op.result_dtype(inputs.numpy_dtype(dtype))
    assert accuracy.check(op, dtype, size, args, result).ok


KERNELS = [(op, dtype) for op, dtype in PAIRS if op.pallas is not None]


@pytest.mark.parametrize(
    ("op", "dtype"), KERNELS, ids=[f"{op.name}-{dtype}" for op, dtype in KERNELS]
)
@pytest.mark.parametrize("size", [1, 7, 1024, 3000, 200_000])
@pytest.mark.parametrize("platform", ["cpu", "gpu"])
def test_kernels_are_right_at_any_size(
    op: Op, dtype: str, size: int, platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jax.experimental import pallas as pl

    compiled = pl.pallas_call
    # The blocks of a GPU, but interpreted: a CPU compiles no kernel.
    monkeypatch.setattr(
        pl, "pallas_call", lambda *a, **k: compiled(*a, **k | {"interpret": True})
    )
    args = inputs.host_inputs(op, size, dtype, seed=1)
    with enable_x64(dtype):
        result = np.asarray(jax.jit(op.bind_kernel(platform))(*jax.device_put(args)))
    assert str(result.dtype) == op.result_dtype(dtype)
    found = accuracy.check(op, dtype, size, args, result, precision="highest")
    assert found.ok, found


def test_an_op_without_a_kernel_says_so() -> None:
    with pytest.raises(ValueError, match="matmul has no Pallas kernel"):
        ops.get("matmul").bind_kernel("cpu")


@EACH
def test_tensorflow_forms_are_right_with_numpy_in_its_place(op: Op) -> None:
    if op.tensorflow is None:
        pytest.skip("it has none")
    args = inputs.numpy_inputs(op, small(op), "float32", seed=1)
    result = np.asarray(op.tensorflow(np, *args))
    assert accuracy.check(op, "float32", small(op), args, result).ok


def test_modes_say_which_forms_an_op_has() -> None:
    assert ops.get("selu").info().modes == MODES
    assert ops.get("gram").info().modes == USUAL_MODES
    assert all(set(USUAL_MODES) <= set(op.modes) for op in ops.OPS.values())


WITNESSES = {
    "matmul": lambda a, b: np.einsum("ij,jk->ik", a, b),
    "gram": lambda x: np.einsum("ij,kj->ik", x, x),
    "copy": lambda x: np.array(x),
    "triad": lambda a, b: a + b + b + b,
    "sum": lambda x: math.fsum(x),
    "sigmoid": jax.nn.sigmoid,
    "selu": jax.nn.selu,
    "softmax": jax.nn.softmax,
    "sum_logistic_grad": jax.vmap(jax.grad(jax.nn.sigmoid)),
    "gather": lambda x, index: np.take(x, index),
}
"""What others say these functions are."""


@pytest.mark.parametrize("name", WITNESSES)
def test_references_agree_with_an_independent_definition(name: str) -> None:
    op = ops.get(name)
    assert op.reference is not None
    args = inputs.host_inputs(op, small(op), "float64", seed=2)
    with enable_x64("float64"):
        expected = np.asarray(WITNESSES[name](*args))
    reference = op.reference(slice(None), *args)
    np.testing.assert_allclose(reference, expected, rtol=1e-9, atol=1e-12)


def test_at_set_replaces_a_quarter_and_leaves_the_input_alone() -> None:
    op = ops.get("at_set")
    x, index, values = inputs.host_inputs(op, 1000, "float32", seed=0)
    before = x.copy()
    result = op.numpy(x, index, values)
    assert len(np.unique(index)) == len(index) == 250
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(result[index], values)
    assert np.count_nonzero(result != x) == 250


@EACH
def test_rows_of_a_reference_are_the_rows_of_the_whole(op: Op) -> None:
    if op.reference is None or not op.result_shape(small(op)):
        pytest.skip("it has no rows")
    args = inputs.host_inputs(op, small(op), "float32", seed=3)
    rows = np.array([0, 5, 5, 32])
    whole = op.reference(slice(None), *args)
    np.testing.assert_allclose(op.reference(rows, *args), whole[rows], rtol=1e-12)


@NAMED
def test_declared_results_are_what_jax_makes(op: Op, dtype: str) -> None:
    size = small(op)
    args = inputs.host_inputs(op, size, dtype, seed=0)
    with enable_x64(dtype):
        traced = jax.eval_shape(op.bind(), *args)
    assert traced.shape == op.result_shape(size)
    assert str(traced.dtype) == op.result_dtype(dtype)
    made = sum(array.nbytes for array in args)
    assert made == op.input_bytes(size, dtype)
    assert traced.size * traced.dtype.itemsize == op.result_bytes(size, dtype)


@EACH
def test_formulas_cover_inputs_and_results(op: Op) -> None:
    size = 4096
    ideal = op.bytes(size, "float32")
    moved = op.input_bytes(size, "float32") + op.result_bytes(size, "float32")
    # One read of each input and one write of the result; a key and a scalar are few.
    assert ideal == pytest.approx(moved, rel=0.01)


@EACH
def test_xla_counts_about_the_flops_of_the_formula(op: Op) -> None:
    flops = op.flops(small(op), "float32")
    if flops is None:
        pytest.skip("it has no flops")
    args = inputs.host_inputs(op, small(op), "float32", seed=0)
    compiled = jax.jit(op.bind()).lower(*args).compile()
    counted = compiled.cost_analysis()
    # XLA keeps exponentials in an account of their own.
    assert 0.5 < counted["flops"] / flops < 1.5


def test_complex_work_is_counted_in_real_operations() -> None:
    assert ops.get("matmul").flops(10, "complex64") == 8000
    assert ops.get("matmul").flops(10, "float32") == 2000
    assert ops.get("add").flops(10, "complex64") == 20


@EACH
def test_bind_gives_a_fresh_function_that_compiles_again(op: Op) -> None:
    first, second = op.bind(), op.bind()
    assert first is not second
    assert first.__name__ == op.name
    traces = []

    def spy(*args: jax.Array) -> jax.Array:
        traces.append(1)
        return second(*args)

    args = inputs.host_inputs(op, small(op), "float32", seed=0)
    jax.jit(spy).trace(*args)
    jax.jit(spy).trace(*args)
    assert len(traces) == 1, "one function object is traced once"


def test_eager_really_is_op_by_op() -> None:
    x = jax.numpy.ones(8)
    for name, least in {"sigmoid": 4, "selu": 6, "triad": 2}.items():
        args = (x, x) if name == "triad" else (x,)
        jaxpr = jax.make_jaxpr(ops.get(name).bind())(*args)
        assert len(jaxpr.eqns) >= least, name


def test_bind_sends_numpy_arguments_to_a_device() -> None:
    op = ops.get("triad")
    a, b = inputs.host_inputs(op, 100, "float32", seed=0)
    device = jax.devices()[2]
    result = op.bind(send_to=device)(a, b)
    assert isinstance(result, jax.Array)
    assert result.devices() == {device}


def test_precision_reaches_the_product_and_nothing_else() -> None:
    x = np.ones((4, 4), np.float32)
    text = str(jax.make_jaxpr(ops.get("gram").bind("highest"))(x))
    assert "HIGHEST" in text
    assert "HIGHEST" not in str(jax.make_jaxpr(ops.get("gram").bind())(x))
    assert ops.get("selu").bind("highest")(np.float32([1.0])).shape == (1,)


def test_int8_products_do_not_overflow() -> None:
    op = ops.get("matmul")
    full = np.full((64, 64), 8, np.int8)
    assert int(op.bind()(full, full)[0, 0]) == 64 * 64
    assert int(op.numpy(full, full)[0, 0]) == 64 * 64


def test_looser_tolerance_where_jax_may_round_the_inputs() -> None:
    op = ops.get("matmul")
    by_precision = [
        op.accepted_error("float32", precision)
        for precision in ("default", "high", "highest")
    ]
    assert by_precision == sorted(by_precision, reverse=True)
    assert by_precision[0] > by_precision[1] > by_precision[2]
    assert op.accepted_error("float64") == op.accepted_error("float64", "highest")


@EACH
def test_info_describes_the_op(op: Op) -> None:
    info = op.info()
    assert info.name == op.name
    assert info.summary.endswith(".")
    assert set(info.dtypes) <= set(DTYPES)
    assert info.minimum <= info.default <= info.maximum
    assert info.takes_precision == (op.name in ("matmul", "gram"))


def test_catalogue_order_and_unknown_names() -> None:
    assert [info.name for info in ops.catalogue()] == list(ops.OPS)
    assert next(iter(ops.OPS)) == "matmul"
    with pytest.raises(ValueError, match="did you mean matmul"):
        ops.get("matmull")
    with pytest.raises(ValueError, match=r"none of these: matmul, gram"):
        ops.get("zzz")
