"""Links: what copies between the devices of a process take, and which pairs lag.

``Links`` is what is known of the pairs of one run, for the command and the screen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

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
from jaxtui.view.document import (
    MACHINE,
    SCHEMA,
    Outcome,
    ProblemRow,
    machine,
    problem,
)
from jaxtui.view.heat import Scale
from jaxtui.view.report import Report, Statement, Table, gather
from jaxtui.view.text import Column, Line, Span, columns

MOST_ROWS = 16
"""Of a heat map; more devices share rows, in the order of their ids."""

MOST_LAGS = 10
"""Pairs that are listed because they lag; the others are counted."""


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
        return lags(self.measured, self.everyone, self.network)

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
        labels = {device.name: device.label for device in self.everyone}
        return " → ".join(labels.get(name, name) for name in pair)

    def tables(self) -> tuple[Table, ...]:
        """By distance, the pairs that lag, and a heat map of each of the figures."""
        tables = []
        rows = self._distances()
        if any(device.coords for device in self.devices) and rows:
            head = ("hops", "pairs", "latency", "bytes/s", "slowest", "fastest")
            tables.append(Table(columns(head, rows, head)))
        if self.lags:
            tables.append(Table(self._lagging(), "pairs that lag"))
        rates = self.heat_map(self.rate, "B/s", self.size)
        latencies = self.heat_map(
            self.latency, "s", fmt.bytes_text(model.LATENCY_BYTES)
        )
        return (*tables, *filter(None, (rates, latencies)))

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
                f"{fmt.percent(lag.share)} of its like",
            )
            for lag in self.lags[:MOST_LAGS]
        ]
        return columns(("pair", "bytes/s", "share"), rows, ("bytes/s",))

    def heat_map(
        self,
        figure: Callable[[Pair], float | None],
        quantity: fmt.Quantity,
        size: str,
    ) -> Table | None:
        """A row for each device that is copied from, a column for each that is copied
        to.

        Of more than 16 devices, a group of them shares a row, and a cell has the median
        of its pairs. ``None`` without a figure.
        """
        groups = self.groups
        values: dict[tuple[int, int], list[float]] = {}
        places = {name: at for at, names in enumerate(groups) for name in names}
        for pair in self.work.pairs:
            if (value := figure(pair)) is not None:
                cell = (places[pair[0]], places[pair[1]])
                values.setdefault(cell, []).append(value)
        medians = {cell: median(found) for cell, found in values.items()}
        scale = Scale.of(medians.values())
        if scale is None:
            return None
        middle = fmt.figure(median(medians.values()), quantity)
        assert isinstance(middle, fmt.Figure)
        unit = middle.unit
        rows = [_ids(names) for names in groups]
        found = [Column("from", "", [(Span(ids, "muted"),) for ids in rows])]
        for column, ids in enumerate(rows):
            head = ids.partition("-")[0]
            cells: list[Line] = []
            for row in range(len(groups)):
                value = medians.get((row, column))
                if value is None:
                    cells.append((Span("·", "muted"),))
                else:
                    text = unit.text(value, 2).center(3)
                    cells.append((Span(text, scale.role(value)),))
            found.append(Column(head, head, cells, right=True, least=3))
        title = f"{unit.name}, {size} from the row's device to the column's"
        return Table(tuple(found), title, gap=1)

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """The devices of each row of a heat map."""
        names = [device.name for device in self.devices]
        size = -(-len(names) // MOST_ROWS)
        return [tuple(names[at : at + size]) for at in range(0, len(names), size)]

    def report(self, host: Host | None, *, lost: bool = False) -> Report:
        kinds = {device.device_kind for device in self.devices}
        title = f"links of {len(self.devices)} × {fmt.listed(sorted(kinds))}"
        whole = (Statement(Remark("links-lost", severity="warning")),) * lost
        return Report(
            title=title,
            verdict=(Span(words.sentence(self.headline), "strong"),),
            tables=self.tables(),
            remarks=(*whole, *self.statements()),
            host=machine(host, *MACHINE, by=" · "),
        )


def _ids(names: Sequence[str]) -> str:
    """``3``, or ``16-19`` of a group."""
    ids = [name.rpartition(":")[2] for name in (names[0], names[-1])]
    return "-".join(ids) if len(names) > 1 else ids[0]


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
