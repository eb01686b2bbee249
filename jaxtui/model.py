"""The nouns of jaxtui as frozen records, and the events that carry them.

Everything here is plain data: no jax, no numpy, no textual. Times are seconds, rates
are per second, memory is bytes; a field that a device, mode or op does not have is
``None``. The records are what the engine puts on the wire and what ``--json`` prints.
"""

from __future__ import annotations

from typing import Literal, Union

import msgspec

Mode = Literal["numpy", "eager", "jit"]
"""How an op is executed: NumPy, JAX op by op, or compiled with ``jax.jit``."""

Inputs = Literal["device", "host"]
"""Where arguments live before each call: resident on the device, or NumPy arrays."""

Precision = Literal["default", "high", "highest"]
"""The ``precision`` of JAX matrix products; other ops have only ``default``."""

Phase = Literal["transfer", "trace", "lower", "compile", "first_call", "fetch"]
"""A clock outside the rounds."""

Stopped = Literal["target", "budget", "noise floor", "cancelled", "crashed"]
"""Why sampling ended."""

MODES: tuple[Mode, ...] = ("numpy", "eager", "jit")
INPUTS: tuple[Inputs, ...] = ("device", "host")
PRECISIONS: tuple[Precision, ...] = ("default", "high", "highest")
PHASES: tuple[Phase, ...] = (
    "transfer",
    "trace",
    "lower",
    "compile",
    "first_call",
    "fetch",
)
DTYPES: tuple[str, ...] = (
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "int32",
    "int8",
    "complex64",
)
"""Every dtype that some op of the catalogue accepts, widest real dtype first."""

HOST = "host"
"""The device and the inputs of a NumPy case."""

ITEMSIZE: dict[str, int] = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "int8": 1,
    "complex64": 8,
}
"""Bytes of one element, by dtype name."""


class Record(msgspec.Struct, frozen=True):
    """Base of every record: immutable and compared by value."""


# What there is.


class Host(Record, frozen=True, kw_only=True):
    """The facts about a machine that a measurement depends on."""

    hostname: str
    python: str
    jax: str
    jaxlib: str
    numpy: str
    platform_version: str
    """``client.platform_version`` of the default backend, its first line."""
    cpu_model: str | None = None
    cpu_count: int | None = None
    memory_bytes: int | None = None
    """Physical memory of the host."""
    environment: dict[str, str] = {}
    """The JAX_*, XLA_*, TPU_* and thread-count variables that are set."""


class Device(Record, frozen=True, kw_only=True):
    """One ``jax.Device``; attributes that it does not have are ``None``."""

    id: int
    platform: str
    device_kind: str
    process_index: int
    local_hardware_id: int | None = None
    coords: tuple[int, ...] | None = None
    core_on_chip: int | None = None
    slice_index: int | None = None
    memory: dict[str, int] | None = None
    """``Device.memory_stats()`` as it came, in bytes and counts."""
    simulated: bool = False
    """True for a CPU device made by ``--cpu-devices N``."""
    addressable: bool = True
    """False for a device that belongs to another process."""
    attributes: dict[str, str] = {}
    """Every other public attribute that the device really has, as text."""

    @property
    def name(self) -> str:
        """The device as people write it: ``tpu:3``."""
        return f"{self.platform}:{self.id}"

    @property
    def memory_used_bytes(self) -> int | None:
        """Bytes in use plus bytes reserved (a TPU keeps temporaries in the latter)."""
        if not self.memory or "bytes_in_use" not in self.memory:
            return None
        return self.memory["bytes_in_use"] + self.memory.get("bytes_reserved", 0)

    @property
    def memory_limit_bytes(self) -> int | None:
        """Bytes that the runtime may use; on a GPU this is the pool, not the card."""
        return self.memory.get("bytes_limit") if self.memory else None


class OpInfo(Record, frozen=True, kw_only=True):
    """An op of the catalogue, described without JAX."""

    name: str
    summary: str
    """One plain sentence."""
    size_means: str
    """What the op's one size parameter counts, e.g. ``n of n×n``."""
    dtypes: tuple[str, ...]
    flops: str
    """The formula in words of ``n``, e.g. ``2 n³``."""
    bytes: str
    minimum: int
    default: int
    maximum: int
    """Sensible range of sizes; a larger one is allowed where memory is."""
    takes_precision: bool = False


# What is asked for.


class Case(Record, frozen=True, kw_only=True):
    """The unit that is timed."""

    op: str
    size: int
    dtype: str
    precision: Precision = "default"
    device: str
    mode: Mode
    inputs: Inputs = "device"
    params: dict[str, int | float | str] | None = None

    @property
    def label(self) -> str:
        """The case in one line, as it is written in tables and messages."""
        precision = "" if self.precision == "default" else f" {self.precision}"
        hosted = (
            " host inputs" if self.inputs == "host" and self.mode != "numpy" else ""
        )
        return (
            f"{self.op} {self.size} {self.dtype}{precision} {self.mode}"
            f" on {self.device}{hosted}"
        )


