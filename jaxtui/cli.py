"""The command line: a lazy group of commands, and what becomes an exit code."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import click

from jaxtui import __version__
from jaxtui.core import child
from jaxtui.core.engine.process import EngineOptions, EngineProcess
from jaxtui.core.signals import interrupt
from jaxtui.core.text import did_you_mean
from jaxtui.registry import COMMANDS, FORMER
from jaxtui.ui.commands import (
    CANNOT_RUN,
    CASE_FAILED,
    FINE,
    INTERNAL,
    INTERRUPTED,
    USAGE,
    CannotRun,
    Declined,
    app,
    terminal,
)
from jaxtui.ui.commands.common import (
    Common,
    Number,
    engine_flags,
    flag,
    no_files,
    no_history,
    refused,
    valued,
    write_options,
)
from jaxtui.ui.commands.terminal import broken, prepare_streams, say, settle


class Commands(click.Group):
    """A group that imports a command when it is used, and suggests the nearest one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (module := COMMANDS.get(FORMER.get(cmd_name, cmd_name))) is None:
            return None
        command: click.Command = import_module(f"jaxtui.{module}").command
        return command

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        write_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in COMMANDS or name in FORMER or name.startswith("-"):
            return super().resolve_command(ctx, args)
        near = did_you_mean(name, COMMANDS)
        raise refused(
            f'There is no command "{name}": choose one of {", ".join(COMMANDS)}.{near}'
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
    if ctx.invoked_subcommand is None:
        return app.run(ctx.ensure_object(Common), hold=hold, fps=fps)
    if hold or fps:
        raise refused(
            "--hold and --fps belong to the app: leave them out with a command."
        )
    return FINE


def main(
    arguments: Sequence[str] | None = None,
    *,
    engine: Callable[[EngineOptions], Any] | None = None,
    process: EngineProcess | None = None,
    early: Sequence[int] = (),
) -> int:
    """Run a command line and return its exit code; never raises.

    Args:
        arguments: without the program's name; ``None`` means those of this process.
        engine: makes the engine; a test's way to put another in its place.
        process: the app's engine, if that was started already.
        early: signals that have come already.
    """
    prepare_streams()
    terminal.joined_as(0)
    with interrupt.handled(early):
        try:
            code = cli.main(
                args=None if arguments is None else list(arguments),
                prog_name="jaxtui",
                standalone_mode=False,
                obj=Common(factory=engine, process=process),
            )
        except click.ClickException as error:
            code = _refuse(USAGE, error.format_message())
        except CannotRun as error:
            code = _refuse(CANNOT_RUN, str(error))
        except Declined as answer:
            say(str(answer))
            code = CASE_FAILED
        except (click.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except Exception as error:
            code = _failed(error)
        else:
            if interrupt.happened:
                code = interrupt.code
        if interrupt.number == signal.SIGHUP:  # what it printed to has gone as well
            code = interrupt.code
        settle()
        return code if isinstance(code, int) else FINE


def _failed(error: Exception) -> int:
    text = "".join(traceback.format_exception(error))
    if modules := child.hiding(text, os.environ.get("PYTHONPATH", "")):
        why = child.hides((*modules,), next(iter(modules.values())))
        return _refuse(CANNOT_RUN, f"{why} {child.RENAME}")
    # Only now: neither a help nor the start of the app's engine waits for these.
    from jaxtui.core.history.store import HistoryError
    from jaxtui.core.model import SelectionError

    if isinstance(error, SelectionError):
        return _refuse(USAGE, str(error))
    if isinstance(error, HistoryError):
        return _refuse(CANNOT_RUN, str(error))
    if isinstance(error, OSError) and (limited := no_files(error)):
        return _refuse(CANNOT_RUN, str(limited))
    frames = traceback.walk_tb(error.__traceback__)
    if isinstance(error, OSError) and any(
        frame.f_code is click.echo.__code__ for frame, _ in frames
    ):  # a help, which click prints
        return _refuse(CANNOT_RUN, str(broken(error)))
    say(text.rstrip(), fails=True)
    return _refuse(INTERNAL, "This is a bug in jaxtui, not in what you typed.")


def _refuse(code: int, sentence: str) -> int:
    say(f"jaxtui: {sentence}", fails=True)
    return code
