"""What a terminal shows, as a picture."""

from __future__ import annotations

import html
import io

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

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


def as_svg(text: str, title: str) -> str:
    """An SVG document of a text as a dark terminal shows it.

    Args:
        text: Lines with ANSI colours.
        title: Stands above it.
    """
    lines = [Text.from_ansi(line) for line in text.split("\n")]
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
    return console.export_svg(code_format=_format(title))


def _format(title: str) -> str:
    theme = SVG_EXPORT_THEME
    # It goes through str.format once more.
    said = html.escape(title).replace("{", "{{").replace("}", "}}")
    return (
        _FORMAT.replace("BACKGROUND", theme.background_color.hex)
        .replace("FOREGROUND", theme.foreground_color.hex)
        .replace("TITLE", said)
    )
