"""The roofline model: what limits a case, and how near it comes to that limit.

Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for
multicore architectures", CACM 52(4), 2009: a computation that does I flops per byte of
traffic reaches at most min(compute roof, I × bandwidth roof).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from msgspec.structs import replace

from jaxtui.core import format as fmt
from jaxtui.core.model import (
    HOST,
    Case,
    Measurement,
    OpInfo,
    PlannedCase,
    Remark,
    Severity,
)
from jaxtui.core.model.machine import members
from jaxtui.core.model.roofs import Roof, RoofDtype, Roofs, RoofsMeasured
from jaxtui.core.state import Job, State
from jaxtui.features.bench.thresholds import AT_THE_ROOF
from jaxtui.features.roofline.messages import Place
from jaxtui.ui import words

UNRATED = {
    "host-bound": "dispatch takes longer than the work",
    "folded": "XLA did part of the work at compile time",
    "kept": "the result existed before the call",
    "interpreted": "it runs in an interpreter",
    "own": "jaxtui doesn't know the flops of your function",
}
"""By the code of a note: why a measurement has no rate."""

NEAR = 0.3
"""Fraction of a roof above which it limits; below, something else does."""

NEARLY_FITTING = 4
"""Arrays of so many times the last cache are partly still there in the next call."""

OP_BY_OP = ("eager", "numpy", "tensorflow")
"""Modes that write every intermediate result to memory."""

USUAL = "float32"
"""The usual dtype of a user's function, before it has run."""

CACHES = 1.75
"""The smallest arrays of a memory-bound case in multiples of the last cache. No more
than need be: where malloc cannot be told to keep it, memory from 32 MiB on is new to
the process in every call."""

SHORTEST = 1e-3
"""Seconds of a call at its roof: much shorter ones are hidden by their hand-over, on an
accelerator altogether."""

LONGEST = 0.02
"""Seconds of the longest case: most ops stay below their roof, and take longer."""

FAR = 0.25
"""Fraction of the wanted time; below that a size is doubled, which may be four times
the work."""


def places(
    run: Job, roofs: RoofsMeasured | None, *, measuring: bool = False
) -> list[Place | None]:
    """The place of each case of a run; ``None`` while it has no figures."""
    return [
        _awaited(place(case.measurement, roofs), measuring)
        if roofs and case.measurement
        else None
        for case in run.cases
    ]


def _awaited(place: Place, measuring: bool) -> Place:
    """Say that a roof may come yet, while they are measured."""
    if not measuring or place.code != "roof-not-measured":
        return place
    text = "jaxtui is still measuring the roofs."
    return _nowhere(place.case, place.code, "no roof yet", text)


def device_of(state: State, selected: int) -> str | None:
    """The device whose roofs are of interest: that of the selected case.

    NumPy has none. It computes on the host, whose roofs are those of any CPU device;
    but beside cases of an accelerator theirs are what people look for.

    Returns:
        ``None`` without a run.
    """
    if state.run is None or not state.run.cases:
        return None
    cases = [entry.case for entry in (state.run.cases[selected], *state.run.cases)]
    device = next((case.device for case in cases if case.device != HOST), "cpu:0")
    return members(device)[0]


def roofs_of(state: State, device: str) -> RoofsMeasured | None:
    """Return the roofs of a device, if it was the last one; those so far."""
    job = state.jobs.get("roofs")
    roofs = job.result if job is not None else None
    if not isinstance(roofs, RoofsMeasured) or not same_silicon(roofs.device, device):
        return None
    return roofs


def work_for(state: State, device: str) -> Roofs:
    """Return the work for the engine: the dtypes of the run's cases on a device, and
    those that are known already.
    """
    entries = state.run.cases if state.run is not None else ()
    cases = [
        multiplied(entry.measurement) if entry.measurement else entry.case
        for entry in entries
    ]
    roofs = roofs_of(state, device)
    before = [roof.of for roof in roofs.roofs] if roofs else []
    dtypes = (*filter(None, before), *needed(cases, device, state.ops))
    return Roofs(device=device, dtypes=tuple(dict.fromkeys(dtypes)))


# Roofs.


def ridge(compute: Roof, bandwidth: Roof) -> float:
    """The intensity from which on not memory but arithmetic limits, flops per byte."""
    return compute.per_second / bandwidth.per_second