class Experiment(Record, frozen=True, kw_only=True):
    """An ordered set of cases that take turns within one time budget."""

    cases: tuple[Case, ...]
    budget_seconds: float | None = None
    """For the whole experiment, compile included; ``None`` means the default."""
    target_half_width: float = 0.03
    """Stop a case when its 95 % interval is this narrow, relative to the median;
    0 samples until the budget ends."""
    keep_samples: bool = False
    """Return every single sample with the measurement."""
    seed: int = 0

    @property
    def budget(self) -> float:
        """The budget in seconds: the larger of 10 s and 1 s per case unless given."""
        if self.budget_seconds is not None:
            return self.budget_seconds
        return max(10.0, 1.0 * len(self.cases))


class Peak(Record, frozen=True, kw_only=True):
    """What a device could do at most in a dtype, and who says so."""

    flops_per_second: float | None
    bytes_per_second: float | None
    source: str


class Failure(Record, frozen=True, kw_only=True):
    """Why a case has no trustworthy number, in words for people."""

    case: Case
    error: str
    """What happened, one sentence."""
    hint: str
    """What to do about it, one sentence; may be empty."""
    detail: str = ""
    """The original text of the exception, kept whole."""
    estimated_seconds: float | None = None
    """What one call would take, where that is why it was not run."""


class PlannedCase(Record, frozen=True, kw_only=True):
    """What a case would need, before anything is allocated."""

    case: Case
    memory_bytes: int
    """Device memory (host memory for NumPy): arguments and results."""
    host_memory_bytes: int
    """Host memory for building the inputs and checking the result."""
    flops: float | None
    bytes: float | None
    peak: Peak | None = None
    problem: Failure | None = None
    """Set when the case cannot run here."""
    script: str = ""
    """Plain JAX (or NumPy) that reproduces the number without jaxtui."""


class Plan(Record, frozen=True, kw_only=True):
    """The answer to "what would this experiment do?"."""

    cases: tuple[PlannedCase, ...]
    budget_seconds: float
    grouped: bool = False
    """True when memory is short, so that sizes run one after another."""


# What came out.


class Phases(Record, frozen=True, kw_only=True):
    """The clocks outside the rounds, seconds; ``None`` where a mode has no such phase.

    ``trace``, ``lower``, ``compile`` and ``first_call`` are single cold observations;
    ``transfer`` and ``fetch`` are medians of a few fresh copies.
    """

    transfer: float | None = None
    trace: float | None = None
    lower: float | None = None
    compile: float | None = None
    first_call: float | None = None
    fetch: float | None = None

    @property
    def cold_seconds(self) -> float:
        """What the very first call costs a user: trace, lower, compile and run."""
        parts = (self.trace, self.lower, self.compile, self.first_call)
        return sum(part for part in parts if part is not None)


class Summary(Record, frozen=True, kw_only=True):
    """One clock of a measurement, seconds."""

    n: int
    """Calls."""
    rounds: int
    median: float
    """Median of the round medians."""
    mean: float
    """Mean over all calls."""
    mad: float
    """Median absolute deviation over all calls."""
    p10: float
    p90: float
    p99: float
    max: float
    ci_low: float
    ci_high: float
    """Sign-test 95 % interval of the median over at most eight rounds, spread out
    (minimum and maximum below six rounds)."""
    outliers: int = 0
    """Calls beyond Tukey's outer fences (3 × IQR): counted, never dropped."""

    @property
    def half_width(self) -> float:
        """Half of the interval's width, relative to the median."""
        return (self.ci_high - self.ci_low) / 2 / self.median if self.median else 0.0


class Note(Record, frozen=True, kw_only=True):
    """A flag on a measurement with its plain sentence."""

    flag: str
    text: str


class Samples(Record, frozen=True, kw_only=True):
    """Every timed call in order, seconds; NumPy has no dispatch."""

    ready: tuple[float, ...]
    dispatch: tuple[float, ...] | None = None


class Measurement(Record, frozen=True, kw_only=True):
    """What one case yielded."""

    case: Case
    phases: Phases
    dispatch: Summary | None
    """Until the call returned; ``None`` for NumPy, which has nothing to dispatch."""
    ready: Summary | None
    """Until ``block_until_ready`` returned; ``None`` before the first turn."""
    pipelined_seconds: float | None
    """Seconds per call from the slope of two queued bursts; ``None`` for NumPy."""
    flops: float | None
    bytes: float | None
    flops_per_second: float | None
    bytes_per_second: float | None
    """Rates, from the pipelined clock; ``None`` when host-bound or folded."""
    output_dtype: str | None
    error_vs_float64: float | None
    """Largest absolute error relative to the largest reference magnitude."""
    stopped: Stopped | None
    """``None`` while sampling goes on."""
    stable: bool
    notes: tuple[Note, ...] = ()
    peak: Peak | None = None
    xla_flops: float | None = None
    """XLA's own count from ``cost_analysis``, for comparison only."""
    samples: Samples | msgspec.UnsetType = msgspec.UNSET

    @property
    def work_seconds(self) -> float | None:
        """Seconds per call behind the rates: pipelined, or else the median ready."""
        if self.pipelined_seconds is not None:
            return self.pipelined_seconds
        return self.ready.median if self.ready else None

    def has(self, flag: str) -> bool:
        """Whether a note with this flag stands on the measurement."""
        return any(note.flag == flag for note in self.notes)


