"""What JAX, XLA, libtpu, CUDA and PJRT say, and what to do about it: one table.

The same texts come as lines of a log, as the exception that ends a start, and as what a
single case raises. They are those of JAX 0.6 to 0.12; one that is not known means
nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from jaxtui.machine import topologies
from jaxtui.machine.hardware import Maker
from jaxtui.model import Finding, Record, Severity

Source = Literal["log", "start", "case"]
"""A line that the engine printed, an exception of JAX's start, or one of a case."""

TRANSIENT = ("slice-waits", "slow-start")
"""Findings that are over when JAX is up."""

FATAL = ("flags", "packages")
"""Findings after which the process ends, however often it is started."""

SMALLER = "Take a smaller size or a narrower dtype, or free memory on the device."
DTYPE = "Choose another dtype; `jaxtui ops` lists those of each op."
DEVICES = "All arguments of one computation must be on the same device."
ONE_VERSION = (
    "Install plugin and jaxlib of one version; `pip install -U` with the extra "
    "(jax[tpu], jax[cuda12], jax[cuda13] or jax[rocm7-local]) does."
)
GPU_MEMORY = (
    "A JAX program takes three quarters of a GPU when it starts, unless "
    "XLA_PYTHON_CLIENT_PREALLOCATE=false is set for it. Wait for it, ask its owner, or "
    "choose another GPU with CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES."
)


class Message(Record, frozen=True):
    """A known text.

    In the sentences ``{1}`` stands for the first group of the pattern, ``{case}`` and
    ``{when}`` for a case and where it failed, ``{tpu}`` and ``{cuda}`` for the command
    that installs JAX's plugin.
    """

    sources: tuple[Source, ...]
    name: str
    """One word for programs: of the finding, or what they decide by; may be empty.
    ``held`` is an accelerator that another process has, whose id is the first group;
    ``memory`` a case for which there is too little, ``unsupported`` one that compiler
    or runtime cannot do at all, ``deleted`` one whose arguments are gone."""
    pattern: str
    what: str
    advice: str
    severity: Severity = "error"
    maker: Maker | Literal[""] = ""
    """Of a fallback, as in ``Finding``."""


BOTH: tuple[Source, ...] = ("log", "start")


def _log(
    name: str,
    pattern: str,
    what: str,
    advice: str,
    severity: Severity = "error",
    maker: Maker | Literal[""] = "",
) -> Message:
    return Message(("log",), name, pattern, what, advice, severity, maker)


def _start(pattern: str, what: str, advice: str, name: str = "") -> Message:
    return Message(("start",), name, pattern, what, advice)


def _case(pattern: str, what: str, advice: str, name: str = "") -> Message:
    return Message(("case",), name, pattern, what, advice)


