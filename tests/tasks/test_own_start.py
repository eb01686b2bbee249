"""What a file sets before JAX starts, as ``python train.py`` has it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from jaxtui import cli
from jaxtui.core.engine.client import EngineClient, EngineOptions
from jaxtui.core.model import Case, CaseMeasured, Experiment, Ready, RunFinished


@pytest.fixture(autouse=True)
def _a_shell_that_sets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAX_NUM_CPU_DEVICES", "XLA_FLAGS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """The functions that were measured; none may fail."""

    def bench(*functions: str) -> list[str]:
        options = ("--arg", "f32[8]", "--budget", "0.5", "--json", "--no-history")
        cli.main(["bench", *functions, *options])
        found = json.loads(capsys.readouterr().out)
        assert not found["failures"]
        return [one["case"]["op"] for one in found["measurements"]]

    return bench


def asserting(setting: str, claim: str) -> str:
    return f"{setting}\ndef f(x):\n    assert {claim}\n    return x + 1\n"


FLAG = "--xla_force_host_platform_device_count=3"
THREE = "import jax\njax.config.update('jax_num_cpu_devices', 3)\n"
X64 = "jax.config.jax_enable_x64"
HAS_THREE = "len(jax.devices()) == 3"

SETTINGS = {
    "plain": ("import jax", f"not {X64} and len(jax.devices()) == 1"),
    "wide": ("import os\nos.environ['JAX_ENABLE_X64'] = '1'\nimport jax", X64),
    "flag": (f"import os\nos.environ['XLA_FLAGS'] = '{FLAG}'\nimport jax", HAS_THREE),
    "variable": (
        "import os\nos.environ['JAX_NUM_CPU_DEVICES'] = '3'\nimport jax",
        HAS_THREE,
    ),
    "hosts": (f"{THREE}jax.distributed.initialize('localhost:12377', 1, 0)", HAS_THREE),
    # Under its mesh jaxtui still warms up on one device.
    "mesh": (
        f"{THREE}set_mesh = getattr(jax, 'set_mesh', None) or jax.sharding.set_mesh\n"
        "set_mesh(jax.sharding.Mesh(jax.devices(), ('x',)))",
        HAS_THREE,
    ),
}


def test_files_that_set_something_have_an_engine_each(
    write: Callable[..., str], bench: Callable[..., list[str]]
) -> None:
    functions = [
        f"{write(asserting(*lines), f'{name}.py')}:f"
        for name, lines in SETTINGS.items()
    ]
    assert bench(*functions) == functions


def test_a_module_of_a_package_finds_its_package(
    bench: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "mypackage"
    train = package / "inner" / "train.py"
    train.parent.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "inner" / "__init__.py").touch()
    (package / "numbers.py").write_text("FACTOR = 3\n")
    train.write_text(
        "from ..numbers import FACTOR\n"
        "def step(x):\n"
        "    assert __name__ == 'mypackage.inner.train'\n"
        "    return x * FACTOR\n"
        "class Net:\n"
        "    def forward(self, x):\n"
        "        return x * 2\n"
        "net = Net()\n"
    )
    monkeypatch.chdir(tmp_path)
    functions = bench(f"{train}:step", "mypackage.inner.train:net.forward")
    assert functions == [f"{train}:step", f"{train}:net.forward"]


@pytest.mark.parametrize("command", ["bench", "hlo"])
@pytest.mark.parametrize("option", [("--dtype", "bfloat16"), ("--precision", "high")])
def test_an_option_that_means_nothing_for_a_function_is_refused(
    write: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    command: str,
    option: tuple[str, str],
) -> None:
    path = write("def f(x):\n    return x + 1\n")
    assert cli.main([command, f"{path}:f", "--arg", "f32[8]", *option]) == 64
    assert "mine.py:f" in capsys.readouterr().err


async def test_an_engine_that_ran_foreign_code_is_replaced_before_the_next_run(
    write: Callable[..., str],
) -> None:
    path = write(
        """
        import numpy as np
        np.random.default_rng = None
        def f(x): return x + 1
        def make_args(): return (np.ones(8, np.float32),)
        """
    )
    engine = EngineClient(EngineOptions(cpu_devices=1))
    generations: list[int] = []
    try:
        await engine.start()
        events = engine.events()
        async for envelope in events:
            if isinstance(envelope.event, Ready):
                break
        for op in ("add", "add", f"{path}:f", "add"):
            size, dtype = (100, "float32") if op == "add" else (0, "")
            case = Case(op=op, size=size, dtype=dtype, device="cpu:0", mode="jit")
            number = await engine.run(Experiment(cases=(case,), budget_seconds=0.2))
            async for envelope in events:
                if isinstance(envelope.event, CaseMeasured):
                    generations.append(envelope.generation)
                done = isinstance(envelope.event, RunFinished)
                if done and envelope.run == number:
                    break
    finally:
        await engine.close()
    # A file is imported before JAX starts, so that it has an engine of its own.
    assert generations == [1, 1, 2, 3]
