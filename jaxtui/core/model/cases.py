"""The requested work: ops, cases, experiments, and the plan for them."""

from __future__ import annotations

from typing import Literal

from jaxtui.core.model.base import (
    COMPILED_MODES,
    HOST_MODES,
    USUAL_MODES,
    Inputs,
    Mode,
    Precision,
    Record,
)
from jaxtui.core.model.machine import members
from jaxtui.core.model.mesh import MESH, mesh_of, mesh_text
from jaxtui.core.model.own import ARGUMENTS, short_name
from jaxtui.core.model.remark import Fact, Remark

Arithmetic = Literal["flops", "moves", "uncounted"]
"""The arithmetic of an op: operations that jaxtui counts, none because data are only
moved, or operations that nobody counts."""

BUDGET_SECONDS, BUDGET_SECONDS_PER_CASE = 10.0, 1.0
"""Seconds of measuring, unless a budget was typed: rounds that span six seconds need
them."""

BESIDE_SECONDS = {"host": 0.5, "cpu": 1.0}
ACCELERATED_SECONDS = 3.0
"""About what inputs, compile, copies and check of a case take, by where it runs, until
the run itself tells: those of a product of 8192 take 3 s on an H100."""


COPY_TO = "copy_to"
"""The op of a case that copies from its device to another one, which its parameter
``to`` names; its size is in bytes."""


