"""Devices as JAX sees them, their memory, and the facts about the host.

A device's ``repr`` and the order of devices say nothing reliable; only attributes do,
and each kind of device has its own set of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import jax

from jaxtui.core.model import Device
from jaxtui.core.model.machine import members
from jaxtui.core.model.remark import Fact
from jaxtui.tasks.errors import RefusedError

EXTRA = (
    "num_cores",
    "core_count",
    "compute_capability",
    "partition_index",
    "device_vendor",
    "fabric_uuid",
    "numa_node",
    "shared_memory_per_block_optin",
)
"""Attributes that plugins serve by name although ``dir()`` may not list them."""

MODELLED = frozenset(Device.__struct_fields__)
"""The attributes for which ``Device`` has a field."""

LEFT_OUT = frozenset({"client", "host_id", "task_id"})
"""An object without a useful text, and deprecated aliases of ``process_index``."""


def probe(read: Callable[[], Any]) -> Any:
    """Call ``read``; return ``None`` where the device cannot answer.

    Devices come from plugins, which raise what they like for what they lack: an
    AttributeError with an empty message on CPU, UNIMPLEMENTED or INVALID_ARGUMENT as
    a runtime error on others.
    """
    try:
        return read()
    except Exception:  # the set of exceptions is open, see above
        return None


def is_simulated(device: Any) -> bool:
    """Return whether a device is one of several that share one CPU.

    XLA's own CPU device is the whole machine; ``--cpu-devices``, ``XLA_FLAGS`` and
    ``jax_num_cpu_devices`` make more of it.
    """
    return device.platform == "cpu" and int(device.client.local_device_count()) > 1


def simulated() -> Iterator[tuple[str, int]]:
    """Yield each setting of the CPU devices, and its number; start no backend."""
    flags = os.environ.get("XLA_FLAGS", "")
    for count in re.findall(r"--xla_force_host_platform_device_count=(\d+)", flags):
        yield "XLA_FLAGS", int(count)
    yield "JAX_NUM_CPU_DEVICES", int(jax.config.values.get("jax_num_cpu_devices", 0))


described: tuple[Any, ...] = ()
"""The devices of a TPU that is not here, in an engine that compiles for it."""


def describe() -> tuple[Device, ...]:
    """Every device of the default backend, those of other processes too."""
    return tuple(map(describe_device, described or jax.devices()))


def describe_device(device: Any) -> Device:
    """Return the record of a device; attributes that it lacks are ``None``.

    The own process is that of the device's client; devices of others have no memory
    statistics.
    """
    # A GPU has some too since jax 0.11: they number it, and are no place on a torus.
    is_tpu = device.platform == "tpu"
    coords = probe(lambda: device.coords) if is_tpu else None
    addressable = bool(device.process_index == device.client.process_index())
    return Device(
        id=int(device.id),
        platform=str(device.platform),
        device_kind=str(device.device_kind),
        process_index=int(device.process_index),
        local_hardware_id=_integer(probe(lambda: device.local_hardware_id)),
        coords=None if coords is None else tuple(int(place) for place in coords),
        core_on_chip=_integer(probe(lambda: device.core_on_chip)),
        slice_index=_integer(probe(lambda: device.slice_index)),
        memory=memory_of(device) if addressable else None,
        simulated=is_simulated(device),
        addressable=addressable,
        attributes=_attributes(device, addressable=addressable),
    )


def memory_of(device: Any) -> dict[str, int] | None:
    """``memory_stats()`` of a device; ``None`` on CPU and on remote devices."""
    stats = probe(lambda: device.memory_stats())
    if not stats:
        return None
    return {str(name): int(value) for name, value in stats.items()}


def name(device: jax.Device) -> str:
    """The device as people write it: ``tpu:3``."""
    return f"{device.platform}:{device.id}"


def memory() -> dict[str, dict[str, int] | None]:
    """Fresh memory statistics of every addressable device, by device name."""
    return {name(device): memory_of(device) for device in jax.local_devices()}


def find(wanted: str) -> jax.Device:
    """The device that people write as ``wanted``, e.g. ``tpu:3``.

    A device of another backend than the default one (``cpu:0`` beside GPUs) is found
    too.

    Raises:
        RefusedError: There is none; the sentence says which there are.
    """
    devices = {name(device): device for device in described or jax.devices()}
    if wanted not in devices:
        platform = wanted.partition(":")[0]
        siblings = probe(lambda: jax.devices(platform)) or []
        devices |= {name(device): device for device in siblings}
    if wanted in devices:
        return devices[wanted]
    raise RefusedError.of("device-unknown", device=wanted, devices=tuple(devices))


def find_all(name: str) -> tuple[jax.Device, ...]:
    """Find each device of a group such as ``tpu:0-7``, like ``find``."""
    return tuple(map(find, members(name)))


def find_own(name: str) -> jax.Device:
    """Find a device of this process, like ``find``."""
    device = find(name)
    check_own(describe_device(device))
    return device


def check_own(device: Device) -> None:
    """Refuse a device of another process."""
    if not device.addressable:
        facts: dict[str, Fact] = {"device": device.name}
        facts["process"] = device.process_index
        raise RefusedError.of("device-of-other-process", **facts)


def free_bytes(device: Device | None, host_bytes: int | None) -> int | None:
    """Free memory where a device computes; ``None`` where nothing says it.

    That is ``host_bytes`` on the host (no device), and where a CPU device computes.
    """
    if device is None or device.memory_limit_bytes is None:
        return host_bytes if device is None or device.platform == "cpu" else None
    return max(0, device.memory_limit_bytes - (device.memory_used_bytes or 0))


def _integer(value: Any) -> int | None:
    return None if value is None else int(value)


def _attributes(device: Any, *, addressable: bool) -> dict[str, str]:
    attributes: dict[str, Any] = {}
    for name in sorted({*dir(device), *EXTRA}):
        if not (name.startswith("_") or name in MODELLED or name in LEFT_OUT):
            attributes[name] = probe(lambda name=name: getattr(device, name))  # type: ignore[misc]
    for name in ("platform_version", "runtime_type"):
        attributes[name] = probe(lambda name=name: getattr(device.client, name))  # type: ignore[misc]
    if addressable:
        kinds = probe(lambda: [space.kind for space in device.addressable_memories()])
        attributes["default_memory"] = probe(lambda: device.default_memory().kind)
        attributes["addressable_memories"] = ", ".join(map(str, kinds or ())) or None
    return {
        name: str(value)
        for name, value in attributes.items()
        if value is not None and not callable(value)
    }
