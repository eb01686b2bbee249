"""Results of several devices, held against float64 and, bit by bit, each other."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import jax
import numpy as np

from jaxtui import format as fmt
from jaxtui.format import plural
from jaxtui.measure import accuracy, ops
from jaxtui.measure.accuracy import Accuracy
from jaxtui.measure.check.base import TroubleError, error_reading, reading
from jaxtui.measure.devices import name, place
from jaxtui.measure.inputs import host_inputs
from jaxtui.measure.ops.arguments import Array
from jaxtui.measure.ops.base import wide
from jaxtui.model import Case, Expected, Precision, Reading

SAME_BITS = "elements with other bits"

NAMED = 3
"""So many further computations are named in a sentence."""


@dataclass(frozen=True, slots=True)
class Computation:
    op: str
    size: int
    dtype: str
    precision: Precision = "default"

    @property
    def what(self) -> str:
        """Its name in readings; the precision is said where it may matter."""
        rounded = self.dtype in ("float32", "complex64")
        chosen = ops.get(self.op).takes_precision and rounded
        suffix = f" {self.precision}" if chosen else ""
        return f"{self.op} {self.size} {self.dtype}{suffix}"

    @property
    def expected(self) -> Expected:
        tolerance = ops.get(self.op).accepted_error(self.dtype, self.precision)
        source = "jaxtui's own bound on rounding errors"
        if tolerance == 0:
            source = "integers are computed exactly"
        elif tolerance > ops.get(self.op).tolerance[self.dtype]:
            source += ", whose inputs an accelerator may round at this precision"
        return Expected(value=tolerance, kind="most", source=source)

    def case(self, device: str) -> Case:
        return Case(
            op=self.op,
            size=self.size,
            dtype=self.dtype,
            precision=self.precision,
            device=device,
            mode="jit",
        )

    def inputs(self, seed: int) -> tuple[Array, ...]:
        return host_inputs(ops.get(self.op), self.size, self.dtype, seed)


@dataclass(frozen=True, slots=True)
class Difference:
    """How two results of one shape and dtype differ."""

    elements: int
    """Those whose bytes differ."""
    of: int
    largest: float
    """The largest absolute difference; NaN where one of the two is not finite."""

    def within(self, computation: Computation) -> str:
        largest = "one of them is not finite"
        if self.largest == self.largest:
            largest = f"largest difference {fmt.significant(self.largest)}"
        what = computation.what
        return f"{self.elements} of {self.of} elements of {what} differ, {largest}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one computation on one device."""

    result: Array | None = None
    """Its first result; ``None`` where there is none."""
    deviation: Difference | None = None
    """How the worst of the others differs from it, where one does."""
    program: str = ""
    """What was compiled, where devices of one kind may get different programs."""
    skipped: str = ""
    """Why it was not computed."""
    trouble: TroubleError | None = None
    ballot: Ballot | None = None
    """Where it says what is right: a device that contradicts itself does not."""


@dataclass(slots=True)
class Visit:
    device: jax.Device
    outcomes: dict[Computation, Outcome] = field(default_factory=dict)
    crash: Exception | None = None
    """What ended it before its time."""


# Bit by bit.


def difference(result: Array, other: Array) -> Difference:
    """Compare two results byte by byte: 0 and −0 differ, NaN and the same NaN do not.

    A result of another shape or dtype differs everywhere.
    """
    if result.shape != other.shape or result.dtype != other.dtype:
        return Difference(result.size, result.size, float("nan"))
    differing = np.any(_bytes(result) != _bytes(other), axis=1)
    count = int(np.count_nonzero(differing))
    if not count:
        return Difference(0, result.size, 0.0)
    left, right = (wide(one.reshape(-1)[differing]) for one in (result, other))
    with np.errstate(invalid="ignore", over="ignore"):
        largest = float(np.max(np.abs(left - right)))
    return Difference(count, result.size, largest if np.isfinite(largest) else np.nan)


def _bytes(array: Array) -> Array:
    """The bytes of each element, shape ``(elements, itemsize)``."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).reshape(flat.size, array.dtype.itemsize)


@dataclass(slots=True)
class Ballot:
    """Every device casts its result of one computation; any thread may.

    Only results that differ are kept, so that many devices need no more memory than
    one.
    """

    results: list[Array] = field(default_factory=list)
    votes: dict[str, int] = field(default_factory=dict)
    """Which of the results a device has, by its name."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def cast(self, device: str, result: Array) -> Array:
        """Count the result of a device; returns the one that is kept, its equal."""
        with self._lock:
            for index, known in enumerate(self.results):
                if not difference(result, known).elements:
                    self.votes[device] = index
                    return known
            self.results.append(result)
            self.votes[device] = len(self.results) - 1
            return result

    @property
    def winner(self) -> int | None:
        """The result that more devices have than any other; ``None`` for a tie."""
        with self._lock:
            chosen = list(self.votes.values())
        counts = [chosen.count(index) for index in range(len(self.results))]
        most = max(counts, default=0)
        return counts.index(most) if counts.count(most) == 1 else None

    def holders(self, index: int) -> tuple[str, ...]:
        with self._lock:
            return tuple(device for device, vote in self.votes.items() if vote == index)

    def against(self, device: str) -> Difference | None:
        """How the result of a device differs from the winner's.

        Of a tie the first of the other results is taken; ``None`` if the device is
        with the winner.
        """
        mine, winner = self.votes[device], self.winner
        if winner is None:
            winner = next(i for i in range(len(self.results)) if i != mine)
        if mine == winner:
            return None
        return difference(self.results[mine], self.results[winner])

    def sentence(
        self, device: jax.Device, computation: Computation, found: Difference
    ) -> str:
        """With whom a device disagrees, and in what."""
        differing = found.within(computation)
        if (winner := self.winner) is None:
            with_me = self.holders(self.votes[name(device)])
            rest = ", ".join(one for one in self.votes if one not in with_me)
            return (
                f"{', '.join(with_me)} and {rest} compute different results:"
                f" {differing}; no majority says which is right."
            )
        agreeing, others = len(self.holders(winner)), len(self.votes) - 1
        majority = f"the {others} others"
        if agreeing != others:
            majority = f"{agreeing} of the {others} others"
        return f"{place(device)} computes another result than {majority}: {differing}."