class OpInfo(Record, frozen=True, kw_only=True):
    """An op of the catalogue, described without JAX."""

    name: str
    summary: str
    """A plain sentence."""
    size_means: str
    """The quantity that the size counts, e.g. ``n of n×n``."""
    dtypes: tuple[str, ...]
    flops: str
    """The formula for people, in words of ``n``, e.g. ``2 n³``; empty where XLA
    counts them."""
    bytes: str
    minimum: int
    default: int
    maximum: int
    """Sensible range of sizes; a larger one is allowed where memory is."""
    takes_precision: bool = False
    modes: tuple[Mode, ...] = USUAL_MODES
    """The modes that it has: ``pallas`` and ``tensorflow`` where it has that form."""
    own: bool = False
    """A function whose arguments decide about size and dtype; it has no formulas."""
    arithmetic: Arithmetic = "flops"
    largest: int | None = None
    """The largest size that can be; ``None`` where memory alone limits it."""
    collective: bool = False
    """True if it needs several devices at once; its size is in bytes."""

    @classmethod
    def of_function(cls, name: str, summary: str) -> OpInfo:
        """A function of a file, of which only its factory knows more."""
        return cls(
            name=name,
            summary=summary,
            size_means="its factory's argument",
            dtypes=(),
            flops="",
            bytes="",
            minimum=0,
            default=0,
            maximum=0,
            own=True,
        )


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

    def __hash__(self) -> int:
        # A dict has no hash; equal cases have equal texts of it.
        params = sorted((self.params or {}).items(), key=lambda item: item[0])
        rest = (self.precision, self.device, self.mode, self.inputs, str(params))
        return hash((self.op, self.size, self.dtype, *rest))

    @property
    def on_host(self) -> bool:
        """True if NumPy or TensorFlow runs it, and no device of JAX."""
        return self.mode in HOST_MODES

    @property
    def on_mesh(self) -> bool:
        """True if a mesh was typed for it."""
        return MESH in (self.params or {})

    @property
    def target(self) -> str:
        """The device that ``copy_to`` copies to; empty for any other op."""
        return str((self.params or {}).get("to", "")) if self.op == COPY_TO else ""

    @property
    def platform(self) -> str:
        """``cpu``, ``gpu``, ``tpu``; ``host`` where no device of JAX runs it."""
        return self.device.partition(":")[0]

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its label."""
        if self.target:
            return self.op, str(self.size), "on", self.device, "to", self.target
        hosted = self.inputs == "host" and not self.on_host
        words = (
            short_name(self.op),
            # A user's function may have no size, and no dtype before it has run.
            str(self.size) if self.size else "",
            self.dtype,
            "" if self.precision == "default" else self.precision,
            self.mode,
            "on",
            self.device,
            f"mesh {mesh_text(self.params)}" if self.on_mesh else "",
            "host inputs" if hosted else "",
        )
        return tuple(filter(None, words))

    @property
    def label(self) -> str:
        """The case in one line, as it is written in tables and messages."""
        return " ".join(self.words)


def refusal(case: Case, info: OpInfo) -> Remark | None:
    """Return why a case cannot be, whatever runs it; ``None`` if it can. Only the
    engine knows what a device lacks, and whether there is room.
    """
    facts: dict[str, Fact] = {"op": short_name(case.op)}
    if not info.own and case.dtype not in info.dtypes:
        facts |= {"dtype": case.dtype, "dtypes": info.dtypes}
        return Remark("dtype-missing", facts, "error")
    if case.mode not in info.modes:
        facts |= {"mode": case.mode, "modes": info.modes}
        return Remark("mode-missing", facts, "error")
    if (remark := _group_refusal(case, info)) is not None:
        return remark
    if info.own:
        return None
    if case.size < info.minimum:
        facts |= {"size": case.size, "least": info.minimum, "means": info.size_means}
        return Remark("size-too-small", facts, "error")
    if info.largest is not None and case.size > info.largest:
        facts |= {"size": case.size, "most": info.largest}
        return Remark("size-too-large", facts, "error")
    return None


def _group_refusal(case: Case, info: OpInfo) -> Remark | None:
    """Refuse what JAX would run in another way than was asked: whole, on fewer
    devices, or on one alone.
    """
    count = len(members(case.device))
    facts: dict[str, Fact] = {"op": short_name(case.op), "device": case.device}
    typed = str((case.params or {}).get(ARGUMENTS, ""))
    if info.own and not case.on_host:
        spread = case.on_mesh or count > 1 or "@" in typed
        if spread and not (case.on_mesh and typed):
            return Remark("group-own", facts, "error")
    if case.on_mesh or info.collective:
        mesh = mesh_of(case.params, count)
        facts |= {"mesh": mesh.text, "needed": mesh.devices, "count": count}
        if mesh.devices != count:
            return Remark("mesh-misfit", facts, "error")
        if info.collective and mesh.participants < 2:
            return Remark("collective-alone", facts, "error")
    elif count == 1:
        return None
    if case.mode not in COMPILED_MODES or case.inputs != "device":
        facts |= {"mode": case.mode, "inputs": case.inputs}
        return Remark("group-mode", facts, "error")
    return None


class Experiment(Record, frozen=True, kw_only=True, tag=True):
    """An ordered set of cases that take turns within one time budget."""

    cases: tuple[Case, ...]
    budget_seconds: float | None = None
    """Seconds for the turns of all cases; ``None`` means the default. Import, inputs,
    compile and checks come on top of it."""
    target_half_width: float = 0.03
    """Stop a case when its interval is this narrow, relative to the median;
    0 samples until the budget ends."""
    keep_samples: bool = False
    """Return every single sample with the measurement."""
    seed: int = 0
    processes: int = 1
    """The number of fresh engines that time each case, one after the other.

    One unless it was typed. Two cases of a product in five processes, each with its two
    seconds, took 1.46 times as long as in one (26 and 18 s, 24 and 16 s on two busy
    cores); the start of an engine takes 0.6 to 0.9 s on a quiet CPU and several times
    that on a busy one, and an accelerator is let go and taken again. Five processes are
    sure to 94 % only. That earlier runs were others costs nothing to say."""

    @property
    def budget(self) -> float:
        """The budget in seconds: the larger of 10 s and 1 s per case and process unless
        given.
        """
        if self.budget_seconds is not None:
            return self.budget_seconds
        turns = len(self.cases) * self.processes
        return max(BUDGET_SECONDS, BUDGET_SECONDS_PER_CASE * turns)

    @property
    def share(self) -> float:
        """The budget of each process in seconds."""
        return self.budget / self.processes

    @property
    def preparation_seconds(self) -> float:
        """About what comes on top of the budget, in each process."""
        return sum(
            BESIDE_SECONDS.get(case.platform, ACCELERATED_SECONDS)
            for case in self.cases
        )


class Peak(Record, frozen=True, kw_only=True):
    """The published peak of a device in a dtype, with its source."""

    flops_per_second: float | None
    bytes_per_second: float | None
    source: str
    """The publication, as it is cited."""
    basis: Remark | None = None
    """The rule by which the figure of a device follows from that of its chip."""


class Failure(Record, frozen=True, kw_only=True):
    """The reason why a case has no trustworthy number."""

    case: Case
    remark: Remark
    estimated_seconds: float | None = None
    """Seconds that a call would take, where that is why it was not run."""


class Recipe(Record, frozen=True, kw_only=True):
    """The parts of plain Python that does a case."""

    modules: tuple[str, ...]
    """The names that these texts use for modules."""
    x64: bool = False
    """JAX's 64 bits are switched on for it."""
    function: str
    """The source of the op's form, or the lines that import a file as ``own``."""
    arguments: tuple[str, ...]
    """Lines that define ``args``."""
    call: str
    """An expression: what is called with ``args``."""
    wait: str = ""
    """An expression: the function that waits for a result."""
    tree: bool = False
    """True for a function of a file, whose result may be a tree of arrays."""


class PlannedCase(Record, frozen=True, kw_only=True):
    """The needs of a case, before anything is allocated."""

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
    recipe: Recipe | None = None
    """The recipe without jaxtui, where requested and a template fits."""

    @classmethod
    def refused(cls, case: Case, remark: Remark) -> PlannedCase:
        """Return a case that cannot run, with the reason."""
        return cls(
            case=case,
            memory_bytes=0,
            host_memory_bytes=0,
            flops=None,
            bytes=None,
            problem=Failure(case=case, remark=remark),
        )


class Plan(Record, frozen=True, kw_only=True):
    """The answer to "what would this experiment do?"."""

    cases: tuple[PlannedCase, ...]
    budget_seconds: float
    grouped: bool = False
    """True when memory is short, so that sizes run one after another."""
