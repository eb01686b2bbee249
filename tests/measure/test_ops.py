"""Every op is right in every dtype and mode that it claims, and describes itself."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from jaxtui.measure import inputs, notes, ops, programs, workload
from jaxtui.measure.ops.base import Op
from jaxtui.model import DTYPES, Case

PAIRS = [(op, dtype) for op in ops.OPS.values() for dtype in op.dtypes]
NAMED = pytest.mark.parametrize(
    ("op", "dtype"), PAIRS, ids=[f"{op.name}-{dtype}" for op, dtype in PAIRS]
)
EACH = pytest.mark.parametrize("op", ops.OPS.values(), ids=list(ops.OPS))


def small(op: Op) -> int:
    sizes = {"attention": 33, "conv2d": 9}
    return sizes.get(op.name, 33 if "×" in op.size_means else 3000)


@NAMED
@pytest.mark.parametrize("mode", ["jit", "eager"])
def test_jax_forms_are_right_and_keep_their_dtype(
    op: Op, dtype: str, mode: str
) -> None:
    size = small(op)
    device = jax.devices()[0]
    one = Case(op=op.name, size=size, dtype="float32", device="cpu:0", mode="jit")
    made = workload.of_op(one, op, device, workload.Pool(seed=0))
    compiled = jax.jit(op.bind()).lower(*made.hosts()).compile()
    made.compiled_flops = programs.counted_flops(compiled)
    assert not notes.is_folded(made)


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
    products = ("matmul", "gram", "scan", "conv2d", "attention")
    assert info.takes_precision == (op.name in products)


def test_catalogue_order_and_unknown_names() -> None:
    assert [info.name for info in ops.catalogue()] == list(ops.OPS)
    assert next(iter(ops.OPS)) == "matmul"
    with pytest.raises(ValueError, match="did you mean matmul"):
        ops.get("matmull")
    with pytest.raises(ValueError, match=r"none of these: matmul, gram"):
        ops.get("zzz")
