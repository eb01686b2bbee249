from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

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

TPU = tuple(Chip(f"0000:00:0{n}.0", "tpu", "TPU v5e") for n in range(4))
VFIO = tuple(Node(f"/dev/vfio/{n}", "tpu", True, "root:tpu") for n in range(4))
GPU = (Chip("0000:41:00.0", "cuda", "NVIDIA 0x2335"),)
NVIDIA = (Node("/dev/nvidia0", "cuda", True, "root:root"),)
RADEON = Chip("0000:03:00.0", "rocm", "AMD 0x1638")
KFD = (Node("/dev/kfd", "rocm", True, "root:render"),)
WITH_TPU = Packages("0.12.0", "0.12.0", {"libtpu": "0.0.50.1"}, "0.0.50.*")
WITH_CUDA = Packages("0.12.0", "0.12.0", {"jax-cuda12-plugin": "0.12.0"})
BARE = Packages("0.12.0", "0.12.0", {})
LOCKER = Holder(pid=4242, user="bob", command="python serve.py", paths=())
TRAINER = Holder(
    pid=7,
    user="ada",
    command="python train.py",
    paths=("/dev/nvidia0",),
    age_seconds=3700,
)
TPU_TRAINER = Holder(pid=8, user="ada", command="python t.py", paths=("/dev/vfio/0",))
GOOD = Survey(chips=TPU, nodes=VFIO, packages=WITH_TPU)
GOOD_GPU = Survey(chips=GPU, nodes=NVIDIA, packages=WITH_CUDA)
FOUR_GPUS = Survey(
    chips=tuple(Chip(f"0000:4{n}:00.0", "cuda", "NVIDIA 0x2335") for n in range(4)),
    nodes=tuple(Node(f"/dev/nvidia{n}", "cuda", True, "root:root") for n in range(4)),
    packages=WITH_CUDA,
)


def device(number: int, platform: str = "tpu", **facts) -> Device:
    return Device(
        id=number,
        platform=platform,
        device_kind=platform,
        process_index=0,
        **facts,
    )


