"""Measuring the roofs of a device with real JAX, on this CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jaxtui.core.model import (
    DTYPES,
    Progress,
    RunEvent,
    RunFinished,
    RunStarted,
    WorkFailed,
)
from jaxtui.core.model.roofs import RoofDtype, Roofs, RoofsMeasured
from jaxtui.features.bench.measure import rates
from jaxtui.features.roofline.measure import run_roofs
from jaxtui.timing.turns import never

FLOAT32 = RoofDtype(dtype="float32")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products and arrays that take no time; no roof is meant by that."""
    monkeypatch.setattr(rates, "stream_sizes", lambda *_: (2**18,))
    monkeypatch.setattr(rates, "_size", lambda *_: 256)
    # Nor do they need to be warm, or timed for long.
    monkeypatch.setattr(rates, "BURST_SECONDS", 0.003)


def measure(
    *dtypes: str,
    device: str = "cpu:0",
    budget: float = 0.05,
    stop: Callable[[], bool] = never,
) -> list[RunEvent]:
    asked = tuple(RoofDtype(dtype=dtype) for dtype in dtypes)
    roofs = Roofs(device=device, dtypes=asked, budget_seconds=budget)
    return list(run_roofs(roofs, stop=stop))


def results(events: list[RunEvent]) -> list[RoofsMeasured]:
    return [event for event in events if isinstance(event, RoofsMeasured)]


@pytest.mark.usefixtures("brief", "small")
def test_both_kinds_of_roof_are_measured_and_named() -> None:
    events = measure("float32")
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome == "complete"
    assert any(isinstance(event, Progress) for event in events)
    first, last = results(events)
    assert (last.device, last.missing) == ("cpu:0", ())
    memory, arithmetic = last.roofs
    assert first.roofs == (memory,)
    assert (memory.kind, memory.of) == ("bandwidth", None)
    assert memory.what in ("copy 262144 float32", "triad 262144 float32")
    assert (arithmetic.kind, arithmetic.of) == ("compute", FLOAT32)
    sizes = (128, 256, 512)
    assert arithmetic.what in [f"matmul {size} float32" for size in sizes]
    for roof in last.roofs:
        assert 0 < roof.ci_low <= roof.per_second <= roof.ci_high
        # Nobody publishes what an unknown CPU can do.
        assert roof.published is None


@pytest.mark.usefixtures("brief", "small")
def test_every_dtype_has_a_roof_or_a_reason() -> None:
    result = results(measure(*DTYPES, "int4", budget=0.01))[-1]
    measured = {roof.of.dtype for roof in result.roofs if roof.of}
    missing = {one.of.dtype for one in result.missing if one.of}
    assert measured | missing == {*DTYPES, "int4"}
    assert not measured & missing
    assert {"float64", "float32", "int32", "complex64"} <= measured
    assert "int4" in missing


@pytest.mark.usefixtures("brief", "small")
def test_what_xla_refuses_is_a_reason_and_the_rest_goes_on(monkeypatch) -> None:
    compile_case = rates.compile_case

    def refuse(case, device, **more):
        if case.op == "matmul":
            raise NotImplementedError("UNIMPLEMENTED: no such product")
        return compile_case(case, device, **more)

    monkeypatch.setattr(rates, "compile_case", refuse)
    result = results(measure("float32"))[-1]
    assert [roof.kind for roof in result.roofs] == ["bandwidth"]
    (missing,) = result.missing
    assert missing.of == FLOAT32
    assert "no such product" in missing.remark.detail


@pytest.mark.usefixtures("brief", "small")
def test_no_memory_is_a_reason(monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 4 bytes")

    monkeypatch.setattr(rates, "arguments", fail)
    result = results(measure("float32"))[-1]
    assert result.roofs == ()
    assert {one.of for one in result.missing} == {None, FLOAT32}


@pytest.mark.usefixtures("brief", "small")
def test_what_was_measured_when_it_is_stopped_is_kept() -> None:
    events: list[RunEvent] = []
    asked = Roofs(device="cpu:0", dtypes=(FLOAT32,), budget_seconds=0.05)
    for event in run_roofs(asked, stop=lambda: bool(results(events))):
        events.append(event)  # noqa: PERF402  (it is looked at meanwhile)
    (result,) = results(events)
    assert [roof.kind for roof in result.roofs] == ["bandwidth"]
    assert result.missing == ()
    assert events[-1].outcome == "cancelled"


def test_stopped_before_the_first_there_is_no_result() -> None:
    events = measure("float32", stop=lambda: True)
    assert results(events) == []
    assert events[-1].outcome == "cancelled"


def test_a_device_that_does_not_exist_is_named() -> None:
    started, failed, finished = measure(device="cpu:99")
    assert isinstance(started, RunStarted)
    assert isinstance(failed, WorkFailed)
    assert failed.remark.code == "device-unknown"
    assert isinstance(finished, RunFinished)
