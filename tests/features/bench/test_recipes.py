"""Recipes compute what was timed, from the same arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from jaxtui.core.model import Case, Mode, Recipe
from jaxtui.core.model.own import parse_specs
from jaxtui.features.bench.measure.recipes import recipe, source_of
from jaxtui.features.bench.scripts import IMPORTS, X64
from jaxtui.tasks import inputs, ops
from jaxtui.tasks import own as files
from jaxtui.tasks.settings import enable_x64
from tests.tasks.running import case, own


def of(op: str, dtype: str, mode: Mode, **changes: Any) -> Case:
    sizes = {"attention": 12, "conv2d": 5}
    size = sizes.get(op, 12 if "×" in ops.get(op).size_means else 400)
    return case(op, changes.pop("size", size), mode, dtype, **changes)


def imports_of(found: Recipe) -> list[str]:
    return [IMPORTS[name] for name in found.modules]


def written(one: Case, seed: int = 0) -> Recipe:
    found = recipe(one, seed)
    assert found is not None
    return found


def made(one: Case, seed: int = 0) -> dict[str, Any]:
    """What the lines of a recipe define; 64 bits are undone afterwards."""
    found = written(one, seed)
    lines = [*imports_of(found), *[X64] * found.x64, found.function, *found.arguments]
    space: dict[str, Any] = {}
    wide = jax.config.jax_enable_x64
    try:
        exec("\n".join([*lines, f"f, wait = {found.call}, {found.wait}"]), space)
    finally:
        jax.config.update("jax_enable_x64", wide)
    return space


@pytest.mark.parametrize("op", ops.OPS.values(), ids=list(ops.OPS))
def test_recipes_have_the_function_and_the_arguments_that_are_timed(op: ops.Op) -> None:
    """In every dtype: each decides other branches of the printed function."""
    for dtype in op.dtypes:
        hosted = of(op.name, dtype, "numpy")
        size = hosted.size
        space = made(hosted, seed=3)
        right = op.numpy(*inputs.numpy_inputs(op, size, dtype, 3))
        found = space["f"](*space["args"])
        np.testing.assert_array_equal(found, right, err_msg=hosted.label)
        assert found.dtype == right.dtype
        args = inputs.host_inputs(op, size, dtype, seed=3)
        space = made(of(op.name, dtype, "eager"), seed=3)
        for one, other in zip(space["args"], args, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=dtype)
        with enable_x64(dtype):
            assert str(jax.make_jaxpr(space["f"])(*args)) == str(
                jax.make_jaxpr(op.bind())(*args)
            )


@pytest.mark.parametrize(
    "changes",
    [
        {"inputs": "host"},
        {"inputs": "host", "mode": "eager"},
        {"precision": "highest"},
    ],
)
def test_recipes_follow_the_case(changes: dict[str, Any]) -> None:
    one = of("matmul", "float32", **({"mode": "jit"} | changes))
    found, space = written(one), made(one)
    result = space["f"](*space["args"])
    assert result.devices() == {jax.devices()[0]}
    right = ops.get("matmul").bind(one.precision)(
        *inputs.host_inputs(ops.get("matmul"), one.size, one.dtype, 0)
    )
    np.testing.assert_allclose(result, right, rtol=1e-5, atol=1e-5)
    assert ('precision="highest"' in found.call) == (one.precision == "highest")


def test_large_inputs_repeat_in_a_recipe_too() -> None:
    found = written(of("gram", "int8", "numpy", size=2100))
    space: dict[str, Any] = {}
    exec("\n".join([*imports_of(found), *found.arguments]), space)
    (right,) = inputs.host_inputs(ops.get("gram"), 2100, "int8", seed=0)
    np.testing.assert_array_equal(space["args"][0], right)


def test_the_source_has_neither_docstring_nor_annotations() -> None:
    source = source_of(ops.get("sum_logistic_grad").jax, "gradient")
    assert source == (
        "def gradient(x):\n    def sum_logistic(x):\n"
        "        return jnp.sum(1 / (1 + lax.exp(-x)))\n"
        "    return jax.grad(sum_logistic)(x)"
    )


@pytest.mark.parametrize("typed", ["bf16[4,2] s32[3]", "f32[4] f32[4]", "c64[3]"])
def test_typed_arguments_are_drawn_alike(typed: str) -> None:
    found = written(own("f", typed, file="/nowhere.py"), seed=5)
    space: dict[str, Any] = {}
    lines = [line for line in imports_of(found) if "runpy" not in line]
    exec("\n".join([*lines, *found.arguments]), space)
    drawn = files.draw(parse_specs(typed), seed=5)
    for made, right in zip(space["args"], drawn, strict=True):
        np.testing.assert_array_equal(made, right)
        assert made.dtype == right.dtype


def test_what_a_file_has_jitted_is_called_as_it_is(write: Callable[..., str]) -> None:
    path = write(
        """
        import functools
        import jax
        import jax.numpy as jnp

        @functools.partial(jax.jit, static_argnums=1)
        def step(x, scale):
            return x * scale

        def step_args():
            return jnp.ones(8), 3
        """
    )
    space = made(own("step", file=path))
    assert space["f"] is space["own"].step
    assert float(space["f"](*space["args"])[0]) == 3
    space = made(own("step", mode="eager", file=path))
    assert space["f"] is space["own"].step.__wrapped__
