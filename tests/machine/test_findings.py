from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from jaxtui.core.engine.core import Core
from jaxtui.core.model import Device, Holder, Remark
from jaxtui.machine import findings
from jaxtui.machine.findings import merge
from jaxtui.machine.hardware import Chip, Node
from jaxtui.machine.packages import Packages
from jaxtui.machine.processes import Lock
from jaxtui.machine.survey import CHIPS_OF_PROCESS, Survey
from jaxtui.ui import words
from tests import records
from tests.machine.conftest import Machine


def installed(**plugins: str) -> Packages:
    named = {name.replace("_", "-"): version for name, version in plugins.items()}
    return Packages("0.12.0", "0.12.0", named, "0.0.50.*" if plugins else None)


TPU = tuple(Chip(f"0000:00:0{n}.0", "tpu", "TPU v5e") for n in range(4))
VFIO = tuple(Node(f"/dev/vfio/{n}", "tpu", True, "root:tpu") for n in range(4))
GROUP = (Node("/dev/vfio/0", "tpu", False, "root:tpu"),)
GPU = tuple(Chip(f"0000:4{n}:00.0", "cuda", "NVIDIA 0x2335") for n in range(4))
NVIDIA = tuple(Node(f"/dev/nvidia{n}", "cuda", True, "root:root") for n in range(4))
ROOTS = (Node("/dev/nvidia0", "cuda", False, "root:root"),)
RADEON = (Chip("0000:03:00.0", "rocm", "AMD 0x1638"),)
KFD = (Node("/dev/kfd", "rocm", True, "root:render"),)
WITH_TPU, LIBTPU = installed(libtpu="0.0.50.1"), installed(libtpu="0.0.17")
WITH_CUDA = installed(jax_cuda12_plugin="0.12.0")
LOCKER = Holder(pid=4242, user="bob", command="python serve.py", paths=())
TRAINER = replace(LOCKER, pid=7, user="ada", paths=("/dev/nvidia0",))
SERVICE = replace(TRAINER, command="nvidia-persistenced -u p")
TPU_TRAINER = replace(LOCKER, pid=8, paths=("/dev/vfio/0",))

GOOD = Survey(chips=TPU, nodes=VFIO, packages=WITH_TPU)
BARE = replace(GOOD, packages=installed())
LOCKED = replace(GOOD, lock=Lock((LOCKER,)))
HELD = replace(GOOD, holders=(TPU_TRAINER,))
FOUR_GPUS = Survey(chips=GPU, nodes=NVIDIA, packages=WITH_CUDA)
GOOD_GPU = replace(FOUR_GPUS, chips=GPU[:1], nodes=NVIDIA[:1])
NO_GPU = replace(GOOD_GPU, packages=installed())
AMD = Survey(chips=RADEON, nodes=KFD, packages=installed())

