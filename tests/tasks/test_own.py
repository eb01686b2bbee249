"""Functions of files: files, arguments, results and mistakes."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from jaxtui.core.functions import LARGEST_BYTES, read
from jaxtui.core.model import (
    Experiment,
    Failure,
    Measurement,
    PhaseStarted,
    SelectionError,
)
from jaxtui.core.model.own import (
    XLA_DTYPES,
    Spec,
    brief_name,
    dtype_of,
    parse_spec,
    parse_specs,
    short_name,
)
from jaxtui.features.bench.measure import experiment, planning
from jaxtui.tasks import own as files
from jaxtui.tasks.errors import RefusedError
from jaxtui.ui import words
from tests.tasks import running
from tests.tasks.running import facts, failure, outcomes, own, refusal

pytestmark = pytest.mark.usefixtures("brief")


# Running.


@pytest.fixture(scope="module")
def usual() -> dict[str, Measurement]:
    """Functions that take turns with each other and with an op."""
    cases = {
        "jit": own("step"),
        "eager": own("step", mode="eager", inputs="host"),
        "numpy": own("step", mode="numpy"),
        "sent": own("step", inputs="host"),
        "size": own("step", size=48),
        "typed": own("add", "s32[] bf16[8,16] bf16[16,4]"),
        "several": own("several", "f32[9]"),
        "op": running.case("add", 1000),
        "donating": own("update", "f32[100]"),
        "loop": own("power", "f32[64,64]"),
        "not finite": own("log", "f32[8]"),
        "wide": own("plus", "f64[8]"),
        "narrow": own("plus"),
        "key": own("draw"),
    }
    found = running.measured(*cases.values(), budget=7.0)
    return dict(zip(cases, found, strict=True))


def test_pytrees_go_in_and_come_out_in_every_mode(
    usual: dict[str, Measurement],
) -> None:
    jit, eager, numpy = (usual[name] for name in ("jit", "eager", "numpy"))
    for measured in (jit, eager, numpy):
        assert measured.ready is not None
        assert measured.ready.median > 0
        assert (measured.case.size, measured.case.dtype) == (16, "float32")
        assert measured.output_dtype == "float32"
        assert measured.error_vs_float64 is None
        assert measured.has("own")
    # Two products of 32 × 8 × 16, forwards and for the weights, and what is around it.
    assert 2 * 2 * 32 * 8 * 16 < (jit.flops or 0) < 10 * 32 * 8 * 16
    assert jit.xla_flops == jit.flops
    # Op by op nothing counts it.
    assert eager.flops is numpy.flops is None
    assert jit.phases.compile is not None
    assert eager.phases.compile is None
    assert numpy.phases.fetch is None


def test_arguments_decide_the_size_and_the_dtype(
    usual: dict[str, Measurement],
) -> None:
    for name, size, dtype, output in (
        ("size", 48, "float32", "float32"),
        ("typed", 0, "bfloat16", "bfloat16"),
        ("wide", 0, "float64", "float64"),
        ("narrow", 0, "float32", "float32"),
        ("key", 0, usual["key"].case.dtype, "float32"),
    ):
        case, found = usual[name].case, usual[name].output_dtype
        assert (case.size, case.dtype, found) == (size, dtype, output), name


def test_a_measurement_of_a_function_has_a_digest_of_its_file(
    usual: dict[str, Measurement],
) -> None:
    digest = hashlib.sha256(Path(running.FUNCTIONS).read_bytes()).hexdigest()
    assert usual["jit"].source is not msgspec.UNSET
    assert digest.startswith(usual["jit"].source.digest)
    assert usual["op"].source is msgspec.UNSET


def test_what_is_not_known_is_noted(usual: dict[str, Measurement]) -> None:
    loop = usual["loop"]
    assert loop.flops is None
    assert loop.flops_per_second is None
    assert loop.xla_flops
    assert facts(loop.notes)["own"]["counted"] == "loop"
    assert usual["not finite"].has("not-finite")
    assert not usual["several"].has("not-finite")


# Importing.


def test_a_file_is_imported_once_and_afresh_when_it_changes(
    write: Callable[..., str],
) -> None:
    path = write("value = 1\n")
    first = files.load_file(path)
    assert files.load_file(path) is first
    write("value = 2\n")
    assert files.load_file(path).value == 2


def test_a_file_finds_what_lies_beside_it_and_is_not_main(
    write: Callable[..., str],
) -> None:
    write("FACTOR = 3\n", "own_beside.py")
    path = write(
        """
        import dataclasses
        from own_beside import FACTOR

        @dataclasses.dataclass
        class Setting:
            factor: "int" = FACTOR

        if __name__ == "__main__":
            raise SystemExit(1)
        """
    )
    assert files.load_file(path).Setting().factor == 3


def test_import_and_arguments_are_phases_of_their_case() -> None:
    events = experiment.run(running.experiment(own("plus")))
    phases = [event.phase for event in events if isinstance(event, PhaseStarted)]
    assert phases[:3] == ["import", "inputs", "trace"]


def test_dotted_names_are_looked_up(write: Callable[..., str]) -> None:
    path = write(
        """
        class Net:
            def forward(self, x):
                return x * 2

        net = Net()
        """
    )
    present, absent = (
        files.Source("", f"{name}.forward", path) for name in ("net", "nothing")
    )
    assert files.load(present, None).call(2) == 4
    with pytest.raises(RefusedError, match="function-missing"):
        files.load(absent, None)


# Mistakes.


@pytest.mark.parametrize(
    ("text", "code", "line", "error", "detail"),
    [
        ("import nothing_here\n", "function-raised", 1, "ModuleNotFound", "mine.py"),
        ("def f(:\n", "function-raised", 1, "SyntaxError: invalid syntax", "def f(:"),
        # Of the whole file, which has no line.
        ("# coding: odd\n", "function-raised", 0, "SyntaxError: unknown", "mine.py"),
        ("import sys\nsys.exit(3)\n", "exit-called", 2, "", "mine.py"),
        ("def f(x):\n    return y\n", "function-raised", 2, "NameError: name", "in f"),
        ("def f(x):\n    exit()\n", "exit-called", 2, "", "mine.py"),
        ("def f(x):\n    return x[0] @ x\n", "function-raised", 2, "", "x[0] @ x"),
        ("raise MemoryError\n", "function-raised", 1, "MemoryError", "mine.py"),
        (
            *("class Odd(BaseException): pass\nraise Odd(3)\n", "function-raised"),
            *(2, "Odd: 3", "mine.py"),
        ),
        (
            "class Mute(Exception):\n    def __str__(self): raise self\nraise Mute\n",
            *("function-raised", 3, "Mute", "mine.py"),
        ),
        # JAX calls the argument what the file calls it.
        (
            *("def f(y):\n    return y[int(y[0])]", "function-raised", 2, "Concr"),
            "the argument y",
        ),
    ],
)
def test_mistakes_name_the_line_and_show_only_the_users_frames(
    write: Callable[..., str], text: str, code: str, line: int, error: str, detail: str
) -> None:
    remark = failure(own("f", "f32[8]", file=write(text))).remark
    assert remark.code == code
    assert (remark.facts["file"], remark.facts["line"]) == ("mine.py", line)
    assert error in str(remark.facts.get("error", ""))
    assert "mine.py:0" not in words.text(remark)
    # Without jax.jit, which is not in the file, it runs.
    assert ("Choose mode eager" in words.text(remark)) == (error == "Concr")
    assert detail in remark.detail
    assert "jaxtui" not in remark.detail
    assert "site-packages" not in remark.detail


@pytest.mark.parametrize(
    ("text", "asked", "code", "facts"),
    [
        # What a factory raises.
        (
            "def make_args():\n    1 / 0\n",
            *({}, "function-raised", {"line": 4, "phase": "inputs"}),
        ),
        (
            "def make_args():\n    exit()\n",
            *({}, "exit-called", {"line": 4, "phase": "inputs"}),
        ),
        # Arguments that are none.
        ("", {}, "arguments-missing", {}),
        ("make_args = 3\n", {}, "arguments-missing", {}),
        ("def f_args(n):\n    return (n,)\n", {}, "function-raised", {}),
        ("def f_args():\n    return (1,)\n", {"size": 7}, "function-raised", {}),
        ("def make_args():\n    return ({1: ''},)\n", {}, "function-raised", {}),
        # No function of JAX.
        ("del f\ndef ff(x): 0", {"args": "f32[8]"}, "function-missing", {}),
        ("f = 3\n", {"args": "f32[8]"}, "function-missing", {}),
        ("def f(x): ...\n", {"args": "f32[8]"}, "no-jax-array", {}),
        ("", {"args": "f32[8]", "mode": "numpy"}, "no-numpy-form", {"name": "f"}),
    ],
)
def test_what_cannot_be_timed_is_refused(
    write: Callable[..., str],
    text: str,
    asked: dict[str, Any],
    code: str,
    facts: dict[str, object],
) -> None:
    path = write(f"def f(x):\n    return x\n{text}")
    remark = refusal(own("f", file=path, **asked))
    assert remark.code == code
    assert facts.items() <= remark.facts.items()


def test_a_mistake_in_a_run_leaves_the_others_alone(write: Callable[..., str]) -> None:
    path = write(
        """
        calls = []

        def f(x):
            calls.append(1)
            if len(calls) > 4:
                raise RuntimeError("enough")
            return x + 1
        """
    )
    failed, measured = outcomes(
        own("f", "f32[8]", "eager", file=path), own("several", "f32[8]")
    )
    assert isinstance(failed, Failure)
    assert failed.remark.facts["line"] == 7
    assert failed.remark.facts["error"] == "RuntimeError: enough"
    assert isinstance(measured, Measurement)


def test_planning_runs_nothing(write: Callable[..., str]) -> None:
    path = write("raise SystemExit\n")
    (planned,) = planning.plan(Experiment(cases=(own("f", file=path),))).cases
    assert planned.problem is None
    assert path not in files._loaded


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"op": "/nowhere/to/be.py:f"}, "file-missing"),
        ({"mode": "pallas"}, "mode-missing"),
        ({"precision": "high"}, "own-precision"),
        ({"params": {"args": "f32"}}, "arguments-invalid"),
        ({"params": {"args": "f32[8]"}, "size": 3}, "size-beside-arguments"),
        ({"params": {"args": "f32[9000000,9000000]"}}, "too-large"),
        ({"device": "cpu:9"}, "device-unknown"),
    ],
)
def test_planning_refuses(changes: dict[str, Any], code: str) -> None:
    one = msgspec.structs.replace(own("square"), **changes)
    (planned,) = planning.plan(Experiment(cases=(one,))).cases
    assert planned.problem is not None
    assert planned.problem.remark.code == code


# Arguments.


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("f32[1024,1024]", Spec("float32", (1024, 1024))),
        ("bf16[8, 128]{1,0}", Spec("bfloat16", (8, 128))),
        ("s32[]", Spec("int32", ())),
        ("i8[3]", Spec("int8", (3,))),
        ("PRED[2]", Spec("bool", (2,))),
        ("complex64[2]", Spec("complex64", (2,))),
        *((text, None) for text in ("", "f32", "[8]", "f32[8", "q8[3]", "f32[-1]")),
        ("f32[0]", None),
    ],
)
def test_specs_are_read_and_written(text: str, spec: Spec | None) -> None:
    if spec is None:
        with pytest.raises(ValueError, match=re.escape(text) or None):
            parse_spec(text)
    else:
        assert parse_spec(text) == parse_spec(spec.text) == spec


def test_the_dtype_of_specs_is_the_first_floating_one() -> None:
    assert dtype_of(parse_specs("s32[] f16[2] f32[3]")) == "float16"
    assert dtype_of(parse_specs("s32[] u8[2]")) == "int32"
    assert dtype_of(()) == ""


@pytest.mark.parametrize(
    "text",
    # Large ones repeat.
    [f"{dtype}[{dims}]" for dtype in XLA_DTYPES for dims in ("", "3,5")]
    + ["s8[2100,2100]"],
)
def test_drawn_arguments_are_seeded_and_never_all_zero(text: str) -> None:
    spec = parse_spec(text)
    ((array,), (again,)) = (files.draw([spec], seed=2) for _ in range(2))
    assert (str(array.dtype), array.shape) == (spec.dtype, spec.shape)
    np.testing.assert_array_equal(array, again)
    if spec.shape:
        assert np.any(array.astype(np.complex128) != 0)
        (other,) = files.draw([spec], seed=3)
        assert np.any(other != array)


def test_names_are_short_where_there_is_little_room() -> None:
    # Two versions of a file are told apart.
    assert short_name("/a/old/train.py:step") == "old/train.py:step"
    assert short_name("matmul") == brief_name("matmul") == "matmul"
    assert brief_name("/p/train.py:step,loss") == "train.py:step,loss"
    assert brief_name("/p/train.py:step,loss,forward") == "train.py:step +2"


# Files, as they are typed.


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("trian.py", "Did you mean train.py?"),
        ("", "Is a directory"),
        ("pipe.py", "a pipe, not a regular file"),
        ("huge.py", "4,000,001 bytes"),
        ("nul\0l.py", "Cannot read"),
        ("denied.py", ": Permission denied."),
    ],
)
def test_what_is_no_file_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    os.mkfifo(tmp_path / "pipe.py")
    for file in ("train.py", "huge.py", "denied.py"):
        (tmp_path / file).touch()
    os.truncate(tmp_path / "huge.py", LARGEST_BYTES + 1)
    if name == "denied.py":
        monkeypatch.setattr("builtins.open", denied)
    with pytest.raises(SelectionError) as error:
        read(f"{tmp_path}/{name}", name)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
