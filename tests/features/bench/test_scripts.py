"""Recipes compute what was timed; scripts of them run without jaxtui."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from itertools import cycle, product
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from jaxtui.core.model import (
    LOOP_STYLES,
    Case,
    Experiment,
    Loop,
    LoopStyle,
    Mode,
    PlannedCase,
    Recipe,
)
from jaxtui.core.model.own import parse_specs
from jaxtui.features.bench import scripts
from jaxtui.features.bench.measure import planning
from jaxtui.features.bench.measure.recipes import MODES, recipe, source_of
from jaxtui.features.bench.scripts import IMPORTS, X64
from jaxtui.tasks import inputs, ops
from jaxtui.tasks import own as files
from jaxtui.tasks.settings import enable_x64
from jaxtui.timing import clocks
from jaxtui.ui import words
from jaxtui.ui.export import ExportError
from tests.golden.test_documents import DOCUMENTS, check_frozen
from tests.processes import python
from tests.records import planned
from tests.tasks import running
from tests.tasks.running import own

LINES = 30
LONGER = {("attention", "numpy"): 34, ("conv2d", "numpy"): 36}
"""In float32."""


def case(**changes: Any) -> Case:
    facts: dict[str, Any] = {"op": "matmul", "size": 32}
    return running.case(**(facts | changes))


def numpy(**changes: Any) -> Case:
    return case(mode="numpy", **changes)


def plan(*cases: Case) -> tuple[PlannedCase, ...]:
    return planning.plan(Experiment(cases=cases), recipes=True).cases


def of(*cases: Case) -> str:
    return scripts.case_script(plan(*cases))


def run(text: str, folder: Path) -> str:
    """What a script prints where jaxtui is not, in a hundredth of its time."""
    text = text.replace("wait, 2)", "wait, 0.01)").replace("perf_counter() + 1", "0")
    path = folder / "script.py"
    path.write_text(text, encoding="utf-8")
    done = python("-s", path, cwd=folder, PYTHONPATH="")
    assert done.returncode == 0, done.stderr
    return done.stdout


# Cases.


def test_the_loop_of_every_script_is_the_one_that_ran() -> None:
    assert inspect.getsource(clocks.time_calls) in of(case())


@pytest.mark.parametrize("op", ops.OPS.values(), ids=list(ops.OPS))
def test_one_case_fits_on_a_slide(op: ops.Op) -> None:
    for mode in {*op.forms} & {*MODES}:
        one = case(op=op.name, size=op.default, mode=mode)
        text = scripts.case_script([planned(one, recipe=recipe(one))])
        compile(text, f"{op.name} {mode}", "exec")
        imported = set(re.findall(r"^(?:import|from) (\w+)", text, re.M))
        assert imported <= {"jax", "numpy", "time"}
        assert len(text.splitlines()) <= LONGER.get((op.name, mode), LINES), text
        assert text.startswith(f"# {one.label}\n")


def test_scripts_run_by_themselves(tmp_path: Path) -> None:
    """All in one process: each defines anew what it needs."""
    (tmp_path / "wide.py").write_text("def f(x, y):\n    return y\n")
    # The dtype of a case is that of its first argument.
    typed = {"size": 0, "params": {"args": "f32[3] f64[3]"}}
    cases = [
        case(),
        numpy(),
        case(mode="eager", inputs="host"),
        case(dtype="int8", size=16),
        case(op=f"{tmp_path}/wide.py:f", **typed),
        case(dtype="float64"),
    ]
    looks = "\nresult = f(*args)\nprint(type(args[0]).__module__, result.dtype)\n"
    lines = run("".join(of(one) + looks for one in cases), tmp_path).splitlines()
    dtypes = ("float32", "float32", "float32", "int32", "float64", "float64")
    for one, dtype, *said in zip(cases, dtypes, lines[::2], lines[1::2], strict=True):
        figures, looked = said
        found = re.fullmatch(r"(?:dispatch (\S+) s, )?ready (\S+) s", figures)
        assert found is not None, figures
        assert bool(found[1]) != one.on_host
        assert 0 < float(found[1] or found[2]) <= float(found[2])
        hosted = one.on_host or one.inputs == "host"
        assert looked.split() == [looked.split()[0], dtype]
        assert (looked.split()[0] == "numpy") == hosted


@pytest.mark.parametrize(
    "cases",
    [
        (case(), numpy()),
        (case(device="cpu:1"),),
        (case(device="cpu:0-1"),),
        (case(op="selu", mode="pallas"),),
        (case(op="selu", dtype="int8"),),
        (),
    ],
    ids=str,
)
def test_what_fits_no_template_has_no_script(cases: tuple[Case, ...]) -> None:
    made = plan(*cases)
    with pytest.raises(ExportError) as refused:
        scripts.case_script(made)
    problems = [words.why(one.problem) for one in made if one.problem]
    assert str(refused.value).partition("device.")[2].strip() == "".join(problems[:1])


def test_recipes_are_made_for_those_who_ask() -> None:
    (one,) = planning.plan(Experiment(cases=(case(),))).cases
    assert one.recipe is None
    (one,) = planning.plan(Experiment(cases=(case(),), seed=5), recipes=True).cases
    assert "default_rng(5)" in str(one.recipe)


# Functions of files.

OWN = """\
import dataclasses

import jax.numpy as jnp

from beside import ONE


@dataclasses.dataclass
class Unused:
    x: "int"


