"""The environment of a process that compiles for a TPU that is not here."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections.abc import Mapping

DEFAULTS = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5litepod-8",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}
"""What libtpu would otherwise ask a metadata server (half a minute per question where
there is none), print warnings about, or lock for one process of the machine."""


def aot_environment(base: Mapping[str, str]) -> dict[str, str]:
    """The environment; pure, so it can be shown and tested.

    Args:
        base: what the process would have otherwise; what it says about TPUs stays.
    """
    changed = {**DEFAULTS, **base}
    # Nothing is run, so the machine's own TPU or GPU is left to others.
    changed["JAX_PLATFORMS"] = "cpu"
    # A warm persistent cache would be read as a compile of a few milliseconds.
    changed["JAX_ENABLE_COMPILATION_CACHE"] = "0"
    return changed


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
