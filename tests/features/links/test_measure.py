"""Copies between CPU devices with real JAX."""

from __future__ import annotations

from typing import Any

import jax
import pytest

from jaxtui.core.model import CaseFailed, CaseMeasured, Measurement
from jaxtui.features.bench.measure.experiment import run
from jaxtui.features.links.messages import Pair, experiment

PAIRS = (("cpu:0", "cpu:1"), ("cpu:1", "cpu:0"), ("cpu:2", "cpu:0"))


def measure(
    *pairs: Pair, nbytes: int = 4096
) -> tuple[dict[Pair, list[Measurement]], dict[Pair, str]]:
    """What was measured of each pair, and the codes of failures."""
    work = experiment(pairs or PAIRS, nbytes, budget=0.05)
    found: dict[Pair, list[Measurement]] = {}
    failed: dict[Pair, str] = {}
    for event in run(work):
        if isinstance(event, CaseMeasured):
            case = event.measurement.case
            found.setdefault((case.device, case.target), []).append(event.measurement)
        elif isinstance(event, CaseFailed):
            case = event.failure.case
            failed[case.device, case.target] = event.failure.remark.code
    return found, failed


def test_every_pair_gets_a_latency_and_a_rate() -> None:
    found, failed = measure()
    assert ([*found], failed) == ([*PAIRS], {})
    for both in found.values():
        assert [copy.case.size for copy in both] == [8, 4096]
        for copy in both:
            assert copy.ready
            assert copy.ready.ci_low <= copy.ready.median <= copy.ready.ci_high
            assert not copy.has("own")


def test_what_arrives_is_what_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A size that no word divides, and every byte of it."""
    sent: list[tuple[Any, Any]] = []
    put = jax.device_put

    def putting(array: Any, device: Any = None) -> Any:
        arrived = put(array, device)
        if isinstance(array, jax.Array):
            sent.append((array, arrived))
        return arrived

    monkeypatch.setattr(jax, "device_put", putting)
    measure(("cpu:0", "cpu:1"), nbytes=4099)
    assert {array.nbytes for array, _ in sent} == {8, 4099}
    for array, arrived in sent[:2]:
        assert arrived.devices() == {jax.devices("cpu")[1]}
        assert arrived.tolist() == array.tolist()
        assert len(set(array.tolist())) > 1


def test_a_link_that_fails_costs_the_others_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put, broken = jax.device_put, jax.devices("cpu")[2]

    def putting(array: Any, device: Any = None) -> Any:
        if device == broken and isinstance(array, jax.Array):
            raise RuntimeError("INTERNAL: link down")
        return put(array, device)

    monkeypatch.setattr(jax, "device_put", putting)
    found, failed = measure(("cpu:0", "cpu:2"), ("cpu:0", "cpu:1"))
    assert failed == {("cpu:0", "cpu:2"): "raised"}
    assert [*found] == [("cpu:0", "cpu:1")]


@pytest.mark.parametrize(
    ("pair", "nbytes", "code"),
    [
        (("cpu:1", "cpu:1"), 4096, "nothing-copied"),
        (("cpu:0", "cpu:1"), 10**14, "too-large"),
        (("cpu:0", "cpu:99"), 4096, "device-unknown"),
    ],
)
def test_what_cannot_be_is_a_failure(pair: Pair, nbytes: int, code: str) -> None:
    _, failed = measure(pair, nbytes=nbytes)
    assert failed == {pair: code}
