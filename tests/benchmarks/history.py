"""How quick is a long history?

    python tests/benchmarks/history.py [--rows 100000]

Fills a file with measurements of many ops, sizes and days, then times what the History
tab and ``jaxtui history`` do, against the promise of 100 ms.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from jaxtui.history import Filter, History
from tests.history.making import DEVICE, HOST, measurement

PROMISED = 0.1
REPEATS = 9
DAY = 86_400.0

QUESTIONS: dict[str, Filter] = {
    "the newest": Filter(),
    "one op": Filter(op="selu"),
    "op, size and dtype": Filter(op="matmul", size=1024, dtype="bfloat16"),
    "a device": Filter(device="cpu"),
    "a host": Filter(host="box"),
    "a day": Filter(since=50 * DAY, until=51 * DAY),
    "words": Filter(text="matmul bfloat16"),
    "words that are nowhere": Filter(text="nothing like this"),
}


def fill(history: History, rows: int) -> None:
    """Measurements over a hundred days, one after the other."""
    chosen = random.Random(0)
    history.add_all(
        (
            HOST,
            DEVICE,
            measurement(
                chosen.choice(("matmul", "selu", "sigmoid", "sum", "triad")),
                2 ** chosen.randrange(4, 14),
                dtype=chosen.choice(("float32", "bfloat16", "float64")),
                mode=chosen.choice(("jit", "eager")),
            ),
            100 * DAY * index / rows,
        )
        for index in range(rows)
    )


def median_seconds(history: History, wanted: Filter) -> tuple[float, int]:
    taken = []
    for _ in range(REPEATS):
        start = perf_counter()
        history.rows(wanted, limit=200)
        count = history.count(wanted)
        taken.append(perf_counter() - start)
    return statistics.median(taken), count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    slow = False
    with tempfile.TemporaryDirectory() as folder:
        history = History(Path(folder) / "history.db")
        start = perf_counter()
        fill(history, rows)
        print(f"{rows} rows written in {perf_counter() - start:.1f} s")
        print(f"{history.path.stat().st_size / 1e6:.0f} MB; list of 200 and count:")
        for name, wanted in QUESTIONS.items():
            seconds, count = median_seconds(history, wanted)
            slow = slow or seconds > PROMISED
            verdict = "ok" if seconds <= PROMISED else "SLOW"
            print(f"{verdict:<5}{1e3 * seconds:7.1f} ms  {count:7}  {name}")
        start = perf_counter()
        history.add(HOST, DEVICE, measurement())
        print(f"one more: {1e3 * (perf_counter() - start):.1f} ms")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
