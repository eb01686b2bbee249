"""Costs and facts of a process, paid and learned once, before its first case."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxtui.core.stats import median
from jaxtui.tasks import settings, waiting
from jaxtui.tasks.waiting import Call
from jaxtui.timing import clocks

DEFAULT_QUEUE_DEPTH = 32
"""Computations in flight before the runtime holds the host back: observed on CPU,
``max_inflight_computations`` in XLA's GPU client, the default of PyTorch/XLA on TPU."""

PROBE_CALLS = 64
"""Made without waiting, to see how many may be in flight."""

_PROBE_SIZE = 384


@dataclass(frozen=True, slots=True)
class Runtime:
    """The facts about a device of this process."""

    warm_up_seconds: float
    """The throw-away compile: the first lowering of a process also sets MLIR up."""
    dispatch_floor: float
    """Seconds from call to return for an op that does next to nothing."""
    queue_depth: int
    """Computations that may be in flight at once."""


@functools.cache
def cache_hits() -> list[str]:
    """Return the cache hits that ``jax.monitoring`` reports, as a list that grows.

    One per process, because a listener cannot be unregistered before jax 0.8.
    """
    hits: list[str] = []

    def on_event(event: str, **_: Any) -> None:
        if event.endswith("cache_hits"):
            hits.append(event)

    jax.monitoring.register_event_listener(on_event)
    return hits


class Compilations:
    """The number of compilations in this process, counted by ``jax.monitoring``."""

    def __init__(self) -> None:
        self.compiles = 0

    def __call__(self, event: str, duration_secs: float, **_: Any) -> None:
        self.compiles += event.endswith("backend_compile_duration")


@functools.cache
def compilations() -> Compilations:
    """Return the counter of this process. JAX calls it only when it compiles, so that
    it costs a call of a compiled function nothing.
    """
    counted = Compilations()
    jax.monitoring.register_event_duration_secs_listener(counted)
    return counted


_runtimes: dict[jax.Device, Runtime] = {}


def is_warm(device: jax.Device) -> bool:
    return device in _runtimes


def of(device: jax.Device) -> Runtime:
    """Return the facts about a device; the first call warms the process up."""
    if device in _runtimes:
        return _runtimes[device]
    cache_hits()
    # Under the mesh of a file a computation would be one of all its devices.
    with settings.no_mesh():
        _runtimes[device] = _warm_up(device)
    return _runtimes[device]


def _warm_up(device: jax.Device) -> Runtime:
    begin = perf_counter()
    product = jax.device_put(np.ones((_PROBE_SIZE, _PROBE_SIZE), np.float32), device)
    multiply = _compiled(lambda x: x @ x, product)
    multiply(product).block_until_ready()
    seconds = perf_counter() - begin
    tiny = (jax.device_put(np.ones(8, np.float32), device),)
    increment, wait = _compiled(lambda x: x + 1, *tiny), waiting.wait_for_array
    clocks.calls(increment, tiny, wait, 0.005, least=20)
    floor = median(clocks.calls(increment, tiny, wait, 0.01, least=20).dispatch)
    # On CPU it is known, and filling the queue leaves the heaps of the workers as they
    # are in no plain program: normal of 1M then has 1,000 to 2,000 page faults a call
    # instead of 0 to 150, and a dispatch that is a fourth longer.
    depth = None
    if device.platform != "cpu":
        depth = queue_depth(multiply, (product,), times=3)
    depth = depth or DEFAULT_QUEUE_DEPTH
    return Runtime(seconds, floor, depth)


@jax.jit
def _step(x: jax.Array) -> jax.Array:
    return x + 1


class Queue:
    """The queues of the devices of this process.

    What was dropped cannot be waited for, and ``jax.effects_barrier`` waits for side
    effects alone. But a device works in order: when a computation that was dispatched
    last is done, so is everything before it.
    """

    def __init__(self, device: jax.Device | None) -> None:
        every = dict.fromkeys([*jax.local_devices(), *([device] if device else [])])
        self._places = [jax.device_put(jnp.zeros(8), place) for place in every]
        self.drain()

    def drain(self, value: object = None) -> None:
        """Wait for a value, and for whatever was dispatched until now."""
        steps = [_step(place) for place in self._places]
        jax.block_until_ready((value, steps))


def _compiled(function: Callable[[jax.Array], jax.Array], x: jax.Array) -> Any:
    jitted = jax.jit(function)
    jitted.lower(x).compile()
    return jitted


def queue_depth(call: Call, args: Sequence[Any], times: int = 1) -> int | None:
    """Return the queue depth: the calls that can be in flight, the most of several
    tries.

    ``None`` where the queue was not seen to be full: the device outruns the host, or
    the queue is longer than what was put into it.
    """
    pending = max(clocks.pending_after(call, args, PROBE_CALLS) for _ in range(times))
    return pending if PROBE_CALLS / 4 < pending < PROBE_CALLS - 4 else None
