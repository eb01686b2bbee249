"""Roles to styles: one table for terminals, files and screens."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rich.theme import Theme

from jaxtui.core.model import PHASES
from jaxtui.ui.plot import COLORS, HEAT, SERIES, Color, on_heat


def _rgb(color: Color) -> str:
    return "rgb({},{},{})".format(*color)


HEAT_STYLES = {
    f"heat-{level}": f"{_rgb(on_heat(level))} on {_rgb(color)}"
    for level, color in enumerate(HEAT)
}
"""The colours of a heat map, which are the same in every theme."""

_VERDICTS = {
    "pass": ("green", "$check-pass"),
    "low": ("yellow", "bold $check-low"),
    "impossible": ("magenta", "bold $check-fail"),
    "fail": ("red", "bold $check-fail"),
    "skipped": ("dim", "$check-none"),
}

_CHECKS = {"pass": "green", "low": "yellow", "fail": "red", "none": "dim"}

_ROLES = {
    **dict.fromkeys(("title", "strong", "info"), ("bold", "bold")),
    **dict.fromkeys(("value", "hero"), ("", "bold")),
    **dict.fromkeys(("muted", "unknown"), ("dim", "dim")),
    "label": ("", ""),
    "head": ("dim", "underline"),
    **dict.fromkeys(("code", "block"), ("", "$text-secondary")),
    "markdown.code": ("cyan", "$text-secondary"),
    "chosen": ("", "bold $text-accent"),
    "selected": ("", "bold reverse"),
    "warning": ("yellow", "bold $text-warning"),
    "error": ("bold red", "bold $text-error"),
    "danger": ("bold red", "bold $danger"),
    "bad": ("red", "$danger"),
    "note": ("yellow", "$check-low"),
    "faster": ("green", "$check-pass"),
    "slower": ("yellow", "$check-fail"),
    "spark": ("", "$lane-device"),
    **{
        role: (_rgb(COLORS[SERIES[role]]), f"bold ${variable}")
        for role, variable in {
            "device": "lane-device",
            "host": "lane-host",
            "numpy": "numpy",
            "eager": "eager",
            "jit": "jit",
        }.items()
    },
    "device-curve": ("", "$lane-device 60%"),
    "host-curve": ("", "$lane-host 60%"),
    "a": ("", "bold $plot-1"),
    "b": ("", "bold $plot-2"),
    "mark-a": ("", "bold reverse $plot-1"),
    "mark-b": ("", "bold reverse $plot-2"),
    **{f"series-{n}": (_rgb(rgb), f"$plot-{n + 1}") for n, rgb in enumerate(COLORS)},
    **{f"bar-{phase.replace('_', '-')}": ("", "$foreground 45%") for phase in PHASES},
    "bar-dispatch": ("", "$lane-host"),
    **dict.fromkeys(("bar-ready", "bar-pipelined"), ("", "$lane-device")),
    **dict.fromkeys(("bar-pallas", "bar-tensorflow"), ("", "$lane-device")),
    **{
        f"bar-{mode}": (_rgb(COLORS[SERIES[mode]]), f"${mode}")
        for mode in ("numpy", "eager", "jit")
    },
    **{
        f"lane-{role}": ("", style)
        for role, style in {
            **dict.fromkeys(("host-0", "clock"), "$lane-host"),
            "host-1": "$lane-host 55%",
            "device-0": "$lane-device",
            "device-1": "$lane-device 55%",
            "queue": "$lane-device 70%",
            # Of no lane and no mode: NumPy's green would say that NumPy computes it.
            **dict.fromkeys(("selected", "cursor", "number"), "$foreground"),
            **dict.fromkeys(("wait", "axis"), "$plot-axis"),
            **dict.fromkeys(("name", "blank"), ""),
        }.items()
    },
    "badge": ("reverse", "bold reverse"),
    **_VERDICTS,
    **{
        f"badge-{word}": (f"reverse {color}", f"{style} reverse")
        for word, (color, style) in _VERDICTS.items()
    },
    **{f"check-{word}": (color, f"$check-{word}") for word, color in _CHECKS.items()},
    **{
        f"check-{word}-selected": (
            f"reverse {color}",
            f"bold $background on $check-{word}",
        )
        for word, color in _CHECKS.items()
    },
    **{role: (style, style) for role, style in HEAT_STYLES.items()},
}
"""The style of each role in the colours of a terminal, and with the variables of a
Textual theme."""

_VARIABLE = re.compile(r"\$([\w-]+)")

TERMINAL = Theme({role: style for role, (style, _) in _ROLES.items()}, inherit=False)


def on_screen(variables: Mapping[str, str]) -> Theme:
    """The roles in the colours of a Textual theme: ``App.theme_variables``."""
    from textual.color import Color as Shade
    from textual.markup import parse_style
    from textual.style import Style

    ground = Shade.parse(variables["background"])
    styles = {}
    for role, (_, text) in _ROLES.items():
        # Textual reads all variables that it is given, for each role anew.
        used = {name: variables[name] for name in _VARIABLE.findall(text)}
        style = parse_style(text, used)
        shade = style.foreground
        if shade is not None and shade.a < 1:
            style += Style(foreground=ground.blend(shade, shade.a, 1))
        styles[role] = style.rich_style
    return Theme(styles, inherit=False)
