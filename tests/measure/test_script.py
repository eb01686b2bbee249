from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import jax
import numpy as np
import pytest

from jaxtui.measure import inputs, ops, script
from jaxtui.measure.x64 import enable_x64
from jaxtui.model import Case, Mode

RUNS = [
    (op, dtype, mode)
    for op in ops.OPS.values()
    for dtype in ("float32", "bfloat16", "float8_e4m3fn")
    for mode in ("jit", "eager", "numpy", "pallas")
    if mode in op.modes and dtype in op.dtypes
]


def case(op: str, dtype: str, mode: Mode, **changes: Any) -> Case:
    numpy = mode == "numpy"
    sizes = {"attention": 12, "conv2d": 5}
    size = sizes.get(op, 12 if "×" in ops.get(op).size_means else 400)
    fields = {
        "op": op,
        "size": size,
        "dtype": dtype,
        "mode": mode,
        "device": "host" if numpy else "cpu:0",
        "inputs": "host" if numpy else "device",
    }
    return Case(**(fields | changes))


def run(text: str) -> dict[str, Any]:
    """The script's variables; its settings are undone afterwards."""
    quick = text.replace("perf_counter() + 2", "perf_counter()")
    space: dict[str, Any] = {"__name__": "script"}
    wide, default = jax.config.jax_enable_x64, jax.config.jax_default_device
    try:
        exec(compile(quick, "script", "exec"), space)
    finally:
        jax.config.update("jax_enable_x64", wide)
        jax.config.update("jax_default_device", default)
    return space


def expected(one: Case, seed: int = 0) -> np.ndarray:
    op = ops.get(one.op)
    if one.mode == "numpy":
        args = inputs.numpy_inputs(op, one.size, one.dtype, seed)
        return np.asarray(op.numpy(*args))
    args = inputs.host_inputs(op, one.size, one.dtype, seed)
    with enable_x64(one.dtype):
        if one.mode == "pallas":
            return np.asarray(jax.jit(op.bind_kernel("cpu"))(*jax.device_put(args)))
        function = op.bind(one.precision)
        call = jax.jit(function) if one.mode == "jit" else function
        return np.asarray(call(*jax.device_put(args)))


@pytest.mark.parametrize(
    ("op", "dtype", "mode"), RUNS, ids=[f"{o.name}-{d}-{m}" for o, d, m in RUNS]
)
def test_scripts_compute_what_was_timed(op: ops.Op, dtype: str, mode: Mode) -> None:
    one = case(op.name, dtype, mode)
    space = run(script.script(one, seed=3))
    if (op.name, mode) == ("normal", "numpy"):
        # The generator moves on with every call: the last result is not the first.
        assert space["result"].shape == (one.size,)
        return
    result = np.asarray(space["result"])
    right = expected(one, seed=3)
    assert result.dtype == right.dtype
    np.testing.assert_array_equal(result, right)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "int8", "complex64"])
@pytest.mark.parametrize("mode", ["jit", "numpy"])
def test_scripts_make_every_dtype(
    dtype: str, mode: Mode, capsys: pytest.CaptureFixture[str]
) -> None:
    one = case("gram", dtype, mode)
    result = np.asarray(run(script.script(one))["result"])
    np.testing.assert_array_equal(result, expected(one))
    assert "ready" in capsys.readouterr().out


@pytest.mark.parametrize(
    "changes",
    [
        {"inputs": "host"},
        {"inputs": "host", "mode": "eager"},
        {"precision": "highest"},
        {"device": "cpu:2"},
        {"device": "cpu:2", "inputs": "host"},
    ],
)
def test_scripts_follow_the_case(changes: dict[str, Any]) -> None:
    one = case("matmul", "float32", **({"mode": "jit"} | changes))
    text = script.script(one)
    result = run(text)["result"]
    assert f"{result.devices()}" == f"{ {jax.devices()[int(one.device[-1])]} }"
    np.testing.assert_allclose(np.asarray(result), expected(one), rtol=1e-5, atol=1e-5)
    assert ('precision="highest"' in text) == (one.precision == "highest")
    assert ("JAX_NUM_CPU_DEVICES=3" in text) == (one.device == "cpu:2")


