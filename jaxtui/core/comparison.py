"""Two measurements of the past: whether they can be compared, and whether they differ.

They were not taken in turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from jaxtui.core.model import Case, Device, Host, Measurement, Record, Remark
from jaxtui.core.model.measurement import Interval
from jaxtui.core.model.own import is_own, parts
from jaxtui.core.stats import MINIMUM_ROUNDS, ratio, rounds_interval

Answer = Literal["faster", "slower", "no difference", "cannot tell", "not comparable"]
"""The second as seen from the first."""

WORK = ("op", "size", "params")
"""The fields of a case that define the work."""

UNPAIRED = 0.2
"""Fraction by which the medians of one op in two fresh processes may differ on a
machine that changes its clock between them (measured on small virtual machines)."""

HOST_FACTS = (
    "hostname",
    "cpu_model",
    "cores",
    "python",
    "jax",
    "jaxlib",
    "numpy",
    "platform_version",
)
"""The facts in which two machines, or two days of one machine, may differ."""


class Side(Record, frozen=True, kw_only=True):
    label: str
    """The user's name for it: an id, or a file."""
    host: Host | None
    device: Device | None
    measurement: Measurement
    earlier: tuple[float, ...] = ()
    """The medians of the runs before on its machine, with its versions, seconds."""


class Difference(Record, frozen=True, kw_only=True):
    """Something that is not the same of two measurements; ``None`` where unknown."""

    name: str
    """The name, such as ``dtype``, ``jax``, ``chip``, or a setting."""
    first: str | None
    second: str | None


class Comparison(Record, frozen=True, kw_only=True):
    """The second measurement over the first."""

    ratio: float | None
    """Seconds over seconds: below 1 the second is faster."""
    low: float | None
    high: float | None
    """The upper bound of the ratio, if both medians lie within their intervals."""
    confidence: float | None
    """The probability that both do."""
    answer: Answer
    remarks: tuple[Remark, ...] = ()
    """The reasons why nothing follows from the ratio."""
    differences: tuple[Difference, ...] = ()
    """The other differences: case, hardware, versions."""


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
    a, b = first.measurement.ready, second.measurement.ready
    if a is None or b is None:
        lacking = first.label if a is None else second.label
        remark = Remark("no-samples", {"side": lacking}, "warning")
        return _comparison(first, second, None, "cannot tell", remark)
    interval = ratio(b.interval, a.interval)
    if interval is None:
        return _comparison(first, second, None, "cannot tell", Remark("no-ratio"))
    answer, remarks = _answer(first, second, interval)
    return _comparison(first, second, interval, answer, *remarks)


