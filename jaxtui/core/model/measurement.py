"""The result of timing a case."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import final

import msgspec

from jaxtui.core.model.base import Record, Stopped
from jaxtui.core.model.cases import Case, Peak
from jaxtui.core.model.remark import Remark

BATCHES = 8
"""Contiguous batches that an interval is made of, however many rounds there were.
Neighbouring rounds share the mood of the machine: more of them in the same seconds do
not know more about the next minute."""


def confidence(rounds: int) -> float:
    """Return the confidence of the interval of so many rounds: 0.992 from eight on.

    That of the lowest and the highest of k independent values about their median,
    1 − 2 · 2⁻ᵏ; below six rounds it is less than 0.95.
    """
    return max(0.0, 1 - 2.0 ** (1 - min(rounds, BATCHES)))


SPREAD = 2.0
"""Highest over lowest of an interval whose middle is known to within a third: the ends
of 1 ± 1/3 are 4/3 and 2/3."""


def is_vague(low: float, high: float, confidence: float) -> bool:
    """Return whether a figure with this interval is not known to within a third.

    Of a single round nothing is known: its confidence is 0.
    """
    return confidence <= 0 or high > SPREAD * low


def is_uncertain(low: float, high: float, confidence: float) -> bool:
    """Return whether a ratio with this interval may be 1, or is vague."""
    return is_vague(low, high, confidence) or low <= 1 <= high


class Phases(Record, frozen=True, kw_only=True):
    """The clocks outside the rounds, seconds; ``None`` where a mode has no such phase.

    ``trace``, ``lower``, ``compile`` and ``first_call`` are single cold observations;
    ``transfer`` and ``fetch`` are medians of a few fresh copies.
    """

    transfer: float | None = None
    trace: float | None = None
    lower: float | None = None
    compile: float | None = None
    first_call: float | None = None
    fetch: float | None = None

    @property
    def cold_seconds(self) -> float:
        """Seconds that the first call costs: trace, lower, compile and run."""
        parts = (self.trace, self.lower, self.compile, self.first_call)
        # ``sum`` rounds in another way since Python 3.12.
        return math.fsum(part for part in parts if part is not None)


class Summary(Record, frozen=True, kw_only=True):
    """A clock of a measurement, seconds."""

    n: int
    """Calls."""
    rounds: int
    median: float
    """Median of the round medians."""
    mean: float
    """Mean over all calls."""
    mad: float
    """Median absolute deviation over all calls."""
    p10: float
    p90: float
    p99: float
    max: float
    ci_low: float
    ci_high: float
    """The lowest and the highest of the medians of eight batches of rounds; of fewer
    rounds, the lowest and the highest."""
    outliers: int = 0
    """Calls beyond Tukey's outer fences (3 × IQR): counted, never dropped."""
    processes: int | msgspec.UnsetType = msgspec.UNSET
    """Fresh processes whose medians the interval is about; unset where it is about the
    rounds of one."""
    confidence: float = 0.0
    """The probability that the interval holds the median, were the batches independent;
    it follows from ``processes`` or else from ``rounds``, whatever is given."""

    def __post_init__(self) -> None:
        """Know how sure the interval is, also in documents that do not say it."""
        sure = confidence(self.processes or self.rounds)
        msgspec.structs.force_setattr(self, "confidence", sure)

    @property
    def interval(self) -> Interval:
        """The interval of the median."""
        return Interval(self.ci_low, self.median, self.ci_high, self.confidence)

    @property
    def half_width(self) -> float:
        """Half of the interval's width, relative to the median."""
        return self.interval.half_width

    @property
    def vague(self) -> bool:
        """True if the median is not known to within a third."""
        return self.interval.vague


@final
class Interval(Record, frozen=True):
    """An interval around a median: of a clock, seconds, or of a ratio of two."""

    low: float
    median: float
    high: float
    confidence: float = 0.0
    """The probability that it lies between the two; 0 if unknown."""

    @property
    def half_width(self) -> float:
        """Half of the width, relative to the median."""
        return (self.high - self.low) / 2 / self.median if self.median else 0.0

    @property
    def vague(self) -> bool:
        """True if the median is not known to within a third."""
        return is_vague(self.low, self.high, self.confidence)

    @property
    def uncertain(self) -> bool:
        """True for a ratio that may be 1, or is vague."""
        return is_uncertain(self.low, self.high, self.confidence)

    @property
    def decided(self) -> bool:
        """True for a ratio that is surely above 1, or surely below."""
        return self.confidence > 0 and not self.low <= 1 <= self.high

    @property
    def inverse(self) -> Interval:
        """The inverse ratio: the second clock over the first."""
        return Interval(1 / self.high, 1 / self.median, 1 / self.low, self.confidence)


class Samples(Record, frozen=True, kw_only=True):
    """Every timed call in order, seconds; NumPy has no dispatch."""

    ready: tuple[float, ...]
    dispatch: tuple[float, ...] | None = None


class SourceCode(Record, frozen=True, kw_only=True):
    """The source of a function of a file, wherever it lies."""

    digest: str
    """The digest of the file, which an edit changes."""


class Processes(Record, frozen=True, kw_only=True):
    """A case in several fresh processes, one after the other: ``ready``, in seconds."""

    n: int
    medians: tuple[float, ...]
    """The median of each process, in their order."""
    low: float
    high: float
    """The ends of the interval about processes, as in ``ready``."""


