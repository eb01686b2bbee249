"""Text in columns, for the commands."""

from __future__ import annotations

from jaxtui.tui.columns import table

__all__ = ["table"]
