"""What ``jaxtui roofline`` was asked for, checked as far as that needs no engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jaxtui import selection
from jaxtui.analysis.roofline import needed
from jaxtui.commands import request as bench
from jaxtui.model import Device, Experiment, OpInfo
from jaxtui.model.roofs import Roofs
from jaxtui.selection import SelectionError

ROOF_SECONDS = 10.0
"""For the roofs, unless there is a budget for everything."""

ROOF_SHARE = 1 / 3
"""Of such a budget."""

ANY_OP = "matmul"
"""Stands for the whole catalogue until that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of a roofline; ops and the device wait for the engine's lists."""

    cases: bench.Request
    """As for ``jaxtui bench``, which has the same options."""
    everything: bool = False
    """No op was named."""

    @classmethod
    def typed(
        cls,
        *,
        op: tuple[str, ...],
        size: str | None,
        dtype: str,
        device: str | None,
        mode: str,
        precision: str,
        budget: str | None,
        seed: int,
        yes: bool,
        arg: tuple[str, ...],
    ) -> Request:
        """Reads the texts of a command line.

        Raises:
            SelectionError: if one of them makes no sense.
        """
        cases = bench.Request.typed(
            ops=op or (ANY_OP,),
            size=size,
            dtype=dtype,
            device=device,
            mode=mode,
            inputs="device",
            precision=precision,
            budget=budget,
            target="3",
            seed=seed,
            samples=False,
            yes=yes,
            arg=arg,
        )
        return cls(cases=cases, everything=not op)

    def check(self, catalogue: Sequence[OpInfo]) -> None:
        """Refuses what the catalogue lacks.

        Raises:
            SelectionError: if an op does not exist.
        """
        self._choices(catalogue)

    def experiment(
        self, catalogue: Sequence[OpInfo], devices: Sequence[Device]
    ) -> Experiment:
        """The cases at the sizes of their ops, once it is known what there is.

        Without an op it is every one of the catalogue that takes one of the dtypes, in
        the modes that it has.

        Raises:
            SelectionError: if an op or a device does not exist, or several devices are
                named.
        """
        self.device(devices)
        wanted = self.cases
        if self.everything:
            wanted = replace(wanted, ops=self._fitting(catalogue))
        made = wanted.experiment(catalogue, devices)
        if not self.everything:
            return made
        ops = {op.name: op for op in catalogue}
        cases = tuple(
            case
            for case in made.cases
            if case.dtype in ops[case.op].dtypes and case.mode in ops[case.op].modes
        )
        return Experiment(
            cases=cases,
            budget_seconds=made.budget_seconds,
            target_half_width=made.target_half_width,
            seed=made.seed,
        )

    def device(self, devices: Sequence[Device]) -> str:
        """The one whose roofs they are.

        Raises:
            SelectionError: if there is none of that name, or several.
        """
        text = self.cases.devices
        if text is None:
            return selection.first_device(devices).name
        found = selection.parse_devices(text, devices)
        if len(found) > 1:
            raise SelectionError(
                f'"{text}" is {len(found)} devices: a roofline has the roofs of one, '
                f"such as {found[0]}."
            )
        return found[0]

    def roofs(
        self, experiment: Experiment, device: str, catalogue: Sequence[OpInfo]
    ) -> Roofs:
        """The roofs that those cases stand under."""
        budget = self.cases.budget
        return Roofs(
            device=device,
            dtypes=needed(experiment.cases, device, catalogue),
            budget_seconds=ROOF_SECONDS if budget is None else budget * ROOF_SHARE,
            seed=self.cases.seed,
        )

    def remaining(self, experiment: Experiment, spent: float) -> float:
        """The budget that the cases have, after so many seconds for the roofs.

        Compiling for the roofs comes on top of theirs, but never leaves the cases less
        than a third of it all.
        """
        budget = self.cases.budget
        if budget is None:
            return experiment.budget
        return max(budget - spent, budget / 3)

    def may_grow(self, op: str, catalogue: Sequence[OpInfo]) -> bool:
        """Whether the sizes of an op were left to us."""
        if self.cases.sizes is not None:
            return False
        if self.everything:
            return True
        return all(
            choice.sizes is None
            for choice in self._choices(catalogue)
            if choice.name == op
        )

    def _choices(self, catalogue: Sequence[OpInfo]) -> Sequence[selection.OpChoice]:
        if self.everything:
            return ()
        return selection.parse_ops(self.cases.ops, catalogue, own=True)

    def _fitting(self, catalogue: Sequence[OpInfo]) -> tuple[str, ...]:
        """The ops that take one of the dtypes.

        Raises:
            SelectionError: if none does.
        """
        found = tuple(
            op.name
            for op in catalogue
            if not op.own and set(op.dtypes) & set(self.cases.dtypes)
        )
        if not found:
            raise SelectionError(f"No op takes {', '.join(self.cases.dtypes)}.")
        return found
