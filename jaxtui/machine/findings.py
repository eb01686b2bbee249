"""What a survey means for whoever wants to use the machine: pure sentences.

Each finding says what is wrong, how that is known, and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from jaxtui import format as fmt
from jaxtui.machine import hardware, messages, processes, topologies
from jaxtui.machine.gpu_memory import GpuMemory
from jaxtui.machine.hardware import NAMES, PLUGINS, Maker, maker_of
from jaxtui.machine.processes import Lock
from jaxtui.machine.survey import GPU_PLATFORMS, MAKERS, PLATFORMS, PROCESSES, Survey
from jaxtui.model import Device, Finding, Holder, Severity

_ORDER: tuple[Severity, ...] = ("error", "warning", "info")

_GPUS: tuple[Maker, ...] = ("cuda", "rocm")

MUCH = 0.5
"""The part of a GPU's memory from which on others are said to have much of it."""

_IN_CONTAINER: dict[Maker, str] = {
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

_FILES: dict[Maker, str] = {
    "tpu": "/dev/accel* and no /dev/vfio/*",
    "cuda": "/dev/nvidia*",
    "rocm": "/dev/kfd",
}

_OLDER_TPUS = ("TPU v2", "TPU v3", "TPU v2 or v3", "TPU v4", "TPU v5p")
"""Those to which hugepages make no difference, as JAX has it."""

_SERVICES = ("nvidia-persistenced", "nv-hostengine", "dcgm", "nvidia-fabricmanager")
"""Services that keep a GPU open and compute nothing."""


@dataclass(frozen=True)
class _Cause:
    """A finding that explains why JAX does without some makers' accelerators."""

    makers: tuple[Maker, ...]
    reason: str
    """Follows that JAX does without: ``libtpu is not installed.``"""
    finding: Finding


def before(survey: Survey) -> tuple[Finding, ...]:
    """What is known before JAX starts, the worst first."""
    return sort([*(one.finding for one in _causes(survey)), *_others(survey)])


def after(
    survey: Survey, devices: Sequence[Device], memory: Sequence[GpuMemory] = ()
) -> tuple[Finding, ...]:
    """The same, and how it compares with the devices that JAX has.

    Survey and memory of the GPUs are as they were before JAX was touched; a machine
    without accelerators needs its packages too.
    """
    causes = list(_causes(survey))
    compared = list(_compare(survey, devices, causes))
    # A fallback whose cause is known is one trouble, not two.
    told = [cause for _, cause in compared]
    known = [one.finding for one in causes if one not in told]
    found = [finding for finding, _ in compared]
    return sort([*found, *known, *_others(survey), *_memory(memory, survey.holders)])


def sort(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """The worst first; otherwise as they come."""
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))


def merge(known: Iterable[Finding], logged: Iterable[Finding]) -> tuple[Finding, ...]:
    """What is known, and what JAX said beyond that, the worst first.

    Where JAX's words are about something that is known already, they are kept there as
    the original text.
    """
    found = list(known)
    for one in logged:
        # A machine may lack a TPU's library and a GPU's: those are two troubles.
        trouble = one.name, one.maker
        same = [i for i, old in enumerate(found) if (old.name, old.maker) == trouble]
        if not same:
            found.append(one)
        elif one.detail not in (old := found[same[0]]).detail:
            detail = f"{old.detail}\n{one.detail}".strip()
            found[same[0]] = msgspec.structs.replace(old, detail=detail)
    return sort(found)


def _others(survey: Survey) -> Iterator[Finding]:
    yield from _versions(survey)
    yield from _users(survey)
    yield from _settings(survey)


# What lies between an accelerator and JAX: package, device files, driver.


def _causes(survey: Survey) -> Iterator[_Cause]:
    used = [one for one in MAKERS if survey.present(one) and survey.wanted(one)]
    for maker in used:
        yield from _way_to_jax(survey, maker)
    gpus = tuple(maker for maker in used if maker in _GPUS)
    new, old = "XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"
    if gpus and survey.environment.get(new) and survey.environment.get(old):
        both = messages.finding("memory-fractions", "The environment has both.")
        yield _Cause(gpus, both.what, both)


