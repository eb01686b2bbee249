"""How soon is something on the screen, and how soon are the devices?

    python tests/benchmarks/startup.py [--pairs 15]

On a real pty of 120×40, alternating, from starting the process:

- the first frame of jaxtui against that of a bare Textual app with the same widgets
  (at most 1.5 times as long);
- the first device on jaxtui's screen against
  ``python -c "import jax; print(jax.devices())"`` (at most 1.35 times as long).

Everything has been compiled to bytecode by a first round that does not count, as it is
after an installation; where Python is told to write none, a checkout has none.
"""

from __future__ import annotations

import argparse
import contextlib
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
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sign_test import sign_test_interval

COLUMNS, LINES = 120, 40
DEADLINE_SECONDS = 60.0


class Side(NamedTuple):
    """A command, and the bytes by which its screen is recognised."""

    command: Sequence[str]
    marks: Sequence[bytes]


APP = Side([sys.executable, "-m", "jaxtui"], [b"jaxtui", b"cpu:0"])
BARE = Side(
    [sys.executable, str(Path(__file__).with_name("bare_app.py"))], [b"status-line"]
)
PLAIN = Side([sys.executable, "-c", "import jax; print(jax.devices())"], [b"CpuDevice"])


def seconds_until(side: Side, bytecode: str) -> list[float]:
    """Seconds from start until each mark has been written to the terminal.

    Args:
        side: what to start.
        bytecode: the folder for compiled modules.
    """
    leader, follower = pty.openpty()
    size = struct.pack("HHHH", LINES, COLUMNS, 0, 0)
    fcntl.ioctl(follower, termios.TIOCSWINSZ, size)
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPYCACHEPREFIX": bytecode,
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    process = subprocess.Popen(
        side.command,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment,
        start_new_session=True,
    )
    os.close(follower)
    seen, times = b"", []
    try:
        for mark in side.marks:
            while mark not in seen:
                left = start + DEADLINE_SECONDS - time.perf_counter()
                if not select.select([leader], [], [], max(0.0, left))[0]:
                    sys.exit(f"{side.command}: {mark!r} never appeared")
                seen += os.read(leader, 65536)
            times.append(time.perf_counter() - start)
    finally:
        _end(process, leader)
    return times


def _end(process: subprocess.Popen[bytes], leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    with contextlib.suppress(OSError):  # the pty is closed once the process has ended
        while os.read(leader, 65536):
            pass
    os.close(leader)
    process.wait()


def compare(name: str, ratios: Sequence[float], bar: float) -> bool:
    """Print one comparison; true if its interval reaches below the bar."""
    interval = sign_test_interval(ratios)
    good = interval.low <= bar
    print(
        f"{name:<42} ×{interval.median:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
        f"  at most {bar:g}: {'ok' if good else 'MISSED'}"
    )
    return good


def main() -> int:
    """Print both comparisons; 1 if one is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=15)
    pairs = parser.parse_args().pairs
    frames, devices, times = [], [], []
    with tempfile.TemporaryDirectory() as bytecode:
        for counted in [False] + [True] * pairs:
            sides = [APP, BARE, PLAIN]
            random.shuffle(sides)
            taken = {id(side): seconds_until(side, bytecode) for side in sides}
            if not counted:
                continue
            ours, bare, plain = (taken[id(side)] for side in (APP, BARE, PLAIN))
            frames.append(ours[0] / bare[0])
            devices.append(ours[1] / plain[0])
            times.append((ours[0], bare[0], ours[1], plain[0]))
    middle = [sorted(column)[pairs // 2] for column in zip(*times, strict=True)]
    print("medians: first frame {:.2f} s, bare {:.2f} s;".format(*middle[:2]), end=" ")
    print("devices {:.2f} s, plain JAX {:.2f} s".format(*middle[2:]))
    good = compare("first frame / bare app's first frame", frames, 1.5)
    good = compare("devices on screen / plain jax.devices()", devices, 1.35) and good
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
