"""What XLA made of a case, against the compiled program itself."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import pytest

from jaxtui.core.model import (
    Case,
    Inspected,
    Inspection,
    Progress,
    RunEvent,
    RunFinished,
    RunStarted,
    WorkFailed,
)
from jaxtui.features.program import measure as inspection
from jaxtui.features.program.measure import run_inspection
from jaxtui.tasks import own as files
from jaxtui.tasks import programs
from jaxtui.tasks.ops import elementwise
from tests.tasks.running import FUNCTIONS, case, own

SELU = case("selu", 4096)


def ended(of: Case, **changed: object) -> RunEvent:
    asked = Inspection(case=msgspec.structs.replace(of, **changed))
    *_, result, last = run_inspection(asked)
    assert isinstance(last, RunFinished)
    return result


def look(of: Case = SELU, **changed: object) -> Inspected:
    result = ended(of, **changed)
    assert isinstance(result, Inspected), result
    return result


def refused(of: Case = SELU, **changed: object) -> WorkFailed:
    result = ended(of, **changed)
    assert isinstance(result, WorkFailed), result
    return result


# Counts of programs.


@pytest.mark.parametrize("wrap", [lambda costs: costs, lambda costs: [costs]])
def test_costs_are_read_as_a_dict_and_as_a_list_of_one(wrap: Any) -> None:
    class Stage:
        def cost_analysis(self) -> Any:
            return wrap({"flops": 6.0, "transcendentals": 2.0, "bytes accessed": 24.0})

        def as_text(self) -> str:
            return ""

    assert programs.counted_flops(Stage()) == 8.0
    found = programs.count(Stage())
    assert (found.flops, found.bytes) == (8.0, 24.0)


@pytest.mark.parametrize("flops", [-1.0, 5.0])
def test_a_call_of_a_library_leaves_the_count_unknown(flops: float) -> None:
    """A GPU's product is a call of cuBLAS: -1 flops, which took it for folded away."""

    class Stage:
        def cost_analysis(self) -> Any:
            return {"flops": flops, "bytes accessed": -1.0}

        def as_text(self) -> str:
            return 'custom-call(%a, %b), custom_call_target="__cublas$lt$matmul"'

    found = programs.count(Stage())
    assert programs.counted_flops(Stage()) is None
    assert (found.flops, found.bytes) == (None, None)
    assert not found.is_whole
    assert found.is_rewritten


# Ops.


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
    # Texts of an eager call come step by step.
    assert apart.hlo.count("ENTRY ") == apart.stablehlo.count("module @") == 6
    assert "// step 3 of 6: mul" in apart.hlo
    assert apart.program.memory is None
    # Fusing saves the traffic between the steps.
    assert one.program.xla_bytes == one.bytes == 2 * 4 * 4096
    assert (apart.program.xla_bytes or 0) > 5 * one.bytes


def test_the_steps_are_the_programs_that_eager_jax_compiles(
    caplog: pytest.LogCaptureFixture,
) -> None:
    x = jnp.ones(4096, jnp.float32).block_until_ready()
    jax.clear_caches()
    with caplog.at_level(logging.WARNING), jax.log_compiles():
        elementwise.selu_jax(x).block_until_ready()
    said = [record.getMessage() for record in caplog.records]
    compiled = [line for line in said if line.startswith("Finished XLA compilation")]
    # The two multiplications by a scalar are one program, run twice.
    steps = look(mode="eager").steps
    assert len(compiled) == len({step.name for step in steps}) == 5
    assert len(steps) == 6


@pytest.mark.parametrize(
    ("dtype", "short", "size"),
    [("float64", "f64", 8), ("float32", "f32", 4), ("bfloat16", "bf16", 2)],
)
def test_xla_counts_the_flops_of_a_product(dtype: str, short: str, size: int) -> None:
    one = look(case("matmul", 64, dtype=dtype))
    assert one.flops == 2 * 64**3
    assert one.program.xla_flops == pytest.approx(one.flops, rel=0.05)
    assert f"{short}[64,64]" in one.jaxpr
    assert f"tensor<64x64x{short}>" in one.stablehlo
    assert f"{short}[64,64]" in one.hlo
    assert one.program.memory is not None
    assert one.program.memory.arguments_bytes == 2 * size * 64**2


