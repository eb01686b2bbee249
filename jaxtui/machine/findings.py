"""The meaning of a survey for somebody who wants to use the machine: codes and
facts.

Two questions: who holds an accelerator, and why JAX uses the CPU although there is
some. What else JAX, CUDA or libtpu say is shown as they say it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from jaxtui.core.model import Device, Holder, Remark, Severity
from jaxtui.core.model.remark import Fact
from jaxtui.machine import causes, hardware, processes, topologies
from jaxtui.machine.hardware import Maker, maker_of
from jaxtui.machine.hosts import names_of
from jaxtui.machine.processes import Lock
from jaxtui.machine.survey import MAKERS, PLATFORMS, PROCESSES, Survey

_ORDER: tuple[Severity, ...] = ("error", "warning", "info")

CAUSES = frozenset({"plugin-missing", "no-device-file", "permission"})
"""Codes of the visible reasons why JAX falls back to the CPU."""

_SERVICES = ("nvidia-persistenced", "nv-hostengine", "dcgm", "nvidia-fabricmanager")
"""Services that keep a GPU open and compute nothing."""


def before(survey: Survey) -> tuple[Remark, ...]:
    """Return the findings before JAX starts, the worst first."""
    return sort([*_causes(survey), *_others(survey, ())])


def after(survey: Survey, devices: Sequence[Device]) -> tuple[Remark, ...]:
    """Return the findings of ``before``, and how they compare with JAX's devices.

    The survey is as it was before JAX was touched; a machine without accelerators needs
    its packages too.
    """
    causes = list(_causes(survey))
    compared = _compare(survey, devices, {cause.facts["maker"] for cause in causes})
    return sort([*causes, *compared, *_others(survey, devices)])


def sort(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
    """The worst first; otherwise as they come."""
    return tuple(sorted(remarks, key=lambda remark: _ORDER.index(remark.severity)))


def merge(findings: Iterable[Remark], logged: Iterable[Remark]) -> tuple[Remark, ...]:
    """Merge findings with what JAX logged beyond them, the worst first.

    Where JAX's words are about something that is known already, they are kept there as
    the original text.
    """
    merged = list(findings)
    for remark in logged:
        same = [i for i, old in enumerate(merged) if _trouble(old) == _trouble(remark)]
        if not same:
            merged.append(remark)
        elif remark.detail not in (old := merged[same[0]]).detail:
            detail = f"{old.detail}\n{remark.detail}".strip()
            merged[same[0]] = msgspec.structs.replace(old, detail=detail)
    return sort(merged)


def _trouble(remark: Remark) -> tuple[str, Fact]:
    """A machine may lack a TPU's library and a GPU's: those are two troubles."""
    code = "fallback" if remark.code in CAUSES else remark.code
    return code, remark.facts.get("maker")


def _others(survey: Survey, devices: Sequence[Device]) -> Iterator[Remark]:
    yield from causes.ignored_flags(survey.environment)
    yield from _versions(survey)
    yield from _users(survey)
    if survey.wanted("tpu") and PROCESSES not in survey.environment:
        yield from _slice(survey, devices)


# What lies between an accelerator and JAX: package, device files, driver.


def _causes(survey: Survey) -> Iterator[Remark]:
    for maker in MAKERS:
        if survey.present(maker) and survey.wanted(maker):
            yield from _way_to_jax(survey, maker)


def _way_to_jax(survey: Survey, maker: Maker) -> Iterator[Remark]:
    packages, files = survey.packages, survey.nodes_of(maker)
    severity = _severity(survey, maker)
    facts: dict[str, Fact] = {"maker": maker, "hardware": survey.present(maker)}
    if survey.is_jetson:
        facts["jetson"] = True
    if packages is not None and not packages.for_maker(maker):
        yield Remark("plugin-missing", {**facts, "jax": packages.jax}, severity)
    if not files:
        yield Remark("no-device-file", facts, severity)
    closed = [node for node in files if not node.usable]
    if closed:
        paths = tuple(node.path for node in closed)
        more: dict[str, Fact] = {"paths": paths, "owner": closed[0].owner}
        yield Remark("permission", {**facts, **more}, severity)


def _severity(survey: Survey, maker: Maker) -> Severity:
    """AMD makes the graphics of many computers whose owners never think of ROCm."""
    packages = survey.packages
    bare = packages is not None and not packages.for_maker(maker)
    return "info" if maker == "rocm" and bare else "error"


def _versions(survey: Survey) -> Iterator[Remark]:
    """Libtpu was made for another JAX than the installed one, which does not look."""
    packages = survey.packages
    if packages is not None and packages.libtpu_wanted:
        facts: dict[str, Fact] = {
            "version": packages.plugins["libtpu"],
            "jax": packages.jax,
            "wanted": packages.libtpu_wanted,
        }
        yield Remark("libtpu-mismatch", facts, "warning")


# Who else uses the accelerators.


def _users(survey: Survey) -> Iterator[Remark]:
    for holder in survey.holders:
        if gpus := _gpu_files(holder, survey):
            facts = {**processes.facts(holder), "paths": tuple(gpus)}
            yield Remark("gpu-shared", facts)
    if survey.present("tpu"):
        users = {holder.pid for holder in survey.holders}
        locking = tuple(
            locker for locker in survey.lock.holders if locker.pid not in users
        )
        severity: Severity = "error" if survey.wants_whole_tpu else "info"
        for remark in lock(msgspec.structs.replace(survey.lock, holders=locking)):
            yield msgspec.structs.replace(remark, severity=severity)


def lock(lock: Lock) -> Iterator[Remark]:
    """Yield the holders of libtpu's lock; without one it may be deleted."""
    for holder in lock.holders:
        yield Remark("tpu-locked", processes.facts(holder), "error")
    if lock.closed_by:
        yield Remark("stale-lock", {"owner": lock.closed_by}, "error")


