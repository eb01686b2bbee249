"""The commands of the async view in the command palette."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from jaxtui.tui.command import Command, key_names
from jaxtui.tui.loop_commands import LOOP_COMMANDS


class LoopCommands(Provider):
    """The commands of the view, for the palette."""

    async def discover(self) -> Hits:
        """All of them."""
        for command in LOOP_COMMANDS:
            yield DiscoveryHit(
                _palette_title(command), self._run(command), help=_help(command)
            )

    async def search(self, query: str) -> Hits:
        """Those that match what was typed."""
        matcher = self.matcher(query)
        for command in LOOP_COMMANDS:
            title = _palette_title(command)
            score = matcher.match(title)
            if score > 0:
                yield Hit(
                    score,
                    matcher.highlight(title),
                    self._run(command),
                    help=_help(command),
                )

    def _run(self, command: Command) -> Callable[[], object]:
        return partial(self.screen.run_action, command.action)


def _palette_title(command: Command) -> str:
    return f"{command.group}: {command.label}"


def _help(command: Command) -> str:
    return f"{command.description}  ({key_names(command)})"
