"""The time of a step by kernel, from a trace of the profiler."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

from jaxtui.core.model.base import Record
from jaxtui.core.model.cases import Case
from jaxtui.core.model.remark import Remark

KernelKind = Literal["compute", "collective", "copy"]
"""The work of a kernel: arithmetic, exchange with other devices, moved memory."""

KERNEL_KINDS: tuple[KernelKind, ...] = get_args(KernelKind)
"""The kinds by rank: a moment belongs to the first of those that run."""

STEPS, MOST_STEPS = 5, 1000
"""Steps of an own function: enough for a ±, and a small trace."""


# Not of ``statistics``, whose import takes a millisecond of every start.
def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


class Profiling(Record, frozen=True, kw_only=True, tag=True):
    """Ask for a profile of some calls of a case: a work for the engine."""

    case: Case
    """The case; its mode is ``eager``, ``jit`` or ``pallas``."""
    steps: int = STEPS


SCRIPT_SECONDS = 10.0
"""Seconds for which a program is profiled, unless others are given."""


class Script(Record, frozen=True, kw_only=True):
    """The part of somebody's program to profile."""

    path: str
    """The path of the file, or the name of the module."""
    module: bool = False
    after_seconds: float = 0.0
    """Since the program began; never before it has started JAX itself."""
    after_steps: int = 0
    """Steps to skip, as annotated with ``StepTraceAnnotation``."""
    seconds: float = SCRIPT_SECONDS


class Frame(Record, frozen=True, kw_only=True):
    """A line of the user's source."""

    file: str
    line: int
    function: str
    """Empty where this jax does not say: up to 0.7."""


class Share(Record, frozen=True, kw_only=True):
    """Part of a kernel's time, and the lines that asked for it."""

    part: float
    """0 to 1; those of a kernel add up to 1."""
    stack: tuple[int, ...]
    """Indices into the frames of the profile, the innermost first; empty for what XLA
    added by itself."""


class Kernel(Record, frozen=True, kw_only=True):
    """An instruction of a compiled program, and what its runs took.

    Seconds are those of one step, averaged over the devices.
    """

    name: str
    program: str
    kind: KernelKind
    category: str
    """XProf's name for it: ``loop fusion``, ``dot``, ``all-reduce``."""
    shape: str
    """The shape of its result, as XLA writes it; empty where the trace has no
    program."""
    op_name: str
    """JAX's path to it: ``jit(step)/transpose(jvp())/dot_general``."""
    steps: tuple[float, ...]
    """Its own seconds in each step: a loop's without its body. Kernels that run at the
    same time on one device share that time."""
    total_seconds: float
    """Seconds from its start to its end, with its body and the time it shares: the sum
    of kernels may exceed a step."""
    hidden_seconds: float
    """Seconds of a collective or a copy while the device computed."""
    count: float
    """Runs in a step, of all devices."""
    by_order: bool = False
    """True if only its place in a CUDA graph tells which instruction it is."""
    flops: float | None
    bytes: float | None
    """Bytes of one run, by the trace on a TPU, else counted from the program."""
    flops_per_second: float | None = None
    """The peak of one device for the dtype that it multiplies, if it does."""
    shares: tuple[Share, ...]

    @property
    def self_seconds(self) -> float:
        """The mean over the steps."""
        return _mean(self.steps) if self.steps else 0.0

    @property
    def deviation(self) -> float | None:
        """The standard deviation over the steps; ``None`` of one step."""
        if len(self.steps) < 2:
            return None
        mean = _mean(self.steps)
        squares = math.fsum((seconds - mean) ** 2 for seconds in self.steps)
        return math.sqrt(squares / (len(self.steps) - 1))


class Activity(Record, frozen=True, kw_only=True):
    """The host's activity in a gap, and its seconds."""

    name: str
    """The name of an event of the trace; empty for time without events."""
    seconds: float


class Gap(Record, frozen=True, kw_only=True):
    """A device waits."""

    start_seconds: float
    """Since the start of the profile."""
    seconds: float
    device: str
    after: str
    before: str
    """The kernels around it; empty at the ends of the profile."""
    host: tuple[Activity, ...]
    """Meanwhile, the longest first; empty where the trace shows nothing of it."""


class Compile(Record, frozen=True, kw_only=True):
    """A function was traced inside of the profile."""

    function: str
    seconds: float
    """Seconds from the call until it was compiled, or found."""
    compile_seconds: float | None
    """Seconds of XLA alone; ``None`` if found in a cache."""


class Transfer(Record, frozen=True, kw_only=True):
    """Copies between host and device of one kind, all of the profile together."""

    name: str
    """The runtime's name for it."""
    count: int
    bytes: float | None
    seconds: float


class Occupancy(Record, frozen=True, kw_only=True):
    """Memory of a device that is in use at a moment."""

    start_seconds: float
    bytes: float


class Holding(Record, frozen=True, kw_only=True):
    """A line whose arrays are in device memory while a step runs."""

    frame: Frame
    count: int
    bytes: int


class Profile(Record, frozen=True, kw_only=True, tag=True):
    """The contents of a trace. Seconds are those of one step, or say so."""

    source: str
    """Case, script or file."""
    jax: str = ""
    device_kind: str = ""
    devices: tuple[str, ...]
    steps: tuple[float, ...]
    """Seconds of each step in the trace; there is at least one."""
    busy: tuple[float, ...]
    """Seconds that a device worked in each step, averaged over the devices."""
    kernels: tuple[Kernel, ...]
    """The dearest first."""
    frames: tuple[Frame, ...]
    gaps: tuple[Gap, ...] = ()
    """The longest ones."""
    compiles: tuple[Compile, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    memory: tuple[Occupancy, ...] = ()
    holdings: tuple[Holding, ...] = ()
    """Memory by line, the largest first, where a trace has no memory events."""
    bytes_per_second: float | None = None
    """The peak of one device."""
    unprofiled_seconds: float | None = None
    """A step of a loop without the profiler, awaited once: of a few the fastest."""
    size_bytes: int = 0
    """The size of the trace."""
    events: int = 0
    notes: tuple[Remark, ...] = ()

    @property
    def traced_seconds(self) -> float:
        """The mean step of the trace."""
        return _mean(self.steps)

    @property
    def step_seconds(self) -> float:
        """A step without the profiler; the mean of the trace where none was timed, or
        where others disturbed it so that it took longer.
        """
        return min(self.unprofiled_seconds or math.inf, self.traced_seconds)

    @property
    def busy_seconds(self) -> float:
        """Seconds that a device works in the mean step."""
        return _mean(self.busy)

    @property
    def idle_seconds(self) -> float:
        """Seconds of a step beyond its kernels."""
        return max(0.0, self.step_seconds - self.busy_seconds)
