"""What the keys do in the async view."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from jaxtui.tui.command import Command, key_names

GROUP = "Async view"
"""What the help calls the place where they work."""


def _command(
    name: str, keys: str, label: str, description: str, footer: bool = False
) -> Command:
    action = name.replace("-", "_")
    return Command(f"loop-{name}", keys, action, label, description, GROUP, footer)


LOOP_COMMANDS: tuple[Command, ...] = (
    _command("close", "escape,q", "Back", "Back to the tabs.", True),
    _command("again", "r,f5", "Again", "Run the loop anew."),
    _command(
        "style",
        "b,f2",
        "Block",
        "Another loop: block never, once, every call; np.asarray or print every call.",
        True,
    ),
    _command(
        "chain", "c,f3", "Chain", "Each call takes the last result, or none does.", True
    ),
    _command("more", "k,up", "Calls", "More calls, up to 200.", True),
    _command("fewer", "j,down", "Fewer", "Fewer calls, down to 1."),
    _command(
        "step", "full_stop,f4", "Step", "Show the loop up to the next call.", True
    ),
    _command("step-back", "comma", "Back one", "Show the loop up to one call less."),
    _command("replay", "enter", "Replay", "Play the loop from its beginning."),
    _command(
        "slow", "l,f7", "Slow", "Slow motion: the loop takes twenty seconds.", True
    ),
    _command(
        "space", "space", "Reveal", "Pause and go on; reveal what the work really cost."
    ),
    _command(
        "giant",
        "g,ctrl+g",
        "Giant",
        "The two figures, giant: the true one hidden until it was predicted.",
        True,
    ),
    _command(
        "depth",
        "d,ctrl+d",
        "Queue",
        "How long a call took to return, by the calls that were in flight.",
        True,
    ),
    _command(
        "code", "v,ctrl+o", "Code", "Show plain JAX code that runs this loop.", True
    ),
    _command("previous", "left", "Left", "Select the call before."),
    _command("next", "right", "Right", "Select the next call."),
    _command("first", "home", "First", "Select the first call."),
    _command("last", "end", "Last", "Select the last call."),
    _command("zoom-in", "plus,equals_sign", "Closer", "Zoom in on the selected call."),
    _command("zoom-out", "minus", "Wider", "Zoom out."),
    _command("fit", "0,ctrl+f", "All", "Show the whole loop."),
)
"""What works in the async view only."""

OPEN_LOOP: tuple[Command, ...] = (
    Command(
        "async",
        "a,f10",
        "async_view",
        "Async",
        "See the calls of the selected case on two lanes: host and device.",
        "View",
        footer=True,
    ),
)
"""What opens it, from every tab."""

SHARED = (
    "stop",
    "release",
    "retry",
    "theme",
    "projector",
    "palette",
    "help",
    "suspend",
)
"""Commands of the app, by id, whose keys work in the async view too."""


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
