"""What JAX and XLA make of a case: every text on the way, and what it amounts to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import jax

from jaxtui.measure import (
    devices,
    own,
    planning,
    programs,
    session,
    settings,
    subjects,
)
from jaxtui.measure.eager import Alone, Steps
from jaxtui.measure.failures import FAULTS, explained
from jaxtui.measure.stopping import never
from jaxtui.measure.subjects import Subject
from jaxtui.model import (
    HOST_MODES,
    MODES,
    Case,
    Inspected,
    Inspection,
    InspectionStarted,
    ProcessWarmedUp,
    Progress,
    RunEvent,
    RunFinished,
    WorkFailed,
)
from jaxtui.model.programs import Program

STEPS_AT_MOST = 100
"""Steps of a function of the user's own that are compiled for comparison: each costs
milliseconds, and a training step may have thousands."""


class RefusedError(Exception):
    """The case cannot be inspected; carries the event that says why."""

    def __init__(self, error: str, hint: str) -> None:
        """Keep the event."""
        super().__init__(error)
        self.failed = WorkFailed(error=error, hint=hint)


class _StoppedError(Exception):
    """Somebody asked for the end."""


def run_inspection(
    inspection: Inspection, *, stop: Callable[[], bool] = never
) -> Iterator[RunEvent]:
    """Trace, lower and compile a case, and read what came out; nothing is run.

    The first event is ``InspectionStarted``, then comes ``Progress``. ``Inspected`` or
    ``WorkFailed`` ends it, or neither if it was stopped; the last event is
    ``RunFinished``. Arguments are shapes only, so that a size costs no memory; those of
    a function of the user's own are made, unless they were typed.

    Args:
        inspection: What to look into.
        stop: Asked between stages.
    """
    yield InspectionStarted(inspection=inspection)
    start = perf_counter()
    case, run = inspection.case, _Run(inspection.case, stop, start)
    outcome = "complete"
    try:
        yield from run.events()
    except _StoppedError:
        outcome = "cancelled"
    except RefusedError as refused:
        yield refused.failed
    except FAULTS as error:  # whatever JAX, XLA or the user's own code raises
        failure = explained(error, case, run.phase)
        yield WorkFailed(error=failure.error, hint=failure.hint, detail=failure.detail)
    elapsed = perf_counter() - start
    yield RunFinished(
        outcome="cancelled" if outcome == "cancelled" else "complete",
        elapsed_seconds=elapsed,
    )


@dataclass
class _Stages:
    """What there is of the case so far."""

    subject: Subject
    device: jax.Device
    traced: Any = None
    lowered: Any = None
    compiled: Any = None
    """The case as one program; ``None`` for an eager one."""
    took: Counter[str] = field(default_factory=Counter)
    steps: list[Alone] = field(default_factory=list)


class _Run:
    def __init__(self, case: Case, stop: Callable[[], bool], start: float) -> None:
        self.phase = "trace"
        self._case, self._stop, self._start = case, stop, start

    def events(self) -> Iterator[RunEvent]:
        case = self._case
        device = _checked(case)
        yield self._progress("warming up the process")
        known, warmed = session.start(device)
        if warmed:
            yield ProcessWarmedUp(seconds=known.warm_up_seconds)
        subject = yield from self._subject(device)
        stages = _Stages(subject, device)
        jitted = jax.jit(subject.form)
        stages.traced = yield from self._timed(
            "trace", stages, lambda: jitted.trace(*subject.args)
        )
        if case.mode == "eager":
            yield from self._steps(stages)
        else:
            yield from self._whole(stages)
        yield _inspected(stages)

    def _subject(self, device: jax.Device) -> Generator[RunEvent, None, Subject]:
        """What is looked into: one's own function is imported and given arguments."""
        source = own.source(self._case.op)
        if source is None:
            return subjects.of_op(self._case, device)
        self.phase = "import"
        yield self._progress(self.phase)
        function = own.load(source, device)
        self.phase = "inputs"
        yield self._progress("arguments")
        return subjects.of_function(function, self._case, device)

    def _whole(self, stages: _Stages) -> Iterator[RunEvent]:
        """The case as one program, and then its steps for comparison."""
        stages.lowered = yield from self._timed("lower", stages, stages.traced.lower)
        stages.compiled = yield from self._timed(
            "compile", stages, stages.lowered.compile
        )
        if self._case.mode != "jit" or not self._comparable(stages):
            return
        try:
            yield from self._steps(stages)
        except _StoppedError:
            raise
        except Exception:  # the program that was asked for is there
            stages.steps.clear()

    def _comparable(self, stages: _Stages) -> bool:
        known = own.source(self._case.op) is None
        return known or len(stages.traced.jaxpr.eqns) <= STEPS_AT_MOST

    def _steps(self, stages: _Stages) -> Iterator[RunEvent]:
        equations = stages.traced.jaxpr.eqns
        steps = Steps(stages.device)
        for number, equation in enumerate(equations, 1):
            self.phase = "compile"
            yield self._progress(f"step {number} of {len(equations)}")
            with stages.subject.scope():
                stages.steps.append(steps.compiled(equation))

    def _timed(
        self, phase: str, stages: _Stages, stage: Callable[[], Any]
    ) -> Generator[RunEvent, None, Any]:
        self.phase = phase
        yield self._progress(phase)
        with stages.subject.scope():
            start = perf_counter()
            made = stage()
            seconds = perf_counter() - start
        stages.took[phase] = seconds  # type: ignore[assignment]
        return made

    def _progress(self, doing: str) -> Progress:
        if self._stop():
            raise _StoppedError
        return Progress(
            elapsed_seconds=perf_counter() - self._start,
            remaining_seconds=0.0,
            doing=f"{doing}: {self._case.label}",
        )


