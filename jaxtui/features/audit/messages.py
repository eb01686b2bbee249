"""The record of a program that timed itself: spans, calls, compiles, transfers.

All seconds count from the first reading of a clock, on one clock of the host.
"""

from __future__ import annotations

from typing import Literal

from jaxtui.core.model.base import Record
from jaxtui.core.model.remark import Remark

Direction = Literal["to host", "to device"]

TRANSFER_BYTES = 64 * 1024
"""The latency of PCIe is some 10 µs, in which 16 GB/s move 160 KB: what is smaller
costs no more than a scalar of the result would."""


class Place(Record, frozen=True):
    """A line of the program."""

    file: str
    """Absolute."""
    line: int
    """Counts from 1."""


class Span(Record, frozen=True, kw_only=True):
    """The difference between two readings of a clock."""

    begin: Place
    """The line that read the clock first; for a library such as ``timeit``, its
    caller."""
    end: Place
    start_seconds: float
    stop_seconds: float
    thread: int
    clock: str
    """``time.perf_counter``, or the library that reads it, as ``tqdm``."""
    cpu_seconds: float | None = None
    """The difference that the program read, of a clock of CPU time."""
    while_tracing: bool = False
    """JAX traced the function that reads the clock."""

    @property
    def seconds(self) -> float:
        """Wall-clock."""
        return self.stop_seconds - self.start_seconds

    @property
    def read_seconds(self) -> float:
        """Seconds that the program read."""
        return self.seconds if self.cpu_seconds is None else self.cpu_seconds


class Execution(Record, frozen=True, kw_only=True):
    """A run of a compiled program, and the call that started it."""

    function: str
    """The name that ``jax.jit`` gives it."""
    program: str
    """Its module and number: functions may have one name, as ``<lambda>``."""
    called_seconds: float
    """The time of the hand-over by the host: the middle of the call."""
    start_seconds: float
    end_seconds: float
    """The time at which the last of its kernels was done."""
    thread: int | None = None
    """The thread that called it, if it reads clocks itself."""


class Compile(Record, frozen=True, kw_only=True):
    """Tracing, lowering and compiling of one function."""

    function: str
    start_seconds: float
    end_seconds: float
    place: Place | None = None
    """The line that called it."""
    reason: str = ""
    """JAX's own explanation of why the cache had no such program, as it came."""


class Transfer(Record, frozen=True, kw_only=True):
    """Arrays that crossed between host and device without being told to."""

    direction: Direction
    start_seconds: float
    end_seconds: float
    bytes: int
    was_pending: bool = False
    """The array was still being computed when it began."""
    place: Place | None = None
    """The line that converts; ``None`` where a call of a jitted function sends."""


class Wait(Record, frozen=True, kw_only=True):
    """The program waited for a result, or meant to."""

    place: Place
    start_seconds: float
    end_seconds: float
    was_pending: bool = True
    """The result was still being computed when it began."""
    on: str = ""
    """The type of what it waited for, where that is no array of JAX: there is nothing
    to wait for in it."""


class Witness(Record, frozen=True, kw_only=True, tag=True):
    """Everything that was seen while a program ran."""

    python: str
    jax: str | None
    """The versions; ``None`` if the program never imported JAX."""
    seconds: float
    """Seconds that the program ran."""
    spans: tuple[Span, ...] = ()
    executions: tuple[Execution, ...] = ()
    compiles: tuple[Compile, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    waits: tuple[Wait, ...] = ()
    traced_seconds: tuple[float, float] | None = None
    """Begin and end of the kernels' trace; ``None`` without one."""
    remarks: tuple[Remark, ...] = ()
    """Remarks on what the record lacks, and why."""


# What follows from it.


class Site(Record, frozen=True, kw_only=True):
    """A pair of lines between which the program measured, by what was called last."""

    begin: Place
    end: Place
    count: int
    """Spans: how often it did."""
    clock: str
    functions: tuple[str, ...]
    """The functions that ran in them, the longest first."""
    read_seconds: float
    """The median of what the program read."""
    corrected_seconds: float | None
    """The median of what the work of these spans took; ``None`` where nobody saw it."""


class Finding(Record, frozen=True, kw_only=True):
    """A mistake in how something was timed, or something to know about it."""

    place: Place
    """The line that it is about."""
    remark: Remark
    """The remark, whose code is the kind."""
    seconds: float
    """Seconds by which the reading is wrong, or may be."""


class Audit(Record, frozen=True, kw_only=True):
    """The audit of a program's own timings."""

    script: str
    sites: tuple[Site, ...]
    """Places with work of JAX in them, in the order of the program."""
    findings: tuple[Finding, ...]
    """Mistakes."""
    notes: tuple[Finding, ...] = ()
    """Findings that are no mistakes, and worth knowing."""
    remarks: tuple[Remark, ...] = ()
    """Remarks on what could not be judged, and why."""
