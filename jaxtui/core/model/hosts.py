"""Several hosts as one machine: what an engine says of the others."""

from __future__ import annotations

from jaxtui.core.model.base import Record
from jaxtui.core.model.machine import Device, Host
from jaxtui.core.model.remark import Remark


class Place(Record, frozen=True):
    """A process among several, in JAX's own words."""

    coordinator: str
    """``HOST:PORT`` of process 0."""
    processes: int
    process: int
    local_devices: tuple[int, ...] | None = None
    """The devices of the process, on a GPU host with a process for each of its GPUs."""
    launcher: str = ""
    """JAX's name for what has started them; empty where it was typed."""


class Arrival(Record, frozen=True, kw_only=True):
    """The facts about a process that joins: they must fit those of the others."""

    process: int
    processes: int
    """The number of processes that it was started with."""
    hostname: str
    boot: str
    """The kernel's boot id: equal for processes that share a machine."""
    jaxtui: str
    jax: str
    jaxlib: str
    python: str
    """Without its last number."""


class Terms(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of process 0 to the processes that have joined."""

    hostnames: tuple[str, ...] = ()
    """The host name of each process."""
    machines: tuple[int, ...] = ()
    """The machine of each process: equal numbers share one."""
    refusal: Remark | None = None
    """The reason why the processes don't match, if they don't."""


class Member(Record, frozen=True, kw_only=True):
    """A process whose backend is up: its host and its own devices."""

    host: Host
    devices: tuple[Device, ...]


class Intent(Record, frozen=True, kw_only=True):
    """The work that a process is about to do: all must be about to do the same."""

    work: str
    """A digest of it."""
    files: tuple[tuple[str, str], ...] = ()
    """The files whose functions it times, and a digest of each; empty of one that
    cannot be read."""


class Notice(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A message between process 0 and the others, at any time."""

    done: int
    """The number of works that the process has done."""
    lost: Remark | None = None
    """The process is going, or knows of one that is gone; else the work after those
    that are done is to stop."""


class Joining(Record, frozen=True, kw_only=True, tag=True):
    """The engine waits for the others before it starts JAX's backend."""

    place: Place
    names: tuple[str, ...] = ()
    """The host of each process, where the launcher tells."""
    missing: tuple[int, ...] = ()
    """The processes that process 0 waits for."""
    heard: bool = False
    """Process 0 listens, or is this one."""
    obstacle: str = ""
    """A code: why process 0 cannot be reached, as yet."""
    hostnames: tuple[str, ...] = ()
    """The host name of each process, once all have met."""


HOST_GONE = (
    "collective-broken",
    "collective-not-entered",
    "host-left",
    "host-not-up",
    "host-lost",
    "leader-lost",
)
"""The codes of an engine's end that is another process's doing."""


class HostLost(Record, frozen=True, kw_only=True, tag=True):
    """Another process is gone, and with it this engine."""

    remark: Remark
