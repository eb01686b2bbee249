"""Results as tables: one for programs, one for people."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from jaxtui import format as fmt
from jaxtui.document import Results
from jaxtui.model import PHASES, Case, Measurement, Note
from jaxtui.model.own import short_name
from jaxtui.text import visible

CASE = ("op", "size", "dtype", "precision", "device", "mode", "inputs")

CLOCK = (
    "median",
    "ci_low",
    "ci_high",
    "confidence",
    "mean",
    "p10",
    "p90",
    "p99",
    "max",
    "n",
)
"""What is written of a clock; seconds but for ``n``, the number of calls."""

RATES = (
    "pipelined_seconds",
    "flops",
    "bytes",
    "flops_per_second",
    "bytes_per_second",
    "error_vs_float64",
)

MEMORY = ("memory_fresh", "memory_reused", "page_faults")
"""Of the memory span, where there is one: seconds, and faults of a call at fresh."""

COLUMNS = (
    *CASE,
    *(f"ready_{name}" for name in CLOCK),
    "dispatch_median",
    *RATES,
    *(f"{phase}_seconds" for phase in PHASES),
    "stopped",
    "notes",
    "run_notes",
    "failure",
    "hostname",
    "jax",
    *MEMORY,
)
"""Of the CSV, in order."""

MARKDOWN = (
    *("op", "size", "dtype", "device", "mode", "ready", "±", "dispatch", "rate"),
    "notes",
)
_RIGHT = ("size", "ready", "±", "dispatch", "rate", "memory")


def as_csv(results: Results) -> str:
    """A row per case in base units, after a row of names; absent facts are empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(_rows(results))
    return out.getvalue()


def as_markdown(results: Results) -> str:
    """A table for people; below it the machine, the run's notes and what failed."""
    host = results.host
    head: tuple[str, ...] = MARKDOWN
    cells = [_cells(one) for one in results.measurements]
    if any(one.memory for one in results.measurements):
        head = (*head, "memory")
        cells = [
            (*row, fmt.span(one.memory))
            for row, one in zip(cells, results.measurements, strict=True)
        ]
    lines = [markdown(head, cells, _RIGHT)]
    if host is not None:
        cpu = f", {host.cpu_model}" if host.cpu_model else ""
        lines += ["", f"{host.hostname}{cpu}, jax {host.jax}, numpy {host.numpy}"]
        lines += [f"{name}={value}" for name, value in host.settings.items()]
    for note in results.notes:
        lines += ["", f"{note.flag}: {note.text}"]
    for failure in results.failures:
        lines += [
            "",
            f"**{failure.case.label}**: {failure.error} {failure.hint}".strip(),
        ]
    return "\n".join(lines) + "\n"


def _rows(results: Results) -> Iterator[dict[str, Any]]:
    host = results.host
    shared = {"hostname": host.hostname, "jax": host.jax} if host else {}
    shared["run_notes"] = _flags(results.notes)
    for one in results.measurements:
        yield _case(one.case) | _figures(one) | shared
    for failure in results.failures:
        said = f"{failure.error} {failure.hint}".strip()
        yield _case(failure.case) | {"failure": said} | shared


def _case(case: Case) -> dict[str, Any]:
    return {name: getattr(case, name) for name in CASE}


def _figures(one: Measurement) -> dict[str, Any]:
    ready = one.ready
    found = {f"ready_{name}": getattr(ready, name) for name in CLOCK} if ready else {}
    if one.dispatch:
        found["dispatch_median"] = one.dispatch.median
    if span := one.memory:
        ends = (span.fresh, span.reused, span.page_faults)
        found |= dict(zip(MEMORY, ends, strict=True))
    found |= {name: getattr(one, name) for name in RATES}
    found |= {f"{phase}_seconds": getattr(one.phases, phase) for phase in PHASES}
    found |= {"stopped": one.stopped, "notes": _flags(one.notes)}
    return found


def _flags(notes: Sequence[Note]) -> str:
    return " ".join(note.flag for note in notes)


def _cells(one: Measurement) -> Sequence[str]:
    case, ready = one.case, one.ready
    precision = "" if case.precision == "default" else f" {case.precision}"
    hosted = " (host inputs)" if case.inputs == "host" and not case.on_host else ""
    rate = fmt.flops_rate(one.flops_per_second)
    if one.flops_per_second is None:
        rate = fmt.bytes_rate(one.bytes_per_second)
    return (
        short_name(case.op),
        str(case.size or fmt.ABSENT),
        case.dtype + precision,
        case.device,
        case.mode + hosted,
        fmt.seconds(ready.median if ready else None),
        fmt.percent(ready.half_width if ready else None),
        fmt.seconds(one.dispatch.median if one.dispatch else None),
        rate,
        _flags(one.notes),
    )


def markdown(
    head: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[str] = ()
) -> str:
    """A table of Markdown, without a newline at its end.

    Args:
        head: one per column.
        rows: as many texts each as there are columns.
        right: the heads of columns that are aligned at the right.
    """
    rule = ["--:" if name in right else ":--" for name in head]
    return "\n".join(_line(cells) for cells in (head, rule, *rows))


def _line(cells: Sequence[str]) -> str:
    return (
        "| "
        + " | ".join(visible(cell, line=True).replace("|", "\\|") for cell in cells)
        + " |"
    )
