"""The commands: their options, and how whatever happens becomes an exit code.

Only click and the standard library are imported here; a command imports what it needs
when it runs, so that ``--help`` and a mistyped option answer at once and the engine,
which takes longest to come up, is started at once.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from jaxtui import __version__
from jaxtui.commands import CANNOT_RUN, FINE, INTERNAL, INTERRUPTED, USAGE
from jaxtui.commands.terminal import guard_streams, lost, say
from jaxtui.options import (
    Common,
    Number,
    engine_flags,
    export_flags,
    flag,
    json_flag,
    modes,
    no_history,
    one_device,
    one_dtype,
    one_mode,
    one_op,
    one_precision,
    one_size,
    own_arguments,
    precisions,
    python_flag,
    seed,
    sure_flag,
    valued,
)
from jaxtui.signals import interrupt

if TYPE_CHECKING:
    from jaxtui.commands.engine import EngineFactory
    from jaxtui.machine.malloc import End


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


@cli.command()
@valued(
    "--topology",
    "NAME",
    "A TPU instead of this machine: v5litepod-16, or v5e:4x8 with libtpu.",
)
@json_flag
@engine_flags
@click.pass_obj
def devices(common: Common, topology: str | None, as_json: bool) -> int:
    """List the JAX devices and draw where the chips sit."""
    if topology is not None:
        from jaxtui.commands import topology as described

        return described.run(common.python, topology, as_json=as_json)
    from jaxtui.commands import devices as command

    return command.run(*common.engine(), as_json=as_json)


@cli.command()
@json_flag
@engine_flags
@click.pass_obj
def ops(common: Common, as_json: bool) -> int:
    """List the ops that can be timed."""
    from jaxtui.commands import ops as command

    return command.run(*common.engine(), as_json=as_json)


@cli.command()
@click.argument("op", nargs=-1, metavar="OP[:SIZE]...")
@valued(
    "--size",
    "SIZES",
    "4096, 4k (4 × 1024), 1e6, 256..4096 (doubling) or 1000,2000.  "
    "[default: the op's own]",
)
@valued(
    "--dtype",
    "DTYPES",
    "float64, float32, float16, bfloat16, float8_e4m3fn (f8), int32, int8 or "
    "complex64.",
    "float32",
)
@valued("--device", "DEVICES", "cpu:0, tpu:0,tpu:3, tpu or all.  [default: the first]")
@modes
@valued(
    "--inputs",
    "PLACES",
    "Where arguments live before each call: device or host.",
    "device",
)
@precisions
@valued(
    "--budget",
    "SECONDS",
    "For everything, compile included.  [default: 10, or 1 per case if more]",
)
@valued(
    "--target",
    "PERCENT",
    "Stop a case when its interval is this narrow: 10, 3 or 1.",
    "3",
    type=click.Choice(["10", "3", "1"]),
)
@valued(
    "--memory",
    "END",
    "On a CPU, give results fresh memory in every call, or reused.  [default: what a "
    "plain program gets, and both ends beside it]",
    type=click.Choice(["fresh", "reused"]),
)
@seed
@json_flag
@flag("--samples", "Put every sample into the JSON.")
@sure_flag
@own_arguments
@export_flags(
    "Write the results as well, by its ending: .json, .csv, .md, .svg, .txt or .py."
)
@no_history
@engine_flags
@click.pass_obj
def bench(
    common: Common,
    /,
    *,
    op: tuple[str, ...],
    as_json: bool,
    export: tuple[str, ...],
    force: bool,
    memory: End | None,
    **typed: Any,
) -> int:
    """Time ops: every combination of the lists, taking turns.

    Lists are separated by commas; an op may carry its own size, as in
    matmul:2k selu:1e6. A function of your own is path/to/file.py:name.
    """
    from jaxtui.commands import bench as command
    from jaxtui.commands.exporting import Exports

    request = command.Request.typed(ops=op, **typed)
    exports = Exports.typed(export, force=force)
    return command.run(
        *common.engine(memory),
        request,
        as_json=as_json,
        exports=exports,
        record=common.record,
    )


@cli.command()
@click.argument("op", required=False)
@valued(
    "--between",
    "A,B",
    "The two: numpy,jit or float32,bfloat16 or jit/cpu:0,jit/tpu:0.",
    "numpy,jit",
)
@valued(
    "--sizes",
    "SIZES",
    "The coarse grid: 16..1M (× 4), 16..1Mx10 or 100,1000.  "
    "[default: 16 to 8 × the op's own]",
)
@valued("--dtype", "DTYPE", "Of a side that names none.", "float32")
@valued(
    "--device",
    "DEVICE",
    "Of a side that names none: cpu:0 or tpu:3.  [default: the first]",
)
@valued("--budget", "SECONDS", "For the whole search, compile included.  [default: 60]")
@seed
@json_flag
@export_flags(
    "Write the answer as well, by its ending: .json, .csv, .md, .svg or .txt."
)
@no_history
@engine_flags
@click.pass_obj
def crossover(
    common: Common,
    /,
    *,
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

    request = command.Request.typed(**typed)
    exports = Exports.typed(export, force=force, endings=command.ENDINGS)
    return command.run(
        *common.engine(),
        request,
        as_json=as_json,
        exports=exports,
        record=common.record,
    )


@cli.command()
@click.argument("op", nargs=-1, metavar="[OP[:SIZE]]...")
@valued(
    "--size",
    "SIZES",
    "4096, 4k (4 × 1024), 1e6, 256..4096 (doubling) or 1000,2000.  "
    "[default: the op's own, or as much as leaves the caches]",
)
@valued("--dtype", "DTYPES", "Those that bench takes.", "float32")
@one_device
@modes
@precisions
@valued(
    "--budget",
    "SECONDS",
    "For roofs and cases together.  [default: 10 for the roofs, and as bench]",
)
@seed
@json_flag
@sure_flag
@own_arguments
@export_flags(
    "Write the results as well, by its ending: .json, .csv, .md, .svg or .txt."
)
@no_history
@engine_flags
@click.pass_obj
def roofline(
    common: Common,
    /,
    *,
    as_json: bool,
    export: tuple[str, ...],
    force: bool,
    **typed: Any,
) -> int:
    """Say what limits an op: the memory, arithmetic or something else.

    Measures how fast the device moves data and computes at best, and how near each op
    comes to that; without OP all of the catalogue.
    """
    from jaxtui.commands import roofline as command
    from jaxtui.commands.exporting import Exports

    request = command.Request.typed(**typed)
    exports = Exports.typed(export, force=force, endings=command.ENDINGS)
    return command.run(
        *common.engine(),
        request,
        as_json=as_json,
        exports=exports,
        record=common.record,
    )


@cli.command()
@valued("--level", "LEVEL", "quick, about ten seconds, or full, some minutes.", "quick")
@valued(
    "--devices",
    "DEVICES",
    "cpu:0,cpu:3 or tpu.  [default: all of this process]",
)
@valued(
    "--limit",
    "SECONDS",
    "For each test: a device that takes longer hangs.  [default: a minute or more]",
)
@valued("--save-baseline", "NAME", "Keep the figures, to compare with later.")
@valued("--baseline", "NAME", "Compare with the figures that were kept.")
@json_flag
@engine_flags
@click.pass_obj
def check(common: Common, /, *, as_json: bool, **typed: Any) -> int:
    """Say whether this machine is all right: everything there, right, and fast."""
    from jaxtui.commands import check as command

    request = command.Request.typed(**typed)
    return command.run(*common.engine(), request, as_json=as_json)


@cli.command("compile")
@one_op
@valued(
    "--topology",
    "NAME",
    "The TPU to compile for: v5e:2x4, v4:2x2x1, v6e-8, tpu7x-8.",
)
@one_size
@one_dtype("bfloat16")
@one_precision
@one_mode("jit, or pallas where the op has it.")
@valued("--limit", "SECONDS", "Give the compile up then.  [default: 600]")
@flag("--hlo", "Print the whole optimised HLO, too.")
@flag("--code", "Print plain Python instead of compiling.")
@json_flag
@python_flag("Python to compile with; it needs jax, msgspec and libtpu.")
@click.pass_obj
def compile_(common: Common, /, *, code: bool, as_json: bool, **typed: Any) -> int:
    """Compile an op for a TPU that is not here, and say what it would need.

    Needs libtpu, and no TPU: pip install "jaxtui[topology]".
    """
    from jaxtui.commands import compile as command

    _refuse_json_beside_code(code, as_json)
    request = command.Request.typed(**typed)
    if code:
        return command.code(common.python, request)
    return command.run(common.python, request, as_json=as_json)


@cli.command()
@one_op
@one_size
@one_dtype("float32")
@one_precision
@one_device
@one_mode("jit, eager, or pallas where the op has it.")
@valued(
    "--stage",
    "STAGE",
    "Print jaxpr, stablehlo, hlo or all of them, whole.  "
    "[default: the entry of the HLO]",
)
@own_arguments
@json_flag
@engine_flags
@click.pass_obj
def hlo(common: Common, /, *, as_json: bool, **typed: Any) -> int:
    """Show what XLA makes of an op: kernels, fusions, flops, memory, HLO.

    The op is compiled for a device of this machine and not run. It may be a function
    of your own, file.py:name, which is imported and given its arguments.
    """
    from jaxtui.commands import hlo as command

    request = command.Request.typed(**typed)
    return command.run(*common.engine(), request, as_json=as_json)


@cli.command()
@click.argument("lesson", required=False)
@valued(
    "--size",
    "SIZE",
    "The lesson's size, such as 2k.  [default: what takes this machine seconds]",
)
@valued("--device", "DEVICE", "cpu:0 or tpu:3.  [default: the first accelerator]")
@valued("--step", "N", "Only this step.", type=click.IntRange(1))
@valued("--ghost", "FILE", "What another machine measured: a document of --json.")
@flag("--code", "Print plain Python instead of running.")
@json_flag
@no_history
@engine_flags
@click.pass_obj
def learn(
    common: Common,
    /,
    *,
    lesson: str | None,
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
    _refuse_json_beside_code(code, as_json)
    request = command.Request.typed(lesson, **typed)
    if code:
        return command.code(*common.engine(), request)
    return command.run(*common.engine(), request, as_json=as_json, record=common.record)


@cli.command()
@click.argument("words", nargs=-1)
@valued("--op", "OP", "Only this op.")
@valued("--size", "SIZE", "Only this size, such as 2k.")
@valued("--dtype", "DTYPE", "Only this dtype.")
@valued("--device", "DEVICE", "Only tpu:0, or all of tpu.")
@valued("--mode", "MODE", "Only this mode.")
@valued("--host", "NAME", "Only what this machine measured.")
@valued("--since", "DATE", "2026-11-21, today, yesterday, 12h, 3d or 2w.")
@valued("--until", "DATE", "The moment before it, likewise.")
@valued("--limit", "N", "How many to list.", 30, type=click.IntRange(1))
@flag("--delete", "Forget them instead of listing them.")
@flag("--yes", "Do not ask before deleting.")
@json_flag
@export_flags("Write the list as well, by its ending: .json, .csv or .md.")
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
@json_flag
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


def _refuse_json_beside_code(code: bool, as_json: bool) -> None:
    if code and as_json:
        raise click.UsageError("--code prints Python: leave --json out with it.")


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
