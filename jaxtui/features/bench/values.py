"""The form as plain values: their meaning, and their problems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import msgspec
from msgspec.structs import replace

from jaxtui.core import experiments, selection
from jaxtui.core import format as fmt
from jaxtui.core.experiments import op_info
from jaxtui.core.model import Case, Experiment, Inputs, Mode, Precision, SelectionError
from jaxtui.core.model.mesh import mesh_text
from jaxtui.core.model.own import ARGUMENTS, brief_name, is_own, parts, short_name
from jaxtui.ui import words
from jaxtui.ui.app.state import State
from jaxtui.ui.progress import extent_duration, extent_text


class Values(msgspec.Struct, frozen=True):
    """The values that a person has chosen and typed."""

    op: str = ""
    """An op of the catalogue, or ``/path/to/file.py:one,two``."""
    others: tuple[str, ...] = ()
    """More ops of the catalogue, timed in the same run."""
    sizes: str = ""
    dtypes: tuple[str, ...] = ("float32",)
    devices: tuple[str, ...] = ()
    modes: tuple[str, ...] = ("jit", "numpy")
    inputs: tuple[str, ...] = ("device",)
    precisions: tuple[str, ...] = ("default",)
    budget: str = ""
    """Seconds; empty for the default."""
    processes: str = ""
    """The number of processes; empty for one."""
    arguments: str = ""
    """The arguments of the user's functions; empty if they have a factory."""
    mesh: str = ""
    """Over which collectives and the user's functions run; empty for the default."""

    @property
    def ops(self) -> tuple[str, ...]:
        return (self.op, *self.others)

    @property
    def summary(self) -> str:
        """The values in a line: ``matmul · 256..2048 · float32 · jit · cpu:0``."""
        ops = ", ".join(brief_name(op) for op in self.ops if op)
        own = is_own(self.op)
        facts = [
            ops,
            self.arguments if own and self.arguments.strip() else self.sizes,
            "" if own else ", ".join(self.dtypes),
            ", ".join(self.modes),
            ", ".join(self.devices),
            f"mesh {self.mesh.strip()}" * bool(self.mesh.strip()),
            *("inputs on the host" for value in self.inputs if value == "host"),
            *(f"precision {value}" for value in self.precisions if value != "default"),
            f"{self.processes} processes" * (self.processes.strip() not in ("", "1")),
        ]
        return " · ".join(part.strip() for part in facts if part.strip())


class Meaning(msgspec.Struct, frozen=True):
    """The meaning of the form: an experiment, or the reason why it is none."""

    experiment: Experiment | None
    message: str
    problem: bool
    """True if the message says that something will not work."""


def interpret(values: Values, state: State) -> Meaning:
    """Read the form; never raises."""
    if not state.devices:
        return Meaning(None, state.no_jax, state.engine == "failed")
    try:
        experiment = _build(values, state)
    except SelectionError as error:
        return Meaning(None, str(error), True)
    for remark in experiments.refusals(experiment, state.ops):
        return Meaning(experiment, words.text(remark), True)
    extent = experiments.extent(experiment)
    if extent.is_large:
        return Meaning(experiment, extent_text(extent), False)
    cases = fmt.plural(len(experiment.cases), "case")
    size = f"   {_size_meaning(values, state)}".rstrip()
    return Meaning(experiment, f"{cases}, {extent_duration(extent)}{size}", False)


def of_case(case: Case) -> Values:
    """The form that describes one JAX case and its NumPy twin."""
    modes: tuple[str, ...] = (case.mode, "numpy")
    if case.mode == "numpy":
        modes = ("jit", "numpy")
    elif is_own(case.op):  # few of them have a form in NumPy
        modes = (case.mode,)
    return replace(of_cases((case,)), modes=modes)