def test_a_size_that_no_memory_holds_and_a_kernel_have_a_program() -> None:
    size = 1 << 34
    assert look(case("add", size)).program.xla_flops == pytest.approx(size)
    one = look(mode="pallas", size=1024)
    assert one.program.kernels
    assert one.steps == ()
    assert "pallas_call" in one.jaxpr


# The course of a run.


def test_the_first_event_says_what_and_progress_says_where() -> None:
    events = list(run_inspection(Inspection(case=SELU)))
    assert isinstance(events[0], RunStarted)
    doing = [
        (event.doing, event.about) for event in events if isinstance(event, Progress)
    ]
    stages = [(stage, SELU.label) for stage in ("trace", "lower", "compile")]
    assert [each for each in doing if each[1] == SELU.label][-3:] == stages
    assert doing[-1] == ("compile", "6/6")


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"op": "nosuch"}, "op-unknown"),
        ({"mode": "numpy", "device": "host"}, "no-program"),
        ({"dtype": "int8"}, "dtype-missing"),
        ({"device": "cpu:99"}, "device-unknown"),
        ({"op": "/nowhere/mine.py:f"}, "file-missing"),
    ],
)
def test_what_cannot_be_is_refused(changed: dict[str, Any], code: str) -> None:
    assert refused(**changed).remark.code == code


def test_a_step_that_fails_alone_costs_only_the_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("not alone")

    monkeypatch.setattr("jaxtui.features.program.measure.compile_step", fail)
    one = look()
    assert one.program.kernels == 1
    assert one.steps == ()
    assert one.eager_kernels is None
    assert "not alone" in refused(mode="eager").remark.detail


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


# Functions of files.


def test_a_training_step_with_a_factory() -> None:
    found = look(own("step", size=48))
    assert (found.case.size, found.case.dtype) == (48, "float32")
    assert found.flops is found.bytes is None
    functions = files.load_file(FUNCTIONS)
    args = jax.device_put(functions.step_args(48))
    compiled = jax.jit(lambda *args: functions.step(*args)).lower(*args).compile()
    assert programs.read(compiled, "").instructions == found.program.instructions
    assert "f32[8,48]" in found.jaxpr
    assert "tensor<8x48xf32>" in found.stablehlo
    assert (found.eager_kernels or 0) >= (found.program.kernels or 0)
    assert look(own("step")).case.size == 16


def test_typed_arguments_are_shapes_and_cost_no_memory() -> None:
    # Two terabytes.
    found = look(own("plus", "f32[524288,1048576]"))
    assert found.case.dtype == "float32"
    assert found.program.kernels == 1
    wide = look(own("add", "s64[] f64[8,8] f64[8]"))
    assert "f64[8]" in wide.jaxpr
    assert wide.case.dtype == "float64"


def test_the_settings_of_a_file_hold_for_its_programs(
    write: Callable[..., str],
) -> None:
    path = write(
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
    with files.undone():
        found = look(own("f", file=path))
    assert found.case.dtype == "float64"
    assert "HIGHEST" in found.stablehlo
    assert not jax.config.values["jax_enable_x64"]


def test_op_by_op_a_few_steps_are_shown_and_of_many_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = own("log", "f32[64]")
    steps = look(few, mode="eager").steps
    assert [step.name for step in steps] == ["mul", "sub", "log"]
    monkeypatch.setattr(inspection, "STEPS_AT_MOST", 2)
    found = look(few)
    assert found.steps == ()
    assert found.program.kernels is not None


@pytest.mark.parametrize(
    ("text", "phase", "line"),
    [
        ("import nowhere", "import", 1),
        ("def f(x): ...\ndef f_args(): 1/0", "inputs", 2),
        ("def f(x): return x @ x\nf_args = lambda: (1.0,)", "trace", 1),
    ],
)
def test_mistakes_have_their_phase_and_line(
    write: Callable[..., str], text: str, phase: str, line: int
) -> None:
    facts = refused(own("f", file=write(text))).remark.facts
    assert (facts["phase"], facts["line"]) == (phase, line)
