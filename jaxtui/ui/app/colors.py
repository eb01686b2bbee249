"""The plot's colours out of the theme, and how many the terminal has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textual.app import App
from textual.color import Color

from jaxtui.ui import plot
from jaxtui.ui.app.themes import SERIES_COLORS


def series_colors(variables: Mapping[str, str]) -> list[plot.Color]:
    """Red, green and blue of each curve's colour.

    Args:
        variables: the CSS variables of the theme.
    """
    # Of a theme that is not ours, too: the app has defaults for them.
    names = [f"plot-{index + 1}" for index in range(SERIES_COLORS)]
    return [Color.parse(variables[name]).rgb for name in names]


def few_colors(app: App[Any]) -> bool:
    """True where things must differ by more than their colour."""
    if app.is_headless:
        # There is no terminal to ask; screenshots have every colour.
        return False
    system = app.console.color_system
    return app.no_color or system in (None, "standard", "windows")


def warm_up() -> None:
    """Load what the first plot needs, so that it does not have to wait for it."""
    line = plot.Series("", (0.0, 1.0), (0.0, 1.0))
    plot.Picture((line,)).rows(20, 5)