# What happens while it runs. A core generator yields these; the wire wraps them.


class RunStarted(Record, frozen=True, kw_only=True, tag=True):
    """An experiment begins; indices of later events count in ``cases``."""

    cases: tuple[Case, ...]
    budget_seconds: float


class ProcessWarmedUp(Record, frozen=True, kw_only=True, tag=True):
    """The throw-away compile that every process pays once, before the first case."""

    seconds: float


class CaseStarted(Record, frozen=True, kw_only=True, tag=True):
    """Precedes every other event of its case."""

    index: int
    case: Case


class PhaseStarted(Record, frozen=True, kw_only=True, tag=True):
    """A cold phase, the ``check`` against float64 or the ``warm-up`` before the first
    turn begins; or the case is ``waiting`` for that turn.
    """

    index: int
    phase: str


class PhaseMeasured(Record, frozen=True, kw_only=True, tag=True):
    """A phase ended."""

    index: int
    phase: Phase
    seconds: float
    zero_copy: bool = False
    """The "transfer" copied nothing, so its seconds mean no bandwidth."""


class Sampled(Record, frozen=True, kw_only=True, tag=True):
    """One turn of a case: at most 200 of its calls, and what is known so far."""

    index: int
    round: int
    """Counts from 1."""
    calls: int
    """Calls in this turn; more than the points below when they were thinned out."""
    dispatch: tuple[float, ...]
    """Seconds, in the order of the calls; empty for NumPy."""
    ready: tuple[float, ...]
    measurement: Measurement
    """The measurement as it stands, with ``stopped`` still ``None``."""


class CaseMeasured(Record, frozen=True, kw_only=True, tag=True):
    """A case is done (``stopped`` says why)."""

    index: int
    measurement: Measurement


class CaseFailed(Record, frozen=True, kw_only=True, tag=True):
    """A case ended without a measurement."""

    index: int
    failure: Failure


class Progress(Record, frozen=True, kw_only=True, tag=True):
    """Where the run stands; sent between turns."""

    elapsed_seconds: float
    remaining_seconds: float
    """At most: the budget that is left, less what finished cases gave back."""
    doing: str
    """One phrase, e.g. ``compiling matmul 4096 bfloat16 jit on tpu:0``."""


class RunFinished(Record, frozen=True, kw_only=True, tag=True):
    """The last event of a run."""

    outcome: Literal["complete", "cancelled", "crashed"]
    elapsed_seconds: float


RunEvent = Union[  # noqa: UP007  (msgspec builds its decoder from this at run time)
    RunStarted,
    ProcessWarmedUp,
    CaseStarted,
    PhaseStarted,
    PhaseMeasured,
    Sampled,
    CaseMeasured,
    CaseFailed,
    Progress,
    RunFinished,
]
"""Every event that a run yields."""


# What the engine says of itself.


class Hello(Record, frozen=True, kw_only=True, tag=True):
    """The engine process is up; JAX's backend may still be starting."""

    pid: int
    ops: tuple[OpInfo, ...]


class Ready(Record, frozen=True, kw_only=True, tag=True):
    """The backend is up and the accelerator, if any, is held from now on."""

    host: Host
    devices: tuple[Device, ...]
    ops: tuple[OpInfo, ...]


class Holder(Record, frozen=True, kw_only=True):
    """A process that holds an accelerator."""

    pid: int
    user: str | None
    command: str
    paths: tuple[str, ...]
    """The device files that it has open, e.g. ``/dev/accel0``."""


class EngineFailed(Record, frozen=True, kw_only=True, tag=True):
    """The engine cannot serve; it exits after this."""

    reason: Literal["jax-missing", "jax-too-old", "backend", "held", "internal"]
    error: str
    hint: str
    detail: str = ""
    holders: tuple[Holder, ...] = ()


class Planned(Record, frozen=True, kw_only=True, tag=True):
    """Answers a ``PlanRequest``; ``request`` is its number."""

    request: int
    plan: Plan


class Memory(Record, frozen=True, kw_only=True, tag=True):
    """Fresh ``memory_stats()``, by device name."""

    devices: dict[str, dict[str, int] | None]


class Busy(Record, frozen=True, kw_only=True, tag=True):
    """A run was asked for while another one runs; it was not started."""

    run: int
    """The run that is going on."""


class Logged(Record, frozen=True, kw_only=True, tag=True):
    """A line that XLA, libtpu or Python printed to the engine's fd 1 or 2."""

    line: str


class EngineDied(Record, frozen=True, kw_only=True, tag=True):
    """The engine process ended without being asked to."""

    returncode: int | None
    """As ``subprocess`` gives it: negative for a signal."""
    error: str
    """One sentence."""


EngineEvent = Union[  # noqa: UP007
    Hello, Ready, EngineFailed, Planned, Memory, Busy, Logged, EngineDied
]
"""Every event that does not belong to a run."""

Event = Union[RunEvent, EngineEvent]  # noqa: UP007