def _way_to_jax(survey: Survey, maker: Maker) -> Iterator[_Cause]:
    packages, files = survey.packages, survey.nodes_of(maker)
    has, severity = (
        f"This machine has {survey.present(maker)}",
        _severity(survey, maker),
    )
    if packages is not None and not packages.for_maker(maker):
        seen = "The PCI bus shows it"
        if not survey.of(maker):
            seen = f"{files[0].path} is there"
        reason = f"{PLUGINS[maker]} is not installed."
        missing = Finding(
            name="plugin-missing",
            severity=severity,
            what=f"{has}, but {reason}",
            how=f"{seen}; this Python has no package that drives it.",
            advice=messages.install(maker, packages.jax),
        )
        yield _Cause((maker,), reason, missing)
    if not files:
        reason = "no device file through which programs reach it."
        absent = Finding(
            name="no-device-file",
            severity=severity,
            what=f"{has}, but {reason}",
            how=f"The PCI bus shows it; there is no {_FILES[maker]}.",
            advice=f"In a container: {_IN_CONTAINER[maker]}. {_DRIVERS[maker]}",
        )
        yield _Cause((maker,), reason, absent)
    closed = [node for node in files if not node.usable]
    if closed:
        group = closed[0].owner.partition(":")[2]
        if group in ("", "root"):
            cure = f"`sudo chmod a+rw {' '.join(node.path for node in closed)}`"
        else:
            cure = f"`sudo usermod -aG {group} $USER`, and log in again"
        reason = f"This user may not open {_paths([node.path for node in closed])}."
        refused = Finding(
            name="permission",
            severity="error",
            what=reason,
            how=f"{closed[0].path} belongs to {closed[0].owner}, and not everybody may "
            "read and write it.",
            advice=f"{cure}; in a container: {_IN_CONTAINER[maker]}.",
        )
        yield _Cause((maker,), reason, refused)


def _severity(survey: Survey, maker: Maker) -> Severity:
    """An error, unless it may be there for a screen alone."""
    chips = survey.of(maker)
    screen = maker == "rocm" and chips and all(chip.display for chip in chips)
    return "info" if screen else "error"


def _versions(survey: Survey) -> Iterator[Finding]:
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


# Who else uses the accelerators, and what of that cannot be seen.


def _users(survey: Survey) -> Iterator[Finding]:
    for holder in survey.holders:
        who = _sentence(processes.describe(holder))
        if gpus := _gpu_files(holder):
            yield Finding(
                name="gpu-shared",
                severity="info",
                what=f"{who} uses {_paths(gpus)} as well.",
                how="It has the device file open.",
                advice="JAX programs take three quarters of a GPU's memory when they "
                "start, unless XLA_PYTHON_CLIENT_PREALLOCATE=false is set for them; "
                "timings suffer while it computes.",
            )
        # Whoever is kept from starting hears it from the engine, with every holder.
        tpus = survey.nodes_of("tpu") and survey.tpu_paths(holder)
        if tpus and not survey.wants_whole_tpu:
            yield Finding(
                name="tpu-shared",
                severity="info",
                what=f"{who} uses {_paths(tpus)}.",
                how="It has the device file open.",
                advice="That is no hindrance here: the environment chooses other "
                "devices (JAX_PLATFORMS, TPU_VISIBLE_CHIPS).",
            )
    if survey.present("tpu"):
        known = {holder.pid for holder in survey.holders}
        locking = tuple(one for one in survey.lock.holders if one.pid not in known)
        severity: Severity = "error" if survey.wants_whole_tpu else "info"
        for finding in lock(msgspec.structs.replace(survey.lock, holders=locking)):
            yield msgspec.structs.replace(finding, severity=severity)
    reasons = []
    if survey.hidden_processes:
        hidden = fmt.plural(survey.hidden_processes, "process")
        reasons.append(f"/proc refuses what {hidden} of other users have open")
    if survey.hidepid:
        reasons.append("/proc is mounted with hidepid")
    if survey.container:
        reasons.append("this is a container, which does not show the host's processes")
    if reasons and (survey.chips or survey.nodes):
        yield Finding(
            name="hidden-processes",
            severity="info",
            what="Not every process could be looked into, so somebody may use an "
            "accelerator unseen.",
            how=f"{'; '.join(reasons)}.",
            advice="`sudo lsof /dev/accel* /dev/vfio/* /dev/nvidia* /dev/kfd` on the "
            "host shows all.",
        )


