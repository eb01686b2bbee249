"""Settings of JAX: named where they change a number, refused where nothing is left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.processes import ended, python

DEBUGS = """
import jax

jax.config.update("jax_debug_nans", True)
jax.config.update("jax_default_matmul_precision", "highest")

def f(x):
    assert jax.config.jax_debug_nans
    jax.config.update("jax_log_compiles", True)
    return x @ x
"""

UNCOMPILED = """
import jax

jax.config.update("jax_disable_jit", True)

def g(x):
    assert jax.config.jax_disable_jit and not jax.config.jax_debug_nans
    return x + 1
"""

PLAIN = """
import jax

def h(x):
    assert not (jax.config.jax_debug_nans or jax.config.jax_disable_jit)
    assert not jax.config.jax_log_compiles
    return x - 1
"""

IN_PROCESS = """
import jax, jaxtui, warnings

jax.config.update("jax_debug_infs", True)
before = dict(jax.config.values)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    made = jaxtui.bench(
        "debugs.py:f", "matmul:32", args=["f32[8,8]"], budget=0.5, target=0.9,
        history=False,
    )
assert dict(jax.config.values) == before, "what the file set has stayed"
assert any("jax_debug_infs=True" in str(one.message) for one in said)
print(made.to_json())
"""


def run(*command: str, **variables: Any) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of a Python process with these variables."""
    variables = {"JAX_NUM_CPU_DEVICES": "1", **variables}
    if command[:2] == ("-m", "jaxtui"):  # its engine is a process all the same
        done = ended(*command[2:], **variables)
    else:
        done = python(*command, **variables)
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, done.stdout, done.stderr


def bench(*words: str, **variables: str) -> tuple[int, Any, str]:
    """As ``run`` for ``jaxtui bench``, with the document."""
    code, out, said = run("-m", "jaxtui", "bench", *words, "--json", **variables)
    return code, json.loads(out), said


def notes(measurement: Any) -> dict[str, str]:
    """Of a measurement, or of a whole document."""
    return {note["flag"]: note["text"] for note in measurement["notes"]}


def of(document: Any, op: str, mode: str = "jit") -> Any:
    """The measurement of an op, or its failure."""
    for one in (*document["measurements"], *document["failures"]):
        case = one["case"]
        if case["op"].endswith(op) and case["mode"] == mode:
            return one
    raise AssertionError(f"{op} {mode} is not in {document}")


@pytest.fixture
def files() -> None:
    for name, text in (
        ("debugs", DEBUGS),
        ("uncompiled", UNCOMPILED),
        ("plain", PLAIN),
    ):
        Path(f"{name}.py").write_text(text)


def test_without_jit_numpy_is_measured_and_jax_refused() -> None:
    words = ("matmul:32", "--mode", "numpy,jit,eager", "--budget", "0.5")
    code, document, said = bench(*words, JAX_DISABLE_JIT="1")
    assert code == 1
    assert document["host"]["settings"] == {"JAX_DISABLE_JIT": "True"}
    assert of(document, "matmul", "numpy")["ready"]["median"] > 0
    for mode in ("jit", "eager"):
        assert "JAX_DISABLE_JIT" in of(document, "matmul", mode)["error"]
    assert "JAX_DISABLE_JIT" in said


@pytest.mark.parametrize(
    ("name", "value", "command"),
    [
        ("JAX_DEBUG_NANS", "1", "check"),
        ("JAX_TRANSFER_GUARD", "disallow", "learn clock"),
    ],
)
def test_what_would_mean_nothing_is_refused_with_a_sentence(
    name: str, value: str, command: str
) -> None:
    code, out, said = run("-m", "jaxtui", *command.split(), **{name: value})
    assert (code, out) == (3, "")
    assert f"jaxtui: {name}=" in said
    assert f"unset {name}" in said


def test_what_changes_a_number_is_named_and_explained() -> None:
    settings = {"JAX_DEBUG_NANS": "True", "JAX_DEFAULT_MATMUL_PRECISION": "highest"}
    code, document, said = bench("matmul:256", "--budget", "0.3", **settings)
    assert code == 0
    assert document["host"]["settings"] == settings
    measured = of(document, "matmul")
    flags = notes(document)
    assert "JAX_DEBUG_NANS" in flags["waits"]
    assert not {"waits", "inline"} & {*notes(measured)}
    assert measured["case"]["precision"] == "default"
    assert "highest" in flags["precision"]
    assert all(name in said for name in settings)


def test_cpu_devices_that_xla_was_told_to_make_are_simulated() -> None:
    _, out, said = run(
        *("-m", "jaxtui", "devices", "--json"),
        XLA_FLAGS="--xla_force_host_platform_device_count=2",
        JAX_NUM_CPU_DEVICES="-1",  # JAX's own default, which leaves it to the flag
        JAX_LOG_COMPILES="1",
    )
    assert [one["simulated"] for one in json.loads(out)["devices"]] == [True, True]
    assert "JAX_LOG_COMPILES" in said
    assert "JAX_LOG_COMPILES=True" in said


def test_what_a_file_sets_holds_for_its_own_functions_alone(files: None) -> None:
    functions = ("debugs.py:f", "uncompiled.py:g", "plain.py:h", "matmul:32")
    code, document, _ = bench(*functions, "--arg", "f32[8,8]", "--budget", "0.5")
    assert code == 1
    assert document["host"]["settings"] == {}
    (failed,) = document["failures"]
    assert failed["case"]["op"].endswith("uncompiled.py:g")
    assert "jax_disable_jit" in failed["error"]
    assert "jax_debug_nans=True" in notes(of(document, ":f"))["settings"]
    for op in (":h", "matmul"):
        flags = notes(of(document, op))
        assert not {"settings", "waits", "precision"} & {*flags}


def test_the_python_api_names_them_and_takes_back_what_a_file_sets(files: None) -> None:
    code, out, said = run("-c", IN_PROCESS)
    assert code == 0, said
    document = json.loads(out)
    assert document["host"]["settings"] == {"jax_debug_infs": "True"}
    assert "jax_debug_infs" in notes(document)["waits"]
    assert "jax_debug_nans" in notes(of(document, ":f"))["settings"]
