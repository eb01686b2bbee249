"""Chips on the bus, chips that JAX sees, chips promised."""

from __future__ import annotations

import msgspec
import pytest

from jaxtui.machine import topologies
from jaxtui.machine.hardware import Chip, Node
from jaxtui.machine.packages import Packages
from jaxtui.machine.survey import Survey
from jaxtui.measure.check import present
from jaxtui.measure.check.base import run_check
from jaxtui.model import CheckDone, CheckRead, Device, Reading
from jaxtui.model.machine import chip_count
from tests.measure.check.faults import NAMES, check

TYPE = "TPU_ACCELERATOR_TYPE"

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


def type_of(name: str) -> str:
    return name.removeprefix("2x-").removesuffix("-2-hosts")


def bus(count: int, maker: str = "tpu", kind: str = "TPU v5e") -> tuple[Chip, ...]:
    return tuple(Chip(f"0000:00:{n:02x}.0", maker, kind) for n in range(count))


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
    return [
        Device(
            id=index,
            platform="cpu",
            device_kind="cpu",
            process_index=0,
            simulated=simulated,
        )
        for index in range(count)
    ]


def read(devices: list[Device], seen: Survey) -> dict[str, Reading]:
    found = {one.what: one for one in present.readings(devices, seen)}
    assert all(one.device is None and one.unit == "chips" for one in found.values())
    return found


def all_right(reading: Reading) -> bool:
    expected = reading.expected
    return (
        expected is not None
        and expected.kind == "exact"
        and expected.value == reading.measured
        and not reading.fault
        and not reading.doubt
    )


def test_every_recorded_topology_is_in_the_table() -> None:
    assert set(TOPOLOGIES) == set(topologies.names())


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_a_whole_slice_and_one_without_a_chip(name: str) -> None:
    chips, here, promised = TOPOLOGIES[name]
    devices, type_ = list(topologies.devices(name)), type_of(name)
    assert chip_count(devices) == chips
    assert topologies.chips_of(type_) == promised
    seen = Survey(chips=bus(here), environment={"TPU_ACCELERATOR_TYPE": type_})
    found = read(devices, seen)
    assert set(found) == {present.ON_BUS, present.PROMISED}
    assert found[present.ON_BUS].measured == here
    assert found[present.PROMISED].measured == chips
    assert all(map(all_right, found.values()))
    assert type_ in found[present.PROMISED].expected.source  # type: ignore[union-attr]

    lost = devices[0].coords
    left = [one for one in devices if one.coords != lost or one.slice_index]
    found = read(left or cpus(1), seen)
    if here == 1:
        assert "fell back to the CPU" in found[f"{present.UNUSED} (tpu)"].fault
        return
    missing = found[present.ON_BUS]
    assert "1 is missing" in missing.fault
    assert missing.measured == here - 1
    assert missing.expected is not None
    assert missing.expected.value == here
    assert f"JAX sees {chips - 1}" in found[present.PROMISED].fault


@pytest.mark.parametrize(
    ("type_", "chips"),
    [
        ("V5LITEPOD-16 ", 16),
        ("v5e-4", 4),
        ("v4-7", None),
        ("v4-0", None),
        ("v9-8", None),
        ("v4", None),
        ("v4-8-x", None),
        ("", None),
    ],
)
def test_types_that_mean_something_and_those_that_do_not(
    type_: str, chips: int | None
) -> None:
    assert topologies.chips_of(type_) == chips


@pytest.mark.parametrize(
    ("topology", "chips", "environment", "says"),
    [
        ("v4-8", 4, {TYPE: "v9-8"}, "'v9-8'"),
        # More than promised is a doubt about the variable.
        ("v5litepod-8", 8, {TYPE: "v5litepod-4"}, f"{TYPE} does not describe"),
        # A slice that has not come is missed.
        (
            "v5litepod-8-2-hosts",
            4,
            {TYPE: "v5litepod-8", "MEGASCALE_NUM_SLICES": "2"},
            "2 slices of v5litepod-8 stands for 16 chips. JAX sees 8.",
        ),
    ],
)
def test_what_was_promised(
    topology: str, chips: int, environment: dict[str, str], says: str
) -> None:
    devices = list(topologies.devices(topology))
    seen = Survey(chips=bus(chips), environment=environment)
    found = read(devices, seen)[present.PROMISED]
    assert says in found.said + found.doubt + found.fault
    assert bool(found.doubt) == ("describe" in says)
    assert (found.expected is not None) == bool(found.fault) == ("16" in says)


def test_fewer_as_asked_is_no_fault() -> None:
    devices = list(topologies.devices("v5litepod-4"))[:1]
    environment = {TYPE: "v5litepod-4", "TPU_VISIBLE_CHIPS": "0"}
    seen = Survey(chips=bus(4), environment=environment)
    for reading in read(devices, seen).values():
        assert (reading.expected, reading.fault) == (None, "")
        assert "as TPU_VISIBLE_CHIPS=0 asks" in reading.said


