"""What the machine shows without JAX: chips, device files, memory, packages."""

from __future__ import annotations

from collections.abc import Sequence
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from jaxtui.machine import findings, gpu_memory, hardware
from jaxtui.machine.gpu_memory import GpuMemory
from jaxtui.machine.hardware import Chip, Maker
from jaxtui.machine.packages import Packages, installed, version_numbers
from jaxtui.machine.survey import Survey, blocking, survey
from jaxtui.ui import words
from tests.machine.conftest import Machine
from tests.processes import LIMIT_SECONDS
from tests.records import device

GIBIBYTE = 2**30
AMD = {"class": "0x120000"}
PLUGIN = {"jax-cuda12-plugin": "0.12.0"}


def test_a_machine_without_accelerators_is_not_looked_through(machine: Machine) -> None:
    machine.chip("0x8086", "0x1237", **{"class": "0x060000"})
    machine.process(41, "python train.py", "/dev/accel0")
    assert survey({"JAX_PLATFORMS": "cpu", "HOME": "/"}, machine.root) == Survey(
        environment={"JAX_PLATFORMS": "cpu"}
    )


@pytest.mark.parametrize(
    ("vendor", "device", "facts", "found"),
    [
        ("0x1ae0", "0x0063", {}, "1 TPU v5e chip"),
        ("0x1ae0", "0x0027", {"subsystem_device": "0x004f"}, "1 TPU v3 chip"),
        ("0x1ae0", "0x0027", {}, "1 TPU v2 or v3 chip"),
        ("0x10de", "0x2335", {"class": "0x030200"}, "1 NVIDIA 0x2335 GPU"),
        ("0x1002", "0x74a1", AMD, "1 AMD 0x74a1 GPU"),
        ("0x1ae0", "0x0042", {"class": "0x020000"}, ""),  # Google's network card
        ("0x10de", "0x22b9", {"class": "0x040300"}, ""),  # the sound of a card
        ("0x8086", "0x3e92", {"class": "0x030000"}, ""),  # another maker's display
    ],
)
def test_chips_are_known_by_their_ids(
    machine: Machine, vendor: str, device: str, facts: dict[str, str], found: str
) -> None:
    machine.chip(vendor, device, **facts)
    assert hardware.in_words(hardware.chips(machine.root / "sys")) == found


def test_everything_at_once(machine: Machine) -> None:
    for _ in range(2):
        machine.chip("0x1ae0", "0x0063")
    machine.node("accel0")
    machine.node("vfio/3")
    machine.process(41, "python train.py", "/dev/accel0", "/dev/null")
    machine.lock(41)
    seen = survey({}, machine.root)
    assert seen.hardware == "2 TPU v5e chips"
    assert [node.path for node in seen.nodes] == ["/dev/accel0", "/dev/vfio/3"]
    assert all(node.usable and ":" in node.owner for node in seen.nodes)
    assert [(one.pid, one.paths) for one in seen.holders] == [(41, ("/dev/accel0",))]
    assert seen.lock.holders == seen.holders
    assert seen.packages is not None
    assert seen.packages.jax


@pytest.mark.parametrize(
    ("platforms", "makers", "hardware"),
    [
        # What is there and wanted, else what is named.
        ("", ("tpu", "cuda"), "a TPU (/dev/accel0) and an NVIDIA GPU (/dev/nvidia0)"),
        ("gpu, cpu", ("cuda",), "an NVIDIA GPU (/dev/nvidia0)"),
        ("rocm", ("rocm",), "rocm"),
        ("cpu", (), "the CPU"),
    ],
)
def test_what_jax_is_about_to_initialise(
    machine: Machine, platforms: str, makers: tuple[str, ...], hardware: str
) -> None:
    machine.node("accel0")
    machine.node("nvidia0")
    seen = survey({"JAX_PLATFORMS": platforms}, machine.root)
    assert (seen.awaited, seen.hardware) == (makers, hardware)


# Memory of GPUs.


def test_nvidia_smi_is_asked_and_not_awaited_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(gpu_memory, "_SMI_SECONDS", LIMIT_SECONDS)

    def answer(script: str) -> tuple[GpuMemory, ...]:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return tuple(gpu_memory.nvidia())

    assert tuple(gpu_memory.nvidia()) == ()  # there is none
    rows = "0, GPU-a, 61440, 81920", "2, GPU-b, [N/A], [N/A]", "No devices were found"
    assert answer("\n".join(f"echo '{row}'" for row in rows)) == (
        GpuMemory(0, 60 * GIBIBYTE, 80 * GIBIBYTE, uuid="GPU-a"),
        GpuMemory(2, None, None, uuid="GPU-b"),
    )
    assert answer("echo 0, 1, 2, 3; exit 9") == ()
    monkeypatch.setattr(gpu_memory, "_SMI_SECONDS", 0.01)
    assert answer("exec /bin/sleep 3600") == ()


