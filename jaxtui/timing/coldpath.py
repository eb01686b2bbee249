"""The cold path of a workload: from its arguments to its first result, phase by phase.

Each clock of it is a single observation. trace, lower and compile are cold only for a
function object that JAX has not seen (its caches are keyed on the function), and eager
kernels only after ``jax.clear_caches()``. ``jit(f).trace → .lower → .compile`` keep the
phases apart; what is called afterwards is the jitted function itself, which finds that
executable and compiles nothing again (seen on jax 0.6.2, 0.10.2 and 0.12).

A "transfer" on CPU may be no transfer: ``device_put`` takes a 64-byte aligned NumPy
buffer as it is, ``np.asarray`` shows a device buffer as it is, and both ignore
``may_alias=False``. The second ``np.asarray`` of one ``jax.Array`` returns a cached
copy. So every repetition uses a new buffer, and pointers tell whether it was copied.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator
from functools import partial
from time import perf_counter
from typing import Any, Literal, NamedTuple

import jax
import msgspec
import numpy as np

from jaxtui.core.model import (
    COMPILED_MODES,
    Case,
    Phase,
    PhaseMeasured,
    PhaseStarted,
    Remark,
    RunEvent,
)
from jaxtui.core.stats import median
from jaxtui.tasks import devices, own, programs
from jaxtui.tasks.devices import probe
from jaxtui.tasks.errors import RefusedError
from jaxtui.tasks.failures import FAULTS
from jaxtui.tasks.host import available_host_bytes
from jaxtui.tasks.ops.arguments import Array
from jaxtui.tasks.own import dtype_of
from jaxtui.tasks.programs import Count, count, inner
from jaxtui.tasks.waiting import wait_for
from jaxtui.tasks.workload import Pool, Workload, arrays_of, of_case, on_devices, spread
from jaxtui.timing import runtime

REPETITIONS = 5
SECONDS_AT_MOST = 0.5
"""Fewer repetitions where one takes long."""


class Transfer(NamedTuple):
    seconds: float
    aliased: bool
    """True if nothing was copied: host and device share the memory."""


Step = Callable[[], Transfer]
"""Does one phase and says how long it took."""


def prepare(
    index: int, workload: Workload, *, cold: bool = True
) -> Generator[RunEvent, None, None]:
    """Run the cold path; yields the start and the clock of each phase as it happens.

    The phases of the workload, and what is fixed by its first result, are filled in.
    Unless ``cold``, JAX's caches are left alone before the first call of an eager case:
    clearing them costs every other function its compiled programs.
    """
    take_inputs(workload)
    yield from _timed(index, workload, steps(workload, cold=cold))


def time_copies(index: int, workload: Workload) -> Generator[RunEvent, None, None]:
    """Time the transfer of the arguments and the fetch of a result.

    That is left until nothing else is timed: it takes longer than most calls, and
    leaves memory behind. A copy for which there is no room, or that raises, leaves a
    remark in ``workload.uncopied``.
    """
    try:
        yield from _timed(index, workload, _copies(workload))
    except FAULTS as error:
        name = type(error).__name__
        workload.uncopied = Remark("uncopied", {"error": name}, detail=str(error))


def _timed(
    index: int, workload: Workload, steps: Iterable[tuple[Phase, Step]]
) -> Generator[RunEvent, None, None]:
    for phase, step in steps:
        yield PhaseStarted(index=index, phase=phase)
        with workload.scope():
            seconds, aliased = step()
        phases = msgspec.structs.replace(workload.phases, **{phase: seconds})
        workload.phases = phases
        if aliased:
            workload.zero_copy += (phase,)
        yield PhaseMeasured(
            index=index, phase=phase, seconds=seconds, zero_copy=aliased
        )


def begin(
    case: Case, group: tuple[jax.Device, ...], seed: int
) -> Generator[str, None, Workload]:
    """A case from nothing to its first result; each phase is named before it is done.

    Args:
        case: of JAX.
        group: its devices.
        seed: of its arguments.
    """
    function = None
    if (source := own.source(case.op)) is not None:
        yield "import"
        function = own.load(source, group[0])
    yield "inputs"
    workload = of_case(case, group, Pool(seed), function)
    if function is not None:
        forget()  # what the function has jitted itself is cold, too
    yield from make_ready(workload)
    return workload


def make_ready(workload: Workload) -> Iterator[Phase]:
    """The inputs and the cold path; each phase is named before it is done."""
    take_inputs(workload)
    for phase, step in steps(workload):
        yield phase
        with workload.scope():
            step()


def take_inputs(workload: Workload) -> None:
    """Make the arguments of a workload, where its calls are to find them."""
    if workload.device is not None:
        hosted = workload.case.inputs == "host"
        with workload.scope():
            workload.args = workload.hosts() if hosted else workload.resident()


def steps(workload: Workload, *, cold: bool = True) -> Iterator[tuple[Phase, Step]]:
    """The phases of a workload in their order; NumPy has its first call alone."""
    if workload.on_return:
        yield "first_call", lambda: _first_call(workload)
        return
    if workload.as_is is not None:
        yield from _steps_as_is(workload, workload.as_is, cold=cold)
        return
    if workload.case.mode in COMPILED_MODES:
        yield from _cold_stages(workload)
    elif cold:
        forget()
    yield "first_call", lambda: _first_call(workload)


def _copies(workload: Workload) -> Iterator[tuple[Phase, Step]]:
    """Yield the timed copies to the device and back; NumPy copies nothing."""
    if workload.on_return or workload.case.target:
        return
    # What a file has spread over devices nobody sends.
    if workload.devices == 1 and workload.copies is not None:
        workload.uncopied = _without_room(workload)
        if workload.uncopied is None:
            yield "transfer", lambda: _transfer(workload)
    # Of what lies on several devices each process has its own parts alone.
    if not workload.group:
        yield "fetch", lambda: _fetch(workload)


def _without_room(workload: Workload) -> Remark | None:
    """Return the reason why a second copy of the arguments does not fit, if so."""
    assert workload.device is not None
    leaves = arrays_of((workload.hosts(), workload.keywords))
    needed = sum(array.nbytes for array in leaves)
    here = devices.describe_device(workload.device)
    free = devices.free_bytes(here, available_host_bytes())
    needed *= 2 if workload.on_cpu else 1  # a fresh copy on the host, too
    if free is None or needed <= free:
        return None
    return Remark("uncopied", {"needed": needed, "free": free})


forgotten = 0
"""The number of times that JAX's compilation caches were cleared in this process."""


