from __future__ import annotations

import json
from typing import Any

import jax
import pytest

from jaxtui.tasks import devices, host
from jaxtui.tasks.devices import probe
from jaxtui.tasks.errors import RefusedError
from tests.machine.record import RECORD

TOPOLOGIES = json.loads(RECORD.read_text())

STATS = {"num_allocs": 3, "bytes_in_use": 100, "bytes_reserved": 20, "bytes_limit": 900}


class Client:
    runtime_type = "compile_only_runtime"

    def __init__(self, version: str) -> None:
        self.platform_version = version

    def process_index(self) -> int:
        return 0


class FakeTpu:
    """A device like those of the TPU plugin: what is None in the dump is not there."""

    def __init__(self, dumped: dict[str, Any], version: str) -> None:
        self._facts = {
            name: value for name, value in dumped.items() if value is not None
        }
        self.client = Client(version)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._facts:
            raise AttributeError
        return self._facts[name]

    def memory_stats(self) -> dict[str, int]:
        if self.process_index != 0:
            raise RuntimeError("INVALID_ARGUMENT: only for addressable PjRt devices.")
        return STATS

    def default_memory(self) -> Any:
        raise RuntimeError("UNIMPLEMENTED")


def test_the_coords_of_a_gpu_are_no_place_on_a_torus() -> None:
    gpu = {"id": 0, "process_index": 0, "platform": "gpu", "coords": [0, 0, 0]}
    kind = {"device_kind": "NVIDIA H200"}
    described = devices.describe_device(FakeTpu({**gpu, **kind}, "cuda 13000"))
    assert described.coords is None


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_every_tpu_topology_is_described(name: str) -> None:
    topology = TOPOLOGIES[name]
    version = topology["platform_version"]
    for dumped in topology["devices"]:
        described = devices.describe_device(FakeTpu(dumped, version))
        for fact in ("id", "process_index", "device_kind", "core_on_chip"):
            assert getattr(described, fact) == dumped[fact], fact
        assert described.slice_index == dumped["slice_index"]
        assert described.coords == tuple(dumped["coords"])
        assert described.name == f"tpu:{dumped['id']}"
        assert described.local_hardware_id is None
        assert described.attributes["num_cores"] == str(dumped["num_cores"])
        assert described.attributes["platform_version"] == version
        assert not described.simulated
        local = dumped["process_index"] == 0
        assert described.addressable == local
        assert described.memory == (STATS if local else None)
        # What is reserved counts as used.
        used, limit = described.memory_used_bytes, described.memory_limit_bytes
        assert (used, limit) == ((120, 900) if local else (None, None))


def test_cpu_devices_have_no_coordinates_and_no_statistics() -> None:
    described = devices.describe()
    names = ["cpu:0", "cpu:1", "cpu:2", "cpu:3"]
    assert [device.name for device in described] == names
    assert devices.memory() == dict.fromkeys(names)
    for device in described:
        assert device.simulated
        assert device.addressable
        assert device.memory is None
        assert [device.coords, device.core_on_chip, device.slice_index] == 3 * [None]
        assert device.attributes["runtime_type"]
        assert "memory_stats" not in device.attributes
        assert "host_id" not in device.attributes


def test_find() -> None:
    assert devices.find("cpu:2") is jax.devices()[2]
    for name in ("cpu:12", "tpu:0", ""):
        with pytest.raises(RefusedError, match="device-unknown"):
            devices.find(name)


def test_probe_swallows_what_plugins_raise_but_not_an_interrupt() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    assert probe(lambda: 3) == 3
    assert probe(lambda: jax.devices()[0].coords) is None
    with pytest.raises(KeyboardInterrupt):
        probe(interrupted)


def test_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setenv("HOME_MADE_SECRET", "no")
    facts = host.host()
    assert facts.jax == jax.__version__
    assert facts.jaxlib
    assert "\n" not in (facts.platform_version or "")
    assert facts.environment["OMP_NUM_THREADS"] == "2"
    assert facts.environment["JAX_PLATFORMS"] == "cpu"
    assert "HOME_MADE_SECRET" not in facts.environment
    assert facts.memory_bytes is None or facts.memory_bytes > 2**20
