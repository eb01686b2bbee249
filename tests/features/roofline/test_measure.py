"""Measuring the roofs of a device with real JAX, on this CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jaxtui.core.model import (
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
def test_both_kinds_of_roof_are_measured_and_named_or_have_a_reason() -> None:
    events = measure("float32", "complex64", "int4", budget=0.2)
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome == "complete"
    assert any(isinstance(event, Progress) for event in events)
    first, *_, last = results(events)
    memory, arithmetic, wide = last.roofs
    assert (first.roofs, last.device) == ((memory,), "cpu:0")
    assert (memory.kind, memory.of) == ("bandwidth", None)
    assert memory.what in ("copy 262144 float32", "triad 262144 float32")
    assert (arithmetic.kind, arithmetic.of) == ("compute", FLOAT32)
    sizes = (128, 256, 512)
    assert arithmetic.what in [f"matmul {size} float32" for size in sizes]
    assert wide.of == RoofDtype(dtype="complex64")
    assert [one.of.dtype for one in last.missing if one.of] == ["int4"]
    for roof in last.roofs:
        assert 0 < roof.ci_low <= roof.per_second <= roof.ci_high
        # Nobody publishes what an unknown CPU can do.
        assert roof.published is None


@pytest.mark.usefixtures("brief", "small")
@pytest.mark.parametrize(
    ("step", "error", "kinds"),
    [
        ("compile_case", NotImplementedError("UNIMPLEMENTED: no such"), ["bandwidth"]),
        ("arguments", RuntimeError("RESOURCE_EXHAUSTED: Out of memory"), []),
    ],
)
def test_what_xla_refuses_is_a_reason_and_the_rest_goes_on(
    step: str, error: Exception, kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = getattr(rates, step)

    def refuse(case: Any, *args: Any, **more: Any) -> Any:
        if case.op == "matmul" or not kinds:
            raise error
        return original(case, *args, **more)

    monkeypatch.setattr(rates, step, refuse)
    result = results(measure("float32"))[-1]
    assert [roof.kind for roof in result.roofs] == kinds
    assert {one.of for one in result.missing} == (
        {FLOAT32} if kinds else {None, FLOAT32}
    )
    assert str(error) in result.missing[-1].remark.detail


@pytest.mark.usefixtures("brief", "small")
def test_what_was_measured_when_it_is_stopped_is_kept() -> None:
    events: list[RunEvent] = []
    asked = Roofs(device="cpu:0", dtypes=(FLOAT32,), budget_seconds=0.05)
    for event in run_roofs(asked, stop=lambda: bool(results(events))):
        events.append(event)  # noqa: PERF402  (it is looked at meanwhile)
    (result,) = results(events)
    assert [roof.kind for roof in result.roofs] == ["bandwidth"]
    assert result.missing == ()
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome == "cancelled"


def test_stopped_before_the_first_there_is_no_result() -> None:
    events = measure("float32", stop=lambda: True)
    assert results(events) == []
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome == "cancelled"


def test_a_device_that_does_not_exist_is_named() -> None:
    started, failed, finished = measure(device="cpu:99")
    assert isinstance(started, RunStarted)
    assert isinstance(failed, WorkFailed)
    assert failed.remark.code == "device-unknown"
    assert isinstance(finished, RunFinished)
