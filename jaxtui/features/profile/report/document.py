"""The document of a profile, and its files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from jaxtui.core.model import Host, Record, SelectionError, WorkFailed
from jaxtui.core.model.document import Document
from jaxtui.core.model.profile import (
    Compile,
    Gap,
    Holding,
    KernelKind,
    Occupancy,
    Profile,
    Transfer,
)
from jaxtui.core.places import read_whole
from jaxtui.core.text import ended
from jaxtui.features.profile import judge as analysis
from jaxtui.features.profile.judge import By
from jaxtui.features.profile.report.flame import flame
from jaxtui.ui.documents import ProblemRow, encode, notes, problem
from jaxtui.ui.export import Contents, csv_text
from jaxtui.ui.report import Report, markdown


class SourceRow(Record, frozen=True, kw_only=True):
    """A line that asked for a kernel."""

    file: str
    line: int
    function: str
    seconds: float
    """Seconds of the kernel's own time."""


class KernelRow(Record, frozen=True, kw_only=True):
    """A kernel; seconds of a step, averaged over the devices."""

    name: str
    program: str
    category: str
    kind: KernelKind
    shape: str
    op_name: str
    self_seconds: float
    deviation_seconds: float | None
    total_seconds: float
    hidden_seconds: float
    count: float
    flops: float | None
    bytes: float | None
    peak_flops_per_second: float | None = None
    """The peak of one device, for the dtype that the kernel multiplies."""
    lines: tuple[SourceRow, ...]


class ProfileDocument(Document, frozen=True, kw_only=True):
    """The document of ``profile``. Seconds are those of a step, or say so."""

    command: str = "profile"
    source: str
    steps: int
    step_seconds: float | None
    busy_seconds: float | None
    idle_seconds: float | None
    traced_seconds: float | None = None
    unprofiled_seconds: float | None
    jax: str
    device_kind: str
    devices: tuple[str, ...]
    rows: tuple[KernelRow, ...]
    gaps: tuple[Gap, ...]
    compiles: tuple[Compile, ...]
    transfers: tuple[Transfer, ...]
    memory: tuple[Occupancy, ...]
    holdings: tuple[Holding, ...]
    failure: ProblemRow | None


def document(
    profile: Profile | None,
    source: str,
    host: Host | None = None,
    failed: WorkFailed | None = None,
) -> ProfileDocument:
    """Return the document of a profile, or of the reason why there is none."""
    return ProfileDocument(
        complete=profile is not None,
        host=host,
        source=profile.source if profile else source,
        steps=len(profile.steps) if profile else 0,
        step_seconds=profile.step_seconds if profile else None,
        busy_seconds=profile.busy_seconds if profile else None,
        idle_seconds=profile.idle_seconds if profile else None,
        traced_seconds=profile.traced_seconds if profile else None,
        unprofiled_seconds=profile.unprofiled_seconds if profile else None,
        jax=profile.jax if profile else "",
        device_kind=profile.device_kind if profile else "",
        devices=profile.devices if profile else (),
        rows=tuple(_kernel_rows(profile)) if profile else (),
        gaps=profile.gaps if profile else (),
        compiles=profile.compiles if profile else (),
        transfers=profile.transfers if profile else (),
        memory=profile.memory if profile else (),
        holdings=profile.holdings if profile else (),
        notes=notes(analysis.remarks(profile)) if profile else (),
        failure=problem(failed),
    )


def _kernel_rows(profile: Profile) -> Iterator[KernelRow]:
    for kernel in profile.kernels:
        lines = [
            SourceRow(
                file=frame.file,
                line=frame.line,
                function=frame.function,
                seconds=share.part * kernel.self_seconds,
            )
            for share in kernel.shares
            for frame in (profile.frames[place] for place in share.stack[:1])
        ]
        yield KernelRow(
            name=kernel.name,
            program=kernel.program,
            category=kernel.category,
            kind=kernel.kind,
            shape=kernel.shape,
            op_name=kernel.op_name,
            self_seconds=kernel.self_seconds,
            deviation_seconds=kernel.deviation,
            total_seconds=kernel.total_seconds,
            hidden_seconds=kernel.hidden_seconds,
            count=kernel.count,
            flops=kernel.flops,
            bytes=kernel.bytes,
            peak_flops_per_second=kernel.flops_per_second,
            lines=tuple(lines),
        )


CSV = {
    "key": "key",
    "kind": "kind",
    "self_seconds": "seconds",
    "deviation_seconds": "deviation",
    "share": "",
    "most_seconds": "most_seconds",
    "total_seconds": "total_seconds",
    "hidden_seconds": "hidden_seconds",
    "runs": "count",
    "flops": "flops",
    "bytes": "bytes",
}
"""Columns, and where a row has them."""

_PLACE = ("file", "line", "function")


def as_csv(profile: Profile, by: By) -> str:
    """A row per key in base units, and one for the idle time."""
    step = profile.step_seconds or 1.0
    rows: list[dict[str, Any]] = [
        {
            **{name: getattr(row, own) for name, own in CSV.items() if own},
            "share": row.seconds / step,
            **{name: getattr(row.frame, name, None) for name in _PLACE},
        }
        for row in analysis.rows(profile, by)
    ]
    idle = profile.idle_seconds
    rows.append({"key": "idle", "self_seconds": idle, "share": idle / step})
    return csv_text((*CSV, *_PLACE), rows)


def contents(
    profile: Profile, record: ProfileDocument, report: Report, by: By
) -> Contents:
    """Every kind of file."""
    return {
        ".json": lambda: encode(record).decode(),
        ".csv": lambda: as_csv(profile, by),
        ".md": lambda: markdown(report),
        ".svg": lambda: flame(profile),
    }


ENDINGS = (".json", ".csv", ".md", ".svg")


LARGEST = 1e30
"""The largest number in a document: sums and ratios of such are still numbers."""


def _possible(value: Any) -> bool:
    """Return whether all of its numbers are possible."""
    if isinstance(value, dict):
        return all(map(_possible, value.values()))
    if isinstance(value, list):
        return all(map(_possible, value))
    return not isinstance(value, (int, float)) or abs(value) <= LARGEST


def _no_document(path: Path, why: str) -> SelectionError:
    return SelectionError(
        f"{path} is not a document of `jaxtui profile --json`: {why}."
    )


def read(path: Path) -> ProfileDocument:
    """A document that ``--json`` printed.

    Raises:
        SelectionError: it is not there, or none.
    """
    try:
        content = read_whole(path)
        document = msgspec.json.decode(content, type=ProfileDocument)
        possible = _possible(msgspec.json.decode(content))
    except OSError as error:
        why = error.strerror or str(error)
        raise SelectionError(f"Cannot read {path}: {ended(why)}") from error
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _no_document(path, f"it has another structure ({error})") from error
    if document.schema != 2:
        raise _no_document(path, f"its schema is {document.schema}, not 2")
    if not possible:
        raise _no_document(path, "a number in it is too large")
    return document