def of_cases(cases: Sequence[Case]) -> Values:
    """The form that describes the cases of an experiment."""

    def each(values: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value for value in values if value))

    jax = [case for case in cases if not case.on_host]
    ops = each(case.op for case in cases)
    if is_own(ops[0]):  # those of one file are one entry
        file = parts(ops[0])[0]
        names = [parts(op)[1] for op in ops if is_own(op) and parts(op)[0] == file]
        ops = (f"{file}:{','.join(names)}",)
    sizes = sorted({case.size for case in cases if case.size})
    text = ",".join(map(str, sizes))
    if len(sizes) > 2:
        doubling = f"{sizes[0]}..{sizes[-1]}"
        if list(selection.parse_sizes(doubling)) == sizes:
            text = doubling
    return Values(
        op=ops[0],
        others=ops[1:],
        sizes=text,
        dtypes=each(case.dtype for case in cases),
        devices=each(case.device for case in jax),
        modes=each(case.mode for case in cases),
        inputs=each(case.inputs for case in jax) or ("device",),
        precisions=each(case.precision for case in jax or cases),
        arguments=str((cases[0].params or {}).get(ARGUMENTS, "")),
        mesh=next(filter(None, (mesh_text(case.params) for case in cases)), ""),
    )


def of_functions(values: Values, op: str) -> Values:
    """Return the form with functions of a file, whose arguments come from the file."""
    return replace(
        values, op=op, others=(), sizes="", modes=("jit",), arguments="", mesh=""
    )


def shared(names: Sequence[str], state: State) -> tuple[Sequence[str], Sequence[str]]:
    """The dtypes and the modes that all of these ops have, in the first one's order.

    Both are empty where none of them is known.
    """
    infos = [info for name in names if (info := op_info(name, state.ops))]
    if not infos:
        return [], []
    dtypes = [v for v in infos[0].dtypes if all(v in i.dtypes for i in infos)]
    modes: list[str] = [v for v in infos[0].modes if all(v in i.modes for i in infos)]
    return dtypes, modes


def takes_mesh(values: Values, state: State) -> bool:
    """Return whether an op can run over a mesh, and there are devices for one."""
    infos = [op_info(name, state.ops) for name in values.ops]
    spans = any(info is not None and (info.own or info.collective) for info in infos)
    return spans and len(state.devices) > 1


def takes_arguments(name: str, state: State) -> bool:
    """Return whether arguments decide about size and dtype: one's own function."""
    info = op_info(name, state.ops)
    return info is not None and info.own


def _size_meaning(values: Values, state: State) -> str:
    """Return the meaning of the size, or what decides instead of it."""
    info = op_info(values.op, state.ops)
    if info is None:
        return ""
    if info.own and values.arguments.strip():
        return "size and dtype: from its arguments"
    if info.own and not values.sizes.strip():
        return "size and dtype: from its factory"
    infos = [op_info(name, state.ops) for name in values.others]
    if any(more and more.size_means != info.size_means for more in infos):
        return "size: as each op counts it"
    return f"size: {info.size_means}"


def _build(values: Values, state: State) -> Experiment:
    own = takes_arguments(values.op, state)
    for chosen, noun in ((values.dtypes, "dtype"), (values.modes, "mode")):
        if not chosen and not (own and noun == "dtype"):
            raise SelectionError(f"Choose at least one {noun}.")
    typed = selection.split_arguments(values.arguments) if own else ()
    precisions = ("default",) if own else values.precisions or ("default",)
    meshed = bool(values.mesh.strip()) and takes_mesh(values, state)
    sized_itself = own and (bool(typed) or not values.sizes.strip())
    return experiments.build(
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
        processes=experiments.parse_processes(values.processes),
        arguments=selection.parse_arguments(typed),
        mesh=selection.parse_mesh(values.mesh) if meshed else None,
    )


def why_no_sweep(case: Case, state: State) -> str:
    """Return why a case cannot be timed over many sizes; empty if it can."""
    if not takes_arguments(case.op, state):
        return ""
    name = short_name(case.op)
    if (case.params or {}).get(ARGUMENTS):
        return f"{name} has no sizes: its arguments were typed."
    if not case.size:
        return f"{name} has no sizes: its factory takes none."
    return ""
