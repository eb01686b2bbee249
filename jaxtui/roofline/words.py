"""Roofs and places in plain words."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.model.roofs import MissingRoof, Roof, RoofDtype, RoofsMeasured
from jaxtui.roofline.placing import Place, bandwidth_roof, compute_roofs, ridge

AT_THE_ROOF = 1.05
"""Shares up to this are the roof itself: two measurements of one speed differ so."""

NEAR = 0.3
"""From this share on it is the roof that limits; below, something else does."""

NEARLY_FITTING = 4
"""Arrays of so many times the last cache are partly still there in the next call."""

OP_BY_OP = ("eager", "numpy", "tensorflow")
"""Modes that write every intermediate result to memory."""


def verdict(place: Place) -> str:
    """What limits a case and how near it comes, e.g. ``memory bound at 71 % of the
    roof``; without a full stop, unless it is the sentence that says why there is none.
    """
    share = place.share
    if share is None or place.roof is None:
        return place.why_not or "it has no place under the roofs"
    shown = fmt.percent(share)
    if share > AT_THE_ROOF:
        return _above(place, shown)
    if place.intensity is None:
        said = f"moves data at {shown} of the bandwidth roof"
        return said if share >= NEAR else f"{said}: {_held_back(place)}"
    if share >= NEAR and not place.cached:
        return f"{place.bound} bound at {shown} of the roof"
    if share >= NEAR and place.bound == "compute":
        return f"compute bound at {shown} of the roof"
    if place.bound == "memory" and place.cached:
        return (
            f"{shown} of the memory roof, though {_fitting(place)}: it is not the "
            "memory that limits it"
        )
    return f"{shown} of the {place.bound} roof: {_held_back(place)}"


def roof_name(roof: Roof) -> str:
    """``bandwidth``, or ``compute float32``."""
    return "bandwidth" if roof.of is None else f"compute {dtype_name(roof.of)}"


def dtype_name(of: RoofDtype) -> str:
    """``float32``, or ``float32 highest``."""
    return of.dtype if of.precision == "default" else f"{of.dtype} {of.precision}"


def rate_text(roof: Roof, value: float | None = None) -> str:
    """Its speed, or another one in its unit: ``64.2 GFLOP/s``.

    Integer arithmetic is counted like any other.
    """
    shown = fmt.flops_rate if roof.kind == "compute" else fmt.bytes_rate
    return shown(roof.per_second if value is None else value)


def published_text(roof: Roof) -> str:
    """What somebody says the device could do, next to what it does."""
    said = roof.published
    if said is None:
        return "nobody publishes one"
    share = fmt.percent(roof.per_second / said.value) if said.value > 0 else fmt.ABSENT
    return f"{share} of {rate_text(roof, said.value)} ({said.source})"


def missing_text(missing: MissingRoof) -> str:
    """A roof that there is not, and why."""
    of = missing.of
    name = "bandwidth roof" if of is None else f"compute roof for {dtype_name(of)}"
    return f"no {name}: {missing.why}"


def ridges_text(roofs: RoofsMeasured) -> str:
    """From which intensities on arithmetic limits; empty if that is not known."""
    memory, compute = bandwidth_roof(roofs), compute_roofs(roofs)
    if memory is None or not compute:
        return ""
    parts = [
        f"{fmt.significant(ridge(roof, memory), 2)} flops per byte in {_of(roof)}"
        for roof in compute
    ]
    return f"The memory limits up to {', '.join(parts)}; above that, arithmetic does."


def cache_text(roofs: RoofsMeasured) -> str:
    """What arrays that fit into the last cache may do; empty where it is not known."""
    if roofs.cache_bytes is None:
        return ""
    return (
        f"Arrays that fit into the last cache, {fmt.bytes_text(roofs.cache_bytes)}, "
        "may move faster than the bandwidth roof."
    )


def intensity_text(place: Place) -> str:
    """``0.75``, or a dash for what only moves data."""
    if place.intensity is None:
        return fmt.ABSENT
    return fmt.significant(place.intensity, 3)


def place_rate_text(place: Place) -> str:
    """The speed of a case: FLOP/s, or bytes/s of what only moves data."""
    if place.intensity is None:
        return fmt.bytes_rate(place.rate)
    return fmt.flops_rate(place.rate)


def _above(place: Place, shown: str) -> str:
    """What may have let a case be faster than its roof."""
    if place.bound == "memory" and place.cached:
        return f"faster than the memory roof ({shown}): {_fitting(place)}"
    assert place.roof is not None
    if place.bound == "memory" and _nearly_fitting(place):
        arrays = fmt.bytes_text(place.measurement.bytes)
        cache = fmt.bytes_text(place.cache_bytes)
        cause = (
            f"part of its arrays ({arrays}) may stay in the last cache ({cache}), and "
            "reading alone is faster than copying"
        )
    elif place.roof.disturbed:
        cause = "other programs used the cores while the roof was measured"
    elif place.bound == "memory":
        cause = (
            "the machine was slower while the roof was measured, or it mostly reads, "
            "which is faster than copying"
        )
    else:
        cause = (
            "the machine was slower while the roof was measured, or the op needs fewer "
            "operations than its formula counts"
        )
    return f"over the {place.bound} roof ({shown}): {cause}"


def _held_back(place: Place) -> str:
    """What else may limit a case that is far below its roof."""
    flags = {note.flag for note in place.measurement.notes}
    mode = place.measurement.case.mode
    if "contended" in flags:
        return "other programs used the cores while it was measured"
    span, ready = place.measurement.memory, place.measurement.ready
    fresh = span and ready and 2 * ready.median > span.reused + span.fresh
    if fresh or "page-faults" in flags:
        return "memory for its result is mapped anew in every call, which takes longer"
    if place.bound == "memory" and mode in OP_BY_OP:
        return f"mode {mode} writes every intermediate result to memory"
    what = "the memory" if place.bound == "memory" else "arithmetic at full speed"
    return f"something other than {what} limits it"


def _fitting(place: Place) -> str:
    arrays = fmt.bytes_text(place.measurement.bytes)
    cache = fmt.bytes_text(place.cache_bytes)
    return f"its arrays ({arrays}) fit into the last cache ({cache})"


def _nearly_fitting(place: Place) -> bool:
    moved, cache = place.measurement.bytes, place.cache_bytes
    return moved is not None and cache is not None and moved < NEARLY_FITTING * cache


def _of(roof: Roof) -> str:
    return dtype_name(roof.of) if roof.of else roof_name(roof)
