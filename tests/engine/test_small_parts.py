from __future__ import annotations

import signal

from jaxtui.engine.endings import describe_end
from jaxtui.engine.environment import engine_environment


def test_a_warm_cache_never_leaks_in():
    changed = engine_environment({"JAX_ENABLE_COMPILATION_CACHE": "1"})
    assert changed["JAX_ENABLE_COMPILATION_CACHE"] == "0"


def test_what_the_user_says_stays():
    base = {
        "XLA_PYTHON_CLIENT_PREALLOCATE": "true",
        "JAX_PLATFORMS": "cuda",
        "TF_CPP_MIN_LOG_LEVEL": "0",
        "HOME": "/x",
    }
    changed = engine_environment(base)
    assert {name: changed[name] for name in base} == base
    assert "JAXTUI_SIMULATED" not in changed


def test_simulated_devices_are_cpu_devices_and_say_so():
    base = {"JAX_PLATFORMS": "tpu"}
    changed = engine_environment(base, cpu_devices=8)
    assert changed["JAX_PLATFORMS"] == "cpu"
    assert changed["JAX_NUM_CPU_DEVICES"] == "8"
    assert changed["JAXTUI_SIMULATED"] == "1"
    assert base == {"JAX_PLATFORMS": "tpu"}


def test_preallocation_is_off_unless_asked_for():
    assert engine_environment({})["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"


def test_an_end_is_told_in_one_sentence(experiment):
    (case,) = experiment("matmul").cases
    killed = describe_end(-signal.SIGKILL, case)
    assert killed.startswith("The engine was killed (SIGKILL")
    assert killed.endswith("while timing matmul float32 jit on cpu:0.")
    assert describe_end(-signal.SIGABRT, None) == "The engine crashed (SIGABRT)."
    assert describe_end(-signal.SIGTERM, None) == "The engine was ended (SIGTERM)."
    assert describe_end(7, None) == "The engine ended by itself (exit code 7)."
    assert describe_end(-99, None) == "The engine crashed (signal 99)."
    assert describe_end(None, None) == "The engine stopped answering."
