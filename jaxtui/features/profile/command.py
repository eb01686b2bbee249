"""``jaxtui profile``: where the time of a step goes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import msgspec

from jaxtui.core import selection
from jaxtui.core.engine import children, traces
from jaxtui.core.model import Remark, WorkFailed
from jaxtui.core.model.base import encoded
from jaxtui.core.model.profile import (
    MOST_STEPS,
    SCRIPT_SECONDS,
    STEPS,
    Profile,
    Profiling,
    Script,
)
from jaxtui.core.model.remark import SelectionError
from jaxtui.core.signals import interrupt
from jaxtui.features.profile import report as view
from jaxtui.features.profile.judge import KEYS, By, best_key
from jaxtui.features.profile.report import document as files
from jaxtui.features.profile.report.difference import difference
from jaxtui.ui import words
from jaxtui.ui.commands import CANNOT_RUN, CASE_FAILED, FINE
from jaxtui.ui.commands.common import (
    Command,
    Common,
    Number,
    Whole,
    check_readable,
    engine_flags,
    flag,
    named,
    not_started,
    valued,
)
from jaxtui.ui.commands.engine import Driver
from jaxtui.ui.commands.options import (
    TYPED,
    Cases,
    json_flag,
    mesh,
    one_device,
    one_dtype,
    one_mode,
    one_of,
    one_precision,
    one_size,
    own_arguments,
    say_failed,
    tell_behind,
)
from jaxtui.ui.commands.output import Exports, close, export_flags, rendered
from jaxtui.ui.commands.terminal import STDERR, PassedOn, say
from jaxtui.ui.findings import finding_text

RUNNER = "jaxtui.features.profile.measure.capture"

POLL_SECONDS = 0.1
"""Between two looks whether a program's trace is written."""

OF_CASES = ("steps", "size", "dtype", "precision", "device", "mode", "arg", "mesh")
OF_SCRIPTS = ("after", "after_steps", "seconds")


