"""What working over several processes costs: until it is ready, a message, a work.

    python tests/benchmarks/hosts.py 2 4 8

starts so many processes on this machine, each with one CPU device, and prints for each
count the seconds until all are ready, the round trip of a plan that another process
makes, and what a step of a collective costs beside the collective. The constants of
``.github/HOSTS.md`` are from here.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from statistics import median

from jaxtui.engine.client import EngineClient, EngineOptions
from jaxtui.model import Case, Experiment, Place, Ready

REPETITIONS = 50

STEP = """
import os, sys, time
from statistics import median
from jaxtui.engine.follower import Follower
from jaxtui.engine.leader import Leader
from jaxtui.measure import hosts
from jaxtui.model import Place
place = Place(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
store = hosts.join(place)
kind = Follower if place.process else Leader
group = kind(store, place, print, False)
group.meet(60.0)
pace = group.pace(0, range(place.processes))
times = {"decide": [], "gather": [], "put": [], "get": []}
for number in range(100):
    for name, act in (
        ("decide", lambda: pace.decide(lambda: 7, int)),
        ("gather", lambda: pace.gather(7, int)),
        ("put", lambda: store.put(f"x/{place.process}/{number}", b"x" * 1000)),
        ("get", lambda: store.get(f"x/{place.process}/{number}", 1.0)),
    ):
        start = time.perf_counter()
        act()
        times[name].append(time.perf_counter() - start)
if place.process == 0:
    for name, each in times.items():
        print(f"  {name} {median(each) * 1e3:.2f} ms", flush=True)
pace.close()
time.sleep(1.0 if place.process == 0 else 0.0)
os._exit(0)
"""


def address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def environment() -> dict[str, str]:
    return {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "1"}


async def lead(place: Place) -> tuple[float, float]:
    """Seconds until all are ready, and of a plan that the last process makes."""
    begin = time.perf_counter()
    options = EngineOptions(
        coordinator=place.coordinator,
        processes=place.processes,
        environment=dict(environment()),
    )
    engine = EngineClient(options)
    await engine.start()
    async for envelope in engine.events():
        if isinstance(envelope.event, Ready):
            device = envelope.event.devices[-1].name
            break
    ready = time.perf_counter() - begin
    case = Case(op="selu", size=1000, dtype="float32", device=device, mode="jit")
    experiment = Experiment(cases=(case,))
    trips = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        await engine.plan(experiment)
        trips.append(time.perf_counter() - start)
    await engine.close()
    return ready, median(trips)


def main() -> None:
    for count in map(int, sys.argv[1:] or ("2", "4", "8")):
        at = address()
        place = ("--coordinator", at, "--num-processes", str(count), "--process-id")
        follow = (sys.executable, "-m", "jaxtui", "follow", *place)
        others = [
            subprocess.Popen(
                [*follow, str(number)],
                env=environment(),
                stderr=subprocess.DEVNULL,
            )
            for number in range(1, count)
        ]
        ready, trip = asyncio.run(lead(Place(at, count, 0)))
        for other in others:
            other.wait()
        print(f"{count} processes: ready {ready:.1f} s, work {trip * 1e3:.1f} ms")
        at = address()
        steps = [
            subprocess.Popen(
                [sys.executable, "-c", STEP, at, str(count), str(number)],
                env=environment(),
                stderr=subprocess.DEVNULL,
            )
            for number in range(count)
        ]
        for step in steps:
            step.wait()


if __name__ == "__main__":
    main()
