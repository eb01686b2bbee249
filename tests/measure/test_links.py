"""Copies between CPU devices with real JAX."""

from __future__ import annotations

import sys
from mmap import PAGESIZE
from types import SimpleNamespace
from typing import Any

import jax
import pytest

from jaxtui.measure import links
from jaxtui.measure.links import run_links
from jaxtui.model import (
    Progress,
    RunEvent,
    RunFinished,
    RunStarted,
    WorkFailed,
)
from jaxtui.model.links import LinkMeasured, Links, LinksMeasured

PAIRS = (("cpu:0", "cpu:1"), ("cpu:1", "cpu:0"), ("cpu:2", "cpu:0"))


def measure(*pairs: tuple[str, str], **more: Any) -> list[RunEvent]:
    facts = {"nbytes": 4096, "budget_seconds": 0.05}
    stop = more.pop("stop", lambda: False)
    return list(run_links(Links(pairs=pairs or PAIRS, **(facts | more)), stop=stop))


def last(events: list[RunEvent]) -> dict[tuple[str, str], LinkMeasured]:
    return {event.pair: event for event in events if isinstance(event, LinkMeasured)}


def test_every_pair_gets_a_latency_and_a_rate() -> None:
    events = measure()
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    assert isinstance(events[-2], LinksMeasured)
    assert any(isinstance(event, Progress) for event in events)
    found = last(events)
    assert set(found) == set(PAIRS)
    for link in found.values():
        assert link.rounds >= links.LEAST_ROUNDS
        assert link.latency_low
        assert link.latency_seconds
        assert link.latency_high
        assert link.latency_low <= link.latency_seconds <= link.latency_high
        assert link.copy_low
        assert link.copy_seconds
        assert link.copy_high
        assert link.copy_low <= link.copy_seconds <= link.copy_high
        assert link.remarks == ()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts page faults")
def test_copies_say_whether_their_memory_is_new() -> None:
    events = measure(PAIRS[0])
    assert last(events)[PAIRS[0]].page_faults is not None
    (ended,) = [event for event in events if isinstance(event, LinksMeasured)]
    assert "links-memory" in {remark.code for remark in ended.remarks}
    # How many there are depends on what this process has freed before.
    pages = [0.0, 0.0, 40.0, 60.0, 100.0]
    pairs: Any = [
        SimpleNamespace(measured=SimpleNamespace(page_faults=count)) for count in pages
    ]
    memory = links._memory(pairs, 100 * PAGESIZE)
    assert memory.facts == {"links": 5, "fresh": 2, "page_faults": 80.0}


def test_what_arrives_is_what_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A size that no word divides, and every byte of it."""
    sent: list[tuple[Any, Any]] = []
    put = jax.device_put

    def putting(array: Any, device: Any) -> Any:
        arrived = put(array, device)
        if isinstance(array, jax.Array):
            sent.append((array, arrived))
        return arrived

    monkeypatch.setattr(jax, "device_put", putting)
    measure(("cpu:0", "cpu:1"), nbytes=4099)
    sizes = {array.nbytes for array, _ in sent}
    assert sizes == {8, 4099}
    for array, arrived in sent[:2]:
        assert arrived.devices() == {jax.devices("cpu")[1]}
        assert arrived.tolist() == array.tolist()
        assert len(set(array.tolist())) > 1


def test_no_copy_has_no_bandwidth() -> None:
    found = last(measure(("cpu:1", "cpu:1"), ("cpu:0", "cpu:1")))
    same = found["cpu:1", "cpu:1"]
    assert [remark.code for remark in same.remarks] == ["nothing-copied"]
    assert (same.latency_seconds, same.copy_seconds) == (None, None)
    assert found["cpu:0", "cpu:1"].copy_seconds


def test_a_link_that_fails_costs_the_others_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put, broken = jax.device_put, jax.devices("cpu")[2]

    def putting(array: Any, device: Any) -> Any:
        if device == broken and isinstance(array, jax.Array):
            raise RuntimeError("INTERNAL: link down")
        return put(array, device)

    monkeypatch.setattr(jax, "device_put", putting)
    found = last(measure(("cpu:0", "cpu:2"), ("cpu:0", "cpu:1")))
    (remark,) = found["cpu:0", "cpu:2"].remarks
    assert (remark.code, remark.severity) == ("raised", "error")
    assert "link down" in remark.detail
    assert found["cpu:0", "cpu:1"].copy_seconds


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"nbytes": 10**14}, "out-of-memory"),
        ({"pairs": (("cpu:0", "cpu:99"),)}, "device-unknown"),
    ],
)
def test_what_cannot_be_is_refused(more: dict[str, Any], code: str) -> None:
    pairs = more.pop("pairs", PAIRS)
    (failed,) = [one for one in measure(*pairs, **more) if isinstance(one, WorkFailed)]
    assert failed.remark.code == code


def test_it_stops() -> None:
    asked = iter([False] * 12)
    events = measure(stop=lambda: next(asked, True), budget_seconds=60.0)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome == "cancelled"
