"""The record of what is timed: an op, a function of a file, or a chain.

It says what is called with which arguments, how its result is waited for, how much work
a call is, and what the result is compared with. ``coldpath`` makes it callable, and
``turns`` times it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from jaxtui.core.model import COMPILED_MODES, COPY_TO, Case, Peak, Phases
from jaxtui.core.model.mesh import mesh_of
from jaxtui.core.model.own import WHOLE
from jaxtui.core.model.remark import Remark
from jaxtui.tasks import (
    accuracy,
    devices,
    inputs,
    ops,
    own,
    programs,
    settings,
    tensorflow_numpy,
)
from jaxtui.tasks.accuracy import Accuracy
from jaxtui.tasks.errors import RefusedError
from jaxtui.tasks.ops.base import JaxForm, Op
from jaxtui.tasks.ops.collectives import Collective, Exchange, device_mesh
from jaxtui.tasks.own import (
    WIDE,
    Arguments,
    CopiedArguments,
    Function,
    Jitted,
    dtype_of,
    is_key,
    specs,
)
from jaxtui.tasks.programs import NOTHING, Count, Product
from jaxtui.tasks.settings import enable_x64
from jaxtui.tasks.waiting import Call, Wait, no_wait, wait_for_array, wait_for_tree
from jaxtui.xla import peaks

Scope = Callable[[], AbstractContextManager[Any]]
"""Makes the contexts in which calls run: x64, default device."""

_Made = TypeVar("_Made")


class Together:
    """A jitted function, called once on each device with arguments of its own."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, *device_args: tuple[Any, ...]) -> list[Any]:
        function = self._function
        return [function(*args) for args in device_args]

    def trace(self, *device_args: tuple[Any, ...]) -> _Parts:
        return _Parts([self._function.trace(*args) for args in device_args])


class _Parts:
    """A stage of compiling for each device; asked for facts, it gives the first's."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self._parts = parts

    def lower(self) -> _Parts:
        return _Parts([part.lower() for part in self._parts])

    def compile(self) -> _Parts:
        return _Parts([part.compile() for part in self._parts])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parts[0], name)


class Pool:
    """Arguments of a group of cases, made once: the modes of a case share them."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._made: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        if key not in self._made:
            self._made[key] = make()
        value: _Made = self._made[key]
        return value