@pytest.mark.parametrize(
    ("chosen", "cards"),
    [(None, [0, 1, 2]), ("", []), ("-1", []), ("2,0", [2, 0]), ("GPU-1", [1])],
)
def test_the_cards_that_jax_may_use(
    monkeypatch: pytest.MonkeyPatch, chosen: str | None, cards: list[int]
) -> None:
    there = [GpuMemory(n, 1, 2, uuid=f"GPU-{n}") for n in range(3)]
    monkeypatch.setattr(gpu_memory, "nvidia", lambda: iter(there))
    environment = {} if chosen is None else {"CUDA_VISIBLE_DEVICES": chosen}
    seen = Survey(chips=(Chip("0000:01:00.0", "cuda", "GPU"),), environment=environment)
    assert [card.index for card in gpu_memory.of(seen)] == cards


def test_the_driver_of_amd_tells_by_files(machine: Machine) -> None:
    used, total = 100 * GIBIBYTE, 192 * GIBIBYTE
    files = {"mem_info_vram_used": str(used), "mem_info_vram_total": str(total)}
    machine.chip("0x1ae0", "0x0063")
    machine.chip("0x1002", "0x74a1", **AMD, **files)
    machine.chip("0x1002", "0x74a1", **AMD)
    sys_folder = machine.root / "sys"
    (card,) = gpu_memory.amd(hardware.chips(sys_folder), sys_folder)
    assert (card.index, card.used_bytes, card.total_bytes) == (0, used, total)


# Packages.


class Distribution:
    """What ``importlib.metadata`` says of one distribution."""

    def __init__(self, name: str, version: str, *requires: str) -> None:
        self.metadata = Message()
        self.metadata["Name"] = name
        self.metadata["Version"] = version
        for requirement in requires:
            self.metadata["Requires-Dist"] = requirement


def test_what_is_installed_is_told_by_name() -> None:
    pin = 'libtpu==0.0.50.*; extra == "tpu"'
    distributions: Any = [
        Distribution("jax", "0.12.0.1", "numpy>=2", pin),
        Distribution("jaxlib", "0.12.0.1"),
        Distribution("libtpu", "0.0.50.1"),
        Distribution("jax_cuda12_plugin", "0.12.0"),
        Distribution("numpy", "2.5"),
    ]
    found = installed(distributions)
    assert found == Packages(
        jax="0.12.0.1",
        jaxlib="0.12.0.1",
        plugins={"jax-cuda12-plugin": "0.12.0", "libtpu": "0.0.50.1"},
        libtpu_pin="0.0.50.*",
    )
    assert found.for_maker("tpu") == {"libtpu": "0.0.50.1"}
    assert found.for_maker("cuda") == {"jax-cuda12-plugin": "0.12.0"}
    assert found.for_maker("rocm") == {}


@pytest.mark.parametrize(
    ("version", "pin", "wanted"),
    [
        ("0.0.5", "0.0.50.*", "0.0.50.*"),
        ("0.0.50", "0.0.50.*", ""),
        ("0.0.50.1", "0.0.50.*", ""),
        ("0.0.50", "0.0.51", "0.0.51"),
        ("0.0.51", "0.0.51", ""),
        ("0.0.51", None, ""),
        (None, "0.0.51", ""),
    ],
)
def test_the_libtpu_that_jax_asks_for(
    version: str | None, pin: str | None, wanted: str
) -> None:
    plugins = {"libtpu": version} if version else {}
    assert Packages("0.12.0.1", "0.12.0.1", plugins, pin).libtpu_wanted == wanted


def test_only_the_packages_that_matter_are_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = ("libtpu", "jax_cuda12_plugin", "jax_cuda13_pjrt", "jax_rocm60_plugin")
    for name in ("jax", *plugins, "libtpu_tools", "other"):
        folder = tmp_path / f"{name}-0.12.0.dist-info"
        folder.mkdir()
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.12.0\n"
        (folder / "METADATA").write_text(text)
    (tmp_path / "jaxtyping-1.dist-info").mkdir()  # an uninstallation broke off
    monkeypatch.setattr("sys.path", [str(tmp_path), str(tmp_path / "absent")])
    found = installed()
    assert found.jax == "0.12.0"
    assert set(found.plugins) == {name.replace("_", "-") for name in plugins}