def lock(seen: Lock) -> Iterator[Finding]:
    """Who has libtpu's lock.

    Only a lock without a holder may be deleted.
    """
    for holder in seen.holders:
        yield Finding(
            name="tpu-locked",
            severity="error",
            what=f"{_sentence(processes.describe(holder))} holds the lock of the TPU "
            "library.",
            how="The kernel names it as the holder of /tmp/libtpu_lockfile.",
            advice="End it or wait for it. Deleting the file while it is alive does "
            "not free the TPU.",
        )
    if seen.unseen:
        yield Finding(
            name="tpu-locked",
            severity="error",
            what="A process that cannot be seen here holds the lock of the TPU "
            "library.",
            how="The kernel refuses the lock on /tmp/libtpu_lockfile and names no "
            "process of this container for it.",
            advice="`sudo lslocks` on the host names it. Deleting the file while it is "
            "alive does not free the TPU.",
        )
    if seen.closed_by:
        yield Finding(
            name="stale-lock",
            severity="error",
            what="The lock file of the TPU library is left over from "
            f"{seen.closed_by}, and this user may not open it; the library takes "
            "that for a TPU in use.",
            how="/tmp/libtpu_lockfile is closed to this user, and the kernel lists "
            "no process that holds it.",
            advice="If `sudo lsof /tmp/libtpu_lockfile` shows none either, run "
            "`sudo rm /tmp/libtpu_lockfile`.",
        )


def _memory(cards: Sequence[GpuMemory], holders: Sequence[Holder]) -> Iterator[Finding]:
    """GPUs whose memory others have taken, as it was before JAX started."""
    full = [
        (card, card.used_bytes, card.total_bytes)
        for card in cards
        if card.used_bytes is not None
        and card.total_bytes is not None
        and card.used_bytes >= MUCH * card.total_bytes
    ]
    if not full:
        return
    seen = [processes.describe(one) for one in holders if _gpu_files(one)]
    who = " Whoever has it cannot be seen here."
    if seen:
        verb = "has" if len(seen) == 1 else "have"
        who = f" {_sentence(' and '.join(seen))} {verb} GPUs open."
    sizes = (
        f"{fmt.bytes_text(used)} of the {fmt.bytes_text(total)} of GPU {card.index} "
        "were taken before JAX started."
        for card, used, total in full
    )
    yield Finding(
        name="gpu-memory-taken",
        severity="warning",
        what=" ".join(sizes) + who,
        how=f"{full[0][0].source} said so.",
        advice=messages.GPU_MEMORY,
    )


def _gpu_files(holder: Holder) -> list[str]:
    if any(name in holder.command for name in _SERVICES):
        return []
    return [path for path in holder.paths if maker_of(path) != "tpu"]


def _paths(found: Sequence[str]) -> str:
    """``/dev/nvidia0 and 3 more``."""
    return found[0] if len(found) == 1 else f"{found[0]} and {len(found) - 1} more"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


# Environment variables and kernel settings that decide how JAX starts.


def _settings(survey: Survey) -> Iterator[Finding]:
    environment = survey.environment
    if survey.wanted("tpu") and PROCESSES not in environment:
        yield from _slice(survey)
    recent = [chip for chip in survey.of("tpu") if chip.kind not in _OLDER_TPUS]
    if recent and survey.hugepages not in ("", "always"):
        yield messages.finding(
            "hugepages",
            f"/sys/kernel/mm/transparent_hugepage/enabled is {survey.hugepages}.",
        )
    gpus = any(survey.present(maker) and survey.wanted(maker) for maker in _GPUS)
    if gpus and environment.get("XLA_PYTHON_CLIENT_PREALLOCATE") == "false":
        yield Finding(
            name="preallocation",
            severity="info",
            what="JAX takes GPU memory as it needs it, not three quarters at once.",
            how="XLA_PYTHON_CLIENT_PREALLOCATE is false; jaxtui sets that unless you "
            "have set it, because others may use the GPU too.",
            advice="Set XLA_PYTHON_CLIENT_PREALLOCATE=true to have it as JAX does by "
            "itself.",
        )


def _slice(survey: Survey) -> Iterator[Finding]:
    environment = survey.environment
    here, count = len(survey.of("tpu")), topologies.workers(environment)
    kind = environment.get("TPU_ACCELERATOR_TYPE", "")
    whole = topologies.chips_of(kind) or 0
    if count > 1:
        number = environment.get("TPU_WORKER_ID", "?")
        what = f"This is worker {number} of {count} of a TPU slice"
        how = "TPU_WORKER_HOSTNAMES lists the workers."
    elif here and whole > here:
        what = f"This host has {here} of the {whole} chips of a TPU slice {kind}"
        how = f"TPU_ACCELERATOR_TYPE is {kind}; the PCI bus shows {here} chips."
    else:
        return
    yield Finding(
        name="pod-slice",
        severity="info",
        what=f"{what}: JAX waits until every host of it has started JAX.",
        how=how,
        advice=topologies.slice_advice(here),
    )


# What the machine has against what JAX has.


