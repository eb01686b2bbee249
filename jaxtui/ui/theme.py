"""Roles to styles: one table for terminals, files and screens."""

from __future__ import annotations

from collections.abc import Mapping

from rich.theme import Theme

from jaxtui.plot import HEAT, on_heat

_ROLES = {
    "title": ("bold", "bold"),
    "strong": ("bold", "bold"),
    "muted": ("dim", "$muted"),
    "info": ("bold", "bold"),
    "warning": ("yellow", "$warning"),
    "error": ("bold red", "bold $error"),
}
"""The style of each role in the colours of a terminal, and with the variables of a
Textual theme."""

HEAT_STYLES = {
    f"heat-{level}": "rgb({},{},{}) on rgb({},{},{})".format(*on_heat(level), *color)
    for level, color in enumerate(HEAT)
}
"""The colours of a heat map, which are the same in every theme."""

TERMINAL = Theme({role: style for role, (style, _) in _ROLES.items()} | HEAT_STYLES)


def on_screen(variables: Mapping[str, str]) -> Theme:
    """The roles in the colours of a Textual theme: ``App.theme_variables``."""
    styles = dict(HEAT_STYLES)
    for role, (_, style) in _ROLES.items():
        words = (
            variables[word[1:]] if word.startswith("$") else word
            for word in style.split()
        )
        styles[role] = " ".join(words)
    return Theme(styles)
