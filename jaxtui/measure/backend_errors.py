"""Why JAX's backend did not start, in plain words."""

from __future__ import annotations

import os
import re

from jaxtui.machine.plugins import packages
from jaxtui.model import EngineFailed

KNOWN = ("cpu", "tpu", "cuda", "rocm")
"""Platform names that JAX_PLATFORMS understands, with the right plugin."""


def translate_backend(exc: BaseException) -> EngineFailed:
    """What kept the backend from starting, what is there, and what to do.

    An accelerator that another process holds has the reason ``held``; who that is, is
    not looked up here.
    """
    text = full_text(exc)
    if isinstance(exc, ImportError):
        return EngineFailed(
            reason="jax-missing",
            error="JAX cannot be imported by this Python.",
            hint='Install jaxtui where JAX works, or run `pip install "jax[cpu]"`.',
            detail=text,
        )
    held = _held(text)
    if held is not None:
        error, hint = held
        return EngineFailed(reason="held", error=error, hint=hint, detail=text)
    error, hint = _explain(exc, text)
    return EngineFailed(
        reason="backend",
        error=error,
        hint=f"{hint} {_setting()} {_installed()}",
        detail=text,
    )


def _held(text: str) -> tuple[str, str] | None:
    pid = re.search(r"already in use by process with pid (\d+)", text)
    if pid:
        return (
            f"The TPU is in use by process {pid[1]}.",
            f"Wait for it to end; `ps -o user,args -p {pid[1]}` shows what it is.",
        )
    if "already in use" in text:
        return (
            "The TPU is in use by another process, probably of another user.",
            "`sudo lsof /dev/accel* /dev/vfio/*` shows which process has it open.",
        )
    if "libtpu_lockfile" in text or "lockfile" in text:
        return (
            "Another process holds the lock of the TPU library, /tmp/libtpu_lockfile.",
            "/proc/locks names the holder; remove the file only if there is none.",
        )
    return None


def _explain(exc: BaseException, text: str) -> tuple[str, str]:
    asked = os.environ.get("JAX_PLATFORMS", "")
    if isinstance(exc, AssertionError) and not str(exc):
        if "cuda" in asked or "gpu" in asked:
            return (
                "JAX was told to use CUDA, but this machine shows no NVIDIA GPU.",
                "Check `nvidia-smi`, or unset JAX_PLATFORMS.",
            )
        return (
            "JAX's backend failed to start and did not say why.",
            "Unset JAX_PLATFORMS and try again.",
        )
    if "libtpu.so" in text and "cannot open" in text:
        return (
            "JAX was told to use a TPU, but the TPU library libtpu is not installed.",
            'Run `pip install "jax[tpu]"` with the version of jax that is here.',
        )
    if re.search(r"No \w+ device found|No TPU devices? found", text):
        return (
            "JAX was told to use a TPU, but no TPU chip was found.",
            "This is no TPU VM, or the container was not given its devices.",
        )
    if "Operation not permitted" in text or "Permission denied" in text:
        return (
            "This user may not open the accelerator's device files.",
            "In a container, pass the devices (--privileged or --device).",
        )
    known = re.search(r"Backend '(\w+)' is not in the list of known backends", text)
    if known:
        name = known[1]
        which = " (JAX tries it for 'gpu')" if name == "rocm" and "gpu" in asked else ""
        return (
            f"JAX has no platform {name!r}{which} here.",
            f"Install its plugin, or choose one of {', '.join(KNOWN)}.",
        )
    failed = re.search(r"(?:initialize backend|Backend) '(\w+)'", text)
    if failed:
        return (
            f"JAX could not start its {failed[1]} backend.",
            "The original text says why.",
        )
    return "JAX's backend did not start.", "The original text says why."


def _setting() -> str:
    value = os.environ.get("JAX_PLATFORMS")
    if not value:
        return "JAX_PLATFORMS is not set."
    return f"JAX_PLATFORMS is {value!r}; without it JAX chooses by itself."


def _installed() -> str:
    plugins = installed_plugins()
    if not plugins:
        return "No accelerator plugin is installed here, so there is only cpu."
    return f"Installed here: {', '.join(plugins)}, and cpu."


def installed_plugins() -> tuple[str, ...]:
    """The accelerator plugins that this Python has, as ``name version``."""
    return tuple(f"{name} {version}" for name, version in packages().plugins.items())


def full_text(exc: BaseException) -> str:
    """The type and the whole text of an exception; its text may be empty."""
    text = str(exc)
    return f"{type(exc).__name__}: {text}" if text else f"{type(exc).__name__}:"
