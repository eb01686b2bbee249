"""The Python packages that bring accelerators to JAX, and whether they fit it."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jaxtui.core.model import Record
from jaxtui.machine.hardware import Maker, list_names

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_PLUGIN = re.compile(r"libtpu|jax-(cuda|rocm|metal)[\w-]*(plugin|pjrt)?|.*-pjrt", re.I)
_FOLDER = re.compile(r"(jax|libtpu|.*pjrt)[\w.]*-.*\.(dist|egg)-info", re.I)
"""Folders with metadata of the packages that matter: reading all would take longer than
everything else before JAX."""
_NUMBERS = re.compile(r"\d+(\.\d+)*")
_PIN = re.compile(r"libtpu(?:\[.*\])?\s*\(?\s*==\s*(\d+(?:\.\d+)*)(\.\*)?")


class Packages(Record, frozen=True):
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

    @property
    def libtpu_wanted(self) -> str:
        """The version of libtpu that jax asks for; empty if it has it, or none."""
        version, pin = self.plugins.get("libtpu"), self.libtpu_pin or ""
        wide = f"{version}.".startswith(pin.removesuffix("*")) and pin.endswith(".*")
        return "" if version in (None, pin) or wide else pin


def installed(
    distributions: Iterable[Distribution] | None = None,
) -> Packages:
    """Return the installed packages; they are looked up, not imported."""
    if distributions is None:
        distributions = _installed()
    plugins: dict[str, str] = {}
    versions: dict[str, str] = {}
    pin = None
    for distribution in distributions:
        # Its other attributes would read and parse the file again.
        facts = distribution.metadata
        if not facts or "Name" not in facts:  # an uninstallation broke off
            continue
        name, version = facts["Name"].lower().replace("_", "-"), facts["Version"]
        if name in ("jax", "jaxlib"):
            versions.setdefault(name, version)
        if name == "jax" and pin is None:
            required = map(_PIN.match, facts.get_all("Requires-Dist") or ())
            pin = next(
                (match[1] + (match[2] or "") for match in required if match), None
            )
        elif _PLUGIN.fullmatch(name):
            plugins.setdefault(name, version)
    ordered = dict(sorted(plugins.items()))
    return Packages(versions.get("jax"), versions.get("jaxlib"), ordered, pin)


def libtpu_version() -> str | None:
    """The version of libtpu, which is looked for where jax does; ``None`` without it.

    Nothing is imported.
    """
    library = os.environ.get("TPU_LIBRARY_PATH")
    if library and os.path.isfile(library):
        return f"of {library}"
    if importlib.util.find_spec("libtpu") is None:
        return None
    return installed().plugins.get("libtpu", "unknown")


def _installed() -> Iterator[Distribution]:
    """Yield the packages that may matter here, in the order of Python's search."""
    # The app, which only reads what came of it, starts without the parser of e-mails.
    from importlib.metadata import Distribution

    for place in sys.path:
        folder = Path(place or ".")
        for name in list_names(folder):
            if _FOLDER.fullmatch(name):
                yield Distribution.at(folder / name)


def version_numbers(version: str) -> tuple[int, ...]:
    """(0, 12, 0, 1) of ``0.12.0.1rc2``."""
    leading = _NUMBERS.match(version)
    return tuple(map(int, leading[0].split("."))) if leading else ()
