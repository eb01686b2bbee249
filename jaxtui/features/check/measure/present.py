"""Is everything there? Chips that JAX sees, against those on the bus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from jaxtui.core.model import (
    CheckDone,
    CheckRead,
    Device,
    Expected,
    Fact,
    Reading,
    Remark,
    RunEvent,
)
from jaxtui.features.bench.measure.rates import reading
from jaxtui.features.check.measure.base import Context
from jaxtui.machine import hardware
from jaxtui.machine.hardware import Maker
from jaxtui.machine.survey import MAKERS, Survey
from jaxtui.tasks import devices as seen_by_jax

ON_BUS = "visible chips"
UNUSED = "unused chips"
NONE = "accelerators"

_chips = partial(reading, "present", None, unit="chips")
"""A number of chips of the machine."""


def present(context: Context) -> Iterator[RunEvent]:
    """Count; no device has anything to do."""
    counts = readings(seen_by_jax.describe(), context.survey)
    yield from (CheckRead(reading=count) for count in counts)
    yield from (CheckDone(device=name) for name in context.check.devices)


def readings(devices: Sequence[Device], survey: Survey) -> Iterator[Reading]:
    """Compare the devices of JAX with the chips on the bus."""
    maker_here = _maker(devices[0])
    if maker_here is not None:
        yield _against_bus(devices, survey, maker_here)
    elif not any(map(survey.present, MAKERS)):
        yield _chips(NONE, 0)
    for maker in MAKERS:
        if maker != maker_here and survey.present(maker):
            yield _unused(devices, survey, maker)


def _against_bus(devices: Sequence[Device], survey: Survey, maker: Maker) -> Reading:
    count = survey.count(maker, devices)
    if count.found != count.given and not count.missing:
        remarks = _limited(count.given, count.limits) * (count.found < count.given)
        if any(" MIG " in device.device_kind for device in devices):
            remarks = (Remark("one-part", {"kind": devices[0].device_kind}),)
        return _chips(ON_BUS, count.found, remarks=remarks)
    by = "/dev" if count.given < count.on_bus else "PCI"
    source = Remark("counted-by", {"by": by, "on_bus": count.on_bus})
    expected = Expected(value=count.given, kind="exact", source=source)
    return _chips(ON_BUS, count.found, expected=expected)


def _unused(devices: Sequence[Device], survey: Survey, maker: Maker) -> Reading:
    """Chips of a maker whose platform is not the one that JAX uses."""
    platform = devices[0].platform
    what = f"{UNUSED} ({maker})"
    plugin = survey.packages is None or bool(survey.packages.for_maker(maker))
    facts: dict[str, Fact] = {
        "chips": survey.present(maker),
        "platform": platform,
        "lacking": "" if plugin else hardware.PLUGINS[maker],
    }
    if hidden := survey.hidden_by(maker):
        limited = _limited(len(survey.of(maker)), [hidden])
        remarks = (Remark("unused-chips", facts), *limited)
        return _chips(what, 0, remarks=remarks)
    # AMD makes the graphics of many computers whose owners never think of ROCm.
    if platform != "cpu" or (maker == "rocm" and not plugin):
        return _chips(what, 0, remarks=(Remark("unused-chips", facts),))
    # Nothing that was measured is wrong for it.
    return _chips(what, 0, remarks=(Remark("cpu-fallback", facts, "warning"),))


def _maker(device: Device) -> Maker | None:
    """Return the maker of a device; JAX calls CUDA's and ROCm's platform ``gpu``."""
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
    """Return the settings that hide chips from JAX, as a remark."""
    if not limits:
        return ()
    return (Remark("chips-limited", {"chips": chips, "by": tuple(limits)}),)
