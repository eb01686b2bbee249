"""The process that compiles ahead of time: one request, its answers.

The request is a line of JSON on fd 0. Answers, a line each, go to the file descriptor
that ``--answers`` names; fds 1 and 2 are left to what libtpu prints.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import resource
import sys
from collections.abc import Mapping, Sequence

import msgspec

from jaxtui.measure.children import end_with_input, sender, signal_with_parent
from jaxtui.measure.errors import translate_backend
from jaxtui.model import explanation
from jaxtui.model.ahead import (
    LIBTPU_DEFAULTS,
    AheadHello,
    AheadRequest,
    AheadUnavailable,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer the request; returns the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--answers", type=int, required=True, metavar="FD")
    send = sender(parser.parse_args(arguments).answers)
    os.environ.update(environment(os.environ))
    # The compiler may abort: no core file is left behind. It holds no lock of Python's
    # while it works, so a thread notices the end of the other side; where C code does
    # hold it, the kernel kills (Linux only).
    most = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
    signal_with_parent()
    send(AheadHello(libtpu=libtpu_version()))
    # Imports jax, for which the environment had to be there.
    try:
        from jaxtui.measure import ahead
    except ImportError as error:
        failed = translate_backend(error)
        send(AheadUnavailable(error=explanation(failed), detail=failed.detail))
        sys.stdin.buffer.readline()  # the other side ends this process
        return 1
    send(ahead.ready())
    line = sys.stdin.buffer.readline()
    if not line:
        return 1
    end_with_input()
    for answer in ahead.answers(msgspec.json.decode(line, type=AheadRequest)):
        send(answer)
    # Threads of libtpu may be at work still; nothing of theirs is wanted.
    os._exit(0)


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """That of the process; what ``base`` says about TPUs stays."""
    return {
        **LIBTPU_DEFAULTS,
        **base,
        # Nothing is run, so the machine's own TPU or GPU is left to others.
        "JAX_PLATFORMS": "cpu",
        # A warm persistent cache would be read as a compile of a few milliseconds.
        "JAX_ENABLE_COMPILATION_CACHE": "0",
    }


def libtpu_version() -> str | None:
    """The version of libtpu, which is looked for where jax does; ``None`` without it.

    Nothing is imported.
    """
    library = os.environ.get("TPU_LIBRARY_PATH")
    if library and os.path.isfile(library):
        return f"of {library}"
    if importlib.util.find_spec("libtpu") is None:
        return None
    try:
        return importlib.metadata.version("libtpu")
    except importlib.metadata.PackageNotFoundError:
        return "of an unknown version"
