"""Links: what copies between the devices of a process take, and which pairs lag.

``Links`` is what is known of the pairs of one run, for the command and the screen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Literal, get_args

import msgspec

from jaxtui import format as fmt
from jaxtui.analysis.links import (
    MOST_DEVICES,
    Lag,
    Pair,
    bytes_per_second,
    lags,
)
from jaxtui.machine.network import Network
from jaxtui.model import Device, Fact, Host, Record, Remark, WorkFailed
from jaxtui.model import links as model
from jaxtui.model.links import LinkMeasured, LinksMeasured
from jaxtui.state import Job
from jaxtui.view import words
from jaxtui.view.chipmap import Mark
from jaxtui.view.document import (
    MACHINE,
    SCHEMA,
    Outcome,
    ProblemRow,
    encode,
    machine,
    problem,
)
from jaxtui.view.export import Contents
from jaxtui.view.heat import Scale
from jaxtui.view.render import markdown, svg
from jaxtui.view.report import Report, Statement, Table, gather
from jaxtui.view.text import Column, Line, Span, columns, fold

MOST_ROWS = 16
"""Of a heat map; more devices share rows, in the order of their ids."""

TALLEST_CELL = 3
"""Lines of a figure on a screen."""

WIDEST_CELL = 7
"""Cells of a figure on a screen, however much room there is."""

MOST_LAGS = 10
"""Pairs that are listed because they lag; the others are counted."""


Figure = Literal["rate", "latency"]
"""What a heat map shows: bytes per second, or the time of eight bytes."""

FIGURES: tuple[Figure, ...] = get_args(Figure)

Cell = tuple[int, int]
"""Of a heat map: its row and its column, counted from 0."""


@dataclass(frozen=True, slots=True)
class Heat:
    """The cells of a heat map that have a figure."""

    values: Mapping[Cell, float]
    scale: Scale
    unit: fmt.Unit

    def cell(self, at: Cell, width: int) -> Line:
        """A figure in its colour, or a point where there is none."""
        value = self.values.get(at)
        if value is None:
            return (Span("·", "muted"),)
        return (Span(self.unit.text(value, 2).center(width), self.scale.role(value)),)


@dataclass(frozen=True)
class Links:
    """The pairs of one run."""

    work: model.Links
    everyone: tuple[Device, ...]
    """Of the machine, those of other processes too."""
    measured: Mapping[Pair, LinkMeasured]
    remarks: tuple[Remark, ...] = ()
    """What qualifies all of them."""

    @classmethod
    def of(cls, job: Job | None, everyone: Sequence[Device]) -> Links | None:
        """Of a run of links; ``None`` of another."""
        if job is None or not isinstance(job.work, model.Links):
            return None
        ended = job.result if isinstance(job.result, LinksMeasured) else None
        remarks = ended.remarks if ended else ()
        return cls(job.work, tuple(everyone), job.links, remarks)

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """Those that take part, in the order of their ids."""
        named = {name for pair in self.work.pairs for name in pair}
        taking_part = [device for device in self.everyone if device.name in named]
        return tuple(sorted(taking_part, key=lambda device: device.id))

    @cached_property
    def network(self) -> Network:
        return Network(self.everyone)

    @cached_property
    def lags(self) -> tuple[Lag, ...]:
        return lags(self.measured, self.devices, self.network)

    @property
    def size(self) -> str:
        return fmt.bytes_text(self.work.nbytes)

    def rate(self, pair: Pair) -> float | None:
        """Bytes per second of a pair, as far as it is known."""
        link = self.measured.get(pair)
        return None if link is None else bytes_per_second(link, self.work.nbytes)

    def latency(self, pair: Pair) -> float | None:
        link = self.measured.get(pair)
        return None if link is None else link.latency_seconds

    # What there is to say.

    @property
    def headline(self) -> Remark:
        rates = sorted(filter(None, map(self.rate, self.work.pairs)))
        latencies = list(filter(None, map(self.latency, self.work.pairs)))
        facts: dict[str, Fact] = {
            "pairs": len(self.work.pairs),
            "measured": len(rates),
            "size": self.work.nbytes,
            "rate": median(rates) if rates else None,
            "slowest": rates[0] if rates else None,
            "fastest": rates[-1] if rates else None,
            "latency": median(latencies) if latencies else None,
        }
        return Remark("links", facts)

    def statements(self) -> tuple[Statement, ...]:
        """What qualifies the figures: of all pairs, then of some."""
        count = len(self.devices)
        of_all = [*self.remarks]
        if any(device.simulated for device in self.devices):
            of_all.append(Remark("simulated"))
        if count > MOST_DEVICES:
            facts: dict[str, Fact] = {"pairs": len(self.work.pairs), "devices": count}
            of_all.append(Remark("links-sampled", facts))
        if any(device.coords for device in self.devices):
            facts = {"rings": self.network.has_rings, "missing": self.network.missing}
            of_all.append(Remark("hops", facts))
        theirs = [device for device in self.everyone if not device.addressable]
        if theirs:
            processes = len({device.process_index for device in theirs})
            facts = {"devices": len(theirs), "processes": processes}
            of_all.append(Remark("links-elsewhere", facts))
        lagging = {
            lag.pair: Remark(
                "slow-link",
                {"least": lag.bound.factor, "bound": lag.bound.code},
                "warning",
            )
            for lag in self.lags
        }
        rows: list[tuple[str, list[Remark]]] = []
        for pair in self.work.pairs:
            link = self.measured.get(pair)
            remarks = [*(link.remarks if link else ())]
            remarks += filter(None, [lagging.get(pair)])
            rows.append((self.label(pair), remarks))
        return gather(rows, of_all)

    def label(self, pair: Pair) -> str:
        """``tpu:0 at 0,0,0 → tpu:5 at 1,2,0``."""
        return " → ".join(self._labels.get(name, name) for name in pair)

    @cached_property
    def _labels(self) -> dict[str, str]:
        return {device.name: device.label for device in self.devices}

    def tables(self) -> tuple[Table, ...]:
        """By distance, the pairs that lag, and a heat map of each of the figures."""
        tables = []
        rows = self._distances()
        if any(device.coords for device in self.devices) and rows:
            head = ("hops", "pairs", "latency", "bytes/s", "slowest", "fastest")
            tables.append(Table(columns(head, rows, head)))
        if self.lags:
            tables.append(Table(self._lagging(), "slow pairs"))
        return (*tables, *filter(None, map(self.heat_map, FIGURES)))

    def _distances(self) -> list[tuple[fmt.Cell, ...]]:
        """A row for each distance, the nearest first."""
        groups: dict[int | None, list[Pair]] = {}
        for pair in self.work.pairs:
            if self.rate(pair) is not None:
                groups.setdefault(self.network.hops(*pair), []).append(pair)
        rows: list[tuple[fmt.Cell, ...]] = []
        for hops in sorted(groups, key=lambda hops: (hops is None, hops)):
            rates = sorted(filter(None, map(self.rate, groups[hops])))
            latencies = list(filter(None, map(self.latency, groups[hops])))
            rows.append(
                (
                    fmt.ABSENT if hops is None else str(hops),
                    str(len(groups[hops])),
                    fmt.figure(median(latencies) if latencies else None),
                    *(
                        fmt.figure(rate, "B/s")
                        for rate in (median(rates), rates[0], rates[-1])
                    ),
                )
            )
        return rows

    def _lagging(self) -> tuple[Column, ...]:
        rows = [
            (
                self.label(lag.pair),
                fmt.figure(self.rate(lag.pair), "B/s"),
                f"{fmt.percent(lag.share)} of similar pairs",
            )
            for lag in self.lags[:MOST_LAGS]
        ]
        return columns(("pair", "bytes/s", "share"), rows, ("bytes/s",))

    def heat_map(self, of: Figure) -> Table | None:
        """A row for each device that is copied from, a column for each that is copied
        to; ``None`` without a figure.
        """
        heat = self.heat(of)
        if heat is None:
            return None
        heads = [Column("from", "", [(Span(ids, "muted"),) for ids in self._rows])]
        places = range(len(self.groups))
        cells = [
            Column(
                ids,
                ids.partition("-")[0],
                [heat.cell((row, column), 3) for row in places],
                right=True,
                least=3,
            )
            for column, ids in enumerate(self._rows)
        ]
        size = model.LATENCY_BYTES if of == "latency" else self.work.nbytes
        what = fmt.bytes_text(size)
        title = f"{heat.unit.name}, {what} from the row's device to the column's"
        return Table((*heads, *cells), title, gap=1)

    def heat(self, of: Figure) -> Heat | None:
        """The cells of a heat map. Of more than 16 devices, a group of them shares a
        row, and a cell has the median of its pairs.
        """
        figure = self.latency if of == "latency" else self.rate
        values: dict[Cell, list[float]] = {}
        places = {name: at for at, names in enumerate(self.groups) for name in names}
        for pair in self.work.pairs:
            if (value := figure(pair)) is not None:
                cell = (places[pair[0]], places[pair[1]])
                values.setdefault(cell, []).append(value)
        medians = {cell: median(found) for cell, found in values.items()}
        scale = Scale.of(medians.values())
        if scale is None:
            return None
        quantity: fmt.Quantity = "s" if of == "latency" else "B/s"
        middle = fmt.figure(median(medians.values()), quantity)
        assert isinstance(middle, fmt.Figure)
        return Heat(medians, scale, middle.unit)

    @cached_property
    def groups(self) -> list[tuple[str, ...]]:
        """The devices of each row of a heat map."""
        names = [device.name for device in self.devices]
        size = -(-len(names) // MOST_ROWS)
        return [tuple(names[at : at + size]) for at in range(0, len(names), size)]

    @property
    def _rows(self) -> list[str]:
        """The ids of each row: ``3``, or ``16-19`` of a group."""
        found = []
        for names in self.groups:
            first, last = (one.rpartition(":")[2] for one in (names[0], names[-1]))
            found.append(first if len(names) == 1 else f"{first}-{last}")
        return found

    # On a screen.

    def lines(self, of: Figure, selected: Cell, width: int, height: int) -> list[Line]:
        """The heat map with one of its cells selected, as large as there is room.

        ``cell_at`` finds the cell at a place of it. There may be more lines than the
        height.
        """
        heat, cell = self.heat(of), self._cell_width(width)
        rows = self._rows
        margin = max(map(len, rows)) + 1

        def head(text: str, chosen: bool) -> Span:
            return Span(text, "strong" if chosen else "muted")

        tall = self.tall(height)
        lines: list[Line] = [
            (
                Span(" " * margin),
                *(
                    head(f"{ids.partition('-')[0]:^{cell}} ", column == selected[1])
                    for column, ids in enumerate(rows)
                ),
            )
        ]
        for row, ids in enumerate(rows):
            spans = [head(f"{ids:>{margin - 1}} ", row == selected[0])]
            blank = [Span(" " * margin)]
            for column in range(len(rows)):
                (span,) = (
                    heat.cell((row, column), cell) if heat else (Span("·", "muted"),)
                )
                role = "selected" if (row, column) == selected else span.role
                spans += [Span(f"{span.text:^{cell}}", role), Span(" ")]
                blank += [Span(" " * cell, role), Span(" ")]
            above = (tall - 1) // 2
            lines += [tuple(blank)] * above + [tuple(spans)]
            lines += [tuple(blank)] * (tall - 1 - above)
        return lines

    def tall(self, height: int) -> int:
        """Lines of a cell."""
        return max(1, min((height - 1) // len(self.groups), TALLEST_CELL))

    def cell_at(self, x: int, y: int, width: int, height: int) -> Cell | None:
        """Which cell of ``lines`` is drawn there."""
        rows = self._rows
        margin, cell = max(map(len, rows)) + 1, self._cell_width(width)
        row, column = (y - 1) // self.tall(height), (x - margin) // (cell + 1)
        inside = 0 <= row < len(rows) and 0 <= column < len(rows) and x >= margin
        return (row, column) if inside else None

    def _cell_width(self, width: int) -> int:
        count = len(self.groups)
        room = (width - max(map(len, self._rows)) - 1) // count - 1
        return max(3, min(room, WIDEST_CELL))

    def pairs_of(self, cell: Cell) -> list[Pair]:
        """The measured pairs of a cell, in its direction."""
        sources, targets = (self.groups[place] for place in cell)
        wanted = self.work.pairs
        return [one for one in wanted if one[0] in sources and one[1] in targets]

    def about(self, cell: Cell, width: int) -> list[Line]:
        """What is known of a cell, and of the way back."""
        lines: list[Line] = []
        for way in (cell, cell[::-1]):
            pairs = self.pairs_of(way)
            if len(pairs) == 1:
                line = (Span(f"{self.label(pairs[0])}  ", "title"), *self._of(pairs[0]))
            else:
                ends = " → ".join(self._rows[place] for place in way)
                count = fmt.plural(len(pairs), "pair") if pairs else "not a pair"
                rates = list(filter(None, map(self.rate, pairs)))
                middle = f", median {fmt.rate(median(rates), 'B/s')}" if rates else ""
                line = (Span(f"{ends}  ", "title"), Span(count + middle))
            lines += fold(line, width)
            if cell[0] == cell[1]:
                break
        return lines

    def _of(self, pair: Pair) -> Line:
        """The figures of a pair with their intervals."""
        link, rate = self.measured.get(pair), self.rate(pair)
        if link is None or rate is None or link.latency_seconds is None:
            why = [words.sentence(one) for one in link.remarks] if link else []
            return (Span(" ".join(why) or "not measured yet", "muted"),)
        size = self.work.nbytes
        ends = (size / (link.copy_high or 1), size / (link.copy_low or 1))
        unit = fmt.common([rate], "B/s")
        hops = self.network.hops(*pair)
        parts = [
            f"{unit.whole(rate)} ({unit.ends(*ends)})",
            fmt.seconds(link.latency_seconds),
            *([] if hops is None else [fmt.plural(hops, "hop")]),
            fmt.plural(link.rounds, "round"),
        ]
        share = next((lag.share for lag in self.lags if lag.pair == pair), None)
        slow = [] if share is None else [f"{fmt.percent(share)} of similar pairs"]
        known = Span(" · ".join(parts))
        return (known, *(Span(f" · {text}", "warning") for text in slow))

    def marks(self, of: Figure, cell: Cell) -> tuple[dict[str, Mark], tuple[Line, ...]]:
        """What a chip map says of the ways from the selected row: how each device is
        reached from there; and its legend.
        """
        heat, sources = self.heat(of), self.groups[cell[0]]
        figure = self.latency if of == "latency" else self.rate
        marks = {name: Mark("", "", "source", "from") for name in sources}
        if heat is None:
            return marks, ()
        for device in self.devices:
            ways = [figure((source, device.name)) for source in sources]
            if values := list(filter(None, ways)):
                value = median(values)
                text = heat.unit.text(value, 2)
                if device.name not in sources:
                    marks[device.name] = Mark("", "", heat.scale.role(value), text)
        start = Span(f"from {self._rows[cell[0]]}: ", "muted")
        return marks, ((start, *heat.scale.legend(heat.unit)),)

    # As a whole.

    def report(self, host: Host | None, *, lost: bool = False) -> Report:
        kinds = {device.device_kind for device in self.devices}
        title = f"links of {len(self.devices)} × {fmt.listed(sorted(kinds))}"
        during = Remark("incomplete", {"during": "run"}, "warning")
        whole = (Statement(during),) * lost
        return Report(
            title=title,
            verdict=(Span(words.sentence(self.headline), "strong"),),
            tables=self.tables(),
            remarks=(*whole, *self.statements()),
            host=machine(host, *MACHINE, by=" · "),
        )


def one_device(names: Sequence[str]) -> Remark:
    """Why there are no links where there are fewer than two devices."""
    return Remark("links-one-device", {"device": names[0] if names else None})


# The document.


class LinkRow(Record, frozen=True, kw_only=True):
    """A pair of devices in one direction."""

    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    hops: int | None
    """Links on the shortest way; ``null`` where coords do not tell."""
    latency_seconds: float | None
    """Of a copy of eight bytes; ``null`` where nothing was copied, or not yet."""
    latency_low: float | None
    latency_high: float | None
    bytes_per_second: float | None
    """Of the large copy."""
    bytes_per_second_low: float | None
    bytes_per_second_high: float | None
    page_faults: float | None
    """Of a large copy into this machine's memory."""
    rounds: int
    share: float | None = None
    """Of the median of its distance and direction, where it lags behind that."""
    remarks: tuple[Remark, ...] = ()


