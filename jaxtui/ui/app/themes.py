"""The three looks of the app: dark, light, and high contrast for a projector."""

from __future__ import annotations

from textual.theme import Theme

DARK = "jaxtui-dark"
LIGHT = "jaxtui-light"
PROJECTOR = "jaxtui-projector"

SERIES_COLORS = 6
"""The number of curve colours before they repeat."""


def _variables(
    colors: tuple[str, ...],
    axis: str,
    muted: str,
    bad: str,
    check: tuple[str, str, str],
) -> dict[str, str]:
    """Colours of our own, which mean the same on every screen.

    ``lane-device`` and ``ready`` share one, as ``lane-host`` and ``dispatch`` do.

    Args:
        colors: of device, host, NumPy, eager, jit and others, as in ``plot.SERIES``.
        axis: of plots, and of what is around panels.
        muted: of words that step back, with a contrast of 5 to 1 or more.
        bad: of what is impossible.
        check: of the verdicts pass, low and fail.
    """
    variables = {f"plot-{index + 1}": color for index, color in enumerate(colors)}
    return {
        **variables,
        "lane-device": colors[0],
        "lane-host": colors[1],
        "numpy": colors[2],
        "eager": colors[3],
        "jit": colors[4],
        "danger": bad,
        "muted": muted,
        "panel-border": axis,
        "panel-lit": colors[0],
        "plot-axis": axis,
        "plot-bad": bad,
        "check-pass": check[0],
        "check-low": check[1],
        "check-fail": check[2],
        "check-none": axis,
        "block-cursor-text-style": "bold",
        "footer-key-foreground": colors[0],
    }


THEMES: tuple[Theme, ...] = (
    Theme(
        name=DARK,
        dark=True,
        primary="#7aa2f7",
        secondary="#73daca",
        accent="#e0af68",
        warning="#e0af68",
        error="#ff6b7f",
        success="#9ece6a",
        foreground="#d5daf0",
        background="#14161f",
        surface="#1b1e2a",
        panel="#262a3a",
        variables=_variables(
            ("#7dcfff", "#ffb454", "#9ece6a", "#f5a5d8", "#bb9af7", "#e6db74"),
            "#6b7394",
            "#9aa2c4",
            "#ff6b7f",
            ("#9ece6a", "#ffc777", "#ff6b7f"),
        ),
    ),
    Theme(
        name=LIGHT,
        dark=False,
        primary="#1f5fbf",
        secondary="#00756a",
        accent="#9a5b00",
        warning="#9a5b00",
        error="#b3123a",
        success="#2f7d1c",
        foreground="#1c2030",
        background="#fbfbf8",
        surface="#f1f1ec",
        panel="#e2e3dd",
        variables=_variables(
            ("#0057b8", "#b34700", "#2f7d1c", "#a8006d", "#6a2fb5", "#6b6400"),
            "#7a7d88",
            "#5c5f6a",
            "#b3123a",
            ("#2f7d1c", "#9a5b00", "#b3123a"),
        ),
    ),
    Theme(
        name=PROJECTOR,
        dark=False,
        primary="#0000c0",
        secondary="#004000",
        accent="#800000",
        warning="#800000",
        error="#c00000",
        success="#005000",
        foreground="#000000",
        background="#ffffff",
        surface="#ffffff",
        panel="#d8d8d8",
        text_alpha=1.0,
        variables=_variables(
            ("#0000d0", "#a04000", "#006000", "#a00060", "#5a00a0", "#606000"),
            "#000000",
            "#000000",
            "#c00000",
            ("#006000", "#8a5a00", "#c00000"),
        ),
    ),
)

DEFAULT_VARIABLES = THEMES[0].variables
"""Variables of a theme that is not ours (``TEXTUAL_THEME``): the colours of the dark
one."""
