"""The causes around a process that keep JAX from starting: flags, variables, files,
limits.

The message comes from Python, XLA or the system and seldom names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from jaxtui.core import child
from jaxtui.core.model import Remark
from jaxtui.core.model.remark import Fact
from jaxtui.machine import limits, messages

_PLATFORMS = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME")
"""Variables whose values are checked as names of platforms."""


def find(text: str, environment: Mapping[str, str]) -> Remark | None:
    """Return the cause of a failed start of JAX; ``None`` if nothing around it
    is one.

    Args:
        text: of the exception, or what the process printed.
        environment: of the process.
    """
    return (
        messages.find(text, "flag")
        or _module(text, environment)
        or _limit(text)
        or _setting(text, environment)
    )


def ignored_flags(environment: Mapping[str, str]) -> Iterator[Remark]:
    """Yield the flags that XLA ignores: those after the first without hyphens."""
    for word in environment.get("XLA_FLAGS", "").split()[1:]:
        if re.match(r"[^\w-]*-?xla_", word):
            facts: dict[str, Fact] = {"variable": "XLA_FLAGS", "flag": word}
            yield Remark("flag-ignored", facts, "warning")


def _module(text: str, environment: Mapping[str, str]) -> Remark | None:
    """Return the file that hides a module which something needs, if there is one."""
    path = environment.get("PYTHONPATH", "")
    modules = child.hiding(text, path)
    if not modules and "ImportError" in text:  # of compiled code, which names nothing
        modules = {k: v for k, v in child.hidden(path).items() if k in child.PACKAGES}
    if not modules:
        return None
    first = next(iter(modules.values()))
    facts: dict[str, Fact] = {"modules": tuple(modules), "path": first}
    return Remark("module-hidden", facts, "error")


def _limit(text: str) -> Remark | None:
    if reached := limits.reached(text):
        facts: dict[str, Fact] = {"limit": reached[0], "value": reached[1]}
        return Remark("limit-reached", facts, "error")
    return None


def _setting(text: str, environment: Mapping[str, str]) -> Remark | None:
    """A variable that JAX refuses: its message has the name, or quotes the value."""
    values = {
        name: value
        for name, value in environment.items()
        if name.startswith(("JAX_", "XLA_PYTHON_")) and name not in _PLATFORMS
    }
    option = re.search(r"\bjax[._](\w+)", text)
    for name, value in values.items():
        if name in text or name.lower() in text:
            return _refused(name, value)
    for name, value in values.items():
        if option and name == f"JAX_{option[1].upper()}":
            return _refused(name, value)
    for name, value in values.items():
        if len(value) > 1 and (f"'{value}'" in text or f'"{value}"' in text):
            return _refused(name, value)
    if re.search("no supported devices found|ERROR_NO_DEVICE|hipErrorNoDevice", text):
        for name in ("CUDA", "HIP", "ROCR"):
            variable = f"{name}_VISIBLE_DEVICES"
            if variable in environment:
                return _refused(variable, environment[variable])
    # Without a device no process has a number.
    if "Could not determine process_index" in text:
        for name in ("JAX_NUM_CPU_DEVICES", "XLA_FLAGS"):
            if name in environment:
                return _refused(name, environment[name])
    return None


def _refused(variable: str, value: str) -> Remark:
    return Remark("setting-refused", {"variable": variable, "value": value}, "error")
