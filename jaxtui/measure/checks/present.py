"""Is everything there? Chips on the bus, chips that JAX sees, chips promised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import jax

from jaxtui.format import plural
from jaxtui.machine import hardware
from jaxtui.machine.hardware import Chip, Maker
from jaxtui.machine.survey import Survey
from jaxtui.machine.topologies import chips_of
from jaxtui.measure import devices as seen_by_jax
from jaxtui.measure.checks import counts
from jaxtui.measure.checks.base import Context, by_device
from jaxtui.model import CheckRead, Device, Expected, Reading, RunEvent
from jaxtui.model.machine import chip_count, slice_count

ON_BUS = "chips that JAX sees of those on the PCI bus"
PROMISED = "chips that JAX sees of those promised"
UNUSED = "chips on the PCI bus that JAX does not use"
NONE = "accelerators"

TYPE = "TPU_ACCELERATOR_TYPE"

MAKERS: tuple[Maker, ...] = ("tpu", "cuda", "rocm")

PLUGINS: Mapping[Maker, str] = {
    "tpu": "libtpu",
    "cuda": "JAX's CUDA plugin",
    "rocm": "JAX's ROCm plugin",
}

LIMITING: Mapping[Maker, tuple[str, ...]] = {
    "tpu": (
        "TPU_VISIBLE_CHIPS",
        "TPU_VISIBLE_DEVICES",
        "TPU_PROCESS_BOUNDS",
        "TPU_CHIPS_PER_PROCESS_BOUNDS",
    ),
    "cuda": ("CUDA_VISIBLE_DEVICES",),
    "rocm": ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
}
"""Variables with which a user asks for fewer devices than there are."""


def test(context: Context) -> Iterator[RunEvent]:
    """Count; no device has anything to do."""
    for reading in readings(seen_by_jax.describe(), context.seen):
        yield CheckRead(reading=reading)
    yield from by_device(context, "counting devices", _nothing)


def readings(devices: Sequence[Device], seen: Survey) -> Iterator[Reading]:
    """What there is, against what the bus shows and what was promised.

    Args:
        devices: All devices of JAX's default backend, those of other processes too.
        seen: The machine from outside.
    """
    mine = _maker(devices[0])
    if mine is not None:
        yield _against_bus(devices, seen, mine)
        if mine == "tpu" and seen.environment.get(TYPE):
            yield _against_promise(devices, seen)
    elif not seen.chips:
        yield _reading(
            NONE,
            0,
            said=f"The PCI bus shows no accelerator. {counts.in_words(devices)}.",
        )
    for maker in MAKERS:
        chips = seen.of(maker)
        if chips and maker != mine:
            yield _unused(devices, seen, maker, chips)


def _against_bus(devices: Sequence[Device], seen: Survey, maker: Maker) -> Reading:
    here = [device for device in devices if device.addressable]
    found, on_bus = chip_count(here), len(seen.of(maker))
    given, source = _given(seen, maker)
    said = f"{counts.in_words(devices)}."
    if len(here) < len(devices):
        said += f" On this host: {counts.in_words(here)}."
    if not on_bus:
        said += " The PCI bus shows none: a container may hide it."
        return _reading(ON_BUS, found, said=said)
    if given < on_bus:
        said += f" Of {on_bus} on the PCI bus, /dev has the files of {given}."
    if found > given:
        said += f" {source.capitalize()} shows {given}: some are divided."
        return _reading(ON_BUS, found, said=said)
    asked = _asked(seen, LIMITING[maker]) or _shared_host(devices, maker)
    if found < given and asked:
        return _reading(ON_BUS, found, said=f"{said} {found} of {given}, as {asked}.")
    fault = ""
    if found < given:
        kind = hardware.in_words(seen.of(maker)[:given])
        verb = "is" if given - found == 1 else "are"
        fault = f"JAX sees {found} of {kind}: {given - found} {verb} missing."
    expected = Expected(value=given, kind="exact", source=source)
    return _reading(ON_BUS, found, expected=expected, fault=fault, said=said)


def _given(seen: Survey, maker: Maker) -> tuple[int, str]:
    """Chips that this system can open, and what says so.

    A container sees the whole bus of its host, and the device files of its share.
    """
    chips = len(seen.of(maker))
    files = sum(node.maker == maker and node.path[-1].isdigit() for node in seen.nodes)
    return (files, "/dev") if 0 < files < chips else (chips, "the PCI bus")


def _against_promise(devices: Sequence[Device], seen: Survey) -> Reading:
    type_, found = seen.environment[TYPE], chip_count(devices)
    of_slice = chips_of(type_)
    if of_slice is None:
        return _reading(
            PROMISED,
            found,
            said=f"{TYPE} is {type_!r}: how many chips that stands for is not known.",
        )
    slices = max(slice_count(devices), _number(seen, "MEGASCALE_NUM_SLICES"))
    promised = slices * of_slice
    each = f"{slices} slices of {type_}" if slices > 1 else type_
    said = f"{each} stands for {plural(promised, 'chip')}."
    asked = _asked(seen, LIMITING["tpu"])
    if found < promised and asked:
        return _reading(PROMISED, found, said=f"{said} {found} of them, as {asked}.")
    if found > promised:
        doubt = f"{said} JAX sees {found}, so {TYPE} does not describe this machine."
        return _reading(PROMISED, found, doubt=doubt)
    fault = f"{said} JAX sees {found}." if found < promised else ""
    return _reading(
        PROMISED,
        found,
        expected=Expected(value=promised, kind="exact", source=f"{TYPE}={type_}"),
        fault=fault,
        said=said,
    )


def _unused(
    devices: Sequence[Device], seen: Survey, maker: Maker, chips: Sequence[Chip]
) -> Reading:
    """Chips of a maker whose platform is not the one that JAX uses."""
    platform, there = devices[0].platform, hardware.in_words(chips)
    what = f"{UNUSED} ({maker})"
    said = f"This machine has {there}; JAX uses {counts.in_words(devices)}."
    plugin = seen.packages is None or bool(seen.packages.for_maker(maker))
    if not plugin:
        said += f" {PLUGINS[maker]} is not installed."
    asked = _asked(seen, ("JAX_PLATFORMS", "JAX_PLATFORM_NAME", *LIMITING[maker]))
    if asked or devices[0].simulated:
        return _reading(what, 0, said=f"{said} That is as {asked or 'asked'}.")
    # AMD makes the graphics of many computers whose owners never think of ROCm.
    if platform != "cpu" or (maker == "rocm" and not plugin):
        return _reading(what, 0, said=said)
    return _reading(
        what,
        0,
        expected=Expected(value=len(chips), kind="exact", source="the PCI bus"),
        fault=f"JAX does not use the {there} on the PCI bus; it fell back to the CPU.",
        said=said,
    )


def _reading(
    what: str,
    measured: int,
    expected: Expected | None = None,
    fault: str = "",
    doubt: str = "",
    said: str = "",
) -> Reading:
    return Reading(
        test="present",
        device=None,
        what=what,
        unit="chips",
        measured=measured,
        expected=expected,
        fault=fault,
        doubt=doubt,
        said=said,
    )


def _maker(device: Device) -> Maker | None:
    """Whose chip a device is; JAX calls CUDA's and ROCm's platform ``gpu``."""
    if device.platform == "tpu":
        return "tpu"
    if device.platform in ("cuda", "rocm"):
        return "rocm" if device.platform == "rocm" else "cuda"
    if device.platform != "gpu":
        return None
    version = device.attributes.get("platform_version", "").lower()
    amd = "rocm" in version or device.device_kind.startswith(("AMD", "gfx"))
    return "rocm" if amd else "cuda"


def _asked(seen: Survey, names: Sequence[str]) -> str:
    """``CUDA_VISIBLE_DEVICES=0 asks``, of what limits the devices; else empty."""
    said = [
        f"{name}={seen.environment[name]}" for name in names if name in seen.environment
    ]
    return f"{' and '.join(said)} ask{'s' * (len(said) == 1)}" if said else ""


def _shared_host(devices: Sequence[Device], maker: Maker) -> str:
    """With a process for each GPU, the others of the host belong to the others."""
    processes = len({device.process_index for device in devices})
    if maker == "tpu" or processes == 1:
        return ""
    return f"the {processes} processes share them out"


def _number(seen: Survey, name: str) -> int:
    text = seen.environment.get(name, "")
    return int(text) if text.isdigit() else 0


def _nothing(device: jax.Device, seconds: float) -> Iterator[Reading]:
    """Every device is there by being asked for."""
    return iter(())
