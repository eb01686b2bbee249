"""Chips on the bus, chips that JAX sees, chips promised."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from jaxtui.machine import topologies
from jaxtui.machine.hardware import Chip, Node
from jaxtui.machine.packages import Packages
from jaxtui.machine.survey import PROCESSES, Survey
from jaxtui.measure.check import present
from jaxtui.measure.check.base import run_check
from jaxtui.measure.check.present import NONE, ON_BUS, PROMISED, TYPE, UNUSED
from jaxtui.model import Device, Reading
from jaxtui.model.machine import chip_count
from tests.measure.check.faults import NAMES, check, done, readings

# What is typed, chips in all, chips of process 0, chips that the accelerator type
# promises, by Google's rules (reference: MaxText's table of accelerator types).
TOPOLOGIES = {
    "v2-8": (4, 4, 4),
    "v3-8": (4, 4, 4),
    "v3-32": (16, 4, 16),
    "v4-8": (4, 4, 4),
    "v4-16": (8, 4, 8),
    "v4-32": (16, 4, 16),
    "v5litepod-1": (1, 1, 1),
    "v5litepod-4": (4, 4, 4),
    "v5litepod-8": (8, 8, 8),
    "v5litepod-8-2-hosts": (8, 4, 8),
    "v5litepod-16": (16, 4, 16),
    "2x-v5litepod-8": (16, 4, 8),
    "v5p-8": (4, 4, 4),
    "v5p-16": (8, 4, 8),
    "v6e-1": (1, 1, 1),
    "v6e-8": (8, 8, 8),
    "tpu7x-2": (1, 1, 1),
    "tpu7x-8": (4, 4, 4),
    "tpu7x-16": (8, 4, 8),
}


def bus(count: int, maker: str = "tpu", kind: str = "TPU v5e") -> tuple[Chip, ...]:
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


def read(devices: list[Device], seen: Survey) -> dict[str, Reading]:
    found = {one.what: one for one in present.readings(devices, seen)}
    assert all(one.device is None and one.unit == "chips" for one in found.values())
    return found


def judged(reading: Reading) -> str:
    """What a count is: ``right``, a ``fault``, a ``doubt``, or only ``told``."""
    if (expected := reading.expected) is not None:
        assert expected.kind == "exact"
        assert bool(reading.fault) == (expected.value != reading.measured)
        return "fault" if reading.fault else "right"
    assert not reading.fault
    return "doubt" if reading.doubt else "told"


@pytest.mark.parametrize("name", topologies.names())
def test_a_whole_slice_and_one_without_a_chip(name: str) -> None:
    chips, here, promised = TOPOLOGIES[name]
    devices = tpus(name)
    type_ = name.removeprefix("2x-").removesuffix("-2-hosts")
    assert chip_count(devices) == chips
    assert topologies.chips_of(type_) == promised
    seen = survey(bus(here), **{TYPE: type_})
    found = read(devices, seen)
    assert {what: one.measured for what, one in found.items()} == {
        ON_BUS: here,
        PROMISED: chips,
    }
    assert {judged(one) for one in found.values()} == {"right"}
    assert type_ in found[PROMISED].expected.source  # type: ignore[union-attr]

    lost = devices[0].coords
    left = [one for one in devices if one.coords != lost or one.slice_index]
    found = read(left or cpus(1), seen)
    if here == 1:
        assert "fell back to the CPU" in found[f"{UNUSED} (tpu)"].fault
        return
    missing = found[ON_BUS]
    assert "1 is missing" in missing.fault
    assert missing.measured == here - 1
    assert missing.expected is not None
    assert missing.expected.value == here
    assert f"JAX sees {chips - 1}" in found[PROMISED].fault


NVIDIA = bus(8, "cuda", "NVIDIA 0x2335")
ROCM = bus(1, "rocm", "AMD 0x164e")
INSTALLED = Packages("0.12.0", "0.12.0", {"jax-cuda13-plugin": "0.12.0"})
NOTHING = Packages("0.12.0", "0.12.0", {})
FILES = ("/dev/nvidia3", "/dev/nvidiactl", "/dev/nvidia-uvm")
GIVEN_ONE = tuple(Node(path, "cuda", True, "root:root") for path in FILES)

FOUR_PROMISED: dict[str, Any] = {TYPE: "v5litepod-4"}
TWO_SLICES: dict[str, Any] = {TYPE: "v5litepod-8", "MEGASCALE_NUM_SLICES": "2"}
FIRST_ONLY = survey(bus(4), TPU_VISIBLE_CHIPS="0", **FOUR_PROMISED)


@pytest.mark.parametrize(
    ("devices", "seen", "what", "word", "says"),
    [
        (tpus("v4-8"), survey(bus(4), **{TYPE: "v9-8"}), PROMISED, "told", "'v9-8'"),
        # More than promised is a doubt about the variable.
        (
            tpus("v5litepod-8"),
            survey(bus(8), **FOUR_PROMISED),
            PROMISED,
            "doubt",
            f"{TYPE} does not describe",
        ),
        # A slice that has not come is missed.
        (
            tpus("v5litepod-8-2-hosts"),
            survey(bus(4), **TWO_SLICES),
            PROMISED,
            "fault",
            "2 slices of v5litepod-8 stands for 16 chips. JAX sees 8.",
        ),
        # Fewer as asked is no fault.
        (tpus("v5litepod-4")[:1], FIRST_ONLY, PROMISED, "told", "CHIPS=0 asks"),
        (tpus("v5litepod-4")[:1], FIRST_ONLY, ON_BUS, "told", "CHIPS=0 asks"),
        (gpus(8), survey(NVIDIA), ON_BUS, "right", "8 GPUs NVIDIA H200 = 8 JAX dev"),
        (gpus(7), survey(NVIDIA), ON_BUS, "fault", "1 is missing"),
        (
            gpus(2),
            survey(NVIDIA, CUDA_VISIBLE_DEVICES="2,3"),
            ON_BUS,
            "told",
            "CUDA_VISIBLE_DEVICES=2,3 asks",
        ),
        # Fewer than asked, and other hardware than asked.
        (
            tpus("v5litepod-4")[:2],
            survey(bus(4), TPU_VISIBLE_CHIPS="0,1,2"),
            *(ON_BUS, "fault", "2 are missing"),
        ),
        (
            cpus(1),
            survey(NVIDIA, JAX_PLATFORMS="cuda,cpu", CUDA_VISIBLE_DEVICES="0"),
            *(f"{UNUSED} (cuda)", "fault", "fell back to the CPU"),
        ),
        (
            tpus("v5litepod-8-2-hosts")[:4],
            survey(bus(4), **{TYPE: "v5litepod-8", PROCESSES: "1,1,1"}),
            *(PROMISED, "told", f"4 of them, as {PROCESSES}=1,1,1 asks"),
        ),
        # A process for each GPU.
        (gpus(8, processes=8), survey(NVIDIA), ON_BUS, "told", "8 processes share"),
        # An instance of a divided GPU is a device of its own.
        (gpus(14), survey(NVIDIA), ON_BUS, "told", "some are divided"),
        # A container without /sys, and one that was given one of eight.
        (gpus(8), survey(()), ON_BUS, "told", "a container may hide it"),
        (
            gpus(1),
            Survey(chips=NVIDIA, nodes=GIVEN_ONE),
            ON_BUS,
            "right",
            "/dev has the files of 1",
        ),
        (
            gpus(8, version="rocm 70000"),
            survey(bus(8, "rocm", "AMD 0x74a1")),
            ON_BUS,
            "right",
            "8 GPUs AMD Instinct MI300X",
        ),
        # Accelerators that JAX does not use.
        (
            cpus(1),
            Survey(chips=NVIDIA, packages=INSTALLED),
            f"{UNUSED} (cuda)",
            "fault",
            "8 GPUs NVIDIA 0x2335",
        ),
        (
            cpus(1),
            Survey(chips=NVIDIA, packages=NOTHING),
            f"{UNUSED} (cuda)",
            "fault",
            "is not installed",
        ),
        (cpus(1), survey(bus(4)), f"{UNUSED} (tpu)", "fault", "4 chips TPU v5e"),
        (
            cpus(1),
            survey(NVIDIA, JAX_PLATFORMS="cpu"),
            f"{UNUSED} (cuda)",
            "told",
            "JAX_PLATFORMS=cpu asks",
        ),
        (cpus(8, True), survey(NVIDIA), f"{UNUSED} (cuda)", "fault", "SIMULATED"),
        # Graphics that came with the processor, or stand beside what is in use.
        (
            cpus(1),
            Survey(chips=ROCM, packages=NOTHING),
            f"{UNUSED} (rocm)",
            "told",
            "ROCm plugin is not installed",
        ),
        (
            gpus(8),
            Survey(chips=(*NVIDIA, *ROCM), packages=INSTALLED),
            f"{UNUSED} (rocm)",
            "told",
            "JAX uses 8 GPUs",
        ),
        # A machine without any.
        (cpus(1), survey(()), NONE, "told", "1 CPU device: it uses all cores"),
        (cpus(4), survey(()), NONE, "told", "4 CPU devices: they share"),
        (cpus(4, True), survey(()), NONE, "told", "4 CPU devices, SIMULATED"),
    ],
)
def test_counts(
    devices: list[Device], seen: Survey, what: str, word: str, says: str
) -> None:
    found = read(devices, seen)
    reading = found.pop(what)
    assert judged(reading) == word
    assert says in reading.said + reading.doubt + reading.fault
    assert set(found) <= {ON_BUS, PROMISED}


def test_the_sentence_has_every_count() -> None:
    said = read(tpus("v4-16"), survey(bus(4)))
    assert said[ON_BUS].said == (
        "16 TensorCores = 8 chips TPU v4 = 8 JAX devices in 2 processes."
        " On this host: 8 TensorCores = 4 chips TPU v4 = 4 JAX devices in 1 process."
    )
    two = present.count_text(tpus("2x-v5litepod-8"))
    assert two.endswith("16 JAX devices in 4 processes and 2 slices")
    seven = present.count_text(tpus("tpu7x-2"))
    assert seven == "2 TensorCores = 1 chip TPU7x = 2 JAX devices in 1 process"
    silent = [msgspec.structs.replace(one, attributes={}) for one in tpus("v5p-8")]
    assert present.count_text(silent).startswith("8 TensorCores = 4 chips")


def test_every_device_ends_and_the_bus_that_was_seen_counts() -> None:
    events = list(run_check(check("present"), survey(bus(2))))
    assert done(events) == NAMES
    (reading,) = readings(events)
    assert "fell back to the CPU" in reading.fault
