"""What XLA made of a function of the user's own, and what may go wrong on the way."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import msgspec
import pytest

from jaxtui.measure import inspection, programs
from jaxtui.measure.inspection import run_inspection
from jaxtui.model import Case, Inspected, Inspection, RunFinished, WorkFailed

STEP = """
    import jax
    import jax.numpy as jnp

    def loss(params, x):
        return jnp.mean(jax.nn.relu(x @ params["w"]) ** 2)

    def step(params, x):
        value, grads = jax.value_and_grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

    def make_args(size=8):
        return {"w": jnp.ones((size, size))}, jnp.ones((4, size))
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Case]:
    def write(text: str, name: str = "f") -> Case:
        path = tmp_path / "mine.py"
        path.write_text(textwrap.dedent(text))
        op = f"{path}:{name}"
        return Case(op=op, size=0, dtype="", device="cpu:0", mode="jit")

    return write


def look(case: Case, **changed: object) -> Inspected:
    case = msgspec.structs.replace(case, **changed)
    *_, result, last = run_inspection(Inspection(case=case))
    assert isinstance(last, RunFinished)
    assert isinstance(result, Inspected), result
    return result


def failed(case: Case, **changed: object) -> WorkFailed:
    case = msgspec.structs.replace(case, **changed)
    *_, result, last = run_inspection(Inspection(case=case))
    assert isinstance(last, RunFinished)
    assert isinstance(result, WorkFailed), result
    return result


def test_a_training_step_with_a_factory(write: Callable[..., Case]) -> None:
    found = look(write(STEP, "step"), size=16)
    assert (found.case.size, found.case.dtype) == (16, "float32")
    assert found.flops is found.bytes is None

    def loss(params: dict[str, jax.Array], x: jax.Array) -> jax.Array:
        return jnp.mean(jax.nn.relu(x @ params["w"]) ** 2)

    def step(params: dict[str, jax.Array], x: jax.Array) -> object:
        value, grads = jax.value_and_grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

    args = {"w": jnp.ones((16, 16))}, jnp.ones((4, 16))
    compiled = jax.jit(step).lower(*args).compile()
    assert programs.instructions(compiled.as_text() or "") == found.program.instructions
    assert "f32[16,16]" in found.jaxpr
    assert "tensor<16x16xf32>" in found.stablehlo
    assert found.eager_kernels is not None
    assert found.eager_kernels >= (found.program.kernels or 0)
    assert look(write(STEP, "step")).case.size == 8


def test_typed_arguments_are_shapes_and_cost_no_memory(
    write: Callable[..., Case],
) -> None:
    case = write("def f(x, y):\n    return x * 2 + y\n")
    # Two terabytes.
    found = look(case, params={"args": "f32[524288,1048576] bf16[]"})
    assert found.case.dtype == "float32"
    assert found.program.kernels == 1
    wide = look(case, params={"args": "f64[8] s64[8]"})
    assert "f64[8]" in wide.jaxpr
    assert wide.case.dtype == "float64"


def test_op_by_op(write: Callable[..., Case]) -> None:
    case = write("def f(x):\n    return (x * 2 + 1).sum()\n")
    found = look(case, mode="eager", params={"args": "f32[64]"})
    assert [step.name for step in found.steps] == ["mul", "add", "reduce_sum"]


def test_of_many_steps_only_the_program_is_shown(
    write: Callable[..., Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = write("def f(x):\n    return (x * 2 + 1).sum()\n")
    monkeypatch.setattr(inspection, "STEPS_AT_MOST", 2)
    found = look(case, params={"args": "f32[64]"})
    assert found.steps == ()
    assert found.program.kernels is not None


def test_keys_and_numbers_are_arguments_too(write: Callable[..., Case]) -> None:
    case = write(
        """
        import jax

        def f(key, x, rate):
            return x + rate * jax.random.normal(key, x.shape)

        def f_args():
            return jax.random.key(0), jax.numpy.ones(8), 0.5
        """
    )
    assert look(case).case.dtype == "float32"


@pytest.mark.parametrize(
    ("text", "error", "detail"),
    [
        ("import nowhere", "while its file was imported (mine.py:1)", "nowhere"),
        ("import sys\nsys.exit(3)", "called sys.exit(3) (mine.py:2)", "mine.py"),
        ("def f(x:\n", "SyntaxError", "mine.py"),
        ("def g(x): ...", "has no f.", ""),
        ("def f(x): return x", "nothing says what to give it", ""),
        ("def f(x): ...\ndef f_args(): 1/0", "arguments were made (mine.py:2)", "1/0"),
        (
            "def f(x):\n    return x @ x\ndef f_args():\n"
            "    return (__import__('numpy').ones((2, 3)),)",
            "while JAX traced it (mine.py:2)",
            "x @ x",
        ),
    ],
)
def test_mistakes_are_told_with_the_users_own_lines(
    write: Callable[..., Case], text: str, error: str, detail: str
) -> None:
    found = failed(write(text))
    assert error in found.error
    assert detail in found.detail
    assert "site-packages" not in found.detail
    assert "jaxtui/measure" not in found.detail


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"op": "/nowhere/mine.py:f"}, "There is no file"),
        ({"mode": "pallas"}, "has no mode pallas"),
        ({"precision": "highest"}, "takes no precision"),
        ({"device": "cpu:77"}, "cpu:77"),
        ({"size": 8, "params": {"args": "f32[8]"}}, "its arguments were typed"),
    ],
)
def test_what_is_refused_before_anything_runs(
    write: Callable[..., Case], changed: dict[str, object], words: str
) -> None:
    case = write("raise SystemExit('it was run')\ndef f(x): ...\n")
    assert words in failed(case, **changed).error
