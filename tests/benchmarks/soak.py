"""Does the app grow while it is used?

    python tests/benchmarks/soak.py [--minutes 15] [--seed 0] [--fake]

Types what a person would, on a real pty, as a seeded script: runs and their ends, tabs,
lists, the timeline, lessons, help, themes, and other sizes of the terminal. Prints what
both processes have in memory (``VmRSS``) at each full minute, once what runs has been
stopped: after the first five, in which modules are loaded and caches filled, both must
stay within 10 % of what they had then. ``--fake`` takes an engine without JAX, where
only the app counts.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import random
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path

from tests.processes import FAKE_PYTHON, PROGRAM, children, environment

SETTLED_MINUTES = 5
ALLOWED = 1.10

SIZES = ((120, 40), (80, 24), (100, 30), (160, 50), (120, 40))
"""Columns and lines of the terminal."""

ESCAPE, ENTER, UP, DOWN = "\x1b", "\r", "\x1b[A", "\x1b[B"

ACTS: tuple[tuple[str, ...], ...] = (
    ("1", ENTER),  # the first minute
    ("1", "d", ESCAPE),
    ("1", "a", ENTER, "b", ESCAPE),
    ("2", "r", "w", "g", "m"),
    ("2", "r", "s"),
    ("2", DOWN, DOWN, "k", "z", UP),
    ("2", "v", ESCAPE),
    ("2", "u", ESCAPE),
    ("3", DOWN, ENTER, ESCAPE, ESCAPE),
    ("3", UP, UP),
    ("4", DOWN, DOWN, " ", DOWN, " ", ESCAPE),
    ("4", "/", "m", "a", "t", ESCAPE, ESCAPE),
    ("?", DOWN, ESCAPE),
    (":", "h", "e", ESCAPE),
    ("t",),
    ("1", "2", "3", "4"),
)
"""Keys that belong together; each begins where the keys of a tab are heard."""

SECONDS = (0.05, 0.3, 1.0)
"""Between two keys."""

REST_SECONDS = 3.0
"""After a stop, so that no inputs of a case are counted."""


def keys(chosen: random.Random) -> Iterator[str | tuple[int, int]]:
    """Keys, and sizes of the terminal, for ever."""
    while True:
        if chosen.random() < 0.15:
            yield chosen.choice(SIZES)
        yield from chosen.choice(ACTS)


class App:
    """The app on a pty, as its user has it."""

    def __init__(self, data: Path, fake: bool) -> None:
        self.terminal, end = pty.openpty()
        self.resize(*SIZES[0])
        self.process = subprocess.Popen(
            [*PROGRAM, *(["--python", FAKE_PYTHON] if fake else [])],
            stdin=end,
            stdout=end,
            stderr=end,
            cwd=data,  # what it might write does not lie about
            env=environment(data, COLORTERM="truecolor", JAX_PLATFORMS="cpu"),
            start_new_session=True,
        )
        os.close(end)

    def resize(self, columns: int, lines: int) -> None:
        size = struct.pack("HHHH", lines, columns, 0, 0)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, size)

    def read(self, seconds: float) -> None:
        """Take what is drawn for so long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.terminal], [], [], left)[0]:
                os.read(self.terminal, 1 << 16)

    def type(self, key: str | tuple[int, int]) -> None:
        if isinstance(key, str):
            os.write(self.terminal, key.encode())
        else:
            self.resize(*key)

    def megabytes(self) -> tuple[float, float]:
        """Of the app, and of the engine that it has now; 0 for one that is gone."""
        engine = 0.0
        for child in children(self.process.pid):
            if b"--requests" in Path(f"/proc/{child}/cmdline").read_bytes():
                engine = _resident(child)
        return _resident(self.process.pid), engine

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            while os.read(self.terminal, 1 << 16):
                pass
        except OSError:  # the pty is closed once the process has ended
            pass
        self.process.wait()


def _resident(pid: int) -> float:
    """Megabytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def soak(minutes: int, seed: int, fake: bool) -> list[tuple[float, float]]:
    """What both have at the start, and after each minute."""
    chosen = random.Random(seed)
    script = keys(chosen)
    with tempfile.TemporaryDirectory() as data:
        app = App(Path(data), fake)
        try:
            app.read(10.0)  # until JAX is up
            found, start, typed = [app.megabytes()], time.monotonic(), 0
            print("minute    app  engine  keys", flush=True)
            while True:
                app.type(next(script))
                typed += 1
                app.read(chosen.choice(SECONDS))
                if app.process.poll() is not None:
                    sys.exit(f"the app has ended after {typed} keys")
                if time.monotonic() - start >= 60 * len(found):
                    app.type("s")
                    app.read(REST_SECONDS)
                    found.append(app.megabytes())
                    row = len(found) - 1, *found[-1], typed
                    print("{:6} {:6.1f} {:7.1f} {:5}".format(*row), flush=True)
                if len(found) > minutes:
                    return found
        finally:
            app.close()


def verdict(name: str, megabytes: list[float]) -> bool:
    """Say how far it grew; true if it stays within what is allowed."""
    settled, most = megabytes[SETTLED_MINUTES], max(megabytes[SETTLED_MINUTES:])
    good = most <= ALLOWED * settled
    print(
        f"{name:<6} {settled:.1f} MB after {SETTLED_MINUTES} minutes, at most"
        f" {most:.1f} MB since: ×{most / settled:.2f}, at most {ALLOWED:g}:"
        f" {'ok' if good else 'MISSED'}"
    )
    return good


def main() -> int:
    """1 if one of them has grown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fake", action="store_true")
    typed = parser.parse_args()
    app, engine = zip(*soak(typed.minutes, typed.seed, typed.fake), strict=True)
    if typed.minutes <= SETTLED_MINUTES:
        print(f"No verdict: that takes more than {SETTLED_MINUTES} minutes.")
        return 0
    good = verdict("app", list(app))
    if not typed.fake:
        good = verdict("engine", list(engine)) and good
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
