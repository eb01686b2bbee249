"""Two measurements of the past: whether they can be compared, and whether they differ.

They were not taken in turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from jaxtui import format as fmt
from jaxtui.model import Case, Device, Host, Measurement, Record
from jaxtui.model.own import is_own, parts
from jaxtui.stats import (
    MINIMUM_ROUNDS,
    Interval,
    interval_of,
    ratio,
    rounds_interval,
)

Answer = Literal["faster", "slower", "no difference", "cannot tell", "not comparable"]
"""What the second is, seen from the first."""

WORK = ("op", "size", "params")
"""What of a case says how much there is to compute."""

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
    label: str
    """How the user named it: an id, or a file."""
    host: Host | None
    device: Device | None
    measurement: Measurement
    earlier: tuple[float, ...] = ()
    """The medians of the runs before on its machine, with its versions, seconds."""


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
    first: Side
    second: Side
    comparison: Comparison


def compare(first: Side, second: Side) -> Comparison:
    """Compare the time until the result was ready.

    The two were not measured in turns, so that a difference of less than the larger
    ``allowance`` of both is no proof, whatever the intervals say; and nothing follows
    from the times of two different works.
    """
    differences = tuple(_differences(first, second))
    a, b = first.measurement.ready, second.measurement.ready
    found = ratio(interval_of(b), interval_of(a)) if a and b else None
    if a is None or b is None or found is None:
        return Comparison(
            ratio=None,
            low=None,
            high=None,
            confidence=None,
            answer="cannot tell",
            sentence="One of them has no samples to compare."
            if a is None or b is None
            else "One of them took no time that could be compared.",
            differences=differences,
        )
    figures = (
        f"{second.label} takes {fmt.seconds(b.median)}, {first.label}"
        f" {fmt.seconds(a.median)}: {'an uncertain' if found.vague else 'a'} ratio"
        f" of {found.median:.3g}, {fmt.interval_name(found.confidence)}"
        f" {found.low:.3g} to {found.high:.3g}."
    )
    answer, sentence = _answer(first, second, found, figures)
    return Comparison(
        ratio=found.median,
        low=found.low,
        high=found.high,
        confidence=found.confidence,
        answer=answer,
        sentence=sentence,
        differences=differences,
    )


def compare_turns(
    first: Side, second: Side, turns: Sequence[tuple[float, float]]
) -> Comparison:
    """Compare what took turns: what slows the machine down slows both of them alike.

    Args:
        first: what the second is compared with.
        second: the other.
        turns: seconds of the first and of the second, as they followed each other.
    """
    differences = tuple(_differences(first, second))
    ratios = [b / a for a, b in turns if min(a, b) > 0]
    if not ratios:
        return Comparison(
            ratio=None,
            low=None,
            high=None,
            confidence=None,
            answer="cannot tell",
            sentence="No pair of processes has timed both of them.",
            differences=differences,
        )
    found = rounds_interval(ratios)
    count = fmt.plural(len(ratios), "pair")
    figures = (
        f"{second.label} takes {found.median:.3g}× the time of {first.label}"
        f" ({found.low:.3g}–{found.high:.3g}, {fmt.interval_name(found.confidence)}"
        f" of {count})"
    )
    answer: Answer = "faster" if found.high < 1 else "slower"
    sentence = f"{figures}: {second.label} is {answer}."
    if found.low <= 1 <= found.high:
        answer, sentence = "no difference", f"{figures}: no difference seen."
    if len(ratios) < MINIMUM_ROUNDS and (answer != "no difference" or len(ratios) == 1):
        answer = "cannot tell"
        sentence = f"{figures}: {MINIMUM_ROUNDS} pairs or more can tell."
    return Comparison(
        ratio=found.median,
        low=found.low,
        high=found.high,
        confidence=found.confidence,
        answer=answer,
        sentence=sentence,
        differences=differences,
    )


def _answer(
    first: Side, second: Side, found: Interval, figures: str
) -> tuple[Answer, str]:
    others = unlike(first, second)
    if others:
        return "not comparable", (
            f"{first.label} and {second.label} are not comparable: they are not of the"
            f" same {' and '.join(others)}. {figures}"
        )
    for side in (first, second):
        ready = side.measurement.ready
        if ready is not None and ready.rounds < 2:
            return "cannot tell", (
                f"{figures} {side.label} was measured in one round, which does not"
                " tell how far it may be off."
            )
        if side.measurement.has("contended"):
            return "cannot tell", (
                f"{figures} The machine was busy while {side.label} was measured:"
                " measure it again when it is idle."
            )
    least = max(allowance(first), allowance(second))
    if found.high < 1 / (1 + least):
        times = _times(1 / found.high, 1 / found.median, 1 / found.low, found)
        return "faster", f"{figures} {second.label} is really faster, {times}."
    if found.low > 1 + least:
        times = _times(found.low, found.median, found.high, found)
        return "slower", f"{figures} {second.label} is really slower, {times}."
    if found.low <= 1 <= found.high:
        return "no difference", (
            f"{figures} The intervals overlap: no difference was found."
        )
    return "cannot tell", (
        f"{figures} They were not measured in turns, and two runs on one machine may "
        f"differ by {least:.0%} without a cause: time both with --processes 6 to know."
    )


def allowance(side: Side) -> float:
    """By how much two runs of a side may differ without a cause.

    Returns:
        As a share: 0 where its interval is that of enough processes, the range of
        enough earlier runs, and else no less than ``UNPAIRED``. Below six of either
        there is no 95 % interval.
    """
    several = side.measurement.processes
    if several is not None and several.n >= MINIMUM_ROUNDS:
        return 0.0
    medians = side.earlier if several is None else several.medians
    known = [seconds for seconds in medians if seconds > 0]
    spread = max(known) / min(known) - 1 if known else 0.0
    return spread if len(known) >= MINIMUM_ROUNDS else max(spread, UNPAIRED)


def _times(low: float, median: float, high: float, found: Interval) -> str:
    """By how much; no more is said than is known."""
    if found.vague:
        return f"{low:.3g} to {high:.3g} times"
    return f"{median:.3g} times"


def unlike(first: Side, second: Side) -> list[str]:
    """Of ``WORK`` what is not the same, so that nothing follows from the times."""
    a, b = _cases(first, second)
    return [name for name in WORK if getattr(a, name) != getattr(b, name)]


def _cases(first: Side, second: Side) -> tuple[Case, Case]:
    """Those of both, with one op where a function has only moved.

    Another file of that name may be another version of it; one of another name is the
    same if all of its source is.
    """
    a, b = first.measurement.case, second.measurement.case
    if is_own(a.op) and is_own(b.op):
        ours, theirs = first.measurement.source, second.measurement.source
        same = ours and theirs and ours.digest == theirs.digest
        same = same and parts(a.op)[1] == parts(b.op)[1]
        if same or _moved(a).op == _moved(b).op:
            b = msgspec.structs.replace(b, op=a.op)
    return a, b


def _moved(case: Case) -> Case:
    """Without the folder of a function's file."""
    if not is_own(case.op):
        return case
    return msgspec.structs.replace(case, op=case.op.rpartition("/")[2])


