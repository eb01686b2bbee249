"""A profile as one report, its document, its flame, and its difference from another."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import msgspec

from jaxtui import format as fmt
from jaxtui.analysis import profile as analysis
from jaxtui.analysis.profile import By, Change, Row, Spent
from jaxtui.model import Host, Record, Remark, WorkFailed, rejection
from jaxtui.model.profile import (
    Compile,
    Frame,
    Gap,
    Holding,
    KernelKind,
    Occupancy,
    Profile,
    Transfer,
)
from jaxtui.places import read_whole
from jaxtui.text import visible
from jaxtui.view import words
from jaxtui.view.document import SCHEMA, ProblemRow, encode, problem
from jaxtui.view.export import Contents, csv_text
from jaxtui.view.heat import Scale
from jaxtui.view.render import markdown
from jaxtui.view.report import Report, Table, gather
from jaxtui.view.text import Column, Line, Span, bar, columns, plain
from jaxtui.view.words.profile import activity

ROWS, GAPS, COMPILES, HOLDINGS = 15, 5, 5, 5
"""Of the tables; what is cut is a row of its own."""

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


# The report.


def report(
    profile: Profile, by: By | None = None, *, host: str = "", most: int = ROWS
) -> Report:
    """Where the time of a step goes.

    Args:
        profile: of a trace.
        by: the key of the table; lines where there are any.
        host: the machine.
        most: rows of the table.
    """
    key = by or analysis.best_key(profile)
    rows = analysis.rows(profile, key)
    tables = [
        bar_table(profile),
        Table(_rows(profile, rows[:most], rows[most:], key)),
    ]
    more = (_gaps, _compiles, _transfers, _holdings)
    tables += filter(None, (table(profile) for table in more))
    return Report(
        title=f"profile of {profile.source}",
        verdict=(Span(words.sentence(analysis.headline(profile)), "strong"),),
        tables=tuple(tables),
        remarks=gather((), [*analysis.remarks(profile), *_memory(profile)]),
        host=host or " · ".join(filter(None, (profile.device_kind, _jax(profile)))),
    )


def _jax(profile: Profile) -> str:
    return f"jax {profile.jax}" if profile.jax else ""


def bar_table(profile: Profile, cells: int = BAR) -> Table:
    """A step as a bar, and what its colours mean."""
    drawn, legend = step_bar(profile, cells)
    return Table((Column("bar", "", (drawn, legend)),))


def step_bar(profile: Profile, cells: int) -> tuple[Line, Line]:
    """A step to scale, and its legend."""
    step, parts = profile.step_seconds or 1.0, analysis.parts(profile)
    shares = (
        ("compute", parts.compute, KINDS["compute"]),
        ("collectives", parts.exposed, KINDS["collective"]),
        ("copies", parts.copies, KINDS["copy"]),
        ("idle", parts.idle, IDLE),
    )
    drawn: list[Span] = []
    legend: list[Span] = []
    whole, place = 0.0, 0
    for name, seconds, (cell, role) in shares:
        whole += seconds
        end = round(cells * min(1.0, whole / step))
        if end > place:
            drawn.append(Span(cell * (end - place), role))
        place = end
        hidden = parts.hidden if name == "collectives" else 0.0
        if not (seconds or hidden or name in ("compute", "idle")):
            continue
        text = f" {name} {_share(seconds / step)}"
        if hidden:
            text += f" exposed, {fmt.percent(hidden / step)} hidden"
        legend += [Span("  " if legend else ""), Span(cell, role), Span(text)]
    return tuple(drawn), tuple(legend)


def _rows(
    profile: Profile, shown: Sequence[Row], cut: Sequence[Row], by: By
) -> tuple[Column, ...]:
    """The rows of a table: those shown, the idle time, and all that are cut."""
    step, idle = profile.step_seconds or 1.0, profile.idle_seconds
    rest = sum(row.seconds for row in cut)
    unit = fmt.shared([*(row.seconds for row in shown), idle, rest], "s")
    places = [analysis.place(row, profile) for row in shown]

    def column(
        key: str,
        head: str,
        cells: Iterable[str | Line],
        ends: tuple[str, str] = ("", ""),
        *,
        rank: int = 0,
        right: bool = True,
        least: int = 0,
    ) -> Column:
        lines = [(Span(cell),) if isinstance(cell, str) else cell for cell in cells]
        lines += [(Span(end, "muted"),) for end in ends[: 2 if cut else 1]]
        name = key == "key"
        if name:
            least = min(max(len(plain(line)) for line in lines), NAME)
        return Column(key, head, lines, rank, right, least, grows=name)

    found = (
        column(
            "key",
            by,
            (label(row, by) for row in shown),
            ("idle", f"{fmt.plural(len(cut), 'row')} more"),
            right=False,
        ),
        column(
            "bar",
            "",
            ((Span(bar(row.seconds / step, 8), KINDS[row.kind][1]),) for row in shown),
            rank=5,
            right=False,
            least=8,
        ),
        column(
            "self",
            unit.name or "self",
            (_text(row.seconds, unit) for row in shown),
            (unit.text(idle), unit.text(rest)),
        ),
        column(
            "deviation",
            "±",
            (f"±{unit.text(r.deviation)}" if r.deviation else "" for r in shown),
            rank=3,
        ),
        column(
            "share",
            "share",
            (_share(row.seconds / step) for row in shown),
            (_share(idle / step), _share(rest / step)),
        ),
        column(
            "most",
            "at most",
            # Which a hundredth of a step would not change.
            (
                unit.text(row.most_seconds)
                if row.shared and row.most_seconds - row.seconds > step / 100
                else ""
                for row in shown
            ),
            rank=3,
        ),
        column(
            "total", "with inner", (unit.text(r.total_seconds) for r in shown), rank=2
        ),
        column("count", "runs", (_runs(row.count) for row in shown), rank=4),
        column(
            "flops",
            "FLOP/s",
            (_rate(p.flops_per_second, "FLOP/s") for p in places),
            rank=6,
        ),
        column(
            "bytes", "B/s", (_rate(p.bytes_per_second, "B/s") for p in places), rank=7
        ),
        column("roof", "of roof", map(_roof, places), rank=3, right=False),
    )
    always = ("key", "self", "share")
    return tuple(
        each
        for each in found
        if each.key in always or any(span.text for cell in each.cells for span in cell)
    )


def _rate(value: float | None, quantity: fmt.Quantity) -> str:
    return str(fmt.figure(value, quantity)) if value else ""


def _share(share: float) -> str:
    """Of a step; less than a hundredth of a percent is as good as nothing."""
    return fmt.percent(share) if share >= 1e-4 or not share else "<0.01 %"


def _roof(where: analysis.Place) -> str:
    if not where.share:
        return ""
    # No memory is faster than its peak.
    if where.limit == "memory" and where.share > 1:
        return "from cache"
    return f"{fmt.percent(where.share)} {where.limit}"


def _runs(count: float) -> str:
    """In a step; a part of them where steps differ."""
    if not count:
        return ""
    return str(round(count)) if abs(count - round(count)) < 0.05 else f"{count:.1f}"


def _text(seconds: float, unit: Any) -> str:
    """A time; what only calls others has none of its own."""
    return str(unit.text(seconds)) if seconds else fmt.ABSENT


def label(row: Row, by: By) -> Line:
    """The name of a row; a line with its code."""
    mark = "~" if row.shared and by in ("line", "function") else ""
    if not row.key:
        return (Span(NO_LINE, "muted"),)
    name = Span(f"{row.key}{mark}")
    if by != "line" or row.frame is None:
        return (name,)
    text = code(row.frame)
    return (name, Span(f"  {text}", "muted")) if text else (name,)


def code(frame: Frame) -> str:
    """The code of a line; empty where its file is not here."""
    lines = source(frame.file)
    return lines[frame.line - 1].strip() if 0 < frame.line <= len(lines) else ""


@functools.lru_cache(maxsize=64)
def source(file: str) -> tuple[str, ...]:
    """The lines of a file of the user's; empty where it is not here."""
    try:
        if PurePath(file).suffix != ".py":
            return ()
        return tuple(read_whole(Path(file)).decode(errors="replace").splitlines())
    except (OSError, ValueError):
        return ()