MESSAGES = (
    _log(
        "packages",
        r"ModuleNotFoundError: No module named '(msgspec)\b",
        "The Python that runs the engine has no {1}, which jaxtui needs beside jax.",
        "Run `PYTHON -m pip install {1}` with the Python that --python names.",
    ),
    _log(
        "fallback",
        r"A Google TPU may be present.*Falling back to (\w+)",
        "This machine seems to have a TPU, but JAX has no library for it and uses {1}.",
        'Run `pip install "jax[tpu]"` with the version of jax that is here '
        "(`pip show jax`).",
        maker="tpu",
    ),
    _log(
        "fallback",
        r"An NVIDIA GPU may be present.*Falling back to (\w+)",
        "This machine seems to have an NVIDIA GPU, but JAX has no plugin for it and "
        "uses {1}.",
        "{cuda}",
        maker="cuda",
    ),
    Message(
        BOTH,
        "gpu-memory-taken",
        r"CUDA_ERROR_OUT_OF_MEMORY|no supported devices found for platform CUDA",
        "JAX could not start on the NVIDIA GPU: it may have no memory left for it.",
        "`nvidia-smi` shows who has the memory. " + GPU_MEMORY,
    ),
    _log(
        "cuda-failed",
        r"CUDA backend failed to initialize: (.*)",
        "JAX's CUDA backend did not start, so JAX does without the NVIDIA GPU.",
        "Check that `nvidia-smi` lists the GPU; TF_CPP_MIN_LOG_LEVEL=0 makes XLA say "
        "more, which the log panel then shows.",
    ),
    _log(
        "cuda-failed",
        r"failed call to cuInit: (.*)",
        "NVIDIA's driver did not answer ({1}).",
        "Check `nvidia-smi`; after an update of the driver, restart the machine.",
    ),
    Message(
        BOTH,
        "cuda-library",
        r"Unable to load (\w+)\. Is it installed\?",
        "JAX's CUDA plugin is installed, but its library {1} is missing or does not "
        "fit.",
        "{cuda}",
    ),
    Message(
        BOTH,
        "cuda-library",
        r"Found (\w+) version (\S+), but JAX was built against version ([\w.]+)",
        "The library {1} that is found has version {2}, and JAX's CUDA plugin needs "
        "{3} or newer.",
        "The copy that is found first may be another one: `unset LD_LIBRARY_PATH`, so "
        "that the libraries of the Python packages are used. {cuda}",
    ),
    _log(
        "plugin-mismatch",
        r"JAX plugin (\S+) version (\S+) is installed, but it is not compatible with "
        r"the installed jaxlib version ([\w.]+)",
        "The plugin {1} {2} was not made for jaxlib {3}, so JAX does not use it.",
        ONE_VERSION,
    ),
    Message(
        BOTH,
        "plugin-mismatch",
        r"Mismatched PJRT plugin PJRT API version \(?([\d.]+)\)? and framework PJRT "
        r"API version \(?([\d.]+)",
        "A plugin speaks version {1} of JAX's device interface, and jaxlib speaks {2}: "
        "they were not made for each other.",
        ONE_VERSION,
    ),
    _log(
        "plugin-broken",
        r"Jax plugin configuration error: (.*)",
        "A plugin of JAX could not be set up, so JAX does without its devices.",
        "The log panel has the whole message; install the plugin again, or uninstall "
        "it if its hardware is not here.",
        "warning",
    ),
    _log(
        "slice-waits",
        r"TPU backend initialization is taking more than ([\d.]+) seconds",
        "JAX has been waiting for the TPU for {1} s; on a slice of several hosts it "
        "waits until JAX runs on all of them.",
        topologies.slice_advice(0),
        "warning",
    ),
    _log(
        "hugepages",
        r"Transparent hugepages are not enabled",
        "Transparent hugepages are not always on, which makes a TPU slow to start.",
        "`echo always | sudo tee /sys/kernel/mm/transparent_hugepage/enabled`",
        "warning",
    ),
    _log(
        "library-path",
        r"TPU_LIBRARY_PATH is set to a non-existent path: (\S+?)\.? Falling",
        "TPU_LIBRARY_PATH names {1}, which does not exist; JAX takes the libtpu that "
        "is installed.",
        "Unset TPU_LIBRARY_PATH, or set it to where libtpu.so is.",
        "warning",
    ),
    _log(
        "flags",
        r"Unknown flags? in (XLA_FLAGS|LIBTPU_INIT_ARGS|TPU_\w+): (.*)",
        "{1} has a flag that XLA does not know: {2}. XLA ends the process for that.",
        "Take it out of {1}; flags come and go with the version of jaxlib.",
    ),
    _log(
        "flags",
        r'Could not open file "(.*?)" to read flags for environment variable "(\w+)"',
        "{2} is {1!r}: XLA takes that for the name of a file, and ends the process "
        "because there is none.",
        "Flags begin with two dashes, as in {2}=--xla_cpu_enable_fast_math=false.",
    ),
    _log(
        "x64-off",
        r"Explicitly requested dtype (float64|int64|uint64|complex128).* is not "
        r"available, and will be truncated to dtype (\w+)",
        "{1} was asked for and {2} was made, because x64 is off.",
        "In a program set JAX_ENABLE_X64=1 or call "
        '`jax.config.update("jax_enable_x64", True)` first; jaxtui switches x64 on '
        "for the cases of dtype float64 alone.",
        "warning",
    ),
    _log(
        "experimental",
        r"Platform '(\w+)' is experimental",
        "JAX calls its platform {1} experimental.",
        "Some ops may not work there; a case that fails says so.",
        "info",
    ),
    # Of a start that ends.
    _start(
        r"already in use by process with pid (\d+)",
        "The TPU is in use by process {1}.",
        "Wait for it to end; `ps -o user,args -p {1}` shows what it is.",
        "held",
    ),
    _start(
        r"already in use",
        "The TPU is in use by another process, probably of another user.",
        "`sudo lsof /dev/accel* /dev/vfio/*` shows which process has it open.",
        "held",
    ),
    _start(
        r"lockfile",
        "The TPU library could not take its lock, /tmp/libtpu_lockfile, so another "
        "process probably uses the TPU.",
        "`sudo lsof /tmp/libtpu_lockfile` names the holder; only if there is none, "
        "run `sudo rm /tmp/libtpu_lockfile`.",
        "held",
    ),
    _start(
        r"libtpu\.so.*cannot open|Failed to open libtpu\.so",
        "JAX was told to use a TPU, but the TPU library libtpu is not installed.",
        "{tpu}",
    ),
    _start(
        r"No \w+ device found|No TPU devices? found",
        "JAX was told to use a TPU, but no TPU chip was found.",
        "This is no TPU VM, or the container was not given its devices "
        "(--privileged or --device).",
    ),
    _start(
        r"(/dev/[\w/]+)[^/]*(?:Operation not permitted|Permission denied)",
        "This user may not open {1}.",
        "`ls -l /dev/accel* /dev/vfio/* /dev/nvidia*` shows who may; in a container, "
        "pass the devices (--privileged or --device).",
    ),
    _start(
        r"Operation not permitted|Permission denied",
        "This user may not open the accelerator's device files.",
        "`ls -l /dev/accel* /dev/vfio/* /dev/nvidia*` shows who may; in a container, "
        "pass the devices (--privileged or --device).",
    ),
    _start(
        r"XLA_CLIENT_MEM_FRACTION is specified together",
        "XLA_CLIENT_MEM_FRACTION and XLA_PYTHON_CLIENT_MEM_FRACTION are both set, "
        "which JAX refuses: its GPU backend does not start.",
        "`unset XLA_PYTHON_CLIENT_MEM_FRACTION`: it is the old name of the other.",
        "memory-fractions",
    ),
    _start(
        r"provides no devices",
        "JAX's backend started, but it has no devices.",
        "CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES or TPU_VISIBLE_CHIPS may hide all "
        "of them.",
    ),
    # Of a case.
    _case(
        r"CompileTimeHbmOom.*?required for \S+ ?\w* ?\(([^)]+)\) exceeds"
        r" available HBM \(([^)]+)\)",
        "{case} needs {1} of device memory; the device has {2}, says the compiler.",
        SMALLER,
        "memory",
    ),
    _case(
        r"CompileTimeHbmOom.*?Used (\S+) of (\S+) hbm",
        "{case} needs {1} of device memory; the device has {2}, says the compiler.",
        SMALLER,
        "memory",
    ),
    _case(
        r"Attempting to allocate (\S+?)\. .*?There are (\S+) free",
        "{case} ran out of device memory {when}: it asked for {1}, {2} were free.",
        SMALLER,
        "memory",
    ),
    _case(
        r"Out of memory (?:while trying to allocate|allocating) (\d+) bytes",
        "{case} ran out of memory {when}: it asked for {gigabytes:.1f} GB.",
        SMALLER,
        "memory",
    ),
    _case(
        r"Unable to allocate ([\d.]+ \w+)",
        "{case} ran out of host memory {when}: it asked for {1}.",
        "Take a smaller size: inputs and the float64 reference live on the host.",
        "memory",
    ),
    _case(
        r"CompileTimeHbmOom|RESOURCE_EXHAUSTED|^MemoryError|Out of memory"
        r"|Attempting to allocate|Unable to allocate",
        "{case} ran out of memory {when}.",
        SMALLER,
        "memory",
    ),
    _case(
        r"Received incompatible devices.*?device ids \[(\d+)\].*?device ids \[(\d+)\]",
        "{case} got arguments on two devices, {1} and {2}.",
        DEVICES,
    ),
    _case(
        r"Received incompatible devices",
        "{case} got arguments on several devices.",
        DEVICES,
    ),
    _case(
        r"Disallowed (\S+)-to-(\S+) transfer",
        "{case} moved data from {1} to {2} inside the timed call, which was forbidden.",
        "Some argument was not on the device; choose inputs=host to time transfers.",
    ),
    _case(
        r"^TypeError: (\w+) does not accept dtype (\w+).*?Accepted dtypes.*? are"
        r" (?:subtypes of )?([^.]+)\.",
        "{case} cannot run: JAX's {1} does not accept {2}, only {3}.",
        DTYPE,
    ),
    _case(
        r"^(?:TypeError|ValueError|TypePromotionError): .*dtype",
        "{case} cannot run: JAX refuses its dtype.",
        DTYPE,
    ),
    _case(
        r"precision '(\w+)' is not supported by dot_general on (\w+)",
        "{case} cannot run: precision {1} is not supported on {2}.",
        "Choose the precision default.",
        "unsupported",
    ),
    _case(
        r"Mosaic failed to compile TPU kernel",
        "{case} cannot run: the TPU's compiler for kernels refuses it.",
        "Choose float32 or bfloat16, or the mode jit.",
        "unsupported",
    ),
    _case(
        r"UNIMPLEMENTED|NotImplementedError",
        "{case} cannot run: the device's compiler or runtime does not implement it.",
        "Choose another dtype, precision or device.",
        "unsupported",
    ),
    _case(
        r"has been (?:deleted|donated)|buffer.*donated",
        "{case} used an array that had been freed.",
        "This is a fault of jaxtui; please report it with the original text.",
        "deleted",
    ),
)
"""The first that fits counts."""


