"""What a file sets before JAX starts, as ``python train.py`` has it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from jaxtui import cli

COUNT = """
    def f(x):
        assert len(jax.devices()) == {count}
        return x + 1
"""


@pytest.fixture(autouse=True)
def _a_shell_that_sets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAX_NUM_CPU_DEVICES", "XLA_FLAGS"):
        monkeypatch.delenv(name, raising=False)


def bench(
    capsys: pytest.CaptureFixture[str], *functions: str, options: tuple[str, ...] = ()
) -> tuple[list[dict[str, Any]], list[str]]:
    """The measurements, and what is said of the failures, by their case."""
    given = ("--arg", "f32[8]", "--budget", "0.5", "--json", "--no-history")
    cli.main(["bench", *functions, *given, *options])
    found = json.loads(capsys.readouterr().out)
    return found["measurements"], [one["error"] for one in found["failures"]]


@pytest.mark.parametrize(
    "text",
    [
        "import os\n"
        "os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=3'\n"
        "import jax",
        "import os\nos.environ['JAX_NUM_CPU_DEVICES'] = '3'\nimport jax",
        "import jax\njax.config.update('jax_num_cpu_devices', 3)\n"
        "jax.distributed.initialize('localhost:12377', 1, 0)",
        # Under its mesh jaxtui still warms up on one device.
        "import jax\njax.config.update('jax_num_cpu_devices', 3)\n"
        "set_mesh = getattr(jax, 'set_mesh', None) or jax.sharding.set_mesh\n"
        "set_mesh(jax.sharding.Mesh(jax.devices(), ('x',)))",
    ],
)
def test_a_file_chooses_the_devices(
    write: Callable[..., str], capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = write(text)
    with open(path, "a", encoding="utf-8") as file:
        file.write(
            "\ndef f(x):\n    assert len(jax.devices()) == 3\n    return x + 1\n"
        )
    measured, failed = bench(capsys, f"{path}:f")
    assert not failed
    assert measured


def test_files_that_disagree_have_an_engine_each(
    write: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    setting = "import jax\njax.config.update('jax_num_cpu_devices', {})\n"
    last = "def f(x):\n    assert len(jax.devices()) == {}\n    return x + 1\n"
    five = write((setting + last).format(5, 5), "five.py")
    wide = write(
        "import os\nos.environ['JAX_ENABLE_X64'] = '1'\nimport jax\n"
        "def f(x):\n    assert jax.config.jax_enable_x64\n    return x + 1\n",
        "wide.py",
    )
    plain = write(
        "import jax\ndef f(x):\n    assert not jax.config.jax_enable_x64\n"
        "    assert len(jax.devices()) == 1\n    return x + 1\n",
        "plain.py",
    )
    paths = (plain, five, wide)
    measured, failed = bench(capsys, *(f"{path}:f" for path in paths))
    assert not failed
    assert [one["case"]["op"] for one in measured] == [f"{path}:f" for path in paths]


def test_a_module_of_a_package_finds_its_package(
    write: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    package = tmp_path / "mypackage"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "inner" / "__init__.py").touch()
    (package / "numbers.py").write_text("FACTOR = 3\n")
    (package / "inner" / "train.py").write_text(
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
    names = (
        f"{package}/inner/train.py:step",
        "mypackage.inner.train:net.forward",
    )
    measured, failed = bench(capsys, *names)
    assert not failed
    file = str(package / "inner" / "train.py")
    ops = [one["case"]["op"] for one in measured]
    assert ops == [f"{file}:step", f"{file}:net.forward"]


@pytest.mark.parametrize("options", [("--dtype", "bfloat16"), ("--precision", "high")])
def test_an_option_that_means_nothing_for_a_function_is_refused(
    write: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
) -> None:
    path = write("def f(x):\n    return x + 1\n")
    for command in ("bench", "hlo"):
        code = cli.main([command, f"{path}:f", "--arg", "f32[8]", *options])
        assert code == 64
        assert "mine.py:f" in capsys.readouterr().err
