"""How fast arrays travel from one device of this process to another.

What is timed is ``jax.device_put`` of an array that lies on the first device, waited
for on the second, each time into a fresh array. All pairs take turns, each with a copy
of eight bytes and a large one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from mmap import PAGESIZE
from time import perf_counter
from typing import Any

import jax

from jaxtui.measure import devices, inputs, notes
from jaxtui.measure.check.base import shares_silicon
from jaxtui.measure.coldpath import shares_memory
from jaxtui.measure.contention import Meter
from jaxtui.measure.failures import translate
from jaxtui.measure.runner import Runner
from jaxtui.measure.turns import Turns, is_checkpoint, is_due, never, take_turns
from jaxtui.measure.workload import of_copy
from jaxtui.model import Case, Fact, Remark, RunEvent
from jaxtui.model.links import COPY, LATENCY_BYTES, LinkMeasured, Links, LinksMeasured
from jaxtui.stats import median

LEAST_ROUNDS = 3
"""Of a pair, however long a copy takes."""


def run_links(work: Links, *, stop: Callable[[], bool] = never) -> Iterator[RunEvent]:
    """Copy between the pairs; ``LinkMeasured`` comes again while figures sharpen."""
    return _Run(work, stop).events()


@dataclass(slots=True)
class _Pair:
    """A pair with its two copies; a pair that cannot be timed has none."""

    source: jax.Device
    target: jax.Device
    latency: Turns | None = None
    copy: Turns | None = None
    remarks: tuple[Remark, ...] = ()

    @property
    def rounds(self) -> int:
        """Of the copy that had fewer."""
        both = (self.latency, self.copy)
        return min(len(turns.rounds) if turns else 0 for turns in both)

    @property
    def measured(self) -> LinkMeasured:
        source, target = map(devices.name, (self.source, self.target))
        figures: dict[str, Any] = {}
        for name, turns in (("latency", self.latency), ("copy", self.copy)):
            if turns is not None and turns.medians and not self.remarks:
                interval = turns.interval
                figures |= {
                    f"{name}_seconds": interval.median,
                    f"{name}_low": interval.low,
                    f"{name}_high": interval.high,
                }
                if name == "copy":
                    figures["confidence"] = interval.confidence
                    if self.target.platform == "cpu":
                        figures["page_faults"] = median(turns.page_faults)
        return LinkMeasured(
            source=source,
            target=target,
            rounds=self.rounds,
            remarks=self.remarks,
            **figures,
        )


class _Run(Runner):
    phase = "transfer"

    def __init__(self, work: Links, stop: Callable[[], bool]) -> None:
        super().__init__(work.budget, stop)
        self.case = Case(op=COPY, size=work.nbytes, dtype="", device="", mode="eager")
        self._work = work
        self._arrays: dict[tuple[jax.Device, int], jax.Array] = {}

    def work(self) -> Iterator[RunEvent]:
        pairs = [
            _Pair(devices.find_own(source), devices.find_own(target))
            for source, target in self._work.pairs
        ]
        taking_part = list(dict.fromkeys(end for p in pairs for end in _ends(p)))
        for device in dict.fromkeys(pair.source for pair in pairs):
            if self.stop():
                return
            yield self.progress("link-arrays", devices.name(device))
            self._send(device)
        for pair in pairs:
            if self.stop():
                return
            yield self.progress("first-copies", _named(pair))
            self._begin(pair)
            if pair.remarks:
                yield pair.measured
        self.budget += self.elapsed
        meter = Meter()
        meter.start()
        yield from self._rounds(pairs)
        meter.stop()
        contended = notes.contention(meter.usage)
        remarks = []
        on_host = [pair for pair in pairs if pair.measured.page_faults is not None]
        if on_host:
            remarks.append(_memory(on_host, self._work.nbytes))
        if contended is not None and shares_silicon(taking_part):
            remarks.append(contended)
        yield LinksMeasured(remarks=tuple(remarks))

    def _send(self, device: jax.Device) -> None:
        """Make what is copied from a device, in memory of its own."""
        for nbytes in (LATENCY_BYTES, self._work.nbytes):
            sent = inputs.random_bytes(nbytes, self._work.seed)
            array = jax.device_put(sent, device)
            self._arrays[device, nbytes] = array.block_until_ready()

    def _begin(self, pair: _Pair) -> None:
        """Make the first copies, which do not count, and see whether they are some."""
        turns: list[Turns] = []
        for nbytes in (LATENCY_BYTES, self._work.nbytes):
            held = self._arrays[pair.source, nbytes]
            workload = of_copy(self.case, held, pair.target)
            try:
                begin = perf_counter()
                arrived = workload.call(held)
                arrived.block_until_ready()
                seconds = perf_counter() - begin
            except Exception as error:  # of whatever plugin there is
                pair.remarks = (translate(error, self.case, "transfer").remark,)
                return
            # Only CPU devices have one memory: elsewhere an address says nothing.
            on_host = pair.target.platform == pair.source.platform == "cpu"
            if on_host and shares_memory(arrived, held):
                pair.remarks = (Remark("nothing-copied", {}, "warning"),)
                return
            one = Turns(workload, throughput=False, settles=nbytes > LATENCY_BYTES)
            # The first copy has set up what there is to set up.
            one.warm, one.call_seconds = True, seconds
            turns.append(one)
        pair.latency, pair.copy = turns

    def _rounds(self, pairs: list[_Pair]) -> Iterator[RunEvent]:
        """Turns of all pairs until the budget is over, or nothing sharpens any more."""
        owners = {
            turns: pair
            for pair in pairs
            for turns in (pair.latency, pair.copy)
            if turns is not None
        }
        told: dict[str, int] = {}
        reported = 0.0
        for turns in take_turns(
            list(owners),
            self.remaining,
            stop=self.stop,
            seed=self._work.seed,
            faults=(Exception,),
        ):
            pair, rounds = owners[turns], len(turns.rounds)
            if turns.fault is not None:
                fault = translate(turns.fault, self.case, "transfer")
                pair.remarks = (fault.remark,)
                for other in filter(None, (pair.latency, pair.copy)):
                    other.done = True
            over = self.remaining <= 0 and rounds >= LEAST_ROUNDS
            sharp = is_checkpoint(rounds) and turns.interval.half_width <= 0.03
            turns.done |= over or sharp
            if perf_counter() - reported >= 0.25:
                reported = perf_counter()
                yield self.progress("copying", _named(pair))
            if pair.remarks or (is_due(rounds) and pair.rounds):
                told[_named(pair)] = pair.rounds
                yield pair.measured
        for pair in pairs:
            if pair.rounds > told.get(_named(pair), 0) and not pair.remarks:
                yield pair.measured


def _memory(pairs: list[_Pair], nbytes: int) -> Remark:
    """Say of how many copies within the host's memory most pages were new."""
    counts = [pair.measured.page_faults or 0.0 for pair in pairs]
    fresh = [count for count in counts if count > nbytes / PAGESIZE / 2]
    facts: dict[str, Fact] = {
        "links": len(counts),
        "fresh": len(fresh),
        "page_faults": median(fresh) if fresh else 0.0,
    }
    return Remark("links-memory", facts)


def _ends(pair: _Pair) -> tuple[jax.Device, jax.Device]:
    return pair.source, pair.target


def _named(pair: _Pair) -> str:
    return f"{devices.name(pair.source)} → {devices.name(pair.target)}"
