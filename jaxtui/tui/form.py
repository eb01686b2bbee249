"""What the form holds, and what is wrong with it, in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from jaxtui import selection
from jaxtui.model import HOST, Case, Experiment, Inputs, Mode, OpInfo, Precision
from jaxtui.tui.state import State

AUTOMATIC = ""
"""The budget's text when the default is meant."""

SWEEP = "256..2048"
"""Sizes to begin with for products of matrices."""

VECTORS = "1e4,1e5,1e6"
"""Sizes to begin with for vectors."""


@dataclass(frozen=True, slots=True)
class Values:
    """What a person has chosen and typed."""

    op: str = ""
    sizes: str = ""
    dtypes: tuple[str, ...] = ("float32",)
    devices: tuple[str, ...] = ()
    modes: tuple[str, ...] = ("jit", "numpy")
    inputs: tuple[str, ...] = ("device",)
    precisions: tuple[str, ...] = ("default",)
    budget: str = AUTOMATIC


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the form means: an experiment, or the reason why it is none."""

    experiment: Experiment | None
    message: str
    problem: bool
    """Whether the message says that something will not work."""


def judge(values: Values, state: State) -> Verdict:
    """Read the form; never raises."""
    if not state.devices:
        return Verdict(None, "JAX is not ready yet.", False)
    try:
        experiment = _build(values, state)
    except selection.SelectionError as error:
        return Verdict(None, str(error), True)
    problems = selection.problems(experiment, state.ops)
    if problems:
        return Verdict(experiment, problems[0], True)
    count = len(experiment.cases)
    cases = "1 case" if count == 1 else f"{count} cases"
    info = op_info(values.op, state)
    meaning = f"   size: {info.size_means}" if info else ""
    return Verdict(
        experiment, f"{cases}, about {experiment.budget:.3g} s{meaning}", False
    )


def default_sizes(info: OpInfo | None) -> str:
    """Sizes that suit an op: a doubling range for products, decades for vectors."""
    if info is not None and info.own:
        return ""  # its arguments decide
    if info is None or info.default <= 4096:
        return SWEEP
    return VECTORS


def of_case(case: Case) -> Values:
    """The form that describes one JAX case and its NumPy twin."""
    return Values(
        op=case.op,
        sizes=str(case.size),
        dtypes=(case.dtype,),
        devices=() if case.device == HOST else (case.device,),
        modes=("jit", "numpy") if case.mode == "numpy" else (case.mode, "numpy"),
        inputs=("device",) if case.on_host else (case.inputs,),
        precisions=(case.precision,),
    )


def with_sizes(values: Values, sizes: str) -> Values:
    """The same form with other sizes."""
    return replace(values, sizes=sizes)


def op_info(name: str, state: State) -> OpInfo | None:
    """The op of the catalogue with this name."""
    return next((op for op in state.ops if op.name == name), None)


def _sized_itself(values: Values, state: State) -> bool:
    """Whether the op is a function of a package, and no size is typed for it."""
    info = op_info(values.op, state)
    return info is not None and info.own and not values.sizes.strip()


def _build(values: Values, state: State) -> Experiment:
    for chosen, noun in ((values.dtypes, "dtype"), (values.modes, "mode")):
        if not chosen:
            raise selection.SelectionError(f"No {noun} is chosen: choose at least one.")
    return selection.build(
        selection.parse_ops([values.op], state.ops),
        None if _sized_itself(values, state) else selection.parse_sizes(values.sizes),
        values.dtypes,
        values.devices or None,
        cast("tuple[Mode, ...]", values.modes),
        cast("tuple[Inputs, ...]", values.inputs or ("device",)),
        cast("tuple[Precision, ...]", values.precisions or ("default",)),
        catalogue=state.ops,
        known_devices=state.devices,
        budget=selection.parse_budget(values.budget),
    )
