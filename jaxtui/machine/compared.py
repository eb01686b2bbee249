"""What the machine has against what JAX has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from jaxtui.machine import drivers, words
from jaxtui.machine.pci import Maker, in_words
from jaxtui.machine.survey import MAKERS, PLATFORMS, Survey
from jaxtui.model import Device, Finding

CAUSES = ("plugin-missing", "no-device-file", "permission", "memory-fractions")
"""Findings that explain why JAX does without an accelerator."""

_VISIBLE: dict[Maker, tuple[str, ...]] = {
    "tpu": ("TPU_VISIBLE_CHIPS", "TPU_VISIBLE_DEVICES"),
    "cuda": ("CUDA_VISIBLE_DEVICES",),
    "rocm": ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
}
"""Variables that hide some of the chips."""


def compared(survey: Survey, devices: Sequence[Device]) -> Iterator[Finding]:
    """Accelerators that JAX does without, wholly or in part."""
    if any(device.simulated for device in devices):
        return
    platforms = {device.platform for device in devices}
    missed = False
    for maker in MAKERS:
        present = survey.present(maker)
        if not present:
            continue
        if platforms.isdisjoint(PLATFORMS[maker]):
            missed = True
            yield _unused(survey, maker, present, platforms)
        else:
            yield from _too_few(survey, maker, devices)
    if not missed:
        yield from _without(survey, platforms)


def explained(fallback: Finding, cause: Finding) -> Finding:
    """A fallback with the cause that is known for it."""
    if fallback.name != "fallback":
        return fallback
    short = cause.what.rpartition(", but ")[2]
    return msgspec.structs.replace(
        fallback,
        what=f"{fallback.what.rstrip('.')}: {short}",
        how=f"{fallback.how} {cause.how}",
        advice=cause.advice,
    )


def _unused(survey: Survey, maker: Maker, present: str, platforms: set[str]) -> Finding:
    got = ", ".join(sorted(platforms)) or "nothing"
    what = f"This machine has {present}, but JAX uses {got}."
    how = "`jax.devices()` does not have it."
    if not survey.wanted(maker):
        return Finding(
            name="hidden-by-environment",
            severity="info",
            what=what,
            how=f"{how} JAX_PLATFORMS is {','.join(survey.asked)!r}.",
            advice="Unset JAX_PLATFORMS to use it.",
        )
    for name in _VISIBLE[maker]:
        if name in survey.environment and not _visible(survey.environment[name]):
            return Finding(
                name="hidden-by-environment",
                severity="warning",
                what=what,
                how=f"{how} {name} is {survey.environment[name]!r}, which hides it.",
                advice=f"Unset {name} to use it.",
            )
    chips = survey.of(maker)
    screen = maker == "rocm" and chips and all(chip.display for chip in chips)
    return Finding(
        name="fallback",
        severity="info" if screen else "error",
        what=what,
        how=how,
        advice=f"Start jaxtui with JAX_PLATFORMS={PLATFORMS[maker][-1]}: JAX then says "
        f"why the {words.NAMES[maker]} does not start.",
    )


def _too_few(
    survey: Survey, maker: Maker, devices: Sequence[Device]
) -> Iterator[Finding]:
    chips = survey.of(maker)
    mine = [
        device
        for device in devices
        if device.addressable and device.platform in PLATFORMS[maker]
    ]
    # Two devices may share a chip (TPU v2, v3, TPU7x), so chips are told by place.
    places = {
        (device.slice_index, device.coords) if device.coords else device.id
        for device in mine
    }
    if len(places) >= len(chips):
        return
    missing = len(chips) - len(places)
    counted = f"JAX sees {len(places)} of {in_words(chips)}"
    if chosen := _chosen(survey, maker, len(places)):
        yield _chosen_few(counted, chosen)
    elif len(places) == _numbered(survey, maker):
        yield _without_file(survey, maker, counted)
    else:
        yield _missing(counted, missing)


def _chosen_few(counted: str, chosen: str) -> Finding:
    return Finding(
        name="chips-hidden",
        severity="info",
        what=f"{counted}, as {chosen} asks.",
        how="The environment names that many.",
        advice=f"Unset {chosen.partition('=')[0]} to use all.",
    )


def _numbered(survey: Survey, maker: Maker) -> int:
    """How many chips have a device file."""
    return sum(node.path[-1].isdigit() for node in survey.nodes_of(maker))


def _without_file(survey: Survey, maker: Maker, counted: str) -> Finding:
    return Finding(
        name="chips-without-file",
        severity="info" if survey.container else "warning",
        what=f"{counted}; the others have no device file here.",
        how="The PCI bus shows more chips than /dev has files for.",
        advice="In a container that was given a part of the machine that is meant; for "
        f"all, {drivers.HAND_OVER[maker]}. Elsewhere `sudo dmesg` says why the driver "
        "did not take them.",
    )


def _missing(counted: str, missing: int) -> Finding:
    return Finding(
        name="chips-missing",
        severity="error",
        what=f"{counted}: {missing} {'is' if missing == 1 else 'are'} missing.",
        how="The PCI bus shows more chips than `jax.local_devices()` stands for.",
        advice="In a container pass all device files; otherwise restart the machine, "
        "and if that does not help, report the chip.",
    )


def _chosen(survey: Survey, maker: Maker, count: int) -> str:
    """``TPU_VISIBLE_CHIPS=0,1`` if that names so many chips; empty otherwise."""
    for name in _VISIBLE[maker]:
        value = survey.environment.get(name, "")
        if len(_visible(value)) == count:
            return f"{name}={value}"
    return ""


def _visible(value: str) -> list[str]:
    """The chips that such a variable names; a negative one ends the list."""
    found: list[str] = []
    for word in value.split(","):
        if not word.strip() or word.strip().startswith("-"):
            break
        found.append(word.strip())
    return found


def _without(survey: Survey, platforms: set[str]) -> Iterator[Finding]:
    """No accelerator was passed over: JAX has what there is, or nobody sees more."""
    wished = [name for name in survey.asked if name != "cpu"]
    absent = [name for name in wished if _platform(name).isdisjoint(platforms)]
    if absent:
        yield Finding(
            name="platform-absent",
            severity="warning",
            what=f"JAX was asked for {' and '.join(absent)} and went on without, on "
            f"{', '.join(sorted(platforms))}.",
            how=f"JAX_PLATFORMS is {','.join(survey.asked)!r}; JAX skips a platform "
            "whose hardware it does not see, and uses the next.",
            advice="Check that the hardware is there (`nvidia-smi`, `rocm-smi`), or "
            "leave it out of JAX_PLATFORMS.",
        )
    elif platforms == {"cpu"} and not survey.asked:
        yield Finding(
            name="cpu-only",
            severity="info",
            what="This machine has the CPU only: no TPU, NVIDIA or AMD accelerator is "
            "to be seen.",
            how=f"None is on the PCI bus or under /dev. {_plugins(survey)}",
            advice="If one should be there, the virtual machine or the container was "
            "not given it.",
        )


def _platform(name: str) -> set[str]:
    return {"gpu", "cuda", "rocm"} if name in ("gpu", "cuda", "rocm") else {name}


def _plugins(survey: Survey) -> str:
    plugins = survey.packages.plugins if survey.packages else {}
    if not plugins:
        return "No plugin of JAX for one is installed."
    names = ", ".join(f"{name} {version}" for name, version in plugins.items())
    return f"Installed for one: {names}."