def bandwidth_roof(roofs: RoofsMeasured) -> Roof | None:
    usable = (x for x in roofs.roofs if x.of is None and _positive(x.per_second))
    return next(usable, None)


def compute_roofs(roofs: RoofsMeasured) -> tuple[Roof, ...]:
    """Return the roofs of arithmetic, the fastest first."""
    usable = (x for x in roofs.roofs if x.of and _positive(x.per_second))
    return tuple(sorted(usable, key=lambda roof: -roof.per_second))


def compute_roof(case: Case, roofs: RoofsMeasured) -> Roof | None:
    """The arithmetic of a case's dtype and precision."""
    return next((x for x in compute_roofs(roofs) if x.of == arithmetic(case)), None)


def multiplied(measurement: Measurement) -> Case:
    """A case with the dtype of what it multiplies, where that is another one."""
    case, dtype = measurement.case, measurement.multiplies
    return replace(case, dtype=dtype) if isinstance(dtype, str) else case


def arithmetic(case: Case) -> RoofDtype:
    """The arithmetic that a case does.

    No precision makes a difference to a CPU, and NumPy knows none.
    """
    plain = case.on_host or case.device.startswith("cpu:")
    return RoofDtype(dtype=case.dtype, precision="default" if plain else case.precision)


def roof_name(of: RoofDtype | None) -> str:
    """``bandwidth``, or ``compute float32``."""
    return "bandwidth" if of is None else f"compute {of.label}"


def rate_text(roof: Roof) -> str:
    """Write the rate of a roof: ``64.2 GFLOP/s``, also for integers; ``~64 GFLOP/s``
    of one that is not known to within a third.
    """
    digits = 2 if roof.vague else 3
    return "~" * roof.vague + str(
        fmt.figure(roof.per_second, quantity_of(roof), digits)
    )


def quantity_of(roof: Roof) -> Literal["FLOP/s", "B/s"]:
    return "FLOP/s" if roof.kind == "compute" else "B/s"


def reached(roofs: RoofsMeasured) -> str:
    """Write the height of the roofs: ``cpu:0 reaches 12.0 GB/s of bandwidth``."""
    memory = bandwidth_roof(roofs)
    parts = [
        f"{rate_text(roof)} in {roof.of.label}"
        for roof in compute_roofs(roofs)
        if roof.of
    ]
    parts += [f"{rate_text(memory)} of bandwidth"] if memory else []
    if not parts:
        return f"jaxtui has not measured the roofs of {roofs.device}"
    return f"{roofs.device} reaches {fmt.listed(parts)}"


def headline(roofs: RoofsMeasured) -> str:
    """Write the height of the roofs, and where arithmetic begins to limit."""
    memory, compute = bandwidth_roof(roofs), compute_roofs(roofs)
    if memory is None or not compute:
        return f"{reached(roofs)}."
    ridges = [
        fmt.significant(ridge(roof, memory), 2)
        + (f" ({roof.of.label})" if len(compute) > 1 and roof.of else "")
        for roof in compute
    ]
    return (
        f"{reached(roofs)}: memory limits below {fmt.listed(ridges)} flops per byte,"
        " arithmetic above."
    )


def _positive(value: float | None) -> bool:
    return value is not None and 0 < value < math.inf


# Where a case stands.


