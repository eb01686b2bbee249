"""How soon after its first call has returned does a case show a figure?

    python tests/benchmarks/first_figure.py [--device gpu:0] [--ops matmul,sort]

Each case runs alone in a real engine, at the op's default and at its largest size that
fits into ``--bytes``; what is timed is when events arrive, as a screen would see them.
The columns are seconds: from the start of the run until the first call has returned,
from there to the first figure, and the time of a call. It fails where a figure comes
later than a second and a call (and a quarter, for noise) after the first call.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time

from jaxtui.core.engine.client import EngineClient, EngineOptions
from jaxtui.core.model import Case, Event, Experiment, OpInfo, PhaseMeasured, Sampled
from jaxtui.core.session import Session, following
from jaxtui.core.state import EMPTY

OPS = "matmul,add,sum,cumsum,softmax,sort,gather,cholesky,fft,attention,normal"
SECONDS_AT_MOST = 1.0


def largest(op: OpInfo, bytes_at_most: float) -> int:
    """The largest size, of those from the default on that double, whose arguments have
    about as many bytes.
    """
    side = "n×n" in op.size_means or "rows" in op.size_means
    size = op.default
    while 2 * size <= op.maximum and 8 * (2 * size) ** (1 + side) <= bytes_at_most:
        size *= 2
    return size


async def measured(device: str, names: list[str], most: float | None) -> int:
    """Print a row for each case; gives how many were late."""
    late = 0
    async with following(Session(EngineClient(EngineOptions()), EMPTY)) as session:
        arrived: dict[str, float] = {}

        def observe(event: Event) -> None:
            if isinstance(event, PhaseMeasured) and event.phase == "first_call":
                arrived.setdefault("call", time.perf_counter())
            elif isinstance(event, Sampled):
                arrived.setdefault("figure", time.perf_counter())

        session.observers.append(observe)
        await session.ready()
        device = device or session.state.devices[0].name
        most = most or (3e7 if device.startswith("cpu") else 6e8)
        catalogue = {op.name: op for op in session.state.ops}
        print(f"{'case':34} {'first call':>11} {'then figure':>12} {'a call':>9}")
        for op in (catalogue[name] for name in names):
            for size in dict.fromkeys((op.default, largest(op, most))):
                case = Case(
                    op=op.name, size=size, dtype="float32", device=device, mode="jit"
                )
                arrived.clear()
                begin = time.perf_counter()
                work = Experiment(cases=(case,), budget_seconds=0.2)
                (state,) = (await session.run(work)).cases
                if state.measurement is None or state.measurement.ready is None:
                    print(f"{op.name} {size}: {state.failure}")
                    continue
                call = state.measurement.ready.median
                first, figure = arrived["call"] - begin, arrived["figure"]
                waited = figure - arrived["call"]
                is_late = waited > SECONDS_AT_MOST + 1.25 * call
                late += is_late
                print(
                    f"{f'{op.name} {size}':34} {first:11.3f} {waited:12.3f} {call:9.4f}"
                    f"{'  LATE' * is_late}",
                    flush=True,
                )
    return late


def main() -> None:
    """Measure and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="")
    parser.add_argument("--ops", default=OPS)
    parser.add_argument("--bytes", type=float, help="default: 6e8, and 3e7 on a CPU")
    options = parser.parse_args()
    names = options.ops.split(",")
    late = asyncio.run(measured(options.device, names, options.bytes))
    print("FAIL" if late else "PASS")
    sys.exit(bool(late))


if __name__ == "__main__":
    main()
