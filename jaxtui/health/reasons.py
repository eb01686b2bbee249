"""The words of a verdict: figures in readable units, devices where they sit."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui import format as fmt
from jaxtui.health.comparison import Comparison
from jaxtui.model import Device, Reading, Unit

TOO_FAST = (
    "Usual causes: the dispatch was timed and not the result; the compiler folded or"
    " dropped work whose result is not used; operations were counted that a sparse"
    " product leaves out; TF32 or fewer passes than the precision says; a peak per JAX"
    " device where two of them share a chip; a peak of another kind of chip."
)
"""Why a product may seem faster than its chip."""

TOO_WIDE = (
    "Usual causes: the dispatch was timed and not the result; the arrays fit into a"
    " cache; the compiler folded the copy, or its result is not used; a peak per JAX"
    " device where two of them share a chip; a peak of another kind of chip."
)
"""Why a copy may seem faster than its memory."""

TOO_MUCH = (
    "Usual causes: a figure per JAX device where two of them share a chip; a figure of"
    " another kind of chip."
)
"""Why something else may exceed what the chip has."""

TOO_SLOW = (
    "Usual causes: a limit of power or temperature, another process on the device,"
    " lower clocks."
)
"""Why a device may stay below what others like it reach."""


def figure(value: float | None, unit: Unit) -> str:
    """A figure as people read it: ``169 TFLOP/s``, ``4 chips``, ``2.1e-3``."""
    match unit:
        case "chips":
            many = "chip" if value == 1 else "chips"
            return fmt.ABSENT if value is None else f"{value:g} {many}"
        case "bytes":
            return fmt.bytes_text(value)
        case "flop/s":
            return fmt.flops_rate(value)
        case "bytes/s":
            return fmt.bytes_rate(value)
        case "seconds":
            return fmt.seconds(value)
        case "relative error":
            return fmt.error(value)
        case "":
            return fmt.ABSENT if value is None else fmt.significant(value)


def percent_against(share: float, bound: float) -> str:
    """A share whose text never equals that of a bound that it only comes close to."""
    text, line = fmt.percent(share), fmt.percent(bound)
    if text != line or share == bound:
        return text
    return f"just {'under' if share < bound else 'over'} {line}"


def impossible_causes(unit: Unit) -> str:
    """What usually makes a figure exceed the peak."""
    return {"flop/s": TOO_FAST, "bytes/s": TOO_WIDE}.get(unit, TOO_MUCH)


def where(device: Device) -> str:
    """A device and its place: ``tpu:5 at 1,2,0``, ``tpu:1 at 0,0,0 core 1``."""
    if device.coords is None:
        return device.name
    place = f"{device.name} at {','.join(map(str, device.coords))}"
    # Core 0 is also that of a chip that is one device, which needs no mention.
    return f"{place} core {device.core_on_chip}" if device.core_on_chip else place


def reason(reading: Reading, comparisons: Sequence[Comparison]) -> str:
    """One text of whole sentences, the figure with all it was compared with first."""
    clauses = [one.clause for one in comparisons if one.clause]
    sentences = [sentence for one in comparisons for sentence in one.sentences]
    if reading.measured is not None:
        text = figure(reading.measured, reading.unit)
        sentences.insert(0, ", ".join((text, "; ".join(clauses))) if clauses else text)
    return joined(reading.doubt, *sentences, reading.said, reading.disturbed)


def joined(*sentences: str) -> str:
    """Sentences in a row, each with its full stop; what was said before is left out."""
    text = ""
    for sentence in map(str.strip, sentences):
        if sentence and sentence not in text:
            stop = "" if sentence.endswith((".", "!", "?")) else "."
            text += f"{' ' if text else ''}{sentence}{stop}"
    return text
