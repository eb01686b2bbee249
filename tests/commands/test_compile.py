"""``jaxtui compile`` and ``devices --topology``: what is said, and how they go wrong.

The process that compiles is a fake, except where libtpu is installed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import select
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jaxtui import child, cli
from jaxtui.commands.compile_process import last_words
from jaxtui.machine import topologies
from tests.commands.fake_aot import NOISE

FAKE = Path(__file__).with_name("fake_aot.py")
DEADLINE_SECONDS = 180.0

needs_libtpu = pytest.mark.skipif(
    importlib.util.find_spec("libtpu") is None,
    reason='libtpu is not installed: pip install "jaxtui[topology]" compiles for TPUs',
)

MATMUL = ("compile", "matmul", "--size", "256", "--topology", "v5e:2x4")


def fake(what: str) -> tuple[str, str]:
    """The options that put the fake in the place of Python."""
    return "--python", shlex.join([sys.executable, str(FAKE), what])


def run(*words: str) -> int:
    return cli.main(words)


def json_of(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


# What is printed.


def test_the_document_says_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*MATMUL, *fake("answer"), "--json") == 0
    out, err = capsys.readouterr()
    assert "Gloo" not in out + err  # C++ has printed it
    document = json.loads(out)
    assert document["schema"] == 1
    assert document["case"]["op"] == "matmul"
    assert document["case"]["dtype"] == "bfloat16"
    assert document["case"]["device"] == "tpu:0"
    assert document["topology"] == {
        "asked": "v5e:2x4",
        "name": "v5e:2x4",
        "options": {},
        "devices": 8,
        "chips": 8,
        "processes": 2,
    }
    assert document["device_kind"] == "TPU v5 lite"
    assert (document["libtpu"], document["jax"]) == ("0.0.50.1", "0.12.0.1")
    assert document["flops"] == document["xla_flops"] == 2 * 256**3
    assert document["bytes"] == 3 * 2 * 256**2
    memory = document["memory"]
    assert memory["arguments_bytes"] == 2 * 2 * 256**2
    assert memory["output_bytes"] == 2 * 256**2
    assert memory["limit_bytes"] == 16 * 2**30
    # At this size the memory is the bound: 393216 bytes at 819 GB/s.
    assert document["bound_by"] == "bandwidth"
    assert document["bound_seconds"] == pytest.approx(393216 / 819e9)
    assert "docs.cloud.google.com/tpu" in document["source"]
    assert document["kernels"] == sum(document["instructions"].values()) >= 1
    for stage in ("warm_up", "trace", "lower", "compile"):
        assert document[f"{stage}_seconds"] > 0
    assert document["failure"] is None


def test_the_report_is_no_wider_than_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(*MATMUL, *fake("answer")) == 0
    out = capsys.readouterr().out
    report, hlo = out.split("HloModule", 1)
    assert max(map(len, report.splitlines())) <= 80
    assert "matmul 256 bfloat16 jit on tpu:0 of v5e:2x4" in report
    assert "not run" in report
    assert "33,554,432" in report
    assert "lower bound" in report
    assert "no prediction" in report
    assert "peaks: docs.cloud.google.com" in report
    assert "program: 2 kernels: 1 copy, 1 fusion" in report
    assert "ENTRY" in hlo


# How it goes wrong.


def test_an_abort_is_a_named_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*MATMUL, *fake("abort"), "--json") == 1
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    failure = document["failure"]
    assert "crashed (SIGABRT) while XLA compiled the op" in failure["error"]
    assert "shape.h:847] Check failed: buffer != nullptr" in failure["error"]
    assert "fault of libtpu" in failure["hint"]
    assert "some warning of C++" in failure["detail"]
    # What had arrived is kept.
    assert document["trace_seconds"] > 0
    assert document["compile_seconds"] is None
    assert document["kernels"] is None


def test_an_abort_is_told_in_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*MATMUL, *fake("abort")) == 1
    captured = capsys.readouterr()
    assert "failed: matmul 256 bfloat16 jit on tpu:0 of v5e:2x4" in captured.out
    assert "lower " in captured.out
    assert "some warning of C++" in captured.err
    assert "symbolize" not in captured.err


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("killed", "when memory runs out"),
        ("cut", "ended by itself (exit code 0)"),  # in the middle of an answer
    ],
)
def test_an_end_without_an_answer_is_told(
    capsys: pytest.CaptureFixture[str], what: str, says: str
) -> None:
    assert run(*MATMUL, *fake(what), "--json") == 1
    assert says in json_of(capsys)["failure"]["error"]


def test_a_compile_that_takes_too_long_is_given_up(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    pid = tmp_path / "pid"
    monkeypatch.setenv("FAKE_AOT_PID", str(pid))
    assert run(*MATMUL, *fake("hang"), "--limit", "1", "--json") == 1
    failure = json_of(capsys)["failure"]
    assert "given up after 1 s, while XLA compiled the op" in failure["error"]
    assert "--limit" in failure["hint"]
    assert gone(int(pid.read_text()))


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("broken", "No module named 'jaxtui.measure.aot'"),
        ("missing", 'pip install "jaxtui[topology]"'),
        ("without-jax", "JAX cannot be imported."),
        ("garbage", "cannot be read"),
        ("out-of-topology", "crashed (SIGFPE) while it described the topology"),
        ("/nowhere/python", '"/nowhere/python" could not be started'),
    ],
)
def test_what_cannot_run_says_so_in_a_sentence(
    capsys: pytest.CaptureFixture[str], what: str, says: str
) -> None:
    python = fake(what) if "/" not in what else ("--python", what)
    assert run(*MATMUL, *python, "--json") == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert says in captured.err
    assert "Traceback" not in captured.err


def test_what_libtpu_refuses_keeps_its_own_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(*MATMUL, *fake("refuse")) == 64
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "No such TPU.\nINVALID: x" in captured.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("compile", "matmull"), "Did you mean matmul?"),
        (("compile", "matmul,selu"), "One op at a time"),
        (("compile", "selu", "--dtype", "int8"), "selu does not take int8"),
        (("compile", "matmul", "--mode", "pallas"), "matmul has no mode pallas"),
        (("compile", "selu", "--precision", "highest"), "for matrix products"),
    ],
)
def test_a_mistake_about_ops_is_answered_by_the_catalogue(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    assert run(*words, "--topology", "v5e:2x4", *fake("answer")) == 64
    assert says in capsys.readouterr().err


def test_ctrl_c_ends_the_process_too(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    os.mkfifo(pid)
    command = [sys.executable, "-m", "jaxtui", *MATMUL, *fake("hang"), "--json"]
    waiting = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "FAKE_AOT_PID": str(pid)},
    )
    hanging = int(first_words(pid))
    waiting.send_signal(signal.SIGINT)
    out, err = waiting.communicate(timeout=DEADLINE_SECONDS)
    assert waiting.returncode == 130
    document = json.loads(out)
    assert document["failure"]["error"] == "The compile was interrupted."
    assert document["lower_seconds"] > 0
    assert b"Traceback" not in err
    assert gone(hanging)


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel to kill it")
def test_the_process_ends_with_who_asked(tmp_path: Path) -> None:
    command = [*child.command("jaxtui.measure.ahead_process"), "--answers", "2"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin
    assert process.stderr
    assert "AheadHello" in process.stderr.readline()
    process.stdin.close()
    assert process.wait(DEADLINE_SECONDS) == 1


# Devices of topologies.


def test_a_topology_is_described_by_libtpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("devices", "--topology", "v5e:2x4", *fake("answer")) == 0
    out = capsys.readouterr().out
    assert out.startswith("v5e:2x4, from libtpu 0.0.50.1; not this machine.")
    assert "tpu:7" in out
    assert "8 chips, 2 processes" in out


def test_a_recorded_one_stands_in_where_libtpu_is_missing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("devices", "--topology", "v5e:2x4", *fake("missing")) == 0
    assert capsys.readouterr().out.startswith("RECORDED: v5litepod-8-2-hosts")
    assert run("devices", "--topology", "v5e-16", *fake("missing"), "--json") == 0
    assert len(json_of(capsys)["devices"]) == 16


def test_what_is_not_recorded_needs_libtpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("devices", "--topology", "v5e:4x8", *fake("missing")) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert 'pip install "jaxtui[topology]"' in captured.err
    assert "v5litepod-16" in captured.err
    assert run("devices", "--topology", "v5e:2x4", *fake("out-of-topology")) == 3
    assert "SIGFPE" in capsys.readouterr().err


def test_the_last_words_are_those_that_say_why() -> None:
    assert last_words(NOISE.splitlines()) == (
        "shape.h:847] Check failed: buffer != nullptr"
    )
    assert last_words(["Traceback …", "ValueError: no"]) == "Traceback … ValueError: no"
    assert last_words([]) == ""


# With libtpu.


@needs_libtpu
@pytest.mark.parametrize(
    ("topology", "kind", "devices", "chips"),
    [
        ("v5e:2x4", "TPU v5 lite", 8, 8),
        ("v4", "TPU v4", 4, 4),
        ("v6e-8", "TPU v6 lite", 8, 8),
        ("TPU7x:2x2x1", "TPU7x", 8, 4),
    ],
)
def test_a_product_has_two_n_cubed_flops(
    capsys: pytest.CaptureFixture[str],
    topology: str,
    kind: str,
    devices: int,
    chips: int,
) -> None:
    words = ("compile", "matmul:4096", "--topology", topology, "--json")
    assert run(*words) == 0
    document = json_of(capsys)
    assert document["flops"] == document["xla_flops"] == 2 * 4096**3
    assert document["device_kind"] == kind
    assert document["topology"]["devices"] == devices
    assert document["topology"]["chips"] == chips
    assert document["memory"]["arguments_bytes"] == 2 * 2 * 4096**2
    assert document["memory"]["output_bytes"] == 2 * 4096**2
    assert document["memory"]["peak_bytes"] >= 3 * 2 * 4096**2
    assert document["bound_by"] == "compute"
    peak = document["peak"]["flops_per_second"]
    assert document["bound_seconds"] == pytest.approx(2 * 4096**3 / peak)
    assert document["kernels"] >= 1


@needs_libtpu
def test_what_does_not_fit_is_said_to(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("compile", "matmul:128k", "--topology", "v5e", "--json")
    assert run(*words) == 1
    failure = json_of(capsys)["failure"]
    assert "needs 96.00G of device memory; the device has 15.75G" in failure["error"]
    assert "E1000" in failure["detail"]


@needs_libtpu
def test_a_kernel_of_pallas_is_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("compile", "selu", "--mode", "pallas", "--dtype", "float32")
    assert run(*words, "--topology", "v5e", "--json") == 0
    assert "custom-call" in json_of(capsys)["instructions"]


@needs_libtpu
@pytest.mark.parametrize("name", ["v5litepod-16", "v4-16", "tpu7x-8", "2x-v5litepod-8"])
def test_libtpu_describes_what_was_recorded(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    label = topologies.topology_of(name).label
    assert run("devices", "--topology", label, "--json") == 0
    described = json_of(capsys)["devices"]
    assert run("devices", "--topology", name, "--json") == 0
    assert described == json_of(capsys)["devices"]


@needs_libtpu
@pytest.mark.parametrize(
    ("topology", "code", "says"),
    [
        ("v9:2x2", 64, 'libtpu knows no TPU "v9"'),
        ("v5e:3x5", 64, "cannot be shared out among hosts of 2x2x1"),
        ("v5e:8", 64, 'The layout "8" has too few dimensions'),
        ("v4:4x4x4_twisted", 64, "add ,wrap=1x1x1"),
        ("v5e:2x4,bogus=1", 64, 'no option "bogus"'),
        ("v3:2x2,chip_config_name=megacore", 64, 'no configuration "megacore"'),
        # Check failed: Init(sizes, enable_route_cache) is OK.
        ("v4:4x4x4_twisted,wrap=1x1x1", 3, "crashed (SIGABRT)"),
    ],
)
def test_what_libtpu_says_to_a_topology_is_translated(
    capsys: pytest.CaptureFixture[str], topology: str, code: int, says: str
) -> None:
    assert run("devices", "--topology", topology) == code
    assert says in capsys.readouterr().err


@needs_libtpu
@pytest.mark.parametrize(
    "words",
    [
        ("matmul:64", "--dtype", "float32", "--precision", "highest"),
        ("selu:4096", "--dtype", "float32", "--mode", "pallas"),
        ("normal:4096", "--dtype", "float64"),
    ],
)
def test_the_code_does_the_same_without_jaxtui(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    assert run("compile", *words, "--topology", "v4", "--code") == 0
    script = tmp_path / "case.py"
    script.write_text(capsys.readouterr().out)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=True,
    )
    assert "CompiledMemoryStats" in done.stdout
    assert "ENTRY" in done.stdout


def first_words(pipe: Path) -> bytes:
    """What somebody writes into a named pipe, waiting for it."""
    fd = os.open(pipe, os.O_RDWR)
    try:
        assert select.select([fd], [], [], DEADLINE_SECONDS)[0], "nobody wrote"
        return os.read(fd, 100)
    finally:
        os.close(fd)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
