"""Results as files to take away: JSON, CSV, Markdown, SVG, text and Python."""

from jaxtui.exports.files import ExportError, check, write
from jaxtui.exports.tables import as_csv, as_markdown

__all__ = ["ExportError", "as_csv", "as_markdown", "check", "write"]