def test_versions_are_read_as_numbers() -> None:
    assert version_numbers("0.6.dev1") == (0, 6)
    assert version_numbers("0.12.0.1") == (0, 12, 0, 1)
    assert version_numbers("0.7.0.dev20250701+abc") == (0, 7, 0)
    assert version_numbers("0.10.0rc1") == (0, 10, 0)


def held(environment: dict[str, str], machine: Machine) -> list[int]:
    """By whom, for a program with this environment."""
    seen = survey(environment, machine.root)
    return [holder.pid for holder in blocking(seen, machine.root)]


@pytest.mark.parametrize(
    ("environment", "blocked"),
    [
        ({}, True),
        ({"JAX_PLATFORMS": ""}, True),
        ({"JAX_PLATFORMS": "tpu,cpu"}, True),
        ({"JAX_PLATFORMS": "cpu"}, False),
        ({"JAX_PLATFORMS": "cuda,cpu"}, False),
        ({"TPU_VISIBLE_CHIPS": "1"}, False),
        ({"TPU_VISIBLE_DEVICES": "1"}, False),
    ],
)
def test_a_holder_blocks_only_who_wants_the_whole_tpu(
    machine: Machine, environment: dict[str, str], blocked: bool
) -> None:
    machine.process(41, "python", "/dev/accel0")
    assert held(environment, machine) == []  # there are no device files
    machine.node("accel0")
    assert bool(held(environment, machine)) is blocked


def test_vfio_counts_only_where_a_tpu_is(machine: Machine) -> None:
    machine.node("vfio/1")
    machine.process(41, "qemu", "/dev/vfio/1")
    machine.chip("0x1ae0", "0x0042")  # Google's network card
    assert held({}, machine) == []
    machine.chip("0x1ae0", "0x006f")
    assert held({}, machine) == [41]


@pytest.mark.parametrize(
    ("maker", "environment", "visible"),
    [
        ("cuda", {}, range(8)),
        ("cuda", {"CUDA_VISIBLE_DEVICES": "7,6"}, (7, 6)),
        ("cuda", {"CUDA_VISIBLE_DEVICES": ""}, ()),
        ("cuda", {"CUDA_VISIBLE_DEVICES": "-1"}, ()),
        ("cuda", {"CUDA_VISIBLE_DEVICES": "GPU-5"}, (5,)),
        ("cuda", {"HIP_VISIBLE_DEVICES": "1"}, range(8)),
        ("rocm", {"ROCR_VISIBLE_DEVICES": "4,5"}, (4, 5)),
    ],
)
def test_the_gpus_that_jax_may_use(
    maker: Maker, environment: dict[str, str], visible: Sequence[int]
) -> None:
    chips = tuple(Chip(f"0000:0{n}:00.0", maker, "GPU") for n in range(8))
    seen = Survey(chips=chips, environment=environment)
    used = [n for n in range(8) if seen.uses(maker, n, f"GPU-{n}aa")]
    assert used == sorted(visible)


@pytest.mark.parametrize(
    ("nodes", "driver", "plugins", "found"),
    [
        (("dxg",), True, {}, ("plugin-missing", "an NVIDIA GPU (/dev/dxg)")),
        (("dxg",), False, {}, ("wsl-driver", "libcuda.so.1")),
        (("nvhost-gpu",), False, {}, ("plugin-missing", "sm_87")),
        (("nvhost-gpu",), False, PLUGIN, ("fallback", "/dev/nvhost-gpu")),
    ],
)
def test_gpus_that_are_on_no_bus(
    machine: Machine,
    nodes: tuple[str, ...],
    driver: bool,
    plugins: dict[str, str],
    found: tuple[str, ...],
) -> None:
    for node in nodes:
        machine.node(node)
    if driver:
        file = machine.root / hardware.WSL_DRIVER
        file.parent.mkdir(parents=True)
        file.touch()
    seen = replace(
        survey({}, machine.root), packages=Packages("0.12.0", "0.12.0", plugins)
    )
    (remark,) = findings.after(seen, [device("cpu:0")])
    assert remark.code == found[0]
    assert found[1] in words.text(remark)
    assert "attached to this VM" not in words.text(remark)
