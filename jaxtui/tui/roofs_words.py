"""What became of measuring roofs, in sentences."""

from __future__ import annotations

from jaxtui.model.roofs import Roof, RoofsMeasured
from jaxtui.roofline import words
from jaxtui.tui.roofs_state import RoofsState, of_device


def message(state: RoofsState) -> str:
    """What the last measuring has come to; empty while it goes on."""
    asked = state.asked
    if asked is None or state.outcome is None:
        return ""
    if state.failed is not None:
        return failed(state)
    roofs = of_device(state, asked.device)
    if state.outcome != "complete":
        stays = "the roofs that were found stay" if roofs else "no roof was found"
        return f"Stopped; {stays}. z measures the roofs of {asked.device} again."
    return "" if roofs is None else f"Roofs of {heights(roofs)}."


def failed(state: RoofsState) -> str:
    """Why the last measuring came to nothing; empty unless it did."""
    if state.failed is None or state.asked is None:
        return ""
    said = f"{state.failed.error} {state.failed.hint}".strip()
    if state.outcome == "crashed":
        return f"Incomplete: no new roofs of {state.asked.device}. {said}"
    return f"The roofs of {state.asked.device} could not be measured. {said}"


def heights(roofs: RoofsMeasured) -> str:
    """How high they are: ``cpu:0: 95.2 GFLOP/s float32, 11.8 GB/s``."""
    return f"{roofs.device}: {', '.join(map(_height, roofs.roofs)) or 'none'}"


def of_a_roof(roof: Roof) -> str:
    """How high it is, what reached that, and what others publish."""
    told = f"{words.rate_text(roof)}, reached by {roof.what}"
    if roof.published is not None:
        told = f"{told}; that is {words.published_text(roof)}"
    return f"{told}. {roof.disturbed}" if roof.disturbed else told


def _height(roof: Roof) -> str:
    of = "" if roof.of is None else f" {words.dtype_name(roof.of)}"
    return f"{words.rate_text(roof)}{of}"
