"""Transfers that are none, copies that were made before, compiles that were loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

from jaxtui.tasks import inputs
from jaxtui.timing import coldpath
from tests.tasks.buffers import aligned_copy
from tests.tasks.running import case, measured

ELEMENTS = 1_000_000


def test_an_aligned_buffer_is_called_aliased_and_a_misaligned_one_is_copied() -> None:
    device = jax.devices()[0]
    data = np.random.default_rng(0).standard_normal(ELEMENTS, np.float32)
    assert coldpath.to_device(lambda: [aligned_copy(data)], device).aliased
    copied = coldpath.to_device(lambda: [inputs.misaligned_copy(data)], device)
    assert not copied.aliased


def test_a_fetch_on_cpu_is_aliased_and_of_several_devices_a_copy_is_kept() -> None:
    double = jax.jit(lambda x: x * 2)
    host = np.random.default_rng(0).standard_normal(ELEMENTS, np.float32)
    x = jax.device_put(host, jax.devices()[0])
    assert coldpath.to_host(lambda: [double(x)]).aliased
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("x",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    x = jax.device_put(host, sharding)
    looked_at = double(x)
    assert np.shares_memory(np.asarray(looked_at), np.asarray(looked_at))
    # Hence each look is at an array of its own.
    fresh: list[jax.Array] = []

    def result() -> list[jax.Array]:
        fresh.append(double(x))
        return fresh[-1:]

    assert not coldpath.to_host(result).aliased
    assert len(fresh) == coldpath.REPETITIONS


@pytest.mark.usefixtures("brief")
def test_a_warm_compilation_cache_is_detected(tmp_path: Path) -> None:
    options = {
        "jax_enable_compilation_cache": True,
        "jax_compilation_cache_dir": str(tmp_path),
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in options}
    try:
        for name, value in options.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()
        (first,), (second,) = (measured(case("selu", 5000)) for _ in range(2))
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()
    assert not first.has("cached-compile")
    assert second.has("cached-compile")


def test_a_copy_is_timed_without_what_it_copies_and_is_one_if_any_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, array = [0.0], jnp.zeros(3)

    def fresh() -> Any:
        now[0] += 0.05
        return [array]

    def copied(source: Any, *_: Any) -> Any:
        now[0] += 0.01
        return source

    shared = iter([True, False, True, True, True] * 2)
    monkeypatch.setattr(coldpath, "perf_counter", lambda: now[0])
    monkeypatch.setattr(coldpath, "shares_memory", lambda *_: next(shared))
    monkeypatch.setattr(jax, "device_put", copied)
    monkeypatch.setattr(np, "asarray", copied)
    for transfer in (
        coldpath.to_device(fresh, jax.devices()[0]),
        coldpath.to_host(fresh),
    ):
        assert transfer.seconds == pytest.approx(0.01)
        assert not transfer.aliased
