"""Waits for everything that was dispatched, also for what nobody kept."""

from __future__ import annotations

import jax
import jax.numpy as jnp


@jax.jit
def _step(x: jax.Array) -> jax.Array:
    return x + 1


class Queue:
    """The queues of the devices that a snippet may use.

    What was dropped cannot be waited for, and ``jax.effects_barrier`` waits for side
    effects alone. But a device works in order: when a computation that was dispatched
    last is done, so is everything before it.
    """

    def __init__(self, device: jax.Device | None) -> None:
        """Take the device that is the snippet's default, if it has chosen one."""
        every = dict.fromkeys([*jax.local_devices(), *([device] if device else [])])
        self._places = [jax.device_put(jnp.zeros(8), each) for each in every]
        self.drain()

    def drain(self, value: object = None) -> None:
        """Wait for a value, and for whatever was dispatched until now.

        Raises:
            Exception: Whatever the computation of the value ended in.
        """
        jax.block_until_ready((value, [_step(place) for place in self._places]))
