"""Every op is right in every dtype and mode that it claims, and describes itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest
from jax.experimental import pallas as pl

from jaxtui.core.model import DTYPES, MODES, USUAL_MODES, Case
from jaxtui.features.bench.measure import notes
from jaxtui.tasks import accuracy, inputs, ops, programs, workload
from jaxtui.tasks.ops.arguments import as_dtype
from jaxtui.tasks.ops.base import Op
from jaxtui.tasks.settings import enable_x64

PAIRS = [(op, dtype) for op in ops.OPS.values() for dtype in op.dtypes]
NAMED = pytest.mark.parametrize(
    ("op", "dtype"), PAIRS, ids=[f"{op.name}-{dtype}" for op, dtype in PAIRS]
)
EAGER = ("float32", "int8", "complex64")


def each(where: Callable[[Op], object] = lambda op: True) -> pytest.MarkDecorator:
    """Every op of which something is so."""
    return pytest.mark.parametrize(
        "op", [*filter(where, ops.OPS.values())], ids=lambda op: op.name
    )


EACH = each()


def small(op: Op) -> int:
    sizes = {"attention": 33, "conv2d": 9}
    return sizes.get(op.name, 33 if "×" in op.size_means else 3000)


def jax_forms() -> Iterator[Any]:
    """Eagerly the same primitives run, so that a dtype of each kind will do.

    What XLA refuses on a CPU does run so.
    """
    for op, dtype in PAIRS:
        refused = dtype in op.lacks.get("cpu", ())
        if not refused:
            yield pytest.param(op, dtype, "jit", id=f"{op.name}-{dtype}-jit")
        if refused or dtype in EAGER:
            yield pytest.param(op, dtype, "eager", id=f"{op.name}-{dtype}-eager")


@pytest.mark.parametrize(("op", "dtype", "mode"), jax_forms())
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
    assert result.nbytes == op.result_bytes(size, dtype)
    assert sum(array.nbytes for array in args) == op.input_bytes(size, dtype)
    found = accuracy.check(op, dtype, size, args, result, precision="highest")
    assert found.ok, found


@NAMED
def test_numpy_forms_are_right(op: Op, dtype: str) -> None:
    size = small(op)
    args = inputs.numpy_inputs(op, size, dtype, seed=1)
    result = np.asarray(op.numpy(*args))
    assert str(result.dtype) == op.result_dtype(inputs.numpy_dtype(dtype))
    assert accuracy.check(op, dtype, size, args, result).ok


@pytest.mark.parametrize("dtype", ops.get("selu").dtypes)
@pytest.mark.parametrize(
    ("size", "platform"), [(1, "gpu"), (3000, "cpu"), (200_000, "gpu")]
)
def test_the_kernel_is_right_in_every_dtype(
    dtype: str, size: int, platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (op,) = (op for op in ops.OPS.values() if op.pallas)
    compiled = pl.pallas_call
    # The blocks of a GPU, but interpreted: a CPU compiles no kernel.
    monkeypatch.setattr(
        pl, "pallas_call", lambda *a, **k: compiled(*a, **k | {"interpret": True})
    )
    args = inputs.host_inputs(op, size, dtype, seed=1)
    with enable_x64(dtype):
        result = np.asarray(jax.jit(op.bind(kernel_on=platform))(*jax.device_put(args)))
    assert str(result.dtype) == op.result_dtype(dtype)
    found = accuracy.check(op, dtype, size, args, result, precision="highest")
    assert found.ok, found


@each(lambda op: op.tensorflow)
def test_tensorflow_forms_are_right_with_numpy_in_its_place(op: Op) -> None:
    assert op.tensorflow is not None
    args = inputs.numpy_inputs(op, small(op), "float32", seed=1)
    result = np.asarray(op.tensorflow(np, *args))
    assert accuracy.check(op, "float32", small(op), args, result).ok


# Early versions of NumPy do not type a window over several axes.
windows: Callable[..., Any] = np.lib.stride_tricks.sliding_window_view

WITNESSES: dict[str, Callable[..., Any]] = {
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
    "sort": lambda x: jax.lax.sort(x),
    "cumsum": jax.jit(lambda x: jax.lax.associative_scan(jax.numpy.add, x)),
    "transpose": lambda x: np.einsum("ij->ji", x),
    "fft": lambda x: x @ np.exp(-2j * np.pi * np.outer(range(33), range(33)) / 33),
    "scan": lambda x, w: x @ np.linalg.matrix_power(w, 10),
    "conv2d": lambda x, kernel: np.einsum(
        "bhwiyx,yxio->bhwo",
        windows(np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), (3, 3), (1, 2)),
        kernel,
    ),
    "attention": lambda q, k, v: np.einsum(
        "bnts,bsnh->btnh",
        jax.nn.softmax(np.einsum("btnh,bsnh->bnts", q, k) / 8),
        v,
    ),
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


@pytest.mark.parametrize("dtype", ops.get("cholesky").dtypes)
def test_only_the_cholesky_factor_passes_for_it(dtype: str) -> None:
    op = ops.get("cholesky")
    (x,) = inputs.host_inputs(op, 200, dtype, seed=1)
    factor = np.linalg.cholesky(x)
    values, vectors = np.linalg.eigh(x)
    wrong = {
        "upper": factor.conj().T,
        "another root": (vectors * np.sqrt(values)) @ vectors.conj().T,
        "one element off": factor + 0.1 * np.eye(200, k=-3) * (np.arange(200) == 77),
        "not conjugated": factor.conj() if dtype == "complex64" else -2 * factor,
    }
    assert accuracy.check(op, dtype, 200, (x,), factor).ok
    for what, result in wrong.items():
        assert not accuracy.check(op, dtype, 200, (x,), result).ok, what


@pytest.mark.parametrize(
    "name", ["matmul", "gram", "conv2d", "attention", "fft", "scan", "cholesky"]
)
def test_sampled_rows_find_what_is_wrong_and_pass_what_is_right(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accuracy, "REFERENCE_FLOPS", 1.0)
    op = ops.get(name)
    size = 40
    args = inputs.host_inputs(op, size, "float32", seed=1)
    right = np.asarray(op.numpy(*inputs.numpy_inputs(op, size, "float32", seed=1)))
    found = accuracy.check(op, "float32", size, args, right)
    assert (found.ok, found.rows_sampled) == (True, accuracy.MATRIX_ROWS)
    wrong = np.roll(right, 1, -1)
    assert not accuracy.check(op, "float32", size, args, wrong).ok


@pytest.mark.parametrize("size", [1, 2, 17])
@EACH
def test_the_smallest_sizes_are_right_too_and_are_not_called_folded(
    op: Op, size: int
) -> None:
    one = Case(op=op.name, size=size, dtype="float32", device="cpu:0", mode="jit")
    made = workload.of_op(one, op, jax.devices()[0], workload.Pool(seed=1))
    args = made.hosts()
    compiled = jax.jit(op.bind("highest")).lower(*args).compile()
    result = np.asarray(compiled(*jax.device_put(args)))
    assert result.shape == op.result_shape(size)
    assert accuracy.check(op, "float32", size, args, result, precision="highest").ok
    made.compiled_flops = programs.counted_flops(compiled)
    assert size == 1 or not notes.is_folded(made)


def test_integers_of_a_scan_wrap_around() -> None:
    op = ops.get("scan")
    x, w = inputs.host_inputs(op, 20, "int8", seed=0)
    exact = x.astype(object)
    for _ in range(10):
        exact = exact @ w.astype(object)
    assert np.max(np.abs(exact)) > 2**31
    wrapped = (exact + 128) % 256 - 128
    np.testing.assert_array_equal(op.numpy(x, w), wrapped.astype(np.int8))
    assert op.reference is not None
    np.testing.assert_array_equal(op.reference(slice(None), x, w), wrapped.astype(int))


def test_an_eager_scan_compiles_its_body_once() -> None:
    compiled: list[str] = []

    def listen(event: str, duration_secs: float, **__: str | int) -> None:
        compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    op = ops.get("scan")
    args = jax.device_put(inputs.host_inputs(op, 21, "float32", seed=0))
    op.bind()(*args).block_until_ready()
    assert any("backend_compile" in event for event in compiled)
    compiled.clear()
    op.bind()(*args).block_until_ready()
    assert not any("backend_compile" in event for event in compiled)


def test_a_jitted_transpose_moves_the_elements() -> None:
    x = jax.numpy.arange(64 * 64.0).reshape(64, 64)
    compiled = jax.jit(ops.get("transpose").bind()).lower(x).compile()
    result = compiled(x)
    assert result.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    assert " transpose(" in (compiled.as_text() or "")
    moved = ops.get("transpose").numpy(np.asarray(x))
    assert moved.flags.c_contiguous
    assert not np.shares_memory(moved, np.asarray(x))


def test_what_xla_refuses_on_a_platform_is_what_it_says() -> None:
    op = ops.get("attention")
    args = inputs.host_inputs(op, 9, "float16", seed=0)
    assert op.lacks["cpu"] == ("float16",)
    with pytest.raises(ValueError, match="not supported by dot_general on CPU"):
        jax.jit(op.bind()).lower(*args).compile()


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "int8"])
@pytest.mark.parametrize(
    ("name", "most"), [("sum", 64 * 8), ("cumsum", 64 * 8), ("matmul", 64 * 64)]
)
def test_narrow_sums_and_products_do_not_overflow(
    name: str, most: int, dtype: str
) -> None:
    op = ops.get(name)
    args = [np.full(one.shape, 8, as_dtype(dtype)) for one in op.arguments(64)]
    # NumPy has no float8.
    for form in (op.bind(), op.numpy) if dtype == "int8" else (op.bind(),):
        result = np.asarray(form(*args))
        assert str(result.dtype) == op.result_dtype(dtype)
        assert result.max() == most


def test_at_set_replaces_a_quarter_and_leaves_the_input_alone() -> None:
    op = ops.get("at_set")
    x, index, values = inputs.host_inputs(op, 1000, "float32", seed=0)
    before = x.copy()
    result = op.numpy(x, index, values)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(result[index], values)
    assert len(index) == np.count_nonzero(result != x) == 250


@each(lambda op: op.reference and op.result_shape(small(op)))
def test_rows_of_a_reference_are_the_rows_of_the_whole(op: Op) -> None:
    assert op.reference is not None
    args = inputs.host_inputs(op, small(op), "float32", seed=3)
    rows = np.array([0, 5, 5, op.result_shape(small(op))[op.rows_axis] - 1])
    whole = np.take(op.reference(slice(None), *args), rows, op.rows_axis)
    np.testing.assert_allclose(op.reference(rows, *args), whole, rtol=1e-12, atol=1e-14)


@EACH
def test_formulas_cover_inputs_and_results(op: Op) -> None:
    size = 4096
    ideal = op.bytes(size, "float32")
    moved = op.input_bytes(size, "float32") + op.result_bytes(size, "float32")
    # One read of each input and one write of the result; a key and a scalar are few.
    assert ideal == pytest.approx(moved, rel=0.01)


# Others have none, or XLA does not see them.
@each(lambda op: op.counted_flops(small(op)) is not None)
def test_xla_counts_about_the_flops_of_the_formula(op: Op) -> None:
    flops = op.counted_flops(small(op))
    assert flops is not None
    args = inputs.host_inputs(op, small(op), "float32", seed=0)
    compiled = jax.jit(op.bind()).lower(*args).compile()
    counted: Any = compiled.cost_analysis()
    # XLA keeps exponentials in an account of their own.
    assert 0.5 < counted["flops"] / flops < 1.5


FLOPS = {
    "matmul": (1024, 4096),
    "gram": (1024, 4096),
    "scan": (10240, 40960),
    "conv2d": (37748736, 150994944),
    "attention": (131072,),
    "cholesky": (512 / 3, 2048 / 3),
    "fft": (960, 960),
    "add": (8, 16),
    "triad": (16, 64),
    "sum": (8, 16),
    "cumsum": (8, 16),
    "sigmoid": (32,),
    "selu": (48,),
    "softmax": (320,),
    "sum_logistic_grad": (64,),
}
"""Of n = 8, real and complex, which is counted in real operations."""


@EACH
def test_formulas_give_the_flops(op: Op) -> None:
    dtypes = "float32", *(("complex64",) if "complex64" in op.dtypes else ())
    found = tuple(op.flops(8, dtype) for dtype in dtypes)
    # Others count none.
    assert found == pytest.approx(FLOPS.get(op.name, (None,) * len(dtypes)))


def test_eager_really_is_op_by_op() -> None:
    x = jax.numpy.ones(8)
    for name, least in {"sigmoid": 4, "selu": 6, "triad": 2}.items():
        args = (x, x) if name == "triad" else (x,)
        jaxpr = jax.make_jaxpr(ops.get(name).bind())(*args)
        assert len(jaxpr.eqns) >= least, name


def test_bind_gives_a_fresh_function_that_sends_numpy_arguments_to_a_device() -> None:
    op = ops.get("triad")
    assert op.bind() is not op.bind()
    assert op.bind().__name__ == op.name
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
    assert ops.get("selu").bind("highest")(np.ones(1, np.float32)).shape == (1,)


def test_looser_tolerance_where_jax_may_round_the_inputs() -> None:
    accepted = ops.get("matmul").accepted_error
    default, high, highest = (
        accepted("float32", precision) for precision in ("default", "high", "highest")
    )
    assert default > high > highest
    assert accepted("float64") == accepted("float64", "highest")


@EACH
def test_info_describes_the_op(op: Op) -> None:
    info = op.info()
    assert info.name == op.name
    assert info.summary.endswith(".")
    assert set(info.dtypes) <= set(DTYPES)
    assert info.minimum <= info.default <= info.maximum
    products = ("matmul", "gram", "scan", "conv2d", "attention")
    assert info.takes_precision == (op.name in products)
    assert {*USUAL_MODES} <= {*info.modes} <= {*MODES}
    assert ("pallas" in info.modes) == (op.name == "selu")


def test_catalogue_order_and_unknown_names() -> None:
    assert [info.name for info in ops.catalogue()] == [
        *ops.OPS,
        *ops.COLLECTIVES,
    ]
    assert next(iter(ops.OPS)) == "matmul"
    for name in ("matmull", "all_reduce", "train.py:step"):
        with pytest.raises(ValueError, match=name):
            ops.get(name)
