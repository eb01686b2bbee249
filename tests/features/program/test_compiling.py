"""What ``hlo`` prints, also of TPUs that are not here, as ``devices`` does."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Sequence
from pathlib import Path
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
from tests.golden.test_documents import check_frozen, pretty

needs_libtpu = pytest.mark.skipif(
    importlib.util.find_spec("libtpu") is None,
    reason='libtpu is not installed: pip install "jaxtui[topology]" compiles for TPUs',
)

Run = Callable[..., tuple[int, str, str]]


def compiled(work: Inspection) -> Sequence[Event]:
    shown = inspected(work.case)
    program = replace(shown.program, kernels=2, xla_flops=2.0 * 256**3)
    peak = Peak(flops_per_second=197e12, bytes_per_second=819e9, source="docs")
    work_of: dict[str, Any] = {"flops": 2.0 * 256**3, "bytes": 393216.0, "peak": peak}
    work_of["jaxpr"] = "let y = dot x x in (y,)"
    shown = replace(shown, **work_of, program=program, warm_up_seconds=1.0)
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


def lost(work: Inspection) -> Sequence[Event]:
    return [RunFinished(outcome="crashed", elapsed_seconds=1.0)]


HLO = "hlo matmul:256 --dtype bf16 --topology v5e:2x4"
DEVICES = "devices --topology v5e:4x8"


@pytest.mark.parametrize(
    ("name", "typed", "engine", "code"),
    [
        ("text", HLO, engine(), 0),
        # The older name does the same.
        ("text", HLO.replace("hlo", "compile"), engine(), 0),
        ("document", f"hlo --json {HLO[4:]}", engine(), 0),
        ("lost", f"hlo --json {HLO[4:]}", engine(lost), 1),
        ("every stage", "hlo matmul:256 --stage all --mode eager", engine(), 0),
        ("a stage", "hlo matmul --size 64 --stage jaxpr --json", engine(), 0),
        ("devices", DEVICES, engine(), 0),
        # libtpu keeps its own words.
        ("refused", HLO, refusing("topology-refused"), 64),
        ("devices refused", DEVICES, refusing("topology-refused"), 64),
        ("missing", HLO, refusing("libtpu-missing"), 3),
        ("devices missing", DEVICES, refusing("libtpu-missing"), 3),
    ],
)
def test_what_is_printed_is_as_it_was(
    name: str,
    typed: str,
    engine: FakeEngine,
    code: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With ``JAXTUI_GOLDEN=write`` in the environment the files are written."""
    assert cli.main(typed.split(), engine=engine) == code
    assert engine.options is not None
    assert engine.options.topology == (typed.partition("--topology ")[2] or None)
    out, err = capsys.readouterr()
    if out.startswith("{"):
        out = pretty(json.loads(out))
    file = Path(__file__).with_name("printed") / f"{name.replace(' ', '-')}.txt"
    check_frozen(file, f"{out}--- stderr\n{err}")


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
    assert len(capsys.readouterr().err.splitlines()) == 1


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
