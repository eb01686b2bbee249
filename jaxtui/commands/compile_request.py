"""What ``jaxtui compile`` was asked for, checked as far as that needs no JAX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from jaxtui import selection
from jaxtui.machine.topologies import TopologyError, parse
from jaxtui.model import COMPILED_MODES, Case, Mode, OpInfo, Precision
from jaxtui.model.ahead import Topology
from jaxtui.selection import SelectionError

DEVICE = "tpu:0"
"""What the first device of a topology is called, until it is known better."""

DEFAULT_LIMIT_SECONDS = 600.0

_One = TypeVar("_One")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One op for one topology; the op waits for the catalogue."""

    op: str
    asked: str
    """The topology as it was typed."""
    topology: Topology
    size: int | None = None
    dtype: str = "float32"
    mode: Mode = "jit"
    precision: Precision = "default"
    limit_seconds: float = DEFAULT_LIMIT_SECONDS
    hlo: bool = False

    @classmethod
    def typed(
        cls,
        *,
        op: str | None,
        topology: str | None,
        size: str | None,
        dtype: str,
        mode: str,
        precision: str,
        limit: str | None,
        hlo: bool,
    ) -> Request:
        """Reads the texts of a command line.

        Raises:
            SelectionError: if one of them makes no sense.
        """
        if op is None or topology is None:
            what = "an op" if op is None else "a topology"
            raise SelectionError(
                f"Name {what}, as in `jaxtui compile matmul --topology v5e:2x4`."
            )
        if ":" in op and not selection.looks_own(op):
            one(selection.parse_sizes(op.partition(":")[2]), "size")
        chosen = one(selection.parse_modes(mode), "mode")
        if chosen not in COMPILED_MODES:
            raise SelectionError(
                f"The mode {chosen} compiles nothing: there is "
                f"{' and '.join(COMPILED_MODES)}."
            )
        return cls(
            op=op,
            asked=topology.strip(),
            topology=parsed(topology),
            size=None if size is None else one(selection.parse_sizes(size), "size"),
            dtype=one(selection.parse_dtypes(dtype), "dtype"),
            mode=chosen,
            precision=one(selection.parse_precisions(precision), "precision"),
            limit_seconds=_limit(limit),
            hlo=hlo,
        )

    def case(self, catalogue: Sequence[OpInfo]) -> Case:
        """The case, once it is known which ops there are.

        Raises:
            SelectionError: if there is no such op, or it has no such dtype or mode.
        """
        experiment = selection.build(
            [one(selection.parse_ops([self.op], catalogue), "op")],
            None if self.size is None else [self.size],
            [self.dtype],
            [DEVICE],
            [self.mode],
            precisions=[self.precision],
            catalogue=catalogue,
            known_devices=(),
        )
        for problem in selection.problems(experiment, catalogue):
            raise SelectionError(problem)
        return experiment.cases[0]


def parsed(topology: str) -> Topology:
    """The topology that was typed.

    Raises:
        SelectionError: there is none of this name.
    """
    try:
        return parse(topology)
    except TopologyError as error:
        raise SelectionError(str(error)) from error


def _limit(text: str | None) -> float:
    try:
        return selection.parse_budget(text or "") or DEFAULT_LIMIT_SECONDS
    except SelectionError as error:
        raise SelectionError(str(error).replace("budget", "limit")) from error


def one(chosen: Sequence[_One], noun: str) -> _One:
    """The only one of what was typed.

    Raises:
        SelectionError: there are several.
    """
    if len(chosen) > 1:
        listed = ", ".join(str(getattr(each, "name", each)) for each in chosen[:3])
        more = ", …" if len(chosen) > 3 else ""
        raise SelectionError(
            f"One {noun} is compiled at a time: choose one of {listed}{more}."
        )
    return chosen[0]
