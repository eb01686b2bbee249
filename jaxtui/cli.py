"""The commands: their options, and how whatever happens becomes an exit code.

Only click and the standard library are imported here; a command imports what it needs
when it runs, so that ``--help`` and a mistyped option answer at once and the engine,
which takes longest to come up, is started at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from jaxtui import __version__

if TYPE_CHECKING:
    from jaxtui.commands.session import EngineFactory
    from jaxtui.engine.process import EngineProcess

FINE = 0
"""Everything that was asked for was done."""

CASE_FAILED = 1
"""Some case of a bench run, or some step of a lesson, has no result; or the check found
something that is low."""

CHECK_FAILED = 2
"""A device failed the check, or seemed to do more than it can."""

CANNOT_RUN = 3
"""The engine, the terminal or JAX is not to be had."""

USAGE = 64
"""What was typed makes no sense."""

INTERNAL = 70
"""A mistake of jaxtui's own."""

INTERRUPTED = 130
"""Ctrl-C."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass
class Common:
    """The options that hold for the app and for every command."""

    cpu_devices: int | None = None
    python: str | None = None
    start_limit: float | None = None
    """Seconds that JAX may take to start."""
    record: bool = True
    """Keep what is measured in the history."""
    engine: EngineFactory | None = None
    """How to make an engine; ``None`` starts a real one."""
    process: EngineProcess | None = None
    """The engine that was started before anything was read."""

    def updated(self, cpu_devices: int | None, python: str | None) -> Common:
        """These options, replaced where a command was given its own."""
        return Common(
            cpu_devices or self.cpu_devices,
            python or self.python,
            self.start_limit,
            self.record,
            self.engine,
            self.process,
        )


class Commands(click.Group):
    """A group that suggests the nearest command."""

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


def _keep_start_limit(
    ctx: click.Context, param: click.Parameter, value: float | None
) -> None:
    """Puts it where the engine is made: every command takes it, and none reads it."""
    if value is not None:
        if not value < float("inf"):
            raise click.BadParameter("it is a number of seconds.", ctx, param)
        ctx.obj = ctx.obj or Common()
        ctx.obj.start_limit = value


def _keep_nothing(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.obj = ctx.obj or Common()
        ctx.obj.record = False


force_flag = click.option(
    "--force", is_flag=True, help="Let --export replace files that exist."
)
"""The option beside each ``--export``."""


no_history = click.option(
    "--no-history",
    is_flag=True,
    expose_value=False,
    callback=_keep_nothing,
    help="Do not keep what is measured in the history.",
)
"""The option of whatever measures cases."""


def engine_flags(command: _Function) -> _Function:
    """Adds the options about the engine, which every command takes."""
    for decorate in (
        click.option(
            "--python",
            metavar="COMMAND",
            help="Python to run the engine with; it needs jax and jaxtui.",
        ),
        click.option(
            "--cpu-devices",
            type=click.IntRange(1, 1024),
            metavar="N",
            help="Simulate N CPU devices, marked SIMULATED.",
        ),
        click.option(
            "--start-limit",
            type=click.FloatRange(min=0),
            metavar="SECONDS",
            envvar="JAXTUI_START_LIMIT",
            expose_value=False,
            callback=_keep_start_limit,
            help="Give up if JAX takes longer to start; 0 never does.  [default: 180]",
        ),
    ):
        command = decorate(command)
    return command


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
)
@click.option("--hold", is_flag=True, help="Keep the accelerator while idle.")
@click.option(
    "--fps",
    type=click.FloatRange(0.1, 60),
    metavar="N",
    help="Redraw at most N times a second.",
)
@no_history
@engine_flags
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def cli(
    ctx: click.Context,
    hold: bool,
    fps: float | None,
    cpu_devices: int | None,
    python: str | None,
) -> int:
    """See the JAX devices of this machine and time what they do, honestly.

    Without a command the app opens.
    """
    common = ctx.obj = (ctx.obj or Common()).updated(cpu_devices, python)
    if ctx.invoked_subcommand is None:
        from jaxtui.commands import app

        return app.run(
            common.python,
            common.cpu_devices,
            hold=hold,
            fps=fps,
            start_limit=common.start_limit,
            record=common.record,
            process=common.process,
        )
    if hold or fps:
        raise click.UsageError(
            "--hold and --fps belong to the app: leave them out with a command."
        )
    return FINE


@cli.command()
@click.option(
    "--topology",
    metavar="NAME",
    help="A TPU instead of this machine: v5litepod-16, or v5e:4x8 with libtpu.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@engine_flags
@click.pass_obj
def devices(
    common: Common,
    topology: str | None,
    as_json: bool,
    cpu_devices: int | None,
    python: str | None,
) -> int:
    """List the JAX devices and draw where the chips sit."""
    common = common.updated(cpu_devices, python)
    if topology is not None:
        from jaxtui.commands import topology as described

        return described.run(common.python, topology, as_json=as_json)
    from jaxtui.commands import devices as command

    return command.run(*_engine(common), as_json=as_json)


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@engine_flags
@click.pass_obj
def ops(
    common: Common, as_json: bool, cpu_devices: int | None, python: str | None
) -> int:
    """List the ops that can be timed."""
    from jaxtui.commands import ops as command

    common = common.updated(cpu_devices, python)
    return command.run(*_engine(common), as_json=as_json)


@cli.command()
@click.argument("op", nargs=-1, metavar="OP[:SIZE]...")
@click.option(
    "--size",
    metavar="SIZES",
    help="4096, 4k (4 × 1024), 1e6, 256..4096 (doubling) or 1000,2000.  "
    "[default: the op's own]",
)
@click.option(
    "--dtype",
    default="float32",
    show_default=True,
    metavar="DTYPES",
    help="float64, float32, float16, bfloat16, float8_e4m3fn (f8), int32, int8 or "
    "complex64.",
)
@click.option(
    "--device",
    metavar="DEVICES",
    help="cpu:0, tpu:0,tpu:3, tpu or all.  [default: the first]",
)
@click.option(
    "--mode",
    default="jit",
    show_default=True,
    metavar="MODES",
    help="numpy, eager or jit; pallas or tensorflow where the op has it.",
)
@click.option(
    "--inputs",
    default="device",
    show_default=True,
    metavar="PLACES",
    help="Where arguments live before each call: device or host.",
)
@click.option(
    "--precision",
    default="default",
    show_default=True,
    metavar="PRECISIONS",
    help="Of matrix products: default, high or highest.",
)
@click.option(
    "--budget",
    metavar="SECONDS",
    help="For everything, compile included.  [default: 10, or 1 per case if more]",
)
@click.option(
    "--target",
    type=click.Choice(["10", "3", "1"]),
    default="3",
    show_default=True,
    metavar="PERCENT",
    help="Stop a case when its interval is this narrow: 10, 3 or 1.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="Of the random inputs.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--samples", is_flag=True, help="Put every sample into the JSON.")
@click.option(
    "--arg",
    multiple=True,
    metavar="SHAPE",
    help="An argument of your own function: f32[1024,1024], s32[]; once for each.",
)
@click.option(
    "--export",
    multiple=True,
    metavar="FILE",
    help="Write the results as well, by its ending: "
    ".json, .csv, .md, .svg, .txt or .py.",
)
@force_flag
@no_history
@engine_flags
@click.pass_obj
def bench(
    common: Common,
    /,
    *,
    op: tuple[str, ...],
    cpu_devices: int | None,
    python: str | None,
    as_json: bool,
    export: tuple[str, ...],
    force: bool,
    **typed: Any,
) -> int:
    """Time ops: every combination of the lists, taking turns.

    Lists are separated by commas; an op may carry its own size, as in
    matmul:2k selu:1e6. A function of your own is path/to/file.py:name.
    """
    from jaxtui.commands import bench as command
    from jaxtui.commands.exporting import Exports

    common = common.updated(cpu_devices, python)
    request = command.Request.typed(ops=op, **typed)
    exports = Exports.typed(export, force=force)
    return command.run(
        *_engine(common),
        request,
        as_json=as_json,
        exports=exports,
        record=common.record,
    )


@cli.command()
@click.argument("op", required=False)
@click.option(
    "--between",
    default="numpy,jit",
    show_default=True,
    metavar="A,B",
    help="The two: numpy,jit or float32,bfloat16 or jit/cpu:0,jit/tpu:0.",
)
@click.option(
    "--sizes",
    metavar="SIZES",
    help="The coarse grid: 16..1M (× 4), 16..1Mx10 or 100,1000.  "
    "[default: 16 to 8 × the op's own]",
)
@click.option(
    "--dtype",
    default="float32",
    show_default=True,
    metavar="DTYPE",
    help="Of a side that names none.",
)
@click.option(
    "--device",
    metavar="DEVICE",
    help="Of a side that names none: cpu:0 or tpu:3.  [default: the first]",
)
@click.option(
    "--budget",
    metavar="SECONDS",
    help="For the whole search, compile included.  [default: 60]",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="Of the random inputs.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option(
    "--export",
    multiple=True,
    metavar="FILE",
    help="Write the answer as well, by its ending: .json, .csv, .md, .svg or .txt.",
)
@force_flag
@no_history
@engine_flags
@click.pass_obj
def crossover(
    common: Common,
    /,
    *,
    cpu_devices: int | None,
    python: str | None,
    as_json: bool,
    export: tuple[str, ...],
    force: bool,
    **typed: Any,
) -> int:
    """Find the size from which on one way of running an op is faster.

    Per call and for a single one, with and without transfers, compile counted or not.
    """
    from jaxtui.commands import crossover as command
    from jaxtui.commands.exporting import Exports

    common = common.updated(cpu_devices, python)
    request = command.Request.typed(**typed)
    exports = Exports.typed(export, force=force, endings=command.ENDINGS)
    return command.run(
        *_engine(common),
        request,
        as_json=as_json,
        exports=exports,
        record=common.record,
    )


@cli.command()
@click.option(
    "--level",
    default="quick",
    show_default=True,
    metavar="LEVEL",
    help="quick, about ten seconds, or full, some minutes.",
)
@click.option(
    "--devices",
    metavar="DEVICES",
    help="cpu:0,cpu:3 or tpu.  [default: all of this process]",
)
@click.option(
    "--limit",
    metavar="SECONDS",
    help="For each test: a device that takes longer hangs.  "
    "[default: a minute or more]",
)
@click.option(
    "--save-baseline", metavar="NAME", help="Keep the figures, to compare with later."
)
@click.option(
    "--baseline", metavar="NAME", help="Compare with the figures that were kept."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@engine_flags
@click.pass_obj
def check(
    common: Common,
    /,
    *,
    cpu_devices: int | None,
    python: str | None,
    as_json: bool,
    **typed: Any,
) -> int:
    """Say whether this machine is all right: everything there, right, and fast."""
    from jaxtui.commands import check as command

    common = common.updated(cpu_devices, python)
    request = command.Request.typed(**typed)
    return command.run(*_engine(common), request, as_json=as_json)


@cli.command("compile")
@click.argument("op", required=False, metavar="OP[:SIZE]")
@click.option(
    "--topology",
    metavar="NAME",
    help="The TPU to compile for: v5e:2x4, v4:2x2x1, v6e-8, tpu7x-8.",
)
@click.option(
    "--size", metavar="SIZE", help="4096, 4k or 1e6.  [default: the op's own]"
)
@click.option(
    "--dtype",
    default="bfloat16",
    show_default=True,
    metavar="DTYPE",
    help="One of those that bench takes.",
)
@click.option(
    "--precision",
    default="default",
    show_default=True,
    metavar="PRECISION",
    help="Of a matrix product: default, high or highest.",
)
@click.option(
    "--mode",
    default="jit",
    show_default=True,
    metavar="MODE",
    help="jit, or pallas where the op has it.",
)
@click.option(
    "--limit", metavar="SECONDS", help="Give the compile up then.  [default: 600]"
)
@click.option("--hlo", is_flag=True, help="Print the whole optimised HLO, too.")
@click.option("--code", is_flag=True, help="Print plain Python instead of compiling.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option(
    "--python",
    metavar="COMMAND",
    help="Python to compile with; it needs jax, jaxtui and libtpu.",
)
@click.pass_obj
def compile_(
    common: Common,
    /,
    *,
    python: str | None,
    code: bool,
    as_json: bool,
    **typed: Any,
) -> int:
    """Compile an op for a TPU that is not here, and say what it would need.

    Needs libtpu, and no TPU: pip install "jaxtui[topology]".
    """
    from jaxtui.commands import compile as command

    if code and as_json:
        raise click.UsageError("--code prints Python: leave --json out with it.")
    request = command.Request.typed(**typed)
    python = python or common.python
    if code:
        return command.code(python, request)
    return command.run(python, request, as_json=as_json)


@cli.command()
@click.argument("op", required=False, metavar="OP[:SIZE]")
@click.option(
    "--size", metavar="SIZE", help="4096, 4k or 1e6.  [default: the op's own]"
)
@click.option(
    "--dtype",
    default="float32",
    show_default=True,
    metavar="DTYPE",
    help="One of those that bench takes.",
)
@click.option(
    "--precision",
    default="default",
    show_default=True,
    metavar="PRECISION",
    help="Of a matrix product: default, high or highest.",
)
@click.option(
    "--device", metavar="DEVICE", help="cpu:0 or tpu:3.  [default: the first]"
)
@click.option(
    "--mode",
    default="jit",
    show_default=True,
    metavar="MODE",
    help="jit, eager, or pallas where the op has it.",
)
@click.option(
    "--stage",
    metavar="STAGE",
    help="Print jaxpr, stablehlo, hlo or all of them, whole.  "
    "[default: the entry of the HLO]",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@engine_flags
@click.pass_obj
def hlo(
    common: Common,
    /,
    *,
    cpu_devices: int | None,
    python: str | None,
    as_json: bool,
    **typed: Any,
) -> int:
    """Show what XLA makes of an op: kernels, fusions, flops, memory, HLO.

    The op is compiled for a device of this machine and not run.
    """
    from jaxtui.commands import hlo as command

    common = common.updated(cpu_devices, python)
    request = command.Request.typed(**typed)
    return command.run(*_engine(common), request, as_json=as_json)


@cli.command()
@click.argument("lesson", required=False)
@click.option(
    "--size",
    metavar="SIZE",
    help="The lesson's size, such as 2k.  [default: what takes this machine seconds]",
)
@click.option(
    "--device",
    metavar="DEVICE",
    help="cpu:0 or tpu:3.  [default: the first accelerator]",
)
@click.option("--step", type=click.IntRange(1), metavar="N", help="Only this step.")
@click.option(
    "--ghost",
    metavar="FILE",
    help="What another machine measured: a document of --json.",
)
@click.option("--code", is_flag=True, help="Print plain Python instead of running.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@no_history
@engine_flags
@click.pass_obj
def learn(
    common: Common,
    /,
    *,
    lesson: str | None,
    cpu_devices: int | None,
    python: str | None,
    code: bool,
    as_json: bool,
    **typed: Any,
) -> int:
    """List the lessons, or run one as text."""
    from jaxtui.commands import learn as command

    if lesson is None:
        if code or any(value is not None for value in typed.values()):
            raise click.UsageError("Name a lesson: `jaxtui learn` lists them.")
        return command.contents(as_json=as_json)
    if code and as_json:
        raise click.UsageError("--code prints Python: leave --json out with it.")
    common = common.updated(cpu_devices, python)
    request = command.Request.typed(lesson, **typed)
    if code:
        return command.code(*_engine(common), request)
    return command.run(*_engine(common), request, as_json=as_json, record=common.record)


@cli.command()
@click.argument("words", nargs=-1)
@click.option("--op", metavar="OP", help="Only this op.")
@click.option("--size", metavar="SIZE", help="Only this size, such as 2k.")
@click.option("--dtype", metavar="DTYPE", help="Only this dtype.")
@click.option("--device", metavar="DEVICE", help="Only tpu:0, or all of tpu.")
@click.option("--mode", metavar="MODE", help="Only this mode.")
@click.option("--host", metavar="NAME", help="Only what this machine measured.")
@click.option(
    "--since", metavar="DATE", help="2026-11-21, today, yesterday, 12h, 3d or 2w."
)
@click.option("--until", metavar="DATE", help="The moment before it, likewise.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=30,
    show_default=True,
    metavar="N",
    help="How many to list.",
)
@click.option("--delete", is_flag=True, help="Forget them instead of listing them.")
@click.option("--yes", is_flag=True, help="Do not ask before deleting.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option(
    "--export",
    multiple=True,
    metavar="FILE",
    help="Write the list as well, by its ending: .json, .csv or .md.",
)
@force_flag
def history(
    *,
    delete: bool,
    yes: bool,
    as_json: bool,
    export: tuple[str, ...],
    force: bool,
    **typed: Any,
) -> int:
    """List what was measured, the newest first.

    WORDS are looked for in op, size, dtype, device, mode and host.
    """
    from jaxtui.commands import history as command
    from jaxtui.commands.exporting import Exports

    if yes and not delete:
        raise click.UsageError("--yes belongs to --delete: leave it out without.")
    if delete and as_json:
        raise click.UsageError("--delete prints one line: leave --json out with it.")
    if delete and (export or force):
        raise click.UsageError("--delete lists nothing: leave --export out with it.")
    request = command.Request.typed(**typed)
    if delete:
        return command.delete(request, sure=yes)
    exports = Exports.typed(export, force=force, endings=command.ENDINGS)
    return command.run(request, as_json=as_json, exports=exports)


@cli.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def compare(first: str, second: str, as_json: bool) -> int:
    """Compare two measurements: is B faster than A?

    A and B are ids of the history, or files that `jaxtui bench --json` wrote.
    """
    from jaxtui.commands import compare as command

    return command.run(first, second, as_json=as_json)


def main(
    arguments: Sequence[str] | None = None,
    *,
    engine: EngineFactory | None = None,
    process: EngineProcess | None = None,
) -> int:
    """Runs a command line and gives its exit code; never raises.

    Args:
        arguments: without the program's name; ``None`` means those of this process.
        engine: makes the engine; a test's way to put another in its place.
        process: an engine that was started already, for the app.
    """
    if hasattr(sys.stderr, "reconfigure"):
        # A sentence with a character that the terminal lacks is still a sentence.
        cast("Any", sys.stderr).reconfigure(errors="replace")
    try:
        code = cli.main(
            args=None if arguments is None else list(arguments),
            prog_name="jaxtui",
            standalone_mode=False,
            obj=Common(engine=engine, process=process),
        )
    except click.ClickException as error:
        return _refuse(USAGE, error.format_message())
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:  # whatever is left is a mistake of ours
        return _failed(error)
    return code if isinstance(code, int) else FINE


def _engine(common: Common) -> tuple[Any, Any]:
    """The factory of the engine and its options, as the commands take them."""
    from jaxtui.commands import launch, session

    options = launch.engine_options(
        common.python, common.cpu_devices, start_limit=common.start_limit
    )
    return common.engine or session.spawn_engine, options


def _failed(error: Exception) -> int:
    """What an exception of ours means."""
    import traceback

    from jaxtui.commands.launch import CannotRun
    from jaxtui.selection import SelectionError

    if isinstance(error, SelectionError):
        return _refuse(USAGE, str(error))
    if isinstance(error, CannotRun):
        return _refuse(CANNOT_RUN, str(error))
    traceback.print_exception(error)
    return _refuse(INTERNAL, "This is a mistake in jaxtui, not in what you typed.")


def _refuse(code: int, sentence: str) -> int:
    if sys.stderr is not None:
        print(f"jaxtui: {sentence}", file=sys.stderr)
    return code
