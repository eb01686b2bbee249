"""What lies between an accelerator and JAX: package, device files, driver."""

from __future__ import annotations

from collections.abc import Iterator

from jaxtui.machine import words
from jaxtui.machine.pci import Maker
from jaxtui.machine.survey import Survey
from jaxtui.model import Finding, Severity

_EXTRAS: dict[Maker, str] = {"tpu": "tpu", "cuda": "cuda12", "rocm": "rocm7-local"}

HAND_OVER: dict[Maker, str] = {
    "tpu": "start the container with --privileged, or with --device for each file",
    "cuda": "start the container with --gpus all",
    "rocm": "start the container with --device=/dev/kfd --device=/dev/dri",
}
"""How a container gets the accelerators of its host."""

_DRIVERS: dict[Maker, str] = {
    "tpu": "Elsewhere the machine is no TPU VM, or its image lacks the TPU driver.",
    "cuda": "Elsewhere install NVIDIA's driver; `nvidia-smi` then lists the GPU.",
    "rocm": "Elsewhere load the driver with `sudo modprobe amdgpu`; `rocm-smi` then "
    "lists the GPU.",
}


def not_installed(survey: Survey, maker: Maker, present: str) -> Iterator[Finding]:
    """There is an accelerator, but no package that lets JAX use it."""
    packages = survey.packages
    if packages is None or packages.for_maker(maker):
        return
    missing = "libtpu" if maker == "tpu" else f"JAX's {maker} plugin"
    yield Finding(
        name="plugin-missing",
        severity=_severity(survey, maker),
        what=f"This machine has {present}, but {missing} is not installed.",
        how=f"{_seen(survey, maker)}; this Python has no package that drives it.",
        advice=_install(maker, packages.jax),
    )


def no_device_file(survey: Survey, maker: Maker, present: str) -> Iterator[Finding]:
    """The bus shows chips that cannot be opened, because there are no files for it."""
    if survey.nodes_of(maker):
        return
    yield Finding(
        name="no-device-file",
        severity=_severity(survey, maker),
        what=f"This machine has {present}, but no device file through which programs "
        "reach it.",
        how=f"The PCI bus shows it; there is no {_FILES[maker]}.",
        advice=f"In a container: {HAND_OVER[maker]}. {_DRIVERS[maker]}",
    )


_FILES: dict[Maker, str] = {
    "tpu": "/dev/accel* and no /dev/vfio/*",
    "cuda": "/dev/nvidia*",
    "rocm": "/dev/kfd",
}


def forbidden(survey: Survey, maker: Maker) -> Iterator[Finding]:
    """The device files are there, but this user may not open them."""
    closed = [node for node in survey.nodes_of(maker) if not node.usable]
    if not closed:
        return
    first = closed[0]
    group = first.owner.partition(":")[2]
    if group in ("", "root"):
        cure = f"`sudo chmod a+rw {' '.join(node.path for node in closed)}`"
    else:
        cure = f"`sudo usermod -aG {group} $USER`, and log in again"
    yield Finding(
        name="permission",
        severity="error",
        what=f"This user may not open {words.paths([node.path for node in closed])}.",
        how=f"{first.path} belongs to {first.owner}, and not everybody may read and "
        "write it.",
        advice=f"{cure}; in a container: {HAND_OVER[maker]}.",
    )


def mismatched(survey: Survey) -> Iterator[Finding]:
    """A plugin was made for another JAX than the one that is installed."""
    if survey.packages is None:
        return
    for name, wanted in survey.packages.mismatches().items():
        partner = "jax" if name == "libtpu" else "jaxlib"
        version = getattr(survey.packages, partner)
        yield Finding(
            name="plugin-mismatch",
            severity="warning",
            what=f"{name} {survey.packages.plugins[name]} was not made for "
            f"{partner} {version}, which goes with {name} {wanted}.",
            how="The versions of the installed packages say so.",
            advice=f'Run `pip install "{name}=={wanted}"`.',
        )


def _install(maker: Maker, jax: str | None) -> str:
    version = f"=={jax}" if jax else ""
    command = f'Run `pip install "jax[{_EXTRAS[maker]}]{version}"`'
    if maker == "cuda":
        return f"{command}, or with cuda13 if the driver is 580 or newer."
    return f"{command}."


def _seen(survey: Survey, maker: Maker) -> str:
    if survey.of(maker):
        return "The PCI bus shows it"
    return f"{survey.nodes_of(maker)[0].path} is there"


def _severity(survey: Survey, maker: Maker) -> Severity:
    """An error, unless it may be there for a screen alone."""
    chips = survey.of(maker)
    screen = maker == "rocm" and chips and all(chip.display for chip in chips)
    return "info" if screen else "error"
