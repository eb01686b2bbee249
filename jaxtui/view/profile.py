"""A profile as one report, its document, its flame, and its difference from another."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import msgspec

from jaxtui import format as fmt
from jaxtui.analysis import profile as analysis
from jaxtui.analysis.profile import By, Change, Parts, Row, Spent
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
from jaxtui.view.text import Column, Line, Span, bar, plain
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

HEADS: dict[By, str] = {
    "line": "line",
    "function": "function",
    "op": "op",
    "category": "category",
    "shape": "shape",
}

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
        Table(columns(profile, rows[:most], rows[most:], key)),
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
    step, found = profile.step_seconds or 1.0, analysis.parts(profile)
    shares = [
        ("compute", found.compute, KINDS["compute"]),
        ("collectives", found.exposed, KINDS["collective"]),
        ("copies", found.copies, KINDS["copy"]),
        ("idle", found.idle, IDLE),
    ]
    ends = [0]
    whole = 0.0
    for _, seconds, _ in shares:
        whole += seconds
        ends.append(round(cells * min(1.0, whole / step)))
    drawn = tuple(
        Span(cell * (end - begin), role)
        for (_, _, (cell, role)), begin, end in zip(
            shares, ends, ends[1:], strict=False
        )
        if end > begin
    )
    legend: list[Span] = []
    for name, seconds, (cell, role) in shares:
        if (
            not seconds
            and name in ("collectives", "copies")
            and not _hides(name, found)
        ):
            continue
        text = f" {name} {_share(seconds / step)}"
        if name == "collectives" and found.hidden:
            text += f" exposed, {fmt.percent(found.hidden / step)} hidden"
        legend += [Span("  " if legend else ""), Span(cell, role), Span(text)]
    return drawn, tuple(legend)


def _hides(name: str, found: Parts) -> bool:
    return name == "collectives" and found.hidden > 0


def columns(
    profile: Profile, shown: Sequence[Row], cut: Sequence[Row], by: By
) -> tuple[Column, ...]:
    """The rows of a table: those shown, the idle time, and all that are cut."""
    step = profile.step_seconds or 1.0
    rest = sum(row.seconds for row in cut)
    times = [row.seconds for row in shown] + [profile.idle_seconds]
    unit = fmt.shared([*times, rest], "s")
    places = [analysis.place(row, profile) for row in shown]

    def tail(idle: str, more: str) -> list[Line]:
        texts = [idle, more] if cut else [idle]
        return [(Span(text, "muted"),) for text in texts]

    def column(texts: Iterable[str], idle: str = "", more: str = "") -> list[Line]:
        return [*((Span(text),) for text in texts), *tail(idle, more)]

    # Which a hundredth of a step would not change.
    guesses = [row.most_seconds - row.seconds > step / 100 for row in shown]
    several = f"{fmt.plural(len(cut), 'row')} more"
    names = [label(row, by) for row in shown]
    bars = [(Span(bar(row.seconds / step, 8), KINDS[row.kind][1]),) for row in shown]
    deviations = [
        f"±{unit.text(row.deviation)}" if row.deviation else "" for row in shown
    ]
    keys = [*names, *tail("idle", several)]
    longest = max(len(plain(name)) for name in keys)
    found = [
        Column("key", HEADS[by], keys, grows=True, least=min(longest, NAME)),
        Column("bar", "", [*bars, *tail("", "")], rank=5, least=8),
        Column(
            "self",
            unit.name or "self",
            column(
                (_text(row.seconds, unit) for row in shown),
                unit.text(profile.idle_seconds),
                unit.text(rest),
            ),
            right=True,
        ),
        Column("deviation", "±", column(deviations), rank=3, right=True),
        Column(
            "share",
            "share",
            column(
                (_share(row.seconds / step) for row in shown),
                _share(profile.idle_seconds / step),
                _share(rest / step),
            ),
            right=True,
        ),
        Column(
            "most",
            "at most",
            column(
                unit.text(row.most_seconds) if guess and row.shared else ""
                for row, guess in zip(shown, guesses, strict=True)
            ),
            rank=3,
            right=True,
        ),
        Column(
            "total",
            "with inner",
            column(unit.text(row.total_seconds) for row in shown),
            rank=2,
            right=True,
        ),
        Column(
            "count",
            "runs",
            column(_runs(row.count) for row in shown),
            rank=4,
            right=True,
        ),
        Column(
            "flops",
            "FLOP/s",
            column(
                str(fmt.figure(where.flops_per_second, "FLOP/s"))
                if where.flops_per_second
                else ""
                for where in places
            ),
            rank=6,
            right=True,
        ),
        Column(
            "bytes",
            "B/s",
            column(
                str(fmt.figure(where.bytes_per_second, "B/s"))
                if where.bytes_per_second
                else ""
                for where in places
            ),
            rank=7,
            right=True,
        ),
        Column(
            "roof",
            "of roof",
            column(map(_roof, places)),
            rank=3,
        ),
    ]
    always = ("key", "self", "share")
    return tuple(
        each
        for each in found
        if each.key in always or any(span.text for cell in each.cells for span in cell)
    )


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
    shown = profile.gaps[:GAPS]
    unit = fmt.shared([gap.seconds for gap in shown], "s")
    several = len(profile.devices) > 1
    return Table(
        (
            Column(
                "wait",
                f"wait {unit.name}".strip(),
                [(Span(unit.text(gap.seconds)),) for gap in shown],
                right=True,
            ),
            *(
                [Column("device", "device", [(Span(g.device),) for g in shown], rank=3)]
                if several
                else []
            ),
            Column("before", "before", [(Span(g.before or "the end"),) for g in shown]),
            Column(
                "host",
                "the host meanwhile",
                [(Span(_doing(gap)),) for gap in shown],
                grows=True,
            ),
        )
    )


def _doing(gap: Gap) -> str:
    if not gap.host:
        return activity("")
    return ", ".join(
        f"{activity(each.name)} ({fmt.seconds(each.seconds)})" for each in gap.host[:2]
    )


def _compiles(profile: Profile) -> Table | None:
    if not profile.compiles:
        return None
    shown = profile.compiles[:COMPILES]
    rows = [
        (
            each.function or "?",
            fmt.seconds(each.seconds),
            "from the cache"
            if each.compile_seconds is None
            else fmt.seconds(each.compile_seconds),
        )
        for each in shown
    ]
    if more := len(profile.compiles) - len(shown):
        rows.append((f"{more} more", "", ""))
    heads = ("compiled inside", "in all", "XLA")
    return Table(_texts(heads, rows, right=heads[1:]))


def _transfers(profile: Profile) -> Table | None:
    if not profile.transfers:
        return None
    rows = [
        (
            each.name,
            fmt.count(each.count),
            fmt.bytes_text(each.bytes),
            fmt.seconds(each.seconds),
        )
        for each in profile.transfers
    ]
    heads = ("transfer", "count", "size", "time")
    return Table(_texts(heads, rows, right=heads[1:]))


def _holdings(profile: Profile) -> Table | None:
    if not profile.holdings:
        return None
    shown = profile.holdings[:HOLDINGS]
    rows = [
        (
            analysis.named(each.frame, "line"),
            fmt.count(each.count),
            fmt.bytes_text(each.bytes),
        )
        for each in shown
    ]
    if cut := profile.holdings[HOLDINGS:]:
        rest = fmt.bytes_text(sum(each.bytes for each in cut))
        rows.append((f"{fmt.plural(len(cut), 'line')} more", "", rest))
    heads = ("holds memory", "arrays", "size")
    return Table(_texts(heads, rows, right=heads[1:]))


def _texts(
    heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str]
) -> tuple[Column, ...]:
    return tuple(
        Column(head, head, [(Span(cell),) for cell in cells], right=head in right)
        for head, cells in zip(heads, zip(*rows, strict=True), strict=True)
    )


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
    wanted = {id(kernel) for kernel in of.kernels} if of else None
    rows = [
        row
        for row in analysis.rows(profile, "line")
        if row.frame is not None
        and (wanted is None or wanted & {id(kernel) for kernel in row.kernels})
    ]
    by_file: dict[str, list[Row]] = {}
    for row in rows:
        assert row.frame is not None
        by_file.setdefault(row.frame.file, []).append(row)
    scale = Scale.of(row.seconds for row in rows)
    step = profile.step_seconds or 1.0
    found: list[SourceLine] = []
    for file, lines in sorted(
        by_file.items(), key=lambda item: -sum(row.seconds for row in item[1])
    ):
        found.append(SourceLine(file, 0, file))
        text = source(file)
        known = {row.frame.line: row for row in lines if row.frame}
        near = {
            number
            for line in known
            for number in range(line - CONTEXT, line + CONTEXT + 1)
            if 0 < number <= len(text)
        }
        for number in sorted({*near, *known}):
            row_here = known.get(number)
            words_here = text[number - 1] if number <= len(text) else ""
            here = SourceLine(file, number, words_here)
            if row_here is not None:
                heat = scale.role(row_here.seconds) if scale else ""
                here = here._replace(
                    seconds=row_here.seconds,
                    share=row_here.seconds / step,
                    shared=row_here.shared,
                    heat=heat if row_here.seconds else "",
                    total=row_here.total_seconds,
                )
            found.append(here)
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


CSV = (
    *("key", "kind", "self_seconds", "deviation_seconds", "share", "most_seconds"),
    *(
        "total_seconds",
        "hidden_seconds",
        "runs",
        "flops",
        "bytes",
        "file",
        "line",
        "function",
    ),
)


def as_csv(profile: Profile, by: By) -> str:
    """A row per key in base units, and one for the idle time."""
    step = profile.step_seconds or 1.0
    rows: list[dict[str, Any]] = [
        {
            "key": row.key,
            "kind": row.kind,
            "self_seconds": row.seconds,
            "deviation_seconds": row.deviation,
            "share": row.seconds / step,
            "most_seconds": row.most_seconds,
            "total_seconds": row.total_seconds,
            "hidden_seconds": row.hidden_seconds,
            "runs": row.count,
            "flops": row.flops,
            "bytes": row.bytes,
            **(
                {
                    "file": row.frame.file,
                    "line": row.frame.line,
                    "function": row.frame.function,
                }
                if row.frame
                else {}
            ),
        }
        for row in analysis.rows(profile, by)
    ]
    idle = profile.idle_seconds
    rows.append({"key": "idle", "self_seconds": idle, "share": idle / step})
    return csv_text(CSV, rows)


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
    table = Table(
        (
            Column(
                "key",
                HEADS[by],
                [(Span(each.key or NO_LINE),) for each in shown],
                grows=True,
            ),
            Column(
                "before",
                f"before {unit.name}".strip(),
                [(Span(unit.text(each.before)),) for each in shown],
                right=True,
            ),
            Column(
                "after",
                f"now {unit.name}".strip(),
                [(Span(unit.text(each.after)),) for each in shown],
                right=True,
            ),
            Column(
                "change",
                "change",
                [
                    (Span(_signed(each.seconds, unit), role),)
                    for each, role in zip(shown, roles, strict=True)
                ],
                right=True,
            ),
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
        self.seconds = 0.0
        self.kinds: dict[KernelKind, float] = {}
        self.inner: dict[str, _Node] = {}

    def child(self, name: str, place: str) -> _Node:
        return self.inner.setdefault(place, _Node(name, place))


class _Box(NamedTuple):
    depth: int
    start: float
    node: _Node


_FILLS = {"compute": "#4c9be8", "collective": "#e8a33d", "copy": "#b07cd8"}


def tree(profile: Profile) -> _Node:
    """The time of a step by the stacks of the user, the outermost first."""
    root = _Node(profile.source, "")
    for each in profile.kernels:
        for share in each.shares:
            frames = [profile.frames[place] for place in reversed(share.stack)]
            path = [
                (
                    f"{frame.function or PurePath(frame.file).name}:{frame.line}",
                    f"{frame.file}:{frame.line}",
                )
                for frame in frames
            ]
            node, seconds = root, share.part * each.self_seconds
            for step in [None, *path, (each.name, f"{each.program} {each.name}")]:
                node = node if step is None else node.child(*step)
                node.seconds += seconds
                node.kinds[each.kind] = node.kinds.get(each.kind, 0.0) + seconds
    return root


def flame(profile: Profile) -> str:
    """An SVG: each frame of the user's stacks as wide as its time, kernels on top."""
    root = tree(profile)
    boxes = list(_boxes(root, 0, 0.0))
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
        kind = max(node.kinds, key=lambda kind: node.kinds[kind])
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


def _boxes(node: _Node, depth: int, start: float) -> Iterator[_Box]:
    yield _Box(depth, start, node)
    for inner in sorted(node.inner.values(), key=lambda each: -each.seconds):
        yield from _boxes(inner, depth + 1, start)
        start += inner.seconds


def _xml(text: str) -> str:
    return escape(visible(text, line=True))
