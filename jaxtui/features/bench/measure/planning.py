"""The needs of an experiment, and its problems; nothing is allocated."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import msgspec

from jaxtui.core.model import (
    HOST,
    ITEMSIZE,
    Case,
    Device,
    Experiment,
    Fact,
    Failure,
    OpInfo,
    Peak,
    Plan,
    PlannedCase,
    Remark,
    refusal,
)
from jaxtui.core.model.machine import members
from jaxtui.core.model.mesh import mesh_of
from jaxtui.features.bench.measure.recipes import recipe
from jaxtui.tasks import devices, ops, own, settings, tensorflow_numpy
from jaxtui.tasks.accuracy import samples_rows
from jaxtui.tasks.errors import RefusedError
from jaxtui.tasks.host import available_host_bytes
from jaxtui.tasks.inputs import numpy_dtype
from jaxtui.tasks.ops.arguments import CHUNK, Indices
from jaxtui.tasks.ops.base import Op
from jaxtui.xla import peaks

ALLOWANCE_BYTES = 16 * 2**20
"""Bytes for the program itself and the allocator's rounding."""

SHARE = 0.5
"""Inputs of a whole experiment that take more of a memory make sizes take turns."""


@dataclass(frozen=True)
class Supply:
    """The devices by name, and the host's free memory."""

    host_bytes: int | None = field(default_factory=lambda: available_host_bytes())
    described: dict[str, Device] = field(default_factory=dict)

    def device(self, name: str) -> Device:
        if name not in self.described:
            self.described[name] = devices.describe_device(devices.find(name))
        return self.described[name]

    def free_bytes(self, name: str) -> int | None:
        """Free memory where the device of that name computes; of a group that of the
        one with the least.
        """
        if name == HOST:
            return self.host_bytes
        free = [
            devices.free_bytes(self.device(device), self.host_bytes)
            for device in members(name)
        ]
        return min((nbytes for nbytes in free if nbytes is not None), default=None)

    def sharing(self, case: Case) -> int:
        """Return how many devices of a case share one memory, as those of a CPU do."""
        return len(members(case.device)) if case.platform == "cpu" else 1


def plan(experiment: Experiment, *, recipes: bool = False) -> Plan:
    """Every case of an experiment: its needs, its peak, its problem."""
    supply = Supply()
    cases = tuple(
        _plan(case, supply, experiment.seed, recipes) for case in experiment.cases
    )
    return Plan(
        cases=cases,
        budget_seconds=experiment.budget,
        grouped=_is_crowded(
            [planned.case for planned in cases if not planned.problem], supply
        ),
    )


def _plan(case: Case, supply: Supply, seed: int, recipes: bool) -> PlannedCase:
    planned = plan_case(case, supply)
    if not recipes or planned.problem is not None:
        return planned
    return msgspec.structs.replace(planned, recipe=recipe(case, seed))


def plan_case(case: Case, supply: Supply) -> PlannedCase:
    """Plan a case; the reason why it cannot run is its problem."""
    try:
        device = check(case, supply)
    except RefusedError as refused:
        return PlannedCase.refused(case, refused.remark)
    op: Op | None = None
    rate: Peak | None = None
    if own.source(case.op) is not None:
        # Of a function of a file the work is not known before it is compiled.
        nbytes = own.input_bytes(case)
        host_needed = sum(spec.nbytes for spec in own.specs(case))
        needed = supply.sharing(case) * nbytes + ALLOWANCE_BYTES
    elif case.target:  # what lies on the source, and two copies
        needed, host_needed = 3 * case.size + ALLOWANCE_BYTES, 2 * case.size
    elif (collective := ops.COLLECTIVES.get(case.op)) is not None:
        nbytes = collective.memory_bytes(case.size, _participants(case))
        needed = supply.sharing(case) * nbytes + ALLOWANCE_BYTES
        host_needed = 2 * case.size + 64 * 2**20  # checked a part after the other
    else:
        op = ops.get(case.op)
        needed = supply.sharing(case) * memory_bytes(op, case)
        host_needed = host_memory_bytes(op, case)
        if device is not None:
            matrix = op.takes_precision
            rate = peaks.peak(
                device.device_kind,
                case.dtype,
                settings.precision(case),
                matrix=matrix,
            )
            rate = peaks.of_group(rate, len(members(case.device)))
    times = len(members(case.device))
    flops = op.flops(case.size, case.dtype) if op else None
    return PlannedCase(
        case=case,
        memory_bytes=needed,
        host_memory_bytes=host_needed,
        flops=None if flops is None else times * flops,
        bytes=times * op.bytes(case.size, case.dtype) if op else None,
        peak=rate,
        problem=_check_memory(case, needed, host_needed, device, supply),
    )


