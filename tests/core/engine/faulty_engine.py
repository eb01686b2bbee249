"""A real engine with small arrays and planted faults: devices compute wrongly, slowly
or never.

Every call that a test of the check makes comes from ``rates.compile_case``, which is
replaced here. The environment says what happens: FAULTS is a list such as ``wrong
cpu:1, slow cpu:2, hang cpu:3 together``, where the name of a test, if there is one, is
the only one in which it happens.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from jaxtui.core.engine.core import Core
from jaxtui.core.engine.server import main
from jaxtui.core.model import Check, RunEvent, Work

PLANTED = {
    device: (kind, *test)
    for kind, device, *test in map(str.split, os.environ["FAULTS"].split(","))
}
SLOWER = 12
"""Times."""

testing = ""
"""The test that is running."""


class FaultyCore(Core):
    def start(self) -> Any:
        found = super().start()
        plant()
        return found

    def run(self, work: Work, stop: Callable[[], bool]) -> Iterator[RunEvent]:
        global testing
        if isinstance(work, Check):
            testing = work.test
        return super().run(work, stop)


def plant() -> None:
    from jaxtui.features.bench.measure import rates as module
    from jaxtui.features.check.measure import rates as tests

    rates: Any = module

    # The last cache of a host may be huge, and its memory slow.
    rates.last_cache_bytes = lambda: 2**20
    rates._size = lambda _kind, _setting: 256
    tests.COPIES = {"quick": (2**12, 2**20)}
    compiled = rates.compile_case

    def faulty(case: Any, device: Any, **options: Any) -> Callable[..., Any]:
        call: Callable[..., Any] = compiled(case, device, **options)
        if (planted := PLANTED.get(f"{device.platform}:{device.id}")) is None:
            return call
        kind, *only = planted
        with rates.scope(case, device):
            spoiled = KINDS[kind](call)

        def here(*arguments: Any) -> Any:
            return (spoiled if testing in (only or [testing]) else call)(*arguments)

        return here

    rates.compile_case = faulty


def wrong(call: Callable[..., Any]) -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    from jaxtui.tasks.settings import enable_x64

    def last_element_off(result: Any) -> Any:
        place = (-1,) * result.ndim
        return result.at[place].add(jnp.ones((), result.dtype))

    spoil: list[Any] = []

    def apart(*arguments: Any) -> Any:
        result = call(*arguments)
        if not spoil:
            with enable_x64("float64"):
                spoil.append(jax.jit(last_element_off).lower(result).compile())
        return spoil[0](result)

    return apart


def slow(call: Callable[..., Any]) -> Callable[..., Any]:
    def repeated(*arguments: Any) -> Any:
        result = call(*arguments)
        for _ in range(SLOWER - 1):
            # A call that writes into its last argument has used it up.
            again = (*arguments[:-1], result) if gone(arguments[-1]) else arguments
            result = call(*again)
        return result

    return repeated


def gone(argument: Any) -> bool:
    return bool(argument.is_deleted())


def hang(call: Callable[..., Any]) -> Callable[..., Any]:
    def never(*arguments: Any) -> Any:
        threading.Event().wait()

    return never


KINDS = {"wrong": wrong, "slow": slow, "hang": hang}


if __name__ == "__main__":
    sys.exit(main(core=FaultyCore()))
