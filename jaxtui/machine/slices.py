"""TPU slices of several hosts: what one host needs to work alone."""

from __future__ import annotations

import re
from collections.abc import Mapping

_CORES_PER_CHIP = {"v2": 2, "v3": 2, "v4": 2, "v5p": 2, "tpu7x": 2, "v7x": 2}
"""For the types whose number counts TensorCores (Cloud TPU's documentation, by
version; MaxText's table of accelerator types)."""

_CHIPS_COUNTED = ("v5litepod", "v5lite", "v5e", "v6e", "v6lite")
"""The types whose number counts chips."""

_BOUNDS = {1: "1,1,1", 2: "1,2,1", 4: "2,2,1", 8: "2,4,1"}
"""How the chips of one host are laid out, by their number (the host bounds of libtpu's
own topology descriptions)."""

UNTESTED = "documented for libtpu, not tried with jaxtui"


def chips_of(accelerator_type: str) -> int | None:
    """How many chips an accelerator type has: 4 for ``v4-8``, 16 for ``v5litepod-16``.

    Returns:
        ``None`` for a type that is not known.
    """
    found = re.fullmatch(r"([a-z0-9]+)-(\d+)", accelerator_type.strip().lower())
    if not found:
        return None
    family, number = found[1], int(found[2])
    per_chip = 1 if family in _CHIPS_COUNTED else _CORES_PER_CHIP.get(family)
    if per_chip is None or number == 0 or number % per_chip:
        return None
    return number // per_chip


def workers(environment: Mapping[str, str]) -> int:
    """How many hosts the slice has; 1 if the environment does not tell."""
    hosts = environment.get("TPU_WORKER_HOSTNAMES", "").split(",")
    return max(1, len([host for host in hosts if host.strip()]))


def this_host_only(chips: int) -> str:
    """The environment in which JAX uses the chips of this host and waits for nobody.

    Args:
        chips: how many there are; 0 if that is not known.
    """
    bounds = _BOUNDS.get(chips, "")
    settings = {
        "TPU_PROCESS_BOUNDS": "1,1,1",
        "TPU_CHIPS_PER_PROCESS_BOUNDS": bounds,
        "TPU_VISIBLE_CHIPS": ",".join(map(str, range(chips))) if bounds else "",
    }
    return " ".join(f"{name}={value}" for name, value in settings.items() if value)


def advice(chips: int) -> str:
    """What to do on one host of a slice.

    Args:
        chips: how many this host has; 0 if that is not known.
    """
    return (
        "Start the same on every host (`gcloud compute tpus tpu-vm ssh NAME "
        "--worker=all --command=...`), or look at this host only with "
        f"`{this_host_only(chips)} jaxtui` ({UNTESTED})."
    )
