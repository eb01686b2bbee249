"""The commands: their options, and how whatever happens becomes an exit code.

Only click and the standard library are imported here; a command imports what it needs
when it runs, so that ``--help`` and a mistyped option answer at once and the engine,
which takes longest to come up, is started at once.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import click

from jaxtui import __version__
from jaxtui.commands import CANNOT_RUN, FINE, INTERNAL, INTERRUPTED, USAGE
from jaxtui.commands.options import (
    Common,
    Number,
    engine_flags,
    flag,
    no_history,
    valued,
)
from jaxtui.commands.terminal import guard_streams, lost, say
from jaxtui.signals import interrupt

if TYPE_CHECKING:
    from jaxtui.commands.engine import EngineFactory


COMMANDS = (
    "bench",
    "check",
    "compare",
    "compile",
    "crossover",
    "devices",
    "history",
    "hlo",
    "learn",
    "ops",
    "roofline",
    "schema",
)
"""The modules of ``jaxtui.commands`` that have a command."""


class Commands(click.Group):
    """A group that imports a command when it is run, and suggests the nearest one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All of them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"jaxtui.commands.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that ``args`` begin with."""
        name, known = args[0], self.list_commands(ctx)
        if name in known or name.startswith("-"):
            return super().resolve_command(ctx, args)
        import difflib

        near = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise click.UsageError(
            f'There is no command "{name}": there is {", ".join(known)}.{hint}'
        )


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
)
@flag("--hold", "Keep the accelerator while idle.")
@valued("--fps", "N", "Redraw at most N times a second.", type=Number(0.1, 60))
@no_history
@engine_flags
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, hold: bool, fps: float | None) -> int:
    """See the JAX devices of this machine and time what they do, honestly.

    Without a command the app opens.
    """
    common = ctx.ensure_object(Common)
    if ctx.invoked_subcommand is None:
        from jaxtui.commands import app

        return app.run(
            common.python,
            common.cpu_devices,
            hold=hold,
            fps=fps,
            start_limit=common.start_limit,
            record=common.record,
        )
    if hold or fps:
        raise click.UsageError(
            "--hold and --fps belong to the app: leave them out with a command."
        )
    return FINE


def main(
    arguments: Sequence[str] | None = None,
    *,
    engine: EngineFactory | None = None,
) -> int:
    """Runs a command line and gives its exit code; never raises.

    Args:
        arguments: without the program's name; ``None`` means those of this process.
        engine: makes the engine; a test's way to put another in its place.
    """
    guard_streams()
    with interrupt.heeded():
        try:
            code = cli.main(
                args=None if arguments is None else list(arguments),
                prog_name="jaxtui",
                standalone_mode=False,
                obj=Common(factory=engine),
            )
        except (Exception, KeyboardInterrupt) as error:
            code = broken_off(error)
        else:
            if interrupt.happened:
                code = interrupt.code
        why = lost()
        if why and interrupt.number != signal.SIGHUP:  # the terminal has gone as well
            code = _refuse(CANNOT_RUN, f"Not all could be printed: {why}.")
        return code if isinstance(code, int) else FINE


def broken_off(error: Exception | KeyboardInterrupt) -> int:
    """Says what an exception means, and gives its exit code."""
    if isinstance(error, click.ClickException):
        return _refuse(USAGE, error.format_message())
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        return INTERRUPTED
    return _failed(error)  # whatever is left is a mistake of ours


def _failed(error: Exception) -> int:
    """What an exception of ours means."""
    import traceback

    from jaxtui.commands.launch import CannotRun
    from jaxtui.selection import SelectionError

    if isinstance(error, SelectionError):
        return _refuse(USAGE, str(error))
    if isinstance(error, CannotRun):
        return _refuse(CANNOT_RUN, str(error))
    say("".join(traceback.format_exception(error)).rstrip())
    return _refuse(INTERNAL, "This is a mistake in jaxtui, not in what you typed.")


def _refuse(code: int, sentence: str) -> int:
    say(f"jaxtui: {sentence}")
    return code
