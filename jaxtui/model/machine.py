"""What there is: the host, its devices, and who holds them."""

from __future__ import annotations

from typing import Literal

import msgspec

from jaxtui.model.base import Record


class Host(Record, frozen=True, kw_only=True):
    """The facts about a machine that a measurement depends on."""

    hostname: str
    python: str
    jax: str
    jaxlib: str
    numpy: str
    platform_version: str
    """``client.platform_version`` of the default backend, its first line."""
    cpu_model: str | None = None
    cpu_count: int | None = None
    memory_bytes: int | None = None
    """Physical memory of the host."""
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    """The JAX_*, XLA_*, TPU_* and thread-count variables that are set."""


class Device(Record, frozen=True, kw_only=True):
    """One ``jax.Device``; attributes that it does not have are ``None``."""

    id: int
    platform: str
    device_kind: str
    process_index: int
    local_hardware_id: int | None = None
    coords: tuple[int, ...] | None = None
    core_on_chip: int | None = None
    slice_index: int | None = None
    memory: dict[str, int] | None = None
    """``Device.memory_stats()`` as it came, in bytes and counts."""
    simulated: bool = False
    """True for a CPU device made by ``--cpu-devices N``."""
    addressable: bool = True
    """False for a device that belongs to another process."""
    attributes: dict[str, str] = msgspec.field(default_factory=dict)
    """Every other public attribute that the device really has, as text."""

    @property
    def name(self) -> str:
        """The device as people write it: ``tpu:3``."""
        return f"{self.platform}:{self.id}"

    @property
    def memory_used_bytes(self) -> int | None:
        """Bytes in use plus bytes reserved (a TPU keeps temporaries in the latter)."""
        if not self.memory or "bytes_in_use" not in self.memory:
            return None
        return self.memory["bytes_in_use"] + self.memory.get("bytes_reserved", 0)

    @property
    def memory_limit_bytes(self) -> int | None:
        """Bytes that the runtime may use; on a GPU this is the pool, not the card."""
        return self.memory.get("bytes_limit") if self.memory else None


class Holder(Record, frozen=True, kw_only=True):
    """A process that holds an accelerator."""

    pid: int
    user: str | None
    command: str
    paths: tuple[str, ...]
    """The device files that it has open, e.g. ``/dev/accel0``."""
    age_seconds: float | None = None
    """How long ago it began."""


Severity = Literal["error", "warning", "info"]
"""It will not work; it may not be what is wanted; good to know."""


class Finding(Record, frozen=True, kw_only=True):
    """Something about the machine that its user ought to know."""

    name: str
    """One word for programs, e.g. ``fallback``."""
    severity: Severity
    what: str
    """What is wrong, one sentence."""
    how: str
    """How we know."""
    advice: str = ""
    """What to do about it."""
    detail: str = ""
    """The original text of what said so, kept whole."""
