"""The cold path of one case: from inputs to something that can be called and timed.

Each clock of the cold path is a single observation. trace, lower and compile are cold
only for a function object that JAX has not seen (its caches are keyed on the function),
and eager kernels only after ``jax.clear_caches()``.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Generator, Hashable, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol, TypeVar

import jax
import msgspec
import numpy as np

from jaxtui.measure import inputs, session, tensorflow_numpy, transfers
from jaxtui.measure.clocks import ARRAY_LOOPS, Call, Loops
from jaxtui.measure.ops.arguments import Array
from jaxtui.measure.ops.base import JaxForm, Op
from jaxtui.measure.probe import probe
from jaxtui.measure.transfers import Transfer
from jaxtui.measure.x64 import enable_x64
from jaxtui.model import (
    COMPILED_MODES,
    Case,
    Phase,
    PhaseMeasured,
    Phases,
    PhaseStarted,
    RunEvent,
)

Step = Callable[[], Transfer]
"""Does one phase and says how long it took."""


@dataclass(slots=True)
class Executable:
    """A case made ready to be timed, and what was seen on the way."""

    case: Case
    call: Call
    args: tuple[Any, ...]
    scope: Callable[[], AbstractContextManager[Any]] = ExitStack
    """The contexts in which calls run: x64 and default device."""
    phases: Phases = field(default_factory=Phases)
    zero_copy: tuple[str, ...] = ()
    """The phases that copied nothing."""
    result: Any = None
    """What the first call returned, on the host: an array; of a pytree its arrays."""
    loops: Loops = ARRAY_LOOPS
    """The loops that suit what it returns."""
    cached_compile: bool = False
    compiled_flops: float | None = None
    """XLA's count of flops and transcendentals; ``None`` where nothing was compiled."""
    block_bytes: int = 0
    """The largest block of memory that a call asks for, as far as is known: a result,
    or what a compiled program needs meanwhile."""
    kernels: int = 1
    """Computations that one call puts in flight."""
    interpreted: bool = False
    """A kernel that ran in Pallas' interpret mode, for want of a compiler."""


class ColdPath(Protocol):
    """The phases of a mode, to be run in order, once."""

    executable: Executable

    def steps(self) -> Iterable[tuple[Phase, Step]]:
        """Each phase with what does it."""


def prepare(index: int, path: ColdPath) -> Generator[RunEvent, None, Executable]:
    """Run a cold path; yields the start and the clock of each phase as it happens."""
    executable = path.executable
    for phase, step in path.steps():
        yield PhaseStarted(index=index, phase=phase)
        with executable.scope():
            seconds, aliased = step()
        phases = msgspec.structs.replace(executable.phases, **{phase: seconds})
        executable.phases = phases
        if aliased:
            executable.zero_copy += (phase,)
        yield PhaseMeasured(
            index=index, phase=phase, seconds=seconds, zero_copy=aliased
        )
    return executable


_Made = TypeVar("_Made")


class InputPool:
    """Inputs of a group of cases, made once: the modes of a case share them."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._others: dict[Hashable, Any] = {}
        self._host: dict[tuple[str, int, str], tuple[Array, ...]] = {}
        self._device: dict[tuple[str, int, str, str], tuple[jax.Array, ...]] = {}

    def host(self, op: Op, case: Case) -> tuple[Array, ...]:
        """NumPy arrays in the dtype of the case."""
        key = (case.op, case.size, case.dtype)
        if key not in self._host:
            made = inputs.host_inputs(op, case.size, case.dtype, self._seed)
            self._host[key] = made
        return self._host[key]

    def resident(self, op: Op, case: Case, device: jax.Device) -> tuple[jax.Array, ...]:
        """The same arrays committed to a device."""
        key = (case.op, case.size, case.dtype, case.device)
        if key not in self._device:
            arrays = jax.device_put(list(self.host(op, case)), device)
            self._device[key] = tuple(jax.block_until_ready(arrays))
        return self._device[key]

    def once(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """Other inputs, made by whoever asks for them first."""
        if key not in self._others:
            self._others[key] = make()
        made: _Made = self._others[key]
        return made


class NumpyPath:
    """NumPy has one cold phase: its first call."""

    def __init__(self, case: Case, op: Op, seed: int) -> None:
        args = inputs.numpy_inputs(op, case.size, case.dtype, seed)
        self.executable = Executable(case=case, call=op.numpy, args=tuple(args))

    def steps(self) -> Iterable[tuple[Phase, Step]]:
        """Just the first call."""
        return (("first_call", lambda: first_call(self.executable, np.asarray)),)


class TensorFlowPath:
    """TensorFlow's one cold phase is its first call, too."""

    def __init__(self, case: Case, op: Op, seed: int) -> None:
        args = tensorflow_numpy.make_inputs(op, case.size, case.dtype, seed)
        self.executable = Executable(
            case=case,
            call=tensorflow_numpy.call(op),
            args=args,
            scope=tensorflow_numpy.scope,
        )

    def steps(self) -> Iterable[tuple[Phase, Step]]:
        """Just the first call."""
        return (("first_call", lambda: first_call(self.executable, np.asarray)),)


