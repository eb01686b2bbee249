"""The runtime's trace: real and recorded ones of the CPU, made ones of the others."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest

from jaxtui.core.model import LoopCall
from jaxtui.timing import profiler as trace
from jaxtui.timing.profiler import MARK, Mark, MissingTraceError, Run
from jaxtui.xla import kernels
from jaxtui.xla.kernels import Timeline

MARKS = [Mark(1000, 1100), Mark(2000, 2004)]
"""The second is the sharper one: the trace's clock began at 1982."""


def products(count: int) -> Callable[[], object]:
    product = jax.jit(lambda x: jnp.tanh(x @ x))
    x = jnp.ones((128, 128))
    product(x).block_until_ready()

    def work() -> None:
        for _ in range(count):
            product(x).block_until_ready()

    return work


def test_every_run_is_found_on_the_hosts_clock() -> None:
    work = products(5)
    start = perf_counter()
    found = trace.record(work)
    end = perf_counter()
    assert len(found.runs) == 5
    assert len({run.program for run in found.runs}) == 1
    until = start - 1e-5
    for run in found.runs:
        assert until < run.start < run.end < end + 1e-5
        until = run.end


def test_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def fail() -> None:
        raise KeyError("the work")

    with pytest.raises(KeyError, match="the work"):
        trace.record(fail)
    with pytest.raises(MissingTraceError, match="trace-incomplete"):
        trace.record(lambda: None)
    jax.profiler.start_trace(str(tmp_path / "other"))
    try:
        with pytest.raises(MissingTraceError, match="profiler-failed"):
            trace.record(fail)
    finally:
        jax.profiler.stop_trace()
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


@pytest.mark.parametrize(
    ("limit", "said"),
    [("MOST_EVENTS", "trace-too-large"), ("MOST_BYTES", "profiler-failed")],
)
def test_a_huge_trace_is_not_read(
    limit: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, limit, 3)
    with pytest.raises(MissingTraceError, match=said):
        trace.record(products(1))


def lost(stop: Callable[[], None] = jax.profiler.stop_trace) -> None:
    stop()
    raise RuntimeError("lost.\nand more")


@pytest.mark.parametrize(
    ("name", "other", "said"),
    [
        ("ProfileOptions", None, "'NoneType' object is not callable"),
        ("stop_trace", lost, "lost.\nand more"),
    ],
)
def test_a_jax_that_cannot_trace_says_so(
    name: str, other: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jax.profiler, name, other, raising=False)
    with pytest.raises(MissingTraceError) as raised:
        trace.record(lambda: None)
    remark = raised.value.remark
    assert (remark.code, remark.detail) == ("profiler-failed", said)


# Traces of other devices.


def event(name: str, start: float, duration: float, **stats: object) -> Any:
    return SimpleNamespace(
        name=name,
        start_ps=round(1000 * start),
        duration_ps=round(1000 * duration),
        stats=stats.items(),
        metadata=SimpleNamespace(display_name="", stats={}),
    )


class Line(NamedTuple):
    name: str
    events: list[Any]

    def __len__(self) -> int:
        return len(self.events)


def profile(*planes: tuple[str, dict[str, list[Any]]]) -> Any:
    marks = [event(MARK, 10.0, 20.0), event(MARK, 19.0, 2.0)]
    host = ("/host:CPU", {"python": marks, "other": [event("a call", 1, 2)]})
    made = [
        SimpleNamespace(
            name=name,
            lines=[Line(k, v) for k, v in lines.items()],
        )
        for name, lines in (host, *planes)
    ]
    return SimpleNamespace(planes=made)


def nanoseconds(run: Run) -> tuple[float, float]:
    return round(run.start * 1e9), round(run.end * 1e9)


def test_a_device_has_a_line_of_programs() -> None:
    modules = [event("jit_f(7)", 100 * n, 40 + 10 * n, run_id=n) for n in (1, 2)]
    kernels = [event("%while = (s32[]) while(%t)", 100, 90)]
    plane = ("/device:TPU:0", {"XLA Modules": modules, "XLA Ops": kernels, "Steps": []})
    found = trace.read(profile(plane), MARKS)
    assert [nanoseconds(run) for run in found.runs] == [(2082, 2132), (2182, 2242)]


