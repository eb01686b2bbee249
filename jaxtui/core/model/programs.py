"""The stages of a case in JAX and XLA; it is compiled and never run."""

from __future__ import annotations

from typing import Literal

import msgspec

from jaxtui.core.model.base import Record
from jaxtui.core.model.cases import Case, Peak

Bound = Literal["compute", "bandwidth"]
"""The limit of a call's speed."""


class Fusion(Record, frozen=True, kw_only=True):
    """Operations that XLA made one kernel of."""

    name: str
    kind: str
    """XLA's word for how it is computed: ``kLoop``, ``kInput``, ``kOutput`` …"""
    operations: dict[str, int]
    """The number of each operation inside, the most frequent first; without those that
    only name or rearrange values."""


class Exchanged(Record, frozen=True, kw_only=True):
    """A collective that XLA put into the program of each device."""

    name: str
    kind: str
    """XLA's word: ``all-reduce``, ``all-gather``, ``collective-permute`` …"""
    bytes: int
    """Bytes of the largest buffer of one device: reduced, gathered or sent."""
    groups: int | None
    """The number of groups that work side by side; ``None`` where XLA's text is not
    known."""
    participants: int | None
    """Devices of each group."""
    replica_groups: str
    """The groups as XLA writes them, by place in the mesh."""


class ProgramMemory(Record, frozen=True, kw_only=True):
    """Bytes of device memory that one call needs, by XLA's ``memory_analysis``."""

    arguments_bytes: int
    output_bytes: int
    temporaries_bytes: int
    aliased_bytes: int
    """Bytes of the output that lie in memory of the arguments."""
    program_bytes: int
    """The compiled program itself."""
    peak_bytes: int | None
    """Bytes at the worst moment; ``None`` where this jax does not say."""
    limit_bytes: float | None = None
    """Memory of one JAX device; ``None`` for a kind that the table does not have."""
    limit_source: str = ""


class Program(Record, frozen=True, kw_only=True):
    """The facts about a compiled program; nothing was run."""

    kernels: int | None
    """Instructions of the entry computation that do something; ``None`` where the
    program cannot be read."""
    instructions: dict[str, int] = msgspec.field(default_factory=dict)
    """The number of each kind, the most frequent first."""
    fusions: tuple[Fusion, ...] = ()
    """The fusions, those in the bodies of loops included."""
    collectives: tuple[Exchanged, ...] = ()
    """The collectives, those in the bodies of loops and inside of fusions included."""
    xla_flops: float | None = None
    xla_bytes: float | None = None
    xla_transcendentals: float | None = None
    """XLA's ``cost_analysis``; ``None`` where it does not say, which it does not of
    what it counts none of."""
    memory: ProgramMemory | None = None


LIMIT_SECONDS = 600.0
"""Until tracing or compiling is given up; what is large compiles for minutes."""


class Inspection(Record, frozen=True, kw_only=True, tag=True):
    """Ask what becomes of a case whose mode is ``jit``, ``eager`` or ``pallas``."""

    case: Case
    limit_seconds: float = LIMIT_SECONDS
    """Without a sign of life, after which its engine is ended."""


class EagerStep(Record, frozen=True, kw_only=True):
    """A step of the op when it runs op by op: a program of its own."""

    name: str
    """The name of the primitive, or of the jitted function that it calls."""
    program: Program


class Inspected(Record, frozen=True, kw_only=True, tag=True):
    """The result of an inspection."""

    case: Case
    """The case, with the size and dtype that the arguments of a user's function
    have."""
    device_kind: str
    trace_seconds: float
    lower_seconds: float
    compile_seconds: float
    """Each a single observation, cold; of an eager case the sums over its steps."""
    flops: float | None
    """Flops by the op's own formula; ``None`` for an op that only moves data, and for a
    user's function."""
    bytes: float | None
    """Ideal traffic: every input read once, every result written once; ``None`` for a
    user's function."""
    program: Program
    """The compiled program; of an eager case the sums over its steps."""
    peak: Peak | None = None
    """The peak of the device; ``None`` for a kind that the table lacks."""
    warm_up_seconds: float | None = None
    """A throw-away compile before, for a TPU that is not here."""
    steps: tuple[EagerStep, ...]
    """The programs of the op without ``jit``, each compiled alone; empty for Pallas, or
    where a step cannot be compiled alone."""
    jaxpr: str
    stablehlo: str
    hlo: str
    """Optimised, as XLA prints it; of an eager case one after the other."""

    @property
    def eager_kernels(self) -> int | None:
        """The kernels of all steps together, where all of them are known."""
        counts = [step.program.kernels for step in self.steps]
        if not counts:
            return None
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def bound(self) -> tuple[float | None, Bound | None]:
        """Seconds that no call can beat, and what forbids it; ``None`` without peaks.

        The roofline (Williams, Waterman and Patterson, 2009): a call takes at least its
        flops over the peak rate, and at least its ideal traffic over the bandwidth,
        because its arguments and its result live in device memory.
        """
        times: list[tuple[float, Bound]] = []
        if self.peak and self.flops and self.peak.flops_per_second:
            times.append((self.flops / self.peak.flops_per_second, "compute"))
        if self.peak and self.bytes and self.peak.bytes_per_second:
            times.append((self.bytes / self.peak.bytes_per_second, "bandwidth"))
        return max(times, default=(None, None))