def forget() -> None:
    """Make JAX forget what it has compiled, so that a function is cold again."""
    global forgotten
    forgotten += 1
    _called.clear()
    jax.clear_caches()


_called: set[Hashable] = set()
"""The functions that files have jitted, with the shapes they were called with here."""


def _steps_as_is(
    workload: Workload, jitted: own.Jitted, *, cold: bool
) -> Iterator[tuple[Phase, Step]]:
    """The phases of what is jitted already, as far as it shows them.

    In another's process it may be compiled already, so none of them is known. In
    jaxtui's own JAX forgets what was called before with arguments of these shapes; for
    others it compiles anyway.
    """
    workload.warm = not cold
    shapes = [
        (array.shape, str(array.dtype))
        for array in arrays_of((workload.hosts(), workload.keywords))
    ]
    called = id(jitted.function), str(shapes)
    if cold and called in _called:
        forget()
    _called.add(called)
    stages = Stages(workload)
    if cold and stages.names:
        yield from _cold_stages(workload)
        yield "first_call", lambda: _first_call(workload)
        return
    yield "first_call", lambda: _first_call(workload)
    with workload.scope():
        for stage in stages.names[-2:]:  # lowering traces
            stages.run(stage)
        _look_at_program(workload, stages.compiled or inner(jitted.function))
        _count(workload)


Stage = Literal["trace", "lower", "compile"]