def launched(op: str, start: float, duration: float, **stats: object) -> Any:
    """A kernel of a GPU as CUPTI records it: no run, no line of programs."""
    program = {"hlo_module": "jit_f", "program_id": 7, "hlo_op": op}
    known = {"correlation_id": int(start), "kernel_details": "regs:32", **program}
    return event(f"cuda_{op}", start, duration, **(known | stats))


def gpu(*streams: list[Any]) -> Any:
    names = (f"Stream #{n}(Kernel,MemcpyD2H)" for n in range(13, 99))
    return profile(("/device:GPU:0", dict(zip(names, streams, strict=False))))


def test_the_innermost_of_several_names_is_the_kernels() -> None:
    lines = {"Stream #13(Kernel)": [launched("while.2::dot.5", 100, 30)]}
    (kernel,) = kernels.of(Timeline("/device:GPU:0", lines, {}))
    assert (kernel.name, kernel.device, kernel.program) == (
        "dot.5",
        "GPU:0",
        "jit_f(7)",
    )


def test_a_tpus_kernels_belong_to_the_program_that_runs() -> None:
    def op(text: str, start: float, display: str = "", **stats: object) -> Any:
        one = event(text, start, 5)
        one.metadata = SimpleNamespace(display_name=display, stats=stats)
        return one

    lines = {
        "XLA Modules": [event(f"jit_f({n})", 100 * n, 50, run_id=n) for n in (1, 2)],
        "XLA Ops": [
            op("%dot.5 = f32[] dot(%x)", 110, "dot.5", flops=7),
            op("%add.2 = f32[] add(%x)", 200),
        ],
        "Async XLA Ops": [op("%copy-start.4 = (f32[]) copy-start(%x)", 220, "async")],
    }
    found = list(kernels.of(Timeline("/device:TPU:0", lines, {})))
    assert [(one.name, one.program, one.run, one.line) for one in found] == [
        ("dot.5", "jit_f(1)", 1, "XLA Ops"),
        ("add.2", "jit_f(2)", 2, "XLA Ops"),
        ("copy-start.4", "jit_f(2)", 2, "Async XLA Ops"),
    ]
    assert found[0].stats == {"flops": 7}


def test_the_run_of_a_gpus_kernel_is_that_of_the_call_that_launched_it() -> None:
    asked = [
        event("Execute (jit_f)", 100, 50, run_id=4),
        event("command_buffer_1", 109, 8),
        event("cuGraphLaunch", 110, 5, correlation_id=1),
        event("dot.5", 119, 20),
        event("Memset", 120, 5, correlation_id=2),
        event("cuLaunchKernel", 130, 5, correlation_id=4),
        event("cuLaunchKernel", 160, 5, correlation_id=3),  # of nobody
    ]
    runs = kernels.launches([asked])
    assert {at: launch.run for at, launch in runs.items()} == {1: 4, 2: 4, 4: 4}
    parts = [
        launched("command_buffer_1", 200, 5, correlation_id=1, cuda_graph_node_id=1),
        launched("command_buffer_1", 206, 5, correlation_id=1, cuda_graph_node_id=2),
        launched("dot.5", 212, 5, correlation_id=2),
        launched("dot.5", 217, 5, correlation_id=4),
    ]
    lines = {"Stream #13(Kernel)": parts}
    timeline = Timeline("/device:GPU:0", lines, runs)
    ran = list(kernels.of(timeline))
    assert [each.run for each in ran] == [4, 4, 4, 4]
    # What cuBLAS clears first is no run of its own.
    assert [each.is_first for each in ran][2:] == [True, False]
    keys = {key for key, _ in trace.parts(timeline)}
    assert keys == {("jit_f(7)", 4)}


def test_a_gpus_kernels_make_a_run_from_each_first_one_on() -> None:
    copied = event("MemcpyD2H", 160, 5, memcpy_details="size:4")
    ops = [("dot", 100, 30), ("add", 130, 5), ("dot", 200, 30), ("add", 231, 5)]
    compute = [*(launched(*one) for one in ops), copied]
    other = [launched("dot", 150, 9, hlo_module="jit_g")]
    found = trace.read(gpu(compute, other), MARKS)
    assert [(run.program, *nanoseconds(run)) for run in found.runs] == [
        ("jit_f(7)", 2082, 2117),
        ("jit_g(7)", 2132, 2141),
        ("jit_f(7)", 2182, 2218),
    ]


