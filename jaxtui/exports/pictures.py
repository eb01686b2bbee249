"""What a terminal shows, as a picture."""

from __future__ import annotations

import html
import io
from typing import NamedTuple

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME, TerminalTheme
from rich.text import Text

from jaxtui.text import visible

_FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" \
xmlns="http://www.w3.org/2000/svg">
    <title>TITLE</title>
    <style>
    .{unique_id}-matrix {{
        font-family: "Fira Code", "DejaVu Sans Mono", monospace;
        font-size: {char_height}px;
        line-height: {line_height}px;
    }}
    .{unique_id}-title {{ font: bold 18px sans-serif; }}
    {styles}
    </style>
    <defs>
    <clipPath id="{unique_id}-clip-terminal">
      <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
    </clipPath>
    {lines}
    </defs>
    <rect fill="BACKGROUND" width="{width}" height="{height}" rx="8"/>
    <text class="{unique_id}-title" fill="FOREGROUND" x="16" y="28">TITLE</text>
    <g transform="translate({terminal_x}, {terminal_y})" \
clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix">
    {matrix}
    </g>
    </g>
</svg>
"""
"""Rich's own without the buttons of a window, and without fonts from the network."""


class Look(NamedTuple):
    """The colours of a terminal, as red, green and blue."""

    background: tuple[int, int, int]
    foreground: tuple[int, int, int]


DARK = Look(SVG_EXPORT_THEME.background_color, SVG_EXPORT_THEME.foreground_color)
"""Where no theme says otherwise."""


def as_svg(text: str, title: str, look: Look = DARK) -> str:
    """An SVG document of a text as a terminal shows it.

    Args:
        text: Lines with ANSI colours.
        title: Stands above it.
        look: What the colours of the text were chosen for.
    """
    lines = [Text.from_ansi(line) for line in visible(text).split("\n")]
    width = max(line.cell_len for line in lines)
    console = Console(
        record=True,
        width=max(1, width),
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    for line in lines:
        console.print(line, no_wrap=True, overflow="ignore", crop=False)
    theme = TerminalTheme(look.background, look.foreground, [])
    theme.ansi_colors = SVG_EXPORT_THEME.ansi_colors
    return console.export_svg(theme=theme, code_format=_format(title, theme))


def _format(title: str, theme: TerminalTheme) -> str:
    # It goes through str.format once more.
    said = html.escape(visible(title, line=True)).replace("{", "{{").replace("}", "}}")
    return (
        _FORMAT.replace("BACKGROUND", theme.background_color.hex)
        .replace("FOREGROUND", theme.foreground_color.hex)
        .replace("TITLE", said)
    )