def results_at_most(case: Case, result_bytes: int) -> int | None:
    """Return how many results may be in flight; ``None`` if free memory is unknown.

    Every call of a burst has a result of its own until it is computed.
    """
    supply = Supply()
    free = supply.free_bytes(case.device)
    if free is None or not result_bytes:
        return None
    # Each device that has memory of its own has its part of the result.
    parts = len(members(case.device)) // supply.sharing(case)
    return max(2, int(SHARE * free) * parts // result_bytes)


def memory_bytes(op: Op, case: Case) -> int:
    """Memory where the case computes: arguments, results and temporaries.

    Two results, because a queued call allocates its own while the last one is alive;
    two more where every step of the op leaves an array of its own.
    """
    dtype = numpy_dtype(case.dtype) if case.on_host else case.dtype
    results = 2 if case.mode == "jit" else 4
    computed = results * op.result_bytes(case.size, dtype)
    computed += math.ceil(op.temporaries(case.size, dtype))
    return op.input_bytes(case.size, dtype) + computed + ALLOWANCE_BYTES


def host_memory_bytes(op: Op, case: Case) -> int:
    inputs = op.input_bytes(case.size, case.dtype)
    result = op.result_bytes(case.size, case.dtype)
    rows = samples_rows(op, case.dtype, case.size)
    shape = op.result_shape(case.size)
    if rows is None or not shape:
        compared = min(math.prod(shape), CHUNK * 4)
    else:
        compared = rows * math.prod(shape) // shape[op.rows_axis]
    reference = 3 * compared * 16  # float64, and a temporary
    if any(isinstance(argument, Indices) for argument in op.arguments(case.size)):
        inputs += 8 * case.size
    return inputs + result + reference


def check(case: Case, supply: Supply) -> Device | None:
    """Return a case's device, ``None`` for the host; refuse a case that cannot run.
    Memory is not checked.

    Raises:
        RefusedError: Something keeps it from running here.
    """
    if case.target:
        devices.check_own(supply.device(case.target))
    elif own.source(case.op) is None:
        _check_op(case)
    else:
        own.check(case)
        if (remark := refusal(case, OpInfo.of_function(case.op, ""))) is not None:
            raise RefusedError(remark)
    if case.on_host:
        if case.mode == "tensorflow" and not tensorflow_numpy.is_installed():
            raise RefusedError.of("tensorflow-missing")
        return None
    settings.check()
    group = [supply.device(name) for name in members(case.device)]
    # Devices of other processes take part in what all of them run.
    alone = case.op not in ops.COLLECTIVES and not case.on_mesh
    for device in group if alone else ():
        devices.check_own(device)
    _check_platform(case, group[0].platform)
    return group[0]


def _check_op(case: Case) -> None:
    """Refuse a case of the catalogue that cannot be, wherever it would run."""
    described = {info.name: info for info in ops.catalogue()}
    info = described.get(case.op)
    if info is None:
        raise RefusedError.of("op-unknown", op=case.op, ops=tuple(described))
    if (remark := refusal(case, info)) is not None:
        raise RefusedError(remark)
    if info.collective:
        # Each participant has an element at least.
        least = ITEMSIZE[case.dtype] * _participants(case)
        if case.size < least:
            means, size = info.size_means, case.size
            raise RefusedError.of(
                "size-too-small", op=case.op, size=size, least=least, means=means
            )


def _participants(case: Case) -> int:
    return mesh_of(case.params, len(members(case.device))).participants


def _check_platform(case: Case, platform: str) -> None:
    """Refuse a sound case that cannot run on devices of that platform."""
    if case.target or own.source(case.op) is not None:
        return
    op = ops.find(case.op)
    lacking = op.lacks.get(platform, ())
    if case.dtype not in lacking:
        return
    there = [dtype for dtype in op.info().dtypes if dtype not in lacking]
    facts: dict[str, Fact] = {"op": op.name, "dtype": case.dtype, "platform": platform}
    facts["dtypes"] = tuple(there)
    raise RefusedError.of("dtype-not-on-platform", **facts)


def _check_memory(
    case: Case, needed: int, host_needed: int, device: Device | None, supply: Supply
) -> Failure | None:
    """Compare needs with what is free; a CPU device computes in host memory."""
    free = supply.free_bytes(case.device)
    on_host = device is None or device.platform == "cpu"
    total = needed + host_needed if on_host else needed
    host_free = supply.host_bytes
    facts: dict[str, Fact] = {"needed": total, "free": free, "on": case.device}
    if not on_host and host_free is not None and host_needed > host_free:
        facts = {"needed": host_needed, "free": host_free, "on": HOST}
    elif free is None or total <= free:
        return None
    return Failure(case=case, remark=Remark("too-large", facts, "error"))


def _is_crowded(cases: list[Case], supply: Supply) -> bool:
    """Return whether the inputs of all cases together crowd one of their memories."""
    sums: dict[str, int] = {}
    for place, needed in {
        (place, case.op, case.size, case.dtype): (place, _input_bytes(case))
        for case in cases
        for place in {case.device, HOST}
    }.values():
        sums[place] = sums.get(place, 0) + needed
    cpu = sum(size for name, size in sums.items() if name.startswith("cpu:"))
    sums[HOST] = sums.get(HOST, 0) + cpu
    for place, inputs in sums.items():
        free = supply.free_bytes(place)
        if free is not None and inputs > SHARE * free:
            return True
    return False


def _input_bytes(case: Case) -> int:
    if own.source(case.op) is not None:
        return own.input_bytes(case)
    if case.target:
        return case.size
    times = len(members(case.device)) if case.platform == "cpu" else 1
    return times * ops.find(case.op).input_bytes(case.size, case.dtype)
