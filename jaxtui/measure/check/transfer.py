"""The bandwidth of NumPy arrays between the host and a device.

Devices take turns, because they share the host's memory.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter
from typing import Any

import jax
import numpy as np

from jaxtui import format as fmt
from jaxtui.measure.check.base import (
    Context,
    by_device,
    of_device,
    reading,
    shares_silicon,
)
from jaxtui.measure.coldpath import shares_memory
from jaxtui.measure.host import available_host_bytes
from jaxtui.measure.inputs import random_bytes
from jaxtui.measure.ops.arguments import Array
from jaxtui.model import CheckLevel, Reading, Remark, RunEvent
from jaxtui.stats import median, rounds_interval

MEBIBYTE = 1024**2

SIZES: dict[CheckLevel, tuple[int, ...]] = {
    "quick": (MEBIBYTE, 64 * MEBIBYTE),
    "full": (*(4096 * 8**step for step in range(6)), 256 * MEBIBYTE),
}
"""Bytes of one copy, ascending."""

SHARED_AT_MOST = 16 * MEBIBYTE
"""Bytes of one copy where several CPU devices share the time: it is memory to memory
anyway."""

SHARE = 8
"""A size must fit so many times into what is free, on the device and on the host."""

TURN_SECONDS = 0.002
"""A round of small copies is made of several."""

LEAST_ROUNDS, MOST_ROUNDS = 3, 100

PATIENCE = 3
"""A size is left out whose least rounds would take so many times the time there is."""

_sent = cache(random_bytes)
"""The bytes to send, the same for every device and never written to, so that no device
takes them over."""

DIRECTIONS = ("host to device", "device to host")


@dataclass(slots=True)
class Copies:
    nbytes: int
    device: jax.Device
    held: Array
    """The array that is sent again and again."""
    rounds: list[tuple[float, ...]] = field(default_factory=list)
    """Seconds of a copy in each of the directions: the medians of each round."""
    zero_copy: tuple[bool, ...] = (True, True)

    def round(self) -> float:
        """Copy there and back, once or several times if small; return the seconds of
        one copy.

        One more comes first: it pays for the copies of other sizes before it. On an
        H200 that of 1 MiB takes 4.6 ms, and those after it 0.5 ms, as in a plain loop.
        """
        np.asarray(_put(self.held, self.device))
        begin = perf_counter()
        copies: list[tuple[float, float]] = []
        while not copies or perf_counter() - begin < TURN_SECONDS:
            # A fresh array each time: JAX keeps what it has once fetched.
            start = perf_counter()
            array = _put(self.held, self.device)
            arrived = perf_counter()
            back = np.asarray(array)
            end = perf_counter()
            copies.append((arrived - start, end - arrived))
            same = (shares_memory(array, host) for host in (self.held, back))
            self.zero_copy = tuple(map(operator.and_, self.zero_copy, same))
        self.rounds.append(tuple(map(median, zip(*copies, strict=True))))
        return sum(map(sum, copies)) / len(copies)

    def readings(self) -> Iterator[Reading]:
        size, seconds = fmt.bytes_text(self.nbytes), zip(*self.rounds, strict=True)
        for to, copy_seconds, same in zip(
            DIRECTIONS, seconds, self.zero_copy, strict=True
        ):
            what, interval = f"{to} {size}", rounds_interval(copy_seconds)
            facts: dict[str, Any] = {"figure": interval, "per": self.nbytes}
            if same:
                facts = {"remarks": (Remark("nothing-copied"),)}
            yield reading("transfer", self.device, what, unit="bytes/s", **facts)


def test(context: Context) -> Iterator[RunEvent]:
    try:
        yield from by_device(context, _copies, in_turn=True)
    finally:
        _sent.cache_clear()


def sizes(level: CheckLevel, devices: Sequence[jax.Device]) -> tuple[int, ...]:
    if len(devices) <= 2 or not shares_silicon(devices):
        return SIZES[level]
    limited = (min(nbytes, SHARED_AT_MOST) for nbytes in SIZES[level])
    return tuple(dict.fromkeys(limited))


def _copies(context: Context, device: jax.Device, seconds: float) -> Iterator[Reading]:
    begin = perf_counter()
    # A copy needs room at both ends.
    ends = (available_host_bytes(), of_device(device).free_bytes)
    free = min((end for end in ends if end is not None), default=None)
    series: list[Copies] = []
    for nbytes in sizes(context.check.level, context.devices):
        if context.stop():
            return
        size = fmt.bytes_text(nbytes)
        if free is not None and nbytes * SHARE > free:
            why = Remark("no-room", {"size": nbytes, "free": free})
        else:
            copies = Copies(nbytes, device, _sent(nbytes, 0))
            # The first round does not count.
            copy_seconds = copies.round()
            copies.rounds.clear()
            if copy_seconds * LEAST_ROUNDS <= max(PATIENCE * seconds, 1.0):
                series.append(copies)
                continue
            why = Remark("slow-copy", {"size": nbytes, "seconds": copy_seconds})
        yield reading("transfer", device, size, remarks=(why,))
        break
    for count in range(MOST_ROUNDS if series else 0):
        if count >= LEAST_ROUNDS and perf_counter() - begin >= seconds:
            break
        for copies in series:
            if context.stop():
                return
            copies.round()
    for copies in series:
        yield from copies.readings()


def _put(array: Array, place: jax.Device) -> jax.Array:
    arrived: jax.Array = jax.device_put(array, place)
    arrived.block_until_ready()
    return arrived
