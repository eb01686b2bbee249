"""What ``jaxtui bench`` was asked for, checked as far as that needs no engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtui import selection
from jaxtui.model import Device, Experiment, Inputs, Mode, OpInfo, Precision


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of a bench run; ops and devices wait for the engine's lists."""

    ops: tuple[str, ...]
    sizes: tuple[int, ...] | None = None
    dtypes: tuple[str, ...] = ("float32",)
    devices: str | None = None
    modes: tuple[Mode, ...] = ("jit",)
    inputs: tuple[Inputs, ...] = ("device",)
    precisions: tuple[Precision, ...] = ("default",)
    budget: float | None = None
    target: float = 0.03
    seed: int = 0
    samples: bool = False
    arguments: str = ""
    """What functions of the user's own are given; empty if they have a factory."""
    sure: bool = False
    """However long it takes, nobody need be asked."""

    @classmethod
    def typed(
        cls,
        *,
        ops: tuple[str, ...],
        size: str | None,
        dtype: str,
        device: str | None,
        mode: str,
        inputs: str,
        precision: str,
        budget: str | None,
        target: str,
        seed: int,
        samples: bool,
        arg: tuple[str, ...] = (),
        yes: bool = False,
    ) -> Request:
        """Reads the texts of a command line; ``target`` is in percent.

        Raises:
            SelectionError: if one of them makes no sense.
        """
        if not ops:
            raise selection.SelectionError(
                "Name at least one op, as in `jaxtui bench matmul`: "
                "`jaxtui ops` lists them."
            )
        for op in ops:
            if selection.looks_own(op):
                selection.parse_own(op)
            elif ":" in op:
                selection.parse_sizes(op.partition(":")[2])
        if arg and not any(map(selection.looks_own, ops)):
            raise selection.SelectionError(selection.ARGUMENTS_ARE_OWN)
        return cls(
            ops=ops,
            sizes=None if size is None else selection.parse_sizes(size),
            dtypes=selection.parse_dtypes(dtype),
            devices=device,
            modes=selection.parse_modes(mode),
            inputs=selection.parse_inputs(inputs),
            precisions=selection.parse_precisions(precision),
            budget=selection.parse_budget(budget or ""),
            target=float(target) / 100,
            seed=seed,
            samples=samples,
            arguments=selection.parse_arguments(arg),
            sure=yes,
        )

    def experiment(
        self, catalogue: Sequence[OpInfo], devices: Sequence[Device]
    ) -> Experiment:
        """The experiment, once it is known what there is.

        Raises:
            SelectionError: if an op or a device does not exist.
        """
        chosen = self.devices and selection.parse_devices(self.devices, devices)
        return selection.build(
            selection.parse_ops(self.ops, catalogue, own=True),
            self.sizes,
            self.dtypes,
            chosen or None,
            self.modes,
            self.inputs,
            self.precisions,
            catalogue=catalogue,
            known_devices=devices,
            budget=self.budget,
            target=self.target,
            seed=self.seed,
            keep_samples=self.samples,
            arguments=self.arguments,
        )
