"""Are links timed as by a hand-written loop of `jax.device_put`?

    python tests/benchmarks/links.py [BYTES]... [--pairs 5] [--seconds 1] [--all]

Fresh processes with eight simulated devices alternate: a plain script (five warm-up
copies from the first device to the second, then a loop of copies that are waited for,
and the median) and ``jaxtui links`` between the two, or with ``--all`` between all
eight. A size holds when the median of the pairs' ratios lies within 15 % of 1, or when
the side with clearly more page faults is the slower one: what a process has freed
decides whether a copy gets new pages, and jaxtui says which its copies got. Both sides
count their page faults.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from mmap import PAGESIZE
from pathlib import Path
from statistics import median
from typing import NamedTuple

ACCEPTED = 0.15
LATENCY_BYTES = 8
SIZES = (LATENCY_BYTES, 1 << 16, 1 << 20, 1 << 24, 1 << 26)

SCRIPT = """\
from resource import RUSAGE_SELF, getrusage
from statistics import median
from time import perf_counter

import jax
import numpy as np

first, second = jax.devices()[:2]
bytes_ = np.random.default_rng(0).integers(0, 256, {nbytes}, np.uint8)
x = jax.device_put(bytes_, first)
for _ in range(5):
    y = jax.device_put(x, second).block_until_ready()
times = []
faults = getrusage(RUSAGE_SELF).ru_minflt
end = perf_counter() + {seconds}
while perf_counter() < end or len(times) < 5:
    start = perf_counter()
    y = jax.device_put(x, second).block_until_ready()
    times.append(perf_counter() - start)
faults = getrusage(RUSAGE_SELF).ru_minflt - faults
print(median(times), faults / len(times))
"""


class Ours(NamedTuple):
    """Seconds and page faults of a copy."""

    time: float
    faults: float


def main() -> int:
    """Run the pairs; 1 when a size does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, metavar="BYTES")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--all", action="store_true", help="All pairs of devices.")
    options = parser.parse_args()
    print(
        f"{'bytes':>9} {'script':>11} {'faults':>7}"
        f" {'jaxtui':>11} {'faults':>7} {'ratio':>6}"
    )
    held = [
        compare(size, options.pairs, options.seconds, options.all)
        for size in options.sizes
    ]
    print(f"{sum(held)} of {len(held)} sizes hold")
    return int(not all(held))


def compare(nbytes: int, pairs: int, seconds: float, every: bool) -> bool:
    """Alternate both sides of one size and print its row."""
    plain: list[tuple[float, float]] = []
    ours: list[Ours] = []
    for pair in range(pairs):
        for side in (0, 1) if pair % 2 else (1, 0):
            if side:
                ours.append(run_jaxtui(nbytes, seconds, every))
            else:
                plain.append(run_script(nbytes, seconds))
    ratio = median(a.time / b for a, (b, _) in zip(ours, plain, strict=True))
    script, before = (median(values) for values in zip(*plain, strict=True))
    after = median(one.faults for one in ours)
    # Of a copy in fresh pages, and of one in reused pages.
    differ = abs(after - before) > nbytes / PAGESIZE / 2
    holds = abs(ratio - 1) <= ACCEPTED or (differ and (ratio > 1) == (after > before))
    print(
        f"{nbytes:>9} {script * 1e3:8.3f} ms {before:7.0f}"
        f" {median(one.time for one in ours) * 1e3:8.3f} ms"
        f" {after:7.0f} {ratio:6.2f}  {'' if holds else 'OUT'}",
        flush=True,
    )
    return holds


def run_script(nbytes: int, seconds: float) -> tuple[float, float]:
    """Median seconds of the plain script and its page faults a copy."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "plain.py")
        path.write_text(SCRIPT.format(nbytes=nbytes, seconds=seconds))
        time, faults = map(float, _output([sys.executable, str(path)]).split())
        return time, faults


def run_jaxtui(nbytes: int, seconds: float, every: bool) -> Ours:
    """What ``jaxtui links`` says of the pair of the script."""
    command = [sys.executable, "-m", "jaxtui", "links", "--json"]
    # Eight bytes are what every link copies beside its large array.
    command += ["--size", str(max(nbytes, 4096))]
    if not every:
        # Two pairs with two sizes each take turns.
        command += ["--device", "cpu:0,cpu:1", "--budget", str(4 * seconds)]
    document = json.loads(_output(command))
    (link,) = [
        link
        for link in document["links"]
        if (link["from"], link["to"]) == ("cpu:0", "cpu:1")
    ]
    if nbytes == LATENCY_BYTES:
        return Ours(link["latency_seconds"], 0.0)
    notes = {note["flag"]: note["text"] for note in document["notes"]}
    reused = " 0 of" in notes["memory"]
    return Ours(nbytes / link["bytes_per_second"], 0 if reused else nbytes / PAGESIZE)


def _output(command: list[str]) -> str:
    environment = dict(os.environ, JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES="8")
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
