"""Text in columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from jaxtui.text import visible


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[str] = ()
) -> str:
    """The rows under their heads, two blanks apart, without trailing blanks.

    Args:
        head: one per column.
        rows: as many texts each as there are columns.
        right: the heads of columns that are aligned at the right.
    """
    shown = [[visible(cell, line=True) for cell in row] for row in (head, *rows)]
    columns = list(zip(*shown, strict=True))
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for row in shown:
        cells = [
            cell.rjust(width) if name in right else cell.ljust(width)
            for cell, width, name in zip(row, widths, head, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
