"""What XLA made of a case, against the compiled program itself."""

from __future__ import annotations

import logging
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import pytest

from jaxtui.measure import inspection, programs
from jaxtui.measure.inspection import run_inspection
from jaxtui.measure.ops import elementwise
from jaxtui.model import (
    Case,
    Inspected,
    Inspection,
    InspectionStarted,
    Progress,
    RunEvent,
    RunFinished,
    WorkFailed,
)

SELU = Case(op="selu", size=4096, dtype="float32", device="cpu:0", mode="jit")

LOOP = """\
HloModule jit_f

%compare.2 (a: f32[], b: f32[]) -> pred[] {
  ROOT %fusion.9 = pred[] fusion(%a, %b), kind=kLoop, calls=%inner
}

%inner (a: f32[], b: f32[]) -> pred[] {
  ROOT %lt.1 = pred[] compare(%a, %b), direction=LT
}

%added (p: f32[8]) -> f32[8] {
  %c = f32[] constant(1)
  %many = f32[8]{0} broadcast(%c), dimensions={}
  ROOT %add.1 = f32[8]{0} add(%p, %many)
}

%parallel (p: f32[8]) -> f32[8] {
  ROOT %fusion.1 = f32[8]{0} fusion(%p), kind=kLoop, calls=%added
}

%body (s: (s32[], f32[8])) -> (s32[], f32[8]) {
  %x = f32[8]{0} get-tuple-element(%s), index=1
  %fusion.2 = f32[8]{0} fusion(%x), kind=kInput, calls=%added
  ROOT %t = (s32[], f32[8]{0}) tuple(%i, %fusion.2)
}

%cond (s: (s32[], f32[8])) -> pred[] {
  ROOT %lt = pred[] compare(%i, %n), direction=LT
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %call = f32[8]{0} call(%x), to_apply=%parallel
  %sort.1 = f32[8]{0} sort(%call), dimensions={0}, to_apply=%compare.2
  %loop = (s32[], f32[8]{0}) while(%start), condition=%cond, body=%body
  ROOT %out = f32[8]{0} get-tuple-element(%loop), index=1
}
"""


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


def ended(case: Case, **changed: object) -> RunEvent:
    inspection = Inspection(case=msgspec.structs.replace(case, **changed))
    *_, result, last = run_inspection(inspection)
    assert isinstance(last, RunFinished)
    return result


def look(case: Case = SELU, **changed: object) -> Inspected:
    result = ended(case, **changed)
    assert isinstance(result, Inspected), result
    return result


def refused(case: Case = SELU, **changed: object) -> WorkFailed:
    result = ended(case, **changed)
    assert isinstance(result, WorkFailed), result
    return result


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Case]:
    def write(text: str, name: str = "f") -> Case:
        path = tmp_path / "mine.py"
        path.write_text(textwrap.dedent(text))
        op = f"{path}:{name}"
        return Case(op=op, size=0, dtype="", device="cpu:0", mode="jit")

    return write


def test_what_a_call_wraps_counts_and_a_loop_counts_once() -> None:
    assert programs.instructions(LOOP) == {"fusion": 1, "sort": 1, "while": 1}


def test_fusions_are_those_that_run_as_kernels() -> None:
    found = {one.name: (one.kind, one.operations) for one in programs.fusions(LOOP)}
    inside = {"broadcast": 1, "add": 1}
    assert found == {"fusion.1": ("kLoop", inside), "fusion.2": ("kInput", inside)}


def test_selu_is_one_kernel_under_jit_and_six_without() -> None:
    one, apart = look(), look(mode="eager")
    assert one.program.kernels == 1
    assert one.program.instructions == {"fusion": 1}
    (fusion,) = one.program.fusions
    done = {"compare", "exponential", "multiply", "select"}
    assert done <= fusion.operations.keys()
    assert one.eager_kernels == apart.eager_kernels == apart.program.kernels == 6
    names = [step.name for step in apart.steps]
    assert names == ["gt", "exp", "mul", "sub", "select_n", "mul"]


def test_the_count_under_jit_is_that_of_the_compiled_hlo() -> None:
    x = jnp.ones(4096, jnp.float32)
    text = jax.jit(lambda x: elementwise.selu_jax(x)).lower(x).compile().as_text() or ""
    # Whichever way this jax writes it, there is a single fusion in the whole program.
    assert len(re.findall(r" fusion\(", text)) == 1
    assert programs.instructions(text) == look().program.instructions


def test_the_steps_are_the_programs_that_eager_jax_compiles(
    caplog: pytest.LogCaptureFixture,
) -> None:
    x = jnp.ones(4096, jnp.float32).block_until_ready()
    jax.clear_caches()
    with caplog.at_level(logging.WARNING), jax.log_compiles():
        elementwise.selu_jax(x).block_until_ready()
    compiled = [
        record.getMessage()
        for record in caplog.records
        if record.getMessage().startswith("Finished XLA compilation")
    ]
    # The two multiplications by a scalar are one program, run twice.
    steps = look(mode="eager").steps
    assert len(compiled) == len({step.name for step in steps}) == 5
    assert len(steps) == 6