class CollectiveRates(Record, frozen=True, kw_only=True):
    """The traffic of a collective, as nccl-tests counts it."""

    participants: int
    """Devices of each group."""
    algorithm_bytes_per_second: float | None
    """The size over the seconds of a call; ``None`` before there are any."""
    bus_bytes_per_second: float | None
    """Bytes per second times the factor of the collective: the rate of the links,
    whatever the number of devices."""
    wrong: int | None
    """Elements of the results of all participants that are not what NumPy has;
    ``None`` before they were checked."""


class Measurement(Record, frozen=True, kw_only=True):
    """The result of a case."""

    case: Case
    phases: Phases
    dispatch: Summary | None
    """Until the call returned; ``None`` for NumPy, which has nothing to dispatch."""
    ready: Summary | None
    """Until ``block_until_ready`` returned; ``None`` before the first turn."""
    pipelined_seconds: float | None
    """Seconds per call from the slope of two queued bursts; ``None`` for NumPy."""
    flops: float | None
    bytes: float | None
    flops_per_second: float | None
    bytes_per_second: float | None
    """Rates, from the pipelined clock; ``None`` when host-bound or folded."""
    output_dtype: str | None
    error_vs_float64: float | None
    """Largest absolute error relative to the largest reference magnitude."""
    stopped: Stopped | None
    """``None`` while it is sampled."""
    stable: bool
    notes: tuple[Remark, ...] = ()
    peak: Peak | None = None
    xla_flops: float | None = None
    """XLA's own count from ``cost_analysis``, for comparison only."""
    processes: Processes | None = None
    """The processes whose medians ``ready`` sums up, if there were several."""
    free_seconds: float | None = None
    """Seconds per call to give its result back, the median of some calls: a plain loop
    pays for that, ``ready`` does not contain it. ``None`` where not known."""
    times_numpy: Interval | None = None
    """NumPy's seconds until ready over these: above 1 this one is faster. Known to the
    document of a run in which NumPy took turns with it; ``None`` of NumPy itself."""
    source: SourceCode | msgspec.UnsetType = msgspec.UNSET
    """The source of a function of a file or of a package."""
    multiplies: str | msgspec.UnsetType = msgspec.UNSET
    """The dtype of the largest product in a function of a file, if there is one."""
    collective: CollectiveRates | msgspec.UnsetType = msgspec.UNSET
    """The rates of a collective."""
    hostname: str | msgspec.UnsetType = msgspec.UNSET
    """The name of the host that timed it, where there are several processes."""
    samples: Samples | msgspec.UnsetType = msgspec.UNSET

    @property
    def work_seconds(self) -> float | None:
        """Seconds per call behind the rates: pipelined, or else the median ready."""
        if self.pipelined_seconds is not None:
            return self.pipelined_seconds
        return self.ready.median if self.ready else None

    def has(self, code: str) -> bool:
        """Return whether a remark with this code is among its notes."""
        return any(note.code == code for note in self.notes)

    def without(self, notes: Iterable[Remark]) -> Measurement:
        """Return the measurement with only the notes that differ from the run's."""
        return msgspec.structs.replace(self, notes=differing(self.notes, notes))


OF_RUNS = frozenset(
    {
        "aliased",
        "contended",
        "few-processes",
        "memcpy",
        "own",
        "precision",
        "simulated",
        "waits",
    }
)
"""Codes of what is usually true of a whole run, of its machine, or of its settings."""

AMOUNTS = {"contended": "used_cores"}
"""By code: the fact that varies between measurements."""

REPEAT_FACTOR = 2.0
"""A row repeats a run's note if its amount is more than twice the run's."""


def run_notes(measurements: Iterable[Measurement]) -> tuple[Remark, ...]:
    """Return the notes that hold for a run as a whole.

    A remark of ``OF_RUNS`` is the run's if it stands on every measurement of the
    platforms that it stands on at all (``host`` is one). Where an amount varies, half
    of the measurements are enough, and the one in the middle is taken.
    """
    measured = tuple(measurements)
    sizes = Counter(item.case.platform for item in measured)
    platforms: dict[Remark, list[str]] = {}
    varying: dict[str, list[Remark]] = {}
    for item in measured:
        for note in item.notes:
            if note.code in AMOUNTS:
                varying.setdefault(note.code, []).append(note)
            elif note.code in OF_RUNS:
                platforms.setdefault(note, []).append(item.case.platform)
    common = [
        sorted(notes, key=amount)[len(notes) // 2]
        for notes in varying.values()
        if 2 * len(notes) >= len(measured)
    ]
    for note, on in platforms.items():
        if len(on) == sum(sizes[platform] for platform in set(on)):
            common.append(note)
    return tuple(common)


def differing(notes: Iterable[Remark], of_run: Iterable[Remark]) -> tuple[Remark, ...]:
    """The notes of a measurement that are not those of its run."""
    common = {*of_run}
    amounts = {note.code: amount(note) for note in common if note.code in AMOUNTS}
    return tuple(
        note
        for note in notes
        if note not in common
        and (
            note.code not in amounts
            or amount(note) > REPEAT_FACTOR * amounts[note.code]
        )
    )


def amount(note: Remark) -> float:
    """The fact of it that is another one on every measurement."""
    value = note.facts.get(AMOUNTS.get(note.code, ""))
    return value if isinstance(value, float) else 0.0


def without_amount(note: Remark) -> Remark:
    """Return the part of a note that it shares with others of its code."""
    facts = {
        name: fact
        for name, fact in note.facts.items()
        if name != AMOUNTS.get(note.code)
    }
    return msgspec.structs.replace(note, facts=facts)