def test_the_sentence_has_every_count() -> None:
    said = read(list(topologies.devices("v4-16")), Survey(chips=bus(4)))
    assert said[present.ON_BUS].said == (
        "16 TensorCores = 8 chips TPU v4 = 8 JAX devices in 2 processes."
        " On this host: 8 TensorCores = 4 chips TPU v4 = 4 JAX devices in 1 process."
    )
    two = present.count_text(topologies.devices("2x-v5litepod-8"))
    assert two.endswith("16 JAX devices in 4 processes and 2 slices")
    seven = present.count_text(topologies.devices("tpu7x-2"))
    assert seven == "2 TensorCores = 1 chip TPU7x = 2 JAX devices in 1 process"
    silent = [
        msgspec.structs.replace(one, attributes={})
        for one in topologies.devices("v5p-8")
    ]
    assert present.count_text(silent).startswith("8 TensorCores = 4 chips")


NVIDIA = bus(8, "cuda", "NVIDIA 0x2335")


@pytest.mark.parametrize(
    ("devices", "seen", "fine", "says"),
    [
        (gpus(8), Survey(chips=NVIDIA), True, "8 GPUs NVIDIA H200 = 8 JAX devices"),
        (gpus(7), Survey(chips=NVIDIA), False, "1 is missing"),
        (
            gpus(2),
            Survey(chips=NVIDIA, environment={"CUDA_VISIBLE_DEVICES": "2,3"}),
            None,
            "CUDA_VISIBLE_DEVICES=2,3 asks",
        ),
        # A process for each GPU.
        (gpus(8, processes=8), Survey(chips=NVIDIA), None, "8 processes share"),
        # An instance of a divided GPU is a device of its own.
        (gpus(14), Survey(chips=NVIDIA), None, "some are divided"),
        # A container without /sys.
        (gpus(8), Survey(), None, "a container may hide it"),
        # A container that was given one of eight.
        (
            gpus(1),
            Survey(
                chips=NVIDIA,
                nodes=(
                    Node("/dev/nvidia3", "cuda", True, "root:root"),
                    Node("/dev/nvidiactl", "cuda", True, "root:root"),
                    Node("/dev/nvidia-uvm", "cuda", True, "root:root"),
                ),
            ),
            True,
            "/dev has the files of 1",
        ),
        (
            gpus(8, version="rocm 70000"),
            Survey(chips=bus(8, "rocm", "AMD 0x74a1")),
            True,
            "8 GPUs AMD Instinct MI300X",
        ),
    ],
)
def test_gpus(
    devices: list[Device], seen: Survey, fine: bool | None, says: str
) -> None:
    (reading,) = read(devices, seen).values()
    assert says in reading.said + reading.fault
    assert bool(reading.fault) == (fine is False)
    assert (reading.expected is None) == (fine is None)
    if fine:
        assert all_right(reading)


INSTALLED = Packages("0.12.0", "0.12.0", {"jax-cuda13-plugin": "0.12.0"})
NOTHING = Packages("0.12.0", "0.12.0", {})


@pytest.mark.parametrize(
    ("devices", "seen", "fault", "says"),
    [
        (cpus(1), Survey(chips=NVIDIA, packages=INSTALLED), True, ""),
        (cpus(1), Survey(chips=NVIDIA, packages=NOTHING), True, "is not installed"),
        (cpus(1), Survey(chips=bus(4)), True, "4 chips TPU v5e"),
        (
            cpus(1),
            Survey(chips=NVIDIA, environment={"JAX_PLATFORMS": "cpu"}),
            False,
            "JAX_PLATFORMS=cpu asks",
        ),
        (cpus(8, simulated=True), Survey(chips=NVIDIA), True, "SIMULATED"),
        # Graphics that came with the processor.
        (
            cpus(1),
            Survey(chips=bus(1, "rocm", "AMD 0x164e"), packages=NOTHING),
            False,
            "ROCm plugin is not installed",
        ),
    ],
)
def test_accelerators_that_jax_does_not_use(
    devices: list[Device], seen: Survey, fault: bool, says: str
) -> None:
    (reading,) = read(devices, seen).values()
    assert bool(reading.fault) == fault
    assert (reading.expected is not None) == fault
    assert says in reading.said


def test_a_second_maker_beside_the_one_in_use_is_only_mentioned() -> None:
    seen = Survey(chips=(*NVIDIA, *bus(1, "rocm", "AMD 0x164e")), packages=INSTALLED)
    found = read(gpus(8), seen)
    assert all_right(found[present.ON_BUS])
    other = found[f"{present.UNUSED} (rocm)"]
    assert not other.fault
    assert other.expected is None


@pytest.mark.parametrize(
    ("devices", "says"),
    [
        (cpus(1), "1 CPU device: it uses all cores"),
        (cpus(4), "4 CPU devices: they share"),
        (cpus(4, simulated=True), "4 CPU devices, SIMULATED"),
    ],
)
def test_a_machine_without_accelerators(devices: list[Device], says: str) -> None:
    (reading,) = read(devices, Survey()).values()
    assert reading.what == present.NONE
    assert reading.measured == 0
    assert reading.expected is None
    assert not reading.fault
    assert says in reading.said


def test_every_device_ends_and_the_bus_that_was_seen_counts() -> None:
    events = list(run_check(check("present"), Survey(chips=bus(2))))
    done = [event.device for event in events if isinstance(event, CheckDone)]
    assert done == NAMES
    (reading,) = [one.reading for one in events if isinstance(one, CheckRead)]
    assert "fell back to the CPU" in reading.fault
