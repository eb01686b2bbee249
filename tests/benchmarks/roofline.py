"""Are the roofs that jaxtui measures the ones that a plain script finds?

    python tests/benchmarks/roofline.py [--rounds 8] [--budget 60] [--python COMMAND]

Fresh processes alternate, in random order within each round: ``jaxtui roofline``, and a
plain script, which multiplies the same float32 matrices with ``jax.jit``, and copies
and adds arrays of the same size into one that is donated, as STREAM's copy and triad.
The median of the paired ratios of each roof must be within 15 %. Then every op of the
catalogue must have a place under the roofs, or a sentence that says why it has none.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from typing import Any

from sign_test import sign_test_interval

from jaxtui.core.model.measurement import Interval

WITHIN = 0.15

PLAIN = """
import json, sys
from time import perf_counter
import jax
import jax.numpy as jnp

def median(values):
    return sorted(values)[len(values) // 2]

def seconds(call, for_seconds):
    call()
    taken, end = [], perf_counter() + for_seconds
    while perf_counter() < end or len(taken) < 5:
        start = perf_counter()
        call()
        taken.append(perf_counter() - start)
    return median(taken)

n = int(sys.argv[2])
x, y = jax.random.uniform(jax.random.key(0), (2, n, n), minval=-1.0)
product = jax.jit(jnp.dot)
dot = 2 * n**3 / seconds(lambda: product(x, y).block_until_ready(), 2.0)

size = int(sys.argv[1]) // 4
a, b, into = jnp.ones(size), jnp.ones(size), jnp.zeros(size)
copy = jax.jit(lambda a, b, into: a.copy(), donate_argnums=2, keep_unused=True)
triad = jax.jit(lambda a, b, into: a + 3.0 * b, donate_argnums=2, keep_unused=True)

def streaming(op):
    def call():
        global into
        into = op(a, b, into).block_until_ready()
    return call

moved = {
    "copy": 8 * size / seconds(streaming(copy), 2.0),
    "triad": 12 * size / seconds(streaming(triad), 2.0),
}
print(json.dumps({"compute": dot, "bandwidth": max(moved.values()), **moved}))
"""


def plain(size: int, n: int) -> dict[str, float]:
    """FLOP/s of a product of n×n and bytes/s of arrays of so many bytes."""
    done = subprocess.run(
        [sys.executable, "-c", PLAIN, str(size), str(n)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def jaxtui(*arguments: str) -> dict[str, Any]:
    """The document of ``jaxtui roofline``, in which cases may have failed."""
    done = subprocess.run(
        [sys.executable, "-m", "jaxtui", "roofline", *arguments, "--json"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
    )
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def roofs(engine: list[str]) -> dict[str, dict[str, Any]]:
    """By kind."""
    document = jaxtui("matmul:256", "--budget", "9", "--no-history", *engine)
    return {one["kind"]: one for one in document["roofs"]["roofs"]}


def compared(
    rounds: int, size: int, n: int, engine: list[str]
) -> dict[str, list[float]]:
    """Paired ratios, jaxtui's figure over the script's, by kind of roof."""
    shuffled = random.Random(0)
    ratios: dict[str, list[float]] = {"compute": [], "bandwidth": []}
    for number in range(rounds):
        order = ["theirs", "ours"]
        shuffled.shuffle(order)
        for side in order:
            if side == "ours":
                ours = roofs(engine)
            else:
                theirs = plain(size, n)
        parts = []
        for kind, found in ratios.items():
            found.append(ours[kind]["per_second"] / theirs[kind])
            parts.append(
                f"{kind} {ours[kind]['per_second']:.3g} ({ours[kind]['what']}) against "
                f"{theirs[kind]:.3g}: {found[-1]:.3f}"
            )
        print(f"round {number + 1}: {'; '.join(parts)}", flush=True)
    return ratios


def catalogue() -> list[str]:
    """The names of all ops of jaxtui's own."""
    done = subprocess.run(
        [sys.executable, "-m", "jaxtui", "ops", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    return [op["name"] for op in json.loads(done.stdout)["ops"] if not op["own"]]


def lost(budget: float, engine: list[str]) -> list[str]:
    """The ops that have neither a place nor a reason; prints all others with theirs."""
    document = jaxtui("--budget", str(budget), "--no-history", *engine)
    said = {one["case"]["op"]: _said(one) for one in document["places"]}
    said |= {
        one["case"]["op"]: f"failed: {one['error']}" for one in document["failures"]
    }
    names = catalogue()
    for name in names:
        print(f"{name:18} {said.get(name, 'NOTHING')}")
    return [name for name in names if not said.get(name)]


def _said(place: dict[str, Any]) -> str:
    if place["share"] is None:
        return str(place["verdict"])
    rate, limit = place["rate"], place["limit"]
    return f"{rate:9.3g} of {limit:9.3g}  {place['verdict']}"


def verdict(kind: str, ratios: list[float]) -> bool:
    """Whether a roof is within the limit, which is printed."""
    found: Interval = sign_test_interval(ratios)
    fine = abs(found.median - 1) <= WITHIN
    print(
        f"{kind}: ratio {found.median:.3f} [{found.low:.3f}, {found.high:.3f}] over "
        f"{len(ratios)} rounds: {'within' if fine else 'NOT WITHIN'} {WITHIN:.0%}"
    )
    return fine


def main() -> int:
    """Zero if both roofs agree and no op is lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--bytes", type=int, default=128 * 2**20)
    parser.add_argument("--n", type=int, default=1024)
    parser.add_argument("--python", help="what the engine runs with")
    asked = parser.parse_args()
    engine = ["--python", asked.python] if asked.python else []
    ratios = compared(asked.rounds, asked.bytes, asked.n, engine)
    fine = [verdict(kind, found) for kind, found in ratios.items()]
    missing = lost(asked.budget, engine)
    if missing:
        print(f"neither a place nor a reason: {', '.join(missing)}")
    return 0 if all(fine) and not missing else 1


if __name__ == "__main__":
    sys.exit(main())
