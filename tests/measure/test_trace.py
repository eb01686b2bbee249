"""The runtime's trace: real ones of the CPU, and made ones of what is not here."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxtui.measure import trace
from jaxtui.measure.trace import MARK, Mark, MissingTraceError, Run
from tests.measure.running import needs_a_reader

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


@needs_a_reader
def test_every_run_is_found_with_its_kernels_on_the_hosts_clock() -> None:
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
        assert run.kernels


@needs_a_reader
def test_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def fail() -> None:
        raise KeyError("the work")

    with pytest.raises(KeyError, match="the work"):
        trace.record(fail)
    with pytest.raises(MissingTraceError, match=r"^The trace holds no computation\.$"):
        trace.record(lambda: None)
    jax.profiler.start_trace(str(tmp_path / "other"))
    try:
        with pytest.raises(MissingTraceError, match="The profiler could not start: "):
            trace.record(fail)
    finally:
        jax.profiler.stop_trace()
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


@needs_a_reader
@pytest.mark.parametrize(
    ("limit", "said"),
    [("MOST_EVENTS", "more than 3 events"), ("MOST_BYTES", "too many to be read")],
)
def test_a_huge_trace_is_not_read(
    limit: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if limit == "MOST_BYTES" and hasattr(jax.profiler, "ProfileSession"):
        pytest.skip("this JAX traces into memory")
    monkeypatch.setattr(trace, limit, 3)
    with pytest.raises(MissingTraceError, match=said):
        trace.record(products(1))


class InMemory:
    """A session as newer versions of JAX have it."""

    def __init__(self, *, profiler_options: Any) -> None:
        assert profiler_options.python_tracer_level == 0

    def start(self) -> None: ...

    def stop(self) -> Any:
        raise RuntimeError("lost.\nand more")


@needs_a_reader
@pytest.mark.parametrize(
    ("name", "other", "said"),
    [
        ("ProfileData", None, f"{jax.__version__} has no jax.profiler.ProfileData."),
        ("ProfileSession", InMemory, "The trace could not be read: lost."),
    ],
)
def test_a_jax_that_cannot_trace_says_so(
    name: str, other: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jax.profiler, name, other, raising=False)
    with pytest.raises(MissingTraceError, match=f"{re.escape(said)}$"):
        trace.record(lambda: None)


# Traces of other devices.


def event(name: str, start: float, duration: float, **stats: object) -> Any:
    return SimpleNamespace(
        name=name, start_ns=start, duration_ns=duration, stats=stats.items()
    )


def profile(*planes: tuple[str, dict[str, list[Any]]]) -> Any:
    marks = [event(MARK, 10.0, 20.0), event(MARK, 19.0, 2.0)]
    host = ("/host:CPU", {"python": marks, "other": [event("a call", 1, 2)]})
    made = [
        SimpleNamespace(
            name=name,
            lines=[SimpleNamespace(name=k, events=v) for k, v in lines.items()],
        )
        for name, lines in (host, *planes)
    ]
    return SimpleNamespace(planes=made)


def nanoseconds(run: Run) -> tuple[float, float, list[str]]:
    names = [kernel.name for kernel in run.kernels]
    return round(run.start * 1e9), round(run.end * 1e9), names


@pytest.mark.parametrize("line", ["XLA Ops", "Stream #13(Compute)"])
def test_a_device_has_lines_of_programs_and_of_kernels(line: str) -> None:
    modules = [event("jit_f(7)", 100 * n, 40 + 10 * n, run_id=n) for n in (1, 2)]
    spans = ("while", 100, 40), ("fusion", 110, 20), ("fusion", 200, 60)
    kernels = [event(*span) for span in spans]
    plane = ("/device:TPU:0", {"XLA Modules": modules, line: kernels, "Steps": []})
    found = trace.read(profile(plane), MARKS)
    assert [nanoseconds(run) for run in found.runs] == [
        (2082, 2132, ["while", "fusion"]),
        (2182, 2242, ["fusion"]),
    ]


def test_a_run_on_several_devices_is_one() -> None:
    planes = [
        (f"/device:GPU:{i}", {"XLA Modules": [event("jit_f", 100 + i, 50, run_id=1)]})
        for i in range(2)
    ]
    found = trace.read(profile(*planes), MARKS)
    assert [nanoseconds(run) for run in found.runs] == [(2082, 2133, [])]


def test_a_trace_that_lost_its_marks_has_no_clock() -> None:
    plane = ("/device:GPU:0", {"XLA Modules": [event("jit_f", 100, 50)]})
    with pytest.raises(MissingTraceError, match="lost its marks of time"):
        trace.read(profile(plane), MARKS[:1])
