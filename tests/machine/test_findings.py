from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from jaxtui.engine.core import Core
from jaxtui.machine import findings
from jaxtui.machine.findings import merge
from jaxtui.machine.gpu_memory import GpuMemory
from jaxtui.machine.hardware import Chip, Node
from jaxtui.machine.packages import Packages
from jaxtui.machine.processes import Lock
from jaxtui.machine.survey import CHIPS_OF_PROCESS, Survey
from jaxtui.model import Device, Finding, Holder

TPU = tuple(Chip(f"0000:00:0{n}.0", "tpu", "TPU v5e") for n in range(4))
VFIO = tuple(Node(f"/dev/vfio/{n}", "tpu", True, "root:tpu") for n in range(4))
GPU = (Chip("0000:41:00.0", "cuda", "NVIDIA 0x2335"),)
NVIDIA = (Node("/dev/nvidia0", "cuda", True, "root:root"),)
RADEON = Chip("0000:03:00.0", "rocm", "AMD 0x1638", display=True)
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
GOOD = Survey(chips=TPU, nodes=VFIO, packages=WITH_TPU, hugepages="always")
GOOD_GPU = Survey(chips=GPU, nodes=NVIDIA, packages=WITH_CUDA)
FULL = GpuMemory(0, 60 * 2**30, 80 * 2**30, "`nvidia-smi`")


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


