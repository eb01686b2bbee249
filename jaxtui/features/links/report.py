"""The report of links, and the heat map of their pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, get_args

from rich.text import Text

from jaxtui.core import format as fmt
from jaxtui.core.model import Device
from jaxtui.core.state import State
from jaxtui.features.links.judge import labels, result
from jaxtui.features.links.messages import LATENCY_BYTES, Link, Links, Pair
from jaxtui.ui.heat import Scale
from jaxtui.ui.outcome import Outcome
from jaxtui.ui.report import Column, Report, Rows, figures, of_host
from jaxtui.ui.theme import HEAT_STYLES

MOST_ROWS = 16
"""Most rows of a heat map in a report; the screen scrolls."""

MOST_LAGS = 10
"""Pairs that are listed because they lag."""

Figure = Literal["rate", "latency"]
"""The figure of a heat map: bytes per second, or the time of eight bytes."""

FIGURES: tuple[Figure, ...] = get_args(Figure)


def report(links: Links, state: State) -> Report:
    """Return the report: links by distance, the laggards, and the heat maps."""
    devices = taking_part(links, state.devices)
    kinds = {device.device_kind for device in devices}
    lags = (link for link in links.links if link.share)
    slow = sorted(lags, key=lambda link: link.share or 1.0)[:MOST_LAGS]
    maps = [Heat(links, devices, figure) for figure in FIGURES]
    tables = [_distances(links)] if any(device.coords for device in devices) else []
    if slow:
        pairs = labels([link.pair for link in slow], devices)
        rates = [fmt.figure(link.bytes_per_second, "B/s") for link in slow]
        shares = [f"{fmt.percent(link.share)} of similar pairs" for link in slow]
        left, right = Column("pair", pairs), Column("share", shares)
        tables.append(Rows((left, figures("bytes/s", rates), right), "slow pairs"))
    if len(devices) <= MOST_ROWS:
        tables += [heat.rows() for heat in maps if heat.scale]
    return Report(
        title=f"links of {len(devices)} × {fmt.listed(sorted(kinds))}",
        verdict=headline(links),
        tables=tables,
        notes=links.notes,
        host=of_host(links.host),
    )


def taking_part(links: Links, devices: Sequence[Device]) -> list[Device]:
    """The devices of the pairs, in the order of their ids."""
    named = {link.source for link in links.links}
    return sorted((x for x in devices if x.name in named), key=lambda x: x.id)


def count(links: Links) -> tuple[int, int]:
    """Return the number of measured links, and of those requested."""
    rates, _ = _figures(links.links)
    return len(rates), len(links.links)


def _figures(links: Sequence[Link]) -> tuple[list[float], list[float]]:
    """The rates and the latencies of those that are measured, ascending."""
    return (
        sorted(link.bytes_per_second for link in links if link.bytes_per_second),
        sorted(link.latency_seconds for link in links if link.latency_seconds),
    )


def headline(links: Links) -> str:
    """The median link in a sentence."""
    measured, requested = count(links)
    number = fmt.plural(requested, "link")
    if measured < requested:
        number = f"{measured} of {requested} links"
    if not measured:
        return f"{number} measured."
    rates, latencies = _figures(links.links)
    ends = fmt.common(rates, "B/s").ends(rates[0], rates[-1])
    return (
        f"{number}: median {fmt.rate(median(rates), 'B/s')} with"
        f" {fmt.bytes_text(links.size_bytes)} copies ({ends}), latency"
        f" {fmt.seconds(median(latencies))} with {LATENCY_BYTES} bytes."
    )


OUTCOME = Outcome(Links, result, report, count)


def _distances(links: Links) -> Rows:
    """A row for each distance, the nearest first."""
    groups: dict[int | None, list[Link]] = {}
    for link in links.links:
        if link.bytes_per_second:
            groups.setdefault(link.hops, []).append(link)
    order = sorted(groups, key=lambda hops: (hops is None, hops))
    columns = [_figures(groups[hops]) for hops in order]
    per_second = {
        head: [fmt.figure(of(rates), "B/s") for rates, _ in columns]
        for head, of in (("bytes/s", median), ("slowest", min), ("fastest", max))
    }
    return Rows(
        (
            figures("hops", [fmt.ABSENT if n is None else str(n) for n in order]),
            figures("pairs", [str(len(rates)) for rates, _ in columns]),
            figures("latency", [fmt.figure(median(times)) for _, times in columns]),
            *(figures(head, cells, rank=1) for head, cells in per_second.items()),
        )
    )


@dataclass
class Heat:
    """The pairs as a map: a row for each source, a column for each target."""

    links: Links
    devices: Sequence[Device]
    figure: Figure = "rate"

    def __post_init__(self) -> None:
        self.names = [device.name for device in self.devices]
        self.ids = [str(device.id) for device in self.devices]
        self.known = {link.pair: link for link in self.links.links}
        rate = self.figure == "rate"
        values = {
            pair: link.bytes_per_second if rate else link.latency_seconds
            for pair, link in self.known.items()
        }
        self.values = {pair: value for pair, value in values.items() if value}
        self.scale = Scale.of(self.values.values())
        middle = [median(self.values.values())] if self.values else []
        self.unit = fmt.common(middle, "B/s" if rate else "s")

    @property
    def title(self) -> str:
        """``GB/s, 64 MiB``."""
        size = self.links.size_bytes if self.figure == "rate" else LATENCY_BYTES
        return f"{self.unit.name}, {fmt.bytes_text(size)}"

    def text(self, pair: Pair, width: int = 0, height: int = 1) -> Text:
        """A figure on a tile of its colour, or a point where there is none."""
        value, style = self.values.get(pair), "dim"
        figure = "·" if value is None else self.unit.text(value, 2)
        if value is not None and self.scale is not None:
            style = HEAT_STYLES[self.scale.role(value)]
        rows = [""] * height
        rows[(height - 1) // 2] = figure
        return Text.assemble(("\n".join(row.center(width) for row in rows), style))

    def rows(self) -> Rows:
        """The map as a table of a report."""
        columns = [
            Column(
                device.partition(":")[2],
                [self.text((source, device)) for source in self.names],
                right=True,
                least=3,
            )
            for device in self.names
        ]
        heads = Column("", [Text(ids, "muted") for ids in self.ids])
        title = f"{self.title}; rows = from, columns = to"
        return Rows((heads, *columns), title, gap=1)

    def about(self, pair: Pair) -> Text:
        """Write the facts about a pair, and about the way back, in a line each."""
        ways = dict.fromkeys((pair, pair[::-1]))
        return Text("\n").join(self._way(way) for way in ways)

    def _way(self, pair: Pair) -> Text:
        link = self.known.get(pair)
        (name,) = labels([pair], self.devices)
        line = Text.assemble((f"{name}  ", "strong"))
        if link is None or link.bytes_per_second is None:
            why = link.error if link else "not a pair"
            return line.append(why or "not measured yet", "muted")
        unit = fmt.common([link.bytes_per_second], "B/s")
        low, high = link.bytes_per_second_low or 0, link.bytes_per_second_high or 0
        ends = f" ({unit.ends(low, high)})" if link.rounds > 1 else ""
        parts = [
            f"{unit.whole(link.bytes_per_second)}{ends}",
            fmt.seconds(link.latency_seconds),
            *([] if link.hops is None else [fmt.plural(link.hops, "hop")]),
            fmt.plural(link.rounds, "round"),
        ]
        line.append(" · ".join(parts))
        if link.share is not None:
            line.append(f" · {fmt.percent(link.share)} of similar pairs", "warning")
        return line