class Document(Record, frozen=True, kw_only=True):
    schema: int = SCHEMA
    host: Host | None
    """``None`` when it was interrupted before the engine had looked."""
    size_bytes: int | None
    """Of the large copy."""
    links: tuple[LinkRow, ...] = ()
    remarks: tuple[Remark, ...] = ()
    """What is true of all of them."""
    problem: ProblemRow | None = None
    """Why some are missing."""
    outcome: Outcome


def document(
    host: Host | None, links: Links | None, failed: WorkFailed | None, outcome: Outcome
) -> Document:
    if links is None:
        return Document(host=host, size_bytes=None, outcome=outcome)
    shares = {lag.pair: lag.share for lag in links.lags}
    size = links.work.nbytes
    rows = []
    for pair in links.work.pairs:
        link = links.measured.get(pair) or LinkMeasured(source=pair[0], target=pair[1])
        rows.append(
            LinkRow(
                source=pair[0],
                target=pair[1],
                hops=links.network.hops(*pair),
                latency_seconds=link.latency_seconds,
                latency_low=link.latency_low,
                latency_high=link.latency_high,
                bytes_per_second=links.rate(pair),
                bytes_per_second_low=size / link.copy_high if link.copy_high else None,
                bytes_per_second_high=size / link.copy_low if link.copy_low else None,
                page_faults=link.page_faults,
                rounds=link.rounds,
                share=shares.get(pair),
                remarks=link.remarks,
            )
        )
    return Document(
        host=host,
        size_bytes=size,
        links=tuple(rows),
        remarks=tuple(one.remark for one in links.statements() if not one.about),
        problem=problem(failed),
        outcome=outcome,
    )


def files(document: Document, report: Report) -> Contents:
    """Every kind of file that there is of links."""
    return {
        ".json": lambda: encode(document).decode(),
        ".md": lambda: markdown(report),
        ".svg": lambda: svg(report),
    }
