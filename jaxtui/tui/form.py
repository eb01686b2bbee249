"""What the form holds, and what is wrong with it, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from jaxtui import selection
from jaxtui.format import plural
from jaxtui.model import HOST, Case, Experiment, Inputs, Mode, OpInfo, Precision
from jaxtui.model.own import ARGUMENTS, is_own
from jaxtui.tui.state import Picked, State

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
    """Of the catalogue, or ``/path/to/file.py:one,two``."""
    others: tuple[str, ...] = ()
    """Of the catalogue, timed beside it."""
    sizes: str = ""
    dtypes: tuple[str, ...] = ("float32",)
    devices: tuple[str, ...] = ()
    modes: tuple[str, ...] = ("jit", "numpy")
    inputs: tuple[str, ...] = ("device",)
    precisions: tuple[str, ...] = ("default",)
    budget: str = AUTOMATIC
    arguments: str = ""
    """What the user's functions are given; empty if they have a factory."""

    @property
    def ops(self) -> tuple[str, ...]:
        """All of them."""
        return (self.op, *self.others)


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
    extent = selection.extent(experiment)
    if extent.is_large:
        return Verdict(experiment, extent.text, False)
    cases = plural(len(experiment.cases), "case")
    meaning = f"   {_meaning(values, state)}".rstrip()
    time = selection.how_long(experiment.budget)
    return Verdict(experiment, f"{cases}, about {time}{meaning}", False)


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
        sizes=str(case.size) if case.size else "",
        dtypes=(case.dtype,) if case.dtype else (),
        devices=() if case.device == HOST else (case.device,),
        modes=_with_twin(case),
        inputs=("device",) if case.on_host else (case.inputs,),
        precisions=(case.precision,),
        arguments=str((case.params or {}).get(ARGUMENTS, "")),
    )


def _with_twin(case: Case) -> tuple[str, ...]:
    """Its mode beside NumPy, of which few functions of one's own have a form."""
    if case.mode == "numpy":
        return ("jit", "numpy")
    return (case.mode,) if is_own(case.op) else (case.mode, "numpy")


def with_sizes(values: Values, sizes: str) -> Values:
    """The same form with other sizes."""
    return replace(values, sizes=sizes)


def with_pick(values: Values, pick: Picked) -> Values:
    """The same form with functions that were chosen out of a file."""
    return replace(
        values,
        op=pick.op,
        sizes=pick.sizes,
        modes=pick.modes,
        arguments=pick.arguments,
    )


def op_info(name: str, state: State) -> OpInfo | None:
    """The op of the catalogue with this name, or what is known of one's own."""
    if is_own(name):
        return selection.described(name)
    return next((op for op in state.ops if op.name == name), None)


def shared(names: Sequence[str], state: State) -> tuple[list[str], list[str]]:
    """The dtypes and the modes that all of these ops have, in the first one's order.

    Both are empty where none of them is known.
    """
    infos = [info for name in names if (info := op_info(name, state)) is not None]
    if not infos:
        return [], []
    dtypes = [one for one in infos[0].dtypes if all(one in i.dtypes for i in infos)]
    modes = [one for one in infos[0].modes if all(one in i.modes for i in infos)]
    return dtypes, [str(mode) for mode in modes]


def takes_arguments(name: str, state: State) -> bool:
    """Whether arguments decide about size and dtype: one's own function."""
    info = op_info(name, state)
    return info is not None and info.own


def _meaning(values: Values, state: State) -> str:
    """What the size means, or what decides instead of it."""
    info = op_info(values.op, state)
    if info is None:
        return ""
    if info.own and values.arguments.strip():
        return "size and dtype: those of its arguments"
    if info.own and not values.sizes.strip():
        return "size and dtype: as its factory makes them"
    others = [op_info(name, state) for name in values.others]
    if any(other and other.size_means != info.size_means for other in others):
        return "size: as each op counts it"
    return f"size: {info.size_means}"


def _build(values: Values, state: State) -> Experiment:
    own = takes_arguments(values.op, state)
    for chosen, noun in ((values.dtypes, "dtype"), (values.modes, "mode")):
        if not chosen and not (own and noun == "dtype"):
            raise selection.SelectionError(f"No {noun} is chosen: choose at least one.")
    typed = selection.split_arguments(values.arguments) if own else ()
    precisions = ("default",) if own else values.precisions or ("default",)
    sized_itself = own and (bool(typed) or not values.sizes.strip())
    return selection.build(
        selection.parse_ops(values.ops, state.ops, own=True),
        None if sized_itself else selection.parse_sizes(values.sizes),
        () if own else values.dtypes,
        values.devices or None,
        cast("tuple[Mode, ...]", values.modes),
        cast("tuple[Inputs, ...]", values.inputs or ("device",)),
        cast("tuple[Precision, ...]", precisions),
        catalogue=state.ops,
        known_devices=state.devices,
        budget=selection.parse_budget(values.budget),
        arguments=selection.parse_arguments(typed),
    )
