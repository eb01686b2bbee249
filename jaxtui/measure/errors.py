"""Why something cannot be done, and why JAX does not start, in plain words.

What JAX says is known by ``jaxtui.machine.messages``; here is what follows from the
environment. The original text always stays whole in ``detail``.
"""

from __future__ import annotations

import difflib
import os
import re

from jaxtui.format import shorten
from jaxtui.machine import messages, packages
from jaxtui.model import EngineFailed, Holder, WorkFailed

PLATFORMS = ("cpu", "tpu", "cuda", "rocm")
"""Names that JAX_PLATFORMS understands, with the right plugin."""

HEADLINE_CHARACTERS = 300

_Sentences = tuple[str, str]
"""What is wrong, and what to do about it."""


class RefusedError(Exception):
    """What was asked for cannot be done; carries the event that says why."""

    def __init__(self, error: str, hint: str, detail: str = "") -> None:
        super().__init__(error)
        self.failed = WorkFailed(error=error, hint=hint, detail=detail)


def full_text(exc: BaseException) -> str:
    text = str(exc)
    return f"{type(exc).__name__}: {text}" if text else f"{type(exc).__name__}:"


def headline(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [""]
    line = f"{type(error).__name__}: {lines[0]}".rstrip(": ")
    return shorten(line, HEADLINE_CHARACTERS)


def translate_import(exc: BaseException) -> EngineFailed:
    text = full_text(exc)
    if isinstance(exc, ImportError) and "No module named 'jax'" in text:
        error, hint = (
            "JAX cannot be imported in the Python that runs jaxtui.",
            "Install jaxtui into the environment where jax works; on a fresh machine:"
            ' pip install "jaxtui[tpu]", "jaxtui[cuda13]", or jax for the CPU alone.',
        )
    elif refused := _setting_refused(text):
        error, hint = refused
    else:
        first = str(exc).partition("\n")[0] or type(exc).__name__
        found = packages.installed()
        pairs = (("jax", found.jax), ("jaxlib", found.jaxlib))
        versions = ", ".join(f"{name} {version}" for name, version in pairs if version)
        error, hint = (
            f"JAX is installed, but importing it fails: {first}",
            f"Installed are {versions or 'neither jax nor jaxlib'}; "
            "`pip install -U --force-reinstall jax jaxlib` brings two that fit, "
            "and `python -c 'import jax'` shows the whole message.",
        )
    return EngineFailed(reason="jax-missing", error=error, hint=hint, detail=text)


def translate_backend(exc: BaseException) -> EngineFailed:
    """What kept the backend from starting, what is there, and what to do.

    An accelerator that another process holds has the reason ``held``; the process that
    the text names is among ``holders``, and nothing else about it is looked up here.
    """
    text = full_text(exc)
    if isinstance(exc, ImportError) and "No module named 'jax" in text:
        return translate_import(exc)
    found = messages.find(text, "start", packages.installed().jax)
    if found is not None and found.message.name == "held":
        return EngineFailed(
            reason="held",
            error=found.what,
            hint=found.advice,
            detail=text,
            holders=tuple(
                Holder(pid=int(pid), user=None, command="", paths=())
                for pid in found.groups[1:]
            ),
        )
    error, hint = found[1:3] if found else _backend_sentences(exc, text)
    setting = "JAX_PLATFORMS is not set."
    for name in ("JAX_PLATFORM_NAME", "JAX_PLATFORMS"):
        if value := os.environ.get(name):
            setting = f"{name} is {value!r}; without it JAX chooses by itself."
    plugins = ", ".join(
        f"{name} {version}" for name, version in packages.installed().plugins.items()
    )
    there = "No accelerator plugin is installed here, so there is only cpu."
    if plugins:
        there = f"Installed here: {plugins}, and cpu."
    return EngineFailed(
        reason="backend", error=error, hint=f"{hint} {setting} {there}", detail=text
    )


def _backend_sentences(exc: BaseException, text: str) -> _Sentences:
    platforms = os.environ.get("JAX_PLATFORMS", "")
    if isinstance(exc, AssertionError) and not str(exc):
        # JAX skips cuda where it sees no GPU, and asserts that something was left.
        if "cuda" in platforms or "gpu" in platforms:
            return (
                "JAX was told to use CUDA, but this machine shows no NVIDIA GPU.",
                "Check `nvidia-smi`, or unset JAX_PLATFORMS; a container needs "
                "--gpus all.",
            )
        return (
            "JAX's backend failed to start and did not say why.",
            "Unset JAX_PLATFORMS and try again.",
        )
    if name := re.search(r"Backend '(\w+)' is not in the list of known", text):
        return _unknown_platform(name[1], platforms)
    if name := re.search(r"Unknown backend:? '?(\w+)'?", text):
        platforms = os.environ.get("JAX_PLATFORM_NAME", platforms)
        return _unknown_platform(name[1], platforms)
    if refused := _setting_refused(text):
        return refused
    name = re.search(r"(?:initialize backend|Backend) '(\w+)'", text)
    what = f"JAX could not start its {name[1]} backend." if name else ""
    return what or "JAX's backend did not start.", "The original text says why."


def _setting_refused(text: str) -> _Sentences | None:
    """An environment variable that JAX does not accept, which its message names."""
    for pattern in (
        r"for environment '?(\w+)'?",
        r"for JAX flag (\w+)",
        r"(\w+) env(?:ironment)? var",
    ):
        if found := re.search(pattern, text):
            break
    else:
        return None
    name = found[1].upper() if "flag" in found[0] else found[1]
    value = os.environ.get(name)
    shown = " has a value that JAX refuses"
    if value is not None:
        shown = f" is {value!r}, which JAX does not accept"
    return (
        f"The environment variable {name}{shown}.",
        f"Unset {name}, or give it a value that JAX knows; the original text may name "
        "them.",
    )


def _unknown_platform(name: str, platforms: str) -> _Sentences:
    which = " (JAX tries it for 'gpu')" if name == "rocm" and "gpu" in platforms else ""
    near = difflib.get_close_matches(name, PLATFORMS, n=1)
    if name not in (*PLATFORMS, "gpu") and near:
        hint = f"Did you mean {near[0]}? There is {', '.join(PLATFORMS)}."
    elif name in ("rocm", "cuda", "gpu"):
        jax = packages.installed().jax
        hint = (
            "Without a GPU here, do not ask for one; with one, install its plugin. For "
            f"NVIDIA: {messages.install('cuda', jax)} For AMD: "
            f"{messages.install('rocm', jax)}"
        )
    else:
        hint = f"Install its plugin, or choose one of {', '.join(PLATFORMS)}."
    return f"JAX has no platform {name!r}{which} here.", hint
