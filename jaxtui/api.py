"""The Python API: the measuring core in this process, for notebooks and scripts.

Several processes are engines beside this one: only they begin anew.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import numpy as np
from msgspec.structs import replace

from jaxtui.core import experiments, functions, selection
from jaxtui.core.engine.client import (
    EngineClient,
    EngineOptions,
    EngineUnavailableError,
)
from jaxtui.core.engine.protocol import Envelope
from jaxtui.core.history.recording import Past, Recording
from jaxtui.core.model import (
    Case,
    CaseMeasured,
    Device,
    EngineFailed,
    Event,
    Experiment,
    OpInfo,
    Ready,
    SelectionError,
)
from jaxtui.core.processes import Repetition
from jaxtui.core.selection import SizedOp
from jaxtui.core.session import Session, following
from jaxtui.core.state import (
    EMPTY,
    Series,
    State,
    begin_run,
    reduce,
    with_past,
    with_series,
)
from jaxtui.features.bench.measure import experiment as _experiment
from jaxtui.features.bench.report import collect
from jaxtui.measurements import Measurements
from jaxtui.tasks import devices as _devices
from jaxtui.tasks import host as _host
from jaxtui.tasks import own as _own
from jaxtui.tasks import settings as _settings
from jaxtui.tasks.ops import catalogue
from jaxtui.ui import words
from jaxtui.ui.findings import failure_text

_Result = TypeVar("_Result")

Names = str | Iterable[str]
"""``"float32,bfloat16"`` or ``["float32", "bfloat16"]``."""


def devices() -> tuple[Device, ...]:
    """Every JAX device; starts JAX's backend, which may claim the accelerator."""
    return tuple(_devices.describe())


def ops() -> tuple[OpInfo, ...]:
    """The ops that ``bench`` can time."""
    return catalogue()


def bench(
    *names: Any,
    size: int | str | Iterable[int | str] | None = None,
    dtype: object = (),
    device: object = None,
    mode: Names = "jit",
    inputs: Names = "device",
    precision: Names = "default",
    budget: float | None = None,
    target: float = 0.03,
    seed: int = 0,
    samples: bool = False,
    history: bool = True,
    args: Iterable[str] = (),
    mesh: str = "",
    processes: int = 1,
) -> Measurements:
    """Time every combination in this process, taking turns.

    ``bench(function, *args)`` times a function of this process with these arguments, of
    which it is given copies where they are arrays of JAX. Nothing is known then of its
    cold phases if it is jitted already.

    Every argument that selects cases may be a list, or a text as on the command line.

    Args:
        names: ops, each with a size of its own if wanted: ``"matmul:2k"``; functions
            of your own as ``"path/to/file.py:name"``; or a callable and its arguments.
        size: as on the command line (``"256..4096"``), or numbers; ``None`` is each
            op's default.
        dtype: of the inputs, by name or as ``jnp.bfloat16``; float32 if left out.
        device: such as ``"tpu:0"``, ``"tpu:0-7"``, ``"all"`` or ``jax.devices()[0]``;
            ``None`` is the first, and of a collective all.
        mode: ``numpy``, ``eager``, ``jit``.
        inputs: where arguments live before each call, ``device`` or ``host``.
        precision: of matrix products.
        budget: seconds for measuring, without compile; ``None`` is the larger of
            10 s and 1 s per case, for measuring alone.
        target: a case stops when its interval's half-width relative to the median is
            this small; 0 samples until the budget ends.
        seed: of the random inputs.
        samples: keep every sample in the measurements.
        history: keep the measurements in the history, as ``jaxtui bench`` does.
        args: what functions of your own are given, such as ``["f32[1024,1024]"]``, if
            there is nothing beside them that makes it; ``"f32[64,64]@x,-"`` is sharded.
        mesh: devices per axis x, y, z, such as ``"2x4"``, over which collectives and
            functions of your own run; a collective along one axis as in ``"2x4@y"``.
        processes: time every case in so many fresh processes instead, one after the
            other; the interval is then about processes. An accelerator that this
            process holds is not theirs to use.

    Returns:
        The measurements, and the failures of cases that have none.

    Raises:
        SelectionError: if an argument makes no sense; the text is one sentence.
        EngineUnavailableError: if no other process can be had, such as where this one
            holds the accelerator.
    """
    count = experiments.parse_processes(str(processes))
    shapes = selection.parse_arguments([args] if isinstance(args, str) else args)
    scope: AbstractContextManager[None] = nullcontext()
    chosen: tuple[SizedOp, ...] | None = None
    if names and callable(names[0]):
        if size is not None or seed or count > 1 or (args and names[1:]):
            raise SelectionError(
                "A function that is given its arguments takes neither size, seed nor"
                " args, and runs in this process alone."
            )
        op = functions.op_of(names[0])
        chosen = (SizedOp(op),)
        scope = _own.registered(op, names[0], names[1:])

    def build(own_devices: Sequence[Device], all_ops: Sequence[OpInfo]) -> Experiment:
        return experiments.build(
            chosen or selection.parse_ops(_listed(names), all_ops, own=True),
            None if size is None else selection.parse_sizes(_text(size)),
            selection.parse_dtypes(_text(dtype, _dtype)) if dtype != () else None,
            None
            if device is None
            else selection.parse_devices(_text(device, _device), own_devices),
            selection.parse_modes(_text(mode)),
            selection.parse_inputs(_text(inputs)),
            selection.parse_precisions(_text(precision)),
            catalogue=all_ops,
            known_devices=own_devices,
            budget=None if budget is None else selection.parse_budget(str(budget)),
            target=_target(target),
            seed=_seed(seed),
            keep_samples=samples,
            arguments=shapes,
            mesh=selection.parse_mesh(mesh) if mesh else None,
            processes=count,
        )

    events: list[Event] = []
    cases: list[Case] = []
    past: list[Past] = []
    try:
        if count > 1:
            state = _in_thread(_in_processes(build, events))
        else:
            all_devices, all_ops = devices(), ops()
            experiment = build(all_devices, all_ops)
            for remark in _settings.remarks():
                warnings.warn(words.text(remark), stacklevel=3)
            ready = Ready(host=_host.host(), devices=all_devices, ops=all_ops)
            events.append(ready)
            cases += experiment.cases
            with scope:
                state = _run(experiment, ready, events)
    finally:
        if history:
            past += _keep(events, cases)
    for measurements in past:
        state = with_past(state, measurements)
    run = state.jobs["bench"]
    return Measurements(collect(state.host, (), run), run)