def _gaps(profile: Profile) -> Table | None:
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
    return Table(columns(heads, rows, right=heads[:1], grows=heads[-1]))


def _doing(gap: Gap) -> str:
    if not gap.host:
        return activity("")
    return ", ".join(
        f"{activity(each.name)} ({fmt.seconds(each.seconds)})" for each in gap.host[:2]
    )


def _compiles(profile: Profile) -> Table | None:
    rows = [
        (
            each.function or "?",
            fmt.seconds(each.seconds),
            "from the cache"
            if each.compile_seconds is None
            else fmt.seconds(each.compile_seconds),
        )
        for each in profile.compiles[:COMPILES]
    ]
    if cut := profile.compiles[COMPILES:]:
        rows.append((f"{len(cut)} more", "", ""))
    return _listed(("compiled inside", "in all", "XLA"), rows)


def _transfers(profile: Profile) -> Table | None:
    rows = [
        (
            each.name,
            fmt.count(each.count),
            fmt.bytes_text(each.bytes),
            fmt.seconds(each.seconds),
        )
        for each in profile.transfers
    ]
    return _listed(("transfer", "count", "size", "time"), rows)


def _holdings(profile: Profile) -> Table | None:
    rows = [
        (
            analysis.named(each.frame, "line"),
            fmt.count(each.count),
            fmt.bytes_text(each.bytes),
        )
        for each in profile.holdings[:HOLDINGS]
    ]
    if cut := profile.holdings[HOLDINGS:]:
        rest = fmt.bytes_text(sum(each.bytes for each in cut))
        rows.append((f"{fmt.plural(len(cut), 'line')} more", "", rest))
    return _listed(("holds memory", "arrays", "size"), rows)


