"""The parts of compiling ahead of time, on the CPU and on recorded texts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import jax
import msgspec
import pytest

from jaxtui import child
from jaxtui.measure import programs
from jaxtui.measure.ahead import answers, bound, compile_ahead, refusal
from jaxtui.measure.ahead_process import environment, libtpu_version
from jaxtui.measure.peaks import memory, peak
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
    Compiled,
    Topology,
)
from jaxtui.scripts import ahead_script

SOFTMAX = """\
HloModule jit_softmax, is_scheduled=true

%region_0.1 (a.3: f32[], b.4: f32[]) -> f32[] {
  %b.4 = f32[]{:T(128)} parameter(1), metadata={op_name="reduce_max"}
  ROOT %reduce_max.5 = f32[]{:T(128)} maximum(%a.3, %b.4)
}

ENTRY %main.3 (x.1: f32[4096,4096]) -> f32[4096,4096] {
  %constant.3 = f32[]{:T(128)} constant(-inf)
  %x.1 = f32[4096,4096]{1,0:T(8,128)} parameter(0), sharding={mesh[], [{}, {}]}
  %copy-start = (f32[4096,4096]{1,0:T(8,128)S(1)}, u32[]{:S(2)}) copy-start(%x.1)
  %reduce_max.7 = f32[4096]{0:T(1024)S(1)} reduce(%x.1, %constant.3), dimensions={1}
  %copy-done = f32[4096,4096]{1,0:T(8,128)S(1)} copy-done(%copy-start)
  %fusion.1 = f32[4096]{0:T(1024)S(1)} fusion(%copy-done, %reduce_max.7), kind=kLoop
  %pair = (f32[4096]{0}, f32[4096]{0}) tuple(%fusion.1, %reduce_max.7)
  ROOT %fusion = f32[4096,4096]{1,0:T(8,128)} fusion(%copy-done, %fusion.1), kind=kLoop
}
"""
"""What XLA made of a softmax for a TPU v5e, shortened."""


def case(**changed: object) -> Case:
    plain = Case(op="matmul", size=64, dtype="float32", device="cpu:0", mode="jit")
    return msgspec.structs.replace(plain, **changed)


def compiled(one: Case, *, keep_hlo: bool = False) -> Compiled:
    *_, last = compile_ahead(one, jax.devices("cpu")[0], keep_hlo=keep_hlo)
    assert isinstance(last, AheadCompiled)
    return last.compiled


def test_what_does_something_is_counted_once() -> None:
    assert programs.instructions(SOFTMAX) == {"fusion": 2, "copy": 1, "reduce": 1}


def test_a_text_without_an_entry_is_not_counted() -> None:
    assert programs.instructions("module @jit_f {}") is None


def test_the_program_of_this_jax_can_be_counted() -> None:
    text = jax.jit(lambda a: a @ a + 1).lower(jax.numpy.ones((64, 64))).compile()
    counted = programs.instructions(text.as_text() or "")
    assert counted is not None
    assert sum(counted.values()) >= 1
    assert "parameter" not in counted


def test_stages_come_in_order_and_have_their_clocks() -> None:
    answers = list(compile_ahead(case(), jax.devices("cpu")[0]))
    stages = ["warm-up", "trace", "lower", "compile"]
    doing = [one.stage for one in answers if isinstance(one, AheadDoing)]
    took = [one for one in answers if isinstance(one, AheadTook)]
    assert doing == [one.stage for one in took] == stages
    last = answers[-1]
    assert isinstance(last, AheadCompiled)
    assert last.compiled.compile_seconds == took[-1].seconds > 0


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "int8"])
def test_a_product_is_compiled_without_its_data(dtype: str) -> None:
    one = compiled(case(dtype=dtype), keep_hlo=True)
    assert one.flops == 2 * 64**3
    assert one.xla_flops == pytest.approx(one.flops, rel=0.05)
    size = {"float64": 8, "float32": 4, "bfloat16": 2, "int8": 1}[dtype]
    assert one.memory is not None
    assert one.memory.arguments_bytes == 2 * size * 64**2
    assert one.hlo is not None
    assert one.hlo.startswith("HloModule")
    short = {"float64": "f64", "float32": "f32", "bfloat16": "bf16", "int8": "s8"}
    assert f"{short[dtype]}[64,64]" in one.hlo


def test_a_cpu_has_no_peak_and_no_bound() -> None:
    one = compiled(case())
    assert one.peak is None
    assert one.bound_seconds is None
    assert one.bound_by is None
    assert one.memory is not None
    assert one.memory.limit_bytes is None
    assert one.hlo is None


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

    answers = compile_ahead(case(size=10**6), jax.devices("cpu")[0])
    # The small program that comes first is really compiled.
    seen = [next(answers), next(answers)]
    monkeypatch.setattr(
        jax, "jit", lambda form: SimpleNamespace(trace=lambda *_: Full())
    )
    *seen, last = [*seen, *answers]
    took = [one.stage for one in seen if isinstance(one, AheadTook)]
    assert took == ["warm-up", "trace", "lower"]
    assert isinstance(last, AheadFailed)
    assert last.failure.case.size == 10**6
    assert "needs 48.00G of device memory" in last.failure.error
    assert OUT_OF_MEMORY in last.failure.detail


def test_the_bound_is_the_larger_of_the_two() -> None:
    both = Peak(flops_per_second=100.0, bytes_per_second=10.0, source="s")
    assert bound(1000.0, 10.0, both) == (10.0, "compute")
    assert bound(10.0, 1000.0, both) == (100.0, "bandwidth")
    assert bound(None, 1000.0, both) == (100.0, "bandwidth")
    assert bound(1000.0, 10.0, None) == (None, None)
    memory_only = Peak(flops_per_second=None, bytes_per_second=10.0, source="s")
    assert bound(1000.0, 10.0, memory_only) == (1.0, "bandwidth")
    nothing = Peak(flops_per_second=None, bytes_per_second=None, source="s")
    assert bound(1000.0, 10.0, nothing) == (None, None)


def test_the_bound_of_a_large_product_on_a_v5e() -> None:
    v5e = peak("TPU v5 lite", "bfloat16")
    seconds, by = bound(2 * 8192**3, 3 * 2 * 8192**2, v5e)
    assert by == "compute"
    assert seconds == pytest.approx(5.58e-3, rel=0.01)


@pytest.mark.parametrize(
    ("kind", "gibibytes"),
    [
        ("TPU v5 lite", 16),
        ("TPU v4", 32),
        ("TPU v3", 16),  # 32 per chip, which is two devices
        ("TPU7x", 96),  # 192 per chip, which is two devices
    ],
)
def test_the_memory_of_a_device_is_its_part_of_the_chip(
    kind: str, gibibytes: int
) -> None:
    found = memory(kind)
    assert found is not None
    assert found[0] == gibibytes * 2**30
    assert found[1]
    assert memory("cpu") is None


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
        ("INTERNAL: something new", 'refuses the topology "v5e:3x5"'),
    ],
)
def test_refusals_of_libtpu_are_translated_and_kept(text: str, says: str) -> None:
    refused = refusal(RuntimeError(text), Topology(name="v5e:3x5"))
    assert says in refused.error
    assert refused.detail == f"RuntimeError: {text}"


@pytest.mark.parametrize(
    "one",
    [
        case(precision="highest"),
        case(dtype="float64"),
        case(op="selu", size=4096, mode="pallas"),
        case(op="gather", size=4096, dtype="int8"),
        case(op="normal", size=4096, dtype="bfloat16"),
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
    assert all(
        f'"{name}", "{value}"' in script for name, value in LIBTPU_DEFAULTS.items()
    )
    assert script.index("os.environ") < script.index("import jax\n")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"op": "selu", "size": 0}, "selu has no size 0"),
        ({"op": "gather", "size": 2**31, "dtype": "int8"}, "its indices are int32"),
        ({"op": "fft", "dtype": "float64"}, "does not run in float64 on a TPU"),
    ],
)
def test_what_the_op_does_not_take_is_refused(
    changed: dict[str, object], says: str
) -> None:
    request = CodeRequest(topology=Topology(name="v5e:2x4"), case=case(**changed))
    (refused,) = answers(request)
    assert isinstance(refused, AheadRefused)
    assert says in refused.error


def test_the_process_answers_on_a_descriptor_of_its_own() -> None:
    topology = Topology(name="v5e:2x4")
    request = CodeRequest(topology=topology, case=case(op="matmull"))
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
