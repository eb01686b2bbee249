"""Measurements, and how they come into a history."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jaxtui.core.history.store import History
from jaxtui.core.model import Case, Device, Host, Measurement, Phases, Ready, Samples
from tests import records

HOST = records.host()
DEVICE = records.device("cpu:0")
READY = Ready(host=HOST, devices=(DEVICE,), ops=())


def measurement(
    op: str = "matmul",
    size: int = 256,
    *,
    dtype: str = "float32",
    device: str = "cpu:0",
    mode: Any = "jit",
    median: float = 0.002,
    width: float = 0.0001,
    samples: bool = False,
) -> Measurement:
    """``width`` is the half-width of the interval, seconds."""
    case = Case(op=op, size=size, dtype=dtype, device=device, mode=mode)
    return records.measurement(
        case,
        records.summary(median, width / median, rounds=10),
        phases=Phases(first_call=0.01),
        pipelined_seconds=median,
        flops=2e9,
        bytes=1e6,
        flops_per_second=2e9 / median,
        bytes_per_second=1e6 / median,
        error_vs_float64=1e-7,
        **({"samples": Samples(ready=(median,) * 100)} if samples else {}),
    )


def insert(
    history: History,
    host: Host,
    device: Device | None,
    measurement: Measurement,
    at: float | None = None,
) -> int:
    """Keep a measurement, of now unless told otherwise; returns its id."""
    moment = time.time() if at is None else at
    return history.add([(host, device, measurement, moment)])[0]


HOLD = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute("BEGIN EXCLUSIVE")
print(flush=True)
sys.stdin.read()
other.rollback()
"""


@contextmanager
def held(path: Path) -> Iterator[Callable[[], object]]:
    """Another process has the file, until the block is left or what it gives called."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline()
    try:
        yield holder.communicate
    finally:
        holder.kill()
        holder.wait()