def _inspected(stages: _Stages) -> Inspected:
    subject, steps = stages.subject, stages.steps
    took = dict[str, float](stages.took)
    if stages.compiled is None:
        took["lower"] = sum(each.lower_seconds for each in steps)
        took["compile"] = sum(each.compile_seconds for each in steps)
        program = _sum([each.step.program for each in steps])
        stablehlo = _joined([(each.step.name, each.stablehlo) for each in steps])
        hlo = _joined([(each.step.name, each.hlo) for each in steps])
    else:
        program = programs.read(stages.compiled, stages.device.device_kind)
        stablehlo = programs.text_of(stages.lowered) or ""
        hlo = programs.text_of(stages.compiled) or ""
    return Inspected(
        case=subject.case,
        device_kind=stages.device.device_kind,
        trace_seconds=took["trace"],
        lower_seconds=took["lower"],
        compile_seconds=took["compile"],
        flops=subject.flops,
        bytes=subject.bytes,
        program=program,
        steps=tuple(each.step for each in steps),
        jaxpr=str(stages.traced.jaxpr),
        stablehlo=stablehlo,
        hlo=hlo,
    )


def _sum(parts: Sequence[Program]) -> Program:
    """What programs that run one after the other amount to.

    Their memory is not added up: one gives back what the next one takes.
    """
    counted: Counter[str] = Counter()
    for part in parts:
        counted.update(part.instructions)
    return Program(
        kernels=_total([part.kernels for part in parts]),
        instructions=dict(counted.most_common()),
        fusions=tuple(fusion for part in parts for fusion in part.fusions),
        xla_flops=_total([_counted(part, part.xla_flops) for part in parts]),
        xla_bytes=_total([part.xla_bytes for part in parts]),
        xla_transcendentals=_total(
            [_counted(part, part.xla_transcendentals) for part in parts]
        ),
    )


def _counted(part: Program, count: float | None) -> float | None:
    """XLA leaves out what it counts none of, beside the bytes that it does count."""
    return 0.0 if count is None and part.xla_bytes is not None else count


def _total(values: Sequence[Any]) -> Any:
    """The sum; ``None`` if a part of it is not known."""
    return None if None in values else sum(values)


def _joined(texts: Sequence[tuple[str, str]]) -> str:
    count = len(texts)
    return "\n".join(
        f"// step {number} of {count}: {name}\n{text.rstrip()}\n"
        for number, (name, text) in enumerate(texts, 1)
    )


def _checked(case: Case) -> jax.Device:
    """The device of a case that can be inspected.

    Memory is not asked for: nothing is allocated.

    Raises:
        RefusedError: There is no such case, or nothing of it goes through XLA.
    """
    if case.mode not in MODES:
        raise RefusedError(
            f"There is no mode {case.mode!r}.", "Choose jit, eager or pallas."
        )
    if case.mode in HOST_MODES:
        raise RefusedError(
            f"Mode {case.mode} does not go through XLA, so there is nothing to show.",
            "Choose mode jit or eager.",
        )
    if refused := settings.refusal():
        raise RefusedError(*refused)
    catalogued = own.source(case.op) is None
    wrong = planning.check_op(case) if catalogued else own.check(case)
    if wrong is not None:
        raise RefusedError(*wrong)
    try:
        device = devices.find(case.device)
    except ValueError as error:
        raise RefusedError(str(error), "`jaxtui devices` lists them.") from None
    if device.process_index != device.client.process_index():
        raise RefusedError(
            f"{case.device} belongs to process {device.process_index}, not to this.",
            "Choose a device of this process.",
        )
    if (wrong := planning.check_platform(case, device.platform)) is not None:
        raise RefusedError(*wrong)
    return device