@dataclass(slots=True, kw_only=True)
class Workload:
    """A callable, its arguments, and everything measured about it.

    The fields from ``phases`` on are filled in by the cold path.
    """

    case: Case
    """The case; for a function of a file with the size and dtype of its arguments."""
    call: Call
    """The callable that a program calls: the jitted function once there is one."""
    device: jax.Device | None = None
    """``None`` on the host; the first of several."""
    group: tuple[jax.Device, ...] = ()
    """All of them, where a case runs on several."""
    args: Sequence[Any] = ()
    """Copies are in ``CopiedArguments`` where a call uses some of them up."""
    keywords: dict[str, Any] = field(default_factory=dict)
    """Arguments by name, which ``call`` has already."""
    wait: Wait = no_wait
    on_return: bool = False
    """True if the time of the return counts, whatever is waited for afterwards: NumPy
    is done then, and so is the stopwatch of a lesson's snippet."""
    scope: Scope = nullcontext
    fresh: Callable[[], Call] | None = None
    """Makes a function that JAX has not seen, to be traced."""
    as_is: Jitted | None = None
    """The function that its file has jitted, where that is what is timed."""
    static: dict[str, Any] = field(default_factory=dict)
    """The options of ``jax.jit`` for arguments that are no arrays."""
    remake: Callable[[], tuple[Any, ...]] | None = None
    """Makes the arguments anew, for calls that use them up."""
    hosts: Callable[[], tuple[Any, ...]] = tuple
    """The arguments as NumPy has them."""
    copies: Callable[[], Any] | None = None
    """Makes fresh copies of those, which a transfer cannot alias; ``None`` where there
    is nothing to send."""
    resident: Callable[[], tuple[Any, ...]] = tuple
    """The arguments on the device."""
    flops: float | None = None
    bytes: float | None = None
    """The work of one call, by the op's formulas or by XLA's count."""
    peak: Peak | None = None
    accuracy_of: Callable[[Any], Accuracy] | None = None
    """Holds a result against float64, or against NumPy; of the catalogue alone."""
    op: Op | None = None
    """``None`` for what is not of the catalogue, and for a collective."""
    exchange: Exchange | None = None
    """The exchange of a collective."""
    own: bool = False
    """True for a function of a file."""

    phases: Phases = field(default_factory=Phases)
    zero_copy: tuple[str, ...] = ()
    """The phases that copied nothing."""
    uncopied: Remark | None = None
    """The reason why transfer or fetch were not timed."""
    output_dtype: str = ""
    cached_compile: bool = False
    compiled_flops: float | None = None
    """XLA's count of flops and transcendentals; ``None`` where nothing was compiled."""
    xla_count: Count = NOTHING
    """XLA's count of a function of a file."""
    first: Sequence[weakref.ref[jax.Array]] = ()
    """The arrays of the first result of a function of a file, which live as long as it
    keeps them."""
    product: Product | None = None
    """The largest product of a function of a file, as traced."""
    written_flops: float = 0.0
    """Flops that XLA should count for a function of a file, as traced and lowered."""
    result_bytes: int = 0
    """Bytes of all arrays of a result."""
    devices: int = 1
    """The number of devices that hold a function's arguments and result."""
    warm: bool = False
    """True if functions jitted in its file may be compiled already: no phase is
    cold."""
    kernels: int = 1
    """Computations that one call puts in flight."""

    def see(self, jaxpr: Any) -> None:
        """Take from a traced function of a file what it multiplies, and its peak."""
        self.product = programs.largest_product(jaxpr)
        if self.product is not None:
            self.written_flops = self.product.once
        if self.device is not None:
            peak = programs.peak(self.product, self.device.device_kind)
            self.peak = peaks.of_group(peak, max(1, len(self.group)))

    def jitted(self) -> Any:
        """A fresh function, to be traced or called; NumPy has none."""
        assert self.fresh is not None, "a workload of JAX can be traced"
        jitted = jax.jit(self.fresh(), **self.static)
        return Together(jitted) if self.group and self.op else jitted

    def use(self, jitted: Any) -> None:
        """Call this."""
        self.call = partial(jitted, **self.keywords) if self.keywords else jitted

    def renew(self) -> None:
        """After a call: see to it that the next one has arguments as well."""
        used = own.used_up(tuple(self.args))
        if used and self.remake is not None:
            originals = self.remake()
            self.args, self.hosts = CopiedArguments(originals, used), lambda: originals

    @property
    def call_bytes(self) -> int:
        """Bytes that each queued call needs: its result, and argument copies."""
        copied = self.args.nbytes if isinstance(self.args, CopiedArguments) else 0
        return self.result_bytes + copied

    @property
    def catalogued(self) -> bool:
        """True if jaxtui knows the op's work and the right result."""
        return bool(self.op or self.exchange or self.case.target)

    @property
    def queues(self) -> bool:
        """True if calls can be in flight together.

        XLA for the CPU runs every part of a program of several devices on one pool of
        threads. The parts wait for each other there, and those of a few programs fill
        it: all of them wait for ever, and XLA aborts the process after 40 s.
        """
        if self.case.target:  # a queue would need memory for many copies
            return False
        return not (self.on_cpu and self.devices > 1 and self.op is None)

    @property
    def on_cpu(self) -> bool:
        """True if the device is this machine's CPU."""
        return self.device is not None and self.device.platform == "cpu"

    @property
    def interpreted(self) -> bool:
        """True for a Pallas kernel on a platform that has no compiler for it."""
        return self.case.mode == "pallas" and self.on_cpu

    @property
    def guarded(self) -> bool:
        """True if resident arguments should make every transfer needless."""
        return self.case.mode in COMPILED_MODES and self.case.inputs == "device"


