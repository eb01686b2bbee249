"""What JAX, XLA and libtpu print on standard error, understood.

They say the most important things there and go on without the accelerator. The texts
are those of JAX 0.6 to 0.12; a line that is not known means nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from jaxtui.machine import slices
from jaxtui.model import Finding, Record, Severity

TRANSIENT = ("slice-waits", "slow-start")
"""Findings that are over when JAX is up."""

FATAL = ("flags",)
"""Findings after which the process ends, however often it is started."""

_HOW = "JAX says so in its log."


class _Line(Record, frozen=True):
    """One known line."""

    name: str
    severity: Severity
    pattern: str
    """Compiled when the first line comes: the first frame shall not wait for it."""
    what: Callable[[re.Match[str]], str]
    advice: Callable[[re.Match[str]], str]


def from_log(line: str) -> Finding | None:
    """What a line of the engine's output means for whoever waits for JAX.

    Its text is kept whole. ``None`` for all that is not known.
    """
    for known in _LINES:
        if match := re.search(known.pattern, line):
            return Finding(
                name=known.name,
                severity=known.severity,
                what=known.what(match),
                how=_HOW,
                advice=known.advice(match),
                detail=line.strip(),
            )
    return None


def _line(
    name: str,
    severity: Severity,
    pattern: str,
    what: str | Callable[[re.Match[str]], str],
    advice: str | Callable[[re.Match[str]], str],
) -> _Line:
    """A known line; ``{1}`` in a sentence stands for the first group of the pattern."""
    return _Line(name, severity, pattern, _filled(what), _filled(advice))


def _filled(
    sentence: str | Callable[[re.Match[str]], str],
) -> Callable[[re.Match[str]], str]:
    if isinstance(sentence, str):
        return lambda match: sentence.format(match[0], *match.groups(""))
    return sentence


def _cuda_failed(match: re.Match[str]) -> str:
    if "no supported devices" in match[1] or "OUT_OF_MEMORY" in match[1]:
        return (
            "JAX could not start on the NVIDIA GPU: it may have no memory left for it."
        )
    return "JAX's CUDA backend did not start, so JAX does without the NVIDIA GPU."


def _cuda_advice(match: re.Match[str]) -> str:
    if "no supported devices" in match[1] or "OUT_OF_MEMORY" in match[1]:
        return (
            "`nvidia-smi` shows who has the memory: a JAX program takes three quarters "
            "when it starts, unless XLA_PYTHON_CLIENT_PREALLOCATE=false is set for it. "
            "Wait for it, or choose another GPU with CUDA_VISIBLE_DEVICES."
        )
    return (
        "Check that `nvidia-smi` lists the GPU; TF_CPP_MIN_LOG_LEVEL=0 makes XLA say "
        "more, which the log panel then shows."
    )


_INSTALL_CUDA = (
    'Run `pip install -U "jax[cuda12]"`, or with cuda13 if the driver is 580 or newer; '
    "it brings libraries, plugin and jaxlib of one version."
)

_LIBRARY_PATH = (
    "The copy that is found first may be another one: `unset LD_LIBRARY_PATH`, so that "
    "the libraries of the Python packages are used. "
)

_LINES = (
    _line(
        "fallback",
        "error",
        r"A Google TPU may be present.*Falling back to (\w+)",
        "This machine seems to have a TPU, but JAX has no library for it and uses {1}.",
        'Run `pip install "jax[tpu]"` with the version of jax that is here '
        "(`pip show jax`).",
    ),
    _line(
        "fallback",
        "error",
        r"An NVIDIA GPU may be present.*Falling back to (\w+)",
        "This machine seems to have an NVIDIA GPU, but JAX has no plugin for it and "
        "uses {1}.",
        _INSTALL_CUDA,
    ),
    _line(
        "cuda-failed",
        "error",
        r"CUDA backend failed to initialize: (.*)",
        _cuda_failed,
        _cuda_advice,
    ),
    _line(
        "gpu-memory-taken",
        "error",
        r"(CUDA_ERROR_OUT_OF_MEMORY.*)",
        "The GPU has too little memory left for JAX to start on it.",
        "`nvidia-smi` shows who has it: a JAX program takes three quarters when it "
        "starts. Wait for it, or choose another GPU with CUDA_VISIBLE_DEVICES.",
    ),
    _line(
        "cuda-failed",
        "error",
        r"failed call to cuInit: (.*)",
        "NVIDIA's driver did not answer ({1}).",
        "Check `nvidia-smi`; after an update of the driver, restart the machine.",
    ),
    _line(
        "cuda-library",
        "error",
        r"Unable to load (\w+)\. Is it installed\?",
        "JAX's CUDA plugin is installed, but its library {1} is missing or does not "
        "fit, so JAX does without the GPU.",
        _INSTALL_CUDA,
    ),
    _line(
        "cuda-library",
        "error",
        r"Found (\w+) version (\S+), but JAX was built against version (\S+), which",
        "The library {1} that is found has version {2}, and JAX needs {3} or newer, so "
        "JAX does without the GPU.",
        _LIBRARY_PATH + _INSTALL_CUDA,
    ),
    _line(
        "plugin-mismatch",
        "error",
        r"JAX plugin (\S+) version (\S+) is installed, but it is not compatible with "
        r"the installed jaxlib version ([\w.]+)",
        "The plugin {1} {2} was not made for jaxlib {3}, so JAX does not use it.",
        "Install plugin and jaxlib of one version; `pip install -U` with the extra "
        "(jax[cuda12], jax[cuda13] or jax[rocm7-local]) does.",
    ),
    _line(
        "plugin-mismatch",
        "error",
        r"Mismatched PJRT plugin PJRT API version \(?([\d.]+)\)? and framework PJRT "
        r"API version \(?([\d.]+)",
        "A plugin speaks version {1} of JAX's device interface, and jaxlib speaks {2}: "
        "they were not made for each other.",
        "Install plugin and jaxlib of one version; `pip install -U` with the extra "
        "(jax[tpu], jax[cuda12] or jax[cuda13]) does.",
    ),
    _line(
        "plugin-broken",
        "warning",
        r"Jax plugin configuration error: (.*)",
        "A plugin of JAX could not be set up, so JAX does without its devices.",
        "The log panel has the whole message; install the plugin again, or uninstall "
        "it if its hardware is not here.",
    ),
    _line(
        "slice-waits",
        "warning",
        r"TPU backend initialization is taking more than ([\d.]+) seconds",
        "JAX has been waiting for the TPU for {1} s; on a slice of several hosts it "
        "waits until JAX runs on all of them.",
        slices.advice(0),
    ),
    _line(
        "hugepages",
        "warning",
        r"Transparent hugepages are not enabled",
        "Transparent hugepages are not always on, which makes a TPU slow to start.",
        "`echo always | sudo tee /sys/kernel/mm/transparent_hugepage/enabled`",
    ),
    _line(
        "library-path",
        "warning",
        r"TPU_LIBRARY_PATH is set to a non-existent path: (\S+?)\.? Falling",
        "TPU_LIBRARY_PATH names {1}, which does not exist; JAX takes the libtpu that "
        "is installed.",
        "Unset TPU_LIBRARY_PATH, or set it to where libtpu.so is.",
    ),
    _line(
        "flags",
        "error",
        r"Unknown flags? in (XLA_FLAGS|LIBTPU_INIT_ARGS|TPU_\w+): (.*)",
        "{1} has a flag that XLA does not know: {2}. XLA ends the process for that.",
        "Take it out of {1}; flags come and go with the version of jaxlib.",
    ),
    _line(
        "flags",
        "error",
        r'Could not open file "(.*?)" to read flags for environment variable "(\w+)"',
        "{2} is {1!r}: XLA takes that for the name of a file, and ends the process "
        "because there is none.",
        "Flags begin with two dashes, as in {2}=--xla_cpu_enable_fast_math=false.",
    ),
    _line(
        "x64-off",
        "warning",
        r"Explicitly requested dtype (float64|int64|uint64|complex128).* is not "
        r"available, and will be truncated to dtype (\w+)",
        "{1} was asked for and {2} was made, because x64 is off.",
        "In a program set JAX_ENABLE_X64=1 or call "
        '`jax.config.update("jax_enable_x64", True)` first; jaxtui switches x64 on '
        "for the cases of dtype float64 alone.",
    ),
    _line(
        "experimental",
        "info",
        r"Platform '(\w+)' is experimental",
        "JAX calls its platform {1} experimental.",
        "Some ops may not work there; a case that fails says so.",
    ),
)
