"""Two devices of this machine, or two that are simulated."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtui.lessons import words
from jaxtui.lessons.base import Setting


@dataclass(frozen=True)
class Two:
    """Two devices to move data between."""

    code: str
    """Binds ``first`` and ``second``."""
    remark: str
    cpu_devices: int | None = None


def find(setting: Setting) -> Two:
    """Two devices of one kind, or an accelerator and the CPU, or two simulated ones."""
    platform = setting.platform
    alike = [d for d in setting.devices if d.platform == platform and d.addressable]
    if len(alike) > 1:
        simulated = any(device.simulated for device in alike)
        return Two(
            code=f"first, second = jax.local_devices(backend='{platform}')[:2]\n",
            remark="SIMULATED CPU devices" if simulated else "",
        )
    if setting.accelerated and words.processor(setting):
        return Two(
            code=f"first = jax.devices('{platform}')[0]\n"
            "second = jax.devices('cpu')[0]\n",
            remark="the second is the host's CPU",
        )
    return Two(
        code="first, second = jax.devices()\n",
        remark="SIMULATED: two CPU devices in one process",
        cpu_devices=2,
    )