def place(measurement: Measurement, roofs: RoofsMeasured) -> Place:
    """Place a measurement under the roofs.

    Args:
        measurement: of a case that ran on the device of the roofs (or, on a CPU, on
            the host, which is the same silicon).
        roofs: of that device.
    """
    if why_not := _why_not(measurement, roofs):
        return why_not
    memory = bandwidth_roof(roofs)
    if memory is None:
        return _missing(measurement.case, None, roofs)
    case, intensity = multiplied(measurement), None
    rate, roof, limit = measurement.bytes_per_second, memory, memory.per_second
    # Every argument is read once and every result written once: that is their size.
    assert measurement.bytes is not None
    if _positive(measurement.flops):
        assert measurement.flops is not None
        intensity, rate = (
            measurement.flops / measurement.bytes,
            measurement.flops_per_second,
        )
        limit = intensity * memory.per_second
        if not 0 < limit < math.inf:
            return _no_byte_count(measurement.case)
        compute, slowest = compute_roof(case, roofs), compute_roofs(roofs)[-1:]
        # Where arithmetic as slow as the slowest that is known would not limit it.
        surely_by_memory = bool(slowest) and limit <= slowest[0].per_second
        if compute is None and not surely_by_memory:
            return _missing(measurement.case, arithmetic(case), roofs)
        if compute is not None and limit > compute.per_second:
            roof, limit = compute, compute.per_second
    assert rate is not None
    cache, ready = roofs.cache_bytes, measurement.ready
    under = Place(
        case=measurement.case,
        intensity=intensity,
        rate=rate,
        limit=limit,
        bound="memory" if roof is memory else "compute",
        arithmetic=arithmetic(case),
        share=rate / limit,
        cached=cache is not None and measurement.bytes <= cache,
        uncertain=bool((ready and ready.vague) or roof.vague),
        code="",
    )
    return _judged(under, measurement, roof, cache or 0)


def _judged(under: Place, measured: Measurement, roof: Roof, cache: int) -> Place:
    """Say what limits a case that has a place."""
    share, by_memory = under.share or 0.0, under.bound == "memory"
    name, of = ("bandwidth", "memory") if by_memory else ("compute", "arithmetic")
    peak = roof.published.value if roof.published else math.inf

    def verdict(code: str, limit: str, text: str, level: Severity = "info") -> Place:
        beyond = share > AT_THE_ROOF or code == "in-cache"
        return replace(
            under,
            code=code,
            limited_by=limit,
            verdict=text,
            level=level,
            share=None if beyond else share,
        )

    if under.cached and by_memory:
        text = f"The arrays fit into the last-level cache ({fmt.bytes_text(cache)}), so"
        return verdict(
            "in-cache", "cache", f"{text} memory does not limit these calls."
        )
    if share * roof.per_second > AT_THE_ROOF * peak:
        if by_memory:
            text = "Faster than the published bandwidth of the memory: the arrays lie"
            return verdict("from-cache", "cache", f"{text} in a cache.")
        text = f"Faster than the published peak in {multiplied(measured).dtype}: its"
        text += " time is wrong, or the op needs fewer operations than its formula"
        return verdict("beyond-peak", "impossible", f"{text} counts.", "error")
    if share > AT_THE_ROOF:
        fits = by_memory and (measured.bytes or 0) < NEARLY_FITTING * cache
        text = f"Faster than the {name} roof: {_cause_above(roof, fits=fits)}."
        return verdict("over-the-roof", "over the roof", text, "warning")
    if share < NEAR:
        text = f"Far below the {name} roof: {_cause_below(measured, of)}."
        return verdict("below-the-roof", "something else", text)
    text = f"{fmt.percent(share)} of the {name} roof"
    text = f"uncertain: {text}" if under.uncertain else text
    if under.intensity is None:
        return verdict("moves-data", of, f"{text}, without arithmetic.")
    return verdict(f"{under.bound}-bound", of, f"{text}.")


def _cause_above(roof: Roof, *, fits: bool) -> str:
    """Return the likely reason why a case was faster than its roof."""
    if fits:
        return (
            "part of its data stays in the last-level cache, and reading alone is"
            " faster than copying"
        )
    if roof.disturbed:
        return "other programs used the cores while jaxtui measured the roof"
    slower = "the machine was slower while jaxtui measured the roof, or the op"
    if roof.of is None:
        return f"{slower} mostly reads, which is faster than copying"
    return f"{slower} needs fewer operations than its formula counts"


def _cause_below(measured: Measurement, of: str) -> str:
    """Return the likely limit of a case that is far below its roof."""
    if measured.has("contended"):
        return "other programs used the cores during the run"
    if measured.has("page-faults"):
        return "the operating system maps new memory for the result in every call"
    if of == "memory" and measured.case.mode in OP_BY_OP:
        return "without jit, JAX writes every intermediate result to memory"
    return f"something other than {of} limits it"


def _missing(case: Case, of: RoofDtype | None, roofs: RoofsMeasured) -> Place:
    name = roof_name(of)
    if any(missing.of == of for missing in roofs.missing):
        return _nowhere(
            case, "no-roof", "no roof", f"There is no {name} roof.", "warning"
        )
    text = f"jaxtui has not measured the {name} roof."
    return _nowhere(case, "roof-not-measured", "no roof", text, "warning")