def of_case(
    case: Case,
    group: tuple[jax.Device, ...],
    pool: Pool,
    function: Function | None = None,
) -> Workload:
    """Return the workload of a case.

    Args:
        case: which one.
        group: the devices of the case; none of one that NumPy runs on the host.
        pool: of inputs that cases share.
        function: what ``own.load`` gives for a case that is not of the catalogue.

    Raises:
        ImportError: TensorFlow is missing or broken.
        KeyError: The op has no such mode.
        RefusedError: A function has no arguments, or not what the case can have.
    """
    if (collective := ops.COLLECTIVES.get(case.op)) is not None:
        return of_collective(case, collective, group, pool.seed)
    device = group[0] if group else None
    if case.target and device is not None:
        return of_copy(case, device, pool)
    if function is None:
        several = group if len(group) > 1 else ()
        return of_op(case, ops.get(case.op), device, pool, several)
    mesh = group if case.on_mesh else ()
    return of_function(function, case, device, pool, mesh)


def of_op(
    case: Case,
    op: Op,
    device: jax.Device | None,
    pool: Pool,
    group: tuple[jax.Device, ...] = (),
) -> Workload:
    """An op of the catalogue, on a device or on each of a group at once.

    Raises:
        ImportError: TensorFlow is missing or broken.
        KeyError: The op has no such mode.
    """
    seed = pool.seed

    def hosts() -> tuple[Any, ...]:
        key = ("hosts", case.op, case.size, case.dtype)
        return pool.once(
            key, lambda: inputs.host_inputs(op, case.size, case.dtype, seed)
        )

    def on(place: jax.Device | None) -> tuple[Any, ...]:
        key = ("resident", case.op, case.size, case.dtype, place)
        return pool.once(key, lambda: send(hosts(), place))

    def resident() -> tuple[Any, ...]:
        return tuple(map(on, group)) if group else on(device)

    def accuracy_of(result: Any) -> Accuracy:
        rounds = device is not None and device.platform != "cpu"
        first, *other_results = map(np.asarray, result if group else [result])
        # Of the same arguments others have the same result, or they are checked, too.
        differing = [
            device_result
            for device_result in other_results
            if not np.array_equal(first, device_result)
        ]
        checks = (
            accuracy.check(
                op,
                case.dtype,
                case.size,
                hosts(),
                device_result,
                # Accelerators round the inputs of float32 products; CPUs do not.
                precision=settings.precision(case) if rounds else "highest",
            )
            for device_result in (first, *differing)
        )
        return max(checks, key=lambda check: (not check.ok, check.error or 0.0))

    times = max(1, len(group))
    flops, moved = op.flops(case.size, case.dtype), op.bytes(case.size, case.dtype)

    workload = Workload(
        case=case,
        call=op.numpy,
        device=device,
        group=group,
        devices=times,
        on_return=device is None,
        hosts=hosts,
        flops=None if flops is None else times * flops,
        bytes=times * moved,
        accuracy_of=accuracy_of,
        op=op,
    )
    if case.mode == "tensorflow":
        workload.args = tensorflow_numpy.make_inputs(op, case.size, case.dtype, seed)
        workload.call, workload.scope = (
            tensorflow_numpy.call(op),
            tensorflow_numpy.scope,
        )
    elif device is None:
        workload.args = inputs.numpy_inputs(op, case.size, case.dtype, seed)
    else:
        # Without sending them, NumPy's operators would compute on host arguments.
        sending = device if case.inputs == "host" else None
        workload.call = op.bind(case.precision, send_to=sending)
        workload.wait = wait_for_tree
        workload.scope = lambda: op_scope(case, device)
        workload.fresh = lambda: _compiled_form(op, case, device)
        workload.copies = lambda: [inputs.misaligned_copy(host) for host in hosts()]
        workload.resident = resident
        matrix = op.takes_precision
        peak = peaks.peak(
            device.device_kind, case.dtype, settings.precision(case), matrix=matrix
        )
        workload.peak = peaks.of_group(peak, times)
    return workload


def of_collective(
    case: Case, op: Collective, group: tuple[jax.Device, ...], seed: int
) -> Workload:
    """A collective of the catalogue; its size is then the one that it really has."""
    exchange = Exchange(op, case, group, seed)

    def accuracy_of(result: Any) -> Accuracy:
        exchange.wrong, sampled = exchange.count_wrong(result)
        return Accuracy(None, None, sampled, ok=not exchange.wrong)

    return Workload(
        case=msgspec.structs.replace(case, size=exchange.size),
        call=exchange.fresh(),
        device=group[0],
        group=group,
        devices=len(group),
        wait=wait_for_tree,
        # The mesh says where everything is.
        scope=nullcontext,
        fresh=exchange.fresh,
        resident=lambda: (exchange.argument(),),
        accuracy_of=accuracy_of,
        exchange=exchange,
    )


