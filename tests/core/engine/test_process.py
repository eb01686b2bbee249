from __future__ import annotations

import signal
from typing import Any

import pytest

from jaxtui.core.engine.server import engine_environment
from jaxtui.core.engine.startup import how_ended


def test_the_environment_of_an_engine() -> None:
    base = {
        "JAX_ENABLE_COMPILATION_CACHE": "1",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "true",
        "JAX_PLATFORMS": "cuda",
        "TF_CPP_MIN_LOG_LEVEL": "0",
        "HOME": "/x",
    }
    # A warm cache never leaks in; what the user has set otherwise stays.
    changed = {**base, "JAX_ENABLE_COMPILATION_CACHE": "0"}
    assert engine_environment(base) == changed
    assert engine_environment({})["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    assert engine_environment(base, cpu_devices=8) == {
        **changed,
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": "8",
    }


@pytest.mark.parametrize(
    ("returncode", "facts"),
    [
        (-signal.SIGABRT, {"signal": "SIGABRT"}),
        (7, {"status": 7}),
        (-99, {"signal": "signal 99"}),
        (None, {}),
    ],
)
def test_an_end_is_told_by_its_facts(returncode: Any, facts: dict[str, Any]) -> None:
    assert how_ended(returncode) == facts
