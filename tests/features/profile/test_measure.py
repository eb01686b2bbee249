"""Profiles of traces: whose time each moment is, by lines, on every kind of device."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxtui.core.model import WorkFailed
from jaxtui.core.model.profile import Kernel, Profile, Profiling
from jaxtui.features.profile import measure as profile
from jaxtui.features.profile.judge import place, remarks, rows
from jaxtui.features.profile.measure import NoProfileError, case
from jaxtui.features.profile.measure.case import places
from jaxtui.features.profile.measure.steps import STEP
from jaxtui.ui import words
from jaxtui.xla import traces
from tests.tasks import running
from tests.tasks.spaces import Event, Line, Named, Plane, event, space

MS = 10**9
"""Picoseconds."""


def step(number: int, start: float, end: float) -> Event:
    return event(STEP, ms(start), ms(end - start), step_num=number)


def ms(time: float) -> int:
    return round(time * MS)


def on_cpu(name: str, start: float, end: float, **stats: Any) -> Event:
    known = {"hlo_op": name, "hlo_module": "jit_f", "program_id": 1, "run_id": 1}
    return event(name, ms(start), ms(end - start), **{**known, **stats})


def read(*planes: Plane) -> Profile:
    return profile.read(traces.read(space(*planes)), "a trace")


def cpu(*lines: tuple[Event, ...], host: tuple[Event, ...] = ()) -> Profile:
    threads = [Line(f"a thread/{at}", events) for at, events in enumerate(lines)]
    return read(Plane("/host:CPU", (Line("python", host), *threads)))


def own(found: Profile) -> dict[str, float]:
    """Its own milliseconds in a step, by kernel."""
    return {each.name: round(1e3 * each.self_seconds, 6) for each in found.kernels}


def adds_up(found: Profile) -> None:
    spent = sum(each.self_seconds for each in found.kernels)
    assert spent == pytest.approx(found.busy_seconds)
    assert spent + found.idle_seconds == pytest.approx(found.step_seconds)


def of(found: Profile, name: str) -> Kernel:
    return next(each for each in found.kernels if each.name == name)


def test_a_loop_holds_its_body() -> None:
    body = [on_cpu("add.1", 2, 3), on_cpu("add.1", 4, 6)]
    found = cpu((on_cpu("while.2", 1, 8), *body), host=(step(0, 0, 10),))
    assert own(found) == {"while.2": 4.0, "add.1": 3.0}
    assert of(found, "while.2").total_seconds == pytest.approx(7e-3)
    assert of(found, "add.1").count == 2
    assert found.idle_seconds == pytest.approx(3e-3)
    adds_up(found)


def test_what_runs_side_by_side_shares_the_time() -> None:
    found = cpu(
        (on_cpu("dot.1", 0, 6),), (on_cpu("dot.2", 4, 8),), host=(step(0, 0, 8),)
    )
    assert own(found) == {"dot.1": 5.0, "dot.2": 3.0}
    adds_up(found)


def test_a_parallel_kernel_lasts_until_its_work_is_done() -> None:
    ended = event("end: sort.0", ms(9), 1000, _c=7)
    found = cpu((on_cpu("sort.0", 1, 2, _p=7),), (ended,), host=(step(0, 0, 10),))
    assert own(found) == {"sort.0": 8.0}
    cut = cpu((on_cpu("sort.0", 1, 2, _p=7),), host=(step(0, 0, 10),))
    assert own(cut) == {"sort.0": 1.0}
    assert [note.code for note in cut.notes if note.code == "kernels-cut"]


def test_a_collective_is_hidden_while_the_device_computes() -> None:
    streams = [
        (on_cpu("dot.1", 0, 4),),
        (on_cpu("all-reduce.1", 2, 7), on_cpu("copy.3", 7, 8)),
    ]
    found = cpu(*streams, host=(step(0, 0, 10),))
    assert own(found) == {"dot.1": 4.0, "all-reduce.1": 3.0, "copy.3": 1.0}
    reduced = of(found, "all-reduce.1")
    assert (reduced.kind, of(found, "copy.3").kind) == ("collective", "copy")
    assert reduced.hidden_seconds == pytest.approx(2e-3)
    adds_up(found)


def test_steps_have_a_deviation_and_devices_a_mean() -> None:
    lines = (
        on_cpu("dot.1", 0, 2),
        on_cpu("dot.1", 10, 14),
        on_cpu("dot.1", 0, 4, device_ordinal=1),
    )
    found = cpu(lines, host=(step(0, 0, 5), step(1, 10, 15)))
    (kernel,) = found.kernels
    assert found.devices == ("cpu:0", "cpu:1")
    assert kernel.steps == pytest.approx((3e-3, 2e-3))
    assert kernel.deviation == pytest.approx(0.70711e-3, rel=1e-3)
    assert found.idle_seconds == pytest.approx(2.5e-3)
    adds_up(found)


def test_without_annotations_a_step_begins_with_the_dearest_program() -> None:
    other = {"hlo_module": "jit_init", "run_id": 9}
    runs = [on_cpu("dot.1", 10 * n, 10 * n + 4, run_id=n) for n in (1, 2, 3)]
    found = cpu((on_cpu("add.7", 0, 2, **other), *runs))
    assert found.steps == pytest.approx((10e-3, 10e-3, 4e-3))
    (note,) = [note for note in found.notes if note.code == "steps-of"]
    assert note.facts["program"] == "jit_f(1)"
    assert note.facts["before_seconds"] == pytest.approx(10e-3)
    adds_up(found)


def test_what_runs_once_is_no_step() -> None:
    other = {"hlo_module": "jit_init", "run_id": 9}
    runs = [on_cpu("dot.1", 100 + n, 100.5 + n, run_id=n) for n in (1, 2)]
    found = cpu((on_cpu("sort.7", 0, 90, **other), *runs))
    assert len(found.steps) == 2
    assert own(found) == {"dot.1": 0.5}


def test_a_programs_own_steps_count() -> None:
    host = tuple(event("train", ms(n), MS, step_num=n) for n in (0, 10))
    found = cpu((on_cpu("dot.1", 1, 2), on_cpu("dot.1", 11, 13)), host=host)
    assert found.steps == pytest.approx((10e-3, 3e-3))
    assert "steps-annotated" in [note.code for note in found.notes]


def test_a_gap_says_what_the_host_did() -> None:
    host = (
        step(0, 0, 10),
        event("PjitFunction(loss)", ms(1), ms(6)),
        event("trace", ms(2), ms(4)),
    )
    found = cpu((on_cpu("dot.1", 0, 1), on_cpu("dot.2", 7, 10)), host=host)
    gap = found.gaps[0]
    assert (gap.after, gap.before, gap.device) == ("dot.1", "dot.2", "cpu:0")
    assert gap.seconds == pytest.approx(6e-3)
    did = {each.name: round(1e3 * each.seconds, 6) for each in gap.host}
    assert did == {"trace": 4.0, "PjitFunction(loss)": 2.0}


def test_what_is_traced_again_and_found_in_a_cache_is_named() -> None:
    host = (
        step(0, 0, 10),
        event("PjitFunction(loss)", ms(1), ms(4)),
        event("lower_sharding_computation", ms(2), ms(1)),
        event("PjitFunction(step)", ms(5), ms(4)),
        event("lower_sharding_computation", ms(6), MS // 2),
        event("backend_compile_and_load", ms(7), ms(1)),
    )
    found = cpu((on_cpu("dot.1", 9, 10),), host=host)
    retraced, compiled = found.compiles
    assert (retraced.function, retraced.compile_seconds) == ("loss", None)
    assert retraced.seconds == pytest.approx(2e-3)
    assert compiled.compile_seconds == pytest.approx(1e-3)
    codes = [remark.code for remark in remarks(found)]
    assert codes[:2] == ["compiled-inside", "retraced-inside"]


def test_a_compile_without_a_call_is_named_by_its_program() -> None:
    host = (
        step(0, 0, 10),
        event("backend_compile", ms(3), ms(2)),
        event("CpuCompiler::RunBackend", ms(4), MS, name="jit_loss"),
    )
    (compiled,) = cpu((on_cpu("dot.1", 7, 10),), host=host).compiles
    assert compiled.function == "loss"
    assert compiled.seconds == compiled.compile_seconds


def test_a_tpu_says_work_lines_and_peaks_itself() -> None:
    text = "%fusion.3 = f32[8]{0:T(128)} fusion(%x)"
    stats = {
        "hlo_category": "loop fusion",
        "flops": 70,
        "bytes_accessed": 500,
        "shape_with_layout": "f32[8]{0:T(128)}",
        "source_stack": "train.py:40:2\nmodel.py:7:1",
        "tf_op": "jit(f)/add:",
    }
    start = "%copy-start.1 = (f32[8]) copy-start(%x)"
    lines = (
        Line("XLA Modules", (event("jit_f(1)", 0, ms(10), run_id=1),)),
        Line(
            "XLA Ops", (event(text, 0, ms(4)), event("%add.2 = f32[8]", ms(5), ms(1)))
        ),
        Line("Async XLA Ops", (event(start, ms(2), ms(7)),)),
    )
    peaks = {
        "peak_teraflops_per_second": 918.0,
        "peak_hbm_bw_gigabytes_per_second": 1638.0,
        "device_type_string": "TPU v6 Lite",
    }
    names = {text: Named("fusion.3", stats)}
    found = read(Plane("/device:TPU:0", lines, names, peaks))
    fusion = of(found, "fusion.3")
    assert (fusion.flops, fusion.bytes, fusion.shape) == (70, 500, "f32[8]")
    assert fusion.op_name == "jit(f)/add"
    (share,) = fusion.shares
    places = [(found.frames[at].file, found.frames[at].line) for at in share.stack]
    assert places == [("model.py", 7), ("train.py", 40)]
    # What a copy does beside the kernels takes none of their time.
    assert own(found) == {"fusion.3": 4.0, "add.2": 1.0, "copy-start.1": 0.0}
    assert of(found, "copy-start.1").hidden_seconds == pytest.approx(3e-3)
    assert found.bytes_per_second == 1638e9
    assert found.device_kind == "TPU v6 Lite"
    # Of what multiplies nothing the peak of products says nothing.
    assert fusion.flops_per_second is None
    product = {text: Named("fusion.3", stats | {"hlo_category": "convolution fusion"})}
    found = read(Plane("/device:TPU:0", lines, product, peaks))
    assert of(found, "fusion.3").flops_per_second == 918e12


def test_the_clock_of_a_tpu_counts() -> None:
    def ran(name: str, host: float, seen: float, start: float, took: float) -> Event:
        own = {"device_offset_ps": ms(start), "device_duration_ps": ms(took)}
        return event(f"%{name} = f32[]", ms(host), ms(seen), **own)

    # The host's clock is adjusted at 104 ms: one seems long, the next takes no time.
    kernels = (
        ran("dot.1", 100, 2, 0, 2),
        ran("dot.2", 102, 6, 2, 4),
        ran("add.3", 108, 0, 6, 1),
        ran("dot.4", 107, 3, 7, 3),
    )
    modules = Line("XLA Modules", (event("jit_f(1)", ms(100), ms(10), run_id=1),))
    found = read(Plane("/device:TPU:0", (modules, Line("XLA Ops", kernels))))
    assert own(found) == {"dot.1": 2.0, "dot.2": 4.0, "add.3": 1.0, "dot.4": 3.0}
    assert found.idle_seconds == pytest.approx(0.0)


def test_a_gpu_has_neither_programs_nor_runs() -> None:
    def kernel(op: str, start: float, end: float) -> Event:
        known = {"hlo_module": "jit_f", "program_id": 1, "kernel_details": "regs:32"}
        return event(f"cuda_{op}", ms(start), ms(end - start), hlo_op=op, **known)

    compute = [
        kernel(op, 10 * n + at, 10 * n + at + 2)
        for n in (0, 1)
        for at, op in enumerate(("dot.1", "add.2"))
    ]
    copied = event("MemcpyD2H", ms(4), ms(1), memcpy_details="kind:x size:4096 dest:0")
    lines = (
        Line("Stream #13(Kernel)", tuple(compute)),
        Line("Stream #14(MemcpyD2H)", (copied,)),
    )
    stats = {"gpu_device_name": "H100"}
    found = read(Plane("/device:GPU:0", lines, stats=stats))
    assert found.devices == ("GPU:0",)
    assert found.device_kind == "H100"
    assert len(found.steps) == 2
    (transfer,) = found.transfers
    assert (transfer.name, transfer.bytes) == ("MemcpyD2H", 4096)
    adds_up(found)


def test_a_copy_of_an_amd_gpu_is_a_copy_and_its_roof_is_published() -> None:
    known = {"hlo_module": "jit_f", "program_id": 1}
    copied = event("CopyDeviceToDevice", ms(2), ms(1), memcpy_details="size:8", **known)
    ran = event("Cijk_Ailk", 0, ms(2), kernel_details="regs:32")
    sent = event("CopyHostToDevice", ms(1), ms(1), memcpy_details="size:4096")
    lines = (Line("Stream #1(Kernel)", (ran, copied, sent)),)
    stats = {
        "device_vendor": "AMD",
        "compute_cap_major": 9,
        "compute_cap_minor": 4,
        # As XLA takes the memory for DDR.
        "memory_size": 191 * 2**30,
        "memory_bandwidth": 2_662_400_000_000,
    }
    found = read(Plane("/device:GPU:0", lines, stats=stats))
    assert found.device_kind == "AMD Instinct MI300X"
    assert found.bytes_per_second == 5.3e12
    assert {each.name: each.kind for each in found.kernels} == {
        "Cijk_Ailk": "compute",
        "CopyDeviceToDevice": "copy",
    }
    assert [each.name for each in found.transfers] == ["CopyHostToDevice"]
    (unnamed,) = [note for note in found.notes if note.code == "kernels-unnamed"]
    assert "HIP graph" in words.text(unnamed)


def test_of_two_captures_in_a_folder_the_latest_is_named(tmp_path: Path) -> None:
    for run in "2026_01_01", "2026_01_02":
        folder = tmp_path / "plugins/profile" / run
        folder.mkdir(parents=True)
        (folder / "vm.xplane.pb").write_bytes(trace("tpu-v6e"))
    note = profile.load(tmp_path).notes[0]
    assert note.facts == {"run": "2026_01_02", "runs": 2}
    assert words.text(note)


def trace(name: str) -> bytes:
    file = Path(__file__).with_name("traces") / f"{name}.xplane.pb.gz"
    return gzip.decompress(file.read_bytes())


def recorded(name: str) -> Profile:
    return profile.read(traces.read(trace(name)), name)


def test_a_recorded_tpu_says_what_xprof_says_of_it() -> None:
    found = recorded("tpu-v6e")  # two of a hundred steps
    assert found.device_kind == "TPU v6 Lite"
    assert len(found.steps) == 2
    adds_up(found)
    # GFLOP/s and GiB/s of XProf's HLO stats for the whole trace.
    for name, flops, bandwidth in (
        ("broadcast_add_fusion.1", 164.58, 1226.2),
        ("broadcast_add_fusion", 168.27, 1253.7),
        ("broadcast_add_fusion.2", 169.51, 1262.9),
    ):
        row = next(row for row in rows(found, "op") if row.key == name)
        assert row.kernels[0].category == "loop fusion"
        where = place(row, found)
        assert where.flops_per_second == pytest.approx(1e9 * flops, rel=0.005)
        assert where.bytes_per_second == pytest.approx(2**30 * bandwidth, rel=0.005)
        assert where.limit == "memory"
        assert where.share == pytest.approx(2**30 * bandwidth / 1638e9, rel=0.005)
    waits = of(found, "copy-done.4")
    assert (waits.category, waits.kind) == ("copy-done", "copy")
    assert waits.self_seconds == pytest.approx(0.19443, rel=0.002)
    lines = {row.key: row.seconds for row in rows(found, "line") if row.seconds}
    assert lines[""] == pytest.approx(found.busy_seconds, rel=0.04)  # added by XLA
    (spent,) = (lines[key] for key in lines if key.endswith("stress_test.py:29"))
    assert spent == pytest.approx(0.02405, rel=0.002)


def test_what_a_cuda_graph_runs_is_named_by_its_instructions() -> None:
    found = recorded("gpu-block")
    assert found.device_kind == "NVIDIA H200"
    assert found.bytes_per_second == 4814304000000
    assert len(found.steps) == 3
    adds_up(found)
    assert {each.count for each in found.kernels} == {1}
    ordered = {each.name for each in found.kernels if each.by_order}
    assert ordered == {"custom-call.0", "custom-call.1", "custom-call.2"}
    product = of(found, "custom-call.2")  # by cuBLAS, which clears its memory before
    assert product.flops == 2 * 8192 * 1024 * 4096
    assert product.bytes == 2 * (8192 * 1024 + 1024 * 4096 + 8192 * 4096)
    assert product.category == "cublas lt matmul"
    assert product.op_name == "jit(block)/dot_general"
    # Of the dtype that it multiplies, by the name of the device alone.
    assert product.flops_per_second == 989.4e12
    (row,) = (row for row in rows(found, "op") if row.key == product.name)
    assert place(row, found).limit == "compute"
    softmax = of(found, "triton_softmax.2")
    assert (softmax.category, softmax.flops_per_second) == ("custom fusion", None)
    shared = {row.key: row.shared for row in rows(found, "line") if row.seconds}
    assert [key for key in shared if not shared[key]] == [
        *("own.py:16", "own.py:12", "own.py:13", "own.py:14")
    ]
    assert [*shared][:2] == ["own.py:15", "own.py:9"]
    notes = {note.code: note.facts for note in found.notes}
    ran = sum(each.count for each in found.kernels) * 3
    assert notes["kernels-by-order"]["graph"] >= ran
    assert notes["kernels-by-order"]["graph"] == notes["kernels-by-order"]["of"]
    assert "kernels-unnamed" not in {note.code for note in found.notes}


@pytest.mark.parametrize(
    ("name", "total", "busy"),
    [
        ("gpu-block", 1693.256e-6, 1677.764e-6),
        ("gpu-mlp", 3730.097e-6, 3723.918e-6),
        ("gpu-scan", 1789.67e-6, 1775.206e-6),
    ],
)
def test_the_time_of_kernels_is_that_of_their_events(
    name: str, total: float, busy: float
) -> None:
    """Sums of the events of their streams, and of what these cover."""
    found = recorded(name)
    seconds = sum(each.total_seconds for each in found.kernels) * len(found.steps)
    assert seconds == pytest.approx(total, abs=1e-9)
    assert sum(found.busy) == pytest.approx(busy, abs=1e-9)


def test_a_kernel_that_two_instructions_share_is_both() -> None:
    found = recorded("gpu-mlp")
    adds_up(found)
    for name in ("loop_add_fusion", "loop_add_fusion.1"):
        assert of(found, name).count == 1
        assert of(found, name).self_seconds == pytest.approx(47.3e-6, rel=0.01)
    # The products of the backward pass come in the order of the schedule.
    places = [each.shares[0].stack[0] for each in found.kernels[:2]]
    assert [found.frames[at].line for at in places] == [30, 29]


def test_a_loop_in_a_graph_runs_its_instructions_again() -> None:
    found = recorded("gpu-scan")
    adds_up(found)
    product = of(found, "custom-call.1")
    assert (product.count, product.by_order) == (8, True)
    assert product.flops == 2 * 2048**3
    moved = of(found, "loop_dynamic_update_slice_fusion.1")  # as a copy
    assert (moved.count, moved.by_order) == (8, True)
    keys = [row.key for row in rows(found, "line") if row.seconds]
    assert keys[:3] == ["ask_own.py:4", "ask_own.py:5", "ask_own.py:6"]


def test_a_graph_without_its_program_keeps_the_names_of_its_kernels() -> None:
    known = {"hlo_module": "jit_f", "program_id": 1, "hlo_op": "command_buffer_1"}
    ran = (
        event("nvjet_x", at, 10, cuda_graph_node_id=at, cuda_graph_id=2, **known)
        for at in (0, 20)
    )
    found = read(Plane("/device:GPU:0", (Line("Stream #14(Compute)", tuple(ran)),)))
    assert [each.name for each in found.kernels] == ["nvjet_x"]
    (unnamed,) = (n.facts for n in found.notes if n.code == "kernels-unnamed")
    assert unnamed == {"count": 2, "of": 2}


def test_a_trace_without_kernels_has_no_profile() -> None:
    for planes in ((), (Plane("/host:CPU", (Line("python", (event("f", 0, 5),)),)),)):
        with pytest.raises(NoProfileError, match="no-kernels"):
            read(*planes)


@pytest.mark.parametrize(
    ("stats", "causes"),
    [
        ({}, (True, True)),
        ({"jax_version": "0.7.2", "cpu_version": "cpu"}, (True, False)),
        ({"jax_version": "0.10.2", "cpu_version": "cpu"}, (False, False)),
        ({"jax_version": "0.10.2", "gpu_version": "12"}, (False, True)),
    ],
)
def test_a_trace_without_kernels_tells_only_causes_that_can_be(
    stats: dict[str, str], causes: tuple[bool, bool]
) -> None:
    with pytest.raises(NoProfileError) as raised:
        read(Plane(traces.PROGRAMS, stats=stats), Plane("/host:CPU"))
    text = words.in_full(WorkFailed(remark=raised.value.remark))
    assert ("host_tracer_level" in text, "CUPTI" in text) == causes
    assert "planes" not in text


def test_a_trace_of_too_many_events_is_refused(monkeypatch: Any) -> None:
    monkeypatch.setattr(profile, "MOST_EVENTS", 1)
    with pytest.raises(NoProfileError, match="too-many-events"):
        cpu((on_cpu("dot.1", 0, 1), on_cpu("dot.1", 2, 3)))


def test_what_the_profiler_says_itself_is_passed_on() -> None:
    plane = Plane("/host:CPU", (Line("a thread", (on_cpu("dot.1", 0, 1),)),))
    data = space(plane, errors=("dropped 3 events",))
    notes = profile.read(traces.read(data), "").notes
    (note,) = [note for note in notes if note.code == "trace-errors"]
    assert (note.facts, note.detail) == ({"count": 1}, "dropped 3 events")


# The step without the profiler.


def test_what_happens_between_steps_is_no_steps() -> None:
    renewed = on_cpu("copy.9", 4, 6, hlo_module="jit_copy", program_id=2)
    ran = (on_cpu("dot.1", 1, 3), renewed, on_cpu("dot.1", 11, 13))
    found = cpu(ran, host=(step(0, 0, 3), step(1, 10, 13)))
    assert own(found) == {"dot.1": 2.0}
    assert sorted(gap.seconds for gap in found.gaps) == pytest.approx([1e-3, 1e-3])
    adds_up(found)


@pytest.mark.parametrize(
    ("plain", "busy", "gaps"),
    [
        (10, 0.4, [6]),  # as with the profiler
        (20, 0.4, [6]),  # others disturbed it
        (6, 4 / 6, [2]),  # it has room for a third of what the profiler made
        (4, 1, []),
        (3, 1, []),  # kernels that the profiler delays are no longer than a step
    ],
)
def test_a_gap_has_room_in_a_step_without_the_profiler(
    plain: float, busy: float, gaps: list[float]
) -> None:
    host = (step(0, 0, 10), event("PjitFunction(f)", ms(2), ms(5)))
    traced = cpu((on_cpu("dot.1", 0, 2), on_cpu("dot.2", 8, 10)), host=host)
    found = profile.beside(traced, plain * 1e-3)
    assert found.step_seconds == pytest.approx(min(plain, 10) * 1e-3)
    assert found.busy_seconds / found.step_seconds == pytest.approx(busy)
    adds_up(found)
    assert [1e3 * gap.seconds for gap in found.gaps] == pytest.approx(gaps)
    for gap in found.gaps:
        assert sum(each.seconds for each in gap.host) == pytest.approx(gap.seconds)
    (cost, *others) = remarks(found)
    delayed = "kernels-shortened" in [remark.code for remark in others]
    assert delayed == (plain < 4)
    assert cost.facts["step_seconds"] == pytest.approx(10e-3)


X, Y = jnp.ones(3), jnp.ones(4)
STATE = {"w": X, "b": Y}


@pytest.mark.parametrize(
    ("args", "used", "result", "expected"),
    [
        ((STATE, X), (0,), STATE, {0: None}),
        ((STATE, X), (0,), (STATE, X), {0: 0}),
        ((X, STATE), (1,), (Y, X, STATE), {1: 2}),
        ((STATE, X, Y), (0, 1), (STATE, X, X), {0: 0, 1: 1}),
        (((X, Y),), (0,), (X, Y), {0: None}),
        ((X, X), (0, 1), (X, X), {0: 0, 1: 1}),
        ((X, X), (0, 1), X, {}),
        ((STATE,), (0,), {"w": X}, {}),
        ((STATE,), (0,), {"w": X, "b": Y.astype("int32")}, {}),
        ((X,), (0,), 2.0, {}),
    ],
)
def test_results_take_the_place_of_what_was_donated(
    args: Any, used: Any, result: Any, expected: Any
) -> None:
    assert places(args, used, result) == expected


@pytest.mark.usefixtures("brief")
@pytest.mark.skipif(
    jax.__version_info__ < (0, 7),
    reason="a trace of this jax has no kernels by default",
)
def test_a_donating_step_copies_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    file = tmp_path / "step.py"
    file.write_text(
        """
