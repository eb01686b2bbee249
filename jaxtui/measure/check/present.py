"""Is everything there? Chips on the bus, chips that JAX sees, chips promised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from jaxtui.machine import hardware
from jaxtui.machine.hardware import Maker
from jaxtui.machine.survey import MAKERS, PROCESSES, Survey
from jaxtui.machine.topologies import chips_of
from jaxtui.measure import devices as seen_by_jax
from jaxtui.measure.check.base import Context, by_device, reading
from jaxtui.model import CheckRead, Device, Expected, Fact, Reading, Remark, RunEvent
from jaxtui.model.machine import chip_count, slice_count

ON_BUS = "visible chips"
PROMISED = "promised chips"
UNUSED = "unused chips"
NONE = "accelerators"

TYPE = "TPU_ACCELERATOR_TYPE"

_chips = partial(reading, "present", None, unit="chips")
"""A number of chips of the machine."""


def test(context: Context) -> Iterator[RunEvent]:
    """Count; no device has anything to do."""
    counts = readings(seen_by_jax.describe(), context.seen)
    yield from (CheckRead(reading=count) for count in counts)
    yield from by_device(context, lambda *_: iter(()))


def readings(devices: Sequence[Device], seen: Survey) -> Iterator[Reading]:
    """What there is, against what the bus shows and what was promised."""
    mine = _maker(devices[0])
    if mine is not None:
        yield _against_bus(devices, seen, mine)
        if mine == "tpu" and seen.environment.get(TYPE):
            yield _against_promise(devices, seen)
    elif not any(map(seen.present, MAKERS)):
        yield _chips(NONE, 0)
    for maker in MAKERS:
        if maker != mine and seen.present(maker):
            yield _unused(devices, seen, maker)


def _against_bus(devices: Sequence[Device], seen: Survey, maker: Maker) -> Reading:
    count = seen.count(maker, devices)
    visible, given, on_bus = count.found, count.given, count.on_bus
    if not on_bus or visible > given:  # a container hides it, or chips are divided
        return _chips(ON_BUS, visible)
    if visible < given and not count.missing:
        fewer = _limited(given, count.limits)
        if count.parts:
            fewer = (Remark("one-part", {"kind": devices[0].device_kind}),)
        return _chips(ON_BUS, visible, remarks=fewer)
    by = "/dev" if given < on_bus else "PCI"
    source = Remark("counted-by", {"by": by, "on_bus": on_bus})
    expected = Expected(value=given, kind="exact", source=source)
    return _chips(ON_BUS, visible, expected=expected)


def _against_promise(devices: Sequence[Device], seen: Survey) -> Reading:
    type_, visible = seen.environment[TYPE], chip_count(devices)
    of_slice = chips_of(type_)
    if of_slice is None:
        return _chips(PROMISED, visible)
    configured = seen.environment.get("MEGASCALE_NUM_SLICES", "")
    slices = max(slice_count(devices), int(configured) if configured.isdigit() else 0)
    promised = slices * of_slice
    limits = list(seen.count("tpu", devices).limits)
    if PROCESSES in seen.environment:
        limits.append(f"{PROCESSES}={seen.environment[PROCESSES]}")
    if visible < promised and limits:
        return _chips(PROMISED, visible, remarks=_limited(promised, limits))
    if visible > promised:  # it does not describe this machine
        return _chips(PROMISED, visible)
    facts: dict[str, Fact] = {
        "variable": TYPE,
        "type": type_,
        "slices": slices,
        "chips": promised,
    }
    source = Remark("promised-by", facts)
    expected = Expected(value=promised, kind="exact", source=source)
    return _chips(PROMISED, visible, expected=expected)


def _unused(devices: Sequence[Device], seen: Survey, maker: Maker) -> Reading:
    """Chips of a maker whose platform is not the one that JAX uses."""
    platform = devices[0].platform
    what = f"{UNUSED} ({maker})"
    plugin = seen.packages is None or bool(seen.packages.for_maker(maker))
    facts: dict[str, Fact] = {
        "chips": seen.present(maker),
        "platform": platform,
        "lacking": "" if plugin else hardware.PLUGINS[maker],
    }
    if hidden := seen.hidden_by(maker):
        limited = _limited(len(seen.of(maker)), [hidden])
        remarks = (Remark("unused-chips", facts), *limited)
        return _chips(what, 0, remarks=remarks)
    # AMD makes the graphics of many computers whose owners never think of ROCm.
    if platform != "cpu" or (maker == "rocm" and not plugin):
        return _chips(what, 0, remarks=(Remark("unused-chips", facts),))
    # Nothing that was measured is wrong for it.
    return _chips(what, 0, remarks=(Remark("cpu-fallback", facts, "warning"),))


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


def _limited(chips: int, limits: Sequence[str]) -> tuple[Remark, ...]:
    """Why JAX sees fewer chips than there are, as far as that is set."""
    if not limits:
        return ()
    return (Remark("chips-limited", {"chips": chips, "by": tuple(limits)}),)
