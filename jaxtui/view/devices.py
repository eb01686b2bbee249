"""What is said of devices, their host and what is to be known of the machine."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtui import format as fmt
from jaxtui.format import plural
from jaxtui.machine import processes
from jaxtui.machine.topologies import FAMILIES
from jaxtui.model import Device, EngineFailed, Finding, Holder, Host
from jaxtui.model.machine import chip_count, slice_count
from jaxtui.view import chipmap
from jaxtui.view.text import Line, Span, plain, table

ABSENT = "—"

MAP_COLUMNS, MAP_LINES = 80, 60
"""Room for the chip map where text scrolls, so that only its width matters."""

_BYTES = ("bytes", "size", "limit", "reserved")
"""In the names of statistics that count bytes."""


def explain(devices: Sequence[Device]) -> str:
    """One plain sentence on how chips, cores and devices relate here."""
    if not devices:
        return "There are no devices."
    first, count = devices[0], len(devices)
    if first.simulated:
        name = plural(count, f"simulated {first.platform.upper()} device")
        return f"{name} on one CPU: SIMULATED, they share the same cores."
    if first.platform == "cpu" and count == 1:
        return (
            "1 CPU device: XLA's CPU backend uses all cores of this machine as one "
            "device."
        )
    if first.platform == "cpu":
        return f"{count} CPU devices: they share the cores of their machine."
    if first.platform == "tpu" and first.coords:
        return _explain_tpu(devices)
    name = plural(count, "chip" if first.platform == "tpu" else first.platform.upper())
    return f"{name} = {plural(count, 'JAX device')}."


def _explain_tpu(devices: Sequence[Device]) -> str:
    slices = slice_count(devices)
    devices = [d for d in devices if d.slice_index == devices[0].slice_index]
    first, count = devices[0], chip_count(devices)
    cores = len(devices) * first.tensorcores
    terms = [
        plural(cores, "TensorCore"),
        plural(count, "chip"),
        plural(len(devices), "JAX device"),
    ]
    for family in FAMILIES:
        number = cores if family.per_chip > 1 else count
        # A part of a slice, say three chips of eight, has no name of its own.
        if first.device_kind in family.kinds and number & (number - 1) == 0:
            terms.insert(0, f"{family.cloud}-{number}")
    if len(devices) > count:
        relation = f"each core is a device of its own, {len(devices) // count} per chip"
    elif first.tensorcores > 1:
        relation = (
            f"the {first.tensorcores} cores of a chip work as one device (megacore)"
        )
    else:
        relation = "each chip has one core and is one device"
    each = f"{slices} slices, each " if slices > 1 else ""
    return f"{each}{' = '.join(terms)}: {relation}."


def overview(
    host: Host | None, devices: Sequence[Device], findings: Sequence[Finding] = ()
) -> str:
    """The machine in one line, a table of devices, what they are together, and what
    else is to be known of the machine.
    """
    facts = []
    if host:
        facts = [host.hostname, host.cpu_model or "", f"jax {host.jax}"]
    if any(device.simulated for device in devices):
        facts.append("SIMULATED devices")
    parts = [" · ".join(fact for fact in facts if fact)]
    head = ("id", "kind", "process", "coords", "core", "slice", "memory")
    parts.append(table(head, [_row(device) for device in devices]))
    if any(device.coords for device in devices):
        lines = chipmap.render(chipmap.layout(devices), MAP_COLUMNS, MAP_LINES)
        parts.append("\n".join(plain(line).rstrip() for line in lines))
    parts.append(explain(devices))
    parts += map(finding_text, findings)
    return "\n\n".join(part for part in parts if part)


def _row(device: Device) -> tuple[str, ...]:
    coords = None if device.coords is None else ",".join(map(str, device.coords))
    marks = "" if device.addressable else " (another process's)"
    simulated = " SIMULATED" if device.simulated else ""
    numbers = (device.process_index, coords, device.core_on_chip, device.slice_index)
    return (
        device.name,
        device.device_kind + simulated + marks,
        *(ABSENT if number is None else str(number) for number in numbers),
        fmt.bytes_used(device.memory_used_bytes, device.memory_limit_bytes),
    )


# Every fact, as pairs of a name and a text.


def device_facts(device: Device) -> list[tuple[str, str]]:
    """What the device says of itself; what it does not have is left out."""
    pairs: list[tuple[str, object]] = [
        ("device", device.name),
        ("kind", device.device_kind),
        ("process_index", device.process_index),
        ("local_hardware_id", device.local_hardware_id),
        ("coords", device.coords),
        ("core_on_chip", device.core_on_chip),
        ("slice_index", device.slice_index),
        ("addressable", None if device.addressable else "no: another process's"),
        ("simulated", "yes" if device.simulated else None),
        *device.attributes.items(),
    ]
    return [(name, str(value)) for name, value in pairs if value is not None]


def memory_facts(device: Device) -> list[tuple[str, str]]:
    """The device's ``memory_stats()``, bytes as bytes and counts as counts."""
    if not device.memory:
        return [("memory_stats()", f"{ABSENT} (this device has none)")]
    return [
        (
            name,
            fmt.bytes_text(value)
            if any(part in name for part in _BYTES) and "num" not in name
            else str(value),
        )
        for name, value in device.memory.items()
    ]


def host_facts(host: Host) -> list[tuple[str, str]]:
    """The machine and the versions that a measurement depends on."""
    memory = host.memory_bytes
    pairs: list[tuple[str, object]] = [
        ("host", host.hostname),
        ("cpu", host.cpu_model),
        ("cpu count", host.cpu_count),
        ("memory", None if memory is None else fmt.bytes_text(memory)),
        ("python", host.python),
        ("jax", host.jax),
        ("jaxlib", host.jaxlib),
        ("numpy", host.numpy),
        ("platform", host.platform_version),
        *{**host.environment, **host.settings}.items(),
    ]
    return [(name, str(value)) for name, value in pairs if value is not None]


# What is to be known of the machine.


def finding_lines(finding: Finding) -> list[Line]:
    """A finding: what, what to do, how that is known, the original text.

    The first line has the severity as its role.
    """
    title = f"{finding.severity}: {finding.what}"
    lines: list[Line] = [(Span(title, finding.severity),)]
    if finding.advice:
        lines.append((Span(finding.advice),))
    original = f"{finding.how}\n{finding.detail}".splitlines()
    return lines + [(Span(line, "muted"),) for line in original if line]


def finding_text(finding: Finding) -> str:
    """A finding in plain lines, all but the first of them indented."""
    return "\n  ".join(map(plain, finding_lines(finding)))


def holder_text(holder: Holder) -> str:
    """Who holds an accelerator, and by which device files."""
    opened = f" has {', '.join(holder.paths)} open" if holder.paths else ""
    return f"{processes.describe(holder)}{opened}"


def failure_text(failed: EngineFailed, findings: Sequence[Finding] = ()) -> str:
    """Why the engine cannot serve, what to do, who holds the accelerator, what was
    found out about the machine, and the original text.
    """
    lines = [f"{failed.error} {failed.hint}".strip()]
    lines += [
        f"Held by {processes.describe(holder)}."
        for holder in failed.holders
        if f"rocess {holder.pid} " not in failed.error
    ]
    lines += [
        finding_text(finding)
        for finding in findings
        if finding.severity != "info" and finding.what != failed.error
    ]
    if failed.detail:
        original = [line for line in failed.detail.splitlines() if line]
        lines += ["The original text:", *(f"  {line}" for line in original)]
    return "\n".join(lines)
