"""The tabs that are filled late: nothing of them may hold up the first frame."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from textual.geometry import Size
from textual.widget import Widget

if TYPE_CHECKING:
    from jaxtui.tui.app import JaxtuiApp
    from jaxtui.tui.state import State
    from jaxtui.tui.widgets.bench_pane import BenchPane
    from jaxtui.tui.widgets.history_pane import HistoryPane
    from jaxtui.tui.widgets.learn_pane import LearnPane

NO_SQLITE = "This Python was built without SQLite, so there is no history."


def is_wide(size: Size) -> bool:
    """Whether there is room for two things side by side."""
    return size.width >= 100


class Panes:
    """The part of the app that fills its tabs and hands them the snapshot.

    They are not bound to the app's own: a snapshot that came while the widgets of a
    pane were still being composed would find them missing.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bench: BenchPane | None = None
        """The content of the tab Bench, once it is complete."""
        self.learn: LearnPane | None = None
        """The content of the tab Learn, once it has been shown."""
        self.history: HistoryPane | None = None
        """The content of the tab History, once it has been shown."""
        self.leaving = False
        """The app ends: what is still being filled has no use any more."""
        self._completing = asyncio.Lock()

    @property
    def _whole(self) -> JaxtuiApp:
        return cast("JaxtuiApp", self)

    async def complete(self) -> None:
        """Fill the tab Bench, which is not in view at first.

        Its modules and its twenty widgets would hold up the first frame, and then JAX,
        which needs the processor to come up. So it comes when the devices are on
        screen, and in any case before any key or click.
        """
        if self.bench is not None or self.leaving:
            return
        from jaxtui.tui.widgets.bench_pane import BenchPane

        async with self._completing:
            if self.bench is None and await self._fill("bench", bench := BenchPane()):
                bench.set_wide(is_wide(self._whole.size))
                bench.state = self._whole.state
                self.bench = bench

    async def complete_learn(self) -> None:
        """Fill the tab Learn when it is first shown: it imports all the lessons."""
        if self.learn is not None or self.leaving:
            return
        from jaxtui.tui import learn_state
        from jaxtui.tui.widgets.learn_pane import LearnPane

        async with self._completing:
            if self.learn is None and await self._fill("learn", learn := LearnPane()):
                self._whole.session.update(learn=learn_state.loaded())
                learn.set_wide(is_wide(self._whole.size))
                learn.state = self._whole.state
                self.learn = learn

    async def complete_history(self) -> None:
        """Fill the tab History when it is first shown: it imports SQLite."""
        if self.history is not None or self.leaving:
            return
        try:
            from jaxtui.tui.widgets.history_pane import HistoryPane
        except ModuleNotFoundError as error:
            if error.name not in ("sqlite3", "_sqlite3"):
                raise
            self._whole.session.say(NO_SQLITE)
            return

        async with self._completing:
            past = HistoryPane()
            if self.history is None and await self._fill("history", past):
                past.set_wide(is_wide(self._whole.size))
                past.state = self._whole.state
                self.history = past

    async def _fill(self, tab: str, pane: Widget) -> bool:
        """Whether the pane is there now: an ending may come in between."""
        stack = self._whole.screen_stack
        found = stack[0].query(f"#{tab}") if stack and not self.leaving else None
        if not found:
            return False
        await found.first().mount(pane)
        # An ending that came meanwhile leaves the widgets without children.
        return not self.leaving

    def show_in_panes(self, state: State) -> None:
        """Hand on a snapshot."""
        if self.bench is not None:
            self.bench.state = state
        if self.learn is not None:
            self.learn.state = state
        if self.history is not None:
            self.history.state = state

    def widen_panes(self, size: Size) -> None:
        """Use the room of a terminal of another size."""
        for pane in (self.bench, self.learn, self.history):
            if pane is not None:
                pane.set_wide(is_wide(size))

    def redraw_panes(self) -> None:
        """Draw the plots anew."""
        for pane in (self.bench, self.learn):
            if pane is not None:
                pane.draw()
