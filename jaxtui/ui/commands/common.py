"""The options of the app and of every command that starts an engine.

The app's engine is started as soon as this is known: hence it imports little.
"""

from __future__ import annotations

import errno
import math
import os
import resource
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from jaxtui.core.engine.process import (
    DEFAULT_COMMAND,
    MOST_CPU_DEVICES,
    START_LIMIT_SECONDS,
    EngineOptions,
    EngineProcess,
    engine_command,
)
from jaxtui.core.text import ended
from jaxtui.machine.hosts import is_launched
from jaxtui.ui.commands import CannotRun

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Whole(click.IntRange):
    """A whole number, called so where click says "integer range"."""

    name = "whole number"


class Number(click.FloatRange):
    """A number, which neither infinity nor NaN is: those pass every comparison."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            raise refused(f"{value} is not a finite number.")
        return number


MOST_PYTHONS = 2
"""A ratio has two sides."""

# What is known before there is an engine.


@dataclass
class Common:
    """The common options of the app and of every command that starts an engine.

    It may be typed before a command or after it; what is typed last counts.
    """

    cpu_devices: int | None = None
    pythons: tuple[tuple[str, ...], ...] = ()
    """Interpreters, with arguments if they need any; this one if there is none."""
    start_limit: float | None = None
    """Seconds that JAX may take to start."""
    coordinator: str = ""
    """``HOST:PORT`` of process 0 of several; without it JAX detects a cluster."""
    num_processes: int = 0
    """0 for what JAX detects."""
    process_id: int | None = None
    this_host: bool = False
    """Work alone, though this host is one of several."""
    record: bool = True
    """Keep what is measured in the history."""
    factory: Callable[[EngineOptions], Any] | None = None
    """Makes an ``EngineClient``; ``None`` starts an engine process."""
    process: EngineProcess | None = None
    """The engine of the app, started before there was anything to parse."""

    @property
    def several(self) -> bool:
        """True if this seems to be one of several processes that work together."""
        if self.this_host or self.num_processes:
            return self.num_processes > 1 and not self.this_host
        return is_launched(os.environ)

    @property
    def python(self) -> tuple[str, ...]:
        """The only interpreter; empty for this one.

        Raises:
            SelectionError: several were named.
        """
        if len(self.pythons) > 1:
            raise refused(
                "Only `jaxtui bench` takes turns between two Pythons: name one."
            )
        return self.pythons[0] if self.pythons else ()

    def engine_options(
        self, environment: Mapping[str, str | None] | None = None
    ) -> EngineOptions:
        """Return the options that start the engine.

        Raises:
            SelectionError: the place of this process among others cannot be.
        """
        limit = self.start_limit
        self._check_place()
        return EngineOptions(
            command=engine_command(self.python) if self.python else None,
            cpu_devices=self.cpu_devices,
            start_limit_seconds=START_LIMIT_SECONDS if limit is None else limit,
            coordinator=self.coordinator,
            processes=self.num_processes,
            process=self.process_id or 0,
            this_host=self.this_host,
            environment=environment,
        )

    def _check_place(self) -> None:
        typed = (self.coordinator, self.num_processes, self.process_id)
        if self.num_processes == 1 and not self.process_id:
            return
        if any(typed) or self.process_id is not None:
            if (
                not self.coordinator
                or not self.num_processes
                or self.process_id is None
            ):
                raise refused(
                    "--coordinator, --num-processes and --process-id belong together:"
                    " give all three, or none where a launcher starts the processes."
                )
            if self.process_id >= self.num_processes:
                raise refused(
                    f"--process-id must be 0 to {self.num_processes - 1},"
                    f" not {self.process_id}."
                )
            if self.this_host:
                raise refused(
                    "--this-host and --coordinator do not go together: leave one out."
                )


def spawn_process(options: EngineOptions) -> EngineProcess:
    """Start an engine process.

    Raises:
        CannotRun: if the command that starts it is not there.
    """
    try:
        return EngineProcess.spawn(options)
    except OSError as error:
        raise not_started(options.command or DEFAULT_COMMAND, error) from error


def no_files(error: OSError) -> CannotRun | None:
    """Explain that no more files may be opened; ``None`` for any other error."""
    if error.errno not in (errno.EMFILE, errno.ENFILE):
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return CannotRun(
        f"{error.strerror}: this process may open {most}. Allow more, as with"
        " `ulimit -n 256`."
    )


def not_started(command: Sequence[str], error: OSError) -> CannotRun:
    """Explain that the system cannot start a command."""
    return no_files(error) or CannotRun(
        f'"{command[0]}" could not be started: {error.strerror}. Name a Python that has'
        " jax and msgspec with --python."
    )


def refused(text: str) -> Exception:
    """The ``SelectionError`` with this text, to be raised.

    The start of the app's engine does not wait for the import of the records.
    """
    from jaxtui.core.model.remark import SelectionError

    return SelectionError(text)


# Options.

LISTS = ("--size", "--dtype", "--device", "--mode", "--precision")
"""Options that some commands take as a list: the plural is accepted, and not in the
help."""


class _Valued(click.Option):
    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        shown = self.opts
        self.opts = [*shown, *(f"{name}s" for name in shown if name in LISTS)]
        try:
            super().add_to_parser(parser, ctx)
        finally:
            self.opts = shown


def valued(
    name: str, metavar: str, meaning: str, default: str | int | None = None, **more: Any
) -> Decorator:
    """An option that takes a value; the help shows its default."""
    if default is not None:
        more.update(default=default, show_default=True)
    return click.option(name, metavar=metavar, help=meaning, cls=_Valued, **more)


def flag(name: str, meaning: str) -> Decorator:
    return click.option(name, is_flag=True, help=meaning)


def composed(*options: Decorator) -> Decorator:
    """Several options as one, listed in this order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def python_flag(meaning: str) -> Decorator:
    """``--python``: with what the engine runs, or what else needs JAX."""
    return valued(
        "--python",
        "COMMAND",
        meaning,
        expose_value=False,
        callback=_command,
    )


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Put it where the engine is made: every command takes it, and none reads it."""
    common = ctx.ensure_object(Common)
    if value is not None:
        setattr(common, str(param.name), value)


def _keep_flag(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    _keep(ctx, param, value or None)


def _keep_nothing(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Common).record = False


def _command(ctx: click.Context, param: click.Parameter, text: str | None) -> None:
    if text is None:
        return
    try:
        commands = tuple(tuple(shlex.split(command)) for command in text.split(","))
    except ValueError as error:
        raise refused(f"'{text}' is not a command: {error}.") from error
    if not all(commands) or len(commands) > MOST_PYTHONS:
        raise refused(
            f"'{text}' names no Python that has jax and msgspec, nor two to compare."
        )
    ctx.ensure_object(Common).pythons = commands


class _Address(click.ParamType):  # type: ignore[type-arg]
    """``HOST:PORT``."""

    name = "address"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        host, _, port = str(value).rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
            raise refused(
                f"'{value}' is not an address: give HOST:PORT, such as 10.0.0.1:8476."
            )
        return str(value)


MOST_PROCESSES = 1 << 16
"""Upper limit to catch typos."""


def _hosts_flags(decorated: Callable[..., Any]) -> Callable[..., Any]:
    return composed(
        valued(
            "--coordinator",
            "HOST:PORT",
            "Work with other hosts: the address of process 0.  [default: what Slurm, "
            "Open MPI, Cloud TPU, GKE or Kubernetes says]",
            type=_Address(),
            expose_value=False,
            callback=_keep,
        ),
        valued(
            "--num-processes",
            "N",
            "Total number of processes; 1 ignores other hosts.",
            type=Whole(1, MOST_PROCESSES),
            expose_value=False,
            callback=_keep,
        ),
        valued(
            "--process-id",
            "I",
            "Number of this process, from 0; process 0 prints for all.",
            type=Whole(0, MOST_PROCESSES - 1),
            expose_value=False,
            callback=_keep,
        ),
        click.option(
            "--this-host",
            is_flag=True,
            expose_value=False,
            callback=_keep_flag,
            help="On a TPU slice, use the chips of this host alone.",
        ),
    )(decorated)


_ENGINE = {
    *("start_limit", "cpu_devices", "python"),
    *("coordinator", "num_processes", "process_id", "this_host"),
}


def write_options(
    command: click.Command, ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write a command's own options, and below them those of every engine."""
    parts: dict[str, list[tuple[str, str]]] = {"Options": [], "Engine and hosts": []}
    for param in command.get_params(ctx):
        row = param.get_help_record(ctx)
        if isinstance(param, click.Option) and row is not None:
            ours = param.name not in _ENGINE
            parts["Options" if ours else "Engine and hosts"].append(row)
    for title, rows in parts.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)


