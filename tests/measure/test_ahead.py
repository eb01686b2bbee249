"""The parts of compiling ahead of time, on the CPU and on recorded texts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import msgspec
import pytest

from jaxtui import child
from jaxtui.measure import ahead as ahead_module
from jaxtui.measure.ahead import answers, bound, compile_ahead, refusal
from jaxtui.measure.ahead_process import environment, libtpu_version
from jaxtui.measure.recipes import ahead
from jaxtui.model import Case, Peak
from jaxtui.model.ahead import (
    LIBTPU_DEFAULTS,
    AheadAnswer,
    AheadCompiled,
    AheadDoing,
    AheadFailed,
    AheadHello,
    AheadReady,
    AheadRefused,
    AheadTook,
    CodeRequest,
    Topology,
)
from jaxtui.scripts import ahead_script
from tests.measure.running import case, own

MATMUL, V5E = case("matmul", 64), Topology(name="v5e:2x4")


def test_stages_come_in_order_and_have_their_clocks() -> None:
    *answers, last = compile_ahead(MATMUL, jax.devices("cpu")[0])
    stages = ["warm-up", "trace", "lower", "compile"]
    doing = [one.stage for one in answers if isinstance(one, AheadDoing)]
    took = [one for one in answers if isinstance(one, AheadTook)]
    assert doing == [one.stage for one in took] == stages
    assert isinstance(last, AheadCompiled)
    one = last.compiled
    assert one.compile_seconds == took[-1].seconds > 0
    # A CPU has no peak and no bound; and nobody wanted the text.
    assert one.peak is one.bound_seconds is one.bound_by is one.hlo is None
    assert one.memory is not None
    assert one.memory.limit_bytes is None


def test_a_product_is_compiled_without_its_data() -> None:
    product = case("matmul", 64, dtype="float64")
    *_, last = compile_ahead(product, jax.devices("cpu")[0], keep_hlo=True)
    assert isinstance(last, AheadCompiled)
    one = last.compiled
    assert one.flops == 2 * 64**3
    assert one.xla_flops == pytest.approx(one.flops, rel=0.05)
    assert one.memory is not None
    assert one.memory.arguments_bytes == 2 * 8 * 64**2
    assert (one.hlo or "").startswith("HloModule")
    assert "f64[64,64]" in (one.hlo or "")


OUT_OF_MEMORY = (
    "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total "
    "memory required for HLO temporaries (48.00G) exceeds available HBM (15.75G). HLO "
    "module: jit_matmul."
)


def test_what_cannot_be_compiled_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def lower(self) -> Full:
            return self

        def compile(self) -> Full:
            raise RuntimeError(OUT_OF_MEMORY)

    made = ahead_module._of_op(case("matmul", 10**6), jax.devices("cpu")[0])
    full = made._replace(jitted=SimpleNamespace(trace=lambda *_: Full()))
    monkeypatch.setattr(ahead_module, "_of_op", lambda *_: full)
    *seen, last = compile_ahead(made.case, jax.devices("cpu")[0])
    took = [one.stage for one in seen if isinstance(one, AheadTook)]
    assert took == ["warm-up", "trace", "lower"]
    assert isinstance(last, AheadFailed)
    assert last.failure.case.size == 10**6
    assert "needs 48.00G of device memory" in last.failure.error
    assert OUT_OF_MEMORY in last.failure.detail


@pytest.mark.parametrize(
    ("flops", "traffic", "rate", "bandwidth", "found"),
    [
        (1000.0, 10.0, 100.0, 10.0, (10.0, "compute")),
        (10.0, 1000.0, 100.0, 10.0, (100.0, "bandwidth")),
        (None, 1000.0, 100.0, 10.0, (100.0, "bandwidth")),
        (1000.0, 10.0, None, 10.0, (1.0, "bandwidth")),
        (1000.0, 10.0, None, None, (None, None)),
    ],
)
def test_the_bound_is_the_larger_of_the_two(
    flops: Any, traffic: float, rate: Any, bandwidth: Any, found: Any
) -> None:
    known = Peak(flops_per_second=rate, bytes_per_second=bandwidth, source="s")
    assert bound(flops, traffic, known) == found


def test_the_environment_leaves_the_own_chips_alone() -> None:
    made = environment({"JAX_PLATFORMS": "tpu", "TPU_ACCELERATOR_TYPE": "v4-8"})
    assert made["JAX_PLATFORMS"] == "cpu"
    assert made["JAX_ENABLE_COMPILATION_CACHE"] == "0"
    assert made["TPU_ACCELERATOR_TYPE"] == "v4-8"
    assert made["TPU_SKIP_MDS_QUERY"] == "1"
    assert environment({}).keys() >= LIBTPU_DEFAULTS.keys()


def test_libtpu_is_looked_for_where_jax_looks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library = tmp_path / "libtpu.so"
    monkeypatch.setenv("TPU_LIBRARY_PATH", str(library))
    without = libtpu_version()
    library.write_bytes(b"")
    assert libtpu_version() == f"of {library}" != without


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("INVALID_ARGUMENT: Invalid TPU external name: TPU v9", 'knows no TPU "v9"'),
        (
            'INVALID_ARGUMENT: Topology layout "v5e:3x5" is not divisible by the given '
            '(or default) chips_per_host_bounds "2x2x1"',
            "hosts of 2x2x1",
        ),
        ("INVALID_ARGUMENT: Invalid topology layout for a single slice: 8", '"8"'),
        (
            "INVALID_ARGUMENT: Twisted-torus requires wrapping in all dimensions.",
            "wrap=1x1x1",
        ),
        (
            "NOT_FOUND: embed://x does not exist.; Failed to obtain chip config "
            '"megacore" for version dragonfish, variant ""',
            'no configuration "megacore"',
        ),
        ("INVALID_ARGUMENT: Unexpected arguments: bogus", 'no option "bogus"'),
        ("INTERNAL: something new", 'refuses the topology "v5e:2x4"'),
    ],
)
def test_refusals_of_libtpu_are_translated_and_kept(text: str, says: str) -> None:
    refused = refusal(RuntimeError(text), V5E)
    assert says in refused.error
    assert refused.detail == f"RuntimeError: {text}"


@pytest.mark.parametrize(
    "one",
    [
        case("matmul", 64, precision="highest"),
        case("matmul", 64, dtype="float64"),
        case("selu", 4096, "pallas"),
        case("gather", 4096, dtype="int8"),
        case("normal", 4096, dtype="bfloat16"),
    ],
)
def test_the_code_is_plain_jax(one: Case) -> None:
    topology = Topology(name="v5e:2x4", options={"chips_per_host_bounds": (2, 4, 1)})
    script = ahead_script(one, topology, ahead(one))
    compile(script, "case.py", "exec")
    assert "import jaxtui" not in script
    assert 'topology_name="v5e:2x4"' in script
    assert "chips_per_host_bounds=(2, 4, 1)" in script
    assert ("jax_enable_x64" in script) == (one.dtype == "float64")
    # It sets what the process that compiles sets.
    for name, value in LIBTPU_DEFAULTS.items():
        assert f'"{name}", "{value}"' in script
    assert script.index("os.environ") < script.index("import jax\n")


def test_what_does_not_run_on_a_tpu_is_refused() -> None:
    one = case("fft", 64, dtype="float64")
    (refused,) = answers(CodeRequest(topology=V5E, case=one))
    assert isinstance(refused, AheadRefused)
    assert "does not run in float64 on a TPU" in refused.error


def test_the_process_answers_on_a_descriptor_of_its_own() -> None:
    request = CodeRequest(topology=V5E, case=case("matmull", 64))
    mine, theirs = os.pipe()
    command = [*child.command("jaxtui.measure.ahead_process"), "--answers", str(theirs)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[theirs]
    )
    os.close(theirs)
    # Its stdin stays open: it would take the end of that for the end of who asked.
    with process, os.fdopen(mine, "rb") as pipe:
        assert process.stdin
        process.stdin.write(msgspec.json.encode(request) + b"\n")
        process.stdin.flush()
        decoder = msgspec.json.Decoder(AheadAnswer)
        hello, ready, refused = map(decoder.decode, pipe)
        assert process.wait(180) == 0
        assert process.stdout
        assert process.stdout.read() == b""
    assert isinstance(hello, AheadHello)
    assert isinstance(ready, AheadReady)
    assert ready.jax == jax.__version__
    assert "matmul" in [op.name for op in ready.ops]
    assert isinstance(refused, AheadRefused)
    assert "did you mean matmul" in refused.error


def test_a_function_of_a_file_is_compiled_with_its_arguments_as_shapes() -> None:
    *answers, last = compile_ahead(own("step", size=16), jax.devices("cpu")[1])
    doing = [one.stage for one in answers if isinstance(one, AheadDoing)]
    assert doing == ["inputs", "warm-up", "trace", "lower", "compile"]
    assert isinstance(last, AheadCompiled)
    found = last.compiled
    assert (found.case.size, found.case.device) == (16, "cpu:1")
    # XLA counts its work, and no formula bounds it.
    assert found.flops is found.bytes is found.bound_seconds is None
    assert found.xla_flops
    typed = own("square", "bf16[64,64]")
    *_, last = compile_ahead(typed, jax.devices("cpu")[0], keep_hlo=True)
    assert isinstance(last, AheadCompiled)
    assert "bf16[64,64]" in (last.compiled.hlo or "")


@pytest.mark.parametrize(
    ("name", "args", "says"),
    [("step", "f32[8]", "step"), ("add", "", "nothing says what to give it")],
)
def test_a_function_that_cannot_be_compiled_is_a_failure(
    name: str, args: str, says: str
) -> None:
    *_, last = compile_ahead(own(name, args), jax.devices("cpu")[0])
    assert isinstance(last, AheadFailed)
    assert says in last.failure.error
