"""TPUs that are not here: ``hlo --topology`` and ``devices --topology``."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from jaxtui import cli
from jaxtui.core.model import (
    EngineFailed,
    Event,
    Hello,
    Inspection,
    Noticed,
    Peak,
    Remark,
    RunFinished,
)
from tests.fake_engine import OPS, FakeEngine, tpu_devices
from tests.features.program.test_screen import inspected

needs_libtpu = pytest.mark.skipif(
    importlib.util.find_spec("libtpu") is None,
    reason='libtpu is not installed: pip install "jaxtui[topology]" compiles for TPUs',
)

MATMUL = ("hlo", "matmul:256", "--dtype", "bf16", "--topology", "v5e:2x4")

Run = Callable[..., tuple[int, str, str]]


def compiled(work: Inspection) -> Sequence[Event]:
    shown = inspected(work.case)
    program = replace(shown.program, kernels=2, xla_flops=2.0 * 256**3)
    peak = Peak(flops_per_second=197e12, bytes_per_second=819e9, source="docs")
    work_of = {"flops": 2.0 * 256**3, "bytes": 393216.0, "peak": peak}
    shown = replace(shown, **work_of, program=program, warm_up_seconds=1.0, jaxpr="")
    return [shown, RunFinished(outcome="complete", elapsed_seconds=1.0)]


def engine(answer: Any = compiled) -> FakeEngine:
    return FakeEngine(answer, devices=tpu_devices())


def refusing(code: str) -> FakeEngine:
    remark = Remark(code, {"topology": "v5e:2x4"}, "error", "INVALID: x")
    failed = EngineFailed(remark=remark)
    return FakeEngine(opening=[Noticed(findings=()), Hello(pid=1, ops=OPS), failed])


@pytest.fixture
def document(run: Run) -> Callable[..., Any]:
    def document(*words: str, code: int = 0) -> Any:
        found, out, _ = run(*words, "--json")
        assert found == code
        return json.loads(out)

    return document


def test_the_document_says_everything(capsys: pytest.CaptureFixture[str]) -> None:
    fake = engine()
    assert cli.main([*MATMUL, "--json"], engine=fake) == 0
    assert fake.options is not None
    assert fake.options.topology == "v5e:2x4"
    document = json.loads(capsys.readouterr().out)
    assert document["topology"] == {
        "asked": "v5e:2x4",
        "name": "v5e:2x4",
        "options": {},
        "devices": 8,
        "chips": 8,
        "processes": 1,
    }
    assert document["case"]["dtype"] == "bfloat16"
    assert document["case"]["device"] == "tpu:0"
    assert document["flops"] == document["program"]["xla_flops"] == 2 * 256**3
    # At this size the memory is the bound: 393216 bytes at 819 GB/s.
    assert (document["bytes"], document["bound_by"]) == (393216, "bandwidth")
    assert document["bound_seconds"] == pytest.approx(393216 / 819e9)
    assert document["program"]["kernels"] == 2
    assert document["jaxpr"] == ""
    for stage in ("warm_up", "trace", "lower", "compile"):
        assert document[f"{stage}_seconds"] > 0


def test_the_older_name_does_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for name in ("hlo", "compile"):
        assert cli.main([name, *MATMUL[1:]], engine=engine()) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert max(map(len, printed[0].splitlines())) <= 80
    assert "compiled for one device" in printed[0]
    assert "ENTRY" in printed[0]


def test_an_engine_that_is_lost_is_a_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def lost(work: Inspection) -> Sequence[Event]:
        return [RunFinished(outcome="crashed", elapsed_seconds=1.0)]

    assert cli.main([*MATMUL, "--json"], engine=engine(lost)) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["case"]["size"] == 256
    assert document["program"] is document["trace_seconds"] is None


@pytest.mark.parametrize(
    "words",
    [
        "hlo matmull --topology v5e:2x4",
        "hlo matmul --topology v9z",
        "hlo matmul --topology v5e",
        "devices --topology v5litepod-7",
        "hlo matmul,selu --topology v5e:2x4",
        "hlo selu --dtype int8 --topology v5e:2x4",
        "hlo selu --precision highest --topology v5e:2x4",
        "hlo selu --mode numpy --topology v5e:2x4",
        "hlo selu --device cpu:0 --topology v5e:2x4",
    ],
)
def test_a_mistake_is_answered_before_anything_is_compiled(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = engine()
    assert cli.main(words.split(), engine=fake) == 64
    assert fake.works == []


@pytest.mark.parametrize(
    ("words", "reason", "code"),
    [
        ("hlo matmul --topology v5e:2x4", "topology-refused", 64),
        ("devices --topology v5e:4x8", "topology-refused", 64),
        ("hlo matmul --topology v5e:2x4", "libtpu-missing", 3),
        ("devices --topology v5e:4x8", "libtpu-missing", 3),
    ],
)
def test_what_libtpu_cannot_do(
    words: str, reason: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words.split(), engine=refusing(reason)) == code
    # libtpu keeps its own words.
    assert "INVALID: x" in capsys.readouterr().err


# With libtpu.


@needs_libtpu
@pytest.mark.parametrize(
    ("topology", "kind", "devices", "chips"),
    [
        ("v5e:2x4", "TPU v5 lite", 8, 8),
        ("v4:2x2x1", "TPU v4", 4, 4),
        ("TPU7x:2x2x1", "TPU7x", 8, 4),
    ],
)
def test_a_product_has_two_n_cubed_flops(
    document: Callable[..., Any], topology: str, kind: str, devices: int, chips: int
) -> None:
    found = document("hlo", "matmul:4096", "--dtype", "bf16", "--topology", topology)
    assert found["flops"] == found["program"]["xla_flops"] == 2 * 4096**3
    assert found["device_kind"] == kind
    assert found["topology"]["devices"] == devices
    assert found["topology"]["chips"] == chips
    assert found["program"]["memory"]["arguments_bytes"] == 2 * 2 * 4096**2
    assert found["program"]["memory"]["output_bytes"] == 2 * 4096**2
    assert found["program"]["memory"]["peak_bytes"] >= 3 * 2 * 4096**2
    assert found["bound_by"] == "compute"
    peak = found["peak"]["flops_per_second"]
    assert found["bound_seconds"] == pytest.approx(2 * 4096**3 / peak)
    assert found["program"]["kernels"] >= 1


@needs_libtpu
def test_what_does_not_fit_keeps_the_compilers_words(
    document: Callable[..., Any],
) -> None:
    found = document(
        "hlo", "matmul:128k", "--dtype", "bf16", "--topology", "v5e:2x2", code=1
    )
    assert "available HBM" in found["failure"]["detail"]


@needs_libtpu
def test_a_kernel_of_pallas_is_compiled(document: Callable[..., Any]) -> None:
    words = ("hlo", "selu", "--mode", "pallas", "--dtype", "float32")
    found = document(*words, "--topology", "v5e:2x2")
    assert "custom-call" in found["program"]["instructions"]


@needs_libtpu
@pytest.mark.parametrize(
    ("topology", "code", "says"),
    [
        ("v9:2x2", 64, "Invalid TPU external name"),
        ("v5e:3x5", 64, "chips_per_host_bounds"),
        ("v5e:8", 64, "Invalid topology layout"),
        ("v4:4x4x4_twisted", 64, "Twisted-torus"),
        ("v4-4096", 64, "v4-4096"),
    ],
)
def test_what_libtpu_says_to_a_topology_is_kept(
    run: Run, topology: str, code: int, says: str
) -> None:
    found, _, err = run("devices", "--topology", topology)
    assert found == code
    assert says in err
