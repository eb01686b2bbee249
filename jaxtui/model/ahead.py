"""Compiling for a TPU that is not here: what is asked of the process, what it says."""

from __future__ import annotations

from typing import Literal, Union

import msgspec

from jaxtui.model.base import Record
from jaxtui.model.cases import Case, Failure, OpInfo, Peak, Recipe
from jaxtui.model.machine import Device
from jaxtui.model.programs import ProgramMemory
from jaxtui.model.roofs import RoofKind

LIBTPU_DEFAULTS = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5litepod-8",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}
"""What libtpu would otherwise ask a metadata server (half a minute per question where
there is none), print warnings about, or lock for one process of the machine."""

Stage = Literal["start", "topology", "inputs", "warm-up", "trace", "lower", "compile"]
"""What the process does, in this order; ``inputs`` for a function of a file."""


class Topology(Record, frozen=True, kw_only=True):
    """A TPU topology, in the words of ``jax.experimental.topologies``."""

    name: str
    """As libtpu takes it: ``v5e:2x4``, chips per dimension."""
    options: dict[str, int | str | tuple[int, ...]] = msgspec.field(
        default_factory=dict
    )
    """More arguments of ``get_topology_desc``, e.g. ``chip_config_name``."""

    @property
    def label(self) -> str:
        """Name and options as they can be typed: ``v5e:2x4,num_slices=2``."""
        pairs = (f",{key}={_typed(value)}" for key, value in self.options.items())
        return self.name + "".join(pairs)


def _typed(value: int | str | tuple[int, ...]) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


class Compiled(Record, frozen=True, kw_only=True):
    """An op compiled for one device of a topology; nothing was run."""

    case: Case
    device_kind: str
    warm_up_seconds: float
    """A throw-away compile before: what the process pays once."""
    trace_seconds: float
    lower_seconds: float
    compile_seconds: float
    flops: float | None
    """By the op's own formula; ``None`` for an op that only moves data, and for a
    function of a file."""
    bytes: float | None
    """Ideal traffic: every input read once, every result written once."""
    xla_flops: float | None
    xla_bytes: float | None
    xla_transcendentals: float | None
    """XLA's ``cost_analysis``; ``None`` where it does not say."""
    memory: ProgramMemory | None
    peak: Peak | None
    """What one device can do at most; ``None`` for a kind that the table lacks."""
    bound_seconds: float | None
    """No call takes less: the larger of flops over the peak rate and bytes over the
    bandwidth, as far as the peaks are known."""
    bound_by: RoofKind | None
    kernels: int | None
    """Instructions of the entry computation that do something."""
    instructions: dict[str, int]
    """How many of each kind, the most frequent first."""
    hlo: str | None = None
    """The optimised HLO, where it was asked for."""


# Requests.


class DescribeRequest(Record, frozen=True, kw_only=True, tag="Describe"):
    """Ask for the devices of a topology; answered by ``AheadDescribed``."""

    topology: Topology


class CompileRequest(Record, frozen=True, kw_only=True, tag="Compile"):
    """Ask for a case to be compiled; answered by ``AheadCompiled``."""

    topology: Topology
    case: Case
    hlo: bool = False


class CodeRequest(Record, frozen=True, kw_only=True, tag="Code"):
    """Ask for plain JAX that compiles a case; answered by ``AheadCode``."""

    topology: Topology
    case: Case


AheadRequest = Union[DescribeRequest, CompileRequest, CodeRequest]  # noqa: UP007


# Answers.


class AheadHello(Record, frozen=True, kw_only=True, tag=True):
    """The process is there; nothing heavy has been imported."""

    libtpu: str | None
    """The version of libtpu; ``None`` where it is not installed."""


class AheadReady(Record, frozen=True, kw_only=True, tag=True):
    """JAX is imported; a request is awaited."""

    jax: str
    jaxlib: str
    ops: tuple[OpInfo, ...]


class AheadDoing(Record, frozen=True, kw_only=True, tag=True):
    """Something began."""

    stage: Stage


class AheadTook(Record, frozen=True, kw_only=True, tag=True):
    """Something is done."""

    stage: Stage
    seconds: float


class AheadDescribed(Record, frozen=True, kw_only=True, tag=True):
    """The devices of a topology, in the order of libtpu."""

    devices: tuple[Device, ...]


class AheadCompiled(Record, frozen=True, kw_only=True, tag=True):
    """The case is compiled."""

    compiled: Compiled


class AheadCode(Record, frozen=True, kw_only=True, tag=True):
    """What plain JAX needs to compile the case; ``jaxtui.scripts`` joins it."""

    case: Case
    recipe: Recipe


class AheadUnavailable(Record, frozen=True, kw_only=True, tag=True):
    """JAX or libtpu cannot be used."""

    error: str
    detail: str = ""


class AheadRefused(Record, frozen=True, kw_only=True, tag=True):
    """libtpu has no such topology, or the op no such case."""

    error: str
    detail: str = ""
    """The original text, kept whole."""


class AheadFailed(Record, frozen=True, kw_only=True, tag=True):
    """The case cannot be compiled."""

    failure: Failure


AheadAnswer = Union[  # noqa: UP007
    AheadHello,
    AheadReady,
    AheadDoing,
    AheadTook,
    AheadDescribed,
    AheadCompiled,
    AheadCode,
    AheadUnavailable,
    AheadRefused,
    AheadFailed,
]