class _Command(Command):
    """A command whose arguments after a program belong to the program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        values = {
            name
            for option in self.params
            if isinstance(option, click.Option) and not option.is_flag
            for name in option.opts
        }
        module, place = False, 0
        while place < len(args):
            word = args[place]
            if not word.startswith("-") or word == "-":
                if module or _is_script(word):
                    args = [*args[: place + 1], "--", *args[place + 1 :]]
                break
            module |= word == "-m"
            place += 2 if word in values else 1
        return super().parse_args(ctx, args)


def _is_script(text: str) -> bool:
    """Return whether a text names a program, and no function of a file nor an op."""
    return text.endswith(".py") or ("/" in text and ":" not in text)


@named(
    "profile",
    "jaxtui profile train.py:step",
    "jaxtui profile --load /tmp/trace --by function",
    cls=_Command,
)
@click.argument("target", nargs=-1, metavar="OP[:SIZE] | FILE:FUNCTION | SCRIPT [ARGS]")
@valued(
    "--load",
    "PATH",
    "Read a trace, .xplane.pb or a folder, of any machine.",
    type=click.Path(path_type=Path),
)
@valued(
    "--by",
    "KEY",
    "line, function, op, category or shape.  [default: line]",
    type=one_of("key", KEYS),
)
@valued(
    "--steps",
    "N",
    f"Calls of an op or a function to profile.  [default: {STEPS}]",
    type=Whole(1, MOST_STEPS),
)
@flag("-m", "SCRIPT is a module, as for python -m.")
@valued(
    "--after",
    "SECONDS",
    "For a program: begin this long after its start.  [default: with JAX]",
    type=Number(0),
)
@valued(
    "--after-steps",
    "N",
    "For a program: begin after steps that it annotates with StepTraceAnnotation.",
    type=Whole(0),
)
@valued(
    "--for",
    "SECONDS",
    f"For a program: profile for this long.  [default: {SCRIPT_SECONDS:.0f}]",
    type=Number(0.001),
)
@valued(
    "--diff",
    "FILE",
    "Compare with a document that --json printed.",
    type=click.Path(path_type=Path),
)
@one_size
@one_dtype("float32")
@one_precision
@one_device
@one_mode("jit, eager, or pallas where the op has it.")
@own_arguments
@mesh
@json_flag
@export_flags("the profile", files.ENDINGS)
@engine_flags
@click.pass_obj
def command(
    common: Common,
    /,
    *,
    target: tuple[str, ...],
    load: Path | None,
    by: By | None,
    diff: Path | None,
    as_json: bool,
    exports: Exports,
    m: bool,
    **options: Any,
) -> int:
    """Show where the time of a step goes, by line of your source.

    Profiles an op, a function of your own (train.py:step), a program of yours as it
    is (train.py --lr 0.1), or reads a trace of any machine (--load).

    Exit codes: 0 fine, 1 there is no profile, 3 the program itself failed.
    """
    options["seconds"] = options.pop("for")
    _refuse_others(target, load, m, options)
    before = files.read(diff) if diff is not None else None
    show = _Shown(by, before, as_json=as_json, exports=exports)
    if load is not None:
        check_readable(str(load), folders=True)
        return show.close(interrupt.run(traces.read(load, _tell)), str(load))
    if m or _is_script(target[0]):
        script = Script(
            path=target[0],
            module=m,
            after_seconds=options["after"] or 0.0,
            after_steps=options["after_steps"] or 0,
            seconds=options["seconds"] or SCRIPT_SECONDS,
        )
        return _program(common, script, target[1:], show)
    context = click.get_current_context()
    typed = [n for n in options if context.get_parameter_source(n) in TYPED]
    cases = Cases(
        op=target,
        size=_listed(options["size"]),
        dtype=_listed(options["dtype"]),
        mode=_listed(options["mode"]),
        precision=_listed(options["precision"]),
        device=options["device"],
        typed=frozenset(typed),
        arg=options["arg"],
        mesh=options["mesh"],
    )
    return _profile(common, cases, options["steps"] or STEPS, show)


def _tell(remark: Remark) -> None:
    say(finding_text(remark))


def _listed(value: Any) -> tuple[Any, ...]:
    return () if value is None else (value,)


def _refuse_others(
    target: Sequence[str], load: Path | None, module: bool, options: dict[str, Any]
) -> None:
    """Refuse what was typed for another kind of target.

    Raises:
        SelectionError: or nothing was named.
    """
    if load is not None and target:
        raise SelectionError(
            f"--load and {target[0]} do not go together: leave one out."
        )
    if load is None and not target:
        raise SelectionError(
            "Name an op, a function such as train.py:step, a program such as train.py,"
            " or a trace with --load."
        )
    program = load is None and (module or _is_script(target[0]))
    context = click.get_current_context()
    for names, fits, what in (
        (OF_CASES, load is None and not program, "an op or a function"),
        (OF_SCRIPTS, program, "a program"),
    ):
        for name in names:
            option = "for" if name == "seconds" else name
            if not fits and context.get_parameter_source(option) in TYPED:
                flag = option.replace("_", "-")
                raise SelectionError(f"--{flag} belongs to {what}: leave it out here.")
    if load is None and not program and len(target) > 1:
        raise SelectionError(
            f"One op or function at a time: choose one of {', '.join(target)}."
        )


class _Shown:
    """The output of a profile.

    Args:
        by: the key of the table.
        before: another profile, to compare with.
        as_json: print the document.
        exports: the files to write.
    """

    def __init__(
        self,
        by: By | None,
        before: files.ProfileDocument | None,
        *,
        as_json: bool,
        exports: Exports,
    ) -> None:
        self._by, self._before = by, before
        self.as_json, self._exports = as_json, exports

    def close(
        self,
        outcome: Profile | WorkFailed | None,
        source: str,
        driver: Driver | None = None,
    ) -> int:
        """Write and print it, or say why there is none; ``None`` was interrupted."""
        profile = outcome if isinstance(outcome, Profile) else None
        failed = outcome if isinstance(outcome, WorkFailed) else None
        host = driver.state.host if driver else None
        document = files.document(profile, source, host, failed)
        if failed is not None and not self.as_json:
            say(words.in_full(failed))
        by = self._by or (best_key(profile) if profile else "line")
        text = contents = None
        if profile is not None:
            report = view.report(profile, by)
            shown = report
            if self._before is not None:
                shown = difference(self._before, document, by)
            text = partial(rendered, shown)
            contents = partial(files.contents, profile, document, report, by)
        return close(
            document=document,
            text=text,
            as_json=self.as_json,
            code=FINE if profile else CASE_FAILED,
            lost=driver.lost if driver else False,
            contents=contents,
            exports=self._exports,
        )


def _profile(common: Common, cases: Cases, steps: int, show: _Shown) -> int:
    """An op, or a function of a file."""
    driver, label = Driver(common), cases.op[0]

    async def run() -> None:
        nonlocal label
        async with driver.started() as session, driver.progress():
            await session.ready(cases.choice)
            session.refuse("verdicts")
            ops, devices = session.state.ops, session.state.devices
            name = cases.device
            if name or not cases.spans(ops):
                name = selection.parse_device(name, devices, groups=True)
            case = cases.case(name, ops, devices)
            label = case.label
            await session.run(Profiling(case=case, steps=steps), "profile")

    driver.drive(run())
    job = driver.state.jobs.get("profile")
    profile = job.result if job and isinstance(job.result, Profile) else None
    return show.close(profile or (job.failed if job else None), label, driver)


def _program(
    common: Common, script: Script, arguments: Sequence[str], show: _Shown
) -> int:
    """Someone's program, in a process of its own.

    Returns:
        The exit code.
    """
    if not script.module:
        check_readable(script.path)
    tell_behind(script.path, arguments, besides=OF_CASES)
    environment = dict(os.environ)
    if common.cpu_devices is not None:
        environment["JAX_NUM_CPU_DEVICES"] = str(common.cpu_devices)
    passed_on = PassedOn()

    async def run() -> int:
        with TemporaryDirectory(prefix="jaxtui-profile-") as folder:
            try:
                async with children.running(
                    RUNNER,
                    folder,
                    encoded(script).decode(),
                    script.path,
                    *arguments,
                    python=common.python,
                    holds=True,
                    env=environment,
                    # A document on stdout stands there alone.
                    stdout=STDERR if show.as_json else None,
                ) as process:
                    passed_on.started(process)
                    return await watch(process, Path(folder))
            except OSError as error:
                python = common.python or (sys.executable,)
                raise not_started(python[:1], error) from error

    async def watch(process: asyncio.subprocess.Process, folder: Path) -> int:
        """Show the profile as soon as there is one; the program goes on."""
        ended = asyncio.create_task(process.wait())
        code: int | None = None
        while not ended.done():
            await asyncio.wait([ended], timeout=POLL_SECONDS)
            if code is None and (folder / "done").exists():
                code = show.close(await _captured(folder, script.path), script.path)
        status = 0 if interrupt.happened else children.status(ended.result())
        if status:
            say_failed(script.path, status)
        if code is None:
            outcome = await _captured(folder, script.path, failed=status != 0)
            code = show.close(outcome, script.path)
        return CANNOT_RUN if status else code

    code = interrupt.run(run(), lambda _: passed_on.tell(), waits=True)
    if code is None:  # before there was a program
        show.close(None, script.path)
        return interrupt.code
    return code


async def _captured(
    folder: Path, source: str, *, failed: bool = False
) -> Profile | WorkFailed:
    """Read the profile of a program, which may have failed."""
    if (folder / "done").exists():
        profile = await traces.read(folder, _tell)
        if isinstance(profile, Profile):
            return msgspec.structs.replace(profile, source=source)
        remark = profile.remark
        if remark.code == "no-kernels":  # the options of this trace were right
            remark = msgspec.structs.replace(
                remark, facts={**remark.facts, "level": False}
            )
        return WorkFailed(remark=remark)
    remark = Remark("program-lost", severity="error")
    if (reason := folder / "failed").exists():
        remark = msgspec.json.decode(reason.read_bytes(), type=Remark)
        if failed and remark.code in ("program-early", "program-without-jax"):
            remark = Remark("program-failed", severity="error")
    return WorkFailed(remark=remark)
