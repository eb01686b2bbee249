"""``jaxtui compile`` and ``devices --topology``: what is said, and how they go wrong.

The process that compiles is a fake, except where libtpu is installed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jaxtui import child
from jaxtui.machine import topologies
from tests.processes import LIMIT_SECONDS, Running, alive, python

FAKE = Path(__file__).with_name("fake_aot.py")

needs_libtpu = pytest.mark.skipif(
    importlib.util.find_spec("libtpu") is None,
    reason='libtpu is not installed: pip install "jaxtui[topology]" compiles for TPUs',
)

MATMUL = ("compile", "matmul", "--size", "256", "--topology", "v5e:2x4")

Run = Callable[..., tuple[int, str, str]]


def fake(what: str) -> tuple[str, str]:
    """The options that put the fake in the place of Python."""
    return "--python", shlex.join([sys.executable, str(FAKE), what])


@pytest.fixture
def document(run: Run) -> Callable[..., Any]:
    def document(*words: str, code: int = 0) -> Any:
        found, out, _ = run(*words, "--json")
        assert found == code
        return json.loads(out)

    return document


# What is printed.


def test_the_document_says_everything(run: Run) -> None:
    code, out, err = run(*MATMUL, *fake("answer"), "--json")
    assert code == 0
    assert "Gloo" not in out + err  # C++ has printed it
    document = json.loads(out)
    assert document["topology"] == {
        "asked": "v5e:2x4",
        "name": "v5e:2x4",
        "options": {},
        "devices": 8,
        "chips": 8,
        "processes": 2,
    }
    assert document["case"]["dtype"] == "bfloat16"
    assert document["case"]["device"] == "tpu:0"
    assert document["flops"] == document["xla_flops"] == 2 * 256**3
    assert document["memory"]["limit_bytes"] == 16 * 2**30
    # At this size the memory is the bound: 393216 bytes at 819 GB/s.
    assert (document["bytes"], document["bound_by"]) == (393216, "bandwidth")
    assert document["bound_seconds"] == pytest.approx(393216 / 819e9)
    assert "docs.cloud.google.com/tpu" in document["source"]
    assert document["kernels"] == sum(document["instructions"].values()) >= 1
    assert (document["libtpu"], document["jax"]) == ("0.0.50.1", "0.12.0.1")
    for stage in ("warm_up", "trace", "lower", "compile"):
        assert document[f"{stage}_seconds"] > 0


def test_the_report_is_no_wider_than_a_terminal(run: Run) -> None:
    code, out, _ = run(*MATMUL, *fake("answer"))
    assert code == 0
    report, hlo = out.split("HloModule", 1)
    assert max(map(len, report.splitlines())) <= 80
    for part in (
        "matmul 256 bfloat16 jit on tpu:0 of v5e:2x4",
        "not run",
        "33,554,432",
        "lower bound 480 ns per call, by memory bandwidth",
        "peaks: docs.cloud.google.com",
        "program: 2 kernels: 1 copy, 1 fusion",
    ):
        assert part in report
    assert "ENTRY" in hlo


# How it goes wrong.


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ("abort", "crashed (SIGABRT) while XLA compiled the op. It printed: shape.h:"),
        ("killed", "when memory runs out"),
        ("cut", "ended by itself (exit code 0)"),  # in the middle of an answer
        ("hang", "given up after 1 s, while XLA compiled the op"),
    ],
)
def test_what_ends_without_an_answer_is_a_named_failure(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str, error: str
) -> None:
    pid = tmp_path / "pid"
    monkeypatch.setenv("FAKE_AOT_PID", str(pid))
    limit = ("--limit", "1") if what == "hang" else ()
    code, out, _ = run(*MATMUL, *fake(what), *limit, "--json")
    found = json.loads(out)
    assert code == 1
    assert error in found["failure"]["error"]
    assert ("--limit" if limit else "fault of libtpu") in found["failure"]["hint"]
    assert found["trace_seconds"] > 0  # what had arrived is kept
    assert found["kernels"] is None
    assert not limit or not alive(int(pid.read_text()))


def test_what_libtpu_printed_stands_below_the_report(run: Run) -> None:
    code, out, err = run(*MATMUL, *fake("abort"))
    assert code == 1
    assert "failed: matmul 256 bfloat16 jit on tpu:0 of v5e:2x4" in out
    assert "some warning of C++" in err
    assert "symbolize" not in err


@pytest.mark.parametrize(
    ("typed", "what", "code", "says"),
    [
        ("", "broken", 3, "No module named 'jaxtui.measure.aot'"),
        ("", "missing", 3, 'pip install "jaxtui[topology]"'),
        ("", "without-jax", 3, "JAX cannot be imported."),
        ("", "garbage", 3, "cannot be read"),
        ("", "out-of-topology", 3, "crashed (SIGFPE) while it described the topology"),
        # libtpu keeps its own words.
        ("", "refuse", 64, "No such TPU.\nINVALID: x"),
        # The catalogue answers mistakes about ops.
        ("compile matmull", "answer", 64, "Did you mean matmul?"),
        ("compile matmul,selu", "answer", 64, "One op at a time"),
        ("compile selu --dtype int8", "answer", 64, "selu does not take int8"),
        ("compile matmul --mode pallas", "answer", 64, "matmul has no mode pallas"),
        ("compile selu --precision highest", "answer", 64, "for matrix products"),
        # What is not recorded needs libtpu.
        ("devices --topology v5e:4x8", "missing", 3, "v5litepod-16"),
        ("devices", "out-of-topology", 3, "SIGFPE"),
    ],
)
def test_what_cannot_run_says_so_in_a_sentence(
    run: Run, typed: str, what: str, code: int, says: str
) -> None:
    words = typed.split() or list(MATMUL)
    if "--topology" not in words:
        words += ["--topology", "v5e:2x4"]
    interpreter = fake(what) if "/" not in what else ("--python", what)
    found, out, err = run(*words, *interpreter, "--json")
    assert (found, out) == (code, "")
    assert says in err


def test_ctrl_c_ends_the_process_too(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    hanging = {**os.environ, "FAKE_AOT_PID": str(pid)}
    waiting = Running(*MATMUL, *fake("hang"), "--json", env=hanging)
    waiting.until(lambda: pid.exists() and pid.read_text())
    waiting.signal(signal.SIGINT)
    code, out = waiting.ended()
    assert code == 130
    document = json.loads(out)
    assert document["failure"]["error"] == "The compile was interrupted."
    assert document["lower_seconds"] > 0
    assert "Traceback" not in waiting.said
    assert not alive(int(pid.read_text()))


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel to kill it")
def test_the_process_ends_with_who_asked() -> None:
    command = [*child.command("jaxtui.measure.ahead_process"), "--answers", "2"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin
    assert process.stderr
    assert "AheadHello" in process.stderr.readline()
    process.stdin.close()
    assert process.wait(LIMIT_SECONDS) == 1


# Devices of topologies.


def test_a_topology_is_described_by_libtpu(run: Run) -> None:
    code, out, _ = run("devices", "--topology", "v5e:2x4", *fake("answer"))
    assert code == 0
    assert out.startswith("v5e:2x4, from libtpu 0.0.50.1; not this machine.")
    assert "tpu:7" in out
    assert "8 chips, 2 processes" in out


def test_a_recorded_one_stands_in_where_libtpu_is_missing(
    run: Run, document: Callable[..., Any]
) -> None:
    code, out, _ = run("devices", "--topology", "v5e:2x4", *fake("missing"))
    assert code == 0
    assert out.startswith("RECORDED: v5litepod-8-2-hosts")
    found = document("devices", "--topology", "v5e-16", *fake("missing"))
    assert len(found["devices"]) == 16


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
    document: Callable[..., Any], topology: str, kind: str, devices: int, chips: int
) -> None:
    found = document("compile", "matmul:4096", "--topology", topology)
    assert found["flops"] == found["xla_flops"] == 2 * 4096**3
    assert found["device_kind"] == kind
    assert found["topology"]["devices"] == devices
    assert found["topology"]["chips"] == chips
    assert found["memory"]["arguments_bytes"] == 2 * 2 * 4096**2
    assert found["memory"]["output_bytes"] == 2 * 4096**2
    assert found["memory"]["peak_bytes"] >= 3 * 2 * 4096**2
    assert found["bound_by"] == "compute"
    peak = found["peak"]["flops_per_second"]
    assert found["bound_seconds"] == pytest.approx(2 * 4096**3 / peak)
    assert found["kernels"] >= 1


@needs_libtpu
def test_what_does_not_fit_is_said_to(document: Callable[..., Any]) -> None:
    found = document("compile", "matmul:128k", "--topology", "v5e", code=1)
    failure = found["failure"]
    assert "needs 96.00G of device memory; the device has 15.75G" in failure["error"]
    assert "E1000" in failure["detail"]


@needs_libtpu
def test_a_kernel_of_pallas_is_compiled(document: Callable[..., Any]) -> None:
    words = ("compile", "selu", "--mode", "pallas", "--dtype", "float32")
    found = document(*words, "--topology", "v5e")
    assert "custom-call" in found["instructions"]


@needs_libtpu
@pytest.mark.parametrize("name", ["v5litepod-16", "v4-16", "tpu7x-8", "2x-v5litepod-8"])
def test_libtpu_describes_what_was_recorded(
    document: Callable[..., Any], name: str
) -> None:
    label = topologies.topology_of(name).label
    described = document("devices", "--topology", label)["devices"]
    assert described == document("devices", "--topology", name)["devices"]


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
    run: Run, topology: str, code: int, says: str
) -> None:
    found, _, err = run("devices", "--topology", topology)
    assert found == code
    assert says in err


def test_the_code_is_written_without_libtpu(run: Run) -> None:
    code, text, _ = run("compile", "matmul:64", "--topology", "v4", "--code")
    assert code == 0
    compile(text, "case.py", "exec")
    assert 'topology_name="v4:2x2x1"' in text


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
    run: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    code, text, _ = run("compile", *words, "--topology", "v4", "--code")
    assert code == 0
    script = tmp_path / "case.py"
    script.write_text(text)
    done = python(script)
    assert done.returncode == 0, done.stderr
    assert "CompiledMemoryStats" in done.stdout
    assert "ENTRY" in done.stdout
