"""What JAX, XLA, libtpu, CUDA and PJRT say on a first day: patterns, and their codes.

The same texts come as lines of a log, as the exception that ends a start, and as what a
single case raises. They are those of JAX 0.6 to 0.12; one that is not known means
nothing here, and is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

import msgspec

from jaxtui.model import Remark
from jaxtui.model.remark import Fact

Source = Literal["log", "start", "case"]
"""A line that the engine printed, an exception of JAX's start, or one of a case."""

TRANSIENT = ("hosts-awaited", "slice-waits", "slow-start")
"""Codes of what is over when JAX is up."""

UNSUPPORTED = ("unsupported", "precision-unsupported")
"""Codes of what a compiler or runtime cannot do at all."""


class Message(NamedTuple):
    sources: tuple[Source, ...]
    remark: Remark
    """With the facts that every such text has."""
    pattern: str
    """Compiled when it is first looked for: most never are."""
    names: tuple[str, ...] = ()
    """The facts that its groups are; digits alone are a number."""


LOG: tuple[Source, ...] = ("log",)
START: tuple[Source, ...] = ("start",)
BOTH: tuple[Source, ...] = ("log", "start")
CASE: tuple[Source, ...] = ("case",)

MESSAGES = (
    Message(
        LOG,
        Remark("package-missing", severity="error"),
        r"ModuleNotFoundError: No module named '(msgspec)\b",
        ("package",),
    ),
    Message(
        LOG,
        Remark("fallback", {"maker": "tpu"}, "error"),
        r"A Google TPU may be present.*Falling back to (\w+)",
        ("uses",),
    ),
    Message(
        LOG,
        Remark("fallback", {"maker": "cuda"}, "error"),
        r"An NVIDIA GPU may be present.*Falling back to (\w+)",
        ("uses",),
    ),
    Message(
        BOTH,
        Remark("gpu-memory-taken", severity="error"),
        r"CUDA_ERROR_OUT_OF_MEMORY|no supported devices found for platform CUDA",
    ),
    Message(
        LOG,
        Remark("cuda-failed", severity="error"),
        r"CUDA backend failed to initialize: (.*)",
        ("error",),
    ),
    Message(
        LOG,
        Remark("cuda-failed", severity="error"),
        r"failed call to cuInit: (.*)",
        ("error",),
    ),
    Message(
        BOTH,
        Remark("cuda-library", severity="error"),
        r"Unable to load (\w+)\. Is it installed\?",
        ("library",),
    ),
    Message(
        BOTH,
        Remark("cuda-library", severity="error"),
        r"Found (\w+) version (\S+), but JAX was built against version ([\w.]+)",
        ("library", "version", "needed"),
    ),
    Message(
        LOG,
        Remark("plugin-mismatch", {"partner": "jaxlib"}, "error"),
        (
            r"JAX plugin (\S+) version (\S+) is installed, but it is not compatible"
            r" with the installed jaxlib version ([\w.]+)"
        ),
        ("plugin", "version", "partner_version"),
    ),
    Message(
        BOTH,
        Remark("plugin-api-mismatch", severity="error"),
        (
            r"Mismatched PJRT plugin PJRT API version \(?([\d.]+)\)? and framework"
            r" PJRT API version \(?([\d.]+)"
        ),
        ("plugin_api", "jaxlib_api"),
    ),
    Message(
        LOG,
        Remark("slice-waits", severity="warning"),
        r"TPU backend initialization is taking more than (\d+)[\d.]* seconds",
        ("seconds",),
    ),
    # Of a start that ends.
    Message(
        START,
        Remark("held", severity="error"),
        r"already in use by process with pid (\d+)",
        ("pid",),
    ),
    Message(START, Remark("held", severity="error"), r"already in use"),
    Message(START, Remark("held", {"lock": True}, "error"), r"lockfile"),
    Message(
        START,
        Remark("libtpu-missing", severity="error"),
        r"libtpu\.so.*cannot open|Failed to open libtpu\.so",
    ),
    Message(
        START,
        Remark("no-tpu", severity="error"),
        r"No \w+ device found|No TPU devices? found",
    ),
    Message(
        START,
        Remark("permission", severity="error"),
        r"(/dev/[\w/]+)[^/]*(?:Operation not permitted|Permission denied)",
        ("path",),
    ),
    Message(
        START,
        Remark("permission", severity="error"),
        r"Operation not permitted|Permission denied",
    ),
    # Of a case.
    Message(
        CASE,
        Remark("out-of-memory", {"found_by": "compiler"}, "error"),
        (
            r"(?s)CompileTimeHbmOom.*?required for \S+ ?\w* ?\(([^)]+)\) exceeds"
            r" available HBM \(([^)]+)\)"
        ),
        ("asked", "free"),
    ),
    Message(
        CASE,
        Remark("out-of-memory", {"found_by": "compiler"}, "error"),
        r"(?s)CompileTimeHbmOom.*?Used (\S+) of (\S+) hbm",
        ("asked", "free"),
    ),
    Message(
        CASE,
        Remark("out-of-memory", {"found_by": "device"}, "error"),
        r"(?s)Attempting to allocate (\S+?)\. .*?There are (\S+) free",
        ("asked", "free"),
    ),
    Message(
        CASE,
        Remark("out-of-memory", severity="error"),
        r"(?s)Out of memory (?:while trying to allocate|allocating) (\d+) bytes",
        ("bytes",),
    ),
    Message(
        CASE,
        Remark("out-of-memory", {"found_by": "host"}, "error"),
        r"(?s)Unable to allocate ([\d.]+ \w+)",
        ("asked",),
    ),
    Message(
        CASE,
        Remark("out-of-memory", severity="error"),
        (
            r"(?s)CompileTimeHbmOom|RESOURCE_EXHAUSTED|^MemoryError|Out of memory"
            r"|Attempting to allocate|Unable to allocate"
        ),
    ),
    Message(
        CASE,
        Remark("dtype-unsupported", severity="error"),
        (
            r"(?s)^TypeError: (\w+) does not accept dtype (\w+).*?Accepted dtypes.*?"
            r" are (?:subtypes of )?([^.]+)\."
        ),
        ("function", "dtype", "accepted"),
    ),
    Message(
        CASE,
        Remark("dtype-unsupported", severity="error"),
        r"(?s)^(?:TypeError|ValueError|TypePromotionError): .*dtype",
    ),
    Message(
        CASE,
        Remark("precision-unsupported", severity="error"),
        r"(?s)precision '(\w+)' is not supported by dot_general on (\w+)",
        ("precision", "platform"),
    ),
    Message(
        CASE,
        Remark("no-kernel-image", severity="error"),
        r"(?s)no kernel image is available|cudaErrorNoKernelImageForDevice",
    ),
    Message(
        CASE,
        Remark("unsupported", {"by": "mosaic"}, "error"),
        r"(?s)Mosaic failed to compile TPU kernel",
    ),
    Message(
        CASE,
        Remark("unsupported", severity="error"),
        r"(?s)UNIMPLEMENTED|NotImplementedError",
    ),
    Message(
        CASE,
        Remark("array-deleted", severity="error"),
        r"(?s)has been (?:deleted|donated)|buffer.*donated",
    ),
)
"""The first that fits counts."""