def _run(experiment: Experiment, ready: Ready, events: list[Event]) -> State:
    """Run it; what is measured is put into ``events`` as well."""
    state = reduce(EMPTY, Envelope(generation=1, run=None, event=ready))
    series: Series = Repetition.of(experiment)
    state = replace(with_series(state, "bench", series), playing="bench")
    number = 0
    while isinstance(work := state.series["bench"].next_work, Experiment):
        number += 1
        state = begin_run(state, number, "bench", work)
        with _own.undone():
            for event in _experiment.run(work, own_process=False):
                envelope = Envelope(generation=1, run=number, event=event)
                state = reduce(state, envelope)
                if isinstance(event, CaseMeasured):
                    events.append(event)
    return state


async def _in_processes(
    build: Callable[[Sequence[Device], Sequence[OpInfo]], Experiment],
    events: list[Event],
) -> State:
    """Run it in engines; their devices are the ones that count.

    Raises:
        EngineUnavailableError: There is no engine.
    """

    def observe(event: Event) -> None:
        if isinstance(event, EngineFailed):
            why = failure_text(event, session.state.findings)
            raise EngineUnavailableError(event.remark, why)
        if isinstance(event, (Ready, CaseMeasured)):
            events.append(event)

    session = Session(EngineClient(EngineOptions()), EMPTY)
    session.observers.append(observe)
    async with following(session):
        await session.ready()
        for remark in session.state.findings:
            if remark.severity != "info":
                warnings.warn(words.text(remark), stacklevel=2)
        await session.run(build(session.state.devices, session.state.ops))
    return session.state


def _in_thread(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run it in a thread: in a notebook this one has a loop already.

    Ctrl-C ends it, and is raised once it has ended.
    """
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    try:
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(loop.run_until_complete, task)
            try:
                return future.result()
            except KeyboardInterrupt:
                loop.call_soon_threadsafe(task.cancel)
                raise
    finally:
        loop.close()


def _keep(events: Iterable[Event], cases: Sequence[Case]) -> list[Past]:
    """Keep what was measured; only now, because writing would disturb the timing.

    Gives what was measured of the cases before.
    """
    troubles: list[str] = []
    past: list[Past] = []
    recording = Recording(troubles.append, know=past.append)
    for event in events:
        if isinstance(event, CaseMeasured) and cases:
            recording.look_back(cases)
            cases = ()
        recording.observe(event)
    missing = recording.close()
    for trouble in filter(None, (*troubles, missing)):
        warnings.warn(trouble, stacklevel=4)
    return past


def _listed(values: Iterable[object]) -> list[str]:
    """The ops, whether they came one by one or in lists."""
    texts: list[str] = []
    for value in values:
        many = isinstance(value, Iterable) and not isinstance(value, str)
        texts += _listed(value) if many else [str(value)]  # type: ignore[arg-type]
    return texts


def _text(values: object, name: Callable[[Any], str] = str) -> str:
    """The values as the command line would have them.

    Args:
        values: one, or several.
        name: what one that is no text is called there.
    """
    many = isinstance(values, Iterable) and not isinstance(values, (str, type))
    return ",".join(
        item if isinstance(item, str) else name(item)
        for item in (values if many else (values,))  # type: ignore[attr-defined]
    )


def _dtype(value: object) -> str:
    """The name of NumPy's, ml_dtypes' or JAX's own kind of dtype."""
    if value is None:  # which NumPy takes for float64
        return "None"
    try:
        return np.dtype(value).name  # type: ignore[call-overload,no-any-return]
    except TypeError:
        return str(value)


def _device(value: Any) -> str:
    """The name of a device of JAX's, or of ours."""
    try:
        return f"{value.platform}:{value.id}"
    except AttributeError:
        return str(value)


def _target(value: float) -> float:
    if isinstance(value, (int, float)) and 0 <= value < 1:
        return float(value)
    raise SelectionError(
        f"The target {value!r} is not a share below 1: give 0.03 for 3 %."
    )


def _seed(value: int) -> int:
    if isinstance(value, int) and 0 <= value <= experiments.LARGEST_SEED:
        return value
    raise SelectionError(
        f"The seed {value!r} is not a whole number from 0 to"
        f" {experiments.LARGEST_SEED}: give one such as 0."
    )
