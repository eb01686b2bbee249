"""``jaxtui compile``: an op, compiled ahead of time for a TPU that is not here."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click

from jaxtui.commands import CASE_FAILED, FINE, closing
from jaxtui.commands.compile_outcome import Outcome, document
from jaxtui.commands.compile_process import (
    AheadProcess,
    ahead_process,
    last_words,
    legible,
)
from jaxtui.commands.compile_request import Request
from jaxtui.commands.compile_text import report
from jaxtui.commands.launch import CannotRun
from jaxtui.commands.options import (
    Common,
    flag,
    json_flag,
    one_dtype,
    one_mode,
    one_op,
    one_precision,
    one_size,
    python_flag,
    refuse_json_beside_code,
    valued,
)
from jaxtui.commands.terminal import live_line, put, put_bytes, say
from jaxtui.document import encode
from jaxtui.model.ahead import (
    AheadCode,
    AheadReady,
    AheadRefused,
    CodeRequest,
    CompileRequest,
    Stage,
)
from jaxtui.selection import SelectionError
from jaxtui.signals import interrupt

_WHILE: dict[Stage, str] = {
    "start": "while JAX started",
    "topology": "while it described the topology",
    "warm-up": "while it compiled a small program first",
    "trace": "while JAX traced the op",
    "lower": "while JAX lowered the op",
    "compile": "while XLA compiled the op",
}

_OTHERWISE = (
    "This is a fault of libtpu: another dtype, size or mode, or another version of "
    "libtpu, may work."
)


def run(python: str | None, request: Request, *, as_json: bool) -> int:
    """Compiles what was asked for, prints it, and gives the exit code.

    Args:
        python: the interpreter to compile with; ``None`` is this one.
        request: what to compile.
        as_json: print one JSON document.

    Raises:
        CannotRun: if libtpu or JAX cannot be used; nothing is on stdout then.
        SelectionError: if there is no such op or topology.
    """
    outcome = Outcome(request)
    interrupt.run(_compile(python, outcome))
    unanswered = outcome.compiled is None and outcome.failure is None
    if interrupt.happened and outcome.case is not None and unanswered:
        outcome.fail("The compile was interrupted.", "Run it again.")
    if as_json:
        put_bytes(encode(document(outcome)))
    elif outcome.libtpu:
        put(report(outcome))
        if outcome.failure and outcome.failure.detail:
            say(legible(outcome.failure.detail))
    if interrupt.happened:
        say(closing.INTERRUPTED)
    return CASE_FAILED if outcome.failure else FINE


def print_code(python: str | None, request: Request) -> int:
    """Prints plain JAX that compiles the same, and gives the exit code.

    Raises:
        CannotRun: if JAX cannot be used.
        SelectionError: if there is no such op.
    """
    script = interrupt.run(_code(python, request))
    if script is not None:
        put(script.rstrip())
    return FINE


async def _compile(python: str | None, outcome: Outcome) -> None:
    async with (
        ahead_process(python) as process,
        live_line(sys.stderr, process.line),
    ):
        await _within_limit(process, outcome)


async def _within_limit(process: AheadProcess, outcome: Outcome) -> None:
    limit = outcome.request.limit_seconds
    try:
        await asyncio.wait_for(_follow(process, outcome), limit)
    except asyncio.TimeoutError:
        when = _WHILE[process.stage]
        error = f"{outcome.label} was given up after {limit:g} s, {when}."
        if outcome.case is None:
            raise CannotRun(error) from None
        outcome.fail(error, "Give it more time with --limit, or a smaller size.")


async def _follow(process: AheadProcess, outcome: Outcome) -> None:
    """Asks as soon as the catalogue is there, and takes in every answer.

    Raises:
        CannotRun: if the process cannot serve.
        SelectionError: if there is no such op or topology.
    """
    async for answer in process.answers():
        outcome.take(answer)
        match answer:
            case AheadReady(ops=ops):
                request = outcome.request
                outcome.case = request.case(ops)
                await process.ask(
                    CompileRequest(
                        topology=request.topology, case=outcome.case, hlo=request.hlo
                    )
                )
            case AheadRefused():
                raise SelectionError(refused(answer))
            case _:
                pass
    if outcome.compiled is None and outcome.failure is None:
        await _ended(process, outcome)


async def _ended(process: AheadProcess, outcome: Outcome) -> None:
    """The process ended without a result: why, as far as it said so."""
    sentence = await ending(process)
    if process.stage in ("start", "topology") or outcome.case is None:
        raise CannotRun(sentence)
    outcome.fail(f"{outcome.label}: {sentence}", _OTHERWISE, "\n".join(process.log))


async def ending(process: AheadProcess) -> str:
    """How a process ended that should not have, and the last that it printed."""
    how = await process.end()
    words = last_words(process.log)
    said = f" It printed: {words}" if words else ""
    return f"The process that compiles {how} {_WHILE[process.stage]}.{said}"


def refused(answer: AheadRefused) -> str:
    """Why there is no such topology or case, and the original text under it."""
    return "\n".join(part for part in (answer.error, answer.detail) if part)


async def _code(python: str | None, request: Request) -> str:
    async with ahead_process(python) as process:
        async for answer in process.answers(needs_libtpu=False):
            match answer:
                case AheadReady(ops=ops):
                    case = request.case(ops)
                    await process.ask(CodeRequest(topology=request.topology, case=case))
                case AheadCode(code=script):
                    return script
                case AheadRefused():
                    raise SelectionError(refused(answer))
                case _:
                    pass
        raise CannotRun(await ending(process))


@click.command("compile")
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
def command(common: Common, /, *, code: bool, as_json: bool, **typed: Any) -> int:
    """Compile an op for a TPU that is not here, and say what it would need.

    Needs libtpu, and no TPU: pip install "jaxtui[topology]".
    """
    refuse_json_beside_code(code, as_json)
    request = Request.typed(**typed)
    if code:
        return print_code(common.python, request)
    return run(common.python, request, as_json=as_json)
