from __future__ import annotations

import threading

import jax
import jax.numpy as jnp

from jaxtui.measure.settings import enable_x64


def dtype_of_a_float64() -> str:
    return str(
        jnp.asarray(1.0, dtype="float64" if jax.config.jax_enable_x64 else None).dtype
    )


def test_only_float64_widens() -> None:
    for dtype, seen in {"float64": "float64", "int32": "float32"}.items():
        with enable_x64(dtype):
            assert dtype_of_a_float64() == seen
    assert dtype_of_a_float64() == "float32"


def test_an_inner_case_switches_it_off() -> None:
    with enable_x64("float64"):
        with enable_x64("float32"):
            assert dtype_of_a_float64() == "float32"
        assert dtype_of_a_float64() == "float64"


def test_other_threads_are_left_alone() -> None:
    seen: list[str] = []
    with enable_x64("float64"):
        thread = threading.Thread(target=lambda: seen.append(dtype_of_a_float64()))
        thread.start()
        thread.join()
    assert seen == ["float32"]