def _gpu_files(holder: Holder, survey: Survey) -> list[str]:
    """The device files of GPUs for JAX that it has open, and computes with."""
    if any(name in holder.command for name in _SERVICES):
        return []
    return [
        path
        for path in holder.paths
        if (maker := maker_of(path)) not in (None, "tpu")
        and ((number := _number(path)) is None or survey.uses(maker, number))
    ]


def gpu_holders(survey: Survey, card: int) -> tuple[Holder, ...]:
    """The processes that have a GPU for JAX open, as far as can be told this one."""
    return tuple(
        holder
        for holder in survey.holders
        if any(_number(path) in (None, card) for path in _gpu_files(holder, survey))
    )


def _number(path: str) -> int | None:
    """Return the number of the GPU with this file; ``/dev/kfd`` is for all of AMD's."""
    digits = path.removeprefix("/dev/nvidia")
    return int(digits) if digits.isdigit() else None


def _slice(survey: Survey, devices: Sequence[Device]) -> Iterator[Remark]:
    environment = survey.environment
    here, workers = len(survey.of("tpu")), topologies.workers(environment)
    kind = environment.get("TPU_ACCELERATOR_TYPE", "")
    whole = topologies.chips_of(kind) or 0
    if workers > 1 or 0 < here < whole:
        facts: dict[str, Fact] = {"chips": here, "whole": whole, "kind": kind}
        if workers > 1:
            number = environment.get("TPU_WORKER_ID", "?")
            facts = {"chips": here, "worker": number, "workers": workers, "kind": kind}
            names = names_of(environment, workers)
            facts["others"] = tuple(
                name for index, name in enumerate(names) if str(index) != number
            )
        hosts = {device.process_index for device in devices if device.platform == "tpu"}
        if hosts:
            facts["present"] = len(hosts)
        yield Remark("pod-slice", facts)


# What the machine has against what JAX has.


def _compare(
    survey: Survey, devices: Sequence[Device], explained: set[Fact]
) -> Iterator[Remark]:
    """Accelerators that JAX does without, wholly or in part.

    A fallback whose cause is known is one trouble, not two.
    """
    if survey.platforms == ("cpu",) and any(device.simulated for device in devices):
        return  # by --cpu-devices
    platforms = {device.platform for device in devices}
    uses, missed = tuple(sorted(platforms)), False
    for maker in MAKERS:
        present = survey.present(maker)
        facts: dict[str, Fact] = {"maker": maker, "hardware": present, "uses": uses}
        if not present:
            continue
        if not platforms.isdisjoint(PLATFORMS[maker]):
            yield from _too_few(survey, maker, devices)
        elif variable := survey.hidden_by(maker):
            facts["variable"] = variable
            severity: Severity = "info" if variable.startswith("JAX_") else "warning"
            yield Remark("hidden-by-environment", facts, severity)
        elif maker not in explained:
            yield Remark("fallback", facts, _severity(survey, maker))
        missed |= platforms.isdisjoint(PLATFORMS[maker])
    if not missed:
        yield from _without(survey, platforms)


def _without(survey: Survey, platforms: set[str]) -> Iterator[Remark]:
    """Yield a remark that there is only a CPU, unless nothing else was requested."""
    if platforms != {"cpu"} or survey.platforms == ("cpu",):
        return
    if survey.wsl:
        yield Remark("wsl-driver", {}, "warning")
        return
    plugins = survey.packages.plugins if survey.packages else {}
    names = tuple(f"{name} {version}" for name, version in plugins.items())
    yield Remark("cpu-only", {"plugins": names})


def _too_few(
    survey: Survey, maker: Maker, devices: Sequence[Device]
) -> Iterator[Remark]:
    count = survey.count(maker, devices)
    if count.missing:
        chips = hardware.in_words(survey.of(maker)[: count.given])
        facts: dict[str, Fact] = {"seen": count.found, "of": chips}
        yield Remark("chips-missing", {**facts, "missing": count.missing}, "error")