@dataclass(slots=True)
class Comparison:
    """The results of all devices, as they come in."""

    inputs: dict[Computation, tuple[Array, ...]]
    times: int
    """How often each device computes everything."""
    _ballots: dict[tuple[str, Computation, str], Ballot] = field(default_factory=dict)
    _accuracies: dict[tuple[Computation, int], Accuracy] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, visit: Visit, computation: Computation, outcome: Outcome) -> None:
        """Take in what became of a computation on a device; any thread may."""
        if outcome.result is not None and outcome.deviation is None:
            key = (str(visit.device.device_kind), computation, outcome.program)
            with self._lock:
                ballot = self._ballots.setdefault(key, Ballot())
            kept = ballot.cast(name(visit.device), outcome.result)
            outcome = replace(outcome, result=kept, ballot=ballot)
        visit.outcomes[computation] = outcome

    def decided(self, visit: Visit) -> bool:
        """Whether each of its results can be held against what most devices have."""
        ballots = (outcome.ballot for outcome in visit.outcomes.values())
        return all(one.winner is not None for one in ballots if one)

    def readings(self, visit: Visit) -> Iterator[Reading]:
        device = visit.device
        for computation, outcome in visit.outcomes.items():
            yield self._error(device, computation, outcome)
        if visit.crash is not None:
            yield error_reading("numerics", device, visit.crash)
        yield self._same_bits(visit)

    def _error(
        self, device: jax.Device, computation: Computation, outcome: Outcome
    ) -> Reading:
        """How far a result is from float64, or why there is none."""
        what, trouble = computation.what, outcome.trouble
        if outcome.result is None:
            return reading(
                "numerics",
                device,
                what,
                unit="relative error",
                fault="" if outcome.skipped else str(trouble),
                skipped=outcome.skipped,
                detail=trouble.detail if trouble else "",
            )
        # Equal results are one array, which is compared once.
        key = (computation, id(outcome.result))
        if key not in self._accuracies:
            self._accuracies[key] = accuracy.check(
                ops.get(computation.op),
                computation.dtype,
                computation.size,
                self.inputs[computation],
                outcome.result,
                precision=computation.precision,
            )
        found, expected, fault = self._accuracies[key], computation.expected, ""
        if found.error is None:
            fault = (
                f"{name(device)} gives a result of {what} that is not finite, or has"
                " not the right shape."
            )
        elif not found.ok:
            fault = (
                f"{name(device)} computes {what} with an error of"
                f" {fmt.error(found.error)}; {fmt.error(expected.value)} is accepted."
            )
        rows = found.rows_sampled
        return reading(
            "numerics",
            device,
            what,
            found.error,
            unit="relative error",
            expected=expected,
            fault=fault,
            said="" if rows is None else f"{rows} rows were compared.",
        )

    def _same_bits(self, visit: Visit) -> Reading:
        """How many elements are not those of other times, or of other devices."""
        device = visit.device
        computed = sum(one.result is not None for one in visit.outcomes.values())
        if not computed:
            why = "It computed nothing that could be compared."
            return reading("numerics", device, SAME_BITS, skipped=why)
        found: list[tuple[Difference, str, str]] = []
        for computation, outcome in visit.outcomes.items():
            if outcome.deviation is not None:
                differing = outcome.deviation.within(computation)
                sentence = (
                    f"{place(device)} computes different results from the same input:"
                    f" {differing}."
                )
                found.append((outcome.deviation, computation.what, sentence))
        others = []
        for computation, outcome in visit.outcomes.items():
            if (ballot := outcome.ballot) is None:
                continue
            others.append(len(ballot.votes) - 1)
            if (deviation := ballot.against(name(device))) is not None:
                sentence = ballot.sentence(device, computation, deviation)
                found.append((deviation, computation.what, sentence))
        said = f"{plural(computed, 'computation')}, {self.times} times each"
        if most := max(others, default=0):
            said += f" and on {plural(most, 'other device')}."
        else:
            said += "; there is no other device to compare."
        source = "the same input gives the same result"
        return reading(
            "numerics",
            device,
            SAME_BITS,
            sum(one.elements for one, _, _ in found),
            expected=Expected(value=0, kind="exact", source=source),
            fault=join_faults([(what, sentence) for _, what, sentence in found]),
            said=said + self._other_programs(device),
        )

    def _other_programs(self, device: jax.Device) -> str:
        """That GPUs with other kernels are not compared, where there are any."""
        programs: dict[Computation, set[str]] = {}
        for owner, computation, program in list(self._ballots):
            if owner == str(device.device_kind):
                programs.setdefault(computation, set()).add(program)
        unlike = [one.what for one, found in programs.items() if len(found) > 1]
        if not unlike:
            return ""
        return (
            f" XLA chose different kernels for {', '.join(unlike)}; only devices with"
            " the same ones were compared."
        )


def join_faults(found: Sequence[tuple[str, str]]) -> str:
    """The first sentence, and in which other computations it is so."""
    if not found:
        return ""
    (_, sentence), *more = found
    if not more:
        return sentence
    listed = ", ".join(what for what, _ in more[:NAMED])
    rest = f" and {len(more) - NAMED} more" if len(more) > NAMED else ""
    return f"{sentence} It is so in {listed}{rest}, too."
