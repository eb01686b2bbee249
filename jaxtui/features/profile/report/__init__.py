"""A profile as one report: the verdict, a step as a bar, its tables.

``lists`` has what the screen shows, ``document`` and ``flame`` what is written to
files, ``difference`` what became slower.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.model import Remark
from jaxtui.core.model.profile import Frame, Gap, KernelKind, Profile
from jaxtui.core.places import read_whole
from jaxtui.features.bench.thresholds import AT_THE_ROOF
from jaxtui.features.profile import judge as analysis
from jaxtui.features.profile.judge import By, Row
from jaxtui.features.profile.words import activity
from jaxtui.ui import words
from jaxtui.ui.report import Column, Report, Rows, as_text, gather, styled, table
from jaxtui.ui.text import bar

ROWS, GAPS, COMPILES, HOLDINGS = 15, 5, 5, 5
"""Rows of the tables; the rest is a row of its own."""

NAME = 36
"""Cells of a name at least, if it is so long; other columns drop out before."""

BAR = 60
"""Cells of the bar of a step."""

KINDS: dict[KernelKind, tuple[str, str]] = {
    "compute": ("█", "device"),
    "collective": ("▓", "numpy"),
    "copy": ("▒", "host"),
}
"""The cell and the colour of what keeps a device busy."""

IDLE = ("░", "muted")

NO_LINE = "added by XLA"


def report(
    profile: Profile, by: By | None = None, *, host: str = "", most: int = ROWS
) -> Report:
    """Return the report on the time of a step.

    Args:
        profile: of a trace.
        by: the key of the table; lines where there are any.
        host: the machine.
        most: rows of the table.
    """
    key = by or analysis.best_key(profile)
    jax = f"jax {profile.jax}" if profile.jax else ""
    rows = analysis.rows(profile, key)
    tables = [
        Rows([Column("", step_bar(profile, BAR))]),
        Rows(_rows(profile, rows[:most], rows[most:], key)),
    ]
    more = (_gaps, _compiles, _transfers, _holdings)
    tables += filter(None, (of(profile) for of in more))
    return Report(
        title=f"profile of {profile.source}",
        verdict=words.sentence(analysis.headline(profile)),
        tables=tables,
        notes=gather((), [*analysis.remarks(profile), *_memory(profile)]),
        host=host or " · ".join(filter(None, (profile.device_kind, jax))),
    )


def step_bar(profile: Profile, cells: int) -> tuple[Text, Text]:
    """A step to scale, and its legend."""
    step, parts = profile.step_seconds or 1.0, analysis.parts(profile)
    shares = (
        ("compute", parts.compute, KINDS["compute"]),
        ("collectives", parts.exposed, KINDS["collective"]),
        ("copies", parts.copies, KINDS["copy"]),
        ("idle", parts.idle, IDLE),
    )
    drawn, legend = Text(), Text()
    whole, place = 0.0, 0
    for name, seconds, (cell, role) in shares:
        whole += seconds
        end = round(cells * min(1.0, whole / step))
        drawn.append(cell * (end - place), role)
        place = max(place, end)
        hidden = parts.hidden if name == "collectives" else 0.0
        if not (seconds or hidden or name in ("compute", "idle")):
            continue
        text = f" {name} {share_text(seconds / step)}"
        if hidden:
            text += f" exposed, {fmt.percent(hidden / step)} hidden"
        legend.append("  " if legend else "").append(cell, role).append(text)
    return drawn, legend


def _rows(
    profile: Profile, shown: Sequence[Row], cut: Sequence[Row], by: By
) -> list[Column]:
    """The rows of a table: those shown, the idle time, and all that are cut."""
    step, idle = profile.step_seconds or 1.0, profile.idle_seconds
    rest = sum(row.seconds for row in cut)
    unit = fmt.shared([*(row.seconds for row in shown), idle, rest], "s")
    places = [analysis.place(row, profile) for row in shown]

    def column(
        head: str,
        cells: Iterable[str | Text],
        ends: tuple[str, str] = ("", ""),
        **more: Any,
    ) -> Column:
        last = [Text(end, "muted") for end in ends[: 2 if cut else 1]]
        return Column(head, [*cells, *last], **{"right": True, **more})

    names = [label(row, by) for row in shown]
    longest = max((name.cell_len for name in names), default=0)
    always = [
        column(
            by,
            names,
            ("idle", f"{fmt.plural(len(cut), 'row')} more"),
            right=False,
            least=min(longest, NAME),
            grows=True,
        ),
        column(
            unit.name or "self",
            (time_text(row.seconds, unit) for row in shown),
            (unit.text(idle), unit.text(rest)),
        ),
        column(
            "share",
            (share_text(row.seconds / step) for row in shown),
            (share_text(idle / step), share_text(rest / step)),
        ),
    ]
    bars = (Text(bar(row.seconds / step, 8), KINDS[row.kind][1]) for row in shown)
    deviations = (f"±{unit.text(r.deviation)}" if r.deviation else "" for r in shown)
    most = (
        # Which a hundredth of a step would not change.
        unit.text(row.most_seconds)
        if row.shared and row.most_seconds - row.seconds > step / 100
        else ""
        for row in shown
    )
    flops = (_rate(place.flops_per_second, "FLOP/s") for place in places)
    moved = (_rate(place.bytes_per_second, "B/s") for place in places)
    name, time, share = always
    columns = [
        name,
        column("", bars, rank=5, right=False, least=8),
        time,
        column("±", deviations, rank=3),
        share,
        column("at most", most, rank=3),
        column("with inner", (unit.text(r.total_seconds) for r in shown), rank=2),
        column("runs", (_runs(row.count) for row in shown), rank=4),
        column("FLOP/s", flops, rank=6),
        column("B/s", moved, rank=7),
        column("of roof", map(_roof, places), rank=3, right=False),
    ]
    return [c for c in columns if c in always or any(map(len, map(as_text, c.cells)))]


def _rate(value: float | None, quantity: fmt.Quantity) -> str:
    return str(fmt.figure(value, quantity)) if value else ""


def share_text(share: float) -> str:
    """Write a share of a step; less than 0.01 % is as good as nothing."""
    return fmt.percent(share) if share >= 1e-4 or not share else "<0.01 %"


def _roof(where: analysis.RoofShare) -> str:
    if not where.share:
        return ""
    if where.share > AT_THE_ROOF:
        # No memory is faster than its peak, and no arithmetic.
        return "from cache" if where.limit == "memory" else "impossible"
    return f"{fmt.percent(where.share)} {where.limit}"


def _runs(count: float) -> str:
    """Write the runs in a step; a fraction where steps differ."""
    if not count:
        return ""
    return str(round(count)) if abs(count - round(count)) < 0.05 else f"{count:.1f}"


def time_text(seconds: float, unit: Any) -> str:
    """A time; what only calls others has none of its own."""
    return str(unit.text(seconds)) if seconds else fmt.ABSENT


def label(row: Row, by: By) -> Text:
    """The name of a row; a line with its code."""
    mark = "~" if row.shared and by in ("line", "function") else ""
    if not row.key:
        return Text(NO_LINE, "muted")
    name = Text.assemble(styled(f"{row.key}{mark}"))
    if by == "line" and row.frame is not None and (text := code(row.frame)):
        name.append_text(styled(f"  {text}", "muted"))
    return name


def code(frame: Frame) -> str:
    """The code of a line; empty where its file is not here."""
    lines = source(frame.file)
    return lines[frame.line - 1].strip() if 0 < frame.line <= len(lines) else ""


def source(file: str) -> tuple[str, ...]:
    """The lines of a file of the user's; empty where it is not here."""
    path = Path(file).absolute()
    try:
        return _lines(path, path.stat().st_mtime_ns) if path.suffix == ".py" else ()
    except (OSError, ValueError):
        return ()


