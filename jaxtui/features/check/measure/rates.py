"""Rates and times of each device: products, streams, copies from the host, calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from time import perf_counter

import jax
import numpy as np

from jaxtui.core import format as fmt
from jaxtui.core.model import Case, CheckLevel, CheckRead, Remark, RunEvent
from jaxtui.features.bench.measure import rates
from jaxtui.features.bench.measure.rates import (
    Prepare,
    Setting,
    Subject,
    TroubleError,
    reading,
    translate_errors,
)
from jaxtui.features.check.measure.base import Context, visit
from jaxtui.tasks import waiting
from jaxtui.tasks.devices import name
from jaxtui.tasks.host import available_host_bytes
from jaxtui.tasks.inputs import random_bytes
from jaxtui.tasks.own import CopiedArguments
from jaxtui.tasks.workload import Workload
from jaxtui.timing.coldpath import shares_memory

TINY = "tiny call"

MEBIBYTE = 1024**2

COPIES: dict[CheckLevel, tuple[int, ...]] = {
    "quick": (MEBIBYTE, 64 * MEBIBYTE),
    "full": (*(4096 * 8**step for step in range(6)), 256 * MEBIBYTE),
}
"""Bytes of one copy, ascending."""

SHARED_AT_MOST = 16 * MEBIBYTE
"""Bytes of one copy where several CPU devices share the time: it is memory to memory
anyway."""

COPY_SHARE = 8
"""A copy must fit so many times into what is free, on the device and on the host."""

SLOW_SECONDS = 1.0
"""A copy that takes longer is the last one that is tried."""

Plan = Callable[[jax.Device, Setting], Sequence[Prepare]]
"""The things to time on a device, in order."""


def compute(context: Context) -> Iterator[RunEvent]:
    """Products in the dtypes that matter on a chip."""

    def plan(device: jax.Device, setting: Setting) -> Sequence[Prepare]:
        kinds = rates.kinds(setting.device, context.check.level)
        return _of_cases(context, device, [rates.product(x, setting) for x in kinds])

    yield from visit(context, partial(_measure, plan=plan))


def bandwidth(context: Context) -> Iterator[RunEvent]:
    """Streams; of devices that share their memory only the first makes them."""

    def plan(device: jax.Device, setting: Setting) -> Sequence[Prepare]:
        cases = rates.streams(setting, context.check.level)
        return _of_cases(context, device, cases)

    def job(
        context: Context, group: Sequence[jax.Device], seconds: float
    ) -> Iterator[RunEvent]:
        yield from _measure(context, group[:1], seconds, plan)
        shared = Remark("shared-memory", {"with": name(group[0])})
        for device in () if context.stop() else group[1:]:
            skipped = reading("bandwidth", device, "bandwidth", remarks=(shared,))
            yield CheckRead(reading=skipped)

    yield from visit(context, job)


def dispatch(context: Context) -> Iterator[RunEvent]:
    """Calls that compute next to nothing: their dispatch, which is the host's cost."""

    def plan(device: jax.Device, _: Setting) -> Sequence[Prepare]:
        return [partial(_tiny, context, device)]

    yield from visit(context, partial(_measure, plan=plan), in_turn=True)


def transfer(context: Context) -> Iterator[RunEvent]:
    """Copies of NumPy arrays to the device and back: both ends are the host's."""

    def plan(device: jax.Device, setting: Setting) -> Sequence[Prepare]:
        # A copy needs room at both ends.
        ends = (available_host_bytes(), setting.free_bytes)
        free = min((end for end in ends if end is not None), default=None)
        copies = _Copies(device, free)
        return [
            partial(copies.prepare, nbytes, back)
            for nbytes in copy_sizes(context)
            for back in (False, True)
        ]

    try:
        yield from visit(context, partial(_measure, plan=plan), in_turn=True)
    finally:
        _sent.cache_clear()


def _measure(
    context: Context, group: Sequence[jax.Device], seconds: float, plan: Plan
) -> Iterator[RunEvent]:
    """One thing after the other, on all devices of the group in turns."""
    sharing = len(context.devices) if context.shared else 1
    plans = [plan(device, Setting.of(device, sharing)) for device in group]
    for step in zip(*plans, strict=True):
        if context.stop():
            return
        yield from rates.measure(
            context.check.test,
            dict(zip(group, step, strict=True)),
            seconds / len(plans[0]),
            context.stop,
        )


def _of_cases(
    context: Context, device: jax.Device, cases: Sequence[Case]
) -> Sequence[Prepare]:
    return [partial(rates.prepare, case, device, context.check.seed) for case in cases]


def _tiny(context: Context, device: jax.Device) -> Subject:
    case = Case(op="add", size=8, dtype="float32", device=name(device), mode="jit")
    with translate_errors(case, TINY, "compile"):
        call = rates.compile_case(case, device)
        args = rates.arguments(case, device, context.check.seed)
    work = rates.workload(case, device, call, args)
    return Subject(TINY, work, clock="dispatch")


_sent = cache(random_bytes)
"""The bytes to send, the same for every device and never written to, so that no device
takes them over."""


class _Copies:
    """The copies between the host and a device, until one takes too long."""

    def __init__(self, device: jax.Device, free_bytes: int | None) -> None:
        self._device, self._free = device, free_bytes
        self._over = False

    def prepare(self, nbytes: int, back: bool) -> Subject | None:
        """The way to the device, or the one back.

        Raises:
            TroubleError: Nothing is copied, or it takes too much memory or time.
        """
        if self._over:
            return None
        device, place = self._device, name(self._device)
        size = fmt.bytes_text(nbytes)
        if self._free is not None and nbytes * COPY_SHARE > self._free:
            self._over = True
            why = Remark("no-room", {"size": nbytes, "free": self._free})
            raise TroubleError(size, why)
        what = f"{'device to host' if back else 'host to device'} {size}"
        case = Case(op="copy", size=nbytes, dtype="uint8", device=place, mode="eager")
        work = Workload(case=case, call=np.asarray, device=device)
        with translate_errors(case, what, "transfer"):
            held = _sent(nbytes, 0)
            begin = perf_counter()
            array = jax.device_put(held, device).block_until_ready()
            fetched = np.asarray(array)
            seconds = perf_counter() - begin
        if shares_memory(array, fetched if back else held):
            raise TroubleError(what, Remark("nothing-copied"))
        if seconds > SLOW_SECONDS:
            self._over = True
            why = Remark("slow-copy", {"size": nbytes, "seconds": seconds})
            raise TroubleError(size, why)
        if back:  # an array that has been fetched keeps what was fetched
            work.args, work.on_return = CopiedArguments((array,), (0,)), True
        else:
            work.call, work.args = partial(jax.device_put, device=device), (held,)
            work.wait = waiting.wait_for_array
        return Subject(what, work, "bytes/s", float(nbytes), clock="calls")


def copy_sizes(context: Context) -> tuple[int, ...]:
    sizes = COPIES[context.check.level]
    if len(context.devices) <= 2 or not context.shared:
        return sizes
    return tuple(dict.fromkeys(min(nbytes, SHARED_AT_MOST) for nbytes in sizes))
