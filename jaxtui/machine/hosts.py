"""The variables that launchers set for each of several processes.

JAX's own detection decides in the engine; this is what can be known without JAX.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_PROCESS = {
    "OMPI_COMM_WORLD_RANK": "OMPI_COMM_WORLD_SIZE",
    "SLURM_PROCID": "SLURM_NTASKS",
    "TPU_WORKER_ID": "TPU_WORKER_HOSTNAMES",
}
"""The variable with the number of this process, by launcher, and that with how many
there are, or with the names of their hosts."""

HEARTBEAT_SECONDS = 10
"""A process that is silent for so long is dead to the others; JAX waits 100 s, and
before 0.7.0 nothing else can be asked for."""

HEARTBEAT = "JAXTUI_HEARTBEAT"
"""The variable that says otherwise, in whole seconds."""

MOST_NAMES = 10_000
"""Upper limit of a list of nodes to catch typos, which could stand for more than a
memory holds."""


def heartbeat_seconds(environment: Mapping[str, str]) -> int:
    """After how long a silent process is dead to the others."""
    text = environment.get(HEARTBEAT, "")
    return int(text) if text.isdigit() and int(text) else HEARTBEAT_SECONDS


PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
"""The variables in which gRPC looks for a proxy; the first that is set counts."""


def proxy(environment: Mapping[str, str]) -> str:
    """The variable that sends gRPC through a proxy; empty if none does."""
    name = next((name for name in PROXIES if name in environment), "")
    return name if environment.get(name) else ""


def unproxied(environment: Mapping[str, str], coordinator: str) -> dict[str, str]:
    """The variable that lets gRPC reach the coordinator without a proxy.

    It takes the place of ``no_proxy``, so that has to be in it.
    """
    names = environment.get("no_grpc_proxy", environment.get("no_proxy", ""))
    host = coordinator.rpartition(":")[0].strip("[]")
    return {"no_grpc_proxy": ",".join(filter(None, (names, host)))}


def is_launched(environment: Mapping[str, str]) -> bool:
    """Return whether something has started this process as one of several."""
    return environment.get("MEGASCALE_NUM_SLICES", "1") != "1" or any(
        process in environment and _count(environment.get(count, "")) > 1
        for process, count in _PROCESS.items()
    )


def _count(text: str) -> int:
    """Count the processes, from a number or from the names of their hosts."""
    return int(text) if text.isdigit() else len(text.split(","))


def names_of(environment: Mapping[str, str], processes: int) -> tuple[str, ...]:
    """The host of each process, where the environment tells; else empty."""
    addresses = environment.get("TPU_PROCESS_ADDRESSES", "")
    listed = addresses or environment.get("TPU_WORKER_HOSTNAMES", "")
    hosts = [host.strip() for host in listed.split(",") if host.strip()]
    nodes = [*nodes_of(environment.get("SLURM_STEP_NODELIST", ""))]
    if not hosts and nodes:
        # Slurm fills one node after the other, unless it was told otherwise.
        per_node, rest = divmod(processes, len(nodes))
        hosts = [] if rest else [node for node in nodes for _ in range(per_node)]
    return tuple(hosts) if len(hosts) == processes else ()


def nodes_of(text: str) -> Iterator[str]:
    """The nodes of a list as Slurm writes it: ``node[001-003,007],login``."""
    count = 0
    for prefix, ranges, suffix in re.findall(
        r"([^,\[\]]+)(?:\[([^\]]*)\])?([^,\[]*)", text
    ):
        for part in ranges.split(",") if ranges else [""]:
            first, _, last = part.partition("-")
            if last and not (first.isdigit() and last.isdigit()):
                return
            numbers = range(int(first), int(last) + 1) if last else ()
            for middle in (
                (str(number).zfill(len(first)) for number in numbers)
                if last
                else (part,)
            ):
                count += 1
                if count > MOST_NAMES:
                    return
                yield f"{prefix}{middle}{suffix}"
