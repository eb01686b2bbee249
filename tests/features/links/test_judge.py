"""Which pairs are measured, which of them lag, and what qualifies them."""

from __future__ import annotations

import pytest

from jaxtui.core.model import Device
from jaxtui.core.state import State
from jaxtui.features.links.judge import MOST_PAIRS, choose, lagging, result, why_none
from jaxtui.features.links.messages import Link
from jaxtui.machine.network import Network
from tests.fake_engine import cpu_devices, tpu_devices
from tests.features.links.linking import RATE, measured
from tests.machine.test_network import box
from tests.records import device


def test_of_many_devices_a_sample_in_both_directions() -> None:
    pairs = choose(cpu_devices(64), seed=3)
    assert len(pairs) == len(set(pairs)) == MOST_PAIRS
    assert {(target, source) for source, target in pairs} == set(pairs)
    assert choose(cpu_devices(64), seed=3) == pairs
    assert choose(cpu_devices(64), seed=4) != pairs


@pytest.mark.parametrize(("processes", "each"), [(2, 2), (5, 4), (64, 1), (100, 4)])
def test_pairs_are_of_one_process(processes: int, each: int) -> None:
    devices = [
        device(f"cpu:{2048 * process + index}", process_index=process)
        for process in range(processes)
        for index in range(each)
    ]
    owner = {known.name: known.process_index for known in devices}
    pairs = choose(devices)
    assert all(owner[source] == owner[target] for source, target in pairs)
    assert len(pairs) == min(MOST_PAIRS, processes * each * (each - 1))
    assert choose([device("cpu:1", addressable=False), device("cpu:0")]) == ()


def lags(devices: tuple[Device, ...], **slower: float) -> dict[str, float]:
    """The shares of those that lag; ``s0_1=2.0`` makes 0 → 1 take twice as long."""
    names = {known.id: known.name for known in devices}
    factors = {
        (names[int(source)], names[int(target)]): factor
        for way, factor in slower.items()
        for source, _, target in [way[1:].partition("_")]
    }
    links, _ = measured(devices, factors)
    return {
        f"s{link.source.partition(':')[2]}_{link.target.partition(':')[2]}": link.share
        for link in links.links
        if link.share
    }


@pytest.mark.parametrize(
    ("devices", "slower", "expected"),
    [
        (tpu_devices(), {}, {}),
        (tpu_devices(), {"s0_1": 2.0}, {"s0_1": 0.5}),
        (tpu_devices(), {"s0_1": 1.6, "s3_2": 1.05}, {"s0_1": 1 / 1.6}),
        # What is slow in one direction everywhere does not lag.
        (box("TPU v5 lite", 4, 1, 1), {f"s{n + 1}_{n}": 3.0 for n in range(3)}, {}),
        (box("TPU v5 lite", 2, 1, 1), {"s1_0": 2.0}, {"s1_0": 0.5}),
        # Without coords the ids tell the direction.
        (tuple(device(f"gpu:{n}") for n in range(4)), {"s3_0": 2.0}, {"s3_0": 0.5}),
        # Other programs move what CPU devices take.
        (cpu_devices(4), {"s0_1": 1.5}, {}),
        (cpu_devices(4), {"s0_1": 2.5}, {"s0_1": 0.4}),
    ],
)
def test_a_pair_lags_behind_those_of_its_distance_and_direction(
    devices: tuple[Device, ...], slower: dict[str, float], expected: dict[str, float]
) -> None:
    assert lags(devices, **slower) == pytest.approx(expected)


@pytest.mark.parametrize(("high", "lags"), [(39.0, False), (30.0, True)])
def test_the_best_end_of_the_interval_must_lag(high: float, lags: bool) -> None:
    def link(target: str, rate: float, best: float) -> Link:
        figures = {"bytes_per_second": rate, "bytes_per_second_high": best}
        return Link(source="gpu:0", target=target, hops=None, **figures)  # type: ignore[arg-type]

    network = Network([device(f"gpu:{n}") for n in range(3)])
    links = [link("gpu:1", 20.0, high), link("gpu:2", 40.0, 40.0)]
    assert bool(lagging(links, network)) is lags


def test_what_qualifies_them() -> None:
    def flags(*args: object) -> list[str]:
        links, _ = measured(*args)  # type: ignore[arg-type]
        return [note.flag for note in links.notes]

    assert flags(tpu_devices()) == ["hops"]
    assert flags(cpu_devices(3)) == ["memory"]
    assert flags([device(f"gpu:{n}") for n in range(20)]) == ["sample"]
    assert flags([device(f"gpu:{n}") for n in range(16)]) == []
    two = [device(f"gpu:{n}", process_index=n // 2) for n in range(4)]
    assert flags(two) == []
    assert flags(tpu_devices(), {("tpu:0", "tpu:1"): 2.0}) == ["slow link", "hops"]
    others = [device(f"tpu:{8 + n}", addressable=False) for n in range(4)]
    assert flags(tpu_devices(), {}, (), others) == ["hops", "other processes"]


def test_a_pair_without_figures_says_why() -> None:
    links, _ = measured(tpu_devices(), broken=["tpu:3"])
    failed, _ = links.notes
    assert (failed.flag, failed.level, len(failed.about)) == ("failed", "error", 7)
    assert "link down" in failed.text
    (row,) = (link for link in links.links if link.pair == ("tpu:0", "tpu:3"))
    assert (row.bytes_per_second, row.error) == (None, failed.text)


def test_the_result_has_every_pair_that_was_asked_for() -> None:
    links, state = measured(tpu_devices(), {("tpu:0", "tpu:1"): 2.0})
    assert links.size_bytes == 64 * 2**20
    assert [link.pair for link in links.links] == [*choose(state.devices)]
    first = links.links[0]
    assert (first.pair, first.hops) == (("tpu:0", "tpu:1"), 1)
    assert first.latency_seconds == pytest.approx(30e-6)
    assert first.bytes_per_second == pytest.approx(RATE / 2)
    low, high = first.bytes_per_second_low, first.bytes_per_second_high
    assert low
    assert high
    assert low < RATE / 2 < high
    nothing = result(State(), complete=False)
    assert (nothing.links, nothing.size_bytes, nothing.complete) == ((), None, False)


def test_why_there_are_none() -> None:
    assert "there is only cpu:0" in why_none(["cpu:0"])
    assert "of one process" in why_none(["cpu:0", "cpu:2048"])
