"""Profiles of traces: whose time each moment is, by lines, on every kind of device."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
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
from tests.golden.test_documents import check_frozen
from tests.tasks import running
from tests.tasks.spaces import Event, Line, Named, Plane, event, space

MS = 10**9
"""Picoseconds."""


def ms(time: float) -> int:
    return round(time * MS)


def events(text: str, **known: Any) -> tuple[Event, ...]:
    """``name begin-end stat=value`` in ms, with semicolons between them.

    What has known stats is a kernel, unless it is the end of one; a ``step`` is one
    that jaxtui annotates.
    """
    made = list[Event]()
    for each in text.split("; ") if text else ():
        parts, stats = each.split(), dict[str, Any](known)
        while "=" in parts[-1]:
            key, _, value = parts.pop().partition("=")
            stats[key] = int(value) if value.isdigit() else value
        begin, end = map(float, parts.pop().split("-"))
        name = " ".join(parts)
        if name == "step":
            name, stats = STEP, {"step_num": len(made)}
        elif name.startswith("end:"):
            stats = {"_c": stats["_c"]}
        elif known:
            stats["hlo_op"] = name
        made.append(event(name, ms(begin), ms(end - begin), **stats))
    return tuple(made)


def kernels(text: str) -> tuple[Event, ...]:
    return events(text, hlo_module="jit_f", program_id=1, run_id=1)


def read(*planes: Plane) -> Profile:
    return profile.read(traces.read(space(*planes)), "a trace")


def cpu(*threads: str, host: str = "") -> Profile:
    lines = [Line(f"a thread/{n}", kernels(text)) for n, text in enumerate(threads)]
    return read(Plane("/host:CPU", (Line("python", events(host)), *lines)))


def compiling(host: str) -> Profile:
    return cpu("dot.1 9-10", host=f"step 0-10; {host}")


def adds_up(found: Profile) -> None:
    spent = sum(each.self_seconds for each in found.kernels)
    assert spent == pytest.approx(found.busy_seconds)
    assert spent + found.idle_seconds == pytest.approx(found.step_seconds)


def of(found: Profile, name: str) -> Kernel:
    return next(each for each in found.kernels if each.name == name)


def tpu(category: str = "loop fusion") -> Profile:
    """A TPU says work, lines and peaks itself.

    What a copy does beside the kernels takes none of their time; of what multiplies
    nothing the peak of products says nothing.
    """
    text = "%fusion.3 = f32[8]{0:T(128)} fusion(%x)"
    stats = {
        "hlo_category": category,
        "flops": 70,
        "bytes_accessed": 500,
        "shape_with_layout": "f32[8]{0:T(128)}",
        "source_stack": "train.py:40:2\nmodel.py:7:1",
        "tf_op": "jit(f)/add:",
    }
    ops = event(text, 0, ms(4)), event("%add.2 = f32[8]", ms(5), ms(1))
    start = event("%copy-start.1 = (f32[8]) copy-start(%x)", ms(2), ms(7))
    lines = (
        Line("XLA Modules", (event("jit_f(1)", 0, ms(10), run_id=1),)),
        Line("XLA Ops", ops),
        Line("Async XLA Ops", (start,)),
    )
    peaks = {
        "peak_teraflops_per_second": 918.0,
        "peak_hbm_bw_gigabytes_per_second": 1638.0,
        "device_type_string": "TPU v6 Lite",
    }
    return read(Plane("/device:TPU:0", lines, {text: Named("fusion.3", stats)}, peaks))


def tpu_clock() -> Profile:
    """The clock of a TPU counts.

    The host's is adjusted at 104 ms: one seems long, the next takes no time.
    """

    def ran(name: str, host: float, seen: float, start: float, took: float) -> Event:
        own = {"device_offset_ps": ms(start), "device_duration_ps": ms(took)}
        return event(f"%{name} = f32[]", ms(host), ms(seen), **own)

    kernels = (
        ran("dot.1", 100, 2, 0, 2),
        ran("dot.2", 102, 6, 2, 4),
        ran("add.3", 108, 0, 6, 1),
        ran("dot.4", 107, 3, 7, 3),
    )
    modules = Line("XLA Modules", (event("jit_f(1)", ms(100), ms(10), run_id=1),))
    return read(Plane("/device:TPU:0", (modules, Line("XLA Ops", kernels))))


def tpu_times(value: object) -> Profile:
    """Times that are none are not taken."""
    own = {"device_offset_ps": 5, "device_duration_ps": value}
    ran = event("%dot.1 = f32[]", 0, ms(4), **own)
    return read(Plane("/device:TPU:0", (Line("XLA Ops", (ran,)),)))


def gpu() -> Profile:
    """A GPU has neither programs nor runs."""

    def kernel(op: str, start: float) -> Event:
        known = {"hlo_module": "jit_f", "program_id": 1, "kernel_details": "regs:32"}
        return event(f"cuda_{op}", ms(start), ms(2), hlo_op=op, **known)

    ran = [
        kernel(op, 10 * n + at) for n in (0, 1) for at, op in enumerate(("dot", "add"))
    ]
    copied = event("MemcpyD2H", ms(4), ms(1), memcpy_details="kind:x size:4096 dest:0")
    lines = (
        Line("Stream #13(Kernel)", tuple(ran)),
        Line("Stream #14(MemcpyD2H)", (copied,)),
    )
    return read(Plane("/device:GPU:0", lines, stats={"gpu_device_name": "H100"}))


def amd() -> Profile:
    """A copy of an AMD GPU is a copy, and its roof is published."""
    known = {"hlo_module": "jit_f", "program_id": 1}
    copied = event("CopyDeviceToDevice", ms(2), ms(1), memcpy_details="size:8", **known)
    ran = event("Cijk_Ailk", 0, ms(2), kernel_details="regs:32")
    sent = event("CopyHostToDevice", ms(1), ms(1), memcpy_details="size:4096")
    stats = {
        "device_vendor": "AMD",
        "compute_cap_major": 9,
        "compute_cap_minor": 4,
        # As XLA takes the memory for DDR.
        "memory_size": 191 * 2**30,
        "memory_bandwidth": 2_662_400_000_000,
    }
    lines = (Line("Stream #1(Kernel)", (ran, copied, sent)),)
    return read(Plane("/device:GPU:0", lines, stats=stats))


def graph() -> Profile:
    """A graph without its program keeps the names of its kernels."""
    known = {"hlo_module": "jit_f", "program_id": 1, "hlo_op": "command_buffer_1"}
    ran = (
        event("nvjet_x", at, 10, cuda_graph_node_id=at, cuda_graph_id=2, **known)
        for at in (0, 20)
    )
    return read(Plane("/device:GPU:0", (Line("Stream #14(Compute)", tuple(ran)),)))


def complaining() -> Profile:
    """What the profiler says itself is passed on."""
    plane = Plane("/host:CPU", (Line("a thread", kernels("dot.1 0-1")),))
    return profile.read(traces.read(space(plane, errors=("dropped 3 events",))), "")


def trace(name: str) -> bytes:
    file = Path(__file__).with_name("traces") / f"{name}.xplane.pb.gz"
    return gzip.decompress(file.read_bytes())


def recorded(name: str) -> Profile:
    return profile.read(traces.read(trace(name)), name)


RECORDED = ("tpu-v6e", "gpu-block", "gpu-mlp", "gpu-scan")
CPU_TRACES = [
    f"cpu-jax-{version}" for version in ("0.6.2", "0.8.3", "0.10.2", "0.12.0.1")
]
"""Two annotated steps of a scan of tanh(x @ w), then a sort."""

MADE: dict[str, Profile] = {
    # A loop holds its body; what runs side by side shares the time.
    "in_loop": cpu("while.2 1-8; add.1 2-3; add.1 4-6", host="step 0-10"),
    "side_by_side": cpu("dot.1 0-6", "dot.2 4-8", host="step 0-8"),
    # A parallel kernel lasts until its work is done, if anybody sees that.
    "parallel": cpu("sort.0 1-2 _p=7", "end: sort.0 9-9.000001 _c=7", host="step 0-10"),
    "cut": cpu("sort.0 1-2 _p=7", host="step 0-10"),
    # A collective is hidden while the device computes.
    "collective": cpu("dot.1 0-4", "all-reduce.1 2-7; copy.3 7-8", host="step 0-10"),
    # Steps have a deviation, and devices a mean.
    "two_devices": cpu(
        "dot.1 0-2; dot.1 10-14; dot.1 0-4 device_ordinal=1",
        host="step 0-5; step 10-15",
    ),
    # Without annotations a step begins with the dearest program that runs again.
    "not_annotated": cpu(
        "add.7 0-2 hlo_module=jit_init run_id=9; dot.1 10-14 run_id=1;"
        " dot.1 20-24 run_id=2; dot.1 30-34 run_id=3"
    ),
    "once": cpu(
        "sort.7 0-90 hlo_module=jit_init run_id=9; dot.1 101-101.5 run_id=1;"
        " dot.1 102-102.5 run_id=2"
    ),
    # A program's own steps count.
    "annotated": cpu(
        "dot.1 1-2; dot.1 11-13", host="train 0-1 step_num=0; train 10-11 step_num=10"
    ),
    # What happens between steps is no step's.
    "between_steps": cpu(
        "dot.1 1-3; copy.9 4-6 hlo_module=jit_copy program_id=2; dot.1 11-13",
        host="step 0-3; step 10-13",
    ),
    # A gap says what the host did.
    "waiting": cpu(
        "dot.1 0-1; dot.2 7-10", host="step 0-10; PjitFunction(loss) 1-7; trace 2-6"
    ),
    # A compile is named with its function, of which the trace has a call twice.
    "compiled": compiling(
        "PjitFunction(step) 1-7; PjitFunction(step) 1-6.999999995;"
        " backend_compile_and_load 3-5"
    ),
    # One is traced again, and one is found in a cache.
    "retraced": compiling(
        "PjitFunction(loss) 1-5; lower_sharding_computation 2-3;"
        " PjitFunction(step) 5-9; lower_sharding_computation 6-6.5;"
        " backend_compile_and_load 7-8"
    ),
    "compiled_without_a_call": compiling(
        "backend_compile 3-5; CpuCompiler::RunBackend 4-5 name=jit_loss"
    ),
    **{one.__name__: one() for one in (tpu, tpu_clock, gpu, amd, graph, complaining)},
    "a product of a tpu": tpu("convolution fusion"),
    **{f"tpu times {value}": tpu_times(value) for value in ("text", 0.5, -7)},
    **{name: recorded(name) for name in (*RECORDED, *CPU_TRACES)},
}


def parts(kernel: Kernel, found: Profile) -> Iterator[str]:
    """Shares of its time, by the lines of their stacks."""
    for share in kernel.shares:
        frames = [found.frames[at] for at in share.stack]
        lines = (f"{Path(one.file).name}:{one.line} {one.function}" for one in frames)
        yield f"{share.part:.3g} {' < '.join(lines)}"


def described(found: Profile) -> Iterator[str]:
    """All that a profile has, of its dearest kernels; times in ms."""

    def time(*seconds: float) -> str:
        return " ".join(f"{1e3 * each:.5g}" for each in seconds)

    yield f"{found.devices} {found.device_kind} {found.jax} {found.bytes_per_second}"
    yield f"steps {time(*found.steps)}, busy {time(*found.busy)}, of {found.events}"
    total = sum(each.total_seconds for each in found.kernels)
    yield f"{len(found.kernels)} kernels, with inner {time(total)}"
    for each in sorted(found.kernels, key=lambda one: -one.self_seconds)[:9]:
        spent = time(*each.steps, each.total_seconds, each.hidden_seconds)
        yield f"{each.name} of {each.program}: {each.kind} {each.category} {spent}"
        work = f"{each.flops} {each.bytes} {each.flops_per_second}"
        yield f"    {each.count} × {each.shape} {work}{' by order' * each.by_order}"
        yield f"    {each.op_name} {'; '.join(parts(each, found))}"
    for gap in found.gaps[:5]:
        did = ", ".join(f"{one.name} {time(one.seconds)}" for one in gap.host)
        where = f"{time(gap.start_seconds)} of {gap.device}"
        yield f"gap {time(gap.seconds)} at {where}: {gap.after}, {gap.before}: {did}"
    yield from map(str, (*found.compiles, *found.transfers, *found.memory[:3]))
    for note in remarks(found):
        yield f"{note.code} {note.detail}: {words.text(note)}"


def test_what_a_trace_says_is_as_it_was() -> None:
    """Of traces that were made by hand, and of recorded ones.

    With ``JAXTUI_GOLDEN=write`` in the environment the file is written.
    """
    texts = (
        "\n".join([f"== {name}", *described(found)]) for name, found in MADE.items()
    )
    lines = (f"{line.rstrip()}\n" for text in texts for line in text.splitlines())
    check_frozen(Path(__file__).with_name("traces.txt"), "".join(lines))


@pytest.mark.parametrize("name", MADE)
def test_a_step_is_the_time_of_its_kernels_and_idle_time(name: str) -> None:
    adds_up(MADE[name])


def test_of_two_captures_in_a_folder_the_latest_is_named(tmp_path: Path) -> None:
    for run in "2026_01_01", "2026_01_02":
        folder = tmp_path / "plugins/profile" / run
        folder.mkdir(parents=True)
        (folder / "vm.xplane.pb").write_bytes(trace("tpu-v6e"))
    note = profile.load(tmp_path).notes[0]
    assert note.facts == {"run": "2026_01_02", "runs": 2}
    assert words.text(note)


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
        cpu("dot.1 0-1; dot.1 2-3")


# The step without the profiler.


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
    host = "step 0-10; PjitFunction(f) 2-7"
    traced = cpu("dot.1 0-2; dot.2 8-10", host=host)
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
