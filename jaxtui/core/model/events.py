"""The events of a working engine: a core generator yields them, the wire wraps them."""

from __future__ import annotations

from typing import Literal, Union

from jaxtui.core.model.base import Phase, Record
from jaxtui.core.model.cases import Case, Experiment, Failure, OpInfo, Plan
from jaxtui.core.model.check import Check, CheckDoing, CheckDone, CheckRead
from jaxtui.core.model.hosts import HostLost, Joining
from jaxtui.core.model.loops import Loop, LoopMeasured, LoopSeen
from jaxtui.core.model.machine import Device, Holder, Host
from jaxtui.core.model.measurement import Measurement
from jaxtui.core.model.profile import Profile, Profiling
from jaxtui.core.model.programs import Inspected, Inspection
from jaxtui.core.model.remark import Remark
from jaxtui.core.model.roofs import Roofs, RoofsMeasured
from jaxtui.core.model.snippets import Snippet, SnippetShown, SnippetTimed

Ending = Literal["complete", "cancelled", "crashed"]
"""The end of a run."""

# Of a run.


class RunStarted(Record, frozen=True, kw_only=True, tag=True):
    """A run begins."""

    cases: tuple[Case, ...] = ()
    """The cases of an experiment; later events name them by index."""
    budget_seconds: float = 0.0


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
    """A turn of a case: at most 200 of its calls, and its figures so far."""

    index: int
    round: int
    """Counts from 1; 0 of the first calls, which the first round replaces."""
    calls: int
    """Calls in this turn; more than the points below when they were thinned out."""
    dispatch: tuple[float, ...]
    """Seconds, in the order of the calls; empty for NumPy."""
    ready: tuple[float, ...]
    ready_median: float
    """The median of all calls of this turn, seconds: the figure of the round."""
    dispatch_bins: dict[int, int] | None = None
    ready_bins: dict[int, int] | None = None
    """Calls in each bin of ``stats.bin_of``, where the points are not all of them: the
    points are extremes, and give no distribution."""
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
    """The progress of the run; sent between turns."""

    elapsed_seconds: float
    remaining_seconds: float
    """About: of an experiment what is left to prepare, to measure and to check."""
    doing: str
    """A code: the phase, ``sampling``, ``starting`` …"""
    about: str = ""
    """The name of what it is done to: a case, a part of a program, a device."""


class RunFinished(Record, frozen=True, kw_only=True, tag=True):
    """The last event of a run."""

    outcome: Ending
    elapsed_seconds: float


class WorkFailed(Record, frozen=True, kw_only=True, tag=True):
    """A work that is no experiment ended without its result."""

    remark: Remark


# Of the engine itself.


class Hello(Record, frozen=True, kw_only=True, tag=True):
    """The engine process is up; JAX's backend may still be starting."""

    pid: int
    ops: tuple[OpInfo, ...]


class Ready(Record, frozen=True, kw_only=True, tag=True):
    """The backend is up and the accelerator, if any, is held from now on."""

    host: Host
    devices: tuple[Device, ...]
    ops: tuple[OpInfo, ...]
    findings: tuple[Remark, ...] = ()
    """Findings about the machine, JAX's view included."""
    hosts: tuple[Host, ...] = ()
    """The host of each process, where there are several: ``host`` is the first
    of them."""


class Noticed(Record, frozen=True, kw_only=True, tag=True):
    """The engine's findings about the machine, before JAX was touched."""

    findings: tuple[Remark, ...]
    hardware: str = ""
    """The hardware that JAX is about to initialise, in words: ``8 TPU v5e chips``."""
    makers: tuple[str, ...] = ()
    """Its makers, as JAX names the platforms: ``tpu``, ``cuda``, ``rocm``."""
    tpu_chips: int = 0
    """Its TPU chips on this host; 0 where that is unknown."""


class Waiting(Record, frozen=True, kw_only=True, tag=True):
    """The engine has been starting for longer than usual; the client says so."""

    elapsed_seconds: float
    remark: Remark
    """The likely cause of the delay."""


class EngineFailed(Record, frozen=True, kw_only=True, tag=True):
    """The engine cannot serve; it exits after this."""

    remark: Remark
    """The reason; its code tells what to do about it."""
    holders: tuple[Holder, ...] = ()


class Planned(Record, frozen=True, kw_only=True, tag=True):
    """Answers a ``PlanRequest``; ``request`` is its number."""

    request: int
    plan: Plan


class Memory(Record, frozen=True, kw_only=True, tag=True):
    """Fresh ``memory_stats()``, by device name."""

    devices: dict[str, dict[str, int] | None]


class Logged(Record, frozen=True, kw_only=True, tag=True):
    """A line that XLA, libtpu or Python printed to the engine's fd 1 or 2."""

    line: str


class EngineDied(Record, frozen=True, kw_only=True, tag=True):
    """The engine process ended without being asked to; the next run starts another."""

    returncode: int | None
    """The exit status as in ``subprocess``: negative for a signal."""
    remark: Remark


RunEvent = Union[  # noqa: UP007  (msgspec builds its decoder from this at run time)
    RunStarted,
    ProcessWarmedUp,
    CaseStarted,
    PhaseStarted,
    PhaseMeasured,
    Sampled,
    CaseMeasured,
    CaseFailed,
    LoopSeen,
    LoopMeasured,
    SnippetTimed,
    SnippetShown,
    CheckDoing,
    CheckRead,
    CheckDone,
    Inspected,
    RoofsMeasured,
    Profile,
    WorkFailed,
    Progress,
    RunFinished,
]
"""Every event that a run yields."""

EngineEvent = Union[  # noqa: UP007
    Hello,
    Noticed,
    Waiting,
    Ready,
    Joining,
    HostLost,
    EngineFailed,
    Planned,
    Memory,
    Logged,
    EngineDied,
]
"""Every event that does not belong to a run."""

Event = Union[RunEvent, EngineEvent]  # noqa: UP007

Work = Union[  # noqa: UP007
    Experiment, Loop, Snippet, Check, Inspection, Roofs, Profiling
]
"""The kinds of work that an engine runs."""
