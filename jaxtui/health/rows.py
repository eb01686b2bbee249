"""The figures of a check in rows: devices that agree share one, the others do not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from jaxtui import format as fmt
from jaxtui.health.reasons import figure
from jaxtui.health.verdict import SEVERITY, Verdict, VerdictWord
from jaxtui.model import Device, Reading

NAMED_APART = 3
"""So many devices with the same trouble get a row each; more share one."""

_WIDEST_NAMES = 18

_DEVICE = re.compile(r"\b[a-z]+:\d+\b")


@dataclass(frozen=True, slots=True)
class Judged:
    """A reading with what it means."""

    reading: Reading
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Row:
    """What one or more devices have in common."""

    members: tuple[Judged, ...]
    """At least one; same test, same thing measured, same verdict."""

    @property
    def verdict(self) -> VerdictWord:
        """Of all of them."""
        return self.members[0].verdict.verdict

    @property
    def what(self) -> str:
        """What was measured."""
        return self.members[0].verdict.what

    @property
    def names(self) -> tuple[str, ...]:
        """Of the devices; none for a reading of the machine as a whole."""
        found = (member.verdict.device for member in self.members)
        return tuple(name for name in found if name is not None)

    @property
    def figure(self) -> str:
        """What was measured, beside what was expected if that is one figure for all."""
        unit = self.members[0].verdict.unit
        measured = [one.verdict.measured for one in self.members]
        values = [value for value in measured if value is not None]
        if not values:
            return ""
        text = _span(values, partial(figure, unit=unit))
        expected = {one.verdict.expected for one in self.members}
        if len(expected) > 1 or None in expected:
            return text
        wanted = figure(expected.pop(), unit)
        return _beside(text, wanted, self._relation)

    @property
    def share(self) -> str:
        """How much of the expectation was reached; empty where that is no matter."""
        shares = [one.verdict.share for one in self.members]
        values = [share for share in shares if share is not None]
        written = fmt.percent if self._more_is_better else fmt.ratio
        return _span(values, written) if values else ""

    @property
    def _more_is_better(self) -> bool:
        return self.members[0].verdict.unit not in ("seconds", "")

    @property
    def _relation(self) -> str:
        expected = self.members[0].reading.expected
        if self.members[0].verdict.share is not None:
            return "of" if self._more_is_better else "against"
        kind = expected.kind if expected else ""
        bounds = {"most": "at most", "least": "at least"}
        if self.members[0].verdict.unit != "chips":
            bounds["exact"] = "must be"
        return bounds.get(kind, "of")


def rows(judged: Sequence[Judged]) -> tuple[Row, ...]:
    """The readings of one test: those that agree together, those in trouble apart.

    Rows of the same thing follow each other, the best first.
    """
    alike: dict[tuple[str, ...], list[Judged]] = {}
    for one in judged:
        alike.setdefault(_key(one), []).append(one)
    whats = list(dict.fromkeys(one.verdict.what for one in judged))
    found = [row for members in alike.values() for row in _apart(members)]
    found.sort(key=lambda row: (whats.index(row.what), SEVERITY.index(row.verdict)))
    return tuple(found)


def who(names: Sequence[str], devices: Sequence[Device]) -> str:
    """Devices in short: ``tpu:3 (1,1,0)``, ``tpu:0-7``, ``12 devices``."""
    if not names:
        return "machine"
    if len(names) == 1:
        return placed(names[0], devices)
    platforms = {name.partition(":")[0] for name in names}
    short = f"{len(names)} devices"
    if len(platforms) > 1:
        return short
    numbers = fmt.runs([int(name.partition(":")[2]) for name in names])
    text = f"{platforms.pop()}:{numbers}"
    return text if len(text) <= _WIDEST_NAMES else short


def placed(name: str, devices: Sequence[Device]) -> str:
    """A device and where it sits: ``tpu:3 (1,1,0)``, ``tpu:1 (0,0,0) core 1``."""
    device = next((one for one in devices if one.name == name), None)
    if device is None or not device.coords:
        return name
    text = f"{name} ({','.join(map(str, device.coords))})"
    place = (device.slice_index, device.coords)
    shared = [d for d in devices if (d.slice_index, d.coords) == place]
    return f"{text} core {device.core_on_chip}" if len(shared) > 1 else text


def anonymous(text: str, name: str | None, instead: str = "*") -> str:
    """A sentence without the name of its device, to tell what is said of all."""
    return text if name is None else re.sub(rf"{re.escape(name)}\b", instead, text)


def _key(one: Judged) -> tuple[str, ...]:
    verdict = one.verdict
    key = (verdict.what, verdict.verdict)
    if verdict.verdict == "pass":
        return key
    return (*key, _kind_of_trouble(one))


def _kind_of_trouble(one: Judged) -> str:
    """Different figures are the same trouble, different faults are not."""
    return _DEVICE.sub("*", one.reading.fault or one.reading.skipped)


def _apart(members: Sequence[Judged]) -> Iterator[Row]:
    """One row, or one for each where it matters which device it is."""
    together = members[0].verdict.verdict in ("pass", "skipped")
    if together or len(members) > NAMED_APART:
        yield Row(tuple(members))
    else:
        yield from (Row((member,)) for member in members)


def _span(values: Sequence[float], written: Callable[[float], str]) -> str:
    """The smallest and the largest: ``168-171 TFLOP/s``."""
    low, high = written(min(values)), written(max(values))
    if low == high:
        return low
    (first, _, unit), (_, _, other) = low.rpartition(" "), high.rpartition(" ")
    if first and unit == other:
        return f"{first}-{high}"
    return f"{low} to {high}" if " " in low else f"{low}-{high}"


def _beside(measured: str, expected: str, relation: str) -> str:
    """``171 of 197 TFLOP/s``, ``2.1e-4, at most 1e-2``."""
    number, _, unit = measured.rpartition(" ")
    if relation != "of":
        return f"{measured}, {relation} {expected}"
    if number and expected.endswith(f" {unit}"):
        return f"{number} of {expected}"
    return f"{measured} of {expected}"