def of_copy(case: Case, source: jax.Device, pool: Pool) -> Workload:
    """``jax.device_put`` of an array from a device to another, into a fresh array.

    Raises:
        RefusedError: The devices share memory, and nothing is copied.
    """
    target = devices.find_own(case.target)
    held = pool.once(
        (COPY_TO, case.device, case.size),
        lambda: send((inputs.random_bytes(case.size, pool.seed),), source),
    )
    # Only CPU devices have one memory: elsewhere an address says nothing.
    if source.platform == target.platform == "cpu":
        arrived = jax.device_put(held[0], target).block_until_ready()
        if arrived.unsafe_buffer_pointer() == held[0].unsafe_buffer_pointer():
            raise RefusedError.of("nothing-copied")
    return Workload(
        case=case,
        call=partial(jax.device_put, device=target),
        device=source,
        wait=wait_for_array,
        resident=lambda: held,
        bytes=case.size,
    )


def of_function(
    function: Function,
    case: Case,
    device: jax.Device | None,
    pool: Pool,
    group: tuple[jax.Device, ...] = (),
) -> Workload:
    """A function of a file or a package, whose arguments are made now.

    Its size may be 0 and its dtype empty before. With a group it runs over a mesh of
    these devices.

    Raises:
        RefusedError: There are no arguments, or they are not what the case can have.
    """

    def scope() -> ExitStack:
        return own_scope(case, device)

    # What the file itself sets included.
    if case.mode in COMPILED_MODES:
        settings.check()

    def make_arguments() -> Arguments:
        with scope():
            arguments = own.make(function, case, pool.seed)
            if device is None:
                return arguments
            if group:
                return _sharded(case, group, arguments)
            return own.settle(function, case, arguments, device)

    if device is None:
        return _of_numpy_function(function, case, make_arguments(), scope)
    # Of each case its own: a call may change what it is given, or use it up.
    arguments = make_arguments()
    as_is = own.jitted(function.call) if case.mode == "jit" else None
    dtype = dtype_of(arguments.leaves)
    if not dtype and arguments.leaves and all(map(own.takes, arguments.leaves)):
        with scope():
            dtype = str(jnp.result_type(*arguments.leaves))
    case = msgspec.structs.replace(case, size=arguments.size, dtype=dtype)
    call = own.eager(function) if case.mode == "eager" else function.call

    def sending(*args: Any, **keywords: Any) -> Any:
        # NumPy's own operators would do the work on arguments that were not sent.
        return call(*jax.device_put(args, device), **jax.device_put(keywords, device))

    def copies() -> list[Any]:
        # The arguments as they are by then: a call may have used up the first ones.
        now = replace(arguments, args=there.hosts())
        return [own.to_host(leaf) for leaf in now.arrays]

    there = Workload(
        case=case,
        call=call,
        device=device,
        group=group,
        keywords=arguments.keywords,
        wait=wait_for_tree,
        scope=scope,
        fresh=lambda: own.fresh(replace(function, call=call)),
        as_is=as_is,
        static=own.static(arguments),
        remake=lambda: make_arguments().args,
        hosts=lambda: arguments.args,
        copies=copies if arguments.arrays else None,
        resident=lambda: arguments.args,
        own=True,
        # What it multiplies is seen when it is traced.
        peak=peaks.of_group(
            peaks.peak(device.device_kind, case.dtype, matrix=False),
            max(1, len(group)),
        ),
    )
    hosted = case.inputs == "host" and case.mode == "eager"
    there.use(sending if hosted else call)
    there.devices = spread([arguments.args, arguments.keywords])
    return there


def shardings(case: Case, group: Sequence[jax.Device]) -> Iterator[NamedSharding]:
    """Yield the sharding of each typed argument of a function over its mesh."""
    mesh = device_mesh(mesh_of(case.params, len(group)), tuple(group))
    for spec in specs(case):
        axes = (None if axis == WHOLE else axis for axis in spec.axes)
        yield NamedSharding(mesh, PartitionSpec(*axes))


