"""``jaxtui hlo`` with the real engine: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jaxtui import cli
from jaxtui.commands.hlo_request import Request
from jaxtui.measure.ops import catalogue
from jaxtui.model import Device

SELU = ("hlo", "selu:4096")


def test_a_summary_and_the_entry_of_the_program(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(SELU) == 0
    printed = capsys.readouterr().out
    summary, _, entry = printed.partition("ENTRY ")
    assert "selu 4096 float32 jit on cpu:0" in summary
    one = "XLA made one kernel of it; op by op, without jit, it runs 6 kernels."
    assert one in summary
    assert max(map(len, summary.splitlines())) <= 80
    assert "ROOT %" in entry
    assert "metadata" not in entry


def test_the_device_is_the_first_of_this_process() -> None:
    theirs, ours = (
        Device(
            id=number,
            platform="tpu",
            device_kind="TPU v4",
            process_index=number,
            addressable=number == 1,
        )
        for number in range(2)
    )
    request = Request(op="matmul", size=8)
    assert request.case(catalogue(), (theirs, ours)).device == "tpu:1"


def test_every_stage_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*SELU, "--stage", "all", "--mode", "eager"]) == 0
    printed = capsys.readouterr().out
    places = [
        printed.index(word)
        for word in ("6 programs with 6 kernels", "jaxpr:", "stablehlo:", "\nhlo:")
    ]
    assert places == sorted(places)
    assert printed.count("HloModule ") == 6
    assert "select_n" in printed


def test_the_document_has_the_texts_that_were_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["hlo", "matmul", "--size", "64", "--dtype", "f64", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 1
    assert document["case"]["dtype"] == "float64"
    assert document["flops"] == 2 * 64**3
    assert document["program"]["xla_flops"] == pytest.approx(2 * 64**3, rel=0.05)
    assert document["program"]["kernels"] == document["eager_kernels"] == 1
    assert document["failure"] is None
    assert "f64[64,64]" in document["jaxpr"]
    assert document["stablehlo"]
    assert document["hlo"]
    assert cli.main([*SELU, "--stage", "jaxpr", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["jaxpr"]
    assert document["stablehlo"] is document["hlo"] is None


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        (["hlo"], "Name an op"),
        (["hlo", "seul"], 'no op "seul"'),
        (["hlo", "selu:1,2"], "One size"),
        (["hlo", "selu", "--mode", "numpy"], "does not go through XLA"),
        (["hlo", "selu", "--stage", "mlir"], 'no stage "mlir"'),
        (["hlo", "selu", "--dtype", "int8"], "int8"),
        (["hlo", "selu", "--device", "cpu:77"], "cpu:77"),
        (["hlo", "matmul", "--mode", "pallas"], "pallas"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_sentence(
    typed: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(typed) == 64
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert "Traceback" not in captured.err


def test_a_function_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def f(x, y):\n    return x * 2 + y\n")
    typed = ["hlo", f"{path}:f", "--arg", "f32[64]", "--arg", "f32[]"]
    assert cli.main(typed) == 0
    printed = capsys.readouterr().out
    assert f"{tmp_path.name}/mine.py:f float32 jit on cpu:0" in printed
    assert "XLA made one kernel of it; op by op, without jit, it runs 2" in printed
    assert cli.main([*typed, "--json", "--stage", "jaxpr"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["case"]["op"] == f"{path}:f"
    assert document["case"]["dtype"] == "float32"
    assert document["flops"] is document["bytes"] is None


def test_a_mistake_in_a_file_comes_with_its_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.py"
    path.write_text("import sys\n\ndef f(x):\n    return x @ x\n")
    assert cli.main(["hlo", f"{path}:f", "--arg", "f32[2,3]"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "mine.py:f failed while JAX traced it (mine.py:4)" in captured.err
    assert captured.err.count("mine.py:f failed") == 1
    assert "return x @ x" in captured.err
    assert "site-packages" not in captured.err


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        (["mine.py:f", "--arg", "f32[x]"], '"f32[x]" is no argument'),
        (["mine.py:f,g"], "One op"),
        (["mine.py"], "Name a function of mine.py, as in mine.py:f"),
        (["nowhere.py:f"], "There is no file nowhere.py"),
        (["selu", "--arg", "f32[8]"], "--arg describes the arguments of a function"),
    ],
)
def test_a_file_that_makes_no_sense(
    typed: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "mine.py").write_text("def f(x): ...\ndef g(x): ...\n")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["hlo", *typed]) == 64
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert "Traceback" not in captured.err