def test_fusing_saves_the_traffic_between_the_steps() -> None:
    one, apart = look(), look(mode="eager")
    assert one.program.xla_bytes == one.bytes == 2 * 4 * 4096
    assert apart.program.xla_bytes is not None
    assert apart.program.xla_bytes > 5 * one.bytes


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_xla_counts_the_flops_of_a_product(dtype: str) -> None:
    one = look(op="matmul", size=64, dtype=dtype)
    assert one.flops == 2 * 64**3
    assert one.program.xla_flops == pytest.approx(one.flops, rel=0.05)
    short = {"float64": "f64", "float32": "f32", "bfloat16": "bf16"}[dtype]
    assert f"{short}[64,64]" in one.jaxpr
    assert f"tensor<64x64x{short}>" in one.stablehlo
    assert f"{short}[64,64]" in one.hlo
    size = {"float64": 8, "float32": 4, "bfloat16": 2}[dtype]
    assert one.program.memory is not None
    assert one.program.memory.arguments_bytes == 2 * size * 64**2


def test_eager_texts_come_step_by_step() -> None:
    apart = look(mode="eager")
    assert apart.hlo.count("ENTRY ") == apart.stablehlo.count("module @") == 6
    assert "// step 3 of 6: mul" in apart.hlo
    assert apart.program.memory is None


def test_a_size_that_no_memory_holds_and_a_kernel_have_a_program() -> None:
    size = 1 << 34
    assert look(op="add", size=size).program.xla_flops == pytest.approx(size)
    one = look(mode="pallas", size=1024)
    assert one.program.kernels
    assert one.steps == ()
    assert "pallas_call" in one.jaxpr


def test_the_first_event_says_what_and_progress_says_where() -> None:
    events = list(run_inspection(Inspection(case=SELU)))
    assert events[0] == InspectionStarted(inspection=Inspection(case=SELU))
    doing = [event.doing for event in events if isinstance(event, Progress)]
    label = "selu 4096 float32 jit on cpu:0"
    phases = [text for text in doing if text.startswith(("trace", "lower", "compile"))]
    assert phases == [f"{phase}: {label}" for phase in ("trace", "lower", "compile")]
    assert doing[-1] == f"step 6 of 6: {label}"


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"op": "nosuch"}, "nosuch"),
        ({"mode": "numpy", "device": "host"}, "does not go through XLA"),
        ({"dtype": "int8"}, "selu does not run in int8"),
        ({"device": "cpu:99"}, "cpu:99"),
        ({"size": 0}, "selu has no size 0"),
        ({"op": "/nowhere/mine.py:f"}, "There is no file /nowhere/mine.py"),
    ],
)
def test_what_cannot_be_is_refused(changed: dict[str, object], sentence: str) -> None:
    failed = refused(**changed)
    assert sentence in failed.error
    assert failed.hint


def test_a_failure_of_xla_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("INTERNAL: the compiler stumbled")

    monkeypatch.setattr("jaxtui.measure.workload.compiled_form", lambda *_: fail)
    failed = refused()
    assert "while JAX traced it" in failed.error
    assert "the compiler stumbled" in failed.detail


def test_a_step_that_fails_alone_costs_only_the_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("not alone")

    monkeypatch.setattr("jaxtui.measure.inspection.compile_step", fail)
    one = look()
    assert one.program.kernels == 1
    assert one.steps == ()
    assert one.eager_kernels is None
    assert "not alone" in refused(mode="eager").detail


def test_it_can_be_stopped_between_stages() -> None:
    seen: list[object] = []
    run = run_inspection(
        Inspection(case=SELU),
        stop=lambda: any("lower" in str(event) for event in seen),
    )
    for event in run:
        seen += [event]
    assert not any(isinstance(event, Inspected | WorkFailed) for event in seen)
    last = seen[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome == "cancelled"


@pytest.mark.parametrize("wrap", [lambda costs: costs, lambda costs: [costs]])
def test_costs_are_read_as_a_dict_and_as_a_list_of_one(wrap: Any) -> None:
    class Stage:
        def cost_analysis(self) -> Any:
            return wrap({"flops": 6.0, "transcendentals": 2.0, "bytes accessed": 24.0})

        def as_text(self) -> str:
            return ""

    assert programs.counted_flops(Stage()) == 8.0
    found = programs.count(Stage(), loop="while")
    assert (found.flops, found.bytes) == (8.0, 24.0)


# Functions of files.


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


def test_the_settings_of_a_file_hold_for_its_programs(
    write: Callable[..., Case],
) -> None:
    case = write(
        """
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_default_matmul_precision", "highest")

        def f_args():
            return (jnp.ones((8, 8)),)

        def f(x):
            return x @ x
        """
    )
    found = look(case)
    assert found.case.dtype == "float64"
    assert "HIGHEST" in found.stablehlo
    assert not jax.config.jax_enable_x64


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
    found = refused(write(text))
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
    assert words in refused(case, **changed).error
