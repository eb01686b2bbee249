"""The cross product of what was chosen, as an experiment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxtui.model import (
    HOST,
    HOST_MODES,
    Case,
    Device,
    Experiment,
    Host,
    Inputs,
    Mode,
    OpInfo,
    Precision,
)
from jaxtui.model.own import ARGUMENTS, is_own
from jaxtui.selection.combining import Wanted, lengths, ways
from jaxtui.selection.extent import Lists, refuse_too_many
from jaxtui.selection.names import OpChoice, first_device, listed
from jaxtui.selection.own import described, own_dtypes
from jaxtui.selection.sizes import SelectionError

DEFAULT_BUDGET_SECONDS = 5.0
"""For the experiment that Enter runs in the first minute."""


def build(
    ops: Sequence[OpChoice],
    sizes: Sequence[int] | None = None,
    dtypes: Sequence[str] = ("float32",),
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
) -> Experiment:
    """The experiment of every combination, in the order op, size, dtype, …, inputs.

    What has no meaning for a combination falls back, and a case that arises twice is
    kept once: NumPy and TensorFlow run on the host with default precision, and an op
    without matrix products has only the default precision. Of a function of the user's
    own the arguments decide about the dtype, and if they were typed about the size.
    A dtype or a mode that an op does not have stays a case, so that whatever was asked
    for ends as a measurement or a named failure; ``problems`` says so beforehand.

    Args:
        ops: what to run; sizes that an op carries replace ``sizes`` for it.
        sizes: ``None`` means each op's own default.
        dtypes: of the inputs.
        devices: by name; ``None`` means the first that this process can address.
        modes: how to execute.
        inputs: where arguments live before each call.
        precisions: of matrix products.
        catalogue: the ops that exist.
        known_devices: the devices that exist.
        budget: seconds for everything; ``None`` means the default.
        target: relative half-width of the interval at which a case stops.
        seed: of the random inputs.
        keep_samples: whether measurements carry every sample.
        arguments: what functions of the user's own are given, as ``parse_arguments``
            makes it; empty if they have a factory.

    Raises:
        SelectionError: if there is no case, or more than ``MAXIMUM_CASES``, or no
            device, or if no op takes any of the precisions.
    """
    infos = _infos(ops, catalogue)
    if devices is None:
        devices = [first_device(known_devices).name]
    _check_precisions([infos[choice.name] for choice in ops], precisions)
    wanted = [
        Wanted(
            info,
            _sizes(choice, info, sizes, arguments),
            tuple(own_dtypes(arguments) if info.own else dtypes),
            ways(info, precisions, devices, modes, inputs),
            {ARGUMENTS: arguments} if info.own and arguments else None,
        )
        for choice, info in ((one, infos[one.name]) for one in ops)
    ]
    # Before any is made: slips of the hand come to hundreds of millions.
    refuse_too_many(
        sum(one.count for one in wanted),
        Lists(
            ops=lengths(wanted),
            precisions=len(precisions),
            devices=len(devices) if set(modes) - set(HOST_MODES) else 1,
            modes=len(modes),
            inputs=len(inputs),
        ),
    )
    cases = dict.fromkeys(case for one in wanted for case in one.cases())
    if not cases:
        raise SelectionError("Nothing is selected: name an op, a dtype and a mode.")
    return Experiment(
        cases=tuple(cases),
        budget_seconds=budget,
        target_half_width=target,
        keep_samples=keep_samples,
        seed=seed,
    )


def problems(experiment: Experiment, catalogue: Sequence[OpInfo]) -> tuple[str, ...]:
    """Sentences about cases that are known to fail, to be shown while typing.

    Memory is not judged here: that needs the engine's ``Plan``.
    """
    infos = {op.name: op for op in catalogue}
    sentences = (
        sentence
        for case in experiment.cases
        for sentence in _lacking(case, infos.get(case.op) or described(case.op))
    )
    return tuple(dict.fromkeys(sentences))


def _lacking(case: Case, info: OpInfo) -> Iterator[str]:
    if info.problem:
        yield info.problem
    if case.dtype not in info.dtypes and not info.own:
        yield f"{info.name} does not take {case.dtype}: it takes {listed(info.dtypes)}."
    if case.mode not in info.modes:
        yield f"{info.name} has no mode {case.mode}: it has {listed(info.modes)}."


def default_experiment(
    devices: Sequence[Device], catalogue: Sequence[OpInfo], host: Host
) -> Experiment:
    """What Enter runs in the first minute: one matmul, and its NumPy twin.

    The size makes one call last milliseconds, so that dispatch and ready lie visibly
    apart, in the dtype that the device is made for; NumPy has no fast bfloat16, so its
    twin is float32.

    Raises:
        SelectionError: if this process can address no device.
    """
    device = first_device(devices)
    if device.platform == "cpu":
        size, dtype = (1000 if (host.cpu_count or 1) <= 4 else 2000), "float32"
    else:
        size, dtype = 8192, "bfloat16"
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
        budget_seconds=DEFAULT_BUDGET_SECONDS,
    )


def _sizes(
    choice: OpChoice, info: OpInfo, sizes: Sequence[int] | None, arguments: str
) -> tuple[int, ...]:
    if info.own and arguments:
        return (0,)
    return tuple(choice.sizes or sizes or (info.default,))


def _infos(ops: Sequence[OpChoice], catalogue: Sequence[OpInfo]) -> dict[str, OpInfo]:
    own = (described(choice.name) for choice in ops if is_own(choice.name))
    return {op.name: op for op in (*catalogue, *own)}


def _check_precisions(ops: Sequence[OpInfo], precisions: Sequence[Precision]) -> None:
    if "default" in precisions or any(op.takes_precision for op in ops):
        return
    names = " and ".join(dict.fromkeys(op.name for op in ops))
    raise SelectionError(
        f'The precision "{precisions[0]}" is for matrix products: '
        f"{names} takes only default."
    )
