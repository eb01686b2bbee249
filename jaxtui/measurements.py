"""The result of ``jaxtui.bench``: measurements that a notebook can show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from jaxtui.core.model import Host, Measurement
from jaxtui.core.model.document import Note
from jaxtui.core.state import Job
from jaxtui.core.text import visible
from jaxtui.features.bench.messages import FailureRow, Results
from jaxtui.features.bench.report import report
from jaxtui.features.bench.spreadsheet import as_csv
from jaxtui.ui.documents import MACHINE, encode, machine
from jaxtui.ui.report import markdown, terminal


class Measurements(Sequence[Measurement]):
    """The measurements of a run, in the order of its cases.

    As text it is the table that ``jaxtui bench`` prints, and in a notebook a table of
    HTML. A case that has no measurement is in ``failures``, with the reason.
    """

    def __init__(self, results: Results, run: Job) -> None:
        """Take what the run yielded.

        Args:
            results: as a document.
            run: the same, as the screens show it.
        """
        self._results = results
        self._run = run

    @property
    def host(self) -> Host | None:
        """The machine."""
        return self._results.host

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes on the whole run; a measurement has those that differ."""
        return self._results.notes

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The measurements as a tuple."""
        return self._results.measurements

    @property
    def failures(self) -> tuple[FailureRow, ...]:
        """The cases that have no measurement."""
        return self._results.failures

    def __len__(self) -> int:
        return len(self.measurements)

    @overload
    def __getitem__(self, index: int) -> Measurement: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Measurement, ...]: ...

    def __getitem__(self, index: int | slice) -> Measurement | tuple[Measurement, ...]:
        return self.measurements[index]

    def __repr__(self) -> str:
        table = report(self._run, full=False)
        return visible(terminal(table, None, colour=False, full=False)).rstrip("\n")

    def _repr_markdown_(self) -> str:
        """Return Markdown for Jupyter."""
        return self.to_markdown()

    def to_json(self) -> str:
        """The document that ``jaxtui bench --json`` prints."""
        return encode(self._results).decode()

    def to_csv(self) -> str:
        """A line per case in base units, after a line of names."""
        return as_csv(self._results)

    def to_markdown(self) -> str:
        """A table, then the machine and what failed."""
        return markdown(report(self._run, machine(self.host, *MACHINE, by=" · ")))