class Found(NamedTuple):
    message: Message
    what: str
    advice: str
    groups: tuple[str, ...]
    """Of the pattern; the first is all that it matched."""


def find(
    text: str, source: Source, jax: str | None = None, **words: str
) -> Found | None:
    """The message that a text is, with its two sentences; ``None`` for all others.

    Args:
        text: a line of a log; an exception's type and text.
        source: where it comes from.
        jax: the version that is installed, where that is known.
        words: what the sentences need besides.
    """
    flags = re.DOTALL if source == "case" else 0
    for message in MESSAGES:
        if source in message.sources and (
            found := re.search(message.pattern, text, flags)
        ):
            groups = (found[0], *(group or "" for group in found.groups()))
            number = groups[1] if len(groups) > 1 else ""
            gigabytes = int(number) / 1e9 if number.isdigit() else 0.0
            values: Mapping[str, str | float] = {
                **words,
                "gigabytes": gigabytes,
                "tpu": install("tpu", jax),
                "cuda": f"{install('cuda', jax)} It brings libraries, plugin and "
                "jaxlib of one version.",
            }
            what = message.what.format(*groups, **values)
            advice = message.advice.format(*groups, **values)
            return Found(message, what, advice, groups)
    return None


def kind_of(text: str) -> str:
    """The name of what a case raised, as in ``Message``; empty for all others."""
    found = find(text, "case", case="", when="")
    return found.message.name if found else ""


