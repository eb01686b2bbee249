"""The columns of nccl-tests for a collective: algbw, busbw, wrong elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxtui.core import format as fmt
from jaxtui.core.model import CollectiveRates, Measurement
from jaxtui.ui.report import Column
from jaxtui.ui.text import Line, Span


def rates_of(measured: Measurement | None) -> CollectiveRates | None:
    """Return the rates of a collective; ``None`` for anything else."""
    return (measured and measured.collective) or None


def columns(measured: Sequence[Measurement | None]) -> Iterator[Column]:
    """Yield the columns that only collectives have; none where there are none.

    Rates follow from the time of a call in a queue, where there is one.
    """
    moved = [rates_of(m) for m in measured]
    if not any(moved):
        return
    queued = [
        m.pipelined_seconds if m and rates else None
        for m, rates in zip(measured, moved, strict=True)
    ]
    if any(queued):
        yield _column("pipelined", 7, queued, "s")
    algorithm = [m.algorithm_bytes_per_second if m else None for m in moved]
    yield _column("algbw", 4, algorithm, "B/s")
    bus = [m.bus_bytes_per_second if m else None for m in moved]
    yield _column("busbw", 1, bus, "B/s")
    wrong: list[Line] = [
        (Span(str(m.wrong), "bad" if m.wrong else ""),)
        if m is not None and m.wrong is not None
        else ()
        for m in moved
    ]
    yield Column("wrong", wrong, rank=2, right=True, least=len("wrong"))


def _column(
    key: str, rank: int, values: Sequence[float | None], of: fmt.Quantity
) -> Column:
    unit = fmt.shared((value or 0.0 for value in values), of)
    cells = [unit.text(value) if value else "" for value in values]
    head = f"{key} {unit.name}".rstrip()
    return Column(head, cells, rank=rank, right=True, least=len(head), key=key)
