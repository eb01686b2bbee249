"""The texts of a case from JAX and XLA, and the program that they describe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import msgspec
from jax.sharding import Sharding, SingleDeviceSharding

from jaxtui.core.model import (
    HOST_MODES,
    Case,
    Inspected,
    Inspection,
    Progress,
    RunEvent,
)
from jaxtui.core.model.own import dtype_of as own_dtype
from jaxtui.core.model.own import short_name
from jaxtui.core.model.programs import EagerStep, Program
from jaxtui.features.bench.measure import planning
from jaxtui.features.program import ahead
from jaxtui.tasks import devices, ops, own, programs
from jaxtui.tasks.errors import RefusedError
from jaxtui.tasks.workload import (
    Pool,
    Workload,
    of_collective,
    of_op,
    own_scope,
    shardings,
    spread,
)
from jaxtui.timing.coldpath import Stages
from jaxtui.timing.runner import Runner
from jaxtui.timing.turns import never

STEPS_AT_MOST = 100
"""Steps of a function of a file that are compiled for comparison: each costs
milliseconds, and a training step may have thousands."""

SEED = 0
"""A factory that takes a seed is given this one, as in a run that names none."""


class _StoppedError(Exception):
    """The run was asked to end."""


def run_inspection(
    inspection: Inspection, *, stop: Callable[[], bool] = never
) -> Iterator[RunEvent]:
    """Trace, lower and compile a case, and read what came out; nothing is run.

    Arguments are shapes only, so that a size costs no memory; those of a function of a
    file are made, unless they were typed.
    """
    return _InspectionRun(inspection, stop).events()


def of_function(
    function: own.Function,
    case: Case,
    device: jax.Device,
    group: tuple[jax.Device, ...] = (),
) -> Workload:
    """A function with its arguments; those that were typed are shapes alone.

    With a group they lie on a mesh of these devices.
    """
    as_is = own.jitted(function.call) if case.mode == "jit" else None
    with own_scope(case, device):
        typed = own.specs(case)
        places: list[Sharding] = [SingleDeviceSharding(device)] * len(typed)
        if group:
            places = [*shardings(case, group)]
        shapes = tuple(
            jax.ShapeDtypeStruct(spec.shape, jnp.dtype(spec.dtype), sharding=place)
            for spec, place in zip(typed, places, strict=True)
        )
        arguments = own.Arguments(shapes, {}, case.size)
        dtype = own_dtype(own.specs(case)) if shapes else ""
        if not shapes:
            arguments = own.make(function, case, SEED)
            arguments = own.settle(function, case, arguments, device)
            dtype = own.dtype_of(arguments.leaves)
    call = own.eager(function) if case.mode == "eager" else function.call
    # What the function has jitted itself must be as cold as the function.
    jax.clear_caches()
    return Workload(
        case=msgspec.structs.replace(case, size=arguments.size, dtype=dtype),
        call=call,
        args=arguments.args,
        keywords=arguments.keywords,
        scope=lambda: own_scope(case, device),
        fresh=lambda: own.fresh(replace(function, call=call)),
        as_is=as_is,
        static={} if shapes else own.static(arguments),
        resident=lambda: arguments.args,
        own=True,
    )


class _Step(NamedTuple):
    """A step of an eager case, lowered and compiled alone."""

    step: EagerStep
    lower_seconds: float
    """Tracing included; 0 for a step that an equal one was compiled for."""
    compile_seconds: float
    stablehlo: str
    hlo: str


class _InspectionRun(Runner):
    phase = "trace"
    _workload: Workload
    _device: jax.Device
    _stages: Stages

    def __init__(self, inspection: Inspection, stop: Callable[[], bool]) -> None:
        super().__init__(0.0, stop)
        self.case = inspection.case
        self._warm_up: float | None = None
        self._steps: list[_Step] = []

    def work(self) -> Iterator[RunEvent]:
        with suppress(_StoppedError):
            yield from self._inspect()

    def progress(self, doing: str, about: str = "") -> Progress:
        """Named with its case; whoever would go on is asked whether to stop."""
        if self.stop():
            raise _StoppedError
        return super().progress(doing, about or self.case.label)

    def _inspect(self) -> Iterator[RunEvent]:
        case, source = self.case, own.source(self.case.op)
        if case.mode in HOST_MODES:
            raise RefusedError.of("no-program", mode=case.mode)
        # Memory is not asked for: nothing is allocated.
        planning.check(case, planning.Supply())
        group = devices.find_all(case.device)
        collective = ops.COLLECTIVES.get(case.op)
        if len(group) > 1 and not collective and not case.on_mesh:
            raise RefusedError.of("program-of-each", device=case.device)
        self._device = group[0]
        here = self._device not in devices.described
        if here:
            yield from self.warm_up(self._device)
        else:
            yield self.progress("compiler-warm-up")
            self._warm_up = ahead.warm_up(self._device)
        if collective is not None:
            workload = of_collective(case, collective, group, SEED)
            self._workload = workload
            assert workload.exchange is not None
            argument = (workload.exchange.shape,)
            workload.args, workload.resident = argument, lambda: argument
        elif source is None:
            op = ops.get(case.op)
            workload = self._workload = of_op(case, op, self._device, Pool(SEED))
            with workload.scope():
                shapes = tuple(programs.shapes(op, case, self._device))
            workload.args, workload.resident = shapes, lambda: shapes
        else:
            yield self.enter("import")
            # Where it computes what it needs; of a TPU that is not here, the host.
            place = self._device if here else jax.devices()[0]
            function = own.load(source, place)
            yield self.enter("inputs")
            meshed = group if case.on_mesh else ()
            workload = self._workload = of_function(function, case, place, meshed)
            if not here and not meshed:
                ahead.place(workload, self._device)
        stages = self._stages = Stages(workload)
        if not stages.names:
            raise RefusedError.of("compiled-already", name=short_name(case.op))
        for stage in stages.names[:1] if case.mode == "eager" else stages.names:
            yield self.enter(stage)
            with workload.scope(), ahead.as_if_on(self._device, case):
                stages.run(stage)
        if source is not None and stages.traced is not None:
            product = programs.largest_product(stages.traced.jaxpr)
            workload.peak = programs.peak(product, self._device.device_kind)
        if case.mode == "eager":
            yield from self._each_step()
        elif here and case.mode == "jit" and len(group) == 1:
            # Op by op nothing says how devices would share it.
            has_few_steps = (
                stages.traced
                and len(stages.traced.jaxpr.eqns) <= STEPS_AT_MOST
                and spread(workload.args) == 1
            )
            if source is None or has_few_steps:
                try:
                    yield from self._each_step()
                except _StoppedError:
                    raise
                except Exception:  # the program that was asked for is there
                    self._steps.clear()
        yield self._result()

    def _each_step(self) -> Iterator[RunEvent]:
        """The programs of an eager call, equal ones compiled once, as JAX does."""
        equations = self._stages.traced.jaxpr.eqns
        compiled: dict[Hashable, _Step] = {}
        for number, equation in enumerate(equations, 1):
            self.phase = "compile"
            yield self.progress("compile", f"{number}/{len(equations)}")
            avals = [variable.aval for variable in equation.invars]
            key = (equation.primitive.name, str(equation.params), str(avals))
            if key in compiled:
                step = compiled[key]._replace(lower_seconds=0.0, compile_seconds=0.0)
            else:
                with self._workload.scope():
                    step = compiled[key] = compile_step(
                        equation, self._workload.case, self._device
                    )
            self._steps.append(step)

    def _result(self) -> Inspected:
        steps, workload, stages = self._steps, self._workload, self._stages
        seconds = stages.seconds
        if workload.case.mode == "eager":
            seconds["lower"] = sum(step.lower_seconds for step in steps)
            seconds["compile"] = sum(step.compile_seconds for step in steps)
            program = _sum([step.step.program for step in steps])
            stablehlo = _join([(step.step.name, step.stablehlo) for step in steps])
            hlo = _join([(step.step.name, step.hlo) for step in steps])
        else:
            program = programs.read(stages.compiled, self._device.device_kind)
            stablehlo = programs.text_of(stages.lowered) or ""
            hlo = programs.text_of(stages.compiled) or ""
        return Inspected(
            case=workload.case,
            device_kind=self._device.device_kind,
            trace_seconds=seconds.get("trace", 0.0),
            lower_seconds=seconds["lower"],
            compile_seconds=seconds["compile"],
            peak=workload.peak,
            warm_up_seconds=self._warm_up,
            flops=workload.flops,
            bytes=workload.bytes,
            program=program,
            steps=tuple(step.step for step in steps),
            jaxpr=str(stages.traced.jaxpr) if stages.traced else "",
            stablehlo=stablehlo,
            hlo=hlo,
        )


def compile_step(equation: Any, case: Case, device: jax.Device) -> _Step:
    """The program of one equation of a jaxpr, with the scope of its case around.

    A literal in it is an argument of the program, as the scalar is that eager JAX
    hands over.
    """

    def step(*arguments: Any) -> Any:
        bound = equation.primitive.get_bind_params(equation.params)
        # A newer jax hands over no functions beside the parameters.
        functions, params = bound if isinstance(bound, tuple) else ((), bound)
        return equation.primitive.bind(*functions, *arguments, **params)

    shapes = tuple(
        jax.ShapeDtypeStruct(
            aval.shape, aval.dtype, weak_type=bool(getattr(aval, "weak_type", False))
        )
        for aval in (variable.aval for variable in equation.invars)
    )
    alone = Workload(case=case, call=step, fresh=lambda: step, resident=lambda: shapes)
    stages = Stages(alone)
    seconds = {stage: stages.run(stage) for stage in stages.names}
    return _Step(
        EagerStep(
            # The primitive, or the function whose ``jit`` it is.
            name=str(equation.params.get("name") or equation.primitive.name),
            program=programs.read(stages.compiled, device.device_kind),
        ),
        seconds["trace"] + seconds["lower"],
        seconds["compile"],
        programs.text_of(stages.lowered) or "",
        programs.text_of(stages.compiled) or "",
    )


def _sum(parts: Sequence[Program]) -> Program:
    """Sum up programs that run one after the other.

    Their memory is not added up: one gives back what the next one takes.
    """
    counted: Counter[str] = Counter()
    for part in parts:
        counted.update(part.instructions)
    return Program(
        kernels=_total([part.kernels for part in parts]),
        instructions=dict(counted.most_common()),
        fusions=tuple(fusion for part in parts for fusion in part.fusions),
        xla_flops=_total([_count(part, part.xla_flops) for part in parts]),
        xla_bytes=_total([part.xla_bytes for part in parts]),
        xla_transcendentals=_total(
            [_count(part, part.xla_transcendentals) for part in parts]
        ),
    )


def _count(part: Program, count: float | None) -> float | None:
    """XLA leaves out what it counts none of, beside the bytes that it does count."""
    return 0.0 if count is None and part.xla_bytes is not None else count


def _total(values: Sequence[Any]) -> Any:
    return None if None in values else sum(values)


def _join(texts: Sequence[tuple[str, str]]) -> str:
    count = len(texts)
    return "\n".join(
        f"// step {number} of {count}: {name}\n{text.rstrip()}\n"
        for number, (name, text) in enumerate(texts, 1)
    )
