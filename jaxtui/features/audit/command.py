"""``jaxtui audit``: is this program timed right?"""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence

import click
from rich.console import Group

from jaxtui.core.model import Host
from jaxtui.core.model.remark import SelectionError
from jaxtui.core.signals import interrupt
from jaxtui.core.text import join_painted
from jaxtui.features.audit import child as audits
from jaxtui.features.audit import judge as analysis
from jaxtui.features.audit import report as view
from jaxtui.features.audit.messages import Witness
from jaxtui.ui.commands import CANNOT_RUN, CASE_FAILED, FINE
from jaxtui.ui.commands.common import (
    Common,
    check_readable,
    named,
    not_started,
    python_flag,
)
from jaxtui.ui.commands.options import json_flag, say_failed, tell_behind
from jaxtui.ui.commands.output import close, rendered
from jaxtui.ui.commands.terminal import STDERR, PassedOn, in_colour, width_of
from jaxtui.ui.report import UNLIMITED, written


@named(
    "audit",
    "jaxtui audit train.py --lr 0.1",
    "jaxtui audit --json -m package.train",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("script", nargs=-1, type=click.UNPROCESSED, metavar="SCRIPT [ARGS]…")
@click.option(
    "-m", "module", metavar="MODULE", help="Run a module, as `python -m` does."
)
@json_flag
@python_flag("Python to run the program with; it needs jax and msgspec.")
@click.pass_obj
def command(
    common: Common, /, *, script: tuple[str, ...], module: str | None, as_json: bool
) -> int:
    """Run a program and find mistakes in how it times JAX.

    The program runs unchanged, with its own arguments, output and exit status. jaxtui
    watches its clocks and the device, and reports for each timed span what the clock
    read and how long the work took. A line that ends in "# jaxtui: ok" is not judged.
    With --json the program's output goes to stderr.

    Exit codes: 0 no mistake, 1 mistakes, 3 the program itself failed.
    """
    program = ("-m", module, *script) if module is not None else script
    if not program:
        raise SelectionError("Name a program, such as train.py.")
    if module is None:
        check_readable(program[0])
    name = module if module is not None else program[0]
    tell_behind(name, script)
    status, witness = _run(program, common.python, as_json=as_json)
    audit = analysis.judge(witness, name, status, view.source)
    host = Host(
        hostname=platform.node(),
        # Of the program's Python, as far as it got.
        python=(witness and witness.python) or None,
        jax=(witness and witness.jax) or None,
        jaxlib=None,
        numpy=None,
        platform_version=None,
    )

    def text() -> str:
        lines = Group(*[*view.excerpts(audit)][:-1])
        width = width_of(sys.stdout) or UNLIMITED
        excerpts = written(lines, width, colour=in_colour())
        return join_painted([rendered(view.report(audit)), excerpts], "\n\n").rstrip()

    code = CASE_FAILED if audit.findings else FINE
    if status != 0 or witness is None:
        code = CANNOT_RUN
        if not interrupt.happened:
            say_failed(name, status)
    return close(
        document=view.document(audit, host, status),
        # A program that failed before it timed anything was not judged.
        text=text if status == 0 or audit.sites else None,
        as_json=as_json,
        code=code,
    )


def _run(
    program: Sequence[str], python: tuple[str, ...], *, as_json: bool
) -> tuple[int, Witness | None]:
    passed_on = PassedOn()

    async def work() -> tuple[int, Witness | None]:
        try:
            # A document on stdout stands there alone.
            stdout = STDERR if as_json else None
            return await audits.watch(
                program, python, started=passed_on.started, stdout=stdout
            )
        except OSError as error:
            command = python[0] if python else sys.executable
            raise not_started((command,), error) from error

    result = interrupt.run(work(), lambda _: passed_on.tell(), waits=True)
    return result or (interrupt.code, None)
