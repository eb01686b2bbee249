"""How quick is a long history, and does it lose anything?

    python tests/benchmarks/history.py [--rows 100000]
    python tests/benchmarks/history.py --kills 200

Fills a file with measurements of many ops, sizes and days, then times what the History
tab and ``jaxtui history`` do, against the promise of 100 ms.

With ``--kills``: two processes write to one file as fast as they can and acknowledge
each measurement that is safe; again and again one of them is killed with SIGKILL at a
random moment and replaced. After each time the file must be whole and hold every
measurement that was acknowledged.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, sleep

from jaxtui.core.history.store import Filter, History
from tests.core.history.making import DEVICE, HOST, insert, measurement

PROMISED = 0.1
REPEATS = 9
DAY = 86_400.0
WRITERS = 2
ROOT = Path(__file__).parents[2]

WRITER = """
import itertools, random, sys, time
from pathlib import Path
from jaxtui.core.history.store import (BusyError, History)
from tests.core.history.making import (DEVICE, HOST, insert, measurement)
history = History(Path(sys.argv[1]))
for size in itertools.count(int(sys.argv[2])):
    while True:
        try:
            insert(history, HOST, DEVICE, measurement(size=size))
            break
        except BusyError:
            pass
    print(size, flush=True)
    time.sleep(random.uniform(0.0, 0.002))  # no measurement takes less
"""
"""Writes measurements whose sizes are numbers of its own, and says which are safe."""

QUESTIONS: dict[str, Filter] = {
    "the newest": Filter(),
    "one op": Filter(text="selu"),
    "op, size and dtype": Filter(text="matmul 1024 bfloat16"),
    "a day": Filter(since=50 * DAY, until=51 * DAY),
    "words": Filter(text="matmul bfloat16"),
    "words that are nowhere": Filter(text="nothing like this"),
}


def fill(history: History, rows: int) -> None:
    """Measurements over a hundred days, one after the other."""
    chosen = random.Random(0)
    history.add(
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
        history.page(wanted, limit=200)
        count = history.count(wanted)
        taken.append(perf_counter() - start)
    return statistics.median(taken), count


class Writer:
    """A process that writes until it is killed."""

    def __init__(self, path: Path, first: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(first)],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        self._read = b""

    def acknowledged(self) -> set[int]:
        """The sizes that it has said are safe, as far as they have arrived."""
        assert self.process.stdout
        while select.select([self.process.stdout], [], [], 0)[0]:
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                break
            self._read += data
        *lines, self._read = self._read.split(b"\n")
        return set(map(int, lines))

    def wait_for_one(self) -> set[int]:
        """Wait until it has written something."""
        while not (found := self.acknowledged()):
            assert self.process.poll() is None, "a writer ended by itself"
            sleep(0.001)
        return found

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def missing(path: Path, acknowledged: set[int]) -> set[int]:
    """What was acknowledged and is not there.

    Raises:
        sqlite3.DatabaseError: The file is damaged.
    """
    connection = sqlite3.connect(path, timeout=30.0)
    try:
        (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict)
        there = connection.execute("SELECT size FROM entries")
        return acknowledged - {size for (size,) in there}
    finally:
        connection.close()


def kill_writers(kills: int) -> int:
    """Kill one of two writers again and again; returns how often something was lost."""
    chosen, lost, begun = random.Random(0), 0, perf_counter()
    acknowledged: set[int] = set()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.db"
        history = History(path)
        writers = [Writer(path, 1 + 1_000_000 * index) for index in range(WRITERS)]
        for number in range(kills):
            victim = number % WRITERS
            for writer in writers:
                acknowledged |= writer.wait_for_one()
            sleep(chosen.uniform(0.0, 0.02))
            writers[victim].kill()
            acknowledged |= writers[victim].acknowledged()
            gone = missing(path, acknowledged)
            if gone or history.count() < len(acknowledged):
                lost += 1
                print(f"kill {number + 1}: {len(gone)} of {len(acknowledged)} lost")
            first = 1 + 1_000_000 * (WRITERS + number)
            writers[victim] = Writer(path, first)
        for writer in writers:
            writer.kill()
            acknowledged |= writer.acknowledged()
        lost += bool(missing(path, acknowledged))
        count = history.count()
    print(
        f"{kills} kills of one of {WRITERS} writers in {perf_counter() - begun:.0f} s: "
        f"{len(acknowledged)} acknowledged, {count} in the file, "
        f"{lost} times something was lost"
    )
    return lost


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--kills", type=int, metavar="N")
    arguments = parser.parse_args()
    if arguments.kills:
        return int(kill_writers(arguments.kills) > 0)
    rows, slow = arguments.rows, False
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
        insert(history, HOST, DEVICE, measurement())
        print(f"one more: {1e3 * (perf_counter() - start):.1f} ms")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
