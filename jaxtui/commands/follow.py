"""``jaxtui follow``: lend this host's devices to the jaxtui of process 0."""

from __future__ import annotations

import click

from jaxtui.commands import FINE, CannotRun
from jaxtui.commands.common import Common, engine_flags
from jaxtui.commands.engine import Driver
from jaxtui.commands.terminal import say
from jaxtui.model import Event, Following
from jaxtui.view import words
from jaxtui.view.words.hosts import following_text


@click.command("follow")
@engine_flags
@click.pass_obj
def command(common: Common) -> int:
    """Lend this host's devices to the jaxtui of process 0.

    Start it on every other host, in any order; it ends when process 0 does. If a host
    is lost, it joins the next group at the same address.
    """
    return lend(common)


def lend(common: Common) -> int:
    """Follow process 0, and return the exit code.

    Raises:
        CannotRun: if there is nobody to follow.
    """
    if common.start_limit is None:
        common.start_limit = 0
    driver = _Follower(common)

    async def run() -> None:
        async with driver.started() as session, driver.progress():
            await session.ready()

    driver.drive(run())
    if driver.interrupted:  # before it had whom to follow
        return FINE
    raise CannotRun(words.of("nobody-to-follow"))


class _Follower(Driver):
    def __init__(self, common: Common) -> None:
        super().__init__(common)
        self._options.again = True

    def _narrate(self, event: Event) -> None:
        super()._narrate(event)
        if isinstance(event, Following):
            say(following_text(event))