def test_what_a_gpu_repeats_in_each_run_is_told_from_a_single_call() -> None:
    passes = [launched("sort", 100 * n, 10) for n in range(1, 7)]
    runs = trace.read(gpu(passes), MARKS).runs
    calls = [LoopCall(entered=0.0, returned=0.0, ready=1.0)] * 3
    found = trace.on_device(calls, 0.0, runs, runs[:2])
    ends = [round(call.device_end * 1e9) for call in found]  # type: ignore[operator]
    assert ends == [2192, 2392, 2592]
    with pytest.raises(MissingTraceError, match="trace-incomplete"):
        trace.on_device(calls, 0.0, runs[:5], runs[:2])


def test_a_kernel_without_its_program_cannot_be_placed() -> None:
    graph = event("cuda_dot", 130, 30, kernel_details="regs:32", cuda_graph_id=3)
    with pytest.raises(MissingTraceError, match="trace-incomplete"):
        trace.read(gpu([launched("add", 100, 20), graph]), MARKS)
    # Somebody's program may compile inside, where XLA tries what is fastest.
    lines = {"Stream #14(Compute)": [launched("add", 100, 20), graph]}
    timeline = Timeline("/device:GPU:0", lines, {})
    parts = [part for _, part in trace.parts(timeline, whole=False)]
    assert [part.start for part in parts] == [100_000]


# Recorded traces of the CPU, of a machine that had other work, too.


class Recorded(NamedTuple):
    found: trace.Trace
    calls: list[tuple[str, LoopCall]]
    """Two of each program, one after the other; seconds by ``perf_counter``."""


def recorded(version: str) -> Recorded:
    file = Path(__file__).with_name("traces") / f"cpu-jax-{version}.json"
    known = json.loads(file.read_text())
    lines = {
        name: [event(one, start, took, **stats) for one, start, took, stats in events]
        for name, events in known["lines"].items()
    }
    plane = SimpleNamespace(
        name="/host:CPU",
        lines=[Line(k, v) for k, v in lines.items()],
    )
    space: Any = SimpleNamespace(planes=[plane])
    found = trace.read(space, [Mark(*one) for one in known["marks"]])
    calls = [
        (name, LoopCall(entered=1e-9 * a, returned=1e-9 * a, ready=1e-9 * b))
        for name, a, b in known["calls"]
    ]
    return Recorded(found, calls)


VERSIONS = ("0.6.2", "0.7.2", "0.10.2", "0.12.0.1")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("program", "share"),
    [
        ("tanh", 0.9),  # in parallel
        ("sort", 0.9),  # copies and sorts under one name
        ("add", 0.0),
        ("steps", 0.25),  # waits for a thread before it begins
    ],
)
def test_a_kernel_lasts_until_its_work_is_done(
    version: str, program: str, share: float
) -> None:
    one = recorded(version)
    calls = [call for name, call in one.calls if name == program]
    runs = [run for run in one.found.runs if f"jit_{program}(" in run.program]
    for call in trace.on_device(calls, 0.0, runs, runs[: len(runs) // 2]):
        wall = call.ready - call.entered
        assert call.device_start is not None
        assert call.device_end is not None
        assert call.entered < call.device_start < call.device_end <= call.ready
        assert call.device_end - call.device_start >= share * wall


def test_a_trace_that_ends_too_early_is_of_no_use() -> None:
    stats = {"hlo_op": "tanh", "hlo_module": "jit_f", "program_id": 1, "run_id": 2}
    begun = event("tanh", 100, 5, _p=3, **stats)
    space = profile()
    space.planes[0].lines.append(Line("a thread", [begun]))
    with pytest.raises(MissingTraceError, match="trace-incomplete"):
        trace.read(space, MARKS)


def test_a_run_on_several_devices_is_one() -> None:
    planes = [
        (f"/device:GPU:{i}", {"XLA Modules": [event("jit_f", 100 + i, 50, run_id=1)]})
        for i in range(2)
    ]
    found = trace.read(profile(*planes), MARKS)
    assert [nanoseconds(run) for run in found.runs] == [(2082, 2133)]


def test_a_trace_that_lost_its_marks_has_no_clock() -> None:
    plane = ("/device:GPU:0", {"XLA Modules": [event("jit_f", 100, 50)]})
    with pytest.raises(MissingTraceError, match="trace-incomplete"):
        trace.read(profile(plane), MARKS[:1])
