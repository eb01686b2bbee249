"""Where the time of a step goes: what a trace of the profiler shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

from jaxtui.model.base import Record
from jaxtui.model.cases import Case
from jaxtui.model.remark import Remark

KernelKind = Literal["compute", "collective", "copy"]
"""What keeps a device busy: arithmetic, exchange with other devices, moved memory."""

KERNEL_KINDS: tuple[KernelKind, ...] = get_args(KernelKind)
"""In the order in which a moment belongs to them, where several run."""

STEPS, MOST_STEPS = 5, 1000
"""Of an own function: enough for a ±, and a small trace."""


# Not of ``statistics``, whose import takes a millisecond of every start.
def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


class Profiling(Record, frozen=True, kw_only=True, tag=True):
    """Ask for a profile of some calls of a case: a work for the engine."""

    case: Case
    """Its mode is ``eager``, ``jit`` or ``pallas``."""
    steps: int = STEPS


SCRIPT_SECONDS = 10.0
"""For so long a program is profiled, unless someone says how long."""


class Script(Record, frozen=True, kw_only=True):
    """What to profile of someone's program."""

    path: str
    """Of the file, or the name of the module."""
    module: bool = False
    after_seconds: float = 0.0
    """Since the program began; never before it has started JAX itself."""
    after_steps: int = 0
    """That it annotates with ``StepTraceAnnotation``."""
    seconds: float = SCRIPT_SECONDS


class Frame(Record, frozen=True, kw_only=True):
    """One line of the user's source."""

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
    """As XProf names it: ``loop fusion``, ``dot``, ``all-reduce``."""
    shape: str
    """Of its result, as XLA writes it; empty where the trace has no program."""
    op_name: str
    """How JAX came to it: ``jit(step)/transpose(jvp())/dot_general``."""
    steps: tuple[float, ...]
    """Its own time in each step: a loop's without its body. What ran at the same time
    on one device shares that time."""
    total_seconds: float
    """From its start to its end, all that it holds included; and what it shares, so
    that these may add up to more than a step."""
    hidden_seconds: float
    """Of a collective or a copy: while the device computed."""
    count: float
    """Runs in a step, of all devices."""
    by_order: bool = False
    """Which instruction it is follows from its place in a CUDA graph alone."""
    flops: float | None
    bytes: float | None
    """Of one run. By the trace on a TPU, else counted from the program."""
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
        squares = math.fsum((each - mean) ** 2 for each in self.steps)
        return math.sqrt(squares / (len(self.steps) - 1))


class Activity(Record, frozen=True, kw_only=True):
    """What the host did, and for how long."""

    name: str
    """Of an event of the trace; empty for what it shows nothing of."""
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
    """From the call until it was compiled, or found."""
    compile_seconds: float | None
    """Of XLA alone; ``None`` of what was found in a cache."""


class Transfer(Record, frozen=True, kw_only=True):
    """Copies between host and device of one kind, all of the profile together."""

    name: str
    """As the runtime calls it."""
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
    """What a trace shows. Seconds are those of one step unless they say otherwise."""

    source: str
    """Case, script or file."""
    jax: str = ""
    device_kind: str = ""
    devices: tuple[str, ...]
    steps: tuple[float, ...]
    """How long each took in the trace; there is at least one."""
    busy: tuple[float, ...]
    """How long a device worked in each of them, averaged over the devices."""
    kernels: tuple[Kernel, ...]
    """The dearest first."""
    frames: tuple[Frame, ...]
    gaps: tuple[Gap, ...] = ()
    """The longest ones."""
    compiles: tuple[Compile, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    memory: tuple[Occupancy, ...] = ()
    holdings: tuple[Holding, ...] = ()
    """Where a trace has no memory: by line, the largest first."""
    bytes_per_second: float | None = None
    """The peak of one device."""
    unprofiled_seconds: float | None = None
    """A step of a loop without the profiler, awaited once: of a few the fastest."""
    size_bytes: int = 0
    """Of the trace."""
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
        """Of the mean step."""
        return _mean(self.busy)

    @property
    def idle_seconds(self) -> float:
        """What a step takes beyond its kernels."""
        return max(0.0, self.step_seconds - self.busy_seconds)