import functools, jax, jax.numpy as jnp

@functools.partial(jax.jit, donate_argnums=0)
def step(state, x):
    return {"other": [jnp.sin(y) + x for y in state]}

def make_args():
    return [jnp.ones(1 << 12) for _ in range(2)], jnp.ones(1 << 12)
"""
    )
    monkeypatch.setattr(case, "LOOP_SECONDS", 0.01)
    work = Profiling(case=running.own("step", file=str(file)), steps=2)
    (found,) = (one for one in case.run_profiling(work) if isinstance(one, Profile))
    assert {each.kind for each in found.kernels} == {"compute"}
    assert len(found.steps) == 2


# Recorded on a CPU: two annotated steps of a scan of tanh(x @ w), then a sort.


@pytest.mark.parametrize("version", ["0.6.2", "0.8.3", "0.10.2", "0.12.0.1"])
def test_traces_of_every_version_say_the_same(version: str) -> None:
    found = recorded(f"cpu-jax-{version}")
    adds_up(found)
    assert (found.jax or version, len(found.steps)) == (version, 2)
    # A parallel kernel lasts until its work is done.
    sort = next(each for each in found.kernels if each.category == "sort")
    assert sort.self_seconds > 0.7 * found.step_seconds
    # A loop has next to no time of its own, and its body runs three times.
    loop = next(each for each in found.kernels if each.category == "while")
    assert loop.self_seconds < 0.001 * found.step_seconds
    product = next(each for each in found.kernels if "dot" in each.category)
    assert product.count == 3
    assert loop.total_seconds > product.self_seconds
    assert product.flops == 2 * 512**3
    frame = found.frames[product.shares[0].stack[0]]
    assert (Path(frame.file).name, frame.line) == ("train.py", 4)
    assert sort.shares[0].stack
    line = found.frames[sort.shares[0].stack[0]]
    assert line.line == 11
    if version in ("0.10.2", "0.12.0.1"):
        assert frame.function == "layer"


# Damaged ones.


@given(st.integers(0, 2**32), st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_a_damaged_trace_has_a_profile_or_none(seed: int, many: int) -> None:
    places = random.Random(seed)
    data = bytearray(trace(places.choice(["cpu-jax-0.10.2", "tpu-v6e"])))
    for _ in range(many):
        data[places.randrange(len(data))] = places.randrange(256)
    try:
        found = profile.read(traces.read(bytes(data)), "")
    except (ValueError, NoProfileError):
        return
    # It crosses the pipe.
    msgspec.json.decode(msgspec.json.encode(found), type=Profile)


@pytest.mark.parametrize("value", ["text", 0.5, -7])
def test_times_that_are_none_are_not_taken(value: object) -> None:
    data = {"device_offset_ps": 5, "device_duration_ps": value}
    ran = event("%dot.1 = f32[]", 0, ms(4), **data)
    assert own(read(Plane("/device:TPU:0", (Line("XLA Ops", (ran,)),)))) == {"dot.1": 4}
