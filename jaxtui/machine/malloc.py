"""glibc's malloc: where the memory of results comes from, and how to choose it.

A result of more than 128 KiB may get new pages in every call or those of the last one,
by what the process freed before: glibc adjusts its thresholds as blocks are freed
(mallopt(3), ``M_MMAP_THRESHOLD``). Any setting turns that off for good, so a process
in which one was made is no plain one any more.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from functools import cache
from typing import Literal, get_args

from jaxtui.core.model import Remark

End = Literal["fresh", "reused"]
"""New pages in every call, or those of the call before."""

ENDS: tuple[End, ...] = get_args(End)

ALLOCATES_BYTES = 128 * 1024
"""glibc's first threshold: a smaller block never gets pages of its own."""

ENVIRONMENT: dict[End, dict[str, str]] = {
    "fresh": {
        "MALLOC_MMAP_THRESHOLD_": str(ALLOCATES_BYTES),
        "MALLOC_TRIM_THRESHOLD_": str(ALLOCATES_BYTES),
    },
    # One arena, because XLA's threads would free into heaps of their own, which hold
    # 64 MiB at most; and a top that is larger than what one call needs.
    "reused": {"MALLOC_ARENA_MAX": "1", "MALLOC_TOP_PAD_": str(1 << 30)},
}
"""Environment variables that give a process one end on purpose. Tried with plain
scripts (glibc 2.36, NumPy 2.4, jax 0.10.2): 0 and 980 page faults a call for NumPy's
sigmoid of 250,000 float32, 0 and 15,626 for XLA's copy of 16,000,000."""


def setting(end: End) -> str:
    """The environment of an end as a shell takes it."""
    return " ".join(f"{name}={value}" for name, value in ENVIRONMENT[end].items())


def environment(end: End) -> dict[str, str | None]:
    """Return the changes to this environment that give a process one end.

    ``None`` takes a variable away: what was set before must not contradict it.
    """
    tunables = os.environ.get(_TUNABLES, "").split(":")
    kept = ":".join(
        tunable for tunable in tunables if not tunable.startswith(_OF_MALLOC)
    )
    unset: dict[str, str | None] = dict.fromkeys(settings())
    return unset | {_TUNABLES: kept or None} | ENVIRONMENT[end]


@cache
def why_unknown() -> str:
    """Return the code of why this process's malloc is unknown; empty for glibc's.

    With jemalloc, tcmalloc or mimalloc in ``LD_PRELOAD`` it is not glibc's malloc that
    serves.
    """
    if sys.platform != "linux" or "CS_GNU_LIBC_VERSION" not in os.confstr_names:
        return "no-glibc"
    try:
        ours, theirs = ctypes.CDLL(None).malloc, ctypes.CDLL("libc.so.6").malloc
    except (OSError, AttributeError):
        return "no-glibc"
    addresses = [
        ctypes.cast(function, ctypes.c_void_p).value for function in (ours, theirs)
    ]
    return "preloaded" if addresses[0] != addresses[1] else ""


def chosen_end() -> End | None:
    """The end that this process has by its environment, if that chooses one."""
    return None if why_unknown() else _end_of_environment()


def _end_of_environment() -> End | None:
    for end, variables in ENVIRONMENT.items():
        if variables.items() <= os.environ.items():
            return end
    return None


_TUNABLES, _OF_MALLOC = "GLIBC_TUNABLES", "glibc.malloc."


def settings() -> dict[str, str]:
    """Return the environment's settings of malloc, by name."""
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if (name.startswith("MALLOC_") and name != "MALLOC_PERTURB_")
        or (name == _TUNABLES and _OF_MALLOC in value)
    }


def remarks() -> Iterator[Remark]:
    """Yield a remark where the requested malloc is not available."""
    if (end := _end_of_environment()) and (why := why_unknown()):
        yield Remark("malloc-unknown", {"end": end, "because": why}, "warning")