class Stages:
    """trace, lower and compile of what a workload calls, each timed once.

    Of what a file has jitted, ``traced``, ``lowered`` and ``compiled`` are what JAX has
    made of it, whatever a library wraps around that.
    """

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._latest: Any = None
        self.seconds: dict[Stage, float] = {}
        self.traced: Any = None
        self.lowered: Any = None
        self.compiled: Any = None

    @property
    def names(self) -> tuple[Stage, ...]:
        """The stages of the jitted function; none if it is compiled already."""
        jitted = self._workload.as_is
        if jitted is None or hasattr(jitted.function, "trace"):
            return ("trace", "lower", "compile")
        return ("lower", "compile") if hasattr(jitted.function, "lower") else ()

    def run(self, stage: Stage) -> float:
        """Do one, after those before it; returns its seconds."""
        first = self._latest is None
        step = self._first(stage) if first else getattr(self._latest, stage)
        start = perf_counter()
        self._latest = step()
        self.seconds[stage] = perf_counter() - start
        done = {"trace": "traced", "lower": "lowered", "compile": "compiled"}[stage]
        setattr(self, done, inner(self._latest))
        return self.seconds[stage]

    def _first(self, stage: Stage) -> Callable[[], Any]:
        workload = self._workload
        if (jitted := workload.as_is) is not None:
            args = (*jitted.args, *workload.args)
            keywords = {**jitted.keywords, **workload.keywords}
            return partial(getattr(jitted.function, stage), *args, **keywords)
        fresh = workload.jitted()
        workload.use(fresh)
        # Arguments that are sent from the host are traced where they will be.
        args = workload.resident()
        return partial(getattr(fresh, stage), *args, **workload.keywords)


def _cold_stages(workload: Workload) -> Iterator[tuple[Phase, Step]]:
    """Each stage, and what is to be seen of a workload after it."""
    stages = Stages(workload)

    def run(stage: Stage) -> Transfer:
        hits = len(runtime.cache_hits())
        seconds = stages.run(stage)
        if stage == "trace" and workload.own:
            # A library may not show it.
            jaxpr = getattr(stages.traced, "jaxpr", None)
            if jaxpr is not None:
                workload.see(jaxpr)
        elif stage == "lower" and workload.own:
            written = programs.counted_flops(stages.lowered) or 0.0
            workload.written_flops = max(workload.written_flops, written)
        elif stage == "compile":
            workload.cached_compile = len(runtime.cache_hits()) > hits
            _look_at_program(workload, stages.compiled)
            if workload.xla_count.is_rewritten and not workload.group:
                # Before fusion each operation has its own bytes: more than are moved.
                workload.xla_count = _as_written(workload)._replace(bytes=None)
        return Transfer(seconds, aliased=False)

    for stage in stages.names:
        yield stage, partial(run, stage)


def _look_at_program(workload: Workload, compiled: Any) -> None:
    """Record the counts of XLA's cost analysis."""
    if not workload.catalogued:
        workload.xla_count = count(compiled)
    if workload.case.mode == "jit":
        # Of a kernel XLA sees nothing, or one step of the loop that interprets it.
        workload.compiled_flops = programs.counted_flops(compiled)


def _transfer(workload: Workload) -> Transfer:
    assert workload.device is not None
    assert workload.copies is not None
    return to_device(workload.copies, workload.device)


def _count_kernels(workload: Workload) -> None:
    """Count the computations that an eager call of an op enqueues."""
    traced = workload.jitted().trace(*workload.resident(), **workload.keywords)
    workload.kernels = max(1, len(traced.jaxpr.eqns))


def _as_written(workload: Workload) -> Count:
    """XLA's count before it compiles, on CPU: plugins for TPU and GPU have none."""

    def shape_of(leaf: Any) -> Any:
        is_array = isinstance(leaf, (jax.Array, np.ndarray))
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if is_array else leaf

    def counted() -> Count:
        args, keywords = jax.tree.map(shape_of, (workload.args, workload.keywords))
        with jax.default_device(jax.devices("cpu")[0]):
            return count(workload.jitted().trace(*args, **keywords).lower())

    with workload.scope():
        return probe(counted) or programs.NOTHING


