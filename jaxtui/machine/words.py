"""The machine: what it has, who holds it, and what keeps JAX from it."""

from __future__ import annotations

from jaxtui.core import format as fmt
from jaxtui.core.wording import Facts, Words
from jaxtui.machine.hardware import NAMES, PLUGINS

COMMAND_CHARACTERS = 60
"""The characters shown of a command, which may be a whole program."""

EXTRAS = {"tpu": "tpu", "cuda": "cuda12", "rocm": "rocm7-local"}
"""The extras of the package jax."""

_IN_CONTAINER = {
    "tpu": "start the container with --privileged, or with --device for each file",
    "cuda": "start the container with --gpus all",
    "rocm": "start the container with --device=/dev/kfd --device=/dev/dri",
}

_DRIVERS = {
    "tpu": "Elsewhere: this isn't a TPU VM, or its image lacks the TPU driver.",
    "cuda": "Elsewhere install NVIDIA's driver, until `nvidia-smi` lists the GPU.",
    "rocm": "Elsewhere load the driver: `sudo modprobe amdgpu`.",
}

ONE_VERSION = (
    "Install plugin and jaxlib of one version: `pip install -U` with the extra "
    "(jax[tpu], jax[cuda12], jax[cuda13] or jax[rocm7-local])."
)

_GPU_MEMORY = (
    "`nvidia-smi` lists the processes. A JAX program takes three quarters of a GPU when"
    " it starts, unless XLA_PYTHON_CLIENT_PREALLOCATE=false is set for it. Wait for it,"
    " ask its owner, or choose another GPU with CUDA_VISIBLE_DEVICES."
)


JETSON = (
    "JAX's CUDA packages for aarch64 have no kernels for the GPU of a Jetson Orin"
    " (sm_87): build jaxlib and the plugin with --cuda_compute_capabilities=sm_87, or"
    " use a container with JAX that is made for your JetPack."
)


def install(maker: str, jax: object = None) -> str:
    """Return the command that installs what lets JAX use an accelerator, and leaves jax
    as it is.
    """
    version = f"=={jax}" if jax else ""
    command = f'Run `pip install "jax[{EXTRAS[maker]}]{version}"`'
    if maker == "cuda":
        return f"{command}, or with cuda13 if the driver is 580 or newer."
    return f"{command}."


def process(facts: Facts) -> str:
    """``process 7 of ada (python train.py, for 1:01:40)``."""
    if facts.get("pid") is None:
        return "another process"
    user = f" of {facts['user']}" if facts.get("user") else ""
    texts = [fmt.shorten(facts.get("command") or "", COMMAND_CHARACTERS)]
    if facts.get("age_seconds") is not None:
        texts.append(f"for {fmt.duration(facts['age_seconds'])}")
    about = ", ".join(filter(None, texts))
    return f"process {facts['pid']}{user}{f' ({about})' if about else ''}"


def _uses(facts: Facts) -> str:
    uses = facts.get("uses") or "nothing"
    return uses if isinstance(uses, str) else fmt.listed(uses)


def _hardware(facts: Facts) -> str:
    """Name the machine's hardware, where it is known; a log knows no more than the
    maker.
    """
    return str(facts.get("hardware") or f"a possible {NAMES[facts['maker']]}")


def _fallback(facts: Facts) -> str:
    return f"JAX uses {_uses(facts)}, although this machine has {_hardware(facts)}."


def _fallback_advice(facts: Facts) -> str:
    if not facts.get("hardware"):
        return install(facts["maker"])
    return (
        f"Start jaxtui with JAX_PLATFORMS={facts['maker']}: JAX then says why the"
        f" {NAMES[facts['maker']]} does not start."
    )


def _paths(paths: tuple[str, ...]) -> str:
    """``/dev/nvidia0 and 3 more``."""
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def _permission(facts: Facts) -> str:
    paths = facts.get("paths") or (facts.get("path", "the accelerator's files"),)
    owner = f", which belongs to {facts['owner']}" if facts.get("owner") else ""
    return f"No permission to open {_paths(paths)}{owner}."


