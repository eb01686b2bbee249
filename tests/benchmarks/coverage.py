"""Does the interval mean anything?

    python tests/benchmarks/coverage.py [--sweeps 20] [--budget 10] [--processes 5]

The same sweep of six cases is repeated, with the time that jaxtui gives six cases
unless told otherwise; the grand median of a case is the median over
all its sweeps. Pooled over cases and sweeps, at least 93 % of jaxtui's intervals must
contain it (were batches of rounds independent, it would be the share that is printed as
stated), while a naive 95 % interval over the single calls of the very same samples is
shown to miss it often: calls of one stretch of time are not independent.

With ``--processes`` each sweep is made in so many fresh processes, one after the other,
which share its budget, as in ``jaxtui bench --processes``. The grand median is that of
all processes of all sweeps, and two claims are held to it: the interval of each process
alone, which is about its own rounds and promises nothing of another process, and the
interval about the processes of a sweep, of which at least 93 % must contain it.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "0"

from jaxtui.core.model import (
    Case,
    CaseFailed,
    CaseMeasured,
    Experiment,
    Measurement,
    Mode,
)
from jaxtui.core.model.measurement import Interval
from jaxtui.core.processes import fold
from jaxtui.core.stats import median, quantile
from jaxtui.features.bench.measure.experiment import run
from jaxtui.ui import words

BAR = 0.93
CASES: tuple[tuple[str, int, Mode], ...] = (
    ("matmul", 64, "jit"),
    ("matmul", 256, "jit"),
    ("matmul", 512, "jit"),
    ("selu", 1_000_000, "jit"),
    ("add", 1_000_000, "jit"),
    ("sum", 1_000_000, "numpy"),
)


class Sweep(NamedTuple):
    """What one sweep said about one case."""

    ours: Interval
    naive: Interval


def experiment(budget: float) -> Experiment:
    """The six cases at the finest target, with every sample kept."""
    return Experiment(
        cases=tuple(
            Case(
                op=op,
                size=size,
                dtype="float32",
                device="host" if mode == "numpy" else "cpu:0",
                mode=mode,
                inputs="host" if mode == "numpy" else "device",
            )
            for op, size, mode in CASES
        ),
        budget_seconds=budget,
        target_half_width=0.01,
        keep_samples=True,
    )


def naive_interval(samples: Sequence[float]) -> Interval:
    """Order statistics of the median as if every call were independent."""
    ordered, n = sorted(samples), len(samples)
    reach = 1.96 * math.sqrt(n) / 2
    low = ordered[max(0, math.floor(n / 2 - reach))]
    high = ordered[min(n - 1, math.ceil(n / 2 + reach))]
    return Interval(low, quantile(ordered, 0.5), high)


def sweep_of(measurement: Measurement) -> Sweep:
    """Both intervals of one measurement."""
    ready, samples = measurement.ready, measurement.samples
    assert ready is not None
    assert samples
    return Sweep(ready.interval, naive_interval(samples.ready))


def contains(intervals: Sequence[Interval]) -> int:
    """How many of the intervals contain the median of their medians."""
    grand = median([interval.median for interval in intervals])
    return sum(interval.low <= grand <= interval.high for interval in intervals)


# Over processes.


def child(budget: float) -> int:
    """One process of a sweep: a line of JSON for each of its measurements."""
    for event in run(msgspec.structs.replace(experiment(budget), keep_samples=False)):
        if isinstance(event, CaseMeasured):
            print(msgspec.json.encode(event.measurement).decode(), flush=True)
        elif isinstance(event, CaseFailed):
            print(words.sentence(event.failure.remark), file=sys.stderr)
            return 1
    return 0


def in_process(budget: float) -> dict[str, Measurement]:
    """What a fresh process has measured, by case."""
    command = [sys.executable, str(Path(__file__)), "--child", "--budget", str(budget)]
    lines = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.splitlines()
    found = [msgspec.json.decode(line, type=Measurement) for line in lines]
    return {f"{one.case.op} {one.case.size:g} {one.case.mode}": one for one in found}


def over_processes(sweeps: int, processes: int, budget: float) -> int:
    """Print what each claim is worth; 1 if the one about processes misses the bar."""
    asked = msgspec.structs.replace(experiment(budget), processes=processes)
    alone: dict[str, list[Interval]] = defaultdict(list)
    together: dict[str, list[Interval]] = defaultdict(list)
    for _ in range(sweeps):
        made = [in_process(asked.share) for _ in range(processes)]
        for name in made[0]:
            ones = [each[name] for each in made]
            alone[name] += [one.ready.interval for one in ones if one.ready]
            folded = fold(ones, asked)
            assert isinstance(folded, Measurement)
            assert folded.ready is not None
            together[name].append(folded.ready.interval)
    print(
        f"{'case':<20} {'one process':>12} {'half-width':>11} {'processes':>10}"
        f" {'half-width':>11} {'spread':>7}"
    )
    counts: dict[str, list[int]] = {"alone": [], "together": []}
    for name in alone:
        medians = [interval.median for interval in alone[name]]
        grand = median(medians)
        shares, widths = [], []
        for side, rows in (("alone", alone[name]), ("together", together[name])):
            inside = [one.low <= grand <= one.high for one in rows]
            counts[side] += inside
            shares.append(sum(inside) / len(inside))
            widths.append(median([one.half_width for one in rows]))
        print(
            f"{name:<20} {shares[0]:>12.0%} {widths[0]:>11.1%} {shares[1]:>10.0%}"
            f" {widths[1]:>11.1%} {max(medians) / min(medians):>6.2f}×"
        )
    pooled = {side: sum(inside) / len(inside) for side, inside in counts.items()}
    print(
        f"{'pooled':<20} {pooled['alone']:>12.0%} {'':>11} {pooled['together']:>10.0%}"
    )
    stated = [
        median([one.confidence for rows in side.values() for one in rows])
        for side in (alone, together)
    ]
    print(f"{'stated':<20} {stated[0]:>12.1%} {'':>11} {stated[1]:>10.1%}")
    print(f"load {os.getloadavg()}, {os.cpu_count()} cores")
    return int(pooled["together"] < BAR)


def main() -> int:
    """Print the table; 1 if our intervals miss the bar or the naive ones meet it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweeps", type=int, default=20)
    parser.add_argument("--budget", type=float, default=10.0)
    parser.add_argument("--processes", type=int, default=1, help="of each sweep")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        return child(asked.budget)
    if asked.processes > 1:
        return over_processes(asked.sweeps, asked.processes, asked.budget)
    sweeps: dict[str, list[Sweep]] = defaultdict(list)
    for _ in range(asked.sweeps):
        for event in run(experiment(asked.budget)):
            if isinstance(event, CaseMeasured):
                case = event.measurement.case
                name = f"{case.op} {case.size:g} {case.mode}"
                sweeps[name].append(sweep_of(event.measurement))
            elif isinstance(event, CaseFailed):
                print(words.sentence(event.failure.remark), file=sys.stderr)
                return 1
    ours = naive = total = 0
    print(
        f"{'case':<20} {'ours':>8} {'half-width':>11} {'naive':>8} {'half-width':>11}"
    )
    for name, rows in sweeps.items():
        inside = contains([row.ours for row in rows])
        fooled = contains([row.naive for row in rows])
        ours, naive, total = ours + inside, naive + fooled, total + len(rows)
        widths = [
            median([getattr(row, side).half_width for row in rows])
            for side in ("ours", "naive")
        ]
        print(
            f"{name:<20} {inside / len(rows):>8.0%} {widths[0]:>11.1%}"
            f" {fooled / len(rows):>8.0%} {widths[1]:>11.1%}"
        )
    print(f"{'pooled':<20} {ours / total:>8.0%} {'':>11} {naive / total:>8.0%}")
    stated = [row.ours.confidence for rows in sweeps.values() for row in rows]
    print(f"{'stated':<20} {sum(stated) / total:>8.1%}")
    print(f"load {os.getloadavg()}, {os.cpu_count()} cores")
    return int(ours / total < BAR or naive / total >= BAR)


if __name__ == "__main__":
    sys.exit(main())