def test_large_inputs_repeat_in_the_script_too() -> None:
    one = case("gram", "int8", "numpy", size=2100)
    text = script.script(one).partition("f = numpy_gram")[0]
    space: dict[str, Any] = {}
    exec(text, space)
    (right,) = inputs.host_inputs(ops.get("gram"), 2100, "int8", seed=0)
    np.testing.assert_array_equal(space["args"][0], right)


def test_script_runs_by_itself_without_jaxtui(tmp_path: Any) -> None:
    file = tmp_path / "case.py"
    file.write_text(script.script(case("sum_logistic_grad", "float32", "jit")))
    done = subprocess.run(
        [sys.executable, file.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=180,
    )
    assert re.fullmatch(r"dispatch \S+ s\nready    \S+ s\n", done.stdout)
    assert "import jaxtui" not in file.read_text()


def test_scripts_are_short_and_bare() -> None:
    text = script.script(case("matmul", "float32", "jit"))
    assert len([line for line in text.splitlines() if line]) < 45
    assert "->" not in text
    assert "functools" not in text


def test_the_script_of_a_kernel_shows_the_kernel() -> None:
    text = script.script(case("selu", "float32", "pallas"))
    assert "from jax.experimental import pallas as pl" in text
    assert "def kernel(x_ref, out_ref):" in text
    assert "the times mean nothing" in text
    assert 'jax.jit(functools.partial(pallas_selu, platform="cpu"))' in text


def test_script_refuses_what_the_op_does_not_have() -> None:
    with pytest.raises(ValueError, match="no mode 'pallas'"):
        script.script(case("matmul", "float32", "pallas"))
    with pytest.raises(ValueError, match="no dtype 'int8'"):
        script.script(case("selu", "int8", "jit"))


@pytest.mark.parametrize("mode", ["jit", "eager", "numpy"])
@pytest.mark.parametrize("inputs_", ["device", "host"])
def test_the_setup_defines_a_call_and_no_more(mode: Mode, inputs_: str) -> None:
    where = {} if mode == "numpy" else {"inputs": inputs_}
    one = case("matmul", "float32", mode, precision="default", **where)
    text = script.setup(one, seed=3)
    assert "print" not in text
    space = run(text)
    assert {"time", "statistics", "np"} <= space.keys()
    assert ("jax" in space) == (mode != "numpy")
    result = space["f"](*space["args"])
    assert isinstance(result, np.ndarray if mode == "numpy" else jax.Array)
    np.testing.assert_array_equal(np.asarray(result), expected(one, seed=3))


@pytest.mark.parametrize("mode", ["jit", "pallas"])
@pytest.mark.parametrize("inputs_", ["device", "host"])
def test_compiled_modes_call_the_executable(mode: Mode, inputs_: str) -> None:
    one = case("selu", "float32", mode, inputs=inputs_)
    for text in (script.script(one), script.setup(one)):
        space = run(text)
        assert isinstance(space["f"], jax.stages.Compiled)
        assert isinstance(space["args"][0], np.ndarray) == (inputs_ == "host")
        assert "jax_default_device" not in text


def test_forms_of_an_op_have_names_of_their_own() -> None:
    texts = {
        mode: script.setup(case("selu", "float32", mode))
        for mode in ("jit", "eager", "numpy", "pallas")
    }
    names = {
        mode: re.findall(r"^def (\w+)", text, re.M) for mode, text in texts.items()
    }
    assert names == {
        "jit": ["selu"],
        "eager": ["selu"],
        "numpy": ["numpy_selu"],
        "pallas": ["pallas_selu"],
    }


def test_the_script_is_its_setup_and_a_loop() -> None:
    one = case("matmul", "float32", "jit", precision="high")
    assert script.setup(one) in script.script(one)
    sent = script.setup(case("matmul", "float32", "eager", inputs="host"))
    assert sent.endswith("return form(*jax.device_put(args, device))\n")
