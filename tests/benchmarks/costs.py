"""What do ``profile`` and ``audit`` cost?

    python tests/benchmarks/costs.py [--turns 5]

Three figures, each from fresh processes that take turns:

* ``profile``: seconds from Enter to the table, for a function whose step takes some
  50 ms on this machine (``--size`` changes that). It fails above 10 s.
* ``profiled step``: a step with the profiler beside one without, as the table says it.
* ``audited program``: what a program reads of its own calls under ``audit`` beside what
  it reads alone, for calls of a millisecond and of some microseconds; and how much
  longer all of it takes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.processes import PROGRAM, environment

GOAL_SECONDS = 10.0

FUNCTION = """
import jax.numpy as jnp

def step(x, w):
    for _ in range(6):
        x = jnp.tanh(x @ w)
    return x
"""

CALLS = """
import json, statistics, sys, time
import jax, jax.numpy as jnp

def read(f, x, calls):
    f(x).block_until_ready()
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        f(x).block_until_ready()
        times.append(time.perf_counter() - start)
    return statistics.median(times)

long = read(jax.jit(lambda x: x @ x), jnp.ones((400, 400)), 300)
short = read(jax.jit(lambda x: x + 1), jnp.ones(8), 3000)
print(json.dumps([long, short]), file=sys.stderr)
"""


class Run(NamedTuple):
    seconds: float
    printed: str
    told: str
    """On stderr."""


def run(*command: str) -> Run:
    begin = perf_counter()
    ended = subprocess.run(
        command,
        env=environment() | {"JAX_PLATFORMS": "cpu"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return Run(perf_counter() - begin, ended.stdout, ended.stderr)


def profiled(folder: Path, size: int, turns: int) -> Iterator[tuple[str, bool]]:
    """Lines of text, and whether something is wrong with them."""
    (folder / "own.py").write_text(FUNCTION)
    shape = f"f32[{size},{size}]"
    command = [*PROGRAM, "profile", f"{folder}/own.py:step", "--arg", shape]
    command += ["--arg", shape, "--json"]
    runs = [run(*command) for _ in range(turns)]
    found = [json.loads(each.printed) for each in runs]
    seconds = median(each.seconds for each in runs)
    plain = median(each["unprofiled_seconds"] for each in found)
    traced = median(each["traced_seconds"] for each in found)
    yield (
        f"profile: {seconds:.2f} s from Enter to the table"
        f" ({min(each.seconds for each in runs):.2f} to"
        f" {max(each.seconds for each in runs):.2f}), goal {GOAL_SECONDS:.0f} s",
        seconds > GOAL_SECONDS,
    )
    yield (
        f"profiled step: {1e3 * traced:.1f} ms beside {1e3 * plain:.1f} ms,"
        f" {traced / plain:.3f} times",
        False,
    )


def audited(folder: Path, turns: int) -> Iterator[tuple[str, bool]]:
    program = folder / "program.py"
    program.write_text(CALLS)
    sides: dict[str, list[Run]] = {"plain": [], "audit": []}
    for _ in range(turns):
        sides["plain"].append(run(sys.executable, str(program)))
        sides["audit"].append(run(*PROGRAM, "audit", "--json", str(program)))
    whole = {
        side: median(each.seconds for each in runs) for side, runs in sides.items()
    }
    read = {
        side: [
            median(column)
            for column in zip(
                *(json.loads(each.told.splitlines()[0]) for each in runs), strict=True
            )
        ]
        for side, runs in sides.items()
    }
    for at, name in enumerate(("long calls", "short calls")):
        plain, audit = read["plain"][at], read["audit"][at]
        yield (
            f"audited program, {name}: {1e6 * audit:.1f} µs beside"
            f" {1e6 * plain:.1f} µs, {1e6 * (audit - plain):+.1f} µs a call,"
            f" {audit / plain:.3f} times",
            False,
        )
    yield (
        f"audited program, all of it: {whole['audit']:.2f} s beside"
        f" {whole['plain']:.2f} s",
        False,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 if a profile takes longer than its goal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--size", type=int, default=1024, help="of the matrices")
    options = parser.parse_args(arguments)
    wrong = False
    with TemporaryDirectory() as folder:
        for text, bad in (
            *profiled(Path(folder), options.size, options.turns),
            *audited(Path(folder), options.turns),
        ):
            print(text, flush=True)
            wrong = wrong or bad
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
