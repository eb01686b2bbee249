"""STREAM's copy and triad over arrays that no cache holds: bytes per second."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import jax

from jaxtui.machine.hardware import read_text
from jaxtui.measure import ops
from jaxtui.measure.check import work
from jaxtui.measure.check.base import (
    Context,
    Measure,
    Setting,
    by_device,
    setting,
    translate_errors,
)
from jaxtui.measure.devices import name
from jaxtui.model import ITEMSIZE, Case, CheckLevel, Reading, RunEvent
from jaxtui.xla import peaks

DTYPE = "float32"
OPS = ("copy", "triad")

CACHES = 4
"""The smallest array in multiples of the last cache, as STREAM demands."""

ACCELERATOR_BYTES = 2**30
"""Bytes of an array on an accelerator: four times the largest of their last caches (256
MB on AMD's Instinct), and a millisecond of traffic at least."""

LARGEST_BYTES = 2**30
"""Bytes of an array on a host whose caches are larger than a fair part of the
memory."""

MEMORY_SHARE = 0.125
"""Fraction of the free memory for one array of three."""

SMALLEST_BYTES = 2**20
"""Bytes of an array, however little memory is free."""

FACTORS: dict[CheckLevel, tuple[int, ...]] = {"quick": (1,), "full": (1, 2, 4)}
"""Sizes, as multiples of the smallest that is large enough."""

CPUS = Path("/sys/devices/system/cpu")
"""The folder in which Linux describes the caches of each core."""


def test(context: Context) -> Iterator[RunEvent]:
    yield from by_device(context, streams, first_only=True)


def streams(context: Context, device: jax.Device, seconds: float) -> Iterator[Measure]:
    """Measure copy and triad in bytes/s, at each size of the level."""
    chosen = setting(context, device)
    counts = sizes(chosen, context.check.level, last_cache_bytes())
    share = seconds / len(counts)
    for size in counts:
        arrays = Streams(size, device, context.check.seed)
        end = perf_counter() + share
        for left, op in zip((2, 1), OPS, strict=True):
            # Making the arrays takes as long as streaming them a few times, and
            # compiling is not to take the rounds away.
            rest = max((end - perf_counter()) / left, share / 4)
            yield partial(_measure, context, chosen, arrays, op, rest)


def _measure(
    context: Context, chosen: Setting, streams: Streams, op: str, seconds: float
) -> Reading | None:
    begin = perf_counter()
    prepared = streams.prepare(op)
    case = prepared.workload.case
    return work.measure_rate(
        context,
        prepared,
        max(seconds - (perf_counter() - begin), seconds / 2),
        per=ops.get(op).bytes(case.size, case.dtype),
        unit="bytes/s",
        expected=peaks.bandwidth_peak(chosen.device),
    )


class Streams:
    """The three arrays of one size on a device, which both ops share."""

    def __init__(self, size: int, device: jax.Device, seed: int) -> None:
        self._size, self._device, self._seed = size, device, seed
        self._read: tuple[jax.Array, ...] = ()
        self._written: jax.Array | None = None

    def prepare(self, op: str) -> work.Subject:
        """An op that writes each result where the last one was, as STREAM does."""
        case, device = self._case(op), self._device
        what = f"{op} {case.size} {case.dtype}"
        with translate_errors(case, what, "compile"):
            call = work.compile_case(case, device, into=True)
        with translate_errors(case, what, "inputs"):
            if not self._read:
                self._read = work.arguments(self._case("triad"), device, self._seed)
            if self._written is None or self._written.is_deleted():
                self._written = work.result_like(case, device)

        def rewriting(*args: Any) -> jax.Array:
            written: jax.Array = call(*args, self._written)
            self._written = written
            return written

        args = self._read[: len(ops.get(op).arguments(case.size))]
        return work.subject(what, device, case, rewriting, args)

    def _case(self, op: str) -> Case:
        device = name(self._device)
        return Case(op=op, size=self._size, dtype=DTYPE, device=device, mode="jit")


def sizes(setting: Setting, level: CheckLevel, cache: int | None) -> tuple[int, ...]:
    """The numbers of elements to stream, ascending; powers of two."""
    nbytes = ACCELERATOR_BYTES
    if setting.device.platform == "cpu":
        nbytes = min(CACHES * (cache or 64 * 2**20), LARGEST_BYTES)
    smallest = 1 << (nbytes - 1).bit_length()
    counts = [smallest * factor for factor in FACTORS[level]]
    if setting.free_bytes is not None:
        most = max(int(MEMORY_SHARE * setting.free_bytes), SMALLEST_BYTES)
        counts = [min(count, most) for count in counts]
    elements = {count // ITEMSIZE[DTYPE] for count in counts}
    return tuple(sorted({1 << (count.bit_length() - 1) for count in elements}))


def last_cache_bytes(root: Path = CPUS) -> int | None:
    """The last level of cache of the host, all of its parts together.

    A processor of several dies, and a machine of several sockets, has one for each
    group of cores; a computation on all cores has all of them.

    Returns:
        ``None`` where the system does not say, as in some containers and on macOS.
    """
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    parts: dict[tuple[int, str], int] = {}
    for folder in root.glob("cpu[0-9]*/cache/index[0-9]*"):
        files = ("level", "size", "type", "shared_cpu_list")
        level, size, kind, shared = (read_text(folder / x).strip() for x in files)
        unit = units.get(size[-1:], 0)
        digits = size[:-1] if unit else size
        if digits.isdigit() and level.isdigit() and kind != "Instruction":
            # Cores that share a part all describe the same one.
            place = (int(level), shared or folder.parts[-3])
            parts[place] = int(digits) * (unit or 1)
    last = max((level for level, _ in parts), default=0)
    return sum(size for (level, _), size in parts.items() if level == last) or None
