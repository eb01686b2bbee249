"""Several processes as one: JAX's distributed runtime and its key-value store.

All that is private in JAX is here. The store is the coordination service's, which lives
in process 0 for as long as that does. ``get_live_nodes`` is a barrier and ``connect``
waits for everybody, so nothing here asks who is there.
"""

from __future__ import annotations

import errno
import os
import socket
from typing import Any

import jax
from jax._src import distributed
from jax._src.clusters import ClusterEnv
from jax._src.lib import utils  # type: ignore[attr-defined]

from jaxtui.machine.hosts import heartbeat_seconds, unproxied
from jaxtui.measure.errors import RefusedError, headline
from jaxtui.model import Fact, Place, Remark

LOOK_SECONDS = 1.0
"""For one attempt to reach process 0."""

JOIN_SECONDS = 86_400
"""For all to come; whoever waits for the engine ends it sooner."""

_WARNINGS = 1
"""The level of a log that leaves out what is for information."""

DETECTION_SECONDS = 30
"""For the name of process 0 to become known to the name service."""


def detect() -> Place | None:
    """What JAX's own detection of clusters says; ``None`` of a process alone.

    Raises:
        RefusedError: There is a cluster, and JAX cannot make out this one's place.
    """
    kinds: list[Any] = ClusterEnv._cluster_types
    for kind in kinds:
        try:
            # As JAX does: the first that is there counts.
            if kind.opt_in_only_method or not kind.is_env_present():
                continue
            found = ClusterEnv.auto_detect_unset_distributed_params(
                None, None, None, None, kind.name, DETECTION_SECONDS
            )
        # What a launcher leaves in the environment may be anything.
        except Exception as error:
            facts: dict[str, Fact] = {"launcher": kind.name, "error": headline(error)}
            remark = Remark("cluster-unreadable", facts, "warning")
            raise RefusedError(remark) from error
        address, processes, process, local = found
        if processes is None or processes < 2 or address is None or process is None:
            return None
        devices = tuple(local) if local else None
        return Place(address, processes, process, devices, kind.name)
    return None


def check(place: Place) -> None:
    """Refuse a coordinator's address that cannot be.

    Raises:
        RefusedError: Its port is taken where process 0 starts.
    """
    if place.process:
        return
    port = int(place.coordinator.rpartition(":")[2])
    family = socket.AF_INET6 if socket.has_ipv6 else socket.AF_INET
    # gRPC shares the port with whoever else has it: two of them would get half of
    # those who join.
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("", port))
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                return  # JAX will say it
            facts: dict[str, Fact] = {
                "port": port,
                "taken": error.errno == errno.EADDRINUSE,
            }
            raise RefusedError(Remark("coordinator-port", facts, "error")) from error


def reach(place: Place) -> str:
    """Why process 0 cannot be reached now, as a code; empty where it answers."""
    host, _, port = place.coordinator.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), LOOK_SECONDS):
            return ""
    except socket.gaierror:
        return "unknown-host"
    except ConnectionRefusedError:
        return "refused"
    except OSError:
        return "unreachable"


def join(place: Place) -> Store:
    """Join the others, and wait for them; before the backend starts.

    Where they do not fit together, jaxlib ends this process.
    """
    os.environ.update(unproxied(os.environ, place.coordinator))
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
        **more,
    )
    # Of the log of arrivals nothing is left: it would have a line for each message.
    if hasattr(utils, "absl_set_min_log_level"):
        utils.absl_set_min_log_level(_WARNINGS)
    return Store(distributed.global_state.client)


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

    def delete(self, key: str) -> None:
        """Forget a key and all under it."""
        self._client.key_value_delete(key)
