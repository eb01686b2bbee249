"""Messages of JAX, XLA, libtpu, CUDA and PJRT on a first day: patterns, and their
codes.

The same texts come as lines of a log, as the exception that ends a start, and as what a
single case raises. They are those of JAX 0.6 to 0.12; one that is not known means
nothing here, and is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from jaxtui.core.model import Remark
from jaxtui.core.model.remark import Fact

Source = Literal["log", "start", "flag", "case"]
"""A line that the engine printed, an exception of JAX's start, what XLA says of its
flags wherever that is, an exception of a case."""

TRANSIENT = ("hosts-awaited", "slow-start")
"""Codes of what is over when JAX is up."""

UNSUPPORTED = "unsupported"
"""The code of what a compiler or runtime cannot do at all."""


class Message(NamedTuple):
    code: str
    sources: tuple[Source, ...]
    pattern: str
    """The pattern, whose groups are facts; compiled on first use: most never are."""
    facts: Mapping[str, Fact] = {}
    """Facts of every such text."""


LOG: tuple[Source, ...] = ("log",)
START: tuple[Source, ...] = ("start",)
BOTH: tuple[Source, ...] = ("log", "start")
FLAG: tuple[Source, ...] = ("flag",)
CASE: tuple[Source, ...] = ("case",)

MESSAGES = (
    Message(
        "package-missing",
        LOG,
        r"ModuleNotFoundError: No module named '(?P<package>msgspec)\b",
    ),
    Message(
        "fallback",
        LOG,
        r"A Google TPU may be present.*Falling back to (?P<uses>\w+)",
        {"maker": "tpu"},
    ),
    Message(
        "fallback",
        LOG,
        r"An NVIDIA GPU may be present.*Falling back to (?P<uses>\w+)",
        {"maker": "cuda"},
    ),
    Message(
        "gpu-memory-taken",
        BOTH,
        r"CUDA_ERROR_OUT_OF_MEMORY|no supported devices found for platform CUDA",
    ),
    Message(
        "cuda-failed",
        LOG,
        r"(?:CUDA backend failed to initialize|failed call to cuInit): (?P<error>.*)",
    ),
    Message(
        "cuda-library",
        BOTH,
        r"(?P<error>Unable to load \w+\. Is it installed\?"
        r"|Found \w+ version \S+, but JAX was built against version \w[\w.]*)",
    ),
    Message(
        "plugin-mismatch",
        BOTH,
        r"(?P<error>JAX plugin \S+ version \S+ is installed, but it is not compatible"
        r" with the installed jaxlib version [\w.]+"
        r"|Mismatched PJRT plugin PJRT API version .* and framework PJRT API"
        r" version \(?[\d.]+)",
    ),
    # Of a start that ends.
    Message(
        "held",
        START,
        r"already in use(?: by process with pid (?P<pid>\d+))?",
    ),
    Message("held", START, r"lockfile", {"lock": True}),
    Message(
        "libtpu-missing", START, r"libtpu\.so.*cannot open|Failed to open libtpu\.so"
    ),
    Message("no-tpu", START, r"No \w+ device found|No TPU devices? found"),
    Message(
        "permission",
        START,
        r"(?:(?P<path>/dev/[\w/]+)[^/]*)?"
        r"(?:Operation not permitted|Permission denied)",
    ),
    # Of a flag.
    Message(
        "flag-unknown",
        FLAG,
        r"Unknown flags? in (?P<variable>\w+): (?P<flags>.*)",
    ),
    Message(
        "flag-unknown",
        FLAG,
        r"Unknown command line flag '(?P<flags>\S+?)'",
        {"variable": "LIBTPU_INIT_ARGS"},
    ),
    Message(
        "flag-value",
        FLAG,
        r"Couldn't interpret value (?P<value>.*) for flag (?P<flag>\w+)",
    ),
    Message(
        "flag-unreadable",
        FLAG,
        r'Could not open file "(?P<flag>.*?)" to read flags.*?"(?P<variable>\w+)"',
    ),
    # Of a case.
    Message(
        "out-of-memory",
        CASE,
        r"(?s)CompileTimeHbmOom.*?(?:required for \S+ ?\w* ?\(|Used )(?P<asked>[^) ]+)"
        r"(?:\) exceeds available HBM \(| of )(?P<free>[^) ]+)",
        {"found_by": "compiler"},
    ),
    Message(
        "out-of-memory",
        CASE,
        r"(?s)Attempting to allocate (?P<asked>\S+?)\. .*?There are (?P<free>\S+) free",
    ),
    Message(
        "out-of-memory",
        CASE,
        r"Out of memory (?:while trying to allocate|allocating) (?P<bytes>\d+) bytes",
    ),
    Message(
        "out-of-memory",
        CASE,
        r"Unable to allocate (?P<asked>[\d.]+ \w+)",
        {"found_by": "host"},
    ),
    Message(
        "out-of-memory",
        CASE,
        r"CompileTimeHbmOom|RESOURCE_EXHAUSTED|^MemoryError|Out of memory"
        r"|Attempting to allocate|Unable to allocate",
    ),
    Message(
        "dtype-unsupported",
        CASE,
        r"(?s)^(?:TypeError|ValueError|TypePromotionError):"
        r" (?=.*dtype)(?P<error>[^\n]*)",
    ),
    Message(
        "unsupported",
        CASE,
        r"precision '\w+' is not supported|Mosaic failed to compile TPU kernel"
        r"|UNIMPLEMENTED|NotImplementedError",
    ),
    Message(
        "no-kernel-image",
        CASE,
        r"no kernel image is available|cudaErrorNoKernelImageForDevice",
    ),
    Message(
        "array-deleted",
        CASE,
        r"(?s)has been (?:deleted|donated)|buffer.*donated",
    ),
)
"""The first that fits counts."""


def find(text: str, source: Source) -> Remark | None:
    """Return the remark of a text, which is kept as the detail; ``None`` for all
    others.

    Args:
        text: a line of a log; an exception's type and text.
        source: where it comes from.
    """
    for message in MESSAGES:
        if source in message.sources and (match := re.search(message.pattern, text)):
            facts = dict(message.facts)
            for name, group in match.groupdict().items():
                if group is not None:
                    facts[name] = int(group) if group.isdigit() else group
            return Remark(message.code, facts, "error", text.strip())
    return None


_SILENT = r"unhealthy \(stopped sending heartbeats\):?\s*((?:\S*task:)?\d+)"


def lost_processes(log: str) -> Remark | None:
    """Return the process that is gone, from jaxlib's last lines before it aborts."""
    if match := re.search(_SILENT, log):
        process = int(match[1].rpartition(":")[2])
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
    buffers = []
    for size, between, shape in _BUFFER.findall(text)[:_MOST_BUFFERS]:
        where = ""
        if line := _LINE.search(between):
            where = f" ({line[1].rpartition('/')[2]}:{line[2]})"
        elif operator := _OPERATOR.search(between):
            where = f" ({operator[1]})"
        buffers.append(f"{size} {shape.partition('{')[0]}{where}")
    return tuple(buffers)


def kind_of(text: str) -> str:
    """The code of what a case raised; empty for what is not known."""
    remark = find(text, "case")
    return remark.code if remark else ""


_FATAL = r"^(?:F\d{4} [\d:.]+ +\d+|[\d-]+ [\d:.]+: F) (\S+:\d+\] .*)"
"""The line that absl, and XLA before jaxlib 0.7, print for a failed check."""

FAULT = "Fatal Python error: "
"""The first line of faulthandler; where Python was and its list of modules follow."""


def last_words(log: Iterable[str]) -> str:
    """Return the failed check of a process that died, or its last lines."""
    log = [*log]
    ends = [index + 1 for index, line in enumerate(log) if line.startswith(FAULT)]
    log = log[: ends[0]] if ends else log
    fatal = [match[1] for line in log if (match := re.match(_FATAL, line))]
    # Every thread that fails the same check says so.
    return " ".join([*dict.fromkeys(fatal or map(str.strip, log))][-3:])
