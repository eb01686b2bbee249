"""Four CPU devices for every test that runs JAX, whatever the machine has."""

from __future__ import annotations

import gc
import os
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests import warm

# Before anything imports jax: platform and device count are fixed for a process's life.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_NUM_CPU_DEVICES"] = "4"
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "0"
os.environ.pop("JAX_ENABLE_X64", None)
# XLA reads its flags once. What tests compile runs a few times, and optimizing it would
# take longer; processes that tests start do optimize.
QUICK = "--xla_backend_optimization_level=0"
if version("jaxlib").startswith(("0.6.", "0.7.", "0.8.", "0.9.", "0.10.")):
    QUICK += " --xla_cpu_use_fusion_emitters=false"
os.environ["XLA_FLAGS"] = QUICK
import jax  # noqa: E402

jax.devices()
del os.environ["XLA_FLAGS"]
# What tests measure belongs into nobody's history.
os.environ["JAXTUI_DATA"] = tempfile.mkdtemp(prefix="jaxtui-tests-")

# How long an example takes is a matter of what else the machine does.
settings.register_profile(
    "busy", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("busy")


# An app makes a hundred thousand objects: looking for garbage among them every 700, as
# Python does, is a third of the time of its tests.
gc.set_threshold(500_000, 10, 10)


@pytest.fixture(scope="module", autouse=True)
def _what_is_imported_is_not_collected() -> None:
    """JAX, Textual and hypothesis are millions of objects, and every run collects
    before it times: without them, as in an engine."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """pytest looks for garbage five times at its end, each time among all objects."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _engines_are_copies() -> Iterator[None]:
    """An engine that a test starts in its own process does not import JAX again."""
    with warm.engines():
        yield


@pytest.fixture(scope="module")
def brief() -> Iterator[None]:
    """Cases are done after eight short rounds, whatever the number is."""
    from jaxtui.features.bench.measure import experiment
    from jaxtui.timing import turns

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "SPREAD_SHARE", 0.0)
        patch.setattr(turns, "TURN_SECONDS", 0.005)
        patch.setattr(turns, "TURN_SECONDS_AT_MOST", 0.005)
        defaults: Any = turns.Turns.__init__.__kwdefaults__
        patch.setitem(defaults, "warm_up_seconds", 0.02)
        yield


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Writes a file of functions, and says where it is."""

    def write(text: str, name: str = "mine.py") -> str:
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return str(path)

    return write


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Puts a changed copy of an op into the catalogue for one test."""
    from jaxtui.tasks import ops

    def plant(of: str, **changes: Any) -> str:
        name = f"planted_{of}"
        monkeypatch.setitem(ops.OPS, name, replace(ops.get(of), name=name, **changes))
        return name

    return plant
