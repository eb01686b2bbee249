from __future__ import annotations

from dataclasses import replace

import pytest

from jaxtui.machine import findings
from jaxtui.machine.nodes import Node
from jaxtui.machine.pci import Chip
from jaxtui.machine.plugins import Packages
from jaxtui.machine.survey import Survey
from jaxtui.model import Device, Holder

TPU = tuple(Chip(f"0000:00:0{n}.0", "tpu", "TPU v5e") for n in range(4))
GPU = (Chip("0000:41:00.0", "cuda", "NVIDIA 0x2335"),)
WITH_TPU = Packages("0.12.0", "0.12.0", {"libtpu": "0.0.50.1"}, "0.0.50.*")
WITH_CUDA = Packages("0.12.0", "0.12.0", {"jax-cuda12-plugin": "0.12.0"})
LOCKER = Holder(pid=4242, user="bob", command="python serve.py", paths=())
GOOD = Survey(chips=TPU, packages=WITH_TPU, hugepages="always")


def device(number: int, platform: str = "tpu", **facts) -> Device:
    return Device(
        id=number,
        platform=platform,
        device_kind=platform,
        process_index=0,
        **facts,
    )


def names(found) -> list[str]:
    return [finding.name for finding in found]


def test_a_machine_in_order_has_nothing_to_say():
    tpus = [device(n, coords=(n, 0, 0)) for n in range(4)]
    assert findings.before(GOOD) == ()
    assert findings.after(GOOD, tpus) == ()
    assert findings.after(Survey(), [device(0, "cpu")]) == ()


@pytest.mark.parametrize(
    ("survey", "name", "severity", "says"),
    [
        (
            replace(GOOD, packages=Packages("0.12.0", "0.12.0", {})),
            "plugin-missing",
            "error",
            'pip install "jax[tpu]==0.12.0"',
        ),
        (
            Survey(chips=GPU, packages=Packages("0.12.0", "0.12.0", {})),
            "plugin-missing",
            "error",
            'pip install "jax[cuda12]==0.12.0"',
        ),
        (
            replace(GOOD, nodes=(Node("/dev/vfio/0", "tpu", False, "root:tpu"),)),
            "permission",
            "error",
            "/dev/vfio/0 belongs to root:tpu",
        ),
        (
            replace(
                GOOD,
                packages=Packages("0.12.0", "0.12.0", {"libtpu": "0.0.17"}, "0.0.50.*"),
            ),
            "plugin-mismatch",
            "warning",
            'pip install "libtpu==0.0.50.*"',
        ),
        (
            Survey(
                chips=GPU,
                packages=WITH_CUDA,
                holders=(
                    Holder(
                        pid=7,
                        user="ada",
                        command="python train.py",
                        paths=("/dev/nvidia0",),
                        age_seconds=3700,
                    ),
                ),
            ),
            "gpu-shared",
            "info",
            "Process 7 of ada (python train.py, for 1:01:40) uses /dev/nvidia0",
        ),
        (
            replace(GOOD, lock_holders=(LOCKER,)),
            "tpu-locked",
            "error",
            "Process 4242 of bob (python serve.py) holds the lock",
        ),
        (
            replace(GOOD, hidden_processes=12),
            "hidden-processes",
            "info",
            "12 processes",
        ),
        (
            replace(
                GOOD,
                environment={"TPU_WORKER_HOSTNAMES": "a,b,c,d", "TPU_WORKER_ID": "2"},
            ),
            "pod-slice",
            "info",
            "TPU_PROCESS_BOUNDS=1,1,1",
        ),
        (replace(GOOD, hugepages="madvise"), "hugepages", "warning", "echo always"),
        (
            Survey(
                chips=GPU,
                packages=WITH_CUDA,
                environment={"XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
            ),
            "preallocation",
            "info",
            "jaxtui sets that",
        ),
    ],
)
def test_each_trouble_has_its_sentence(survey, name, severity, says):
    (finding,) = findings.before(survey)
    assert (finding.name, finding.severity) == (name, severity)
    assert says in f"{finding.what} {finding.how} {finding.advice}"
    assert finding.how


def test_nobody_is_told_to_delete_the_lock_of_a_live_process():
    (finding,) = findings.before(replace(GOOD, lock_holders=(LOCKER,)))
    assert "rm " not in finding.advice
    assert "does not free" in finding.advice


def test_a_fall_back_to_the_cpu_is_an_error():
    (finding,) = findings.after(GOOD, [device(0, "cpu")])
    assert (finding.name, finding.severity) == ("fallback", "error")
    assert "4 chips TPU v5e, but JAX uses cpu" in finding.what
    assert "JAX_PLATFORMS=tpu" in finding.advice


def test_who_asked_for_the_cpu_gets_it():
    asked = replace(GOOD, environment={"JAX_PLATFORMS": "cpu"})
    (finding,) = findings.after(asked, [device(0, "cpu")])
    assert (finding.name, finding.severity) == ("hidden-by-environment", "info")
    assert findings.after(GOOD, [device(0, "cpu", simulated=True)]) == ()


def test_chips_that_jax_does_not_see_are_counted():
    tpus = [device(n, coords=(n, 0, 0)) for n in range(3)]
    (finding,) = findings.after(GOOD, tpus)
    assert finding.name == "chips-missing"
    assert "3 of 4 chips TPU v5e: 1 is missing" in finding.what


def test_two_devices_of_one_chip_are_one_chip():
    tpus = [device(n, coords=(n // 2, 0, 0), core_on_chip=n % 2) for n in range(8)]
    assert findings.after(GOOD, tpus) == ()
    assert names(findings.after(GOOD, tpus[:6])) == ["chips-missing"]


def test_the_worst_comes_first():
    survey = replace(
        GOOD, hidden_processes=3, hugepages="never", lock_holders=(LOCKER,)
    )
    severities = [finding.severity for finding in findings.before(survey)]
    assert severities == ["error", "warning", "info"]
