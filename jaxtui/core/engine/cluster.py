"""Several processes as one: JAX's distributed runtime and its key-value store.

All that is private in JAX is here. The store is the coordination service's, which lives
in process 0 for as long as that does. ``get_live_nodes`` is a barrier and ``connect``
waits for everybody, so nothing here asks who is there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import jax
from jax._src import distributed
from jax._src.clusters import ClusterEnv

from jaxtui.core.model import Fact, Place, Remark
from jaxtui.machine.hosts import heartbeat_seconds, unproxied
from jaxtui.tasks.errors import RefusedError, headline

JOIN_SECONDS = 300
"""Seconds that JAX's runtime gets to connect the processes that have met."""

MEET_SECONDS = 86_400.0
"""Seconds at a barrier; a process that dies ends the wait sooner."""

FIRST_PORT, PORTS = 61_440, 4096
"""The range from which JAX chooses a job's port."""

DETECTION_SECONDS = 30
"""Seconds for the name of process 0 to appear in the name service."""


def detect() -> Place | None:
    """Run JAX's own cluster detection; return ``None`` for a process alone.

    Raises:
        RefusedError: There is a cluster, and JAX cannot make out this one's place.
    """
    kinds: list[Any] = ClusterEnv._cluster_types
    for kind in kinds:
        try:
            # As JAX does: the first that is there counts.
            if kind.opt_in_only_method or not kind.is_env_present():
                continue
            parameters = ClusterEnv.auto_detect_unset_distributed_params(
                None, None, None, None, kind.name, DETECTION_SECONDS
            )
        # What a launcher leaves in the environment may be anything.
        except Exception as error:
            facts: dict[str, Fact] = {"launcher": kind.name, "error": headline(error)}
            remark = Remark("cluster-unreadable", facts, "warning")
            raise RefusedError(remark) from error
        address, processes, process, local = parameters
        if processes is None or processes < 2 or address is None or process is None:
            return None
        devices = tuple(local) if local else None
        return Place(address, processes, process, devices, kind.name)
    return open_mpi(os.environ)


def open_mpi(environment: Mapping[str, str]) -> Place | None:
    """Read the environment of Open MPI 5, which JAX does not; ``None`` for a process
    alone.

    Raises:
        RefusedError: It does not say where process 0 is.
    """
    processes = int(environment.get("OMPI_COMM_WORLD_SIZE", "1"))
    if processes < 2:
        return None
    # It has the host of mpirun, as has the address that JAX takes from version 4.
    match = re.fullmatch(
        r"prterun-(.+)-(\d+)@(\d+)", environment.get("PMIX_NAMESPACE", "")
    )
    if match is None:
        facts: dict[str, Fact] = {"launcher": "ompi", "processes": processes}
        raise RefusedError(Remark("cluster-unknown", facts, "error"))
    host, number = match[1], int(match[2]) + int(match[3])
    if environment.get("OMPI_COMM_WORLD_LOCAL_SIZE") == str(processes):
        host = "127.0.0.1"
    local = environment.get("OMPI_COMM_WORLD_LOCAL_RANK")
    return Place(
        f"{host}:{FIRST_PORT + number % PORTS}",
        processes,
        int(environment["OMPI_COMM_WORLD_RANK"]),
        None if local is None else (int(local),),
        "ompi",
    )


def join(place: Place, listens: tuple[str, int]) -> Store:
    """Join the others, which have met; before the backend starts.

    Args:
        place: of this process.
        listens: the address and port at which process 0 listens.
    """
    os.environ.update(unproxied(os.environ, place.coordinator))
    # JAX would warn of the variable that lets it do without a proxy.
    jax.config.update("jax_check_proxy_envs", False)
    # It would swallow SIGTERM; up to 0.7 there is no such setting.
    if hasattr(jax.config, "jax_enable_preemption_service"):
        jax.config.update("jax_enable_preemption_service", False)
    more: dict[str, Any] = {}
    if jax.__version_info__ >= (0, 7):
        more["heartbeat_timeout_seconds"] = heartbeat_seconds(os.environ)
    jax.distributed.initialize(
        place.coordinator,
        place.processes,
        place.process,
        local_device_ids=place.local_devices,
        cluster_detection_method="deactivate",
        initialization_timeout=JOIN_SECONDS,
        coordinator_bind_address=_bind(listens),
        **more,
    )
    return Store(distributed.global_state.client)


def _bind(address: tuple[str, int]) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def path(*parts: object) -> str:
    """A key of the store."""
    return "/".join(("jaxtui", *map(str, parts)))


class Store:
    """The key-value store that all processes share; any thread may use it."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def put(self, key: str, value: bytes, *, again: bool = False) -> None:
        """Give a key its value; ``again`` where it may have one."""
        if again:
            self._client.key_value_set_bytes(key, value, allow_overwrite=True)
        else:
            self._client.key_value_set_bytes(key, value)

    def get(self, key: str, seconds: float) -> bytes | None:
        """The value of a key, as soon as it has one; ``None`` after so long."""
        try:
            if seconds > 0:
                limit = max(1, round(seconds * 1e3))
                value = self._client.blocking_key_value_get_bytes(key, limit)
            else:
                value = self._client.key_value_try_get_bytes(key)
        # XlaRuntimeError up to 0.7, JaxRuntimeError later.
        except Exception as error:
            if "DEADLINE_EXCEEDED" in str(error) or "NOT_FOUND" in str(error):
                return None
            raise
        return bytes(value)

    def under(self, key: str) -> list[tuple[str, bytes]]:
        """The keys under this one with their values, in the order of their numbers."""
        pairs = self._client.key_value_dir_get_bytes(f"{key}/")

        def numbers(pair: tuple[str, bytes]) -> list[int]:
            return [int(part) for part in pair[0].split("/") if part.isdigit()]

        return sorted(pairs, key=numbers)

    def meet(self, barrier: str) -> None:
        """Wait until all processes have come to a barrier."""
        self._client.wait_at_barrier(barrier, round(MEET_SECONDS * 1e3))

    def delete(self, key: str) -> None:
        """Forget a key and all under it."""
        self._client.key_value_delete(key)
