"""Are collectives timed as by a hand-written loop, and does busbw follow?

    python tests/benchmarks/collectives.py [OP]... [--pairs 3] [--seconds 1] [--all]

Fresh processes with eight simulated devices alternate: a plain script (``shard_map``
over a mesh, five warm-up calls, a loop of calls that are waited for, and the median),
and ``jaxtui bench``. The script is written here by hand and knows nothing of jaxtui; it
pays for giving its results back, which ``ready`` leaves out and jaxtui says apart, so
both are added up. A case holds when the median of the pairs' ratios lies within 15 % of
1, or when the median of the scripts lies inside the memory span that jaxtui gives. Of
every measurement algbw and busbw are computed here from its size and its time, and no
element may be wrong.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
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
SIZES = (1 << 10, 1 << 16, 1 << 22, 1 << 26)
EVERY_SIZE = tuple(1 << power for power in range(10, 27))

SCRIPT = """\
from statistics import median
from time import perf_counter

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("d",))
host = np.random.default_rng(0).integers(-8, 9, {elements})
x = jax.device_put(host.astype(jnp.{dtype}), NamedSharding(mesh, P("d")))
f = jax.jit(
    jax.shard_map(lambda x: {form}, mesh=mesh, in_specs=P("d"), out_specs=P("d"))
)
for _ in range(5):
    f(x).block_until_ready()
times = []
end = perf_counter() + {seconds}
while perf_counter() < end or len(times) < 5:
    start = perf_counter()
    f(x).block_until_ready()
    times.append(perf_counter() - start)
print(median(times))
"""


def main() -> int:
    """Run the pairs; 1 when a case does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("ops", nargs="*", default=[*OPS], metavar="OP")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--all", action="store_true", help="Every power of two.")
    options = parser.parse_args()
    sizes = EVERY_SIZE if options.all else SIZES
    held: list[bool] = []
    print(f"{'case':32} {'script':>10} {'jaxtui':>10} {'ratio':>6} {'busbw':>12}")
    # Each alone: what a large buffer leaves in memory would slow a smaller one down.
    for op, dtype, size in itertools.product(options.ops, DTYPES, sizes):
        held.append(compare(op, dtype, size, options.pairs, options.seconds))
    print(f"{sum(held)} of {len(held)} cases hold")
    return int(not all(held))


def compare(op: str, dtype: str, size: int, pairs: int, seconds: float) -> bool:
    """Alternate both sides of one case and print its row."""
    plain: list[float] = []
    ours: list[float] = []
    bus: list[float] = []
    spans: list[tuple[float, float]] = []

    def script() -> None:
        plain.append(run_script(op, dtype, size, seconds))

    def jaxtui() -> None:
        measured = run_jaxtui(op, dtype, size)
        free = measured["free_seconds"] or 0.0
        ours.append(measured["ready"]["median"] + free)
        bus.append(recompute(measured, OPS[op][2]))
        if memory := measured["memory"]:
            spans.append((memory["reused"], memory["fresh"]))

    for pair in range(pairs):
        for turn in (script, jaxtui) if pair % 2 else (jaxtui, script):
            turn()
    ratio = median(a / b for a, b in zip(ours, plain, strict=True))
    low, high = (median(ends) for ends in zip(*(spans or [(0.0, 0.0)]), strict=True))
    inside = low <= median(plain) <= high
    holds = abs(ratio - 1) <= ACCEPTED or inside
    print(
        f"{f'{op} {size} {dtype}':32} {median(plain) * 1e3:7.3f} ms"
        f" {median(ours) * 1e3:7.3f} ms {ratio:6.2f}"
        f" {median(bus) / 1e9:7.3f} GB/s  {'in its memory span' * inside}"
        f"{'' if holds else 'OUT'}",
        flush=True,
    )
    return holds


def recompute(measured: dict[str, Any], factor: float) -> float:
    """Busbw, from the size and the time; it must be the one that is printed."""
    rates, case = measured["collective"], measured["case"]
    seconds = measured["pipelined_seconds"] or measured["ready"]["median"]
    expected = case["size"] / seconds
    assert abs(rates["algorithm_bytes_per_second"] / expected - 1) < 1e-9, measured
    assert abs(rates["bus_bytes_per_second"] / expected / factor - 1) < 1e-9, measured
    assert (rates["participants"], rates["wrong"]) == (DEVICES, 0), measured
    return float(rates["bus_bytes_per_second"])


def run_script(op: str, dtype: str, size: int, seconds: float) -> float:
    """Median seconds of the plain script, in a process of its own."""
    form, divisor, _ = OPS[op]
    text = SCRIPT.format(
        elements=DEVICES * size // DTYPES[dtype] // divisor,
        dtype=dtype,
        form=form,
        seconds=seconds,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "plain.py")
        path.write_text(text)
        return float(_output([sys.executable, str(path)]))


def run_jaxtui(op: str, dtype: str, size: int) -> dict[str, Any]:
    """The measurement of ``jaxtui bench``."""
    command = [sys.executable, "-m", "jaxtui", "bench", f"{op}:{size}", "--json"]
    command += ["--no-history", "--dtype", dtype]
    document = json.loads(_output(command))
    assert not document["failures"], document["failures"]
    (measured,) = document["measurements"]
    found: dict[str, Any] = measured
    return found


def _output(command: list[str]) -> str:
    environment = dict(os.environ, JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES="8")
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
