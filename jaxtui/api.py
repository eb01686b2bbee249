"""The Python API: the measuring core in this process, for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Iterable

from jaxtui import selection
from jaxtui.document import Results, collect
from jaxtui.engine.protocol import Envelope
from jaxtui.measure import devices as _devices
from jaxtui.measure import experiment as _experiment
from jaxtui.measure import host as _host
from jaxtui.measure.ops import catalogue
from jaxtui.model import Device, OpInfo
from jaxtui.tui.state import EMPTY, reduce

Names = str | Iterable[str]
"""``"float32,bfloat16"`` or ``["float32", "bfloat16"]``."""


def devices() -> tuple[Device, ...]:
    """Every JAX device; starts JAX's backend, which may claim the accelerator."""
    return tuple(_devices.describe())


def ops() -> tuple[OpInfo, ...]:
    """The ops that ``bench`` can time."""
    return catalogue()


def bench(
    *names: str,
    size: int | str | Iterable[int] | None = None,
    dtype: Names = "float32",
    device: Names | None = None,
    mode: Names = "jit",
    inputs: Names = "device",
    precision: Names = "default",
    budget: float | None = None,
    target: float = 0.03,
    seed: int = 0,
    samples: bool = False,
) -> Results:
    """Time every combination in this process, taking turns.

    Args:
        names: ops, each with a size of its own if wanted: ``"matmul:2k"``.
        size: as on the command line (``"256..4096"``), or numbers; ``None`` is each
            op's default.
        dtype: of the inputs.
        device: such as ``"tpu:0"`` or ``"all"``; ``None`` is the first.
        mode: ``numpy``, ``eager``, ``jit``.
        inputs: where arguments live before each call, ``device`` or ``host``.
        precision: of matrix products.
        budget: seconds for everything, compile included; ``None`` is the larger of
            10 s and 1 s per case.
        target: a case stops when its interval's half-width relative to the median is
            this small.
        seed: of the random inputs.
        samples: keep every sample in the measurements.

    Returns:
        The measurements, and the failures of cases that have none.

    Raises:
        SelectionError: if a name or a size makes no sense.
    """
    known = devices()
    known_ops = ops()
    experiment = selection.build(
        selection.parse_ops(names, known_ops),
        None if size is None else selection.parse_sizes(_text(size)),
        selection.parse_dtypes(_text(dtype)),
        None if device is None else selection.parse_devices(_text(device), known),
        selection.parse_modes(_text(mode)),
        selection.parse_inputs(_text(inputs)),
        selection.parse_precisions(_text(precision)),
        catalogue=known_ops,
        known_devices=known,
        budget=budget,
        target=target,
        seed=seed,
        keep_samples=samples,
    )
    state = EMPTY
    for event in _experiment.run(experiment):
        state = reduce(state, Envelope(generation=1, run=1, event=event))
    return collect(_host.host(), experiment.cases, state.run)


def _text(values: object) -> str:
    """The values as the command line would have them."""
    if isinstance(values, Iterable) and not isinstance(values, str):
        return ",".join(str(value) for value in values)
    return str(values)
