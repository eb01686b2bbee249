"""``jaxtui hlo``: what JAX and XLA make of an op, stage by stage."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from jaxtui.commands import CASE_FAILED, FINE
from jaxtui.commands.engine import Driver, EngineFactory
from jaxtui.commands.hlo_request import Request, Stage
from jaxtui.commands.options import (
    Common,
    engine_flags,
    json_flag,
    one_device,
    one_dtype,
    one_mode,
    one_op,
    one_precision,
    one_size,
    own_arguments,
    valued,
)
from jaxtui.commands.terminal import progress, put, put_bytes, say
from jaxtui.document import SCHEMA, encode
from jaxtui.engine.client import EngineOptions
from jaxtui.model import (
    Case,
    Inspected,
    Inspection,
    WorkFailed,
)
from jaxtui.model.own import short_name
from jaxtui.state import Job
from jaxtui.tui import inspect_text

_TEXTS: tuple[Stage, ...] = ("jaxpr", "stablehlo", "hlo")


class _Outcome(Driver):
    """What has arrived."""

    case: Case | None = None

    @property
    def job(self) -> Job | None:
        """The run."""
        return self.state.jobs.get("inspection")

    @property
    def inspected(self) -> Inspected | None:
        """The result."""
        found = self.job.result if self.job else None
        return found if isinstance(found, Inspected) else None

    @property
    def failed(self) -> WorkFailed | None:
        """Why there is none."""
        return self.job.failed if self.job else None


def run(
    factory: EngineFactory, options: EngineOptions, request: Request, *, as_json: bool
) -> int:
    """Compiles what was asked for, prints what became of it, gives the exit code.

    Args:
        factory: makes the engine.
        options: how to start it.
        request: the case, and which texts to print.
        as_json: print one JSON document.

    Raises:
        CannotRun: if the engine cannot start; nothing is on stdout then.
        SelectionError: if an op or a device does not exist.
    """
    outcome = _Outcome(factory, options)
    outcome.drive(_inspect(request, outcome))
    if as_json:
        put_bytes(encode(_document(outcome, request)))
    elif outcome.inspected is not None:
        put("\n\n".join(_report(outcome.inspected, request.stage)))
    if outcome.failed is not None and not as_json:
        say(_sentence(outcome.failed, outcome.case))
        if outcome.failed.detail:
            say(outcome.failed.detail)
    if outcome.interrupted:
        say("Interrupted.")
    return FINE if outcome.inspected is not None else CASE_FAILED


async def _inspect(request: Request, outcome: _Outcome) -> None:
    async with (
        outcome.started() as session,
        progress(sys.stderr, lambda: outcome.state),
    ):
        await session.ready(request.check)
        session.refuse("jax")
        outcome.case = request.case(outcome.state.ops, outcome.state.devices)
        await session.run(Inspection(case=outcome.case), "inspection")


def _sentence(failed: WorkFailed, case: Case | None) -> str:
    """What went wrong with which case: of an engine that died only that is known."""
    sentence = f"{failed.error} {failed.hint}".rstrip()
    if case is None or short_name(case.op) in failed.error:
        return sentence
    return f"{case.label}: {sentence}"


def _report(inspected: Inspected, stage: Stage | None) -> Iterator[str]:
    yield inspect_text.summary(inspected)
    if stage is None:
        yield inspect_text.entry(inspect_text.hlo(inspected.hlo))
    for name in _TEXTS:
        if stage in (name, "all"):
            text = str(getattr(inspected, name)).strip()
            yield f"{name}:\n\n{text}" if stage == "all" else text


def _document(outcome: _Outcome, request: Request) -> dict[str, Any]:
    """The JSON document; texts that were not asked for are ``None``."""
    inspected = outcome.inspected
    facts: dict[str, Any] = (
        msgspec.structs.asdict(inspected)
        if inspected is not None
        else dict.fromkeys(Inspected.__struct_fields__)
    )
    for name in _TEXTS:
        if request.stage not in (None, name, "all"):
            facts[name] = None
    eager = None if inspected is None else inspected.eager_kernels
    return {
        "schema": SCHEMA,
        "host": outcome.state.host,
        **facts,
        "case": outcome.case if inspected is None else inspected.case,
        "eager_kernels": eager,
        "failure": outcome.failed,
    }


@click.command("hlo")
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
def command(common: Common, /, *, as_json: bool, **typed: Any) -> int:
    """Show what XLA makes of an op: kernels, fusions, flops, memory, HLO.

    The op is compiled for a device of this machine and not run. It may be a function
    of your own, file.py:name, which is imported and given its arguments.
    """
    request = Request.typed(**typed)
    return run(*common.engine(), request, as_json=as_json)
