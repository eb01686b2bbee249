"""The pairs to measure, their results, and the links that lag."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from statistics import median

import msgspec

from jaxtui.core.format import percent, plural
from jaxtui.core.model import Device, Experiment, run_notes
from jaxtui.core.model.document import Note
from jaxtui.core.state import CaseState, Job, State
from jaxtui.features.bench import thresholds
from jaxtui.features.bench.thresholds import Bound
from jaxtui.features.links.messages import Link, Links, Pair
from jaxtui.machine.network import Network
from jaxtui.ui import words

MOST_PAIRS = 240
"""All pairs of 16 devices; of more pairs a sample is measured."""


def choose(devices: Sequence[Device], seed: int = 0) -> tuple[Pair, ...]:
    """The ordered pairs to measure: all of them, or a random sample in both directions.

    Both devices of a pair are of one process, which this one must be able to address:
    JAX copies between no others.
    """
    by_process: dict[int, list[str]] = {}
    for device in devices:
        if device.addressable:
            by_process.setdefault(device.process_index, []).append(device.name)
    pairs = [pair for names in by_process.values() for pair in permutations(names, 2)]
    if len(pairs) <= MOST_PAIRS:
        return tuple(pairs)
    ways = [pair for pair in pairs if pair < pair[::-1]]
    sample = random.Random(seed).sample(ways, MOST_PAIRS // 2)
    return tuple(pair for way in sample for pair in (way, way[::-1]))


def result(state: State, complete: bool) -> Links:
    """Return the result of the last run of links so far."""
    job = state.jobs.get("links")
    if job is None or not isinstance(job.work, Experiment):
        return Links(command="links", host=state.host, complete=False, size_bytes=None)
    network = Network(state.devices)
    pairs = zip(job.cases[::2], job.cases[1::2], strict=True)
    links = [_link(*cases, network) for cases in pairs]
    lags = lagging(links, network) if job.outcome else {}  # first figures say little
    return Links(
        command="links",
        host=state.host,
        complete=complete,
        size_bytes=job.work.cases[1].size,
        links=tuple(
            msgspec.structs.replace(link, share=lags.get(link.pair)) for link in links
        ),
        notes=tuple(_notes(job, links, lags, state.devices, network)),
    )


def _link(latency: CaseState, copy: CaseState, network: Network) -> Link:
    source, target, nbytes = copy.case.device, copy.case.target, copy.case.size
    hops = network.hops(source, target)
    failure = latency.failure or copy.failure
    small, large = (
        case.measurement.ready if case.measurement else None for case in (latency, copy)
    )
    if failure is not None or small is None or large is None:
        stopped = failure is None or failure.remark.code == "stopped"
        error = None if failure is None or stopped else words.sentence(failure.remark)
        return Link(source=source, target=target, hops=hops, error=error)
    return Link(
        source=source,
        target=target,
        hops=hops,
        latency_seconds=small.median,
        latency_low=small.ci_low,
        latency_high=small.ci_high,
        bytes_per_second=nbytes / large.median,
        bytes_per_second_low=nbytes / large.ci_high,
        bytes_per_second_high=nbytes / large.ci_low,
        rounds=large.rounds,
    )


def lagging(links: Iterable[Link], network: Network) -> dict[Pair, float]:
    """The pairs that lag, with their shares of the median of the others.

    They are compared with pairs of their distance that go the same way along the same
    axes; where a pair is the only one, with all of its distance. As between the devices
    of a check, the best end of the interval must lag.
    """
    groups: dict[object, dict[Pair, float]] = {}
    for link in links:
        for group in (_way(link.pair, network), link.hops):
            if link.bytes_per_second:
                groups.setdefault(group, {})[link.pair] = link.bytes_per_second
    lags = {}
    for link in links:
        alike = groups.get(_way(link.pair, network), {})
        if len(alike) < 2:
            alike = groups.get(link.hops, {})
        peers = [rate for pair, rate in alike.items() if pair != link.pair]
        best, bound = link.bytes_per_second_high, _bound(link.source)
        if peers and best and best < bound.factor * median(peers):
            lags[link.pair] = (link.bytes_per_second or best) / median(peers)
    return lags


def _bound(device: str) -> Bound:
    return thresholds.ON_HOST if device.startswith("cpu:") else thresholds.ALIKE


def _way(pair: Pair, network: Network) -> tuple[object, ...]:
    """Distance and direction; without coords the direction is that of the ids."""
    steps = network.steps(*pair)
    if steps is None:
        source, target = (int(name.rpartition(":")[2]) for name in pair)
        return (None, source < target)
    signs = ((step > 0) - (step < 0) for step in steps)
    return (sum(map(abs, steps)), *signs)


def _notes(
    job: Job,
    links: Sequence[Link],
    lags: Mapping[Pair, float],
    devices: Sequence[Device],
    network: Network,
) -> Iterator[Note]:
    """Yield the notes on some links, then on all."""
    for error in dict.fromkeys(link.error for link in links if link.error):
        about = labels([x.pair for x in links if x.error == error], devices)
        yield Note(flag="failed", text=error, about=about, level="error")
    if job.outcome == "crashed":
        yield Note(flag="incomplete", text=words.LOST, level="warning")
    if lags:
        bound = _bound(links[0].source)
        text = f"Below {percent(bound.factor)} of the median of pairs at the same"
        text += f" distance in the same direction. {bound.why}"
        about = labels(sorted(lags, key=lags.__getitem__), devices)
        yield Note(flag="slow link", text=text, about=about, level="warning")
    copies = [case.measurement for case in job.cases[1::2] if case.measurement]
    for remark in run_notes(copies):
        if remark.code in ("contended", "simulated"):
            text = words.text(remark)
            yield Note(flag=words.label(remark), text=text, level=remark.severity)
    named = [device for device in devices if device.name in {x.source for x in links}]
    if len(links) == MOST_PAIRS and len(named) > 16:
        text = f"{len(links)} pairs of {len(named)} devices, chosen at random."
        yield Note(flag="sample", text=text)
    if any(device.coords for device in named):
        yield Note(flag="hops", text=_hops(network))
    if others := sum(not device.addressable for device in devices):
        text = f"jaxtui did not measure links to {plural(others, 'device')} of other"
        text += " processes. Run `jaxtui links` there, too."
        yield Note(flag="other processes", text=text)
    if copies and copies[0].case.platform == "cpu":
        fresh = sum(copy.has("page-faults") for copy in copies)
        text = f"CPU devices copy within the host's memory; {fresh} of"
        text += f" {plural(len(copies), 'link')} got new memory, which takes longer."
        yield Note(flag="memory", text=text)


def labels(pairs: Iterable[Pair], devices: Sequence[Device]) -> tuple[str, ...]:
    """``tpu:0 at 0,0,0 → tpu:5 at 1,2,0`` of each pair."""
    labels = {device.name: device.label for device in devices}
    return tuple(" → ".join(map(labels.__getitem__, pair)) for pair in pairs)


def _hops(network: Network) -> str:
    way = "Hops follow the shortest path along the axes of the coords"
    if missing := network.missing:
        lacks = plural(missing, "missing chip")
        return f"{way}; the box has {lacks}, so real paths may be longer."
    ends = "wraps around" if network.has_rings else "is a mesh without wrap-around"
    return f"{way}; this slice {ends}."


def why_none(names: Sequence[str]) -> str:
    """Return why these devices have no links."""
    if len(names) > 1:
        return "JAX copies arrays between the devices of one process only."
    return f"A link needs two devices; there is only {names[0] if names else 'none'}."
