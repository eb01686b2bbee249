from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp

from jaxtui.measure.settings import enable_x64


def widest() -> str:
    return str(jnp.asarray(1.0, "float64" if jax.config.jax_enable_x64 else None).dtype)


def test_only_float64_widens_in_its_own_scope_and_thread() -> None:
    with enable_x64("int32"):
        assert widest() == "float32"
    with enable_x64("float64"), ThreadPoolExecutor(1) as pool:
        with enable_x64("float32"):
            assert widest() == "float32"
        assert widest() == "float64"
        assert pool.submit(widest).result() == "float32"
    assert widest() == "float32"
