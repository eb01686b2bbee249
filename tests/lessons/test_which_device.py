from __future__ import annotations

import pytest

from jaxtui.lessons.which_device import LESSON
from jaxtui.model import Snippet
from tests.lessons.figures import (
    BOTH,
    CPU,
    TPU,
    conclude,
    here,
    shown,
    timed,
    works,
    yours,
)
from tests.lessons.real import concluded, machine, shown_values
from tests.tui.fake_engine import cpu_devices


def snippet(step: int, devices: object) -> Snippet:
    (work,) = works(LESSON, step, here(LESSON, devices=devices))  # type: ignore[arg-type]
    assert isinstance(work, Snippet)
    return work


def test_the_first_device_tells_about_itself() -> None:
    found = concluded("devices", 0)
    assert found.holds is True
    assert found.answer == 0
    assert yours(found)["its platform"] == machine("devices").platform
    assert yours(found)["its process_index"] == "0"
    assert yours(found)["its coords"] == "None"
    assert "getattr" in found.takeaway


@pytest.mark.parametrize("step", [1, 2])
def test_one_device_is_not_enough_so_that_two_are_simulated(step: int) -> None:
    assert snippet(step, CPU).cpu_devices == 2
    for devices in (TPU, BOTH, cpu_devices(8, simulated=True)):
        assert snippet(step, devices).cpu_devices is None


def test_a_lone_accelerator_is_paired_with_the_cpu() -> None:
    work = snippet(1, (TPU[0], *CPU))
    assert work.cpu_devices is None
    assert "jax.devices('tpu')[0]" in work.setup
    assert "jax.devices('cpu')[0]" in work.setup


def test_a_result_lies_where_the_committed_operand_lies() -> None:
    found = concluded("devices", 1)
    assert found.holds is True
    assert found.answer == 1
    assert "(id=1)" in yours(found)["a + b"]
    lone = len(machine("devices").devices) == 1
    assert ("SIMULATED" in found.takeaway) is lone


def test_two_devices_are_refused_and_one_is_not() -> None:
    found = concluded("devices", 2)
    assert found.holds is True
    assert found.answer == 2
    assert "Received incompatible devices for jitted computation" in found.takeaway
    assert yours(found)["b moved, then added"] == "[0. 2. 4. 6.]"


def test_a_jax_that_copies_in_silence_refutes_the_claim() -> None:
    outcome = shown_values("devices", 2)
    for name in ("b + c", "add(b, c)"):
        outcome = shown(outcome, name, "[0. 2. 4. 6.]", (0.0, 2.0, 4.0, 6.0))
    found = conclude(LESSON, 2, outcome)
    assert found.holds is False
    assert found.answer == 0


def test_both_bugs_are_found() -> None:
    found = concluded("devices", 3, 300)
    assert found.holds is True
    assert found.answer == 2
    assert yours(found)["a.dtype"] == "int32"
    # Σ (299·300 + k) · (300·k + 299) over k < 300
    exact = sum((299 * 300 + k) * (300 * k + 299) for k in range(300))
    assert f"{exact:,}" in found.takeaway
    assert yours(found)['"GPU" ran on'] == yours(found)['"CPU" ran on']


def test_a_product_that_does_not_overflow_refutes_the_claim() -> None:
    outcome = shown_values("devices", 3, 300)
    outcome = shown(outcome, "wrong", "0.0", (0.0,))
    outcome = shown(outcome, "last", "7", (7.0,))
    outcome = shown(outcome, "exact", "7", (7.0,))
    found = conclude(LESSON, 3, outcome)
    assert found.holds is False
    assert found.answer == 0
    assert "nothing overflowed" in found.takeaway


@pytest.mark.parametrize(
    ("whole", "holds", "answer"),
    [(40e-3, True, 2), (11e-3, False, 1), (5e-3, False, 0)],
)
def test_integers_against_floats(whole: float, holds: bool, answer: int) -> None:
    outcome = timed({"int32": whole, "float32": 10e-3})
    found = conclude(LESSON, 4, shown(outcome, "here", "{CpuDevice(id=0)}"))
    assert found.holds is holds
    assert found.answer == answer
    assert yours(found)["accelerator against CPU"] == "—"
    assert "cannot be said here" in found.takeaway


def test_an_accelerator_is_compared_with_the_cpu() -> None:
    setting = here(LESSON, devices=BOTH)
    outcome = timed({"int32": 4e-3, "float32": 1e-3, "CPU": 30e-3})
    found = conclude(LESSON, 4, outcome, setting)
    assert yours(found)["accelerator against CPU"] == "30×"
    assert "f_cpu" in found.takeaway
    (work,) = works(LESSON, 4, setting)
    assert "f_cpu = jax.device_put" in work.setup  # type: ignore[union-attr]
