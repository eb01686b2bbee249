"""The setting of a lesson, its questions, and the conclusions from its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import msgspec

from jaxtui.core.format import Cell
from jaxtui.core.model import Device, Host, Remark

PROSE_COLUMNS = 76
"""The columns of prose in a screen of 80."""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """The machine and the size on which a lesson is run."""

    size: int
    """The lesson's one size parameter."""
    device: str
    """The JAX device that the lesson is about, e.g. ``cpu:0`` or ``tpu:0``."""
    devices: tuple[Device, ...]
    host: Host | None = None
    grows_to: int = 0
    """The size may grow up to here, until the work takes twenty dispatches on this
    device; 0 where it was chosen or measured."""

    @property
    def platform(self) -> str:
        """``cpu``, ``tpu``, ``gpu``."""
        return self.device.partition(":")[0]

    @property
    def accelerated(self) -> bool:
        """True if the lesson's device is an accelerator."""
        return self.platform != "cpu"

    @property
    def accelerator(self) -> str | None:
        """The lesson's device if it is an accelerator, or else the first one."""
        return self._first(accelerated=True)

    @property
    def processor(self) -> str | None:
        """The CPU as a JAX device; ``None`` where this process has none."""
        return self._first(accelerated=False)

    def _first(self, *, accelerated: bool) -> str | None:
        if self.accelerated == accelerated:
            return self.device
        for device in self.devices:
            if device.addressable and (device.platform != "cpu") == accelerated:
                return device.name
        return None


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question to the learner before the result."""

    text: str
    choices: tuple[str, ...]
    """Two to four short answers."""
    right: int | None = None
    """Index of the choice that is right on every machine; ``None`` where the figures
    decide."""


Text = Sequence[Cell | Remark]
"""Words with figures between them, and why there are none."""


class Row(msgspec.Struct, frozen=True):
    """A line of a step's table: the learner's figure and the published one."""

    what: str
    yours: Text
    """"—" where this machine has none, and ``remark`` says why."""
    published: Text = ()
    """The published figure with its machine; empty where there is none."""
    remark: Text = ()
    vague: bool = False
    """The learner's figure is not known to within a third."""

    @property
    def figures(self) -> Iterator[Cell | Remark]:
        """All that stands in it beside its name."""
        return chain(self.yours, self.published, self.remark)

    def texts(
        self, write: Callable[[Cell | Remark], str] = str
    ) -> tuple[str, str, str, str]:
        """Write the cells from left to right."""
        yours, published, remark = (
            "".join(map(write, cell))
            for cell in (self.yours, self.published, self.remark)
        )
        return self.what, yours, published, remark


class Conclusion(msgspec.Struct, frozen=True):
    """The conclusion from a step's own figures."""

    holds: bool | None
    """True or false as the claim holds here; ``None`` where this machine cannot
    tell."""
    answer: int | None = None
    """Index of the choice that turned out right."""
    rows: Sequence[Row] = ()
    sentences: Sequence[str] = ()
    """The lessons to take away, with the learner's own numbers; the first one is the
    most important, an empty one is none. Where the claim does not hold, they say so and
    why that may be, instead of repeating the textbook."""
    answers: frozenset[int] = frozenset()
    """The choices that the intervals of the figures allow."""
    graded: bool = True
    """Another choice is wrong: nothing disturbed the figures that decide, or all that
    their intervals allow is one choice."""
    doubts: tuple[Remark, ...] = ()
    """The reasons to doubt the verdict."""
    reasons: tuple[Remark, ...] = ()
    """The reasons why figures are missing."""

    def grades(self, prediction: int | None) -> bool:
        """Return whether a prediction, if there is one, is right or wrong."""
        return self.graded or prediction is None or prediction in self.answers
