"""Several hosts as one machine: what an engine says of the others."""

from __future__ import annotations

from jaxtui.model.base import Record
from jaxtui.model.machine import Device, Host
from jaxtui.model.remark import Remark


class Place(Record, frozen=True):
    """A process among several, in JAX's own words."""

    coordinator: str
    """``HOST:PORT`` of process 0."""
    processes: int
    process: int
    local_devices: tuple[int, ...] | None = None
    """Of a GPU host with a process for each of its GPUs."""
    launcher: str = ""
    """JAX's name for what has started them; empty where it was typed."""


class Arrival(Record, frozen=True, kw_only=True):
    """What a process says of itself as it joins: it must fit those of the others."""

    process: int
    processes: int
    """How many it was told that there are."""
    hostname: str
    pid: int
    boot: str
    """Of the kernel: equal for processes that share a machine."""
    jaxtui: str
    jax: str
    jaxlib: str


class Member(Record, frozen=True, kw_only=True):
    """A process whose backend is up: its host and its own devices."""

    host: Host
    devices: tuple[Device, ...]


class Joining(Record, frozen=True, kw_only=True, tag=True):
    """The engine waits for the others before it starts JAX's backend."""

    place: Place
    names: tuple[str, ...] = ()
    """The host of each process, where the launcher tells."""
    heard: bool = True
    """Process 0 hears who comes: older versions of jaxlib do not tell."""
    obstacle: str = ""
    """A code: why process 0 cannot be reached, as yet."""


class Following(Record, frozen=True, kw_only=True, tag=True):
    """The engine is one of several and not the first: it does what that one asks for.

    No ``Ready`` follows, and no run is its own.
    """

    process: int
    processes: int
    leader: str
    """The hostname of process 0."""


class Dismissed(Record, frozen=True, kw_only=True, tag=True):
    """Process 0 needs this engine no longer, which ends after this."""

    again: bool
    """The next engine of process 0 will want others."""


HOST_GONE = (
    "collective-broken",
    "collective-not-entered",
    "host-left",
    "host-lost",
    "leader-lost",
)
"""The codes of an engine's end that is another process's doing."""


class HostLost(Record, frozen=True, kw_only=True, tag=True):
    """Another process is gone, and with it this engine."""

    remark: Remark
