"""Experiments: which cases come of a selection, how many, and for how long.

The form, the command line and the API build theirs here, so that all of them run the
same cases.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import msgspec

from jaxtui.core import format as fmt
from jaxtui.core.model import (
    COMPILED_MODES,
    HOST,
    HOST_MODES,
    Case,
    Device,
    Experiment,
    Host,
    Inputs,
    Measurement,
    Mode,
    OpInfo,
    Precision,
    Remark,
    SelectionError,
    refusal,
)
from jaxtui.core.model.machine import group_name, members
from jaxtui.core.model.mesh import Mesh
from jaxtui.core.model.own import ARGUMENTS, dtype_of, is_own, parse_specs, short_name
from jaxtui.core.selection import SizedOp, first_device

LONGEST_DISPATCH_SECONDS = 1e-3
"""Seconds of the longest plausible dispatch: above it other programs had the host's
core."""

LARGEST_PRODUCT = 16_384
"""n of n×n, where jaxtui chooses it: 1 GiB of float32."""

MAXIMUM_CASES = 10_000
"""Hours by default, and more rows than can be read."""

MAXIMUM_PROCESSES = 100
"""Upper limit to catch typos: each is an engine that starts."""

LARGEST_SEED = 2**31 - 1

_Way = tuple[Precision, str, Mode, Inputs]
"""Precision, device, mode and inputs of a case."""


def op_info(name: str, catalogue: Sequence[OpInfo]) -> OpInfo | None:
    """The op of the catalogue with this name, or what is known of a function of a file
    before it has run.
    """
    if is_own(name):
        return OpInfo.of_function(name, f"The function {name}.")
    return next((op for op in catalogue if op.name == name), None)


def build(
    ops: Sequence[SizedOp],
    sizes: Sequence[int] | None = None,
    dtypes: Sequence[str] | None = None,
    devices: Sequence[str] | None = None,
    modes: Sequence[Mode] = ("jit",),
    inputs: Sequence[Inputs] = ("device",),
    precisions: Sequence[Precision] = ("default",),
    *,
    catalogue: Sequence[OpInfo],
    known_devices: Sequence[Device],
    budget: float | None = None,
    target: float = 0.03,
    seed: int = 0,
    keep_samples: bool = False,
    arguments: str = "",
    mesh: Mesh | None = None,
    processes: int = 1,
) -> Experiment:
    """The experiment of every combination, in the order op, size, dtype, …, inputs.

    What has no meaning for a combination falls back, and a case that arises twice is
    kept once: NumPy and TensorFlow run on the host with default precision, and an op
    without matrix products has only the default precision. Of a function of a file
    the arguments decide about the dtype, and if they were typed about the size.
    A dtype or a mode that an op does not have stays a case, so that whatever was asked
    for ends as a measurement or a named failure; ``refusals`` says so beforehand.

    Args:
        ops: what to run; sizes that an op carries replace ``sizes`` for it.
        sizes: ``None`` means each op's own default.
        dtypes: of the inputs; ``None`` means float32.
        devices: by name; ``None`` means the first that this process can address.
        modes: how to execute.
        inputs: where arguments live before each call.
        precisions: of matrix products.
        catalogue: the ops that exist.
        known_devices: the devices that exist.
        budget: seconds for measuring; ``None`` means the default.
        target: relative half-width of the interval at which a case stops.
        seed: of the random inputs.
        keep_samples: whether measurements carry every sample.
        arguments: what functions of files are given, as ``parse_arguments``
            makes it; empty if they have a factory.
        mesh: over which collectives and functions of files run; ``None`` is one axis
            of all devices for the former, and none for the latter.
        processes: in how many fresh engines every case is timed.

    Raises:
        SelectionError: if there is no case, or more than ``MAXIMUM_CASES``, or no
            device, or if no op takes any of the precisions or a dtype.
    """
    combined = []
    lists: dict[str, tuple[int, int]] = {}
    count = 0
    for choice in ops:
        info = op_info(choice.name, catalogue)
        assert info is not None, choice
        its_sizes: Sequence[int] = choice.sizes or sizes or (info.default,)
        its_dtypes: Sequence[str] = ("float32",) if dtypes is None else dtypes
        if info.own:  # without typed arguments they are known when they are made
            its_dtypes = (dtype_of(parse_specs(arguments)) if arguments else "",)
            its_sizes = (0,) if arguments else its_sizes
        places = _places(info, devices, known_devices, mesh)
        every_way = itertools.product(precisions, places, modes, inputs)
        ways = dict.fromkeys(
            _meaningful(way, info)
            for way in every_way
            if not _is_extra(way, info, places, mesh)
        )
        combined.append((info, its_sizes, its_dtypes, ways))
        before, _ = lists.get(info.name, (0, 0))
        lists[info.name] = before + len(its_sizes), len(its_dtypes)
        count += len(its_sizes) * len(its_dtypes) * len(ways)
    chosen = [info for info, *_ in combined]
    if dtypes and all(op.own for op in chosen):
        op = short_name(chosen[0].name)
        raise SelectionError(
            f"The dtype {dtypes[0]} means nothing for {op}: a function of your own has"
            " that of its arguments, such as bf16[8,128]."
        )
    if "default" not in precisions and not any(op.takes_precision for op in chosen):
        taking = tuple(dict.fromkeys(short_name(op.name) for op in chosen))
        raise SelectionError(
            f'The precision "{precisions[0]}" is for matrix products:'
            f" {fmt.listed(taking)} takes only default."
        )
    if count > MAXIMUM_CASES:  # before any is made: slips of the hand come to millions
        several = len(devices or "1") if set(modes) - set(HOST_MODES) else 1
        counts = (len(precisions), several, len(modes), len(inputs))
        factors = _factors(lists, counts)
        raise SelectionError(
            f"{product(factors, len(lists), count)}: one run has at most"
            f" {fmt.count(MAXIMUM_CASES)}; shorten a list."
        )
    cases = dict.fromkeys(
        Case(
            op=info.name,
            size=size,
            dtype=dtype,
            precision=precision,
            device=device,
            mode=mode,
            inputs=place,
            params=_params(info, arguments, mesh, mode) or None,
        )
        for info, its_sizes, its_dtypes, ways in combined
        for size, dtype, (precision, device, mode, place) in itertools.product(
            its_sizes, its_dtypes, ways
        )
    )
    if not cases:
        raise SelectionError("Nothing is selected: name an op, a dtype and a mode.")
    return Experiment(
        cases=tuple(cases),
        budget_seconds=budget,
        target_half_width=target,
        keep_samples=keep_samples,
        seed=seed,
        processes=processes,
    )


def _params(
    info: OpInfo, arguments: str, mesh: Mesh | None, mode: Mode
) -> dict[str, int | float | str]:
    params: dict[str, int | float | str] = {}
    if info.own and arguments:
        params[ARGUMENTS] = arguments
    if mesh and (info.own or info.collective) and mode not in HOST_MODES:
        params |= mesh.params
    return params


def _places(
    info: OpInfo,
    devices: Sequence[str] | None,
    present: Sequence[Device],
    mesh: Mesh | None,
) -> Sequence[str]:
    """The devices on which an op runs, of those that were typed.

    What needs a mesh takes groups alone, of all devices unless others were typed. All
    else that runs on every device at once is dispatched from the process of these.
    """
    if not present:
        first_device(present)
    whole = group_name(device.name for device in present)
    if info.collective or (info.own and mesh):
        if devices is None:
            return [whole]
        return [name for name in devices if len(members(name)) > 1] or devices
    if devices is None:
        return [first_device(present).name]
    hosts: dict[int, list[str]] = {}
    for device in present:
        if device.addressable:
            hosts.setdefault(device.process_index, []).append(device.name)
    groups = [*map(group_name, hosts.values())]
    placed = (groups if name == whole else [name] for name in devices)
    return [*dict.fromkeys(itertools.chain.from_iterable(placed))]


def _is_extra(
    way: _Way, info: OpInfo, places: Sequence[str], mesh: Mesh | None
) -> bool:
    """Return whether a group duplicates its devices where it can do nothing: only what
    is jitted and resident runs on all of them at once.
    """
    _, device, mode, inputs = way
    if info.collective or mesh or mode in HOST_MODES or len(members(device)) == 1:
        return False
    alone = any(len(members(name)) == 1 for name in places)
    can = mode in COMPILED_MODES and inputs == "device" and not info.own
    return alone and not can


def _meaningful(way: _Way, info: OpInfo) -> _Way:
    """Drop what has no meaning: NumPy and TensorFlow run on the host, and ops without
    matrix products have only the default precision.
    """
    precision, device, mode, place = way
    if mode in HOST_MODES:
        return "default", HOST, mode, "host"
    return precision if info.takes_precision else "default", device, mode, place


def parse_processes(text: str) -> int:
    """Parse the number of processes; one if nothing was typed.

    Raises:
        SelectionError: it is no number of processes.
    """
    typed = text.strip() or "1"
    count = int(typed) if typed.isdecimal() and len(typed) < 10 else 0
    if not 1 <= count <= MAXIMUM_PROCESSES:
        raise SelectionError(
            f'"{text}" is not a number of processes: give 1 to {MAXIMUM_PROCESSES}.'
        )
    return count


def refusals(experiment: Experiment, catalogue: Sequence[OpInfo]) -> tuple[Remark, ...]:
    """Return the reasons why cases are known to fail, without repeats, to be shown
    while typing.

    Devices and memory are not judged here: that needs the engine's ``Plan``.
    """
    remarks: dict[Remark, None] = {}
    for case in experiment.cases:
        info = op_info(case.op, catalogue)
        assert info is not None, case
        if (remark := refusal(case, info)) is not None:
            remarks[remark] = None
    return tuple(remarks)


def refused_by_all(
    experiment: Experiment, catalogue: Sequence[OpInfo], code: str
) -> Remark | None:
    """Return the first refusal if all cases are refused with that code."""
    remarks = []
    for case in experiment.cases:
        info = op_info(case.op, catalogue)
        remarks.append(refusal(case, info) if info else None)
    alike = all(remark is not None and remark.code == code for remark in remarks)
    return remarks[0] if remarks and alike else None


def loopable(case: Case, device: str) -> Case:
    """The case as JAX dispatches it: what the host computes itself becomes jit."""
    if case.on_host:
        return msgspec.structs.replace(case, mode="jit", device=device, inputs="device")
    if case.mode not in ("eager", "jit"):
        return msgspec.structs.replace(case, mode="jit")
    return case


def fitting_size(
    size: int, dispatch: float, work: float, largest: int = LARGEST_PRODUCT
) -> int:
    """The size at which a matrix product takes twenty dispatches on this device.

    Args:
        size: n of n×n that was timed.
        dispatch: seconds that the host takes to hand a product over.
        work: seconds that the product takes.
        largest: the size returned where none up to it is large enough.

    Returns:
        ``size`` where its product takes that long, else 1.5, 2, 3, 4, 6, … times it:
        the first of which this is expected, as the work grows with n³.
    """
    dispatch = min(dispatch, LONGEST_DISPATCH_SECONDS)
    factor = (20 * dispatch / work) ** (1 / 3) if work > 0 else 1.0
    steps = (
        size * step // 2 for power in range(32) for step in (2 << power, 3 << power)
    )
    return min(next(n for n in steps if n >= size * factor), max(size, largest))


def larger_size(measured: Measurement | None) -> int | None:
    """Return ``fitting_size`` of a measured product, if that is another size."""
    if measured is None or not measured.dispatch or not measured.ready:
        return None
    size, dispatch = measured.case.size, measured.dispatch.p10
    fitting = fitting_size(size, dispatch, measured.ready.p10)
    return fitting if fitting != size else None


def default_experiment(
    devices: Sequence[Device],
    catalogue: Sequence[OpInfo],
    host: Host,
    sizes: Mapping[str, int] = {},
) -> Experiment:
    """Return the experiment that Enter runs in the first minute: one matmul, and its
    NumPy twin.

    One call lasts milliseconds, so that dispatch and ready lie visibly apart, in the
    dtype that the device is made for; NumPy has no fast bfloat16, so its twin is
    float32.

    Args:
        devices: all that JAX sees; the first that this process can address is taken.
        catalogue: the ops that exist.
        host: the machine.
        sizes: what ``fitting_size`` gave, by device.

    Raises:
        SelectionError: if this process can address no device.
    """
    device = first_device(devices)
    if device.platform == "cpu":
        cores = host.usable_cores or host.cpu_count or 1
        size, dtype = (1000 if cores <= 4 else 2000), "float32"
    else:
        size, dtype = 8192, "bfloat16"
    size = sizes.get(device.name, size)
    op = next((op.name for op in catalogue if op.name == "matmul"), catalogue[0].name)
    return Experiment(
        cases=(
            Case(op=op, size=size, dtype=dtype, device=device.name, mode="jit"),
            Case(
                op=op,
                size=size,
                dtype="float32",
                device=HOST,
                mode="numpy",
                inputs="host",
            ),
        ),
        budget_seconds=5.0,
    )


def on_devices(experiment: Experiment, devices: Sequence[str]) -> Experiment:
    """Return the same cases on each of these devices; without any, the experiment as it
    is.

    Those of the host stay as they are.
    """
    if not devices:
        return experiment
    cases = [
        case if case.on_host else msgspec.structs.replace(case, device=name)
        for case in experiment.cases
        for name in (devices[:1] if case.on_host else devices)
    ]
    budget = experiment.budget_seconds
    whole = None if budget is None else budget * len(cases) / len(experiment.cases)
    return msgspec.structs.replace(
        experiment, cases=tuple(dict.fromkeys(cases)), budget_seconds=whole
    )


# How much it is.

_OTHERS = ("precision", "device", "mode", "place")


def _factors(
    ops: Mapping[str, tuple[int, int]], others: Sequence[int]
) -> dict[str, int]:
    """Return the factors of the number of cases, by noun.

    Args:
        ops: with how many sizes, and in how many dtypes, each is timed.
        others: how many precisions, devices, modes, and places for inputs there are.
    """
    sizes, dtypes = zip(*ops.values(), strict=True)
    factors: dict[str, int]
    if len(set(ops.values())) == 1:
        factors = {"op": len(ops), "size": sizes[0], "dtype": dtypes[0]}
    elif len(set(dtypes)) == 1:
        factors = {"size-of-op": sum(sizes), "dtype": dtypes[0]}
    else:
        factors = {"size-and-dtype": sum(map(math.prod, ops.values()))}
    return factors | dict(zip(_OTHERS, others, strict=True))


_NOUNS = {
    "place": ("place", " for inputs"),
    "size-of-op": ("size", " of {ops} ops"),
    "size-and-dtype": ("pair", " of size and dtype for {ops} ops"),
}
"""A noun, which may be plural, and what follows it; others are their own noun."""


def product(factors: Mapping[str, int], ops: int, cases: int) -> str:
    """The factors and their product: ``2 ops × 40 sizes = 80 cases``."""
    combinations = math.prod(factors.values())
    what = fmt.plural(cases, "case")
    if combinations == 1:
        return what
    if cases != combinations:
        what = f"{fmt.count(combinations)} combinations, {what} in all"
    texts = []
    for name, count in factors.items():
        noun, rest = _NOUNS.get(name, (name, ""))
        if count > 1:
            texts.append(f"{fmt.plural(count, noun)}{rest.format(ops=ops)}")
    return f"{' × '.join(texts)} = {what}"


class Extent(msgspec.Struct, frozen=True):
    """The number of cases, its factors, and the seconds they take."""

    cases: int
    """Fewer than the product of the factors where some are the same: NumPy runs on none
    of the devices that it is combined with."""
    seconds: float
    """About how long it takes: inputs, compile and checks are on top of the budget."""
    budget: float = 0.0
    """Seconds for measuring."""
    factors: dict[str, int] = {}
    """The factors by noun."""
    ops: int = 1
    typed: bool = False
    """The time was typed, so that it is no surprise."""
    processes: int = 1
    """The number of processes, whose starts come on top of the time."""

    @property
    def is_large(self) -> bool:
        """True if jaxtui asks before it starts the experiment."""
        # More may be a typo, and longer is a surprise.
        return self.cases > 100 or (self.seconds > 300 and not self.typed)


def extent(experiment: Experiment) -> Extent:
    cases = experiment.cases
    jax = [case for case in cases if not case.on_host]
    ops = {
        op: (
            len({case.size for case in cases if case.op == op}),
            len({case.dtype for case in cases if case.op == op}),
        )
        for op in dict.fromkeys(case.op for case in cases)
    }
    counts = (
        len({case.precision for case in jax} or {""}),
        len({case.device for case in jax} or {""}),
        len({case.mode for case in cases}),
        len({case.inputs for case in jax} or {""}),
    )
    return Extent(
        cases=len(cases),
        budget=experiment.budget,
        seconds=round(
            experiment.budget + experiment.processes * experiment.preparation_seconds
        ),
        factors=_factors(ops, counts),
        ops=len(ops),
        typed=experiment.budget_seconds is not None,
        processes=experiment.processes,
    )
