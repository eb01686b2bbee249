"""The results of a run as a table for spreadsheets."""

from __future__ import annotations

from typing import Any

from jaxtui.core.model import PHASES, Measurement
from jaxtui.core.model.measurement import CollectiveRates
from jaxtui.features.bench.collectives import rates_of
from jaxtui.features.bench.messages import Results
from jaxtui.ui.export import csv_text

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
"""The fields of a clock; seconds but for ``n``, the number of calls."""

RATES = (
    "pipelined_seconds",
    "flops",
    "bytes",
    "flops_per_second",
    "bytes_per_second",
    "error_vs_float64",
)

TIMES_NUMPY = ("times_numpy", "times_numpy_low", "times_numpy_high")
"""The speed-up over NumPy, and the ends of its interval."""

COLLECTIVE = CollectiveRates.__struct_fields__

CSV = (
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
    *TIMES_NUMPY,
    "processes",
    "stable",
    *COLLECTIVE,
)
"""The columns, in order."""


def as_csv(results: Results) -> str:
    """A row per case in base units, after a row of names; absent facts are empty."""
    host = results.host
    shared: dict[str, Any] = {
        "run_notes": " ".join(note.flag for note in results.notes)
    }
    if host:
        shared |= {"hostname": host.hostname, "jax": host.jax}
    rows = [
        _csv_row(m) | shared | ({"hostname": m.hostname} if m.hostname else {})
        for m in results.measurements
    ]
    rows += [
        {name: getattr(failure.case, name) for name in CASE}
        | {"failure": failure.text}
        | shared
        for failure in results.failures
    ]
    return csv_text(CSV, rows)


def _csv_row(measurement: Measurement) -> dict[str, Any]:
    row: dict[str, Any] = {name: getattr(measurement.case, name) for name in CASE}
    if measurement.ready:
        row |= {f"ready_{name}": getattr(measurement.ready, name) for name in CLOCK}
    if measurement.dispatch:
        row["dispatch_median"] = measurement.dispatch.median
    if times := measurement.times_numpy:
        row |= dict(
            zip(TIMES_NUMPY, (times.median, times.low, times.high), strict=True)
        )
    if measurement.processes:
        row["processes"] = measurement.processes.n
    row |= {name: getattr(measurement, name) for name in RATES}
    row |= {f"{phase}_seconds": getattr(measurement.phases, phase) for phase in PHASES}
    if rates := rates_of(measurement):
        row |= {name: getattr(rates, name) for name in COLLECTIVE}
    return row | {
        "stable": measurement.stable,
        "stopped": measurement.stopped,
        "notes": " ".join(note.code for note in measurement.notes),
    }
