"""The facts about the host that a measurement depends on, and its free memory."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import re
import socket
from pathlib import Path

import jax
import numpy as np

from jaxtui.core.model import Host
from jaxtui.machine import limits, malloc, packages
from jaxtui.machine.hardware import read_text
from jaxtui.tasks import settings
from jaxtui.tasks.devices import probe

PREFIXES = ("JAX_", "JAXTUI_", "XLA_", "TPU_", "LIBTPU_", "MEGASCALE_", "NCCL_")
"""Variables whose names begin like this change what JAX does."""

VARIABLES = frozenset(
    {
        "CUDA_VISIBLE_DEVICES",
        "GLIBC_TUNABLES",
        "HIP_VISIBLE_DEVICES",
        "MKL_NUM_THREADS",
        "NPROC",
        "NVIDIA_TF32_OVERRIDE",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "ROCR_VISIBLE_DEVICES",
    }
)
"""Other variables that decide devices, threads or allocation."""

MEMORY = Path("/proc/meminfo")


def host() -> Host:
    """The host's facts; starts the backend if it has not started yet."""
    version = probe(lambda: jax.devices()[0].client.platform_version)
    lines = str(version or "").splitlines()
    return Host(
        hostname=socket.gethostname(),
        python=platform.python_version(),
        jax=jax.__version__,
        jaxlib=importlib.metadata.version("jaxlib"),
        numpy=np.__version__,
        platform_version=lines[0] if lines else "",
        cpu_model=_cpu_model(),
        cpu_count=os.cpu_count(),
        usable_cores=limits.cores(),
        plugins={**packages.installed().plugins},
        memory_bytes=_total_memory(),
        environment={
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith(PREFIXES) or name in VARIABLES
        },
        settings={setting.name: setting.value for setting in settings.deviations()}
        | malloc.settings(),
    )


def available_host_bytes() -> int | None:
    """Host memory that a new allocation may use, limits of this process respected.

    What malloc keeps of this process's own arrays is free as well, so it goes first.

    Returns:
        Bytes, or ``None`` where the system does not say (not on Linux).
    """
    free, limited = _meminfo("MemAvailable"), limits.free_memory()
    if free is None:
        return None
    return free if limited is None else min(free, limited)


def _total_memory() -> int | None:
    if (total := _meminfo("MemTotal")) is not None:
        return total
    pages = probe(lambda: os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return int(pages) if pages else None


def _cpu_model() -> str | None:
    # Not all of it: the kernel takes its time over each of a hundred processors.
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or None


def _meminfo(name: str) -> int | None:
    match = re.search(rf"^{name}:\s*(\d+)", read_text(MEMORY), re.MULTILINE)
    return int(match[1]) * 1024 if match else None