def _compare(
    survey: Survey, devices: Sequence[Device], causes: Sequence[_Cause]
) -> Iterator[tuple[Finding, _Cause | None]]:
    """Accelerators that JAX does without, wholly or in part; why, if that is known."""
    if survey.platforms == ("cpu",) and any(device.simulated for device in devices):
        return  # by --cpu-devices
    platforms = {device.platform for device in devices}
    missed = False
    for maker in MAKERS:
        present = survey.present(maker)
        if present and platforms.isdisjoint(PLATFORMS[maker]):
            missed = True
            yield _unused(survey, maker, present, platforms, causes)
        elif present:
            yield from ((one, None) for one in _too_few(survey, maker, devices))
    if not missed:
        yield from ((one, None) for one in _without(survey, platforms))


def _without(survey: Survey, platforms: set[str]) -> Iterator[Finding]:
    """That a platform is absent that was asked for, or that there is only a CPU."""
    absent = [
        name
        for name in survey.platforms
        if name != "cpu"
        and platforms.isdisjoint(GPU_PLATFORMS if name in GPU_PLATFORMS else {name})
    ]
    if absent:
        yield Finding(
            name="platform-absent",
            severity="warning",
            what=f"JAX was asked for {' and '.join(absent)} and went on without, on "
            f"{', '.join(sorted(platforms))}.",
            how=f"JAX_PLATFORMS is {','.join(survey.platforms)!r}; JAX skips a "
            "platform whose hardware it does not see, and uses the next.",
            advice="Check that the hardware is there (`nvidia-smi`, `rocm-smi`), or "
            "leave it out of JAX_PLATFORMS.",
        )
    elif platforms == {"cpu"} and not survey.platforms:
        plugins = survey.packages.plugins if survey.packages else {}
        names = ", ".join(f"{name} {version}" for name, version in plugins.items())
        installed = "No plugin of JAX for one is installed."
        if names:
            installed = f"Installed for one: {names}."
        yield Finding(
            name="cpu-only",
            severity="info",
            what="This machine has the CPU only: no TPU, NVIDIA or AMD accelerator is "
            "to be seen.",
            how=f"None is on the PCI bus or under /dev. {installed}",
            advice="If one should be there, the virtual machine or the container was "
            "not given it.",
        )


def _unused(
    survey: Survey,
    maker: Maker,
    present: str,
    platforms: set[str],
    causes: Sequence[_Cause],
) -> tuple[Finding, _Cause | None]:
    got = ", ".join(sorted(platforms)) or "nothing"
    what = f"This machine has {present}, but JAX uses {got}"
    how = "`jax.devices()` does not have it."
    if limits := survey.limits(maker, 0):
        name, _, value = limits[0].partition("=")
        chosen = name.startswith("JAX_")
        hidden = Finding(
            name="hidden-by-environment",
            severity="info" if chosen else "warning",
            what=f"{what}.",
            how=f"{how} {name} is {value!r}{'' if chosen else ', which hides it'}.",
            advice=f"Unset {name} to use it.",
        )
        return hidden, None
    cause = next((one for one in causes if maker in one.makers), None)
    if cause is not None:
        what, how = f"{what}: {cause.reason}", f"{how} {cause.finding.how}"
    fallback = Finding(
        name="fallback",
        severity=_severity(survey, maker),
        what=what if cause else f"{what}.",
        how=how,
        maker=maker,
        advice=cause.finding.advice
        if cause
        else f"Start jaxtui with JAX_PLATFORMS={PLATFORMS[maker][-1]}: JAX then says "
        f"why the {NAMES[maker]} does not start.",
    )
    return fallback, cause


def _too_few(
    survey: Survey, maker: Maker, devices: Sequence[Device]
) -> Iterator[Finding]:
    count = survey.count(maker, devices)
    if count.found >= count.on_bus or count.processes > 1:
        return
    counted = f"JAX sees {count.found} of {hardware.in_words(survey.of(maker))}"
    if count.limits:
        yield Finding(
            name="chips-hidden",
            severity="info",
            what=f"{counted}, as {count.limits[0]} asks.",
            how="The environment names that many.",
            advice=f"Unset {count.limits[0].partition('=')[0]} to use all.",
        )
    elif count.missing:
        yield Finding(
            name="chips-missing",
            severity="error",
            what=count.missing,
            how="The PCI bus shows more chips than `jax.local_devices()` stands for.",
            advice="In a container pass all device files; otherwise restart the "
            "machine, and if that does not help, report the chip.",
        )
    else:
        yield Finding(
            name="chips-without-file",
            severity="info" if survey.container else "warning",
            what=f"{counted}; the others have no device file here.",
            how="The PCI bus shows more chips than /dev has files for.",
            advice="In a container that was given a part of the machine that is meant; "
            f"for all, {_IN_CONTAINER[maker]}. Elsewhere `sudo dmesg` says why the "
            "driver did not take them.",
        )