def _first_call(workload: Workload) -> Transfer:
    start = perf_counter()
    result = workload.call(*workload.args)
    workload.wait(result)
    seconds = perf_counter() - start
    if not workload.catalogued:
        workload.devices = max(workload.devices, spread(result))
    if workload.op is not None and workload.case.mode == "eager":
        _count_kernels(workload)
    _look_at(workload, result)
    if not (workload.catalogued or workload.on_return):
        workload.renew()
    return Transfer(seconds, aliased=False)


def _look_at(workload: Workload, result: Any) -> None:
    """Record what the first result fixes: how to wait for it, its dtype, its size."""
    if workload.case.mode == "tensorflow":
        result = np.asarray(result)
    arrays = list(arrays_of(result))
    if workload.own:
        workload.first = [weakref.ref(array) for array in on_devices(result)]
    if not workload.catalogued:
        _count(workload)
    if not workload.on_return:
        if not any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(result)):
            name = workload.case.op.rpartition(":")[2]
            raise RefusedError.of("no-jax-array", name=name)
        workload.wait = wait_for(result)
    workload.output_dtype = dtype_of(arrays)
    wanted_dtype, result_dtype = workload.case.dtype, workload.output_dtype
    if (
        wanted_dtype == "float64"
        and workload.op
        and np.dtype(result_dtype).itemsize < 8
    ):
        # JAX has silently computed in another precision.
        raise RefusedError.of("precision-lost", dtype=result_dtype)
    workload.result_bytes = sum(array.nbytes for array in arrays)


def _count(workload: Workload) -> None:
    """Take the work of a function of a file from XLA, where XLA counts all of it."""
    counted = workload.xla_count
    if workload.group:  # it is that of one device's program
        counted = workload.xla_count = counted.times(len(workload.group))
    if counted.is_whole:
        workload.flops, workload.bytes = counted.flops, counted.bytes
    if counted.flops is not None:
        workload.compiled_flops = counted.flops


def _fetch(workload: Workload) -> Transfer:
    return to_host(lambda: list(arrays_of(workload.call(*workload.args))))


def to_device(fresh: Callable[[], Any], device: jax.Device) -> Transfer:
    """Time ``device_put`` of all arguments at once, blocked on."""

    def once() -> tuple[float, bool]:
        hosts = fresh()
        start = perf_counter()
        arrays = jax.block_until_ready(jax.device_put(hosts, device))
        seconds = perf_counter() - start
        leaves = jax.tree.leaves(arrays), jax.tree.leaves(hosts)
        return seconds, all(map(shares_memory, *leaves))

    return _repeat(once)


def to_host(fresh: Callable[[], list[Any]]) -> Transfer:
    """Time ``np.asarray`` of arrays that were not looked at yet."""

    def once() -> tuple[float, bool]:
        arrays = jax.block_until_ready(fresh())
        start = perf_counter()
        hosts = [np.asarray(array) for array in arrays]
        seconds = perf_counter() - start
        return seconds, all(map(shares_memory, arrays, hosts))

    return _repeat(once)


def shares_memory(array: jax.Array, other: jax.Array | Array) -> bool:
    """Return whether a single-device array shares its memory with another array.

    False where there is no pointer to compare: of sharded arrays, typed keys and those
    of some plugins.
    """

    def pointer(holder: jax.Array | Array) -> int:
        if isinstance(holder, np.ndarray):
            return int(holder.ctypes.data)
        return int(holder.unsafe_buffer_pointer())

    return bool(probe(lambda: pointer(array) == pointer(other)))


def _repeat(once: Callable[[], tuple[float, bool]]) -> Transfer:
    seconds: list[float] = []
    aliased: list[bool] = []
    begin = perf_counter()
    for _ in range(REPETITIONS):
        copy_seconds, shared = once()
        seconds.append(copy_seconds)
        aliased.append(shared)
        # To make what is copied may take longer than to copy it.
        if perf_counter() - begin > SECONDS_AT_MOST:
            break
    return Transfer(median(seconds), all(aliased))
