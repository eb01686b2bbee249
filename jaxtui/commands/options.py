"""The options that several commands take, and short ways to declare any other.

Like the command line itself, this imports click and the standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from jaxtui.commands.engine import EngineFactory
    from jaxtui.engine.process import EngineOptions
    from jaxtui.machine.malloc import End

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Number(click.FloatRange):
    """A number, which neither infinity nor NaN is: those pass every comparison."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number, if it is one."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is no finite number.", param, ctx)
        return number


@dataclass
class Common:
    """What the app and every command that starts an engine need to know.

    It may be typed before a command or after it; what is typed last counts.
    """

    cpu_devices: int | None = None
    python: str | None = None
    start_limit: float | None = None
    """Seconds that JAX may take to start."""
    record: bool = True
    """Keep what is measured in the history."""
    factory: EngineFactory | None = None
    """How to make an engine; ``None`` starts a real one."""

    def engine(self, memory: End | None = None) -> tuple[EngineFactory, EngineOptions]:
        """How to make the engine and how to start it, as the commands take them.

        Args:
            memory: The end of the memory span that it has on purpose.
        """
        from jaxtui.commands import engine, launch

        environment = None
        if memory is not None:
            from jaxtui.machine import malloc

            environment = malloc.environment(memory)
        options = launch.engine_options(
            self.python, self.cpu_devices, self.start_limit, environment
        )
        return self.factory or engine.spawn_engine, options


def valued(
    name: str, metavar: str, meaning: str, default: str | int | None = None, **more: Any
) -> Callable[[_Function], _Function]:
    """An option that takes a value; the help shows its default."""
    if default is not None:
        more.update(default=default, show_default=True)
    return click.option(name, metavar=metavar, help=meaning, **more)


def flag(name: str, meaning: str) -> Callable[[_Function], _Function]:
    """An option that takes no value."""
    return click.option(name, is_flag=True, help=meaning)


def _composed(
    *options: Callable[[_Function], _Function],
) -> Callable[[_Function], _Function]:
    """Several options as one, told in this order."""

    def decorate(command: _Function) -> _Function:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Puts it where the engine is made: every command takes it, and none reads it."""
    common = ctx.ensure_object(Common)
    if value not in (None, ""):
        setattr(common, str(param.name), value)


def _keep_nothing(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Common).record = False


def python_flag(meaning: str) -> Callable[[_Function], _Function]:
    """``--python``: with what the engine runs, or what else needs JAX."""
    return valued("--python", "COMMAND", meaning, expose_value=False, callback=_keep)


engine_flags = _composed(
    valued(
        "--start-limit",
        "SECONDS",
        "Give up if JAX takes longer to start; 0 never does.  [default: 180]",
        type=Number(min=0),
        envvar="JAXTUI_START_LIMIT",
        expose_value=False,
        callback=_keep,
    ),
    valued(
        "--cpu-devices",
        "N",
        "Simulate N CPU devices, marked SIMULATED.",
        type=click.IntRange(1, 1024),
        expose_value=False,
        callback=_keep,
    ),
    python_flag("Python to run the engine with; it needs jax and msgspec."),
)
"""The options of whatever starts an engine."""

no_history = click.option(
    "--no-history",
    is_flag=True,
    expose_value=False,
    callback=_keep_nothing,
    help="Do not keep what is measured in the history.",
)
"""The option of whatever measures cases."""

json_flag = click.option(
    "--json", "as_json", is_flag=True, help="One JSON document on stdout."
)
"""The option of whatever has a document."""

seed = valued(
    "--seed",
    "N",
    "Of the random inputs.",
    default=0,
    type=click.IntRange(0, 2**31 - 1),
)
"""The option of whatever makes inputs."""


modes = valued(
    "--mode",
    "MODES",
    "numpy, eager or jit; pallas or tensorflow where the op has it.",
    "jit",
)
"""The modes of a command that takes several cases."""

precisions = valued(
    "--precision",
    "PRECISIONS",
    "Of matrix products: default, high or highest.",
    "default",
)
"""The precisions of a command that takes several cases."""

sure_flag = flag("--yes", "Start a long run without asking.")
"""The option of whatever may take long."""


def export_flags(meaning: str) -> Callable[[_Function], _Function]:
    """``--export``, as often as it is typed, and ``--force``."""
    return _composed(
        valued("--export", "FILE", meaning, multiple=True),
        flag("--force", "Let --export replace files that exist."),
    )


own_arguments = valued(
    "--arg",
    "SHAPE",
    "An argument of your own function: f32[1024,1024], s32[]; once for each.",
    multiple=True,
)
"""The option of whatever takes functions of the user's own."""

one_op = click.argument("op", required=False, metavar="OP[:SIZE]")
"""The op of a command that takes one; left out, the command says what there is."""

one_size = valued("--size", "SIZE", "4096, 4k or 1e6.  [default: the op's own]")
"""The size of a command that takes one case."""


one_device = valued("--device", "DEVICE", "cpu:0 or tpu:3.  [default: the first]")
"""The device of a command that takes one."""


def one_dtype(default: str) -> Callable[[_Function], _Function]:
    """``--dtype`` of a command that takes one case."""
    return valued("--dtype", "DTYPE", "One of those that bench takes.", default)


one_precision = valued(
    "--precision",
    "PRECISION",
    "Of a matrix product: default, high or highest.",
    "default",
)
"""The precision of a command that takes one case."""


def one_mode(meaning: str) -> Callable[[_Function], _Function]:
    """``--mode`` of a command that takes one case."""
    return valued("--mode", "MODE", meaning, "jit")


def refuse_json_beside_code(code: bool, as_json: bool) -> None:
    """Refuse JSON beside ``--code``, which prints Python."""
    if code and as_json:
        raise click.UsageError("--code prints Python: leave --json out with it.")