def _comparison(
    first: Side,
    second: Side,
    interval: Interval | None,
    answer: Answer,
    *remarks: Remark,
) -> Comparison:
    measured = first.measurement, second.measurement
    if is_own(measured[0].case.op) and not any(result.source for result in measured):
        remarks = (*remarks, Remark("no-source"))
    return Comparison(
        ratio=interval and interval.median,
        low=interval and interval.low,
        high=interval and interval.high,
        confidence=interval and interval.confidence,
        answer=answer,
        remarks=remarks,
        differences=tuple(_differences(first, second)),
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
    ratios = [b / a for a, b in turns if min(a, b) > 0]
    if not ratios:
        return _comparison(first, second, None, "cannot tell", Remark("no-pairs"))
    interval = rounds_interval(ratios)
    answer: Answer = "faster" if interval.high < 1 else "slower"
    if interval.low <= 1 <= interval.high:
        answer = "no difference"
    if len(ratios) < MINIMUM_ROUNDS and (answer != "no difference" or len(ratios) == 1):
        remark = Remark(
            "few-pairs", {"pairs": len(ratios), "least": MINIMUM_ROUNDS}, "warning"
        )
        return _comparison(first, second, interval, "cannot tell", remark)
    return _comparison(first, second, interval, answer)


def _answer(
    first: Side, second: Side, interval: Interval
) -> tuple[Answer, tuple[Remark, ...]]:
    """The answer, and what keeps it from being another one."""
    if names := unlike(first, second):
        remark = Remark("other-work", {"of": tuple(names)}, "warning")
        return "not comparable", (remark,)
    doubts = tuple(_doubts(first, second))
    if doubts:
        return "cannot tell", doubts
    least = max(allowance(first), allowance(second))
    if interval.high < 1 / (1 + least):
        return "faster", ()
    if interval.low > 1 + least:
        return "slower", ()
    if interval.low <= 1 <= interval.high:
        return "no difference", ()
    remark = Remark(
        "not-in-turns", {"allowance": least, "processes": MINIMUM_ROUNDS}, "warning"
    )
    return "cannot tell", (remark,)


def is_slower(comparison: Comparison, limit: float) -> bool | None:
    """Return whether the second takes longer by more than a share; ``None``: cannot
    tell.

    That it does must be certain as the answer is. That it does not is seen in the
    interval alone: two runs may differ by chance, but they did not.
    """
    if (
        comparison.low is None
        or comparison.high is None
        or comparison.answer == "not comparable"
    ):
        return None
    if comparison.answer == "slower" and comparison.low > 1 + limit:
        return True
    doubted = comparison.answer == "cannot tell" and any(
        remark.code not in ("not-in-turns", "no-source")
        for remark in comparison.remarks
    )
    return None if doubted or comparison.high > 1 + limit else False


def _doubts(*sides: Side) -> Iterator[Remark]:
    for side in sides:
        ready = side.measurement.ready
        if ready is not None and ready.rounds < 2:
            yield Remark("one-round", {"side": side.label}, "warning")
        elif side.measurement.has("contended"):
            yield Remark("busy-side", {"side": side.label}, "warning")


def allowance(side: Side) -> float:
    """Return the fraction by which two runs of a side may differ without a cause.

    Returns:
        As a share: 0 where its interval is that of enough processes, the range of
        enough earlier runs, and else no less than ``UNPAIRED``. Below six of either
        there is no 95 % interval.
    """
    several = side.measurement.processes
    if several is not None and several.n >= MINIMUM_ROUNDS:
        return 0.0
    medians = side.earlier if several is None else several.medians
    positive = [seconds for seconds in medians if seconds > 0]
    spread = max(positive) / min(positive) - 1 if positive else 0.0
    return spread if len(positive) >= MINIMUM_ROUNDS else max(spread, UNPAIRED)


def unlike(first: Side, second: Side) -> list[str]:
    """Return the fields of ``WORK`` that differ, so that the times prove nothing."""
    a, b = _cases(first, second)
    return [name for name in WORK if getattr(a, name) != getattr(b, name)]


def _cases(first: Side, second: Side) -> tuple[Case, Case]:
    """Return the cases of both, with one op where a function has only moved.

    Another file of that name may be another version of it; one of another name is the
    same if all of its source is.
    """
    a, b = first.measurement.case, second.measurement.case
    if is_own(a.op) and is_own(b.op):
        old, new = (
            first.measurement.source,
            second.measurement.source,
        )
        same = old and new and old.digest == new.digest
        same = same and parts(a.op)[1] == parts(b.op)[1]
        if same or _moved(a).op == _moved(b).op:
            b = msgspec.structs.replace(b, op=a.op)
    return a, b


def _moved(case: Case) -> Case:
    """Without the folder of a function's file."""
    if not is_own(case.op):
        return case
    return msgspec.structs.replace(case, op=case.op.rpartition("/")[2])


def _differences(first: Side, second: Side) -> Iterator[Difference]:
    a, b = _cases(first, second)
    facts: list[tuple[str, object, object]] = [
        (name, getattr(a, name), getattr(b, name)) for name in a.__struct_fields__
    ]
    sources = (side.measurement.source or None for side in (first, second))
    before, after = (source and source.digest for source in sources)
    facts.append(("source", before, after))
    old, new = (side.device and side.device.device_kind for side in (first, second))
    facts.append(("chip", old, new))
    if first.host is not None and second.host is not None:
        facts += host_facts(first.host, second.host)
    for name, left, right in facts:
        if left != right:
            yield Difference(name=name, first=_text(left), second=_text(right))


def _text(value: object) -> str | None:
    return None if value in (None, "") else str(value)


def host_facts(first: Host, second: Host) -> Iterator[tuple[str, object, object]]:
    """Yield the facts that may tell two hosts apart: a name, and its two values."""
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
            if partners := by_case.get(key) or by_case.get(_moved(key)):
                matched.append((side, partners))
    return tuple(Pair(first=a, second=b, comparison=compare(a, b)) for a, b in matched)


def _key(side: Side, *, elsewhere: bool) -> Case:
    case = side.measurement.case
    return msgspec.structs.replace(case, device="") if elsewhere else case
