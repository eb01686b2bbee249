"""A mend of Textual: what a layout moves is drawn again, whoever asked before."""

from __future__ import annotations

from textual._compositor import Compositor, CompositorMap, ReflowResult
from textual.geometry import Size
from textual.widget import Widget


def draw_what_moves() -> None:
    """Let a layout be compared with what is on screen.

    Once the compositor's map is out of date (a widget in a tab behind was refreshed),
    the next question for a place, such as a refresh asks it, arranges all widgets by
    their newest styles and keeps that map. The layout that follows finds nothing moved:
    it draws nothing anew and tells no widget of its new size.
    """
    if getattr(Compositor, "compares_with_screen", False):
        return
    full_map, reflow = Compositor.full_map, Compositor.reflow

    def keeping(self: Compositor) -> CompositorMap:
        if self._full_map_invalidated:
            drawn = self._full_map | (self._visible_map or {})
            vars(self).setdefault("drawn", drawn)
        return full_map.fget(self)  # type: ignore[attr-defined, no-any-return]

    def comparing(self: Compositor, parent: Widget, size: Size) -> ReflowResult:
        if (drawn := vars(self).pop("drawn", None)) is not None:
            self._full_map = drawn | (self._visible_map or {})
        return reflow(self, parent, size)

    Compositor.full_map = property(keeping)  # type: ignore[assignment, method-assign]
    Compositor.reflow = comparing  # type: ignore[method-assign]
    Compositor.compares_with_screen = True  # type: ignore[attr-defined]
