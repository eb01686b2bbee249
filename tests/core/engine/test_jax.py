"""The engine as people run it: the real core, and a JAX that does not work."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from jaxtui.core.engine.process import DEFAULT_COMMAND
from jaxtui.core.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    EngineDied,
    EngineFailed,
    Experiment,
    Hello,
    Memory,
    Noticed,
    Ready,
    RunFinished,
)
from tests.processes import ROOT


async def test_the_real_core_describes_plans_and_measures(open_engine: Any) -> None:
    engine = await open_engine(command=DEFAULT_COMMAND, cpu_devices=3)
    hello = await engine.until(Hello)
    ready = await engine.until(Ready)
    assert "matmul" in {op.name for op in hello.ops}
    assert [device.name for device in ready.devices] == ["cpu:0", "cpu:1", "cpu:2"]
    assert all(device.simulated for device in ready.devices)
    assert ready.host.environment["JAX_ENABLE_COMPILATION_CACHE"] == "0"
    await engine.client.refresh_memory()
    assert set((await engine.until(Memory)).devices) == {"cpu:0", "cpu:1", "cpu:2"}

    case = Case(op="matmul", size=64, dtype="float32", device="cpu:0", mode="jit")
    work = Experiment(cases=(case,), budget_seconds=0.3)
    plan = await engine.client.plan(work)
    assert plan.cases[0].problem is None
    await engine.client.run(work)
    assert (await engine.until(RunFinished)).outcome == "complete"
    (measured,) = engine.of(CaseMeasured)
    assert measured.measurement.ready.median > 0
    assert not engine.of(CaseFailed)


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("raise ModuleNotFoundError(\"No module named 'jax'\")", "jax-missing"),
        ("__version__ = '0.6.dev1'", "jax-too-old"),
        ("__version__ = '0.6.1'", "jax-too-old"),
    ],
)
async def test_a_jax_that_does_not_serve_is_said(
    open_engine: Any, tmp_path: Path, module: str, code: str
) -> None:
    (tmp_path / "jax.py").write_text(module)
    engine = await open_engine(
        command=DEFAULT_COMMAND, environment={"PYTHONPATH": str(tmp_path)}
    )
    assert (await engine.until(EngineFailed)).remark.code == code
    await engine.finish()
    assert not engine.of(EngineDied, Ready)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("XLA_FLAGS", "--a=1 --xla_force_host_platform_device_count=1025"),
        ("JAX_NUM_CPU_DEVICES", "999999"),
    ],
)
async def test_more_simulated_devices_than_can_be_started_are_refused(
    open_engine: Any, name: str, value: str
) -> None:
    engine = await open_engine(
        command=DEFAULT_COMMAND, environment={"JAX_NUM_CPU_DEVICES": None, name: value}
    )
    failed = await engine.until(EngineFailed)
    asked = int(value.rpartition("=")[2])
    assert failed.remark.code == "cpu-devices"
    assert failed.remark.facts == {"variable": name, "asked": asked, "most": 1024}
    await engine.finish()
    assert not engine.of(EngineDied, Ready)


@pytest.fixture
def on_machine(open_engine: Any, tmp_path: Path) -> Any:
    """An engine that looks for chips and their holders under a root of its own."""

    async def on_machine() -> Any:
        core = Path(__file__).with_name("held_core.py")
        return await open_engine(
            command=(sys.executable, str(core)),
            environment={
                "FAKE_ROOT": str(tmp_path),
                "JAX_PLATFORMS": "",
                "PYTHONPATH": str(ROOT),
            },
        )

    return on_machine


async def test_a_tpu_that_somebody_holds_is_not_touched(
    on_machine: Any, tmp_path: Path
) -> None:
    fds = tmp_path / "proc/4711/fd"
    fds.mkdir(parents=True)
    (fds / "9").symlink_to("/dev/accel0")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/accel0").touch()
    (tmp_path / "proc/4711/cmdline").write_bytes(b"python\0train.py\0")
    failed = await (await on_machine()).until(EngineFailed)
    facts = {"pid": 4711, "command": "python train.py", "more": 0}
    assert failed.remark.code == "held"
    assert facts.items() <= failed.remark.facts.items()
    assert [holder.pid for holder in failed.holders] == [4711]


async def test_a_chip_that_jax_does_not_use_is_noticed(
    on_machine: Any, tmp_path: Path
) -> None:
    chip = tmp_path / "sys/bus/pci/devices/0000:00:05.0"
    chip.mkdir(parents=True)
    (chip / "vendor").write_text("0x1ae0\n")
    (chip / "device").write_text("0x0063\n")
    engine = await on_machine()
    before = await engine.until(Noticed)
    assert before.hardware == "1 TPU v5e chip"
    codes = ["plugin-missing", "no-device-file"]
    assert [remark.code for remark in before.findings] == codes
    ready = await engine.until(Ready)
    assert [remark.code for remark in ready.findings] == codes