@functools.lru_cache(maxsize=64)
def _lines(path: Path, changed: int) -> tuple[str, ...]:
    return tuple(read_whole(path).decode(errors="replace").splitlines())


def _gaps(profile: Profile) -> Rows | None:
    wait = analysis.WAITS * profile.step_seconds
    if profile.idle_seconds < wait or not profile.gaps:
        return None
    rows: list[tuple[fmt.Cell, ...]] = [
        (fmt.figure(gap.seconds), gap.device, gap.before or "the end", _doing(gap))
        for gap in profile.gaps[:GAPS]
    ]
    heads = ["wait", "device", "before", "the host meanwhile"]
    if len(profile.devices) == 1:
        heads.remove("device")
        rows = [(wait, *others) for wait, _, *others in rows]
    return table(heads, rows, right=heads[:1], grows=heads[-1])


def _doing(gap: Gap) -> str:
    if not gap.host:
        return activity("")
    return ", ".join(
        f"{activity(a.name)} ({fmt.seconds(a.seconds)})" for a in gap.host[:2]
    )


def _compiles(profile: Profile) -> Rows | None:
    rows = [
        (
            c.function or "?",
            fmt.seconds(c.seconds),
            "from the cache"
            if c.compile_seconds is None
            else fmt.seconds(c.compile_seconds),
        )
        for c in profile.compiles[:COMPILES]
    ]
    if cut := profile.compiles[COMPILES:]:
        rows.append((f"{len(cut)} more", "", ""))
    return _listed(("compiled inside", "in all", "XLA"), rows)


def _transfers(profile: Profile) -> Rows | None:
    rows = [
        (
            transfer.name,
            fmt.count(transfer.count),
            fmt.bytes_text(transfer.bytes),
            fmt.seconds(transfer.seconds),
        )
        for transfer in profile.transfers
    ]
    return _listed(("transfer", "count", "size", "time"), rows)


def _holdings(profile: Profile) -> Rows | None:
    rows = [
        (
            analysis.named(holding.frame, "line"),
            fmt.count(holding.count),
            fmt.bytes_text(holding.bytes),
        )
        for holding in profile.holdings[:HOLDINGS]
    ]
    if cut := profile.holdings[HOLDINGS:]:
        rest = fmt.bytes_text(sum(holding.bytes for holding in cut))
        rows.append((f"{fmt.plural(len(cut), 'line')} more", "", rest))
    return _listed(("holds memory", "arrays", "size"), rows)


def _listed(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Rows | None:
    """Names with their figures."""
    return table(heads, rows, right=heads[1:]) if rows else None


def _memory(profile: Profile) -> Iterator[Remark]:
    if profile.memory:
        peak = max(profile.memory, key=lambda moment: moment.bytes)
        facts: dict[str, Any] = {"bytes": peak.bytes, "seconds": peak.start_seconds}
        yield Remark("memory-peak", facts)
