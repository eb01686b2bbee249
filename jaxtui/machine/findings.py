"""What a survey means for somebody who wants to use the machine: pure sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxtui import format as fmt
from jaxtui.machine.pci import Chip, Maker, in_words
from jaxtui.machine.survey import Survey
from jaxtui.model import Device, Finding, Holder

_PLATFORMS: dict[Maker, tuple[str, ...]] = {
    "tpu": ("tpu",),
    "cuda": ("gpu", "cuda"),
    "rocm": ("gpu", "rocm"),
}
"""How JAX calls the platform of each maker."""

_EXTRAS: dict[Maker, str] = {"tpu": "tpu", "cuda": "cuda12", "rocm": "rocm"}

_TPU_PATHS = ("/dev/accel", "/dev/vfio")

_NAMES: dict[Maker, str] = {"tpu": "TPU", "cuda": "NVIDIA GPU", "rocm": "AMD GPU"}


def before(survey: Survey) -> tuple[Finding, ...]:
    """What is known before JAX starts, the worst first."""
    return _ordered(_before(survey))


def after(survey: Survey, devices: Sequence[Device]) -> tuple[Finding, ...]:
    """The same, and how it compares with the devices that JAX has."""
    return _ordered([*_compared(survey, devices), *_before(survey)])


def _ordered(found: Iterator[Finding] | list[Finding]) -> tuple[Finding, ...]:
    order = ("error", "warning", "info")
    return tuple(sorted(found, key=lambda finding: order.index(finding.severity)))


def _before(survey: Survey) -> Iterator[Finding]:
    for maker in ("tpu", "cuda", "rocm"):
        chips = survey.of(maker)
        if chips:
            yield from _not_installed(survey, maker, chips)
            yield from _forbidden(survey, maker)
    yield from _mismatched(survey)
    yield from _held_gpu(survey)
    yield from _locked(survey)
    yield from _hidden(survey)
    yield from _slice(survey)
    yield from _hugepages(survey)
    yield from _preallocation(survey)


def _not_installed(
    survey: Survey, maker: Maker, chips: Sequence[Chip]
) -> Iterator[Finding]:
    packages = survey.packages
    if packages is None or packages.for_maker(maker):
        return
    version = f"=={packages.jax}" if packages.jax else ""
    missing = "libtpu" if maker == "tpu" else f"JAX's {maker} plugin"
    yield Finding(
        name="plugin-missing",
        severity="error",
        what=f"This machine has {in_words(chips)}, but {missing} is not installed.",
        how="The PCI bus shows the chips; this Python has no package that drives them.",
        advice=f'Run `pip install "jax[{_EXTRAS[maker]}]{version}"`.',
    )


def _forbidden(survey: Survey, maker: Maker) -> Iterator[Finding]:
    closed = [node for node in survey.nodes if node.maker == maker and not node.usable]
    if not closed:
        return
    first = closed[0]
    yield Finding(
        name="permission",
        severity="error",
        what=f"This user may not open {_paths([node.path for node in closed])}.",
        how=f"{first.path} belongs to {first.owner}.",
        advice="Join that group (`sudo usermod -aG GROUP $USER`, then log in again), "
        "or in a container pass the devices with --device or --privileged.",
    )


def _mismatched(survey: Survey) -> Iterator[Finding]:
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


def _held_gpu(survey: Survey) -> Iterator[Finding]:
    for holder in survey.holders:
        gpus = [path for path in holder.paths if not path.startswith(_TPU_PATHS)]
        if gpus:
            yield Finding(
                name="gpu-shared",
                severity="info",
                what=f"{_process(holder)} uses {_paths(gpus)} as well.",
                how="It has the device open.",
                advice="JAX programs take three quarters of a GPU's memory when they "
                "start, unless XLA_PYTHON_CLIENT_PREALLOCATE=false is set for them; "
                "timings suffer while it computes.",
            )


def _locked(survey: Survey) -> Iterator[Finding]:
    for holder in survey.lock_holders:
        yield Finding(
            name="tpu-locked",
            severity="error",
            what=f"{_process(holder)} holds the lock of the TPU library.",
            how="/proc/locks names it as the holder of /tmp/libtpu_lockfile.",
            advice="End it or wait for it. Deleting the file while it is alive does "
            "not free the TPU.",
        )


def _hidden(survey: Survey) -> Iterator[Finding]:
    if survey.chips and survey.hidden_processes:
        yield Finding(
            name="hidden-processes",
            severity="info",
            what=f"{survey.hidden_processes} processes of other users could not be "
            "looked into, so somebody may use an accelerator unseen.",
            how="/proc refuses to list what they have open.",
            advice="`sudo lsof /dev/accel* /dev/vfio/* /dev/nvidia*` shows all.",
        )


def _slice(survey: Survey) -> Iterator[Finding]:
    hosts = survey.environment.get("TPU_WORKER_HOSTNAMES", "")
    workers = [host for host in hosts.split(",") if host]
    if len(workers) < 2 or "TPU_PROCESS_BOUNDS" in survey.environment:
        return
    number = survey.environment.get("TPU_WORKER_ID", "?")
    yield Finding(
        name="pod-slice",
        severity="info",
        what=f"This is worker {number} of {len(workers)} of a TPU slice: JAX waits "
        "until all of them have started it.",
        how="TPU_WORKER_HOSTNAMES lists the workers.",
        advice="Start jaxtui on all workers, or look at this host only: "
        "`TPU_PROCESS_BOUNDS=1,1,1 TPU_CHIPS_PER_PROCESS_BOUNDS=2,2,1 jaxtui` "
        "(2,2,1 for a host of four chips).",
    )


def _hugepages(survey: Survey) -> Iterator[Finding]:
    if survey.of("tpu") and survey.hugepages not in ("", "always"):
        yield Finding(
            name="hugepages",
            severity="warning",
            what="Transparent hugepages are off, which makes a TPU slow to start.",
            how=f"/sys/kernel/mm/transparent_hugepage/enabled is {survey.hugepages}.",
            advice="`echo always | sudo tee "
            "/sys/kernel/mm/transparent_hugepage/enabled`",
        )


def _preallocation(survey: Survey) -> Iterator[Finding]:
    value = survey.environment.get("XLA_PYTHON_CLIENT_PREALLOCATE")
    gpus = survey.of("cuda") or survey.of("rocm")
    if gpus and value == "false":
        yield Finding(
            name="preallocation",
            severity="info",
            what="JAX takes GPU memory as it needs it, not three quarters at once.",
            how="XLA_PYTHON_CLIENT_PREALLOCATE is false; jaxtui sets that unless you "
            "have set it, because others may use the GPU too.",
        )


def _compared(survey: Survey, devices: Sequence[Device]) -> Iterator[Finding]:
    if any(device.simulated for device in devices):
        return
    platforms = {device.platform for device in devices}
    for maker in ("tpu", "cuda", "rocm"):
        chips = survey.of(maker)
        if not chips:
            continue
        if not platforms.intersection(_PLATFORMS[maker]):
            yield _fallback(survey, maker, chips, platforms)
        else:
            yield from _too_few(maker, chips, devices)


def _fallback(
    survey: Survey, maker: Maker, chips: Sequence[Chip], platforms: set[str]
) -> Finding:
    chosen = survey.environment.get("JAX_PLATFORMS", "")
    asked = chosen.split(",") if chosen else []
    got = ", ".join(sorted(platforms)) or "nothing"
    what = f"This machine has {in_words(chips)}, but JAX uses {got}."
    how = "The PCI bus shows the chips; `jax.devices()` does not have them."
    if asked and not set(asked) & set(_PLATFORMS[maker]):
        return Finding(
            name="hidden-by-environment",
            severity="info",
            what=what,
            how=f"{how} JAX_PLATFORMS is {chosen!r}.",
            advice="Unset JAX_PLATFORMS to use them.",
        )
    return Finding(
        name="fallback",
        severity="error",
        what=what,
        how=how,
        advice=f"Start Python with JAX_PLATFORMS={_PLATFORMS[maker][-1]} and call "
        f"`jax.devices()`: JAX then says why the {_NAMES[maker]} does not start.",
    )


def _too_few(
    maker: Maker, chips: Sequence[Chip], devices: Sequence[Device]
) -> Iterator[Finding]:
    mine = [
        device
        for device in devices
        if device.addressable and device.platform in _PLATFORMS[maker]
    ]
    # Two devices may share a chip (TPU v2, v3, TPU7x), so chips are told by place.
    places = {
        (device.slice_index, device.coords) if device.coords else device.id
        for device in mine
    }
    if len(places) < len(chips):
        missing = len(chips) - len(places)
        yield Finding(
            name="chips-missing",
            severity="error",
            what=f"JAX sees {len(places)} of {in_words(chips)}: "
            f"{missing} {'is' if missing == 1 else 'are'} missing.",
            how="The PCI bus shows more chips than `jax.local_devices()` stands for.",
            advice="TPU_VISIBLE_CHIPS or CUDA_VISIBLE_DEVICES may hide some; otherwise "
            "restart the machine, and if that does not help, report the chip.",
        )


def _process(holder: Holder) -> str:
    user = f" of {holder.user}" if holder.user else ""
    age = (
        f", for {fmt.duration(holder.age_seconds)}"
        if holder.age_seconds is not None
        else ""
    )
    return f"Process {holder.pid}{user} ({holder.command or 'unknown'}{age})"


def _paths(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