def _no_byte_count(case: Case) -> Place:
    text = "jaxtui doesn't know the bytes of this op, so there are no flops per byte."
    return _nowhere(case, "no-byte-count", "no byte count", text)


def _nowhere(
    case: Case, code: str, label: str, text: str, level: Severity = "info"
) -> Place:
    return Place(case=case, code=code, limited_by=label, verdict=text, level=level)


def _why_not(measured: Measurement, roofs: RoofsMeasured) -> Place | None:
    """Return why a case has no place under the roofs of this device."""
    case = measured.case
    if measured.collective:
        # No maker's figure for a link is comparable with busbw.
        remark = Remark("links-unpublished")
        return _nowhere(case, remark.code, words.label(remark), words.text(remark))
    if not on_the_roofs(case, roofs.device):
        where = HOST if case.on_host else case.device
        text = f"This case ran on {where}, but these are the roofs of {roofs.device}."
        return _nowhere(case, "other-silicon", "other device", text)
    if case.inputs == "host" and not case.on_host:
        text = "The host sends the arguments in every call, and no roof describes that"
        return _nowhere(case, "sent-each-call", "sent each call", f"{text} link.")
    if measured.stopped == "crashed":
        text = "The engine died before this case had all of its turns."
        return _nowhere(case, "lost-midway", "incomplete", text, "warning")
    moves_only = not _positive(measured.flops)
    rate = measured.bytes_per_second if moves_only else None
    if _positive(measured.flops_per_second) or _positive(rate):
        return None if _positive(measured.bytes) else _no_byte_count(case)
    notes = [note.code for note in measured.notes]
    if because := next((why for code, why in UNRATED.items() if code in notes), ""):
        text = f"This case has no rate: {because}."
        return _nowhere(case, "no-rate", "no rate", text)
    if moves_only and not _positive(measured.bytes):
        text = "jaxtui knows neither the flops nor the bytes of this op."
        return _nowhere(case, "nothing-counted", "nothing counted", text)
    text = "Too few calls for a rate."
    return _nowhere(case, "too-few-calls", "no rate", text, "warning")


def on_the_roofs(case: Case, device: str) -> bool:
    """Return whether a case runs on the silicon of a device's roofs."""
    return same_silicon(HOST if case.on_host else case.device, device)


# Which roofs some cases want, and at which sizes these say something.


def needed(
    cases: Iterable[Case], device: str, catalogue: Iterable[OpInfo] = ()
) -> tuple[RoofDtype, ...]:
    """The compute roofs that these cases stand under, each once, in their order."""
    without = {op.name for op in catalogue if op.arithmetic != "flops"}
    dtypes = [
        arithmetic(case) if case.dtype else RoofDtype(dtype=USUAL)
        for case in cases
        if on_the_roofs(case, device) and case.op not in without
    ]
    return tuple(dict.fromkeys(dtypes))


def larger(planned: PlannedCase, info: OpInfo, roofs: RoofsMeasured) -> int:
    """The next size to try; the same one where it is large enough."""
    size, memory = planned.case.size, bandwidth_roof(roofs)
    if memory is None or not planned.bytes or info.arithmetic == "uncounted":
        return size
    compute = compute_roof(planned.case, roofs)
    moving = planned.bytes / memory.per_second
    computing = (planned.flops or 0.0) / compute.per_second if compute else 0.0
    seconds = max(moving, computing)
    reached = seconds / SHORTEST
    if moving >= computing and roofs.cache_bytes:
        reached = min(reached, planned.bytes / (CACHES * roofs.cache_bytes))
    if reached >= 1 or seconds >= LONGEST:
        return size
    # As much again, or an eighth of the power of two below: sizes stay round.
    step = size if reached < FAR else max(1, 2 ** size.bit_length() // 16)
    return max(size, min(size + step, info.maximum))


def same_silicon(device: str, another: str) -> bool:
    """Return whether two devices are the same silicon: those of a CPU share cores and
    memory with each other, and with NumPy.
    """
    names = [
        "cpu" if name == HOST or name.startswith("cpu:") else name
        for name in (device, another)
    ]
    return names[0] == names[1]