def from_log(line: str) -> Finding | None:
    """What a line of the engine's output means for whoever waits for JAX.

    Its text is kept whole. ``None`` for all that is not known.
    """
    if (found := find(line, "log")) is None:
        return None
    return Finding(
        name=found.message.name,
        severity=found.message.severity,
        what=found.what,
        how="JAX says so in its log.",
        advice=found.advice,
        detail=line.strip(),
        maker=found.message.maker,
    )


def finding(name: str, how: str) -> Finding:
    """A message of which this machine shows the cause, before JAX says it."""
    message = next(one for one in MESSAGES if one.name == name)
    return Finding(
        name=name,
        severity=message.severity,
        what=message.what,
        how=how,
        advice=message.advice,
    )


EXTRAS = {"tpu": "tpu", "cuda": "cuda12", "rocm": "rocm7-local"}
"""Of the package jax, by maker of the accelerator."""


_FATAL = re.compile(r"^F\d{4} [\d:.]+ +\d+ (\S+:\d+\] .*)")
"""How absl prints the check whose failure ends a process."""


def last_words(log: Sequence[str], lines: int = 3) -> str:
    """What a process that died printed: the check that failed, or the last lines."""
    fatal = [found[1] for line in log if (found := _FATAL.match(line))]
    # Every thread that fails the same check says so.
    return " ".join([*dict.fromkeys(fatal or map(str.strip, log))][-lines:])


def install(maker: str, jax: str | None) -> str:
    """How to install what lets JAX use an accelerator, and leave jax as it is."""
    version = f"=={jax}" if jax else ""
    command = f'Run `pip install "jax[{EXTRAS[maker]}]{version}"`'
    if maker == "cuda":
        return f"{command}, or with cuda13 if the driver is 580 or newer."
    return f"{command}."
