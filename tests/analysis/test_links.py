"""Which pairs are measured, and which of them lag."""

from __future__ import annotations

from collections import Counter

import pytest

from jaxtui.analysis.links import MOST_PAIRS, choose, lags
from jaxtui.analysis.thresholds import ALIKE, ON_HOST
from jaxtui.machine.network import Network
from jaxtui.model import Device
from tests.fake_engine import cpu_devices, tpu_devices
from tests.linking import link
from tests.machine.test_network import box
from tests.records import device

Pair = tuple[str, str]


def test_all_pairs_of_a_few_devices() -> None:
    devices = tpu_devices()
    pairs = choose(devices, Network(devices))
    assert len(pairs) == len(set(pairs)) == 8 * 7
    assert all(one != other for one, other in pairs)


@pytest.mark.parametrize(
    "devices", [box("TPU v5 lite", 8, 8, 1), cpu_devices(17), cpu_devices(64)]
)
def test_of_many_devices_a_sample_over_all_distances(
    devices: tuple[Device, ...],
) -> None:
    network = Network(devices)
    pairs = choose(devices, network, seed=3)
    assert MOST_PAIRS <= len(pairs) == len(set(pairs)) <= MOST_PAIRS + 1
    assert {(other, one) for one, other in pairs} == set(pairs)
    assert {name for pair in pairs for name in pair} == {one.name for one in devices}
    every = [
        network.hops(one.name, other.name)
        for one in devices
        for other in devices
        if one != other
    ]
    assert Counter(network.hops(*pair) for pair in pairs).keys() == set(every)
    assert choose(devices, network, seed=3) == pairs
    assert choose(devices, network, seed=4) != pairs


def measured(devices: tuple[Device, ...], **slower: float) -> dict[Pair, object]:
    """All pairs; ``slower`` of some, named ``s0_1`` for 0 → 1."""
    found = {}
    for one in devices:
        for other in devices:
            if one != other:
                factor = slower.get(f"s{one.id}_{other.id}", 1.0)
                found[one.name, other.name] = link(one.name, other.name, factor)
    return found  # type: ignore[return-value]


def lagging(devices: tuple[Device, ...], **slower: float) -> list[Pair]:
    found = measured(devices, **slower)
    return [lag.pair for lag in lags(found, devices, Network(devices))]  # type: ignore[arg-type]


def test_a_pair_lags_behind_those_of_its_distance_and_direction() -> None:
    devices = tpu_devices()
    assert lagging(devices) == []
    assert lagging(devices, s0_1=2.0) == [("tpu:0", "tpu:1")]
    # The slowest first; what is within the bound does not lag.
    pairs = [("tpu:2", "tpu:1"), ("tpu:0", "tpu:1")]
    assert lagging(devices, s0_1=1.5, s2_1=3.0, s3_2=1.05) == pairs
    (lag,) = lags(
        measured(devices, s0_1=2.0),  # type: ignore[arg-type]
        devices,
        Network(devices),
    )
    assert lag.share == pytest.approx(0.5)
    assert lag.bound == ALIKE


def test_what_is_slow_in_one_direction_everywhere_does_not_lag() -> None:
    devices = box("TPU v5 lite", 4, 1, 1)
    left = {f"s{n + 1}_{n}": 3.0 for n in range(3)}
    assert lagging(devices, **left) == []


def test_two_devices_are_compared_both_ways() -> None:
    devices = box("TPU v5 lite", 2, 1, 1)
    assert lagging(devices, s1_0=2.0) == [("tpu:1", "tpu:0")]


def test_of_devices_without_coords_ids_tell_the_direction() -> None:
    devices = tuple(
        Device(id=n, platform="gpu", device_kind="H100", process_index=0)
        for n in range(4)
    )
    assert lagging(devices, s3_0=2.0) == [("gpu:3", "gpu:0")]


def test_the_host_moves_what_cpu_devices_take() -> None:
    devices = cpu_devices(4)
    assert lagging(devices, s0_1=1.5) == []
    assert lagging(devices, s0_1=2.5) == [("cpu:0", "cpu:1")]
    (lag,) = lags(
        measured(devices, s0_1=2.5),  # type: ignore[arg-type]
        devices,
        Network(devices),
    )
    assert lag.bound == ON_HOST


def test_the_best_end_of_the_interval_must_lag() -> None:
    devices = tpu_devices()
    found = measured(devices)
    wide = link("tpu:0", "tpu:1", 2.0, copy_low=64 * 2**20 / 40e9)
    found["tpu:0", "tpu:1"] = wide
    assert lags(found, devices, Network(devices)) == ()  # type: ignore[arg-type]


def test_pairs_are_of_one_process_however_many_there_are() -> None:
    for processes, each in ((2, 2), (5, 4), (64, 1), (100, 4)):
        devices = [
            device(f"cpu:{2048 * process + index}", process_index=process)
            for process in range(processes)
            for index in range(each)
        ]
        owner = {one.name: one.process_index for one in devices}
        pairs = choose(devices, Network(devices))
        assert all(owner[source] == owner[target] for source, target in pairs)
        every = processes * each * (each - 1)
        assert len(pairs) == (every if every <= MOST_PAIRS else MOST_PAIRS)
