"""Why JAX, or its backend, did not start, in plain words."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable

from jaxtui.machine.plugins import packages
from jaxtui.model import EngineFailed, Holder

KNOWN = ("cpu", "tpu", "cuda", "rocm")
"""Platform names that JAX_PLATFORMS understands, with the right plugin."""

_Sentences = tuple[str, str]
"""What is wrong, and what to do about it."""


def translate_import(exc: BaseException) -> EngineFailed:
    """Why ``import jax`` failed, and what to do about it."""
    text = full_text(exc)
    if isinstance(exc, ImportError) and re.search(r"No module named 'jax'", text):
        error, hint = (
            "JAX cannot be imported in the Python that runs jaxtui.",
            "Install jaxtui into the environment where jax works; on a fresh machine:"
            ' pip install "jaxtui[tpu]", "jaxtui[cuda13]", or jax for the CPU alone.',
        )
    else:
        error, hint = _setting_refused(text) or _import_refused(exc)
    return EngineFailed(reason="jax-missing", error=error, hint=hint, detail=text)


def translate_backend(exc: BaseException) -> EngineFailed:
    """What kept the backend from starting, what is there, and what to do.

    An accelerator that another process holds has the reason ``held``; the process that
    the text names is among ``holders``, and nothing else about it is looked up here.
    """
    text = full_text(exc)
    if isinstance(exc, ImportError) and re.search(r"No module named 'jax", text):
        return translate_import(exc)
    if (held := _held(text)) is not None:
        (error, hint), holders = held
        return EngineFailed(
            reason="held", error=error, hint=hint, detail=text, holders=holders
        )
    error, hint = _explain(exc, text)
    return EngineFailed(
        reason="backend",
        error=error,
        hint=f"{hint} {_setting()} {_installed()}",
        detail=text,
    )


def _import_refused(exc: BaseException) -> _Sentences:
    said = str(exc).partition("\n")[0] or type(exc).__name__
    versions = ", ".join(f"{name} {version}" for name, version in _versions())
    return (
        f"JAX is installed, but importing it fails: {said}",
        f"Installed are {versions or 'neither jax nor jaxlib'}; "
        "`pip install -U --force-reinstall jax jaxlib` brings two that fit, "
        "and `python -c 'import jax'` shows the whole message.",
    )


def _versions() -> list[tuple[str, str]]:
    found = packages()
    pairs = [("jax", found.jax), ("jaxlib", found.jaxlib)]
    return [(name, version) for name, version in pairs if version]


def _setting_refused(text: str) -> _Sentences | None:
    """An environment variable that JAX does not accept, which its message names."""
    found = re.search(r"for environment '?(\w+)'?", text)
    name = found[1] if found else ""
    if not name and (found := re.search(r"for JAX flag (\w+)", text)):
        name = found[1].upper()
    if not name and (found := re.search(r"(\w+) env(?:ironment)? var", text)):
        name = found[1]
    if not name:
        return None
    value = os.environ.get(name)
    shown = "" if value is None else f" is {value!r}, which JAX does not accept"
    return (
        f"The environment variable {name}{shown or ' has a value that JAX refuses'}.",
        f"Unset {name}, or give it a value that JAX knows; the original text may name "
        "them.",
    )


def _held(text: str) -> tuple[_Sentences, tuple[Holder, ...]] | None:
    pid = re.search(r"already in use by process with pid (\d+)", text)
    if pid:
        sentences = (
            f"The TPU is in use by process {pid[1]}.",
            f"Wait for it to end; `ps -o user,args -p {pid[1]}` shows what it is.",
        )
        return sentences, (Holder(pid=int(pid[1]), user=None, command="", paths=()),)
    if "already in use" in text:
        return (
            "The TPU is in use by another process, probably of another user.",
            "`sudo lsof /dev/accel* /dev/vfio/*` shows which process has it open.",
        ), ()
    if "lockfile" in text:
        return (
            "The TPU library could not take its lock, /tmp/libtpu_lockfile, so another "
            "process probably uses the TPU.",
            "`sudo lsof /tmp/libtpu_lockfile` names the holder; only if there is none, "
            "run `sudo rm /tmp/libtpu_lockfile`.",
        ), ()
    return None


def _explain(exc: BaseException, text: str) -> _Sentences:
    asked = os.environ.get("JAX_PLATFORMS", "")
    if isinstance(exc, AssertionError) and not str(exc):
        return _silent(asked)
    for pattern, sentences in _TEXTS:
        if found := re.search(pattern, text):
            return sentences(found)
    if found := re.search(r"Backend '(\w+)' is not in the list of known", text):
        return _unknown_platform(found[1], asked)
    if found := re.search(r"Unknown backend:? '?(\w+)'?", text):
        return _unknown_platform(found[1], os.environ.get("JAX_PLATFORM_NAME", asked))
    if refused := _setting_refused(text):
        return refused
    failed = re.search(r"(?:initialize backend|Backend) '(\w+)'", text)
    if failed:
        return (
            f"JAX could not start its {failed[1]} backend.",
            "The original text says why.",
        )
    return "JAX's backend did not start.", "The original text says why."


def _silent(asked: str) -> _Sentences:
    """JAX skips cuda where it sees no GPU, and asserts that something was left."""
    if "cuda" in asked or "gpu" in asked:
        return (
            "JAX was told to use CUDA, but this machine shows no NVIDIA GPU.",
            "Check `nvidia-smi`, or unset JAX_PLATFORMS; a container needs --gpus all.",
        )
    return (
        "JAX's backend failed to start and did not say why.",
        "Unset JAX_PLATFORMS and try again.",
    )


def _unknown_platform(name: str, asked: str) -> _Sentences:
    which = " (JAX tries it for 'gpu')" if name == "rocm" and "gpu" in asked else ""
    near = difflib.get_close_matches(name, KNOWN, n=1)
    if name not in (*KNOWN, "gpu") and near:
        hint = f"Did you mean {near[0]}? There is {', '.join(KNOWN)}."
    elif name in ("rocm", "cuda", "gpu"):
        hint = (
            "Without a GPU here, do not ask for one; with one, install its plugin: "
            f"`{_pip('cuda12')}` for NVIDIA, `{_pip('rocm7-local')}` for AMD."
        )
    else:
        hint = f"Install its plugin, or choose one of {', '.join(KNOWN)}."
    return f"JAX has no platform {name!r}{which} here.", hint


def _fixed(error: str, hint: str) -> Callable[[re.Match[str]], _Sentences]:
    return lambda found: (error, hint)


def _no_libtpu(found: re.Match[str]) -> _Sentences:
    return (
        "JAX was told to use a TPU, but the TPU library libtpu is not installed.",
        f"Run `{_pip('tpu')}`.",
    )


def _closed(found: re.Match[str]) -> _Sentences:
    file = re.search(r"/dev/[\w/]+", found.string)
    name = file[0] if file else "the accelerator's device files"
    return (
        f"This user may not open {name}.",
        "`ls -l /dev/accel* /dev/vfio/* /dev/nvidia*` shows who may; in a container, "
        "pass the devices (--privileged or --device).",
    )


def _old_library(found: re.Match[str]) -> _Sentences:
    return (
        f"The library {found[1]} {found[2]} is older than JAX's CUDA plugin needs "
        f"({found[3]}).",
        f"`unset LD_LIBRARY_PATH`, or run `{_pip('cuda12')}`, which brings its own.",
    )


def _no_library(found: re.Match[str]) -> _Sentences:
    return (
        f"JAX's CUDA plugin did not find the library {found[1]}, or one that fits.",
        f"Run `{_pip('cuda12')}`, or with cuda13 if the driver is 580 or newer.",
    )


def _mismatch(found: re.Match[str]) -> _Sentences:
    return (
        f"A plugin speaks version {found[1]} of JAX's device interface, and jaxlib "
        f"speaks {found[2]}: they were not made for each other.",
        "Install plugin and jaxlib of one version; `pip install -U` with the extra "
        "(jax[tpu], jax[cuda12] or jax[cuda13]) does.",
    )


_TEXTS: tuple[tuple[str, Callable[[re.Match[str]], _Sentences]], ...] = (
    (r"libtpu\.so.*cannot open|Failed to open libtpu\.so", _no_libtpu),
    (
        r"No \w+ device found|No TPU devices? found",
        _fixed(
            "JAX was told to use a TPU, but no TPU chip was found.",
            "This is no TPU VM, or the container was not given its devices "
            "(--privileged or --device).",
        ),
    ),
    (r"Operation not permitted|Permission denied", _closed),
    (
        r"XLA_CLIENT_MEM_FRACTION is specified together",
        _fixed(
            "XLA_CLIENT_MEM_FRACTION and XLA_PYTHON_CLIENT_MEM_FRACTION are both set, "
            "which JAX refuses.",
            "`unset XLA_PYTHON_CLIENT_MEM_FRACTION`: it is the old name.",
        ),
    ),
    (
        r"CUDA_ERROR_OUT_OF_MEMORY|no supported devices found for platform CUDA",
        _fixed(
            "JAX could not start on the NVIDIA GPU: it may have no memory left for it.",
            "`nvidia-smi` shows who has the memory: a JAX program takes three quarters "
            "when it starts. Wait for it, or choose another GPU with "
            "CUDA_VISIBLE_DEVICES.",
        ),
    ),
    (r"Unable to load (\w+)\. Is it installed", _no_library),
    (
        r"Found (\w+) version (\S+), but JAX was built against version ([\w.]+)",
        _old_library,
    ),
    (
        r"Mismatched PJRT plugin PJRT API version \(?([\d.]+)\)? and framework PJRT "
        r"API version \(?([\d.]+)",
        _mismatch,
    ),
    (
        r"provides no devices",
        _fixed(
            "JAX's backend started, but it has no devices.",
            "CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES or TPU_VISIBLE_CHIPS may hide "
            "all of them.",
        ),
    ),
)
"""What a text contains, and what to say of it; the first that fits."""


def _pip(extra: str) -> str:
    """The command that installs what is missing and leaves jax as it is."""
    version = packages().jax
    pinned = f"=={version}" if version else ""
    return f'pip install "jax[{extra}]{pinned}"'


def _setting() -> str:
    for name in ("JAX_PLATFORMS", "JAX_PLATFORM_NAME"):
        if value := os.environ.get(name):
            return f"{name} is {value!r}; without it JAX chooses by itself."
    return "JAX_PLATFORMS is not set."


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