def _permission_advice(facts: Facts) -> str:
    if not (paths := facts.get("paths")):
        return (
            "`ls -l /dev/accel* /dev/vfio/* /dev/nvidia*` shows who may; pass the"
            " devices to a container with --privileged or --device."
        )
    group = facts["owner"].partition(":")[2]
    cure = f"Run `sudo usermod -aG {group} $USER` and log in again"
    if group in ("", "root"):
        cure = f"Run `sudo chmod a+rw {' '.join(paths)}`"
    return f"{cure}; in a container: {_IN_CONTAINER[facts['maker']]}."


def _slice(facts: Facts) -> str:
    where = f"This host has {facts['chips']} of the {facts.get('whole')} chips"
    where += f" of a TPU slice {facts.get('kind')}"
    if "workers" in facts:
        slice_of = f"TPU slice {facts.get('kind') or ''}".rstrip()
        where = (
            f"This is worker {facts['worker']} of {facts['workers']} of a {slice_of}"
        )
    if facts.get("others"):
        where += f" (the others: {', '.join(facts['others'])})"
    if present := facts.get("present"):
        return f"{where}: JAX has the chips of {fmt.plural(present, 'host')}."
    return f"{where}: JAX waits until it runs on every host."


SLICE_ADVICE = (
    "Run the same command on every host (`gcloud compute tpus tpu-vm ssh NAME"
    " --worker=all --command=...`), or use this host alone with --this-host."
)
"""The advice for one host of a slice."""


def _cpu_only(facts: Facts) -> str:
    plugins = facts["plugins"]
    installed = f"installed: {', '.join(plugins)}" if plugins else "no plugin installed"
    return f"No TPU or GPU found ({installed})."


def _held(facts: Facts) -> str:
    more = f" and {facts['more']} more" if facts.get("more") else ""
    return f"The TPU is in use by {process(facts)}{more}."


def _held_advice(facts: Facts) -> str:
    if facts.get("lock"):
        return (
            "`sudo lsof /tmp/libtpu_lockfile` names the holder; only if there is none,"
            " run `sudo rm /tmp/libtpu_lockfile`."
        )
    if facts.get("pid") is None:
        return "`sudo lsof /dev/accel* /dev/vfio/*` shows which process has it open."
    return (
        "A TPU serves one process at a time: end that one, wait for it, or use the CPU"
        " with JAX_PLATFORMS=cpu."
    )


def _setting(facts: Facts) -> str:
    name = facts["setting"]
    value = "" if name.endswith(("FLAGS", "ARGS")) else f"={facts['value']}"
    so = {
        "": "may change the timings",
        "verdicts": "makes verdicts meaningless",
        "jax": "prevents timing JAX at all",
    }[facts["refuses"]]
    return f"{name}{value} {so}."


def _setting_advice(facts: Facts) -> str:
    name = facts["setting"]
    if name.isupper():
        return f"To measure without it: `unset {name}`."
    return f"To measure without it, leave `jax.config.update({name!r}, …)` out."


def _malloc(facts: Facts) -> str:
    why = "another malloc is preloaded (LD_PRELOAD)"
    if facts["because"] == "no-glibc":
        why = "this system has no glibc"
    return f"jaxtui cannot choose {facts['end']} memory here: {why}."


def _published(facts: Facts) -> str:
    parts = [facts["source"]]
    if devices := facts.get("devices_per_chip"):
        parts.append(f"per chip, which is {devices} JAX devices")
    if count := facts.get("devices"):
        parts.append(f"times {count} devices")
    if passes := facts.get("passes"):
        count = fmt.plural(passes, "bfloat16 pass")
        parts.append(f"float32 at precision {facts['precision']} is {count}")
    if facts.get("tf32"):
        parts.append(f"float32 at precision {facts['precision']} is TF32")
    if doubt := facts.get("doubt"):
        parts.append(f"uncertain: {doubt}")
    if theirs := facts.get("jax"):
        parts.append(f"JAX's own table has {fmt.significant(theirs)} per second")
    return "; ".join(parts)


