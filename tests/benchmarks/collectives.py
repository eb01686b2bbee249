"""Are collectives timed as by a hand-written loop, and does busbw follow?

    python tests/benchmarks/collectives.py [OP]... [--sizes 1024,65536] [--pairs 1]

The whole grid, five collectives of three dtypes and five sizes on eight simulated
devices, takes about twelve minutes on two idle cores, half of it for the largest sizes.
Fresh processes alternate: per size and dtype a plain script of each collective
(``shard_map`` over a mesh, some warm-up calls, a loop of calls that are waited for, and
the median), ``jaxtui bench`` of all collectives, and the scripts again. What is out of
bounds then is run again twice, with jaxtui in a process for it alone, and the medians
of all count. The script is written here by hand and knows nothing of jaxtui; it pays
for giving its results back, which ``ready`` leaves out and jaxtui says apart, so both
are added up. A case holds when the ratio of the medians lies within 15 % of 1, or when
jaxtui notes page faults and the median of the scripts lies on the side that the note
names: below its own. Of every measurement algbw and busbw are computed here from its
size and its time, and no element may be wrong.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

ACCEPTED = 0.15
DEVICES = 8

OPS = {
    "all_reduce": ("lax.psum(x, 'd')", 1, 2 * (DEVICES - 1) / DEVICES),
    "all_gather": (
        "lax.all_gather(x, 'd', tiled=True)",
        DEVICES,
        (DEVICES - 1) / DEVICES,
    ),
    "reduce_scatter": (
        "lax.psum_scatter(x, 'd', tiled=True)",
        1,
        (DEVICES - 1) / DEVICES,
    ),
    "all_to_all": (
        "lax.all_to_all(x, 'd', 0, 0, tiled=True)",
        1,
        (DEVICES - 1) / DEVICES,
    ),
    "permute": (
        "lax.ppermute(x, 'd', [(i, (i + 1) % 8) for i in range(8)])",
        1,
        1.0,
    ),
}
"""What each device does with its array, the size over that of the array, and the factor
between algbw and busbw, after doc/PERFORMANCE.md of nccl-tests."""

DTYPES = {"float32": 4, "bfloat16": 2, "int32": 4}
SIZES = (1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 26)

SCRIPT_SECONDS = 0.3
"""Of a script's loop, and of its warm-up at most."""

LARGE = 1 << 26
"""Of such arrays a call takes the better part of a second: scripts run once."""


def budget(cells: int, size: int) -> int:
    """Seconds of a run: for each case some rounds."""
    each = 8 if size >= LARGE else 4 if size >= 1 << 20 else 2
    return max(10, cells * each)


SCRIPT = """\
from statistics import median
from time import perf_counter

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("d",))
host = np.random.default_rng(0).integers(-8, 9, {elements}, np.int8)
x = jax.device_put(host.astype(jnp.{dtype}), NamedSharding(mesh, P("d")))
f = jax.jit(
    jax.shard_map(lambda x: {form}, mesh=mesh, in_specs=P("d"), out_specs=P("d"))
)
f(x).block_until_ready()
end = perf_counter() + {seconds}
for _ in range(5):
    if perf_counter() < end:
        f(x).block_until_ready()
times = []
end = perf_counter() + {seconds}
while perf_counter() < end or len(times) < 3:
    start = perf_counter()
    f(x).block_until_ready()
    times.append(perf_counter() - start)
print(median(times))
"""


@dataclass
class Cell:
    """What both sides have said of a case, in seconds."""

    op: str
    dtype: str
    size: int
    plain: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    bus: list[float] = field(default_factory=list)
    noted: list[bool] = field(default_factory=list)
    """Whether jaxtui notes page faults, of each of its runs."""
    problem: str = ""

    @property
    def ratio(self) -> float:
        """Of the medians."""
        return median(self.ours) / median(self.plain)

    @property
    def verdict(self) -> str:
        """How it holds; empty where it does not."""
        if self.problem or not (self.plain and self.ours):
            return ""
        if abs(self.ratio - 1) <= ACCEPTED:
            return "within 15 %"
        if 2 * sum(self.noted) > len(self.noted) and self.ratio > 1:
            return "page faults"
        return ""

    @property
    def row(self) -> str:
        """Its figures."""
        name = f"{self.op} {self.size} {self.dtype}"
        if self.problem or not (self.plain and self.ours):
            return f"{name:32} {self.problem or 'no figure'}"
        return (
            f"{name:32} {median(self.plain) * 1e3:8.3f} ms"
            f" {median(self.ours) * 1e3:8.3f} ms {self.ratio:6.2f}"
            f" {median(self.bus) / 1e9:7.3f} GB/s  {self.verdict or 'OUT'}"
        )


