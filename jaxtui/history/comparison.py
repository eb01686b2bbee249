"""Two measurements of the past, and whether they differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from jaxtui import format as fmt
from jaxtui.document import SCHEMA
from jaxtui.model import Device, Host, Measurement, Record
from jaxtui.stats import Interval, interval_of, ratio

Answer = Literal["faster", "slower", "no difference", "cannot tell"]
"""What the second is, seen from the first."""

UNPAIRED = 0.2
"""By so much the medians of one op in two fresh processes may differ on a machine that
changes its clock between them (measured on small virtual machines; design.md §5)."""


HOST_FACTS = (
    "hostname",
    "cpu_model",
    "cpu_count",
    "python",
    "jax",
    "jaxlib",
    "numpy",
    "platform_version",
)
"""What two machines, or two days of one machine, may differ in."""


class Side(Record, frozen=True, kw_only=True):
    """One measurement with where it comes from."""

    label: str
    """How the user named it: an id, or a file."""
    host: Host | None
    device: Device | None
    measurement: Measurement


class Comparison(Record, frozen=True, kw_only=True):
    """The second measurement over the first."""

    ratio: float | None
    """Seconds over seconds: below 1 the second is faster."""
    low: float | None
    high: float | None
    """What the ratio may be, if both medians lie within their intervals."""
    confidence: float | None
    """That both do."""
    answer: Answer
    sentence: str
    differences: tuple[str, ...]
    """What else is not the same: case, hardware, versions."""


class Pair(Record, frozen=True, kw_only=True):
    """The same case on two sides, and what they say together."""

    first: Side
    second: Side
    comparison: Comparison


class Pairs(Record, frozen=True, kw_only=True):
    """What ``jaxtui compare --json`` prints."""

    schema: int = SCHEMA
    pairs: tuple[Pair, ...]


def compare(first: Side, second: Side) -> Comparison:
    """Compare the time until the result was ready.

    The two were not measured in turns, so that a difference of less than ``UNPAIRED``
    is no proof, whatever the intervals say.
    """
    differences = tuple(_differences(first, second))
    a, b = first.measurement.ready, second.measurement.ready
    found = ratio(interval_of(b), interval_of(a)) if a and b else None
    if found is None:
        return Comparison(
            ratio=None,
            low=None,
            high=None,
            confidence=None,
            answer="cannot tell",
            sentence="One of them has no samples to compare.",
            differences=differences,
        )
    answer = _answer(found)
    return Comparison(
        ratio=found.median,
        low=found.low,
        high=found.high,
        confidence=found.confidence,
        answer=answer,
        sentence=_sentence(first, second, found, answer),
        differences=differences,
    )


def _answer(found: Interval) -> Answer:
    if found.high < 1 / (1 + UNPAIRED):
        return "faster"
    if found.low > 1 + UNPAIRED:
        return "slower"
    if found.low <= 1 <= found.high:
        return "no difference"
    return "cannot tell"


def _sentence(first: Side, second: Side, found: Interval, answer: Answer) -> str:
    a, b = first.measurement.ready, second.measurement.ready
    assert a is not None
    assert b is not None
    figures = (
        f"{second.label} takes {fmt.seconds(b.median)}, {first.label}"
        f" {fmt.seconds(a.median)}: a ratio of {found.median:.3g},"
        f" {fmt.interval_name(found.confidence)} {found.low:.3g} to {found.high:.3g}."
    )
    if answer == "faster":
        return (
            f"{figures} {second.label} is really faster, {1 / found.median:.3g} times."
        )
    if answer == "slower":
        return f"{figures} {second.label} is really slower, {found.median:.3g} times."
    if answer == "no difference":
        return f"{figures} The intervals overlap: no difference was found."
    return (
        f"{figures} They were not measured in turns, and two runs on one machine may "
        f"differ by {UNPAIRED:.0%} without a cause: measure both in one run to know."
    )


def _differences(first: Side, second: Side) -> Iterator[str]:
    a, b = first.measurement.case, second.measurement.case
    for name in a.__struct_fields__:
        yield from _differs(name, getattr(a, name), getattr(b, name))
    kinds = (first.device, second.device)
    yield from _differs("chip", *(one and one.device_kind for one in kinds))
    if first.host is None or second.host is None:
        return
    for name in HOST_FACTS:
        ours, theirs = getattr(first.host, name), getattr(second.host, name)
        yield from _differs(name.replace("_", " "), ours, theirs)
    before, after = first.host.settings, second.host.settings
    for name in sorted({*before, *after}):
        yield from _differs(name, before.get(name), after.get(name))


def _differs(name: str, first: object, second: object) -> Iterator[str]:
    if first != second:
        yield f"{name}: {_word(first)} and {_word(second)}"


def _word(value: object) -> str:
    return "none" if value is None or value == "" else str(value)
