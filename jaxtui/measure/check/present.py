"""Is everything there? Chips on the bus, chips that JAX sees, chips promised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from jaxtui.format import plural
from jaxtui.machine import hardware
from jaxtui.machine.hardware import Chip, Maker
from jaxtui.machine.survey import MAKERS, PROCESSES, Survey
from jaxtui.machine.topologies import chips_of
from jaxtui.measure import devices as seen_by_jax
from jaxtui.measure.check.base import Context, by_device, reading
from jaxtui.model import CheckRead, Device, Expected, Reading, RunEvent
from jaxtui.model.machine import chip_count, slice_count

ON_BUS = "chips that JAX sees of those on the PCI bus"
PROMISED = "chips that JAX sees of those promised"
UNUSED = "chips on the PCI bus that JAX does not use"
NONE = "accelerators"

TYPE = "TPU_ACCELERATOR_TYPE"

_chips = partial(reading, "present", None, unit="chips")
"""A number of chips of the machine."""


def test(context: Context) -> Iterator[RunEvent]:
    """Count; no device has anything to do."""
    found = readings(seen_by_jax.describe(), context.seen)
    yield from (CheckRead(reading=one) for one in found)
    yield from by_device(context, "counting devices", lambda *_: iter(()))


def readings(devices: Sequence[Device], seen: Survey) -> Iterator[Reading]:
    """What there is, against what the bus shows and what was promised."""
    mine = _maker(devices[0])
    if mine is not None:
        yield _against_bus(devices, seen, mine)
        if mine == "tpu" and seen.environment.get(TYPE):
            yield _against_promise(devices, seen)
    elif not seen.chips:
        said = f"The PCI bus shows no accelerator. {count_text(devices)}."
        yield _chips(NONE, 0, said=said)
    for maker in MAKERS:
        chips = seen.of(maker)
        if chips and maker != mine:
            yield _unused(devices, seen, maker, chips)


def _against_bus(devices: Sequence[Device], seen: Survey, maker: Maker) -> Reading:
    here = [device for device in devices if device.addressable]
    count = seen.count(maker, devices)
    found, given, on_bus = count.found, count.given, count.on_bus
    said = f"{count_text(devices)}."
    if len(here) < len(devices):
        said += f" On this host: {count_text(here)}."
    if given < on_bus:
        said += f" Of {on_bus} on the PCI bus, /dev has the files of {given}."
    source = "/dev" if given < on_bus else "the PCI bus"
    if not on_bus:
        said += " The PCI bus shows none: a container may hide it."
    elif found > given:
        said += f" {source.capitalize()} shows {given}: some are divided."
    elif found < given and not count.missing:
        said += f" {found} of {given}, as {_asked(count.limits, count.processes)}."
    else:
        return _compared(ON_BUS, found, given, source, count.missing, said)
    return _chips(ON_BUS, found, said=said)


def _compared(
    what: str, found: int, wanted: int, source: str, fault: str, said: str
) -> Reading:
    expected = Expected(value=wanted, kind="exact", source=source)
    return _chips(what, found, expected=expected, fault=fault, said=said)


def _against_promise(devices: Sequence[Device], seen: Survey) -> Reading:
    type_, found = seen.environment[TYPE], chip_count(devices)
    of_slice = chips_of(type_)
    if of_slice is None:
        said = f"{TYPE} is {type_!r}: how many chips that stands for is not known."
        return _chips(PROMISED, found, said=said)
    configured = seen.environment.get("MEGASCALE_NUM_SLICES", "")
    slices = max(slice_count(devices), int(configured) if configured.isdigit() else 0)
    promised = slices * of_slice
    each = f"{slices} slices of {type_}" if slices > 1 else type_
    said = f"{each} stands for {plural(promised, 'chip')}."
    limits = list(seen.count("tpu", devices).limits)
    if PROCESSES in seen.environment:
        limits.append(f"{PROCESSES}={seen.environment[PROCESSES]}")
    if found < promised and limits:
        text = f"{said} {found} of them, as {_asked(limits)}."
        return _chips(PROMISED, found, said=text)
    if found > promised:
        doubt = f"{said} JAX sees {found}, so {TYPE} does not describe this machine."
        return _chips(PROMISED, found, doubt=doubt)
    fault = f"{said} JAX sees {found}." if found < promised else ""
    return _compared(PROMISED, found, promised, f"{TYPE}={type_}", fault, said)


def _unused(
    devices: Sequence[Device], seen: Survey, maker: Maker, chips: Sequence[Chip]
) -> Reading:
    """Chips of a maker whose platform is not the one that JAX uses."""
    platform, there = devices[0].platform, hardware.in_words(chips)
    what = f"{UNUSED} ({maker})"
    said = f"This machine has {there}; JAX uses {count_text(devices)}."
    plugin = seen.packages is None or bool(seen.packages.for_maker(maker))
    if not plugin:
        said += f" {hardware.PLUGINS[maker]} is not installed."
    if limits := seen.limits(maker, 0):
        return _chips(what, 0, said=f"{said} That is as {_asked(limits)}.")
    # AMD makes the graphics of many computers whose owners never think of ROCm.
    if platform != "cpu" or (maker == "rocm" and not plugin):
        return _chips(what, 0, said=said)
    fault = f"JAX does not use the {there} on the PCI bus; it fell back to the CPU."
    return _compared(what, 0, len(chips), "the PCI bus", fault, said)


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


def _asked(limits: Sequence[str], processes: int = 1) -> str:
    """``CUDA_VISIBLE_DEVICES=0 asks``: why JAX sees fewer chips than there are."""
    if not limits:
        return f"the {processes} processes share them out"
    return f"{' and '.join(limits)} ask{'s' * (len(limits) == 1)}"


def count_text(devices: Sequence[Device]) -> str:
    """The counts of one platform: ``8 TensorCores = 4 chips = 4 JAX devices …``."""
    first, count = devices[0], len(devices)
    if first.platform == "cpu":
        cpus = plural(count, "CPU device")
        if first.simulated:
            return f"{cpus}, SIMULATED: they share the cores of this machine"
        if count == 1:
            return f"{cpus}: it uses all cores of this machine"
        return f"{cpus}: they share the cores of their machine"
    terms = [plural(count, "JAX device")]
    if first.platform == "tpu":
        cores = plural(sum(one.tensorcores for one in devices), "TensorCore")
        chips = f"{plural(chip_count(devices), 'chip')} {first.device_kind}"
        terms = [cores, chips, *terms]
    else:
        terms = [f"{plural(count, 'GPU')} {first.device_kind}", *terms]
    processes = len({one.process_index for one in devices})
    placed = f"{' = '.join(terms)} in {plural(processes, 'process')}"
    several = slice_count(devices)
    return f"{placed} and {several} slices" if several > 1 else placed
