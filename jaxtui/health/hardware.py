"""Two machines side by side: what of their hardware and software is not the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from jaxtui.model import Device, Host

SOFTWARE = ("jax", "jaxlib", "numpy", "python", "platform_version")
"""Facts of a host that may change the figures; each is a field of ``Host``."""

PLACE = ("hostname", "cpu_model", "cpu_count")
"""Facts that tell a machine from its sister."""

OPTIONS = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")
"""Variables that change what the compiler makes; the others mostly name places."""


def hardware(
    before: Sequence[Device],
    now: Sequence[Device],
    host_before: Host | None = None,
    host_now: Host | None = None,
) -> tuple[str, ...]:
    """What makes figures of the one meaningless for the other, a phrase each.

    Platform, kinds of device and their numbers; where there are only CPU devices, also
    the model of the processor and the number of its cores, if both are known.
    """
    return tuple(_hardware(before, now, host_before, host_now))


def software(before: Host, now: Host) -> tuple[str, ...]:
    """What else is not the same: versions, compiler options, the machine itself."""
    facts = (
        *((fact, getattr(before, fact), getattr(now, fact)) for fact in SOFTWARE),
        *((fact, getattr(before, fact), getattr(now, fact)) for fact in PLACE),
        *(
            (name, before.environment.get(name), now.environment.get(name))
            for name in OPTIONS
        ),
        *(
            (name, before.settings.get(name), now.settings.get(name))
            for name in sorted({*before.settings, *now.settings} - {*OPTIONS})
        ),
    )
    return tuple(
        f"{name.replace('_', ' ') if name.islower() else name}: {_apart(old, new)}"
        for name, old, new in facts
        if old != new
    )


def _hardware(
    before: Sequence[Device],
    now: Sequence[Device],
    host_before: Host | None,
    host_now: Host | None,
) -> Iterator[str]:
    if _counted(before) != _counted(now):
        yield _apart(_counted(before), _counted(now))
    elif _platforms(before) != _platforms(now):
        yield f"platform: {_apart(_platforms(before), _platforms(now))}"
    if not (host_before and host_now) or {_platforms(before), _platforms(now)} != {
        "cpu"
    }:
        return
    old, new = host_before.cpu_model, host_now.cpu_model
    if old and new and old != new:
        yield f"processor: {_apart(old, new)}"
    cores, cores_now = host_before.cpu_count, host_now.cpu_count
    if cores and cores_now and cores != cores_now:
        yield f"cores: {_apart(cores, cores_now)}"


def _apart(before: object, now: object) -> str:
    return f"baseline: {_said(before)}; here: {_said(now)}"


def _said(fact: object) -> str:
    return "none" if fact in (None, "") else str(fact)


def _counted(devices: Sequence[Device]) -> str:
    """``8 × TPU v5 lite``, ``4 × cpu (simulated)``."""
    kinds = Counter(
        device.device_kind + (" (simulated)" if device.simulated else "")
        for device in devices
    )
    return ", ".join(f"{number} × {kind}" for kind, number in sorted(kinds.items()))


def _platforms(devices: Sequence[Device]) -> str:
    return ", ".join(sorted({device.platform for device in devices}))
