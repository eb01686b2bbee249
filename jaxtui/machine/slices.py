"""TPU slices of several hosts: what one host needs to work alone."""

from __future__ import annotations

import re
from collections.abc import Mapping

_CORES_COUNTED = ("v2", "v3", "v4", "v5p", "tpu7x")
"""Types whose number counts TensorCores, two of which are on a chip."""

_BOUNDS = {1: "1,1,1", 2: "1,2,1", 4: "2,2,1", 8: "2,4,1"}
"""How the chips of one host are laid out, by their number (the host bounds of libtpu's
own topology descriptions)."""

UNTESTED = "documented for libtpu, not tried with jaxtui"


def chips_of(accelerator_type: str) -> int | None:
    """How many chips an accelerator type has: 4 for ``v4-8``, 16 for ``v5litepod-16``.

    ``None`` for a name of another form.
    """
    found = re.fullmatch(r"(v\d\w*|tpu\d+x)-(\d+)", accelerator_type.lower())
    if not found:
        return None
    number = int(found[2])
    return number // 2 if found[1] in _CORES_COUNTED else number


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