def _differences(first: Side, second: Side) -> Iterator[str]:
    a, b = _cases(first, second)
    facts: list[tuple[str, object, object]] = [
        (name, getattr(a, name), getattr(b, name)) for name in a.__struct_fields__
    ]
    facts += _source_facts(first.measurement, second.measurement)
    ours, theirs = (one.device and one.device.device_kind for one in (first, second))
    facts.append(("chip", ours, theirs))
    if first.host is not None and second.host is not None:
        facts += host_facts(first.host, second.host)
    for name, one, other in facts:
        if one != other:
            yield f"{name}: {value_text(one)} and {value_text(other)}"
    if is_own(a.op) and not (first.measurement.source or second.measurement.source):
        yield "source: not recorded"


def _source_facts(
    first: Measurement, second: Measurement
) -> Iterator[tuple[str, object, object]]:
    ours, theirs = first.source or None, second.source or None
    if ours and theirs:
        yield "source", ours.digest, theirs.digest
        for name in sorted({*ours.packages, *theirs.packages}):
            yield name, ours.packages.get(name), theirs.packages.get(name)
    elif ours or theirs:
        first_text, second_text = (
            one.digest if one else "not recorded" for one in (ours, theirs)
        )
        yield "source", first_text, second_text


def host_facts(first: Host, second: Host) -> Iterator[tuple[str, object, object]]:
    """What may tell two hosts apart: a name, and what it is of either."""
    for name in HOST_FACTS:
        yield name.replace("_", " "), getattr(first, name), getattr(second, name)
    before, after = first.settings, second.settings
    for name in sorted({*before, *after}):
        yield name, before.get(name), after.get(name)


def value_text(value: object) -> str:
    """A fact in a sentence; ``none`` where it is not known."""
    return "none" if value in (None, "") else str(value)


def pairs(first: Sequence[Side], second: Sequence[Side]) -> tuple[Pair, ...]:
    """The comparisons of two files or entries.

    One on each side belong together in any case; of several, the same cases, or, for
    another machine's file, the same but for the device. Functions of files may lie in
    another folder.
    """
    matched = [(first[0], second[0])] if len(first) == len(second) == 1 else []
    for elsewhere in (False, True):
        if matched:
            break
        # The same file before one that only has its name.
        by_case = {_moved(_key(side, elsewhere=elsewhere)): side for side in second}
        by_case |= {_key(side, elsewhere=elsewhere): side for side in second}
        for side in first:
            key = _key(side, elsewhere=elsewhere)
            if found := by_case.get(key) or by_case.get(_moved(key)):
                matched.append((side, found))
    return tuple(Pair(first=a, second=b, comparison=compare(a, b)) for a, b in matched)


def _key(side: Side, *, elsewhere: bool) -> Case:
    case = side.measurement.case
    return msgspec.structs.replace(case, device="") if elsewhere else case
