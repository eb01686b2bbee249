"""The process that compiles ahead of time: one request, its answers.

The request is a line of JSON on fd 0. Answers, a line each, go to the file descriptor
that ``--answers`` names; fds 1 and 2 are left to what libtpu prints.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import sys
from collections.abc import Iterator, Sequence

import msgspec

from jaxtui.measure.aot.environment import aot_environment, libtpu_version
from jaxtui.measure.aot.process import Answers, prepare
from jaxtui.measure.orphans import end_with_input
from jaxtui.model.ahead import (
    AheadAnswer,
    AheadCode,
    AheadDescribed,
    AheadDoing,
    AheadHello,
    AheadReady,
    AheadRefused,
    AheadRequest,
    AheadTook,
    AheadUnavailable,
    CodeRequest,
    CompileRequest,
)

# What imports jax is imported by the functions below: the environment comes first, and
# so does the answer that libtpu is missing.


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer the request; returns the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--answers", type=int, required=True, metavar="FD")
    answers = Answers(parser.parse_args(arguments).answers)
    os.environ.update(aot_environment(os.environ))
    prepare()
    answers.send(AheadHello(libtpu=libtpu_version()))
    answers.send(_ready())
    line = sys.stdin.buffer.readline()
    if not line:
        return 1
    end_with_input()
    for answer in answer_to(msgspec.json.decode(line, type=AheadRequest)):
        answers.send(answer)
    # Threads of libtpu may be at work still; nothing of theirs is wanted.
    os._exit(0)


def answer_to(request: AheadRequest) -> Iterator[AheadAnswer]:
    """Everything that there is to say to a request, in order."""
    if not isinstance(request, CodeRequest):
        yield from _on_topology(request)
        return
    from jaxtui.measure.aot.code import code

    yield _wrong(request) or AheadCode(code=code(request.case, request.topology))


def _ready() -> AheadAnswer:
    try:
        import jax

        from jaxtui.measure import ops
    except ImportError as error:
        from jaxtui.measure.errors import translate_backend

        failed = translate_backend(error)
        sentence = f"{failed.error} {failed.hint}"
        return AheadUnavailable(error=sentence, detail=failed.detail)
    return AheadReady(
        jax=jax.__version__,
        jaxlib=importlib.metadata.version("jaxlib"),
        ops=ops.catalogue(),
    )


def _on_topology(request: AheadRequest) -> Iterator[AheadAnswer]:
    from time import perf_counter

    from jaxtui.measure.aot import topology as topologies
    from jaxtui.measure.aot.compiling import compile_ahead

    if isinstance(request, CompileRequest) and (wrong := _wrong(request)):
        yield wrong
        return
    yield AheadDoing(stage="topology")
    start = perf_counter()
    try:
        devices = topologies.open_topology(request.topology)
    except Exception as error:  # whatever libtpu raises
        yield topologies.refusal(error, request.topology)
        return
    yield AheadTook(stage="topology", seconds=perf_counter() - start)
    yield AheadDescribed(devices=topologies.describe(devices))
    if isinstance(request, CompileRequest):
        yield from compile_ahead(request.case, devices[0], keep_hlo=request.hlo)


def _wrong(request: CompileRequest | CodeRequest) -> AheadRefused | None:
    from jaxtui.measure import settings
    from jaxtui.measure.planning import check_op, check_platform

    wrong = check_op(request.case) or check_platform(request.case, "tpu")
    if isinstance(request, CompileRequest):
        wrong = settings.refusal() or wrong
    return AheadRefused(error=" ".join(wrong)) if wrong else None
