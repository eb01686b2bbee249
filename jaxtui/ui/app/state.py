"""The state of the screens: the engine's, and the user's choices."""

from __future__ import annotations

from typing import Literal

from jaxtui.core import state
from jaxtui.core.model import Device
from jaxtui.core.state import CaseState

View = Literal["live", "sweep", "histogram", "roofline"]
"""The calls as they come, curves over size, how calls spread, and the roofline."""

Metric = Literal["time", "flops", "peak", "numpy", "busbw"]
"""What curves over size show."""

Shown = Literal["FLOP/s", "B/s", "deviation"]
"""The figure of each device on a chip map: a rate, or its distance from the median."""

MOST = 8
"""Functions of files that are offered again."""


class State(state.State, frozen=True):
    """Everything that the screens show."""

    opened: tuple[str, ...] = ()
    """Functions of files that were opened, such as ``/path/train.py:step,loss``, the
    last ones first."""
    cursor: str | None = None
    """Name of the device that is selected; ``None`` for the first."""
    marked: tuple[str, ...] = ()
    """Names of the devices that the next run is for; none for the selected one."""
    heat: Shown | None = None
    """The rate that colours the chip map; ``None`` for processes."""
    picked: tuple[int, int] | None = None
    """Number of a run, and index of its case that is selected; ``None`` for the first
    that JAX runs."""
    view: View | None = None
    """The view of the plot of the tab Bench; ``None`` for what fits."""
    metric: Metric = "time"
    """The metric of the curves over size."""

    @property
    def no_jax(self) -> str:
        """The reason why JAX cannot be asked."""
        match self.engine:
            case "failed":
                return "There is no engine: R tries again."
            case "released":
                return "The engine was released: the next run starts it again."
            case _:
                return "JAX is not ready yet."

    @property
    def chosen(self) -> tuple[str, ...]:
        """The marked devices that are still there, in the order of all."""
        if not self.marked:
            return ()
        return tuple(d.name for d in self.devices if d.name in self.marked)

    @property
    def device(self) -> Device | None:
        if self.cursor is not None:
            number = int(self.cursor.rpartition(":")[2])
            for device in self.devices:
                # Of thousands, few have the number.
                if device.id == number and device.name == self.cursor:
                    return device
        return self.devices[0] if self.devices else None

    @property
    def case_index(self) -> int:
        """Index of the case that is selected, or else of the first that JAX runs."""
        run = self.run
        if run is None:
            return 0
        if self.picked is not None and self.picked[0] == run.origin:
            return min(self.picked[1], max(0, len(run.cases) - 1))
        jax = (i for i, case in enumerate(run.cases) if not case.case.on_host)
        return next(jax, 0)

    @property
    def case(self) -> CaseState | None:
        """The case that is selected; ``None`` without a run."""
        if self.run is None or not self.run.cases:
            return None
        return self.run.cases[self.case_index]


EMPTY = State()
"""The state while the engine starts."""
