"""The Python packages that bring accelerators to JAX, and whether they fit it."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jaxtui.machine.pci import Maker

_PLUGIN = re.compile(r"libtpu|jax-(cuda|rocm|metal)[\w-]*(plugin|pjrt)?|.*-pjrt", re.I)
_PIN = re.compile(r"libtpu(?:\[.*\])?\s*\(?\s*==\s*(\d+(?:\.\d+)*)(\.\*)?")


@dataclass(frozen=True, slots=True)
class Packages:
    """What is installed for this Python."""

    jax: str | None
    jaxlib: str | None
    plugins: Mapping[str, str]
    """Version by name, e.g. ``libtpu`` or ``jax-cuda12-plugin``."""
    libtpu_pin: str | None = None
    """The version of libtpu that the installed jax asks for; it may end in ``.*``."""

    def for_maker(self, maker: Maker) -> dict[str, str]:
        """The plugins that drive this kind of accelerator."""
        return {
            name: version
            for name, version in self.plugins.items()
            if (name == "libtpu") == (maker == "tpu")
            and (maker == "tpu" or maker in name)
        }

    def mismatches(self) -> dict[str, str]:
        """The version that each plugin ought to have, where it has another.

        A plugin for CUDA or ROCm is released together with its jaxlib. libtpu has
        versions of its own, and the installed jax says which it was made for.
        """
        wanted = {}
        for name, version in self.plugins.items():
            if name == "libtpu" and self.libtpu_pin:
                if not _matches(version, self.libtpu_pin):
                    wanted[name] = self.libtpu_pin
            elif (
                name.startswith(("jax-cuda", "jax-rocm"))
                and self.jaxlib
                and _release(version) != _release(self.jaxlib)
            ):
                wanted[name] = self.jaxlib
        return wanted


def packages(
    distributions: Iterable[importlib.metadata.Distribution] | None = None,
) -> Packages:
    """What is installed; it is looked up, not imported.

    Args:
        distributions: everything that is installed; this Python's by default.
    """
    if distributions is None:
        distributions = importlib.metadata.distributions()
    plugins: dict[str, str] = {}
    versions: dict[str, str] = {}
    pin = None
    for distribution in distributions:
        name = (distribution.metadata["Name"] or "").lower().replace("_", "-")
        if name in ("jax", "jaxlib"):
            versions.setdefault(name, distribution.version)
        if name == "jax" and pin is None:
            pin = _pin(distribution.requires or ())
        elif _PLUGIN.fullmatch(name):
            plugins.setdefault(name, distribution.version)
    ordered = dict(sorted(plugins.items()))
    return Packages(versions.get("jax"), versions.get("jaxlib"), ordered, pin)


def _pin(requirements: Iterable[str]) -> str | None:
    for requirement in requirements:
        if found := _PIN.match(requirement):
            return f"{found[1]}.*" if found[2] else found[1]
    return None


def _matches(version: str, pin: str) -> bool:
    if pin.endswith(".*"):
        return f"{version}.".startswith(pin[:-1])
    return version == pin


def _release(version: str) -> tuple[str, ...]:
    """Major, minor and patch: later numbers only rebuild the same sources."""
    return tuple(version.split(".")[:3])
