"""What ``jaxtui hlo`` was asked for, checked as far as that needs no engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from jaxtui import selection
from jaxtui.commands.compile_request import one
from jaxtui.model import HOST_MODES, Case, Device, Mode, OpInfo, Precision
from jaxtui.selection import SelectionError, listed

Stage = Literal["jaxpr", "stablehlo", "hlo", "all"]
"""Which text is printed, whole."""

STAGES: tuple[Stage, ...] = get_args(Stage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One case; its op and its device wait for the engine's lists."""

    op: str
    size: int | None = None
    dtype: str = "float32"
    precision: Precision = "default"
    device: str | None = None
    mode: Mode = "jit"
    stage: Stage | None = None
    """``None`` for the entry computation of the optimised HLO."""
    arguments: str = ""
    """What a function of the user's own is given; empty if it has a factory."""

    @classmethod
    def typed(
        cls,
        *,
        op: str | None,
        size: str | None,
        dtype: str,
        precision: str,
        device: str | None,
        mode: str,
        stage: str | None,
        arg: Sequence[str] = (),
    ) -> Request:
        """Reads the texts of a command line.

        Raises:
            SelectionError: if one of them makes no sense.
        """
        if op is None:
            raise SelectionError("Name an op, as in `jaxtui hlo selu`.")
        _check_op(op, arg)
        chosen = one(selection.parse_modes(mode), "mode")
        if chosen in HOST_MODES:
            raise SelectionError(
                f"The mode {chosen} does not go through XLA: there is jit, eager and "
                "pallas."
            )
        return cls(
            op=op,
            size=None if size is None else one(selection.parse_sizes(size), "size"),
            dtype=one(selection.parse_dtypes(dtype), "dtype"),
            precision=one(selection.parse_precisions(precision), "precision"),
            device=device,
            mode=chosen,
            stage=None if stage is None else _stage(stage),
            arguments=selection.parse_arguments(arg),
        )

    def check(self, catalogue: Sequence[OpInfo]) -> None:
        """Whether there is such an op.

        Raises:
            SelectionError: there is none.
        """
        one(selection.parse_ops([self.op], catalogue, own=True), "op")

    def case(self, catalogue: Sequence[OpInfo], devices: Sequence[Device]) -> Case:
        """The case, once it is known which ops and devices there are.

        Raises:
            SelectionError: if there is no such op or device, or the op has no such
                dtype or mode.
        """
        first = next((one for one in devices if one.addressable), devices[0])
        names = selection.parse_devices(self.device or first.name, devices)
        experiment = selection.build(
            [one(selection.parse_ops([self.op], catalogue, own=True), "op")],
            None if self.size is None else [self.size],
            [self.dtype],
            [one(names, "device")],
            [self.mode],
            precisions=[self.precision],
            catalogue=catalogue,
            known_devices=devices,
            arguments=self.arguments,
        )
        for problem in selection.problems(experiment, catalogue):
            raise SelectionError(problem)
        return experiment.cases[0]


def _check_op(op: str, arguments: Sequence[str]) -> None:
    if selection.looks_own(op):
        _, sizes = selection.parse_own(op)
        if sizes is not None:
            one(sizes, "size")
        return
    if arguments:
        raise SelectionError(selection.ARGUMENTS_ARE_OWN)
    if ":" in op:
        one(selection.parse_sizes(op.partition(":")[2]), "size")


def _stage(text: str) -> Stage:
    stage = text.strip().lower()
    if stage not in STAGES:
        raise SelectionError(
            f'There is no stage "{text.strip()}": there is {listed(STAGES)}.'
        )
    return stage
