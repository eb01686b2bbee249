"""The faster of two ways of running an op, by size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import msgspec
from msgspec.structs import replace

from jaxtui.core import format as fmt
from jaxtui.core.model import Case, Failure, Measurement, run_notes
from jaxtui.core.model.document import Note
from jaxtui.core.model.measurement import Interval
from jaxtui.core.state import CaseState, Job, State
from jaxtui.core.stats import MINIMUM_ROUNDS, break_even_calls
from jaxtui.features.bench.crossing import (
    CLOSE,
    Side,
    last_crossing,
    leader,
    ratio_of,
    size_text,
    start_text,
)
from jaxtui.features.bench.messages import FailureRow
from jaxtui.features.crossover.messages import Crossover, Payback, Size
from jaxtui.ui import words

AROUND = 3
"""Sizes between the two of the grid that a crossing lies between."""

FIELDS = ("mode", "dtype", "precision", "device", "inputs")
"""The fields in which two cases of one op and size can differ, in the order of
mention."""

Pair = tuple[CaseState, CaseState]
"""Both sides at one size."""


def around(crossover: Crossover) -> tuple[int, ...]:
    """Return the sizes that close in on the crossing."""
    crossing = crossover.crossing
    if crossing is None or crossing.above <= CLOSE * crossing.below:
        return ()
    ratio = crossing.above / crossing.below
    between = {
        round(crossing.below * ratio ** (step / (AROUND + 1)))
        for step in range(1, AROUND + 1)
    }
    return tuple(sorted(between - {measured.size for measured in crossover.sizes}))


# The sides.


def curve(case: Case) -> Case:
    """Return the part that the cases of a curve share."""
    return msgspec.structs.replace(case, size=0)


def names(first: Case, second: Case) -> tuple[str, str]:
    """Name two cases in the fewest words: ``numpy`` and ``jit``."""
    differ = [name for name in FIELDS if getattr(first, name) != getattr(second, name)]
    if "mode" in differ and (first.on_host or second.on_host):
        # Device and inputs of NumPy follow from its mode, and it takes no precision.
        differ = [name for name in differ if name in ("mode", "dtype")]

    def called(case: Case) -> str:
        parts = (
            f"{case.inputs} inputs" if name == "inputs" else getattr(case, name)
            for name in differ
        )
        return " ".join(parts) or case.mode

    return called(first), called(second)


def partner(run: Job, selected: int) -> tuple[Case, Case] | None:
    """Return the curve of a case of a run, and that of NumPy, or else of another way of
    running the op: NumPy comes first.
    """
    chosen = curve(run.cases[selected].case)
    partners = [
        curve
        for curve in dict.fromkeys(curve(state.case) for state in run.cases)
        if curve.op == chosen.op and curve != chosen
    ]
    if not partners:
        return None
    rival = next((curve for curve in partners if curve.on_host), partners[0])
    return (chosen, rival) if chosen.on_host else (rival, chosen)


# The result.


def result(state: State, complete: bool) -> Crossover:
    """Return the result of both runs of the command so far."""
    closer = state.jobs.get("crossover")
    pairs = sorted([*_pairs(state.run), *_pairs(closer)], key=_size_of)
    return _result(state, pairs, complete)


def of_curves(state: State, sides: tuple[Case, Case]) -> Crossover:
    """Return what the run of the tab Bench shows of two curves."""
    by_size: tuple[dict[int, CaseState], ...] = ({}, {})
    for case in state.run.cases if state.run else ():
        for side, states in zip(sides, by_size, strict=True):
            if curve(case.case) == side and case.case.size:
                states[case.case.size] = case
    sizes = sorted(by_size[0].keys() & by_size[1].keys())
    return _result(state, [(by_size[0][n], by_size[1][n]) for n in sizes], True)


def _pairs(run: Job | None) -> Iterator[Pair]:
    cases = run.cases if run else ()
    return zip(cases[::2], cases[1::2], strict=True)


def _result(state: State, pairs: list[Pair], complete: bool) -> Crossover:
    nothing = Crossover(
        command="crossover", host=state.host, complete=False, first=None, second=None
    )
    if not pairs:
        return nothing
    first, second = (side.case for side in pairs[0])
    sizes, slow, ratios = [], [], []
    failures: list[Failure] = []
    measured: list[Measurement] = []
    for pair in pairs:
        a, b = pair
        failed = [side.failure for side in pair if side.failure]
        if any(failure.remark.code == "too-slow" for failure in failed):
            slow.append(a.case.size)
            continue
        failures += failed
        left, right = a.measurement, b.measurement
        if not left or not right or {a.status, b.status} != {"done"}:
            continue
        if min(_rounds(left), _rounds(right)) < MINIMUM_ROUNDS:
            slow.append(a.case.size)
            continue
        ratio = ratio_of(left, right, (a.rounds, b.rounds))
        sizes.append(_size(a.case.size, ratio, left, right))
        ratios += [(a.case.size, ratio)] if ratio else []
        measured += [left, right]
    certain = [side for _, ratio in ratios if (side := leader(ratio))]
    crossover = replace(
        nothing,
        first=first,
        second=second,
        complete=complete,
        faster=certain[-1] if certain else None,
        crossing=last_crossing(ratios),
        sizes=tuple(sizes),
        measurements=tuple(measured),
        failures=tuple(map(FailureRow.of, failures)),
    )
    jobs = state.run, state.jobs.get("crossover")
    lost = any(job.outcome == "crashed" for job in jobs if job)
    stopped = any(job.outcome == "cancelled" for job in jobs if job)
    notes = tuple(_notes(crossover, slow, lost=lost, stopped=stopped))
    return replace(crossover, verdict=_verdict(crossover, lost=lost), notes=notes)


def _size_of(pair: Pair) -> int:
    return pair[0].case.size


def _rounds(measurement: Measurement) -> int:
    return measurement.ready.rounds if measurement.ready else 0


def _size(
    size: int, ratio: Interval | None, left: Measurement, right: Measurement
) -> Size:
    faster = leader(ratio)
    return Size(
        size=size,
        ratio=ratio and ratio.median,
        low=ratio and ratio.low,
        high=ratio and ratio.high,
        confidence=ratio and ratio.confidence,
        faster=faster,
        payback=payback(left, right, faster),
    )


def payback(
    left: Measurement, right: Measurement, faster: Side | None
) -> Payback | None:
    """Return when the first call of the slower starter pays off.

    ``None`` where nothing is compiled, or a first call was not measured.
    """
    first, second = _first_call(left), _first_call(right)
    hosts = left.case.on_host, right.case.on_host
    if first is None or second is None or all(hosts):
        return None
    side: Side = "second" if hosts[0] else "first"
    if not any(hosts):
        side = "first" if first > second else "second"
    slow, fast = (left, right) if side == "first" else (right, left)
    calls = None
    if faster == side and slow.ready and fast.ready:
        # Both have paid for a first call: what counts is by how much it is longer.
        longer = first - second if side == "first" else second - first
        calls = break_even_calls(
            longer + fast.ready.median, slow.ready.median, fast.ready.median
        )
    return Payback(side=side, seconds=slow.phases.cold_seconds, calls=calls)


def _first_call(measurement: Measurement) -> float | None:
    """Seconds of the first call, compile included; on the host it is like any other."""
    phases = measurement.phases
    if measurement.ready is None:
        return None
    if measurement.case.on_host:
        return measurement.ready.median
    return None if phases.first_call is None else phases.cold_seconds


# What it says.


def _ordered(crossover: Crossover, faster: Side) -> tuple[str, str]:
    """The names of the faster and the slower side."""
    assert crossover.first
    assert crossover.second
    first, second = names(crossover.first, crossover.second)
    return (first, second) if faster == "first" else (second, first)


def title_of(crossover: Crossover) -> str:
    """The crossing as a mark on a plot: ``jit beats numpy from ~380``."""
    if (crossing := crossover.crossing) is None:
        return "no crossing of {} and {}".format(*_ordered(crossover, "first"))
    ahead, behind = _ordered(crossover, crossing.faster)
    return f"{ahead} beats {behind} {start_text(crossing)}"


def _runs(sizes: Sequence[Size], faster: Side | None) -> str:
    """Write the sizes at which that side is faster: ``from 128 to 512 and at 2048``."""
    texts = []
    for side, run in groupby(sizes, lambda size: size.faster):
        first, *_, last = [size_text(size.size) for size in run] * 2
        if side == faster:
            texts.append(f"at {first}" if first == last else f"from {first} to {last}")
    return fmt.listed(texts)


def _verdict(crossover: Crossover, *, lost: bool) -> str:
    """Return the faster side by size, per call."""
    timed = [size.size for size in crossover.sizes if size.ratio]
    if not timed:
        return "No size has an interval on both sides, so there is nothing to compare."
    if (crossing := crossover.crossing) is not None:
        ahead, behind = _ordered(crossover, crossing.faster)
        lead = f"{ahead} is faster than {behind}"
        since = [s for s in crossover.sizes if s.ratio and s.size > crossing.below]
        if crossing.at is None:
            lead = f"{lead} {_runs(since, crossing.faster)}"
        else:
            below, above = size_text(crossing.below), size_text(crossing.above)
            start = start_text(crossing, "size ").capitalize()
            lead = f"{start}, {lead}: they cross between {below} and {above}"
        unsure = _runs(since, None)
        return f"{lead}; {unsure} this run cannot tell." if unsure else f"{lead}."
    span = f"from {size_text(timed[0])} to {size_text(timed[-1])}"
    if len(timed) == 1:
        span = f"at {size_text(timed[0])}, the only size of this search"
    if crossover.faster is None:
        first, second = _ordered(crossover, "first")
        return f"No difference seen between {first} and {second} {span}."
    ahead, behind = _ordered(crossover, crossover.faster)
    certain = sum(size.faster is not None for size in crossover.sizes)
    lead = f"{ahead} is faster than {behind} {span}"
    if certain < len(timed):
        lead = (
            f"{ahead} is faster than {behind} at {certain} of {len(timed)} sizes"
            f" {span}; no difference seen at the others"
        )
    if lost:
        return (
            f"{lead}. The engine died before the search ended, so they may cross at"
            " another size."
        )
    return f"No crossing: {lead}."


def _notes(
    crossover: Crossover, slow: Sequence[int], *, lost: bool, stopped: bool
) -> Iterator[Note]:
    """Yield what qualifies the verdict."""
    if slow:
        text = f"Calls of size {fmt.some([*map(size_text, slow)])} take too long for an"
        text += " interval. A larger budget times them, too."
        yield Note(flag="left out", text=text)
    if lost:
        yield Note(flag="incomplete", text=words.LOST, level="warning")
    elif stopped:
        text = "The search stopped early: these are its results so far."
        yield Note(flag="stopped", text=text, level="warning")
    for text in dict.fromkeys(failure.text for failure in crossover.failures):
        about = _rows(x.case for x in crossover.failures if x.text == text)
        yield Note(flag="failed", text=text, about=about, level="warning")
    # The sides took turns: what slows both of them cancels, but for this.
    busy = [x for x in crossover.measurements if x.has("contended")]
    common = [x for x in run_notes(busy) if x.code == "contended"]
    for remark in common:
        some = 2 * len(busy) < len(crossover.measurements)
        about = _rows(x.case for x in busy) if some else ()
        text, level = words.text(remark), remark.severity
        yield Note(flag=words.label(remark), text=text, about=about, level=level)
    if text := _payback_text(crossover):
        yield Note(flag="first call", text=text)


def _rows(cases: Iterable[Case]) -> tuple[str, ...]:
    return tuple(f"{fmt.size(case.size)} {case.mode}" for case in cases)


def _payback_text(crossover: Crossover) -> str:
    paid = [(size.size, size.payback) for size in crossover.sizes if size.payback]
    if not paid:
        return ""
    repaid = [(size, payback) for size, payback in paid if payback.calls is not None]
    side, _ = _ordered(crossover, (repaid or paid)[-1][1].side)
    if not repaid:
        return (
            f"The first call of {side}, compile included, never pays off at these"
            " sizes: its later calls are not faster."
        )
    times = dict.fromkeys(
        f"after {calls_text(payback.calls)} at size {size_text(size)}"
        for size, payback in (repaid[0], repaid[-1])
    )
    return (
        f"The first call of {side}, compile included, pays off {fmt.listed([*times])}."
    )


def calls_text(calls: int | None) -> str:
    """``1 call``, ``27 calls``, ``never``."""
    if calls is None:
        return "never"
    if calls >= 10_000:
        # Its digits hang on a single observation of the compile.
        calls = round(float(f"{calls:.1e}"))
    return fmt.plural(calls, "call")