WORDS: dict[str, Words] = {
    "published": Words("published", _published),
    "plugin-missing": Words(
        "no plugin",
        lambda f: (
            f"JAX cannot use {_hardware(f)}: {PLUGINS[f['maker']]} is not installed."
        ),
        lambda f: JETSON if f.get("jetson") else install(f["maker"], f["jax"]),
    ),
    "wsl-driver": Words(
        "no driver",
        "This is WSL2: Windows offers its GPU as /dev/dxg, but /usr/lib/wsl/lib has no"
        " libcuda.so.1, so CUDA can't use it.",
        "For an NVIDIA GPU install NVIDIA's driver in Windows, and none in Linux; then"
        " run `wsl --shutdown` in Windows.",
    ),
    "no-device-file": Words(
        "no device file",
        lambda f: f"Programs find no device file for {_hardware(f)}.",
        lambda f: (
            f"In a container: {_IN_CONTAINER[f['maker']]}. {_DRIVERS[f['maker']]}"
        ),
    ),
    "permission": Words("permission", _permission, _permission_advice),
    "fallback": Words("fallback", _fallback, _fallback_advice),
    "hidden-by-environment": Words(
        "hidden",
        lambda f: (
            f"JAX uses {_uses(f)} and not {f['hardware']}, because {f['variable']}."
        ),
        lambda f: f"Unset {f['variable'].partition('=')[0]} to use it.",
    ),
    "cpu-only": Words(
        "CPU only",
        _cpu_only,
        "If you expected one, it isn't attached to this VM or container.",
    ),
    "chips-missing": Words(
        "chips missing",
        "JAX sees {seen} of {of}: {missing} missing.",
        "In a container pass all device files; otherwise restart the machine, and"
        " report the chip if that does not help.",
    ),
    "libtpu-mismatch": Words(
        "libtpu mismatch",
        "libtpu {version} does not fit jax {jax}, which asks for {wanted}.",
        'Run `pip install "libtpu=={wanted}"`.',
    ),
    "plugin-mismatch": Words("plugin mismatch", "{error:.}", ONE_VERSION),
    "cuda-library": Words(
        "CUDA library",
        "{error:.}",
        lambda _: (
            "`unset LD_LIBRARY_PATH`, so that JAX finds the libraries of the Python"
            f" packages. {install('cuda')}"
        ),
    ),
    "cuda-failed": Words(
        "CUDA failed",
        "JAX does not use the NVIDIA GPU: {error:.}",
        "Check that `nvidia-smi` lists the GPU; after an update of the driver, restart"
        " the machine.",
    ),
    "gpu-memory-taken": Words(
        "GPU memory",
        "JAX could not start on the GPU: it may have no memory left.",
        _GPU_MEMORY,
    ),
    "gpu-shared": Words(
        "shared GPU",
        lambda f: f"{_paths(f['paths'])} is also in use by {process(f)}.",
        "It slows timings down while it computes.",
    ),
    "held": Words("TPU in use", _held, _held_advice),
    "tpu-locked": Words(
        "TPU locked",
        lambda f: f"The TPU library is locked by {process(f)}.",
        "End it or wait for it. Deleting /tmp/libtpu_lockfile while it is alive does"
        " not free the TPU.",
    ),
    "stale-lock": Words(
        "stale lock",
        "/tmp/libtpu_lockfile belongs to {owner}, and you can't open it: libtpu"
        " reports that as a TPU in use.",
        "If `sudo lsof /tmp/libtpu_lockfile` shows no process, run"
        " `sudo rm /tmp/libtpu_lockfile`.",
    ),
    "pod-slice": Words(
        "TPU slice",
        _slice,
        lambda f: "" if f.get("present", 0) >= f.get("workers", 2) else SLICE_ADVICE,
    ),
    "package-missing": Words(
        "missing package",
        "The engine's Python has no {package}.",
        "Run `PYTHON -m pip install {package}` with the Python that --python names.",
    ),
    "setting": Words("setting", _setting, _setting_advice),
    "malloc-unknown": Words("malloc", _malloc),
}
