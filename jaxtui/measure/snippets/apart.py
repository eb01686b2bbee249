"""Runs a snippet in a child process, where JAX can have another number of devices."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping

import msgspec

from jaxtui import child
from jaxtui.measure.children import lines
from jaxtui.measure.devices import SIMULATED
from jaxtui.model import (
    Progress,
    RunEvent,
    RunFinished,
    Snippet,
    SnippetStarted,
    WorkFailed,
)

COMMAND = child.command("jaxtui.measure.snippets")


def run_apart(snippet: Snippet, stop: Callable[[], bool]) -> Iterator[RunEvent]:
    """The events between the first and the last, from a child process.

    The child is ended when ``stop`` becomes true and when the generator is closed.
    """
    assert snippet.cpu_devices is not None
    count = snippet.cpu_devices
    yield Progress(
        elapsed_seconds=0.0,
        remaining_seconds=snippet.budget,
        doing=f"starting a process with {count} CPU devices",
    )
    try:
        process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=environment(os.environ, count),
        )
    except OSError as error:
        yield WorkFailed(
            error="A process of its own could not be started.",
            hint="",
            detail=str(error),
        )
        return
    with process:
        try:
            yield from _events(process, snippet, stop)
        finally:
            process.kill()


def environment(base: Mapping[str, str], cpu_devices: int) -> dict[str, str]:
    """The environment of a child with so many CPU devices and no accelerator."""
    return {
        **base,
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": str(cpu_devices),
        "JAX_ENABLE_COMPILATION_CACHE": "0",
        SIMULATED: "1",
    }


def _events(
    process: subprocess.Popen[bytes], snippet: Snippet, stop: Callable[[], bool]
) -> Iterator[RunEvent]:
    assert process.stdin is not None
    assert process.stdout is not None
    alone = msgspec.structs.replace(snippet, cpu_devices=None)
    # A child that is gone already says so by its exit status.
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(msgspec.json.encode(alone) + b"\n")
    for line in lines(process.stdout.fileno(), stop):
        event = msgspec.json.decode(line, type=RunEvent)
        if isinstance(event, RunFinished):
            return
        # Those that every run begins and ends with are the parent's.
        if not isinstance(event, SnippetStarted):
            yield event
    if not stop():
        status = process.wait()
        how = f"with status {status}"
        if status < 0:
            how = f"by {signal.Signals(-status).name}"
        yield WorkFailed(
            error=f"The process with {snippet.cpu_devices} CPU devices ended {how}.",
            hint="What it said last is in the log.",
        )
