"""Results of several devices, held against float64 and, bit by bit, each other."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from time import perf_counter

import jax
import numpy as np

from jaxtui import format as fmt
from jaxtui.format import plural
from jaxtui.measure import accuracy, ops
from jaxtui.measure.accuracy import Accuracy
from jaxtui.measure.check.base import TroubleError, error_reading, reading
from jaxtui.measure.devices import name
from jaxtui.measure.inputs import host_inputs
from jaxtui.measure.ops.arguments import Array
from jaxtui.measure.ops.base import wide
from jaxtui.model import DEVICE, Case, Expected, Precision, Reading

SAME_BITS = "elements with other bits"

ERROR = "relative error"

PATIENCE_SECONDS = 2.0
"""For so long, or as long as it took so far, the others are waited for before those
that are ready are compared among themselves: one may never answer."""

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
        rounded = ops.get(self.op).rounds(self.dtype)
        suffix = f" {self.precision}" if rounded else ""
        return f"{self.op} {self.size} {self.dtype}{suffix}"

    @property
    def expected(self) -> Expected:
        op = ops.get(self.op)
        tolerance = op.accepted_error(self.dtype, self.precision)
        source = "jaxtui's own bound on rounding errors"
        if tolerance == 0:
            source = "integers are computed exactly"
        elif tolerance > op.tolerance[self.dtype]:
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

    def check(self, inputs: tuple[Array, ...], result: Array) -> Accuracy:
        op, of = ops.get(self.op), self.precision
        return accuracy.check(op, self.dtype, self.size, inputs, result, precision=of)


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

    check: Callable[[], Accuracy] | None = None
    """Holds its first result against float64; without one there is a trouble."""
    trouble: TroubleError | None = None
    deviation: Difference | None = None
    """How the worst of its other results differs from the first, where one does."""
    ballot: Ballot | None = None
    """Where it says what is right: a device that contradicts itself does not."""


Outcomes = Mapping[Computation, Outcome]
"""Of one device, in order."""


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
    """Every device casts its result of one computation.

    Only results that differ are kept, so that many devices need no more memory than
    one. While one thread casts, any other may look.
    """

    results: list[Array] = field(default_factory=list)
    checks: list[Callable[[], Accuracy]] = field(default_factory=list)
    votes: dict[str, int] = field(default_factory=dict)
    """Which of the results a device has, by its name."""

    def cast(self, device: str, result: Array, check: Callable[[], Accuracy]) -> int:
        """Count the result of a device; its check is kept if no other has it."""
        known = (not difference(result, one).elements for one in self.results)
        vote = next((index for index, same in enumerate(known) if same), None)
        if vote is None:
            vote = len(self.results)
            self.results.append(result)
            self.checks.append(check)
        self.votes[device] = vote
        return vote

    @property
    def winner(self) -> int | None:
        """The result that more devices have than any other; ``None`` for a tie."""
        counts = Counter(list(self.votes.values())).most_common(2)
        tie = len({count for _, count in counts}) < len(counts)
        return counts[0][0] if counts and not tie else None

    def holders(self, index: int) -> tuple[str, ...]:
        return tuple(one for one, vote in self.votes.copy().items() if vote == index)

    def against(self, device: str) -> Difference | None:
        """How the result of a device differs from the winner's.

        Of a tie the first of the other results is taken; ``None`` if the device is
        with the winner.
        """
        mine, winner = self.votes[device], self.winner
        if winner is None:
            winner = 0 if mine else 1
        if mine == winner:
            return None
        return difference(self.results[mine], self.results[winner])

    def sentence(self, differing: str) -> str:
        """With whom a device that is not with the winner disagrees, and in what."""
        if (winner := self.winner) is None:
            # The same sentence for all of them.
            first = self.holders(0)
            rest = ", ".join(one for one in self.votes.copy() if one not in first)
            return (
                f"{', '.join(first)} and {rest} compute different results:"
                f" {differing}; no majority says which is right."
            )
        agreeing, others = len(self.holders(winner)), len(self.votes) - 1
        majority = f"the {others} others"
        if agreeing != others:
            majority = f"{agreeing} of the {others} others"
        return f"{DEVICE} computes another result than {majority}: {differing}."


class Comparison:
    """The results of all devices, as they come in; any thread may use it."""

    def __init__(self, seed: int, times: int, devices: int) -> None:
        self.times = times
        """How often each device computes everything."""
        self._seed, self._left = seed, devices
        self._begun = self._last = perf_counter()
        self._inputs: dict[Computation, tuple[Array, ...]] = {}
        self._ballots: dict[tuple[str, Computation, str], Ballot] = {}
        self._lock = threading.RLock()

    def inputs(self, computation: Computation) -> tuple[Array, ...]:
        """The same for every device."""
        with self._lock:
            if computation not in self._inputs:
                self._inputs[computation] = computation.inputs(self._seed)
            return self._inputs[computation]

    def count(
        self,
        device: jax.Device,
        computation: Computation,
        result: Array,
        deviation: Difference | None,
        program: str,
    ) -> Outcome:
        """Take in the first result of a device; devices with one program compare."""
        # Equal results are checked once, and when there is time.
        check = cache(partial(computation.check, self.inputs(computation), result))
        if deviation is not None:
            return Outcome(check, deviation=deviation)
        with self._lock:
            key = (str(device.device_kind), computation, program)
            ballot = self._ballots.setdefault(key, Ballot())
            vote = ballot.cast(name(device), result, check)
        return Outcome(ballot.checks[vote], ballot=ballot)

    def end(self) -> None:
        """A device has computed everything."""
        with self._lock:
            self._left, self._last = self._left - 1, perf_counter()

    def settled(self, outcomes: Outcomes) -> bool:
        """Whether results can be held against those of others, who may be late."""
        patience = max(PATIENCE_SECONDS, self._last - self._begun)
        if self._left and perf_counter() - self._last < patience:
            return False
        ballots = [one.ballot for one in outcomes.values() if one.ballot]
        return not self._left or all(one.winner is not None for one in ballots)

    def readings(self, device: jax.Device, outcomes: Outcomes) -> Iterator[Reading]:
        """Of one device, between which there are none of any other."""
        with self._lock:
            for computation, outcome in outcomes.items():
                if outcome.trouble is not None:
                    yield error_reading("numerics", device, outcome.trouble, unit=ERROR)
                elif outcome.check is not None:
                    yield _error(name(device), computation, outcome.check())
            yield self._same_bits(device, outcomes)

    def _same_bits(self, device: jax.Device, outcomes: Outcomes) -> Reading:
        """How many elements are not those of other times, or of other devices."""
        computed = sum(one.trouble is None for one in outcomes.values())
        if not computed:
            why = "It computed nothing that could be compared."
            return reading("numerics", device, SAME_BITS, skipped=why)
        elements = others = 0
        faults: list[tuple[str, str]] = []
        for computation, outcome in outcomes.items():
            found, ballot = outcome.deviation, outcome.ballot
            if ballot is not None:
                others = max(others, len(ballot.votes) - 1)
                found = ballot.against(name(device))
            if found is None:
                continue
            differing = found.within(computation)
            sentence = (
                f"{DEVICE} computes different results from the same input: {differing}."
            )
            if ballot is not None:
                sentence = ballot.sentence(differing)
            elements += found.elements
            faults.append((computation.what, sentence))
        said = f"{plural(computed, 'computation')}, {self.times} times each"
        if others:
            said += f" and on {plural(others, 'other device')}."
        else:
            said += "; there is no other device to compare."
        source = "the same input gives the same result"
        return reading(
            "numerics",
            device,
            SAME_BITS,
            elements,
            expected=Expected(value=0, kind="exact", source=source),
            fault=join_faults(faults),
            said=said + self._other_programs(device),
        )

    def _other_programs(self, device: jax.Device) -> str:
        """That GPUs with other kernels are not compared, where there are any."""
        kind = str(device.device_kind)
        # A computation is there once for each of its programs.
        found = Counter(one for owner, one, _ in list(self._ballots) if owner == kind)
        unlike = ", ".join(one.what for one, programs in found.items() if programs > 1)
        if not unlike:
            return ""
        return (
            f" XLA chose different kernels for {unlike}; only devices with the same"
            " ones were compared."
        )


def _error(device: str, computation: Computation, found: Accuracy) -> Reading:
    """How far a result is from float64."""
    what, expected, fault = computation.what, computation.expected, ""
    if found.error is None:
        fault = (
            f"{DEVICE} gives a result of {what} that is not finite, or has not the"
            " right shape."
        )
    elif not found.ok:
        fault = (
            f"{DEVICE} computes {what} with an error of {fmt.error(found.error)};"
            f" {fmt.error(expected.value)} is accepted."
        )
    rows = found.rows_sampled
    return reading(
        "numerics",
        device,
        what,
        found.error,
        unit=ERROR,
        expected=expected,
        fault=fault,
        said="" if rows is None else f"{rows} rows were compared.",
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