class StagedPath(abc.ABC):
    """What JAX does before the first result: transfer, stages, first call, fetch."""

    def __init__(
        self, case: Case, device: jax.Device, scope: Callable[[], ExitStack]
    ) -> None:
        self._case, self._device = case, device
        self._stage: Any = None
        self.executable = Executable(
            case=case,
            call=self._eager(),
            args=(),
            scope=scope,
            interpreted=case.mode == "pallas" and device.platform == "cpu",
        )

    @abc.abstractmethod
    def _hosts(self) -> tuple[Any, ...]:
        """The arguments as NumPy has them."""

    @abc.abstractmethod
    def _copies(self) -> Any:
        """Fresh copies of them, to be sent."""

    @abc.abstractmethod
    def _resident(self) -> tuple[Any, ...]:
        """The arguments on the device."""

    @abc.abstractmethod
    def _eager(self) -> Call:
        """What an eager case calls."""

    @abc.abstractmethod
    def _form(self) -> Callable[..., Any]:
        """A function that JAX has not seen."""

    def steps(self) -> Iterable[tuple[Phase, Step]]:
        """The phases of the mode; eager has no stages of its own."""
        stages: tuple[tuple[Phase, Step], ...] = (
            ("trace", self._trace),
            ("lower", self._lower),
            ("compile", self._compile),
        )
        return (
            ("transfer", self._transfer),
            *(stages if self._case.mode in COMPILED_MODES else ()),
            ("first_call", self._first),
            ("fetch", self._fetch),
        )

    def _transfer(self) -> Transfer:
        sent = transfers.to_device(self._copies, self._device)
        resident = self._resident()
        hosted = self._case.inputs == "host"
        self.executable.args = self._hosts() if hosted else resident
        return sent

    def _trace(self) -> Transfer:
        resident = self._resident()
        jitted = jax.jit(self._form())
        return self._timed(lambda: jitted.trace(*resident))

    def _lower(self) -> Transfer:
        return self._timed(self._stage.lower)

    def _compile(self) -> Transfer:
        hits = session.compile_events.hits
        taken = self._timed(self._stage.compile)
        self.executable.cached_compile = session.compile_events.hits > hits
        if self._case.mode == "jit":
            # Of a kernel XLA sees nothing, or one step of the loop that interprets it.
            self.executable.compiled_flops = counted_flops(self._stage)
        self.executable.call = self._stage
        needs = probe(self._stage.memory_analysis)
        self.executable.block_bytes = needs.temp_size_in_bytes if needs else 0
        return taken

    def _timed(self, stage: Callable[[], Any]) -> Transfer:
        start = perf_counter()
        self._stage = stage()
        return Transfer(perf_counter() - start, aliased=False)

    def _first(self) -> Transfer:
        if self._case.mode == "eager":
            self.executable.kernels = self._count_kernels()
            jax.clear_caches()
        return first_call(self.executable)

    def _count_kernels(self) -> int:
        return max(1, len(jax.make_jaxpr(self._form())(*self._resident()).eqns))

    def _fetch(self) -> Transfer:
        executable = self.executable
        return transfers.to_host(lambda: executable.call(*executable.args))


class JaxPath(StagedPath):
    """The cold path of an op of the catalogue."""

    def __init__(self, case: Case, op: Op, device: jax.Device, pool: InputPool) -> None:
        self._op, self._pool = op, pool
        super().__init__(case, device, lambda: jax_scope(case.dtype, device))

    def _hosts(self) -> tuple[Array, ...]:
        return self._pool.host(self._op, self._case)

    def _copies(self) -> list[Array]:
        return [inputs.misaligned_copy(host) for host in self._hosts()]

    def _resident(self) -> tuple[jax.Array, ...]:
        return self._pool.resident(self._op, self._case, self._device)

    def _eager(self) -> Call:
        return eager_call(self._op, self._case, self._device)

    def _form(self) -> JaxForm:
        return compiled_form(self._op, self._case, self._device)


def jax_scope(dtype: str, device: jax.Device) -> ExitStack:
    """x64 for float64 only, and eager results on the device of the case."""
    stack = ExitStack()
    stack.enter_context(enable_x64(dtype))
    stack.enter_context(jax.default_device(device))
    return stack


def compiled_form(op: Op, case: Case, device: jax.Device) -> JaxForm:
    """A fresh function for ``jax.jit``: the op's JAX form or its Pallas kernel."""
    if case.mode == "pallas":
        return op.bind_kernel(device.platform)
    return op.bind(case.precision)


def eager_call(op: Op, case: Case, device: jax.Device) -> Call:
    """The op by op call; host arguments are sent explicitly at every call.

    Without that, an operator between two NumPy arrays would run in NumPy.
    """
    sent = device if case.inputs == "host" else None
    return op.bind(case.precision, send_to=sent)


def counted_flops(compiled: Any) -> float | None:
    """XLA's count of flops plus transcendentals, 0 where it counts none.

    ``cost_analysis`` is a dict on every supported jax, but may be missing or raise on
    some plugins: then nothing is known.
    """
    try:
        analysis = compiled.cost_analysis()
    except (NotImplementedError, RuntimeError):
        return None
    if not isinstance(analysis, dict):
        return None
    return float(analysis.get("flops", 0.0) + analysis.get("transcendentals", 0.0))


def first_call(
    executable: Executable,
    finish: Callable[[Any], Any] = jax.block_until_ready,
    keep: Callable[[Any], Any] = np.asarray,
) -> Transfer:
    """Call it for the first time, and keep the result.

    Args:
        executable: Its ``result`` is set.
        finish: Waits for the result, and returns it.
        keep: Brings the result to the host, after the clock.
    """
    start = perf_counter()
    result = finish(executable.call(*executable.args))
    seconds = perf_counter() - start
    executable.result = keep(result)
    sizes = [array.nbytes for array in jax.tree.leaves(executable.result)]
    executable.block_bytes = max([executable.block_bytes, *sizes])
    return Transfer(seconds, aliased=False)