def step(state):
    return {"x": state["x"] * 2 + ONE, "n": state["n"]}


def step_numpy(state):
    return state["x"] * 2 + ONE


def step_args(size=4, seed=0):
    return ({"x": jnp.full((size,), float(seed)), "n": 1},)
"""


NAMES = ("it's", 'a "b"""\\', "two\nlines", "numpy", "a.b c")


@pytest.mark.parametrize(("name", "mode"), [*zip(NAMES, cycle(MODES))])
def test_files_may_be_called_anything(name: str, mode: str, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "beside.py").write_text("ONE = 1\n")
    path = tmp_path / "own" / f"{name}.py"
    path.write_text(OWN)
    hosted = {"inputs": "host"} if mode == "eager" else {}
    made = plan(case(op=f"{path}:step", dtype="", mode=mode, **hosted))
    loop = Loop(case=made[0].case, chained=True)
    compile(scripts.loop_script(loop, made), "", "exec")
    looks = """
(state,) = args
state["x"] += 3
found = f(state)
print(int((found["x"] if isinstance(found, dict) else found)[0]))
"""
    found = run(scripts.case_script(made) + looks, tmp_path)
    assert found.splitlines()[-1] == "7"


@pytest.mark.parametrize(
    "text",
    [
        "import functools, jax\n"
        "@functools.partial(jax.jit, donate_argnums=0)\n"
        "def step(x):\n    return x\n"
        "def step_args():\n    return (jax.numpy.ones(8),)\n",
        "def step(*, x):\n    return x\n"
        "def step_args():\n    return {'x': __import__('numpy').ones(8)}\n",
    ],
    ids=["donates", "by name"],
)
def test_what_would_need_a_trick_has_no_script(text: str, tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(text)
    (made,) = plan(case(op=f"{path}:step", dtype=""))
    assert (made.problem, made.recipe) == (None, None)


# Loops.


def test_every_loop_is_python_and_waits_where_it_says() -> None:
    made, texts = plan(case()), []
    for style, chained in product(LOOP_STYLES, (False, True)):
        loop = Loop(case=case(), calls=5, style=style, chained=chained)
        text = scripts.loop_script(loop, made)
        compile(text, "loop", "exec")
        assert len(text.splitlines()) <= LINES + 3
        assert max(map(len, text.splitlines())) <= 88
        texts += [f"# {style}, chained: {chained}", text]
    check_frozen(DOCUMENTS / "loops.txt", "\n".join(texts))


def test_loops_run_by_themselves(tmp_path: Path) -> None:
    """All in one process, as the scripts of cases."""
    (tmp_path / "beside.py").write_text("ONE = 1\n")
    (tmp_path / "own.py").write_text(OWN)
    own = plan(case(op=f"{tmp_path}/own.py:step", dtype=""))
    wide = plan(case(mode="eager", inputs="host", dtype="float64"))
    texts = []
    loops: tuple[tuple[Any, LoopStyle, bool], ...] = (
        (own, "each", True),
        (own, "end", False),
        (wide, "never", True),
        (wide, "each", False),
    )
    for made, style, chained in loops:
        loop = Loop(case=made[0].case, calls=5, style=style, chained=chained)
        texts.append(scripts.loop_script(loop, made))
    found = re.findall(
        r"stopwatch (\S+) s, true (\S+) s\n", run("".join(texts), tmp_path)
    )
    assert len(found) == 4
    assert all(0 < float(stopwatch) <= float(true) for stopwatch, true in found)


def sized(op: str, dtype: str, mode: Mode, **changes: Any) -> Case:
    sizes = {"attention": 12, "conv2d": 5}
    size = sizes.get(op, 12 if "×" in ops.get(op).size_means else 400)
    return running.case(op, changes.pop("size", size), mode, dtype, **changes)


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
    wide = jax.config.values["jax_enable_x64"]
    try:
        exec("\n".join([*lines, f"f, wait = {found.call}, {found.wait}"]), space)
    finally:
        jax.config.update("jax_enable_x64", wide)
    return space


@pytest.mark.parametrize("op", ops.OPS.values(), ids=list(ops.OPS))
def test_recipes_have_the_function_and_the_arguments_that_are_timed(op: ops.Op) -> None:
    """In every dtype: each decides other branches of the printed function."""
    for dtype in op.dtypes:
        hosted = sized(op.name, dtype, "numpy")
        size = hosted.size
        space = made(hosted, seed=3)
        right = op.numpy(*inputs.numpy_inputs(op, size, dtype, 3))
        found = space["f"](*space["args"])
        np.testing.assert_array_equal(found, right, err_msg=hosted.label)
        assert found.dtype == right.dtype
        args = inputs.host_inputs(op, size, dtype, seed=3)
        space = made(sized(op.name, dtype, "eager"), seed=3)
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
    one = sized("matmul", "float32", **({"mode": "jit"} | changes))
    found, space = written(one), made(one)
    result = space["f"](*space["args"])
    assert result.devices() == {jax.devices()[0]}
    right = ops.get("matmul").bind(one.precision)(
        *inputs.host_inputs(ops.get("matmul"), one.size, one.dtype, 0)
    )
    np.testing.assert_allclose(result, right, rtol=1e-5, atol=1e-5)
    assert ('precision="highest"' in found.call) == (one.precision == "highest")


def test_large_inputs_repeat_in_a_recipe_too() -> None:
    found = written(sized("gram", "int8", "numpy", size=2100))
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
