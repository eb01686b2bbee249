"""Links between devices: which pairs are measured, and which lag behind their like."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import median

from jaxtui.analysis import thresholds
from jaxtui.analysis.thresholds import Bound
from jaxtui.machine.network import Network
from jaxtui.model import Device
from jaxtui.model.links import LinkMeasured

Pair = tuple[str, str]

MOST_DEVICES = 16
"""All pairs of so many devices are measured, of more a sample of as many pairs."""

MOST_PAIRS = MOST_DEVICES * (MOST_DEVICES - 1)


# Which pairs.


def choose(devices: Sequence[Device], network: Network, seed: int = 0) -> list[Pair]:
    """The ordered pairs to measure: all of them, or a sample over all distances.

    Both devices of a pair are of one process: JAX copies between no others. In a sample
    each device in turn has a partner, at a distance that is the next one for the next
    device; both directions of a pair are in it.

    Args:
        devices: of any processes.
        network: how far they are apart.
        seed: of the sample.
    """
    by_process: dict[int, list[str]] = {}
    for device in devices:
        by_process.setdefault(device.process_index, []).append(device.name)
    groups = [names for names in by_process.values() if len(names) > 1]
    if sum(len(names) * (len(names) - 1) for names in groups) <= MOST_PAIRS:
        return [pair for names in groups for pair in permutations(names, 2)]
    near = {name: names for names in groups for name in names}
    chance = random.Random(seed)
    shuffled = chance.sample([*near], len(near))
    at_distance: dict[str, list[list[str]]] = {}
    chosen: dict[Pair, None] = {}
    turn = 0
    while len(chosen) < MOST_PAIRS:
        rounds, place = divmod(turn, len(shuffled))
        name = shuffled[place]
        if name not in at_distance:
            at_distance[name] = _by_distance(name, near[name], network)
        distances = at_distance[name]
        partners = distances[(place + rounds) % len(distances)]
        other = chance.choice(partners)
        chosen |= {(name, other): None, (other, name): None}
        turn += 1
    return list(chosen)


def _by_distance(name: str, names: Sequence[str], network: Network) -> list[list[str]]:
    """The other devices in groups, the nearest first."""
    groups: dict[int, list[str]] = {}
    for other in names:
        if other != name:
            hops = network.hops(name, other)
            groups.setdefault(-1 if hops is None else hops, []).append(other)
    return [groups[hops] for hops in sorted(groups)]


# What they mean.


@dataclass(frozen=True, slots=True)
class Lag:
    """A pair that is slower than those of its distance and direction."""

    pair: Pair
    share: float
    """Of their median bytes per second."""
    bound: Bound
    """The share that is expected of it."""


def bytes_per_second(link: LinkMeasured, nbytes: int) -> float | None:
    """The rate of the large copy."""
    return nbytes / link.copy_seconds if link.copy_seconds else None


def lags(
    links: Mapping[Pair, LinkMeasured], devices: Sequence[Device], network: Network
) -> tuple[Lag, ...]:
    """The pairs that lag behind the median of the others, the slowest first.

    They are compared with pairs of their distance that go the same way along the same
    axes; where a pair is the only one, with all of its distance. As between the devices
    of a check, the best end of the interval must lag.
    """
    known = {device.name: device for device in devices}
    figures = {
        pair: link.copy_seconds for pair, link in links.items() if link.copy_seconds
    }
    ways: dict[object, list[Pair]] = {}
    distances: dict[object, list[Pair]] = {}
    for pair in figures:
        ways.setdefault(_way(pair, network), []).append(pair)
        distances.setdefault(network.hops(*pair), []).append(pair)
    found = []
    for pair, seconds in figures.items():
        alike = ways[_way(pair, network)]
        if len(alike) < 2:
            alike = distances[network.hops(*pair)]
        others = [figures[other] for other in alike if other != pair]
        if not others:
            continue
        middle = median(others)
        on_host = thresholds.on_host(known.get(pair[0]))
        bound = thresholds.ON_HOST if on_host else thresholds.ALIKE
        best = links[pair].copy_low or seconds
        if middle / best < bound.factor:
            found.append(Lag(pair, middle / seconds, bound))
    return tuple(sorted(found, key=lambda lag: lag.share))


def _way(pair: Pair, network: Network) -> tuple[object, ...]:
    """Distance and direction; without coords the direction is that of the ids."""
    steps = network.steps(*pair)
    if steps is None:
        source, target = (int(name.rpartition(":")[2]) for name in pair)
        return (None, source < target)
    signs = ((step > 0) - (step < 0) for step in steps)
    return (sum(map(abs, steps)), *signs)