class Command(click.Command):
    """A command whose help ends with the options of the engine and with examples."""

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        write_options(self, ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            for example in (self.epilog or "").splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")


def named(
    name: str, *examples: str, cls: type[Command] = Command, **settings: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command, with examples for its help."""
    return click.command(name, cls=cls, epilog="\n".join(examples), **settings)


engine_flags = composed(
    valued(
        "--start-limit",
        "SECONDS",
        "Give up if JAX takes longer to start; 0 waits forever.  [default: 180]",
        type=Number(min=0),
        envvar="JAXTUI_START_LIMIT",
        expose_value=False,
        callback=_keep,
    ),
    valued(
        "--cpu-devices",
        "N",
        "Simulate N CPU devices, marked SIMULATED.",
        type=Whole(1, MOST_CPU_DEVICES),
        expose_value=False,
        callback=_keep,
    ),
    python_flag(
        "Python that runs the engine; it needs jax and msgspec. `bench` takes turns "
        "between two, as in A,B."
    ),
    _hosts_flags,
)
"""The options of whatever starts an engine."""

no_history = click.option(
    "--no-history",
    is_flag=True,
    expose_value=False,
    callback=_keep_nothing,
    help="Do not save measurements in the history.",
)
"""The option of whatever measures cases."""


def check_readable(path: str, *, folders: bool = False) -> None:
    """Raises ``SelectionError`` if this is no file, or folder, that can be read."""
    if not os.path.exists(path):
        raise refused(f"There is no file {'or folder ' * folders}{path}.")
    is_folder = os.path.isdir(path) and not folders
    number = errno.EISDIR if is_folder else errno.EACCES
    if number == errno.EISDIR or not os.access(path, os.R_OK):
        raise refused(f"Cannot read {path}: {ended(os.strerror(number))}")