CPU = (records.device("cpu:0"),)
SIMULATED = (replace(CPU[0], simulated=True),)
TPUS = tuple(records.device(f"tpu:{n}", coords=(n, 0, 0)) for n in range(4))
CORES = tuple(
    records.device(f"tpu:{n}", coords=(n // 2, 0, 0), core_on_chip=n % 2)
    for n in range(8)
)
GPUS = (records.device("gpu:0"), records.device("gpu:1"))
SISTER = replace(GPUS[1], process_index=1, addressable=False)


def found(
    survey: Survey, devices: Sequence[Device] | None = None, **environment: str
) -> tuple[Remark, ...]:
    """What is found on a machine; without devices JAX has not started."""
    seen = replace(survey, environment=environment)
    if devices is None:
        return findings.before(seen)
    return findings.after(seen, devices)


SITUATIONS: list[tuple[str, tuple[Remark, ...], dict[str, Any]]] = [
    ("plugin-missing error", found(BARE), {"maker": "tpu", "jax": "0.12.0"}),
    ("plugin-missing error", found(NO_GPU), {"maker": "cuda"}),
    (
        "plugin-missing error",
        found(replace(NO_GPU, chips=())),
        {"hardware": "an NVIDIA GPU (/dev/nvidia0)"},
    ),
    # JAX has fallen back, for a known reason.
    ("plugin-missing error", found(BARE, CPU), {"maker": "tpu"}),
    # AMD makes the graphics of many computers.
    ("plugin-missing info", found(AMD), {"hardware": "1 AMD 0x1638 GPU"}),
    ("no-device-file error", found(replace(GOOD_GPU, nodes=())), {"maker": "cuda"}),
    (
        "permission error",
        found(replace(GOOD, nodes=GROUP)),
        {"paths": ("/dev/vfio/0",), "owner": "root:tpu"},
    ),
    (
        "permission error",
        found(replace(GOOD_GPU, nodes=ROOTS), CPU),
        {"paths": ("/dev/nvidia0",)},
    ),
    (
        "libtpu-mismatch warning",
        found(replace(GOOD, packages=LIBTPU)),
        {"version": "0.0.17", "jax": "0.12.0", "wanted": "0.0.50.*"},
    ),
    (
        "gpu-shared info",
        found(replace(GOOD_GPU, holders=(TRAINER,))),
        {"pid": 7, "user": "ada", "paths": ("/dev/nvidia0",)},
    ),
    ("tpu-locked error", found(LOCKED), {"pid": 4242, "user": "bob"}),
    # JAX is not to use that chip.
    ("tpu-locked info", found(LOCKED, TPU_VISIBLE_CHIPS="0"), {"pid": 4242}),
    (
        "stale-lock error",
        found(replace(GOOD, lock=Lock(closed_by="bob"))),
        {"owner": "bob"},
    ),
    (
        "pod-slice info",
        found(GOOD, TPU_WORKER_HOSTNAMES="a,b,c,d", TPU_WORKER_ID="2"),
        {"worker": "2", "workers": 4, "chips": 4, "others": ("a", "b", "d")},
    ),
    (
        "pod-slice info",
        found(GOOD, TPU_ACCELERATOR_TYPE="v5litepod-16"),
        {"chips": 4, "whole": 16},
    ),
    # For an unknown reason.
    ("fallback error", found(GOOD, CPU), {"maker": "tpu", "uses": ("cpu",)}),
    (
        "hidden-by-environment info",
        found(GOOD, CPU, JAX_PLATFORMS="cpu"),
        {"variable": "JAX_PLATFORMS=cpu"},
    ),
    (
        "hidden-by-environment warning",
        found(GOOD_GPU, CPU, CUDA_VISIBLE_DEVICES="-1"),
        {"variable": "CUDA_VISIBLE_DEVICES=-1"},
    ),
    (
        "hidden-by-environment warning",
        found(GOOD_GPU, CPU, CUDA_VISIBLE_DEVICES=""),
        {"variable": "CUDA_VISIBLE_DEVICES="},
    ),
    (
        "cpu-only info",
        found(Survey(packages=WITH_TPU), CPU),
        {"plugins": ("libtpu 0.0.50.1",)},
    ),
    ("cpu-only info", found(Survey(), CPU, JAX_PLATFORMS="cuda,cpu"), {}),
    ("wsl-driver warning", found(Survey(wsl=True), CPU), {}),
    ("chips-missing error", found(GOOD, TPUS[:3]), {"seen": 3, "missing": 1}),
    ("chips-missing error", found(GOOD, CORES[:6]), {"seen": 3, "missing": 1}),
    # Fewer than have a device file.
    (
        "chips-missing error",
        found(replace(GOOD, nodes=VFIO[:3]), TPUS[:2]),
        {"of": "3 TPU v5e chips", "missing": 1},
    ),
]


@pytest.mark.parametrize(("code", "remarks", "facts"), SITUATIONS)
def test_each_situation_has_one_remark(
    code: str, remarks: tuple[Remark, ...], facts: dict[str, Any]
) -> None:
    (remark,) = remarks
    assert f"{remark.code} {remark.severity}" == code
    assert facts.items() <= remark.facts.items()
    assert words.text(remark)


def test_the_table_has_every_remark_that_there_is() -> None:
    text = Path(findings.__file__).read_text()
    there_are = re.findall(r'Remark\("([\w-]+)"', text)
    assert {code.split()[0] for code, *_ in SITUATIONS} == {*there_are}


def test_a_machine_in_order_has_nothing_to_say() -> None:
    assert not found(GOOD)
    assert not found(GOOD, TPUS)
    assert not found(GOOD, CORES)
    assert not found(GOOD_GPU, GPUS[:1])
    # A process for each of its GPUs.
    assert not found(replace(GOOD_GPU, chips=GPU[:2]), [GPUS[0], SISTER])
    assert not found(replace(GOOD_GPU, holders=(SERVICE,)))
    # Of a holder of device and lock the engine tells when it does not start.
    assert not found(replace(HELD, lock=Lock((TPU_TRAINER,))))
    assert not found(replace(GOOD, chips=(), nodes=()))
    # Where the environment chooses nobody counts.
    assert not found(GOOD, TPUS[:2], TPU_VISIBLE_CHIPS="0,1")
    assert not found(GOOD, TPUS[:2], **{CHIPS_OF_PROCESS: "1,2,1"})
    assert not found(FOUR_GPUS, GPUS[:1], CUDA_VISIBLE_DEVICES="0,9,1")
    # As many as have a device file.
    assert not found(replace(GOOD, nodes=VFIO[:2]), TPUS[:2])
    # JAX is not to use the chip that somebody has.
    assert not found(HELD, TPU_VISIBLE_CHIPS="1,2,3")
    assert not found(GOOD, SIMULATED, JAX_PLATFORMS="cpu")
    # Whoever asks for the CPU hears nothing about GPUs.
    assert not found(replace(NO_GPU, nodes=()), JAX_PLATFORMS="cpu")
    # An instance of a GPU is no chip that is missing.
    instance = replace(GPUS[0], device_kind="NVIDIA H100 80GB HBM3 MIG 1g.10gb")
    assert not found(FOUR_GPUS, [instance])


def test_each_fallback_has_the_cause_of_its_own_maker() -> None:
    both = Survey(
        chips=(*GPU[:1], *RADEON), nodes=(*NVIDIA[:1], *KFD), packages=WITH_CUDA
    )
    assert [
        (one.code, one.severity, one.facts["maker"]) for one in found(both, CPU)
    ] == [("fallback", "error", "cuda"), ("plugin-missing", "info", "rocm")]


@pytest.mark.parametrize(("chosen", "told"), [("2,3", 0), ("1,2", 1), ("-1", 0)])
def test_gpus_that_jax_may_not_use_are_not_told_of(chosen: str, told: int) -> None:
    pair = replace(TRAINER, paths=("/dev/nvidia0", "/dev/nvidia1"))
    seen = replace(FOUR_GPUS, holders=(pair,))
    assert len(found(seen, GPUS, CUDA_VISIBLE_DEVICES=chosen)) == told


def test_the_worst_comes_first() -> None:
    remarks = found(replace(LOCKED, packages=LIBTPU), TPU_WORKER_HOSTNAMES="a,b")
    severities = [remark.severity for remark in remarks]
    assert severities == ["error", "warning", "info"]


def test_what_jax_says_of_a_known_trouble_is_its_original_text() -> None:
    known = found(BARE, CPU)
    logged = Remark("fallback", {"maker": "tpu"}, "error", "A Google TPU …")
    (one,) = merge(known, (logged,))
    assert (one, one.detail) == (known[0], "A Google TPU …")
    assert [again.detail for again in merge((one,), (logged,))] == ["A Google TPU …"]
    gpu = Remark("fallback", {"maker": "cuda"}, "error", "An NVIDIA GPU …")
    assert merge(known, (gpu,)) == (known[0], gpu)
    # Also where both are GPUs.
    (amd,) = found(replace(AMD, packages=WITH_CUDA), CPU)
    assert merge((amd,), (gpu,)) == (gpu, amd)
    other, info = Remark("other", severity="warning"), Remark("third")
    codes = [remark.code for remark in merge((info,), (other, logged))]
    assert codes == ["fallback", "other", "third"]


def test_the_core_looks_once_and_compares_with_that(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    machine.node("nvidia0")
    core = Core(machine.root)
    assert core.look().hardware == "an NVIDIA GPU (/dev/nvidia0)"
    assert [one.code for one in core.compare(CPU)] == ["plugin-missing"]
    assert [one.code for one in Core(tmp_path / "empty").compare(CPU)] == ["cpu-only"]
