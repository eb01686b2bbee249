"""What a terminal shows that is too small for anything else."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.geometry import Size
from textual.screen import Screen
from textual.widgets import Static

MINIMUM = Size(60, 15)
"""Below this the screens cannot be read."""


def too_small(size: Size) -> bool:
    """Whether the app cannot be used at this size."""
    return size.width < MINIMUM.width or size.height < MINIMUM.height


class TooSmall(Screen[None]):
    """One line, until the terminal has grown."""

    DEFAULT_CSS = """
    TooSmall { align: center middle; }
    """

    def compose(self) -> ComposeResult:
        """How large it must be."""
        yield Static(
            f"Too small: make this terminal {MINIMUM.width}×{MINIMUM.height} or larger."
        )