def on(survey: Survey, devices=None, memory=()) -> Callable[[], tuple[Finding, ...]]:
    """What is found on a machine; without devices JAX has not started."""
    if devices is None:
        return partial(findings.before, survey)
    return partial(findings.after, survey, devices, memory)


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
        (
            on(replace(GOOD, packages=BARE)),
            "v5e, but libtpu is not",
            "jax[tpu]==0.12.0",
        ),
        (on(NO_GPU), "JAX's CUDA plugin is not installed", "jax[cuda12]==0.12.0"),
        (on(replace(NO_GPU, chips=())), "an NVIDIA GPU (/dev/nvidia0)", "jax[cuda12]"),
    ),
    # A card that may only draw the screen.
    "plugin-missing info": (
        (
            on(Survey(chips=(RADEON,), nodes=KFD, packages=BARE)),
            *("1 GPU AMD 0x1638", 'pip install "jax[rocm7-local]'),
        ),
    ),
    "no-device-file error": (
        (on(replace(GOOD_GPU, nodes=())), "no device file", "--gpus all"),
    ),
    "permission error": (
        (on(replace(GOOD, nodes=GROUP)), "/dev/vfio/0", "sudo usermod -aG tpu $USER"),
        (
            on(replace(GOOD_GPU, nodes=ROOTS)),
            *("/dev/nvidia0 belongs to root:root", "sudo chmod a+rw /dev/nvidia0"),
        ),
    ),
    "plugin-mismatch warning": (
        (
            on(replace(GOOD, packages=LIBTPU)),
            *("libtpu 0.0.17 was not made for jax 0.12.0", '"libtpu==0.0.50.*"'),
        ),
    ),
    "gpu-shared info": (
        (
            on(replace(GOOD_GPU, holders=(TRAINER,))),
            "Process 7 of ada (python train.py, for 1:01:40) uses /dev/nvidia0",
            "XLA_PYTHON_CLIENT_PREALLOCATE=false",
        ),
    ),
    # JAX is not to use the chip that somebody has.
    "tpu-shared info": (
        (
            on(with_environment(HELD, TPU_VISIBLE_CHIPS="1,2,3")),
            *("Process 8 of ada (python t.py) uses /dev/vfio/0", "no hindrance"),
        ),
    ),
    "tpu-locked error": (
        (
            on(LOCKED),
            "Process 4242 of bob (python serve.py) holds",
            "End it or wait for",
        ),
        (
            on(replace(GOOD, lock=Lock(unseen=True))),
            *("cannot be seen here holds the lock", "lslocks"),
        ),
    ),
    # JAX is not to use that chip.
    "tpu-locked info": (
        (
            on(with_environment(LOCKED, TPU_VISIBLE_CHIPS="0")),
            "holds the lock",
            "End it",
        ),
    ),
    "stale-lock error": (
        (
            on(replace(GOOD, lock=Lock(closed_by="bob"))),
            *("left over from bob", "sudo rm /tmp/libtpu_lockfile"),
        ),
    ),
    "hidden-processes info": (
        (on(replace(GOOD, hidden_processes=12)), "12 processes of other", "sudo lsof"),
        (
            on(replace(GOOD, container=True, hidepid=True)),
            *("hidepid; this is a container", "on the host"),
        ),
    ),
    "pod-slice info": (
        (
            on(
                with_environment(
                    GOOD, TPU_WORKER_HOSTNAMES="a,b,c,d", TPU_WORKER_ID="2"
                )
            ),
            "worker 2 of 4",
            "TPU_PROCESS_BOUNDS=1,1,1 TPU_CHIPS_PER_PROCESS_BOUNDS=2,2,1 "
            "TPU_VISIBLE_CHIPS=0,1,2,3",
        ),
        (
            on(with_environment(GOOD, TPU_ACCELERATOR_TYPE="v5litepod-16")),
            *("This host has 4 of the 16 chips", "not tried"),
        ),
    ),
    "hugepages warning": (
        (on(replace(GOOD, hugepages="madvise")), "enabled is madvise", "echo always"),
    ),
    "preallocation info": (
        (
            on(with_environment(GOOD_GPU, XLA_PYTHON_CLIENT_PREALLOCATE="false")),
            *("jaxtui sets that", "XLA_PYTHON_CLIENT_PREALLOCATE=true"),
        ),
    ),
    "memory-fractions error": (
        (
            on(
                with_environment(
                    GOOD_GPU,
                    XLA_CLIENT_MEM_FRACTION="0.5",
                    XLA_PYTHON_CLIENT_MEM_FRACTION="0.4",
                )
            ),
            *("both set", "unset XLA_PYTHON_CLIENT_MEM_FRACTION"),
        ),
    ),
    # JAX has fallen back, for an unknown reason and for a known one.
    "fallback error": (
        (on(GOOD, CPU), "4 chips TPU v5e, but JAX uses cpu.", "JAX_PLATFORMS=tpu"),
        (
            on(replace(GOOD, packages=BARE), CPU),
            *("uses cpu: libtpu is not installed.", 'install "jax[tpu]==0.12.0"'),
        ),
        (
            on(replace(GOOD_GPU, nodes=ROOTS), CPU),
            *("uses cpu: This user may not open /dev/nvidia0.", "sudo chmod a+rw"),
        ),
    ),
    "hidden-by-environment info": (
        (
            on(with_environment(GOOD, JAX_PLATFORMS="cpu"), CPU),
            *("JAX_PLATFORMS is 'cpu'", "Unset JAX_PLATFORMS"),
        ),
    ),
    "hidden-by-environment warning": (
        (
            on(with_environment(GOOD_GPU, CUDA_VISIBLE_DEVICES="-1"), CPU),
            *("CUDA_VISIBLE_DEVICES is '-1'", "Unset CUDA_VISIBLE_DEVICES"),
        ),
    ),
    "platform-absent warning": (
        (
            on(with_environment(Survey(), JAX_PLATFORMS="cuda,cpu"), CPU),
            *("asked for cuda and went on without, on cpu", "nvidia-smi"),
        ),
    ),
    "cpu-only info": (
        (
            on(replace(Survey(), packages=WITH_TPU), CPU),
            *("Installed for one: libtpu 0.0.50.1", "was not given it"),
        ),
    ),
    "chips-hidden info": (
        (
            on(with_environment(GOOD, **{CHIPS_OF_PROCESS: "1,2,1"}), TPUS[:2]),
            *(f"2 of 4 chips TPU v5e, as {CHIPS_OF_PROCESS}=1,2,1 asks", "Unset"),
        ),
        (
            on(with_environment(GOOD, TPU_VISIBLE_CHIPS="0,1"), TPUS[:2]),
            *("2 of 4 chips TPU v5e, as TPU_VISIBLE_CHIPS=0,1 asks", "Unset TPU_VIS"),
        ),
    ),
    "chips-without-file warning": (
        (
            on(replace(GOOD, nodes=VFIO[:2]), TPUS[:2]),
            *("JAX sees 2 of 4 chips TPU v5e", "that is meant"),
        ),
    ),
    "chips-missing error": (
        (on(GOOD, TPUS[:3]), "3 of 4 chips TPU v5e: 1 is missing", "restart the mach"),
        (on(GOOD, CORES[:6]), "3 of 4 chips TPU v5e: 1 is missing", "restart"),
        # Other than as many as were asked for, or have a device file.
        (
            on(with_environment(GOOD, **{CHIPS_OF_PROCESS: "2,2,1"}), TPUS[:2]),
            *("2 of 4 chips TPU v5e: 2 are missing", "restart"),
        ),
        (
            on(replace(GOOD, nodes=VFIO[:3]), TPUS[:2]),
            *("2 of 3 chips TPU v5e: 1 is missing", "restart"),
        ),
        (
            on(with_environment(GOOD, TPU_VISIBLE_CHIPS="0,1,2"), TPUS[:2]),
            *("2 of 4 chips TPU v5e: 2 are missing", "restart"),
        ),
    ),
    "gpu-memory-taken warning": (
        (
            on(replace(GOOD_GPU, holders=()), GPUS, (FULL,)),
            "60.0 GiB of the 80.0 GiB of GPU 0 were taken",
            "CUDA_VISIBLE_DEVICES",
        ),
    ),
}


@pytest.mark.parametrize(
    ("named", "machine", "says", "advises"),
    [(named, *row) for named, rows in TABLE.items() for row in rows],
)
def test_each_situation_has_one_finding_with_its_advice(named, machine, says, advises):
    (finding,) = machine()
    assert f"{finding.name} {finding.severity}" == named
    assert says in f"{finding.what} {finding.how}"
    assert advises in finding.advice
    assert finding.what.endswith(".")
    assert finding.how.endswith(".")


