"""Refusals, and the reasons why JAX does not start: codes and facts.

What JAX says is known by ``jaxtui.machine.messages``; here is what follows from the
environment. The original text always stays whole in ``detail``.
"""

from __future__ import annotations

import os
import re
import signal
import traceback

from msgspec.structs import replace

from jaxtui.core.format import shorten
from jaxtui.core.model import EngineFailed, Holder, Remark
from jaxtui.core.model.remark import Fact, RemarkError
from jaxtui.machine import causes, messages, packages

HEADLINE_CHARACTERS = 300


class RefusedError(RemarkError):
    """A request that jaxtui cannot do."""


def check_fault(error: BaseException) -> None:
    """Raise what is not the case's: a generator's end, and Ctrl-C of a process in which
    Python makes an exception of it, unlike in an engine.
    """
    handled = signal.getsignal(signal.SIGINT) == signal.default_int_handler
    if isinstance(error, GeneratorExit) or (
        isinstance(error, KeyboardInterrupt) and handled
    ):
        raise error


def _text(error: BaseException) -> str:
    """Return the error's text; empty where ``str`` raises as well."""
    try:
        return str(error)
    except BaseException:
        return ""


def full_text(exc: BaseException) -> str:
    text = _text(exc)
    return f"{type(exc).__name__}: {text}" if text else f"{type(exc).__name__}:"


def headline(error: BaseException) -> str:
    first, *rest = _text(error).strip().splitlines() or [""]
    # JAX writes "The error was:", and it on the next line.
    more = f" {rest[0].strip()}" if rest and first.endswith(":") else ""
    line = f"{type(error).__name__}: {first}{more}".rstrip(": ")
    return shorten(line, HEADLINE_CHARACTERS)


def translate_import(exc: BaseException) -> EngineFailed:
    text = full_text(exc)
    if isinstance(exc, ImportError) and "No module named 'jax'" in text:
        return EngineFailed(remark=Remark("jax-missing", {}, "error", text))
    trace = "".join(traceback.format_exception(exc))
    if cause := causes.find(trace, os.environ):
        return EngineFailed(remark=replace(cause, detail=text))
    installed = packages.installed()
    facts: dict[str, Fact] = {
        "error": headline(exc),
        "jax": installed.jax,
        "jaxlib": installed.jaxlib,
    }
    return EngineFailed(remark=Remark("jax-broken", facts, "error", text))


def translate_backend(exc: BaseException) -> EngineFailed:
    """Explain why the backend did not start.

    An accelerator that another process holds has the code ``held``; the process that
    the text names is among ``holders``, and nothing else about it is looked up here.
    """
    text = full_text(exc)
    if isinstance(exc, ImportError) and "No module named 'jax" in text:
        return translate_import(exc)
    remark = messages.find(text, "start") or _of_environment(exc, text)
    if remark.code == "gpu-memory-taken" and (cause := causes.find(text, os.environ)):
        remark = replace(cause, detail=text)
    pid = remark.facts.get("pid")
    holders = () if pid is None else (_named(pid),)
    return EngineFailed(remark=remark, holders=holders)


def _named(pid: Fact) -> Holder:
    return Holder(pid=int(str(pid)), user=None, command="", paths=())


def _of_environment(exc: BaseException, text: str) -> Remark:
    installed = packages.installed()
    plugins = tuple(f"{name} {version}" for name, version in installed.plugins.items())
    platforms = os.environ.get("JAX_PLATFORMS", "")
    facts: dict[str, Fact] = {
        "asked": platforms,
        "variable": "JAX_PLATFORMS",
        "plugins": plugins,
        "jax": installed.jax,
    }
    if isinstance(exc, AssertionError) and not str(exc):
        # JAX skips cuda where it sees no GPU, and asserts that something was left.
        if "cuda" in platforms or "gpu" in platforms:
            return Remark("no-gpu", {"asked": platforms}, "error", text)
        return Remark("backend-failed", facts, "error", text)
    if name := re.search(r"Backend '(.+?)' is not in the list of known", text):
        return _unknown_platform(name[1], facts, text)
    if name := re.search(r"Unknown backend:? '?(\w+)'?", text):
        variable = "JAX_PLATFORM_NAME"
        platforms = os.environ.get(variable, platforms)
        facts |= {"asked": platforms, "variable": variable}
        return _unknown_platform(name[1], facts, text)
    if cause := causes.find(text, os.environ):
        return replace(cause, detail=text)
    name = re.search(r"(?:initialize backend|Backend) '(\w+)'", text)
    backend = name[1] if name else ""
    return Remark("backend-failed", {**facts, "backend": backend}, "error", text)


def _unknown_platform(name: str, facts: dict[str, Fact], text: str) -> Remark:
    platforms = str(facts["asked"]).split(",")
    if name not in platforms and "gpu" in platforms:
        name = "gpu"  # stands for cuda and rocm
    return Remark("platform-unknown", {**facts, "platform": name}, "error", text)
