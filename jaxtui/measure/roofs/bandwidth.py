"""Who may reach the bandwidth roof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import jax
import numpy as np

from jaxtui import format as fmt
from jaxtui.measure import ops
from jaxtui.measure.check import bandwidth, expectations, work
from jaxtui.measure.check.base import NO_MEMORY, Setting, TroubleError, explained
from jaxtui.measure.ops.arguments import Array
from jaxtui.measure.roofs.contest import Candidate, Ready
from jaxtui.measure.turns import Turns
from jaxtui.measure.workload import Workload
from jaxtui.model import ITEMSIZE, Case, Expected
from jaxtui.model.base import HOST

LEAST_ELEMENTS = 2**18
"""Of an array: with less there is nothing to stream."""


def published(setting: Setting) -> Expected | None:
    """What somebody published."""
    return expectations.bandwidth_peak(setting.device)


def candidates(
    setting: Setting, device: jax.Device, seed: int, cache: int | None
) -> Sequence[Candidate]:
    """STREAM's copy and triad into an array that is there; on a CPU NumPy's copy, too,
    by one thread and by as many as there are cores.

    Args:
        setting: of the device.
        device: whose memory it is.
        seed: of what is copied.
        cache: the last cache of the host, bytes.
    """
    arrays = _Arrays(bandwidth.sizes(setting, "quick", cache)[0], device, seed)
    found: list[Candidate] = [partial(arrays.streamed, op) for op in bandwidth.OPS]
    if device.platform == "cpu":
        # One core alone may or may not keep the memory busy.
        threads = {1, setting.cores}
        found += [partial(arrays.copied, count) for count in sorted(threads)]
    return found


class _Arrays:
    """What all of them stream, as large as there is room for."""

    def __init__(self, size: int, device: jax.Device, seed: int) -> None:
        self._size, self._device, self._seed = size, device, seed
        self._streams: bandwidth.Streams | None = None
        self._hosted: tuple[Array, Array] | None = None

    def streamed(self, op: str) -> Ready:
        """One of STREAM's kernels through XLA."""
        return self._as_large_as_possible(partial(self._streamed, op))

    def copied(self, threads: int) -> Ready:
        """NumPy's copy, by so many threads."""
        return self._as_large_as_possible(partial(self._copied, threads))

    def _streamed(self, op: str) -> Ready:
        if self._streams is None:
            self._streams = bandwidth.Streams(self._size, self._device, self._seed)
        prepared = self._streams.prepared(op)
        turns = work.turns_of(prepared)
        moved = ops.get(op).bytes(self._size, bandwidth.DTYPE)
        return Ready(f"{op} of {self._array_text} jit", moved, turns)

    def _copied(self, threads: int) -> Ready:
        by = "" if threads == 1 else f", {threads} threads"
        what = f"NumPy's copy of {self._array_text}{by}"
        case = Case(
            op="copy",
            size=self._size,
            dtype=bandwidth.DTYPE,
            device=HOST,
            mode="numpy",
        )
        with explained(case, what, "inputs"):
            # Written to, because pages that nobody has written to are all the same one.
            self._hosted = self._hosted or (
                np.ones(self._size, bandwidth.DTYPE),
                np.ones(self._size, bandwidth.DTYPE),
            )
        call = _copying(*self._hosted, threads)
        turns = Turns(Workload(case=case, call=call, on_return=True))
        return Ready(what, ops.get("copy").bytes(self._size, bandwidth.DTYPE), turns)

    @property
    def _array_text(self) -> str:
        return fmt.bytes_text(self._size * ITEMSIZE[bandwidth.DTYPE])

    def _as_large_as_possible(self, make: Callable[[], Ready]) -> Ready:
        try:
            return make()
        except TroubleError as trouble:
            smaller = self._size // 2
            if not NO_MEMORY.search(trouble.detail) or smaller < LEAST_ELEMENTS:
                raise
        self._size, self._streams, self._hosted = smaller, None, None
        return self._as_large_as_possible(make)


def _copying(written: Array, read: Array, threads: int) -> Callable[[], object]:
    """A call that copies an array in as many parts; NumPy lets go of the GIL."""
    if threads == 1:
        return lambda: np.copyto(written, read)
    pool = ThreadPoolExecutor(threads)
    parts = np.array_split(written, threads), np.array_split(read, threads)
    return lambda: list(pool.map(np.copyto, *parts))
