"""What devices have computed, held against float64 and, bit by bit, each other."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import jax
import msgspec

from jaxtui import format as fmt
from jaxtui.format import plural
from jaxtui.measure import accuracy, ops
from jaxtui.measure.accuracy import Accuracy
from jaxtui.measure.checks.ballot import Ballot, Difference
from jaxtui.measure.checks.base import name
from jaxtui.measure.checks.computations import Computation
from jaxtui.measure.checks.repeated import Outcome
from jaxtui.measure.errors import full_text
from jaxtui.measure.ops.arguments import Array
from jaxtui.measure.probe import probe
from jaxtui.measure.snippets.values import headline
from jaxtui.model import Expected, Reading

SAME_BITS = "elements with other bits"

NAMED = 3
"""So many further computations are named in a sentence."""

Inputs = dict[Computation, tuple[Array, ...]]


@dataclass(slots=True)
class Visit:
    """What came out on a device."""

    device: jax.Device
    outcomes: dict[Computation, Outcome] = field(default_factory=dict)
    crash: Exception | None = None
    """What ended it before its time."""


@dataclass(slots=True)
class Comparison:
    """The results of all devices, as they come in."""

    inputs: Inputs
    times: int
    """How often each device computes everything."""
    _ballots: dict[tuple[str, Computation, str], Ballot] = field(default_factory=dict)
    _accuracies: dict[tuple[Computation, int], Accuracy] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, visit: Visit, computation: Computation, outcome: Outcome) -> None:
        """Take in what became of a computation on a device; any thread may.

        A device that contradicts itself has no say in what is right.
        """
        if outcome.result is not None and outcome.wavered is None:
            ballot = self._ballot(visit.device, computation, outcome)
            kept = ballot.cast(name(visit.device), outcome.result)
            outcome = replace(outcome, result=kept)
        visit.outcomes[computation] = outcome

    def decided(self, visit: Visit) -> bool:
        """Whether each of its results can be held against what most devices have."""
        return all(
            ballot.winner is not None for _, _, ballot in self._held_against(visit)
        )

    def readings(self, visit: Visit) -> Iterator[Reading]:
        """Everything that there is to say about a device."""
        for computation, outcome in visit.outcomes.items():
            yield self._error(visit.device, computation, outcome)
        if visit.crash is not None:
            yield Reading(
                test="numerics",
                device=name(visit.device),
                what="numerics",
                fault=f"The test failed: {headline(visit.crash)}",
                detail=full_text(visit.crash),
            )
        yield self._same_bits(visit)

    def _ballot(
        self, device: jax.Device, computation: Computation, outcome: Outcome
    ) -> Ballot:
        key = (str(device.device_kind), computation, outcome.program)
        with self._lock:
            return self._ballots.setdefault(key, Ballot())

    def _held_against(
        self, visit: Visit
    ) -> Iterator[tuple[Computation, Outcome, Ballot]]:
        """The results of a device with the ballots of the others."""
        for computation, outcome in visit.outcomes.items():
            if outcome.result is not None and outcome.wavered is None:
                ballot = self._ballot(visit.device, computation, outcome)
                yield computation, outcome, ballot

    def _error(
        self, device: jax.Device, computation: Computation, outcome: Outcome
    ) -> Reading:
        """How far a result is from float64, or why there is none."""
        reading = Reading(
            test="numerics",
            device=name(device),
            what=computation.what,
            unit="relative error",
        )
        trouble, detail = outcome.trouble, ""
        if trouble is not None:
            detail = trouble.detail
        if outcome.skipped:
            return msgspec.structs.replace(
                reading, skipped=outcome.skipped, detail=detail
            )
        if outcome.result is None:
            return msgspec.structs.replace(reading, fault=str(trouble), detail=detail)
        found = self._accuracy(computation, outcome.result)
        fault, expected = "", computation.expected
        if found.error is None:
            fault = (
                f"{name(device)} gives a result of {computation.what} that is not"
                " finite, or has not the right shape."
            )
        elif not found.ok:
            fault = (
                f"{name(device)} computes {computation.what} with an error of"
                f" {fmt.error(found.error)}; {fmt.error(expected.value)} is accepted."
            )
        said = ""
        if found.rows_sampled is not None:
            said = f"{found.rows_sampled} rows were compared."
        return msgspec.structs.replace(
            reading, measured=found.error, expected=expected, fault=fault, said=said
        )

    def _accuracy(self, computation: Computation, result: Array) -> Accuracy:
        """Equal results are one array, which is compared once."""
        key = (computation, id(result))
        if key not in self._accuracies:
            self._accuracies[key] = accuracy.check(
                ops.get(computation.op),
                computation.dtype,
                computation.size,
                self.inputs[computation],
                result,
                precision=computation.precision,
            )
        return self._accuracies[key]

    def _same_bits(self, visit: Visit) -> Reading:
        reading = Reading(test="numerics", device=name(visit.device), what=SAME_BITS)
        stood = [one for one in visit.outcomes.values() if one.result is not None]
        if not stood:
            return msgspec.structs.replace(
                reading, skipped="It computed nothing that could be compared."
            )
        found = [*self._wavering(visit), *self._deviating(visit)]
        others = [len(ballot.votes) - 1 for *_, ballot in self._held_against(visit)]
        return msgspec.structs.replace(
            reading,
            measured=sum(elements for elements, _, _ in found),
            expected=Expected(
                value=0, kind="exact", source="the same input gives the same result"
            ),
            fault=_in_one(found),
            said=_compared(len(stood), self.times, others) + self._unlike(visit),
        )

    def _unlike(self, visit: Visit) -> str:
        """That GPUs with other kernels are not compared, where there are any."""
        kind = str(visit.device.device_kind)
        programs: dict[Computation, set[str]] = {}
        for owner, computation, program in list(self._ballots):
            if owner == kind:
                programs.setdefault(computation, set()).add(program)
        unlike = [one.what for one, found in programs.items() if len(found) > 1]
        if not unlike:
            return ""
        return (
            f" XLA chose different kernels for {', '.join(unlike)}; only devices with"
            " the same ones were compared."
        )

    def _wavering(self, visit: Visit) -> Iterator[tuple[int, str, str]]:
        """Elements, computation and sentence wherever a device contradicts itself."""
        for computation, outcome in visit.outcomes.items():
            if outcome.wavered is not None:
                sentence = (
                    f"{place(visit.device)} computes different results from the same"
                    f" input: {_differing(outcome.wavered, computation)}."
                )
                yield outcome.wavered.elements, computation.what, sentence

    def _deviating(self, visit: Visit) -> Iterator[tuple[int, str, str]]:
        """The same for every result that is not that of most devices."""
        mine = name(visit.device)
        for computation, _, ballot in self._held_against(visit):
            found = ballot.against(mine)
            if found is None:
                continue
            differing = _differing(found, computation)
            if ballot.winner is None:
                sentence = f"{_parties(ballot, mine)} compute different results:"
                sentence += f" {differing}; no majority says which is right."
            else:
                sentence = f"{place(visit.device)} computes another result than"
                sentence += f" {_majority(ballot)}: {differing}."
            yield found.elements, computation.what, sentence


def place(device: jax.Device) -> str:
    """The device and where it sits: ``tpu:3 at 0,1,0``, with its core if it has one."""
    coords = probe(lambda: ",".join(str(int(one)) for one in device.coords))
    if coords is None:
        return name(device)
    core = probe(lambda: int(device.core_on_chip))
    return f"{name(device)} at {coords}{f' core {core}' if core else ''}"


def _differing(found: Difference, computation: Computation) -> str:
    largest = "one of them is not finite"
    if found.largest == found.largest:
        largest = f"largest difference {fmt.significant(found.largest)}"
    return (
        f"{found.elements} of {found.of} elements of {computation.what} differ,"
        f" {largest}"
    )


def _majority(ballot: Ballot) -> str:
    winner = ballot.winner
    assert winner is not None
    agreeing, others = len(ballot.holders(winner)), len(ballot.votes) - 1
    return (
        f"the {others} others"
        if agreeing == others
        else f"{agreeing} of the {others} others"
    )


def _parties(ballot: Ballot, mine: str) -> str:
    with_me = ballot.holders(ballot.votes[mine])
    rest = [one for one in ballot.votes if one not in with_me]
    return f"{', '.join(with_me)} and {', '.join(rest)}"


def _in_one(found: Sequence[tuple[int, str, str]]) -> str:
    """The first sentence, and where else it is so."""
    if not found:
        return ""
    more = [what for _, what, _ in found[1:]]
    if not more:
        return found[0][2]
    listed = ", ".join(more[:NAMED])
    rest = f" and {len(more) - NAMED} more" if len(more) > NAMED else ""
    return f"{found[0][2]} It is so in {listed}{rest}, too."


def _compared(count: int, times: int, others: Sequence[int]) -> str:
    computed = f"{plural(count, 'computation')}, {times} times each"
    if not others or not max(others):
        return f"{computed}; there is no other device to compare."
    return f"{computed} and on {plural(max(others), 'other device')}."