def _listed(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Table | None:
    """Names with their figures."""
    return Table(columns(heads, rows, right=heads[1:])) if rows else None


def _memory(profile: Profile) -> Iterator[Remark]:
    if profile.memory:
        peak = max(profile.memory, key=lambda each: each.bytes)
        facts: dict[str, Any] = {"bytes": peak.bytes, "seconds": peak.start_seconds}
        yield Remark("memory-peak", facts)


# The screen: source and kernels side by side.

CONTEXT = 2
"""Lines around one that takes time."""

MOST_KERNELS = 200
"""In a list."""


class SourceLine(NamedTuple):
    """A line of a file; one without a number names the file."""

    file: str
    number: int
    text: str
    seconds: float = 0.0
    share: float = 0.0
    heat: str = ""
    """The role of its margin; empty for what takes no time."""
    shared: bool = False
    """How much is that of other lines is a guess."""
    total: float = 0.0

    @property
    def name(self) -> str:
        return f"{PurePath(self.file).name}:{self.number}"


def source_lines(profile: Profile, of: Row | None = None) -> list[SourceLine]:
    """The files of the user, the dearest first, around the lines that take time.

    Args:
        profile: of a trace.
        of: only the lines of these kernels.
    """
    files: dict[str, dict[int, Row]] = defaultdict(dict)
    wanted = {id(kernel) for kernel in of.kernels} if of else None
    for row in analysis.rows(profile, "line"):
        kernels = {id(kernel) for kernel in row.kernels}
        if row.frame is not None and (wanted is None or wanted & kernels):
            files[row.frame.file][row.frame.line] = row
    scale = Scale.of(row.seconds for rows in files.values() for row in rows.values())
    step = profile.step_seconds or 1.0
    found: list[SourceLine] = []
    for file, rows in sorted(
        files.items(), key=lambda item: -sum(row.seconds for row in item[1].values())
    ):
        found.append(SourceLine(file, 0, file))
        text = source(file)
        near = {
            number
            for line in rows
            for number in range(line - CONTEXT, line + CONTEXT + 1)
            if 0 < number <= len(text)
        }
        for number in sorted({*near, *rows}):
            line = SourceLine(file, number, text[number - 1] if number in near else "")
            if known := rows.get(number):
                line = line._replace(
                    seconds=known.seconds,
                    share=known.seconds / step,
                    shared=known.shared,
                    heat=scale.role(known.seconds) if scale and known.seconds else "",
                    total=known.total_seconds,
                )
            found.append(line)
    return found


def source_text(line: SourceLine) -> Line:
    """A line with its heat and its share of a step in the margin."""
    if not line.number:
        return (Span(line.text, "head"),)
    share = _share(line.share) if line.seconds else ""
    return (
        Span(f"{share:>7}{'~' if line.shared else ' '}", line.heat or "muted"),
        Span(f"{line.number:>5} ", "muted"),
        Span(line.text.expandtabs(4), "label" if line.total else "muted"),
    )


def rows_of(profile: Profile, by: By, line: SourceLine | None = None) -> list[Row]:
    """The kernels by a key; only those of a line, if there is one."""
    if line is None or not line.number:
        return analysis.rows(profile, by)[:MOST_KERNELS]
    kernels = [
        each
        for each in profile.kernels
        if any(
            (profile.frames[place].file, profile.frames[place].line)
            == (line.file, line.number)
            for share in each.shares
            for place in share.stack[:1]
        )
    ]
    only = msgspec.structs.replace(profile, kernels=tuple(kernels))
    return analysis.rows(only, by)[:MOST_KERNELS]


def row_lines(profile: Profile, rows: Sequence[Row], by: By, width: int) -> list[Line]:
    """The kernels as a list shows them: time, share, bar and name."""
    step = profile.step_seconds or 1.0
    unit = fmt.shared([row.seconds for row in rows], "s")
    times = [_text(row.seconds, unit) + f" {unit.name}".rstrip() for row in rows]
    room = max(map(len, times), default=0)
    longest = max((row.seconds for row in rows), default=0.0) or 1.0
    cells = max(4, min(12, width // 6))
    return [
        (
            Span(f"{time:>{room}} "),
            Span(f"{_share(row.seconds / step):>7} ", "muted"),
            Span(f"{bar(row.seconds / longest, cells):<{cells}} ", KINDS[row.kind][1]),
            *label(row, "op"),
            Span(f"  {row.kernels[0].category}" if by == "op" else "", "muted"),
        )
        for row, time in zip(rows, times, strict=True)
    ]


# Documents.


class SourceRow(Record, frozen=True, kw_only=True):
    """A line that asked for a kernel."""

    file: str
    line: int
    function: str
    seconds: float
    """Its part of the kernel's own time."""


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
    lines: tuple[SourceRow, ...]


class Document(Record, frozen=True, kw_only=True):
    """Of ``profile``. Seconds are those of a step unless they say otherwise."""

    schema: int = SCHEMA
    host: Host | None
    source: str
    steps: int
    step_seconds: float | None
    busy_seconds: float | None
    idle_seconds: float | None
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
    notes: tuple[Remark, ...]
    failure: ProblemRow | None


def document(
    profile: Profile | None,
    source: str,
    host: Host | None = None,
    failed: WorkFailed | None = None,
) -> Document:
    """What is known of a profile, and why there is none."""
    known = profile
    return Document(
        host=host,
        source=known.source if known else source,
        steps=len(known.steps) if known else 0,
        step_seconds=known.step_seconds if known else None,
        busy_seconds=known.busy_seconds if known else None,
        idle_seconds=known.idle_seconds if known else None,
        unprofiled_seconds=known.unprofiled_seconds if known else None,
        jax=known.jax if known else "",
        device_kind=known.device_kind if known else "",
        devices=known.devices if known else (),
        rows=tuple(_kernel_rows(known)) if known else (),
        gaps=known.gaps if known else (),
        compiles=known.compiles if known else (),
        transfers=known.transfers if known else (),
        memory=known.memory if known else (),
        holdings=known.holdings if known else (),
        notes=tuple(analysis.remarks(known)) if known else (),
        failure=problem(failed),
    )


def _kernel_rows(profile: Profile) -> Iterator[KernelRow]:
    for each in profile.kernels:
        lines = [
            SourceRow(
                file=frame.file,
                line=frame.line,
                function=frame.function,
                seconds=share.part * each.self_seconds,
            )
            for share in each.shares
            for frame in (profile.frames[place] for place in share.stack[:1])
        ]
        yield KernelRow(
            name=each.name,
            program=each.program,
            category=each.category,
            kind=each.kind,
            shape=each.shape,
            op_name=each.op_name,
            self_seconds=each.self_seconds,
            deviation_seconds=each.deviation,
            total_seconds=each.total_seconds,
            hidden_seconds=each.hidden_seconds,
            count=each.count,
            flops=each.flops,
            bytes=each.bytes,
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


def contents(profile: Profile, found: Document, told: Report, by: By) -> Contents:
    """Every kind of file."""
    return {
        ".json": lambda: encode(found).decode(),
        ".csv": lambda: as_csv(profile, by),
        ".md": lambda: markdown(told),
        ".svg": lambda: flame(profile),
    }


ENDINGS = (".json", ".csv", ".md", ".svg")


# Difference.


def read(path: Path) -> Document:
    """A document that ``--json`` printed.

    Raises:
        SelectionError: it is not there, or none.
    """
    try:
        return msgspec.json.decode(read_whole(path), type=Document)
    except OSError as error:
        why = error.strerror or str(error)
        raise rejection("document-unreadable", file=str(path), why=why) from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise rejection(
            "no-profile-document", file=str(path), why=str(error)
        ) from error


def keys(found: Document, by: By) -> Iterator[Spent]:
    """The keys of a document and what they take."""
    for row in found.rows:
        variance = (row.deviation_seconds or 0.0) ** 2 / max(found.steps, 1)
        whole = Spent("", row.self_seconds, variance)
        match by:
            case "op":
                yield whole._replace(key=row.name)
            case "category":
                yield whole._replace(key=row.category)
            case "shape":
                yield whole._replace(key=row.shape or "?")
            case "line" | "function" if not row.lines:
                yield whole
            case "line" | "function":
                for line in row.lines:
                    file = PurePath(line.file).name
                    name = line.line if by == "line" else line.function or "?"
                    part = line.seconds / row.self_seconds if row.self_seconds else 0.0
                    yield Spent(f"{file}:{name}", line.seconds, part**2 * variance)


def _signed(seconds: float, unit: Any) -> str:
    return f"{'+' if seconds >= 0 else '−'}{unit.text(abs(seconds))}"


def difference(before: Document, after: Document, by: By) -> Report:
    """What became slower and what faster, the largest change first."""
    changes = analysis.changes(keys(before, by), keys(after, by))
    old, new = before.step_seconds or 0.0, after.step_seconds or 0.0
    idle = Change("idle", before.idle_seconds or 0.0, after.idle_seconds or 0.0)
    facts: dict[str, Any] = {"before": old, "after": new}
    if changes and changes[0].is_seen:
        facts |= {"row": changes[0].key or NO_LINE, "change": changes[0].seconds}
    shown = [*changes[:ROWS], idle]
    unit = fmt.shared([time for each in shown for time in each[1:3]], "s")
    cut = changes[ROWS:]
    if cut:
        rest = (sum(each.before for each in cut), sum(each.after for each in cut))
        shown.append(Change(f"{fmt.plural(len(cut), 'row')} more", *rest))
    roles = [
        ("slower" if each.seconds > 0 else "faster") if each.is_seen else "muted"
        for each in shown
    ]
    cells: dict[str, list[Line]] = {
        by: [(Span(each.key or NO_LINE),) for each in shown],
        f"before {unit.name}".strip(): [(Span(unit.text(e.before)),) for e in shown],
        f"now {unit.name}".strip(): [(Span(unit.text(e.after)),) for e in shown],
        "change": [
            (Span(_signed(each.seconds, unit), role),)
            for each, role in zip(shown, roles, strict=True)
        ],
    }
    table = Table(
        tuple(
            Column(key, head, lines, right=key != "key", grows=key == "key")
            for key, (head, lines) in zip(
                ("key", "before", "after", "change"), cells.items(), strict=True
            )
        )
    )
    return Report(
        title=f"{before.source} → {after.source}",
        verdict=(Span(words.sentence(Remark("profile-change", facts)), "strong"),),
        tables=(table,),
    )


# The flame.

_WIDE, _ROW, _LETTER = 1200, 18, 6.6
"""Pixels: of the picture, of a row, and of a letter at most."""


class _Node:
    def __init__(self, name: str, place: str) -> None:
        self.name, self.place = name, place
        self.kinds: Counter[KernelKind] = Counter()
        """Seconds."""
        self.inner: dict[str, _Node] = {}

    @property
    def seconds(self) -> float:
        return self.kinds.total()

    def boxes(self, depth: int = 0, start: float = 0.0) -> Iterator[_Box]:
        yield _Box(depth, start, self)
        for inner in sorted(self.inner.values(), key=lambda each: -each.seconds):
            yield from inner.boxes(depth + 1, start)
            start += inner.seconds


class _Box(NamedTuple):
    depth: int
    start: float
    node: _Node


_FILLS = {"compute": "#4c9be8", "collective": "#e8a33d", "copy": "#b07cd8"}


def _tree(profile: Profile) -> _Node:
    """The time of a step by the stacks of the user, the outermost first."""
    root = _Node(profile.source, "")
    for each in profile.kernels:
        for share in each.shares:
            seconds = share.part * each.self_seconds
            root.kinds[each.kind] += seconds  # type: ignore[assignment]
            node = root
            frames = [profile.frames[place] for place in reversed(share.stack)]
            path = [
                (
                    f"{f.function or PurePath(f.file).name}:{f.line}",
                    f"{f.file}:{f.line}",
                )
                for f in frames
            ]
            for name, place in (*path, (each.name, f"{each.program} {each.name}")):
                node = node.inner.setdefault(place, _Node(name, place))
                node.kinds[each.kind] += seconds  # type: ignore[assignment]
    return root


def flame(profile: Profile) -> str:
    """An SVG: each frame of the user's stacks as wide as its time, kernels on top."""
    root = _tree(profile)
    boxes = list(root.boxes())
    deepest = max(box.depth for box in boxes) + 1
    height, scale = 60 + deepest * _ROW, _WIDE / (root.seconds or 1.0)
    ends = fmt.seconds(root.seconds), fmt.seconds(profile.step_seconds)
    title = f"{profile.source}: {ends[0]} of {ends[1]} in a step"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {height}"'
        ' font-family="monospace" font-size="11">',
        f'<rect width="{_WIDE}" height="{height}" fill="#1b1d23"/>',
        f'<text x="8" y="22" fill="#e6e6e6" font-size="14">{_xml(title)}</text>',
    ]
    for depth, start, node in boxes:
        x, width = start * scale, node.seconds * scale
        if width < 0.3:
            continue
        y = height - 10 - (depth + 1) * _ROW
        ((kind, _),) = node.kinds.most_common(1)
        share = fmt.percent(node.seconds / (profile.step_seconds or 1.0))
        tip = f"{node.name} {fmt.seconds(node.seconds)} {share} {node.place}"
        fits = int((width - 4) / _LETTER)
        text = (
            node.name if len(node.name) <= fits else node.name[: max(0, fits - 1)] + "…"
        )
        parts.append(
            f'<g><title>{_xml(tip)}</title><rect x="{x:.1f}" y="{y}"'
            f' width="{max(width - 0.5, 0.3):.1f}" height="{_ROW - 1}"'
            f' fill="{_FILLS[kind]}" fill-opacity="{0.95 - 0.04 * (depth % 4):.2f}"/>'
            + (
                f'<text x="{x + 3:.1f}" y="{y + 12}" fill="#10131a">{_xml(text)}</text>'
                if fits > 2
                else ""
            )
            + "</g>"
        )
    return "\n".join([*parts, "</svg>", ""])


def _xml(text: str) -> str:
    return escape(visible(text, line=True))