def _sharded(
    case: Case, group: Sequence[jax.Device], arguments: Arguments
) -> Arguments:
    """Drawn arguments as arrays of the mesh; each process makes its own parts."""
    arrays = (
        jax.make_array_from_callback(host.shape, sharding, host.__getitem__)
        for host, sharding in zip(arguments.args, shardings(case, group), strict=True)
    )
    return replace(arguments, args=tuple(arrays))


def spread(tree: Any) -> int:
    """Return the number of devices that hold the arrays of a tree, at least one."""
    arrays = (leaf for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array))
    return max((len(array.sharding.device_set) for array in arrays), default=1)


def _of_numpy_function(
    function: Function, case: Case, arguments: Arguments, scope: Scope
) -> Workload:
    if function.numpy is None:
        raise RefusedError.of("no-numpy-form", name=function.name)
    args, keywords = jax.tree.map(for_numpy, (arguments.args, arguments.keywords))
    dtype = dtype_of(jax.tree.leaves((args, keywords)))
    settled = msgspec.structs.replace(case, size=arguments.size, dtype=dtype)
    there = Workload(
        case=settled,
        call=function.numpy,
        args=args,
        keywords=keywords,
        on_return=True,
        scope=scope,
        own=True,
    )
    there.use(function.numpy)
    return there


def for_numpy(leaf: Any) -> Any:
    """A copy of its own, because NumPy may change it; NumPy has no bfloat16."""
    if not own.is_array(leaf):
        return leaf
    leaf = np.asarray(leaf)
    return leaf.astype(np.float32) if leaf.dtype.kind == "V" else leaf.copy()


def send(hosts: tuple[Any, ...], device: jax.Device | None) -> tuple[Any, ...]:
    arrays: tuple[Any, ...] = jax.device_put(tuple(hosts), device)
    jax.block_until_ready(arrays)
    return arrays


def op_scope(case: Case, device: jax.Device) -> ExitStack:
    """x64 for float64 only, and eager results on the device of the case.

    A context costs every dispatch inside of it some tenths of a microsecond, so there
    is none that a plain program of this case would not need.
    """
    return _scope(wide=case.dtype == "float64", device=device)


def own_scope(case: Case, device: jax.Device | None) -> ExitStack:
    """64-bit types if a typed argument wants them, or a file by ``jax_enable_x64``."""
    stack = ExitStack()
    if device is not None:
        typed = any(spec.dtype in WIDE for spec in specs(case))
        wide = typed or bool(jax.config.read("jax_enable_x64"))
        stack.enter_context(_scope(wide=wide, device=device))
    return stack


def _scope(*, wide: bool, device: jax.Device) -> ExitStack:
    stack = ExitStack()
    if wide != bool(jax.config.read("jax_enable_x64")):
        stack.enter_context(enable_x64("float64" if wide else "float32"))
    # On a device that is not here no result can be.
    if device != jax.devices()[0] and device not in devices.described:
        stack.enter_context(jax.default_device(device))
    return stack


def _compiled_form(op: Op, case: Case, device: jax.Device) -> JaxForm:
    """A fresh function for ``jax.jit``: the op's JAX form or its Pallas kernel."""
    kernel_on = device.platform if case.mode == "pallas" else ""
    return op.bind(case.precision, kernel_on=kernel_on)


def arrays_of(result: Any) -> Iterator[Any]:
    """The arrays of a result; keys of ``jax.random`` are left out."""
    for leaf in jax.tree.leaves(result):
        if isinstance(leaf, (jax.Array, np.ndarray, np.generic)) and not is_key(leaf):
            yield leaf


def on_devices(tree: Any) -> Iterator[jax.Array]:
    """The arrays of JAX."""
    return (array for array in arrays_of(tree) if isinstance(array, jax.Array))


def all_finite(arrays: Iterable[Any]) -> bool:
    """Return whether no floating-point array holds nan or infinity; of an array that is
    spread over processes, the parts of this process.
    """
    return all(
        bool(np.isfinite(np.asarray(part)).all())
        for array in arrays
        if jnp.issubdtype(array.dtype, np.inexact)
        for part in _parts_here(array)
    )


def _parts_here(array: Any) -> list[Any]:
    if not isinstance(array, jax.Array):
        return [array]
    return [shard.data for shard in array.addressable_shards]
