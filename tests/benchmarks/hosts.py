"""What working over several processes costs: requests to the store, and their times.

    python tests/benchmarks/hosts.py 2 4 8

starts so many processes on this machine, each with one CPU device, lets them do two
works, and prints for each count what they have asked of the store and how long a
decision, a put and a get take. The figures of ``.github/HOSTS.md`` are from here.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys

STEP = """
import os, sys, time
from collections import Counter
from statistics import median
from jaxtui.core.engine import meeting
from jaxtui.core.engine.hosts import Hosts
from jaxtui.core.engine.lockstep import Lockstep
from jaxtui.core.engine import cluster as hosts
from jaxtui.tasks.devices import describe
from jaxtui.features.bench.measure.experiment import run
from jaxtui.tasks.host import host
from jaxtui.core.model import (Case, Experiment, Joining, Place, RunFinished)
from jaxtui.core.model.machine import group_name

counted = Counter()

def count(name):
    usual = getattr(hosts.Store, name)
    def counting(self, *arguments, **options):
        counted[name] += 1
        return usual(self, *arguments, **options)
    setattr(hosts.Store, name, counting)

for name in ("put", "get", "delete", "under", "meet"):
    count(name)

place = Place(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
terms = meeting.meet(place, Joining(place=place), lambda _: None)
store = hosts.join(place, meeting.bind_address(place.coordinator))
group = Hosts(store, place, terms, print)

def spent(what, seconds=0.0):
    mine = sum(counted.values())
    counted.clear()
    hosts.Store.put(store, f"count/{what}/{place.process}", str(mine).encode())
    if place.process == 0:
        every = [int(group.take(f"count/{what}/{p}")) for p in range(place.processes)]
        rate = f", {sum(every) / seconds:.0f} a second" if seconds else ""
        print(f"  {what}: {sum(every)} requests{rate}", flush=True)
    counted.clear()

group.begin()
devices, _ = group.gather(host(), describe())
spent("ready")

def bench(what, cases, budget, op=None):
    work = Experiment(cases=tuple(cases), budget_seconds=budget)
    assert group.agree(work) is None
    here = lambda work, stop, pace: run(work, stop=stop, pace=pace)
    for event in group.run(work, lambda: False, here):
        if isinstance(event, RunFinished):
            seconds = event.elapsed_seconds
    spent(what, seconds)

def case(op, device, size):
    return Case(op=op, size=size, dtype="float32", device=device, mode="jit")

names = [device.name for device in devices]
bench("one case each", [case("selu", n, 1000) for n in names], 2.0 * len(names))
bench("one collective", [case("all_reduce", group_name(names), 1000)], 5.0)

pace = Lockstep(group, "step", range(place.processes))
times = {"decide": [], "put": [], "get": []}
for number in range(100):
    for name, act in (
        ("decide", lambda: pace.decide(lambda: 7, int)),
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


def main() -> None:
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "1"}
    for count in map(int, sys.argv[1:] or ("2", "4", "8")):
        print(f"{count} processes", flush=True)
        at = address()
        steps = [
            subprocess.Popen(
                [sys.executable, "-c", STEP, at, str(count), str(number)],
                env=environment,
                stderr=subprocess.DEVNULL,
            )
            for number in range(count)
        ]
        for step in steps:
            step.wait()


if __name__ == "__main__":
    main()
