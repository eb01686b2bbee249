"""Who else uses the accelerators, and what of that cannot be seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from jaxtui import format as fmt
from jaxtui.machine import words
from jaxtui.machine.gpu_memory import GpuMemory
from jaxtui.machine.holders import refused
from jaxtui.machine.locks import Lock
from jaxtui.machine.survey import Survey
from jaxtui.model import Finding, Holder, Severity

TPU_PATHS = ("/dev/accel", "/dev/vfio")

MUCH = 0.5
"""The part of a GPU's memory from which on others are said to have much of it."""

_SERVICES = ("nvidia-persistenced", "nv-hostengine", "dcgm", "nvidia-fabricmanager")
"""Services that keep a GPU open and compute nothing."""


def taken(survey: Survey) -> Iterator[Finding]:
    """Holders of device files and of libtpu's lock."""
    yield from _shared(survey)
    yield from _locked(survey)
    yield from _hidden(survey)


def memory(cards: Sequence[GpuMemory], holders: Sequence[Holder]) -> Iterator[Finding]:
    """GPUs whose memory others have taken, as it was before JAX started."""
    full = [card for card in cards if card.used_bytes >= MUCH * card.total_bytes]
    if not full:
        return
    seen = [words.process(one) for one in holders if _gpu_files(one)]
    who = (
        f" {words.sentence(' and '.join(seen))} {'has' if len(seen) == 1 else 'have'} "
        "GPUs open."
        if seen
        else " Whoever has it cannot be seen here."
    )
    yield Finding(
        name="gpu-memory-taken",
        severity="warning",
        what=" ".join(
            f"{fmt.bytes_text(card.used_bytes)} of the "
            f"{fmt.bytes_text(card.total_bytes)} of {card.name} were taken before JAX "
            "started."
            for card in full
        )
        + who,
        how=f"{full[0].source} said so.",
        advice="A JAX program takes three quarters of a GPU when it starts, unless "
        "XLA_PYTHON_CLIENT_PREALLOCATE=false is set for it. Wait for it, ask its "
        "owner, or choose another GPU with CUDA_VISIBLE_DEVICES or "
        "HIP_VISIBLE_DEVICES.",
    )


def _shared(survey: Survey) -> Iterator[Finding]:
    for holder in survey.holders:
        who = words.sentence(words.process(holder))
        if gpus := _gpu_files(holder):
            yield Finding(
                name="gpu-shared",
                severity="info",
                what=f"{who} uses {words.paths(gpus)} as well.",
                how="It has the device file open.",
                advice="JAX programs take three quarters of a GPU's memory when they "
                "start, unless XLA_PYTHON_CLIENT_PREALLOCATE=false is set for them; "
                "timings suffer while it computes.",
            )
        tpus = [path for path in holder.paths if path.startswith(TPU_PATHS)]
        # Whoever is kept from starting hears it from the engine, with every holder.
        if tpus and survey.nodes_of("tpu") and refused(survey.environment):
            yield Finding(
                name="tpu-shared",
                severity="info",
                what=f"{who} uses {words.paths(tpus)}.",
                how="It has the device file open.",
                advice="That is no hindrance here: the environment chooses other "
                "devices (JAX_PLATFORMS, TPU_VISIBLE_CHIPS).",
            )


def _gpu_files(holder: Holder) -> list[str]:
    if any(name in holder.command for name in _SERVICES):
        return []
    return [path for path in holder.paths if not path.startswith(TPU_PATHS)]


def _locked(survey: Survey) -> Iterator[Finding]:
    if not survey.present("tpu"):
        return
    open_already = {holder.pid for holder in survey.holders}
    holders = [one for one in survey.lock_holders if one.pid not in open_already]
    severity: Severity = "info" if refused(survey.environment) else "error"
    for finding in lock(survey.lock, holders):
        yield msgspec.structs.replace(finding, severity=severity)


def lock(seen: Lock, holders: Sequence[Holder]) -> Iterator[Finding]:
    """Who has libtpu's lock, if anybody; only a lock of nobody's may be deleted.

    Args:
        seen: the lock.
        holders: those of its holders that are to be named.
    """
    for holder in holders:
        yield Finding(
            name="tpu-locked",
            severity="error",
            what=f"{words.sentence(words.process(holder))} holds the lock of the TPU "
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
            "nobody who holds it.",
            advice="If `sudo lsof /tmp/libtpu_lockfile` shows nobody either, run "
            "`sudo rm /tmp/libtpu_lockfile`.",
        )


def _hidden(survey: Survey) -> Iterator[Finding]:
    if not (survey.chips or survey.nodes):
        return
    reasons = list(survey.unseen)
    if survey.container:
        reasons.append("this is a container, which does not show the host's processes")
    if survey.hidden_processes:
        hidden = fmt.plural(survey.hidden_processes, "process")
        reasons.insert(0, f"/proc refuses what {hidden} of other users have open")
    if reasons:
        yield Finding(
            name="hidden-processes",
            severity="info",
            what="Not every process could be looked into, so somebody may use an "
            "accelerator unseen.",
            how=f"{'; '.join(reasons)}.",
            advice="`sudo lsof /dev/accel* /dev/vfio/* /dev/nvidia* /dev/kfd` on the "
            "host shows all.",
        )
