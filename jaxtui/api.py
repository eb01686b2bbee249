"""The Python API: the measuring core in this process, for notebooks and scripts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

import numpy as np

from jaxtui import experiments, functions, selection
from jaxtui.engine.protocol import Envelope
from jaxtui.history.recording import Recording
from jaxtui.measure import devices as _devices
from jaxtui.measure import experiment as _experiment
from jaxtui.measure import host as _host
from jaxtui.measure import own as _own
from jaxtui.measure import settings as _settings
from jaxtui.measure.ops import catalogue
from jaxtui.measurements import Measurements
from jaxtui.model import (
    CaseMeasured,
    Device,
    Event,
    Experiment,
    OpInfo,
    Ready,
    SelectionError,
)
from jaxtui.selection import SizedOp
from jaxtui.state import EMPTY, Job, begin_run, reduce
from jaxtui.view.bench import collect

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
        device: such as ``"tpu:0"``, ``"all"`` or ``jax.devices()[0]``; ``None`` is the
            first.
        mode: ``numpy``, ``eager``, ``jit``.
        inputs: where arguments live before each call, ``device`` or ``host``.
        precision: of matrix products.
        budget: seconds for everything, compile included; ``None`` is the larger of
            10 s and 1 s per case, for measuring alone.
        target: a case stops when its interval's half-width relative to the median is
            this small; 0 samples until the budget ends.
        seed: of the random inputs.
        samples: keep every sample in the measurements.
        history: keep the measurements in the history, as ``jaxtui bench`` does.
        args: what functions of your own are given, such as ``["f32[1024,1024]"]``, if
            there is nothing beside them that makes it.

    Returns:
        The measurements, and the failures of cases that have none.

    Raises:
        SelectionError: if an argument makes no sense; the text is one sentence.
    """
    known, known_ops = devices(), ops()
    with ExitStack() as stack:
        if names and callable(names[0]):
            if size is not None or seed or (args and names[1:]):
                raise SelectionError(
                    "A function that is given its arguments takes neither size, seed"
                    " nor args."
                )
            op = functions.op_of(names[0])
            stack.enter_context(_own.given(op, names[0], names[1:]))
            chosen: tuple[SizedOp, ...] = (SizedOp(op),)
        else:
            chosen = selection.parse_ops(_listed(names), known_ops, own=True)
        experiment = experiments.build(
            chosen,
            None if size is None else selection.parse_sizes(_text(size)),
            selection.parse_dtypes(_text(dtype, _dtype)) if dtype != () else None,
            None
            if device is None
            else selection.parse_devices(_text(device, _device), known),
            selection.parse_modes(_text(mode)),
            selection.parse_inputs(_text(inputs)),
            selection.parse_precisions(_text(precision)),
            catalogue=known_ops,
            known_devices=known,
            budget=None if budget is None else selection.parse_budget(str(budget)),
            target=_target(target),
            seed=_seed(seed),
            keep_samples=samples,
            arguments=selection.parse_arguments(
                [args] if isinstance(args, str) else args
            ),
        )
        for finding in map(_settings.finding, _settings.deviations()):
            warnings.warn(f"{finding.what} {finding.advice}", stacklevel=2)
        host = _host.host()
        events: list[Event] = [Ready(host=host, devices=known, ops=known_ops)]
        try:
            run = _run(experiment, events)
        finally:
            if history:
                _keep(events)

    return Measurements(collect(host, experiment.cases, run), run)


def _run(experiment: Experiment, events: list[Event]) -> Job:
    """Run it; what is measured is put into ``events`` as well."""
    state = begin_run(EMPTY, 1, "bench", experiment)
    for event in _experiment.run(experiment, own_process=False):
        state = reduce(state, Envelope(generation=1, run=1, event=event))
        if isinstance(event, CaseMeasured):
            events.append(event)
    return state.jobs["bench"]


def _keep(events: Iterable[Event]) -> None:
    """Keep what was measured; only now, because writing would disturb the timing."""
    said: list[str] = []
    recording = Recording(said.append)
    for event in events:
        recording.observe(event)
    missing = recording.close()
    for sentence in (*said, *filter(None, [missing])):
        warnings.warn(sentence, stacklevel=3)


def _listed(values: Iterable[object]) -> list[str]:
    """The ops, whether they came one by one or in lists."""
    found: list[str] = []
    for value in values:
        many = isinstance(value, Iterable) and not isinstance(value, str)
        found += _listed(value) if many else [str(value)]  # type: ignore[arg-type]
    return found


def _text(values: object, name: Callable[[Any], str] = str) -> str:
    """The values as the command line would have them.

    Args:
        values: one, or several.
        name: what one that is no text is called there.
    """
    many = isinstance(values, Iterable) and not isinstance(values, (str, type))
    return ",".join(
        one if isinstance(one, str) else name(one)
        for one in (values if many else (values,))  # type: ignore[attr-defined]
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
        f"The target {value!r} is no share: give one such as 0.03, below 1."
    )


def _seed(value: int) -> int:
    if isinstance(value, int) and 0 <= value <= experiments.LARGEST_SEED:
        return value
    raise SelectionError(
        f"The seed {value!r} is none: give a whole number from 0 to "
        f"{experiments.LARGEST_SEED}."
    )
