"""The form as plain values: their meaning, and their problems."""

from __future__ import annotations

import shlex
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
from jaxtui.features.bench.listing import SHORT
from jaxtui.ui import words
from jaxtui.ui.app.state import State
from jaxtui.ui.progress import extent_duration, extent_text


class Values(msgspec.Struct, frozen=True):
    """The values that a person has chosen and typed, named like the form's fields."""

    op: str = "matmul"
    """An op of the catalogue, or ``/path/to/file.py:one,two``."""
    sizes: str = ""
    """Empty for the op's own."""
    dtypes: tuple[str, ...] = ("float32",)
    """Empty for functions of a file."""
    devices: tuple[str, ...] = ()
    modes: tuple[str, ...] = ("numpy", "jit")
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
    def subject(self) -> str:
        """The op with its sizes: ``matmul:256..2048``."""
        sized = self.sizes.strip() and not self.arguments.strip()
        return f"{self.op}:{self.sizes.strip()}" if sized else self.op

    @property
    def options(self) -> dict[str, str]:
        """What stands behind the op on the command line, without the defaults."""
        listed = {
            "dtype": [SHORT.get(dtype, dtype) for dtype in self.dtypes],
            "mode": self.modes,
            "device": self.devices,
            "inputs": self.inputs if self.inputs != ("device",) else (),
            "precision": self.precisions if self.precisions != ("default",) else (),
        }
        typed = {
            "mesh": self.mesh,
            "processes": self.processes,
            "budget": self.budget,
        }
        options = {name: ",".join(values) for name, values in listed.items()}
        options |= {name: text.strip() for name, text in typed.items()}
        return {name: text for name, text in options.items() if text}

    @property
    def command(self) -> str:
        """The command that times the same cases."""
        words = ["jaxtui", "bench", self.subject]
        for argument in selection.split_arguments(self.arguments):
            words += ["--arg", argument]
        for name, text in self.options.items():
            words += [f"--{name}", text]
        return shlex.join(words)

    @property
    def summary(self) -> str:
        """The values in a line: ``matmul:256..2048 · f32 · numpy,jit · cpu:0``."""
        plain = ("dtype", "mode", "device")
        options = self.options.items()
        facts = (text if name in plain else f"{name} {text}" for name, text in options)
        subject = self.subject.replace(self.op, brief_name(self.op), 1)
        arguments = self.arguments.strip()
        return " · ".join((subject, *([arguments] if arguments else ()), *facts))


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

    def distinct(values: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value for value in values if value))

    jax = [case for case in cases if not case.on_host]
    ops = distinct(case.op for case in cases)
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
        sizes=text,
        dtypes=distinct(case.dtype for case in cases),
        devices=distinct(case.device for case in jax),
        modes=distinct(case.mode for case in cases),
        inputs=distinct(case.inputs for case in jax) or ("device",),
        precisions=distinct(case.precision for case in jax or cases),
        arguments=str((cases[0].params or {}).get(ARGUMENTS, "")),
        mesh=next(filter(None, (mesh_text(case.params) for case in cases)), ""),
    )


def of_functions(values: Values, op: str) -> Values:
    """Return the form with functions of a file, whose arguments come from the file."""
    return replace(values, op=op, sizes="", modes=("jit",), arguments="", mesh="")


def takes_mesh(op: str, state: State) -> bool:
    """Return whether an op can run over a mesh, and there are devices for one."""
    info = op_info(op, state.ops)
    spans = info is not None and (info.own or info.collective)
    return spans and len(state.devices) > 1


def _size_meaning(values: Values, state: State) -> str:
    """Return the meaning of the size, or what decides instead of it."""
    info = op_info(values.op, state.ops)
    assert info is not None, values
    if info.own and values.arguments.strip():
        return "size and dtype: from its arguments"
    if info.own and not values.sizes.strip():
        return "size and dtype: from its factory"
    return f"size: {info.size_means}"


def _build(values: Values, state: State) -> Experiment:
    own = is_own(values.op)
    chosen = {"mode": values.modes, "device": values.devices}
    for noun, names in (chosen if own else {"dtype": values.dtypes, **chosen}).items():
        if not names:
            raise SelectionError(f"Choose at least one {noun}.")
    arguments = selection.parse_arguments(selection.split_arguments(values.arguments))
    return experiments.build(
        selection.parse_ops((values.op,), state.ops, own=True),
        selection.parse_sizes(values.sizes) if values.sizes.strip() else None,
        () if own else values.dtypes,
        values.devices,
        cast("tuple[Mode, ...]", values.modes),
        cast("tuple[Inputs, ...]", values.inputs or ("device",)),
        cast("tuple[Precision, ...]", values.precisions or ("default",)),
        catalogue=state.ops,
        known_devices=state.devices,
        budget=selection.parse_budget(values.budget),
        processes=experiments.parse_processes(values.processes),
        arguments=arguments,
        mesh=selection.parse_mesh(values.mesh) if values.mesh.strip() else None,
    )


def why_no_sweep(case: Case) -> str:
    """Return why a case cannot be timed over many sizes; empty if it can."""
    if not is_own(case.op):
        return ""
    name = short_name(case.op)
    if (case.params or {}).get(ARGUMENTS):
        return f"{name} has no sizes: its arguments were typed."
    if not case.size:
        return f"{name} has no sizes: its factory takes none."
    return ""
