"""The types of what is typed, and the options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from jaxtui.core import experiments, selection
from jaxtui.core import format as fmt
from jaxtui.core.model import (
    DTYPES,
    HOST_MODES,
    INPUTS,
    MODES,
    PRECISIONS,
    Case,
    Device,
    Experiment,
    Inputs,
    Mode,
    OpInfo,
    Precision,
    SelectionError,
)
from jaxtui.core.model.mesh import Mesh
from jaxtui.core.model.own import is_own
from jaxtui.core.selection import SizedOp
from jaxtui.machine import topologies
from jaxtui.ui import words
from jaxtui.ui.commands import CannotRun
from jaxtui.ui.commands.common import Decorator, Whole, flag, valued
from jaxtui.ui.commands.terminal import say

_T = TypeVar("_T")


# Types.


class Parsed(click.ParamType):  # type: ignore[type-arg]  # not in every click
    """A type of option: the result of a parser, which refuses with
    ``SelectionError``.

    Args:
        name: of the type.
        parse: takes the text.
        known: what a shell completes, each part of a list for itself.
    """

    def __init__(
        self, name: str, parse: Callable[[str], Any], choices: Sequence[str] = ()
    ) -> None:
        self.name = name
        self._parse = parse
        self._choices = choices

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Parse the text."""
        return self._parse(value) if isinstance(value, str) else value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The names that begin like the last part of the list."""
        before, comma, last = incomplete.rpartition(",")
        names = [name for name in self._choices if name.startswith(last)]
        return [CompletionItem(f"{before}{comma}{name}") for name in names]


def only(chosen: Sequence[_T], noun: str) -> _T:
    """The only one of what was typed for a command that takes one.

    Raises:
        SelectionError: there are several.
    """
    if len(chosen) > 1:
        names = ", ".join(str(getattr(choice, "name", choice)) for choice in chosen[:3])
        more = ", …" if len(chosen) > 3 else ""
        raise SelectionError(f"One {noun} at a time: choose one of {names}{more}.")
    return chosen[0]


def one_of(noun: str, choices: Sequence[str]) -> Parsed:
    """Return the type of an option that takes one of some words, whatever its case."""
    return Parsed(noun, lambda text: selection.choose(text, choices, noun), choices)


def _single(
    noun: str, parse: Callable[[str], Sequence[Any]], choices: Sequence[str] = ()
) -> Parsed:
    return Parsed(noun, lambda text: only(parse(text), noun), choices)


def _topology(text: str) -> str:
    if not topologies.may_be(text):
        families = ", ".join(family.own for family in topologies.FAMILIES)
        raise SelectionError(
            f'"{text}" is no TPU topology: write a family ({families}) and its chips'
            " per dimension, as in v5e:2x4, or one of"
            f" {', '.join(topologies.names())}."
        )
    return text


TOPOLOGY = Parsed("topology", _topology, topologies.names())
SIZES = Parsed("sizes", selection.parse_sizes)
DTYPE_LIST = Parsed("dtypes", selection.parse_dtypes, DTYPES)
INPUTS_LIST = Parsed("places", selection.parse_inputs, INPUTS)

SIZE = _single("size", selection.parse_sizes)
DTYPE = _single("dtype", selection.parse_dtypes, DTYPES)
MODE = _single("mode", selection.parse_modes, MODES)


def _device(text: str) -> str:
    """The text itself: which devices there are is known only to the engine."""
    return _given(text, "device", "cpu:0, tpu:3 or tpu")


def _given(text: str, noun: str, examples: str) -> str:
    """A text that is not empty, as a variable of a shell may be by mistake."""
    if not text.strip():
        raise SelectionError(f"The {noun} is empty: give {examples}.")
    return text


def _time(noun: str) -> Parsed:
    def parse(text: str) -> float | None:
        given = _given(text, noun, "seconds such as 10")
        return selection.parse_budget(given, noun)

    return Parsed("seconds", parse)


DEVICE = Parsed("device", _device, ("cpu:0", "gpu:0", "tpu:0"))
DEVICE_LIST = Parsed("devices", _device, ("all", "cpu", "gpu", "tpu"))

BUDGET, LIMIT = _time("budget"), _time("limit")


# Options.


json_flag = click.option(
    "--json", "as_json", is_flag=True, help="One JSON document on stdout."
)

seed = valued(
    "--seed",
    "N",
    "Seed of the random inputs.",
    0,
    type=Whole(0, experiments.LARGEST_SEED),
)

modes = valued(
    "--mode",
    "MODES",
    "numpy, eager or jit; pallas or tensorflow where the op has it.",
    "jit",
    type=Parsed("modes", selection.parse_modes, MODES),
)

_DTYPES = (
    "float64, float32, float16, bfloat16, float8_e4m3fn (f8), int32, int8 or complex64."
)

dtypes = valued("--dtype", "DTYPES", _DTYPES, "float32", type=DTYPE_LIST)

precisions = valued(
    "--precision",
    "PRECISIONS",
    "Precision of matrix products: default, high or highest.",
    "default",
    type=Parsed("precisions", selection.parse_precisions, PRECISIONS),
)


def sizes(default: str) -> Decorator:
    """``--size`` of a command that takes several."""
    meaning = "4096, 4k (4 × 1024), 1e6, 256..4096 (doubling) or 1000,2000.  "
    return valued("--size", "SIZES", f"{meaning}[default: {default}]", type=SIZES)


sure_flag = flag("--yes", "Start a long run without asking.")

own_arguments = valued(
    "--arg",
    "SHAPE",
    "An argument of your own function: f32[1024,1024], s32[]; repeat for each.",
    multiple=True,
    callback=lambda ctx, param, texts: selection.parse_arguments(texts),
)
"""The arguments of functions of a file, in the form that a case keeps."""

mesh = valued(
    "--mesh",
    "MESH",
    "Devices per axis x, y, z: 2x4; for a collective also its axes: 2x4@y.  [default: "
    "one axis]",
    type=Parsed("mesh", selection.parse_mesh),
)

one_op = click.argument("op", required=False, metavar="OP[:SIZE]")
"""The op of a command that takes one; left out, the command says what there is."""

one_size = valued(
    "--size", "SIZE", "4096, 4k or 1e6.  [default: the op's own]", type=SIZE
)

one_device = valued(
    "--device", "DEVICE", "cpu:0 or tpu:3.  [default: the first]", type=DEVICE
)

one_precision = valued(
    "--precision",
    "PRECISION",
    "Precision of a matrix product: default, high or highest.",
    "default",
    type=_single("precision", selection.parse_precisions, PRECISIONS),
)


def one_dtype(default: str) -> Decorator:
    """``--dtype`` of a command that takes one case."""
    return valued("--dtype", "DTYPE", _DTYPES, default, type=DTYPE)


def one_mode(meaning: str) -> Decorator:
    """``--mode`` of a command that takes one case."""
    return valued("--mode", "MODE", meaning, "jit", type=MODE)


# What they say of cases.


@dataclass(frozen=True, kw_only=True)
class Cases:
    """Options that say which cases a command runs; of one case they are lists of one.

    Raises:
        SelectionError: a size or a file makes no sense, or there are arguments and
            nothing that takes them; all else is known to the engine only.
    """

    op: tuple[str, ...]
    size: tuple[int, ...]
    dtype: tuple[str, ...]
    """The default of the command, if none was typed."""
    mode: tuple[Mode, ...]
    precision: tuple[Precision, ...]
    inputs: tuple[Inputs, ...] = ("device",)
    device: str | None = None
    budget: float | None = None
    target: str = "3"
    seed: int = 0
    processes: int | None = None
    """``None`` if it was not typed."""
    samples: bool = False
    typed: frozenset[str] = frozenset()
    """The options that were typed."""
    arg: str | None = None
    """``None`` of a command that takes no function of a file."""
    mesh: Mesh | None = None

    def __post_init__(self) -> None:
        for op in self.op:
            if selection.looks_own(op):
                # A host that lacks the file tells the others, which takes an engine.
                if not _is_one_of_several():
                    selection.parse_own(op)
            elif ":" in op:
                selection.parse_sizes(op.partition(":")[2])
        if self.arg and not any(map(selection.looks_own, self.op)):
            raise SelectionError(
                "--arg describes the arguments of a function of your own: name one, as"
                " in train.py:step."
            )

    def choices(self, catalogue: Sequence[OpInfo]) -> Sequence[SizedOp]:
        """The ops, once it is known which there are."""
        return selection.parse_ops(self.op, catalogue, own=self.arg is not None)

    def choice(self, catalogue: Sequence[OpInfo]) -> SizedOp:
        """The only op, of one size at most."""
        choice = only(self.choices(catalogue), "op")
        only(choice.sizes or (0,), "size")
        return choice

    def experiment(
        self,
        choices: Sequence[SizedOp],
        devices: Sequence[str] | None,
        catalogue: Sequence[OpInfo],
        known_devices: Sequence[Device],
    ) -> Experiment:
        """Build an experiment like ``experiments.build``, with all typed options."""
        catalogued = not all(is_own(choice.name) for choice in choices)
        experiment = experiments.build(
            choices,
            self.size,
            self.dtype if catalogued or "dtype" in self.typed else None,
            devices,
            self.mode,
            self.inputs,
            self.precision,
            catalogue=catalogue,
            known_devices=known_devices,
            budget=self.budget,
            target=float(self.target) / 100,
            seed=self.seed,
            keep_samples=self.samples,
            arguments=self.arg or "",
            mesh=self.mesh,
            processes=self.processes or 1,
        )
        if self.mesh and not any(case.on_mesh for case in experiment.cases):
            if {*self.mode} <= {*HOST_MODES}:
                raise SelectionError(
                    f"The mode {self.mode[0]} runs on the host, not over a mesh: choose"
                    " jit, or leave --mesh out."
                )
            raise SelectionError(
                "--mesh is for collectives and functions of your own: name one, as in"
                " `jaxtui bench all_reduce --mesh 2x4`."
            )
        for remark in experiments.refusals(experiment, catalogue):
            if remark.code == "mesh-misfit":  # typed, for every case
                raise SelectionError(words.text(remark))
        alone = experiments.refused_by_all(experiment, catalogue, "collective-alone")
        if alone is not None and len(known_devices) == 1:
            why = f"{words.sentence(alone)} `--cpu-devices 8` simulates eight."
            raise CannotRun(why) if devices is None else SelectionError(why)
        if alone is not None:
            raise SelectionError(words.text(alone))
        return experiment

    def spans(self, catalogue: Sequence[OpInfo]) -> bool:
        """Return whether the only op runs on several devices at once."""
        info = experiments.op_info(self.choice(catalogue).name, catalogue)
        return self.mesh is not None or (info is not None and info.collective)

    def case(
        self,
        device: str | None,
        catalogue: Sequence[OpInfo],
        known_devices: Sequence[Device] = (),
    ) -> Case:
        """The only case.

        Raises:
            SelectionError: if there is no such op, or it has no such dtype or mode.
        """
        choices = (self.choice(catalogue),)
        devices = None if device is None else (device,)
        experiment = self.experiment(choices, devices, catalogue, known_devices)
        for remark in experiments.refusals(experiment, catalogue):
            raise SelectionError(words.text(remark))
        return experiment.cases[0]


TYPED = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


def tell_behind(
    program: str, arguments: Sequence[str], besides: Sequence[str] = ()
) -> None:
    """Tell which options of this command a program got, as they stand behind it.

    Args:
        program: as it was typed.
        arguments: its own.
        besides: names of options that fit no program.
    """
    context = click.get_current_context()
    options = {
        option
        for param in context.command.params
        if param.name not in besides
        and context.get_parameter_source(param.name or "") not in TYPED
        for option in param.opts
        if option.startswith("--")
    }
    names = [word.partition("=")[0] for word in arguments]
    if listed := fmt.listed(name for name in names if name in options):
        say(
            f"jaxtui: {program} got {listed}. To give that to jaxtui, type it after"
            f" `jaxtui {context.command.name}`."
        )


def say_failed(program: str, status: int) -> None:
    """Say with which exit status a program ended."""
    say(f"jaxtui: {program} ended with exit status {status}.")


def with_cases(command: Callable[..., Any]) -> Callable[..., Any]:
    """Hand a command its options of cases as one argument, ``cases``."""
    names = [field.name for field in fields(Cases)]
    lists = ("op", "size", "dtype", "mode", "precision")

    @functools.wraps(command)
    def called(*positional: Any, **options: Any) -> Any:
        typed = {name: options.pop(name) for name in names if name in options}
        context = click.get_current_context()
        given = [n for n in typed if context.get_parameter_source(n) in TYPED]
        typed["typed"] = frozenset(given)
        for name in lists:
            if not isinstance(typed[name], tuple):
                typed[name] = () if typed[name] is None else (typed[name],)
        return command(*positional, cases=Cases(**typed), **options)

    return called


def _is_one_of_several() -> bool:
    context = click.get_current_context(silent=True)
    return bool(context and getattr(context.obj, "several", False))
