"""What the keys do in the async view."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

import msgspec

from jaxtui.model import LOOP_STYLES, MAXIMUM_LOOP_CALLS, Experiment, Loop
from jaxtui.tui import loop_words
from jaxtui.tui.playback import Playback
from jaxtui.tui.widgets.giant import Giant

if TYPE_CHECKING:
    from jaxtui.tui.app import JaxtuiApp
    from jaxtui.tui.screens.async_view import AsyncView

CALLS = (1, 2, 5, 10, 20, 40, 64, 100, MAXIMUM_LOOP_CALLS)
"""The numbers of calls that the keys go through."""


class LoopKeys:
    """The part of the async view that asks for loops and walks through them."""

    @property
    def _view(self) -> AsyncView:
        return cast("AsyncView", self)

    @property
    def _jaxtui(self) -> JaxtuiApp:
        return cast("JaxtuiApp", self._view.app)

    # Another loop, or another place.

    def action_close(self) -> None:
        """Back to the tabs; a running loop is stopped."""
        self._view.stop_loop()
        self._view.dismiss()

    def action_again(self) -> None:
        """Run the loop anew."""
        self._change()

    def action_style(self) -> None:
        """Wait at other times."""
        if loop := self._view.loop:
            index = LOOP_STYLES.index(loop.style) + 1
            self._change(style=LOOP_STYLES[index % len(LOOP_STYLES)])

    def action_chain(self) -> None:
        """Chain the calls, or do not."""
        if loop := self._view.loop:
            self._change(chained=not loop.chained)

    def action_more(self) -> None:
        """More calls."""
        loop = self._view.loop
        if loop and (more := [count for count in CALLS if count > loop.calls]):
            self._change(calls=more[0])

    def action_fewer(self) -> None:
        """Fewer calls."""
        loop = self._view.loop
        if loop and (fewer := [count for count in CALLS if count < loop.calls]):
            self._change(calls=fewer[-1])

    def _change(self, **changes: object) -> None:
        if loop := self._view.loop:
            self._view.run_loop(msgspec.structs.replace(loop, **changes))

    def action_giant(self) -> None:
        """The two figures, or the lanes."""
        view = self._view
        view.query_one(Giant).revealed = False
        view.giant = not view.giant

    def action_depth(self) -> None:
        """Show the queue, or hide it."""
        view = self._view
        view.depth = not view.query_one("#loop-queue").display
        view.call_after_refresh(view.draw_queue)

    def action_code(self) -> None:
        """Show the script of this loop."""
        if loop := self._view.loop:
            self._jaxtui.background(partial(self._show_code, loop))

    async def _show_code(self, loop: Loop) -> None:
        experiment = Experiment(cases=(loop.case,))
        plan = await self._jaxtui.session.plan(experiment, recipes=True)
        from jaxtui.scripts import loop_script
        from jaxtui.tui.screens.code import CodeScreen

        script = loop_script(loop, plan.cases[0]).text
        self._jaxtui.push_screen(CodeScreen(loop_words.title(loop), script))

    # Playing.

    def action_replay(self) -> None:
        """Play the loop from its beginning."""
        view, lanes = self._view, self._view.lanes
        if lanes.complete and lanes.line.calls:
            view.playback = Playback(lanes.line.total, view.clock(), view.slow)
            lanes.play(0.0)
            view.show_call()

    def action_slow(self) -> None:
        """Slow motion, or not."""
        view = self._view
        view.slow = not view.slow
        if view.playback is None:
            self.action_replay()
        else:
            view.playback = view.playback.at_speed(view.slow, view.clock())
            view.show_call()

    def action_space(self) -> None:
        """Reveal the truth; elsewhere pause and go on."""
        view = self._view
        if view.giant:
            giant = view.query_one(Giant)
            giant.revealed = giant.measured is not None and not giant.revealed
        elif view.playback is not None:
            view.playback = view.playback.toggled(view.clock())
            view.show_call()

    # One call.

    def action_step(self) -> None:
        """Show everything up to the next call."""
        self._step(1)

    def action_step_back(self) -> None:
        """Show everything up to one call less."""
        self._step(-1)

    def _step(self, by: int) -> None:
        view, lanes = self._view, self._view.lanes
        if not lanes.line.calls:
            return
        if view.playback is not None:
            shown = lanes.line.computing_at(lanes.until or 0.0)
        elif lanes.count is not None:
            shown = lanes.count
        else:
            shown = 0 if by > 0 else lanes.line.calls
        view.stop_playing()
        count = max(1, shown + by)
        lanes.count = count if count <= lanes.line.calls else None
        lanes.select(count - 1)
        view.show_call()

    def action_previous(self) -> None:
        """Select the call before."""
        self.select(self._view.lanes.selected - 1)

    def action_next(self) -> None:
        """Select the next call."""
        self.select(self._view.lanes.selected + 1)

    def action_first(self) -> None:
        """Select the first call."""
        self.select(0)

    def action_last(self) -> None:
        """Select the last call."""
        self.select(self._view.lanes.line.calls - 1)

    def select(self, call: int) -> None:
        """Point out a call, counted from 0; what was being played shows all."""
        self._view.stop_playing()
        self._view.lanes.select(call)
        self._view.show_call()

    def action_zoom_in(self) -> None:
        """Closer."""
        self._view.lanes.zoom(closer=True)

    def action_zoom_out(self) -> None:
        """Further away."""
        self._view.lanes.zoom(closer=False)

    def action_fit(self) -> None:
        """Show the whole loop."""
        self._view.lanes.window = None