def main() -> int:
    """Run the grid; 1 when a case does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("ops", nargs="*", default=[*OPS], metavar="OP")
    parser.add_argument("--sizes", help="Bytes, separated by commas.")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--pairs", type=int, default=1)
    options = parser.parse_args()
    sizes = [int(size) for size in (options.sizes or "").split(",") if size] or SIZES
    began = time.monotonic()
    cells: list[Cell] = []
    print(f"{'case':32} {'script':>11} {'jaxtui':>11} {'ratio':>6} {'busbw':>12}")
    for size, dtype in itertools.product(sizes, options.dtypes.split(",")):
        group = [Cell(op, dtype, size) for op in options.ops]
        for _ in range(options.pairs):
            run_scripts(group)
            run_jaxtui(group)
            if size < LARGE:
                run_scripts(group)
        for cell in group:
            for _ in range(2 if not cell.verdict else 0):
                run_jaxtui([cell])
                run_scripts([cell])
            print(cell.row, flush=True)
        cells += group
    verdicts = [cell.verdict for cell in cells]
    print(
        f"{verdicts.count('within 15 %')} of {len(cells)} cases within 15 %,"
        f" {verdicts.count('page faults')} more by a note on page faults,"
        f" {verdicts.count('')} out; {time.monotonic() - began:.0f} s"
    )
    return int("" in verdicts)


def run_scripts(cells: Sequence[Cell]) -> None:
    """The median seconds of a plain script for each, in a process of its own."""
    for cell in cells:
        form, divisor, _ = OPS[cell.op]
        text = SCRIPT.format(
            elements=DEVICES * cell.size // DTYPES[cell.dtype] // divisor,
            dtype=cell.dtype,
            form=form,
            seconds=SCRIPT_SECONDS,
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "plain.py")
            path.write_text(text)
            cell.plain.append(float(_output([sys.executable, str(path)])))


def run_jaxtui(cells: Sequence[Cell]) -> None:
    """The measurements of one ``jaxtui bench`` of cases of one size and dtype."""
    names = [f"{cell.op}:{cell.size}" for cell in cells]
    command = [sys.executable, "-m", "jaxtui", "bench", *names, "--json"]
    command += ["--no-history", "--dtype", cells[0].dtype]
    command += ["--budget", str(budget(len(cells), cells[0].size))]
    document = json.loads(_output(command))
    of_op = {one["case"]["op"]: one for one in document["measurements"]}
    for cell in cells:
        measured = of_op.get(cell.op)
        if measured is None:
            cell.problem = str([one["code"] for one in document["failures"]])
            continue
        cell.problem = ""
        free = measured["free_seconds"] or 0.0
        cell.ours.append(measured["ready"]["median"] + free)
        cell.bus.append(recompute(measured, OPS[cell.op][2]))
        flags = [note["flag"] for note in measured["notes"]]
        cell.noted.append("page-faults" in flags)


def recompute(measured: dict[str, Any], factor: float) -> float:
    """Busbw, from the size and the time; it must be the one that is printed."""
    rates, case = measured["collective"], measured["case"]
    seconds = measured["pipelined_seconds"] or measured["ready"]["median"]
    expected = case["size"] / seconds
    assert abs(rates["algorithm_bytes_per_second"] / expected - 1) < 1e-9, measured
    assert abs(rates["bus_bytes_per_second"] / expected / factor - 1) < 1e-9, measured
    assert (rates["participants"], rates["wrong"]) == (DEVICES, 0), measured
    return float(rates["bus_bytes_per_second"])


def _output(command: list[str]) -> str:
    environment = dict(os.environ, JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES="8")
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
    # A case that failed is in jaxtui's document.
    if done.returncode > 1:
        raise SystemExit(f"{command} ended with {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
