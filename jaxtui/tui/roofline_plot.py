"""The view "roofline": the roofs of a device, and the cases of the run under them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jaxtui.model import Roofs
from jaxtui.plot import Color, Picture
from jaxtui.roofline import figure
from jaxtui.tui import roofs_words
from jaxtui.tui.colors import ascii_only
from jaxtui.tui.roofline_places import device, placed
from jaxtui.tui.roofs_state import is_measured
from jaxtui.tui.state import State

WHAT_IT_IS = """\
A roofline shows what limits each case: under the slanting roof it waits for the \
memory, under the flat one for arithmetic. The nearer a case comes to its roof, the \
less is left to gain."""

SECONDS = Roofs(device="", dtypes=()).budget
"""For measuring the roofs of a device; compiling comes on top."""


def picture(state: State, colors: Sequence[Color]) -> Picture | None:
    """The roofs and the cases under them; ``None`` while there are no roofs."""
    found = placed(state)
    if found is None:
        return None
    index = state.case_index
    drawn = figure.picture(found.known, found.roofs, colors, found.places[index])
    letter = found.letters[index]
    return _pointed_at(drawn, letter) if drawn and letter else drawn


def explanation(state: State) -> str:
    """What stands in the place of the plot: what it would be, and what makes it."""
    where = device(state)
    if where is None:
        return WHAT_IT_IS
    return "\n\n".join(filter(None, (WHAT_IT_IS, _trouble(state), _next(state, where))))


def _pointed_at(drawn: Picture, letter: str) -> Picture:
    """With an arrow at the selected case: a colour alone is not seen by all."""
    arrow = "<" if ascii_only() else "◂"
    spots = [
        replace(spot, text=letter + arrow) if spot.text == letter else spot
        for spot in drawn.spots
    ]
    return replace(drawn, spots=tuple(spots))


def _trouble(state: State) -> str:
    """What has become of the last measuring, if that was not all."""
    if state.roofs.outcome == "complete" and state.roofs.failed is None:
        return ""
    return roofs_words.message(state.roofs)


def _next(state: State, where: str) -> str:
    if not is_measured(state.roofs, where):
        return f"z measures the roofs of {where}, about {SECONDS:.0f} s."
    found = placed(state)
    so_far = f" So far {roofs_words.heights(found.roofs)}." if found else ""
    return f"The roofs of {where} are being measured.{so_far}"
