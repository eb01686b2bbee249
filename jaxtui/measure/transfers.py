"""Host to device and back, with fresh buffers every time.

A "transfer" on CPU may be no transfer: ``device_put`` takes a 64-byte aligned NumPy
buffer as it is, ``np.asarray`` shows a device buffer as it is, and both ignore
``may_alias=False``. The second ``np.asarray`` of one ``jax.Array`` returns a cached
copy. So every repetition uses a new buffer, and pointers tell whether it was copied.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxtui.measure.ops.arguments import Array
from jaxtui.stats import median

REPETITIONS = 5
SECONDS_AT_MOST = 0.5
"""Fewer repetitions where one takes long."""


class Transfer(NamedTuple):
    """The median over the repetitions."""

    seconds: float
    aliased: bool
    """Nothing was copied: the two sides share memory."""


def to_device(fresh: Callable[[], Any], device: jax.Device) -> Transfer:
    """Time ``device_put`` of all arguments at once, blocked on.

    Args:
        fresh: Makes new host arrays with the same contents, as a list or any pytree.
        device: Where to.
    """

    def once() -> tuple[float, bool]:
        hosts = fresh()
        start = perf_counter()
        arrays = jax.block_until_ready(jax.device_put(hosts, device))
        seconds = perf_counter() - start
        leaves = jax.tree.leaves(arrays), jax.tree.leaves(hosts)
        return seconds, all(map(shares_memory, *leaves))

    return _repeated(once)


def to_host(
    fresh: Callable[[], Any], fetch: Callable[[Any], Any] = np.asarray
) -> Transfer:
    """Time ``np.asarray`` of a result that was not looked at yet.

    Args:
        fresh: Makes a new array, or a pytree of them.
        fetch: Brings it to the host; for a pytree ``jax.device_get``.
    """

    def once() -> tuple[float, bool]:
        result = jax.block_until_ready(fresh())
        start = perf_counter()
        host = fetch(result)
        seconds = perf_counter() - start
        leaves = jax.tree.leaves(result), jax.tree.leaves(host)
        return seconds, all(map(shares_memory, *leaves))

    return _repeated(once)


def shares_memory(array: jax.Array, host: Array) -> bool:
    """Whether a single-device array and a NumPy array are the same bytes."""
    try:
        return bool(array.unsafe_buffer_pointer() == host.ctypes.data)
    except (RuntimeError, ValueError, NotImplementedError, AttributeError):
        # Sharded arrays, typed keys and some plugins have no pointer to compare.
        return False


def _repeated(once: Callable[[], tuple[float, bool]]) -> Transfer:
    seconds: list[float] = []
    aliased: list[bool] = []
    for _ in range(REPETITIONS):
        taken, shared = once()
        seconds.append(taken)
        aliased.append(shared)
        if sum(seconds) > SECONDS_AT_MOST:
            break
    return Transfer(median(seconds), all(aliased))