def find(text: str, source: Source) -> Remark | None:
    """What a text says, which is kept as the detail; ``None`` for all others.

    Args:
        text: a line of a log; an exception's type and text.
        source: where it comes from.
    """
    for message in MESSAGES:
        if source in message.sources and (found := re.search(message.pattern, text)):
            facts: dict[str, Fact] = {
                name: int(group) if group.isdigit() else group
                for name, group in zip(message.names, found.groups(), strict=True)
            }
            return msgspec.structs.replace(
                message.remark,
                facts={**message.remark.facts, **facts},
                detail=text.strip(),
            )
    return None


_SILENT = r"unhealthy \(stopped sending heartbeats\):?\s*((?:\S*task:)?\d+)"


def lost_processes(log: str) -> Remark | None:
    """Which process is gone, as jaxlib says in its last lines before it aborts."""
    if found := re.search(_SILENT, log):
        process = int(found[1].rpartition(":")[2])
        return Remark("host-lost", {"process": process}, "error")
    leaderless = re.search(
        r"Either the leader task|Failed to send RPC to coordination"
        r"|RPC: \S*CoordinationService/Heartbeat",
        log,
    )
    if leaderless:
        return Remark("leader-lost", {"process": 0}, "error")
    return None


_BUFFER = re.compile(r"Size: (\S+)\s(.*?)[Ss]hape: (\S+)", re.DOTALL)
_LINE = re.compile(r'source_file="([^"]*)" source_line=(\d+)')
_OPERATOR = re.compile(r'op_name="([^"]*)"')
_MOST_BUFFERS = 3


def largest_buffers(text: str) -> tuple[str, ...]:
    """The largest buffers of a program that has no room, as XLA lists them for a GPU
    and a TPU: ``1.00GiB f32[16384,16384] (train.py:12)``.
    """
    found = []
    for size, between, shape in _BUFFER.findall(text)[:_MOST_BUFFERS]:
        where = ""
        if line := _LINE.search(between):
            where = f" ({line[1].rpartition('/')[2]}:{line[2]})"
        elif operator := _OPERATOR.search(between):
            where = f" ({operator[1]})"
        found.append(f"{size} {shape.partition('{')[0]}{where}")
    return tuple(found)


def kind_of(text: str) -> str:
    """The code of what a case raised; empty for what is not known."""
    remark = find(text, "case")
    return remark.code if remark else ""


_FATAL = r"^(?:F\d{4} [\d:.]+ +\d+|[\d-]+ [\d:.]+: F) (\S+:\d+\] .*)"
"""How absl, and XLA before jaxlib 0.7, print the check whose failure ends a process."""

FAULT = "Fatal Python error: "
"""What faulthandler prints first; where Python was and its list of modules follow."""


def last_words(log: Iterable[str]) -> str:
    """What a process that died printed: the check that failed, or the last lines."""
    log = [*log]
    ends = [index + 1 for index, line in enumerate(log) if line.startswith(FAULT)]
    log = log[: ends[0]] if ends else log
    fatal = [match[1] for line in log if (match := re.match(_FATAL, line))]
    # Every thread that fails the same check says so.
    return " ".join([*dict.fromkeys(fatal or map(str.strip, log))][-3:])
