"""Chips on the bus, and chips that JAX sees."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from jaxtui.core.model import Device
from jaxtui.core.model.machine import chip_count
from jaxtui.features.check.measure import present
from jaxtui.features.check.measure.base import run_check
from jaxtui.features.check.measure.present import ON_BUS, UNUSED
from jaxtui.machine import topologies
from jaxtui.machine.hardware import Chip, Maker, Node
from jaxtui.machine.packages import Packages
from jaxtui.machine.survey import Survey
from tests.features.check.faults import NAMES, check, done, readings


def bus(count: int, maker: Maker = "tpu", kind: str = "TPU v5e") -> tuple[Chip, ...]:
    return tuple(Chip(f"0000:00:{n:02x}.0", maker, kind) for n in range(count))


def tpus(name: str) -> list[Device]:
    return list(topologies.devices(name))


def gpus(count: int, processes: int = 1, version: str = "cuda 12.9") -> list[Device]:
    return [
        Device(
            id=index,
            platform="gpu",
            device_kind="AMD Instinct MI300X" if "rocm" in version else "NVIDIA H200",
            process_index=index * processes // count,
            addressable=index < count // processes,
            attributes={"platform_version": version},
        )
        for index in range(count)
    ]


def cpus(count: int, simulated: bool = False) -> list[Device]:
    one = Device(
        id=0, platform="cpu", device_kind="cpu", process_index=0, simulated=simulated
    )
    return [msgspec.structs.replace(one, id=index) for index in range(count)]


def survey(chips: tuple[Chip, ...], **environment: str) -> Survey:
    return Survey(chips=chips, environment=environment)


@pytest.mark.parametrize("name", topologies.names())
def test_a_whole_slice_and_one_without_a_chip(name: str) -> None:
    devices = list(topologies.devices(name))
    here = chip_count([one for one in devices if one.addressable])
    seen = survey(bus(here))
    (reading,) = present.readings(devices, seen)
    assert (reading.what, reading.measured) == (ON_BUS, here)
    assert reading.expected
    assert reading.expected.value == here

    lost = devices[0].coords
    left = [one for one in devices if one.coords != lost or one.slice_index]
    found = {one.what: one for one in present.readings(left or cpus(1), seen)}
    if here == 1:
        assert found[f"{UNUSED} (tpu)"].remarks[0].code == "cpu-fallback"
        return
    missing = found[ON_BUS]
    assert missing.measured == here - 1
    assert missing.expected is not None
    assert missing.expected.value == here


NVIDIA = bus(8, "cuda", "NVIDIA 0x2335")
AMD = bus(8, "rocm", "AMD 0x74a1")
GRAPHICS = bus(1, "rocm", "AMD 0x164e")
"""Came with the processor."""
PLUGIN = Packages("0.12.0", "0.12.0", {"jax-cuda13-plugin": "0.12.0"})
NOTHING = Packages("0.12.0", "0.12.0", {})
FILES = ("/dev/nvidia3", "/dev/nvidiactl", "/dev/nvidia-uvm")
ONE = tuple(Node(path, "cuda", True, "root:root") for path in FILES)
MIG = replace(gpus(1)[0], device_kind="NVIDIA H100 80GB HBM3 MIG 1g.10gb")

SOME = {"CUDA_VISIBLE_DEVICES": "2,3"}
ASKED = {"JAX_PLATFORMS": "cuda,cpu", "CUDA_VISIBLE_DEVICES": "0"}

COUNTED = {
    "fewer as asked": (tpus("v5litepod-4")[:1], survey(bus(4), TPU_VISIBLE_CHIPS="0")),
    "two as asked": (gpus(2), survey(NVIDIA, **SOME)),
    "all": (gpus(8), survey(NVIDIA)),
    "one is missing": (gpus(7), survey(NVIDIA)),
    "rocm": (gpus(8, version="rocm 70000"), survey(AMD)),
    "a process for each": (gpus(8, processes=8), survey(NVIDIA)),
    "instances of divided gpus": (gpus(14), survey(NVIDIA)),
    "a part of a gpu": ([MIG], survey(NVIDIA)),
    "a container without a bus": (gpus(8), survey(())),
    "a container with one of eight": (gpus(1), Survey(chips=NVIDIA, nodes=ONE)),
    "unused nodes": (cpus(1), Survey(nodes=ONE[:1], packages=PLUGIN)),
    "unused chips": (cpus(1), Survey(chips=NVIDIA, packages=PLUGIN)),
    "no plugin": (cpus(1), Survey(chips=NVIDIA, packages=NOTHING)),
    "other hardware than asked": (cpus(1), survey(NVIDIA, **ASKED)),
    "unused beside simulated ones": (cpus(8, True), survey(NVIDIA)),
    "unused tpus": (cpus(1), survey(bus(4))),
    "the cpu as asked": (cpus(1), survey(NVIDIA, JAX_PLATFORMS="cpu")),
    "graphics alone": (cpus(1), Survey(chips=GRAPHICS, packages=NOTHING)),
    "graphics beside gpus": (gpus(8), Survey(chips=NVIDIA + GRAPHICS, packages=PLUGIN)),
    "none": (cpus(4), survey(())),
}


def test_every_device_ends_and_the_bus_that_was_seen_counts() -> None:
    events = list(run_check(check("present"), survey(bus(2))))
    assert done(events) == NAMES
    (reading,) = readings(events)
    assert reading.remarks[0].code == "cpu-fallback"