CPU = (device(0, "cpu"),)
TPUS = tuple(device(n, coords=(n, 0, 0)) for n in range(4))
GPUS = (device(0, "gpu"),)
CORES = tuple(device(n, coords=(n // 2, 0, 0), core_on_chip=n % 2) for n in range(8))


def on(survey: Survey, devices=None) -> Callable[[], tuple[Remark, ...]]:
    """What is found on a machine; without devices JAX has not started."""
    if devices is None:
        return partial(findings.before, survey)
    return partial(findings.after, survey, devices)


def with_environment(survey: Survey, **environment: str) -> Survey:
    return replace(survey, environment=environment)


LIBTPU = Packages("0.12.0", "0.12.0", {"libtpu": "0.0.17"}, "0.0.50.*")
GROUP = (Node("/dev/vfio/0", "tpu", False, "root:tpu"),)
ROOTS = (Node("/dev/nvidia0", "cuda", False, "root:root"),)
LOCKED = replace(GOOD, lock=Lock((LOCKER,)))
HELD = replace(GOOD, holders=(TPU_TRAINER,))
NO_GPU = replace(GOOD_GPU, packages=BARE)

TABLE = {
    "plugin-missing error": (
        (on(replace(GOOD, packages=BARE)), {"maker": "tpu", "jax": "0.12.0"}),
        (on(NO_GPU), {"maker": "cuda"}),
        (
            on(replace(NO_GPU, chips=())),
            {"hardware": "an NVIDIA GPU (/dev/nvidia0)"},
        ),
        # JAX has fallen back, for a known reason.
        (on(replace(GOOD, packages=BARE), CPU), {"maker": "tpu"}),
    ),
    # AMD makes the graphics of many computers.
    "plugin-missing info": (
        (
            on(Survey(chips=(RADEON,), nodes=KFD, packages=BARE)),
            {"hardware": "1 AMD 0x1638 GPU"},
        ),
    ),
    "no-device-file error": ((on(replace(GOOD_GPU, nodes=())), {"maker": "cuda"}),),
    "permission error": (
        (
            on(replace(GOOD, nodes=GROUP)),
            {"paths": ("/dev/vfio/0",), "owner": "root:tpu"},
        ),
        (on(replace(GOOD_GPU, nodes=ROOTS), CPU), {"paths": ("/dev/nvidia0",)}),
    ),
    "libtpu-mismatch warning": (
        (
            on(replace(GOOD, packages=LIBTPU)),
            {"version": "0.0.17", "jax": "0.12.0", "wanted": "0.0.50.*"},
        ),
    ),
    "gpu-shared info": (
        (
            on(replace(GOOD_GPU, holders=(TRAINER,))),
            {"pid": 7, "user": "ada", "paths": ("/dev/nvidia0",)},
        ),
    ),
    "tpu-locked error": ((on(LOCKED), {"pid": 4242, "user": "bob"}),),
    # JAX is not to use that chip.
    "tpu-locked info": (
        (on(with_environment(LOCKED, TPU_VISIBLE_CHIPS="0")), {"pid": 4242}),
    ),
    "stale-lock error": (
        (on(replace(GOOD, lock=Lock(closed_by="bob"))), {"owner": "bob"}),
    ),
    "pod-slice info": (
        (
            on(
                with_environment(
                    GOOD, TPU_WORKER_HOSTNAMES="a,b,c,d", TPU_WORKER_ID="2"
                )
            ),
            {"worker": "2", "workers": 4, "chips": 4, "others": ("a", "b", "d")},
        ),
        (
            on(with_environment(GOOD, TPU_ACCELERATOR_TYPE="v5litepod-16")),
            {"chips": 4, "whole": 16},
        ),
    ),
    # For an unknown reason.
    "fallback error": ((on(GOOD, CPU), {"maker": "tpu", "uses": ("cpu",)}),),
    "hidden-by-environment info": (
        (
            on(with_environment(GOOD, JAX_PLATFORMS="cpu"), CPU),
            {"variable": "JAX_PLATFORMS=cpu"},
        ),
    ),
    "hidden-by-environment warning": (
        (
            on(with_environment(GOOD_GPU, CUDA_VISIBLE_DEVICES="-1"), CPU),
            {"variable": "CUDA_VISIBLE_DEVICES=-1"},
        ),
        (
            on(with_environment(GOOD_GPU, CUDA_VISIBLE_DEVICES=""), CPU),
            {"variable": "CUDA_VISIBLE_DEVICES="},
        ),
    ),
    "cpu-only info": (
        (
            on(replace(Survey(), packages=WITH_TPU), CPU),
            {"plugins": ("libtpu 0.0.50.1",)},
        ),
        (on(with_environment(Survey(), JAX_PLATFORMS="cuda,cpu"), CPU), {}),
    ),
    "wsl-driver warning": ((on(Survey(wsl=True), CPU), {}),),
    "chips-missing error": (
        (on(GOOD, TPUS[:3]), {"seen": 3, "missing": 1}),
        (on(GOOD, CORES[:6]), {"seen": 3, "missing": 1}),
        # Fewer than have a device file.
        (
            on(replace(GOOD, nodes=VFIO[:3]), TPUS[:2]),
            {"of": "3 TPU v5e chips", "missing": 1},
        ),
    ),
}


@pytest.mark.parametrize(
    ("named", "machine", "facts"),
    [(named, *row) for named, rows in TABLE.items() for row in rows],
)
def test_each_situation_has_one_remark(named, machine, facts):
    (remark,) = machine()
    assert f"{remark.code} {remark.severity}" == named
    assert facts.items() <= remark.facts.items()
    assert words.text(remark)


def test_the_table_has_every_remark_that_there_is():
    text = Path(findings.__file__).read_text()
    there_are = re.findall(r'Remark\("([\w-]+)"', text)
    assert {named.split()[0] for named in TABLE} == set(there_are)


SISTER = replace(device(1, "gpu"), process_index=1, addressable=False)
# Of a holder of device and lock the engine tells when it does not start.
BOTH = replace(HELD, lock=Lock((TPU_TRAINER,)))
SERVICE = replace(TRAINER, command="nvidia-persistenced -u p")


@pytest.mark.parametrize(
    "machine",
    [
        on(GOOD),
        on(GOOD, TPUS),
        on(GOOD, CORES),
        on(GOOD_GPU, GPUS),
        # A process for each of its GPUs.
        on(replace(GOOD_GPU, chips=2 * GPU), [*GPUS, SISTER]),
        on(replace(GOOD_GPU, holders=(SERVICE,))),
        on(BOTH),
        on(replace(GOOD, chips=(), nodes=())),
        # Where the environment chooses nobody counts.
        on(with_environment(GOOD, TPU_VISIBLE_CHIPS="0,1"), TPUS[:2]),
        on(with_environment(GOOD, **{CHIPS_OF_PROCESS: "1,2,1"}), TPUS[:2]),
        on(with_environment(FOUR_GPUS, CUDA_VISIBLE_DEVICES="0,9,1"), GPUS),
        # As many as have a device file.
        on(replace(GOOD, nodes=VFIO[:2]), TPUS[:2]),
        # JAX is not to use the chip that somebody has.
        on(with_environment(HELD, TPU_VISIBLE_CHIPS="1,2,3")),
        on(
            with_environment(GOOD, JAX_PLATFORMS="cpu"),
            [device(0, "cpu", simulated=True)],
        ),
        # Whoever asks for the CPU hears nothing about GPUs.
        on(
            with_environment(
                replace(NO_GPU, nodes=()),
                JAX_PLATFORMS="cpu",
            )
        ),
    ],
)
def test_a_machine_in_order_has_nothing_to_say(machine):
    assert machine() == ()


def test_each_fallback_has_the_cause_of_its_own_maker():
    survey = Survey(chips=(*GPU, RADEON), nodes=(*NVIDIA, *KFD), packages=WITH_CUDA)
    nvidia, amd = findings.after(survey, CPU)
    assert [nvidia.severity, amd.severity] == ["error", "info"]
    assert (nvidia.code, nvidia.facts["maker"]) == ("fallback", "cuda")
    assert (amd.code, amd.facts["maker"]) == ("plugin-missing", "rocm")


def test_only_a_lock_without_a_holder_may_be_deleted():
    (remark,) = findings.lock(Lock((LOCKER,)))
    assert remark.code == "tpu-locked"
    (remark,) = findings.lock(Lock(closed_by="bob"))
    assert remark.code == "stale-lock"


def test_gpus_that_jax_may_not_use_are_not_told_of():
    others = replace(TRAINER, paths=("/dev/nvidia0", "/dev/nvidia1"))
    pair = (GPUS[0], device(1, "gpu"))
    for chosen, told in (("2,3", 0), ("1,2", 1), ("-1", 0)):
        environment = {"CUDA_VISIBLE_DEVICES": chosen}
        seen = replace(FOUR_GPUS, holders=(others,), environment=environment)
        assert len(findings.after(seen, pair)) == told


def test_an_instance_of_a_gpu_is_no_chip_that_is_missing():
    kind = "NVIDIA H100 80GB HBM3 MIG 1g.10gb"
    assert findings.after(FOUR_GPUS, (replace(GPUS[0], device_kind=kind),)) == ()


def test_the_worst_comes_first():
    survey = replace(
        LOCKED, packages=LIBTPU, environment={"TPU_WORKER_HOSTNAMES": "a,b"}
    )
    severities = [remark.severity for remark in findings.before(survey)]
    assert severities == ["error", "warning", "info"]


def test_what_jax_says_of_a_known_trouble_is_its_original_text():
    known = findings.after(replace(GOOD, packages=BARE), CPU)
    logged = Remark("fallback", {"maker": "tpu"}, "error", "A Google TPU …")
    (one,) = merge(known, (logged,))
    assert (one, one.detail) == (known[0], "A Google TPU …")
    assert [again.detail for again in merge((one,), (logged,))] == ["A Google TPU …"]
    gpu = Remark("fallback", {"maker": "cuda"}, "error", "An NVIDIA GPU …")
    assert merge(known, (gpu,)) == (known[0], gpu)
    # Also where both are GPUs.
    (amd,) = findings.after(Survey(chips=(RADEON,), nodes=KFD, packages=WITH_CUDA), CPU)
    assert merge((amd,), (gpu,)) == (gpu, amd)
    other, info = Remark("other", severity="warning"), Remark("third")
    codes = [remark.code for remark in merge((info,), (other, logged))]
    assert codes == ["fallback", "other", "third"]


def test_the_core_looks_once_and_compares_with_that(machine, monkeypatch, tmp_path):
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    machine.node("nvidia0")
    core = Core(machine.root)
    noticed = core.look()
    assert noticed.hardware == "an NVIDIA GPU (/dev/nvidia0)"
    names = [finding.code for finding in core.compare(CPU)]
    assert names == ["plugin-missing"]
    assert [one.code for one in Core(tmp_path / "empty").compare(CPU)] == ["cpu-only"]