def test_the_table_has_every_finding_that_there_is():
    text = Path(findings.__file__).read_text()
    there_are = re.findall(r'name="([\w-]+)"|messages\.finding\(\s*"([\w-]+)"', text)
    assert {named.split()[0] for named in TABLE} == {a or b for a, b in there_are}


SISTER = replace(device(1, "gpu"), process_index=1, addressable=False)
HALF = replace(FULL, used_bytes=FULL.total_bytes // 2 - 1)
OLDER = tuple(replace(chip, kind="TPU v4") for chip in TPU)
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
        on(GOOD_GPU, GPUS, (HALF,)),
        # A process for each of its GPUs.
        on(replace(GOOD_GPU, chips=2 * GPU), [*GPUS, SISTER]),
        on(replace(GOOD_GPU, holders=(SERVICE,))),
        on(BOTH),
        on(replace(GOOD, chips=(), nodes=())),
        on(replace(GOOD, chips=OLDER, hugepages="never")),
        on(
            with_environment(GOOD, JAX_PLATFORMS="cpu"),
            [device(0, "cpu", simulated=True)],
        ),
        # Whoever asks for the CPU hears nothing about GPUs.
        on(
            with_environment(
                replace(NO_GPU, nodes=()),
                JAX_PLATFORMS="cpu",
                XLA_PYTHON_CLIENT_PREALLOCATE="false",
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
    assert nvidia.what == "This machine has 1 GPU NVIDIA 0x2335, but JAX uses cpu."
    assert amd.what.endswith("uses cpu: JAX's ROCm plugin is not installed.")
    # What is wrong with both is one trouble of each.
    fractions = {"XLA_CLIENT_MEM_FRACTION": "1", "XLA_PYTHON_CLIENT_MEM_FRACTION": "1"}
    both = with_environment(replace(survey, packages=None), **fractions)
    assert ["both set" in one.what for one in findings.after(both, CPU)] == [True] * 2


def test_only_a_lock_without_a_holder_may_be_deleted_and_after_a_look():
    for lock in (Lock((LOCKER,)), Lock(unseen=True)):
        (finding,) = findings.lock(lock)
        assert "rm " not in finding.advice
        assert "alive" in finding.advice
    (finding,) = findings.lock(Lock(closed_by="bob"))
    assert finding.advice.startswith("If ")
    assert finding.advice.index("lsof") < finding.advice.index("sudo rm")


def test_memory_is_told_with_whoever_can_be_seen():
    survey = replace(GOOD_GPU, holders=(TRAINER,))
    first, _ = findings.after(survey, GPUS, (FULL,))
    assert "Process 7 of ada" in first.what
    (alone,) = findings.after(GOOD_GPU, GPUS, (FULL,))
    assert "cannot be seen" in alone.what


def test_the_worst_comes_first():
    survey = replace(LOCKED, hidden_processes=3, hugepages="never")
    severities = [finding.severity for finding in findings.before(survey)]
    assert severities == ["error", "warning", "info"]


def test_what_jax_says_of_a_known_trouble_is_its_original_text():
    known = findings.after(replace(GOOD, packages=BARE), CPU)
    logged = Finding(
        name="fallback",
        severity="error",
        what="TPU",
        how="b",
        detail="A Google TPU …",
        maker="tpu",
    )
    (one,) = merge(known, (logged,))
    assert one.what == known[0].what
    assert one.detail == "A Google TPU …"
    assert merge((one,), (logged,)) == (one,)
    gpu = msgspec.structs.replace(logged, maker="cuda", detail="An NVIDIA GPU …")
    assert merge(known, (gpu,)) == (known[0], gpu)
    # Also where both are GPUs.
    (amd,) = findings.after(Survey(chips=(RADEON,), nodes=KFD, packages=WITH_CUDA), CPU)
    assert merge((amd,), (gpu,)) == (gpu, amd)
    other = Finding(name="other", severity="warning", what="a", how="b")
    info = Finding(name="third", severity="info", what="a", how="b")
    names = [finding.name for finding in merge((info,), (other, logged))]
    assert names == ["fallback", "other", "third"]


def test_the_core_looks_once_and_compares_with_that(machine, monkeypatch, tmp_path):
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    machine.node("nvidia0")
    program = tmp_path / "bin/nvidia-smi"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 0, 61440, 81920\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.delenv("XLA_PYTHON_CLIENT_PREALLOCATE", raising=False)
    core = Core(machine.root)
    noticed = core.look()
    assert noticed.hardware == "an NVIDIA GPU (/dev/nvidia0)"
    names = [finding.name for finding in core.compare(CPU)]
    assert names == ["fallback", "gpu-memory-taken"]
    assert [one.name for one in Core(tmp_path / "empty").compare(CPU)] == ["cpu-only"]
