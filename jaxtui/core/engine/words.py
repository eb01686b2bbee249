"""The engine: how it starts, ends, refuses, what it does, and what a case raised."""

from __future__ import annotations

import re
import unicodedata

from jaxtui.core import child
from jaxtui.core import format as fmt
from jaxtui.core.text import ended
from jaxtui.core.wording import Facts, Words
from jaxtui.machine import topologies
from jaxtui.machine.words import SLICE_ADVICE, install

_OF_LIBTPU = re.compile(
    r"-*(xla_tpu_|xla_jf_|xla_sc_|xla_enable_async_|megascale_|tpu_)"
)

AGAIN = "Run it again."


def incomplete(during: str) -> str:
    """An answer that lacks something because the engine died on the way."""
    return f"The engine died during the {during}: some results are missing."


PRINTED_CHARACTERS = 160
"""The characters quoted of a program's last output."""


def _ended(facts: Facts) -> str:
    """``was killed (SIGKILL)``."""
    match facts.get("signal"):
        case None if "status" in facts:
            return f"exited with code {facts['status']}"
        case None:
            return "stopped answering"
        case "SIGKILL":
            return "was killed (SIGKILL: the kernel does this when memory runs out)"
        case "SIGTERM" | "SIGINT" | "SIGHUP" as name:
            return f"was terminated ({name})"
        case name:
            return f"crashed ({name})"


def _died(facts: Facts) -> str:
    case = f" while it timed {facts['case']}" if facts.get("case") else ""
    early = "" if facts.get("ready") else " before JAX was up"
    text = f"The engine {_ended(facts)}{case}{early}."
    printed = fmt.shorten(facts.get("printed") or "", PRINTED_CHARACTERS)
    return f"{text} It printed: {ended(printed)}" if printed else text


def _died_advice(facts: Facts) -> str:
    if not facts.get("ready"):
        return "`python -c 'import jax; jax.devices()'` shows whether JAX starts alone."
    if facts.get("idle"):
        return "The next run starts a new one."
    if facts.get("case"):
        return "Try a smaller size or another mode."
    return AGAIN


def _during(facts: Facts) -> str:
    return f" in the phase {facts['phase']}" if facts.get("phase") else ""


def _overdue(facts: Facts) -> str:
    during = _during(facts)
    seconds = f"{facts['seconds']:.0f} s"
    return f"It did not finish within {seconds}{during}; jaxtui ended the engine."


WAITS = {
    "inspection": "A longer limit waits longer.",
    "experiment": "A longer budget waits longer.",
}
"""The advice by the work that was not over in time."""


def starting_text(*, imported: bool, hardware: str) -> str:
    """``initialising JAX on 8 TPU v5e chips``."""
    named = imported and hardware
    return f"initialising JAX on {hardware}" if named else "starting JAX"


def _slow(facts: Facts) -> str:
    imported, hardware = facts["imported"], facts["hardware"]
    text = starting_text(imported=imported, hardware=hardware)
    return f"{text[0].upper()}{text[1:]} has taken {facts['seconds']:.0f} s so far."


def _slow_advice(facts: Facts) -> str:
    makers = facts["makers"]
    if facts["slice"]:
        others = ", ".join(facts["others"])
        text = "JAX waits until every host of the slice runs it"
        return f"{text}{others and f': {others}'}. {SLICE_ADVICE}"
    if not facts["imported"]:
        return (
            "The first import after an installation is slow, and so is one from a"
            " network file system or on a busy machine."
        )
    if "tpu" in makers:
        return (
            "A TPU takes up to a minute after a restart of the machine; on a host of a"
            f" slice JAX waits for the others. {SLICE_ADVICE}"
        )
    if makers:
        tool = "nvidia-smi" if "cuda" in makers else "rocm-smi"
        return (
            "The first program after a restart loads the driver. If"
            f" `{tool}` hangs too, restart the machine."
        )
    return "Check what else runs on this machine."


def _timeout(facts: Facts) -> str:
    at = "importing JAX"
    if facts["imported"]:
        at = starting_text(imported=True, hardware=facts["hardware"])
    return (
        f"JAX did not start within {facts['seconds']:g} s: jaxtui ended the engine"
        f" while it was {at}."
    )


def _environment(facts: Facts) -> str:
    platforms, plugins = facts.get("asked"), facts.get("plugins") or ()
    where = f"{facts['variable']} is {'not set' if not platforms else repr(platforms)}."
    installed = f"Installed plugins: {', '.join(plugins) or 'none'}."
    return f"{where} {installed}"


def _platform_advice(facts: Facts) -> str:
    if " " in facts["platform"]:
        return f"Commas without blanks separate platforms: {facts['variable']}=tpu,cpu."
    if facts["platform"] in ("rocm", "cuda", "gpu"):
        maker = "rocm" if facts["platform"] == "rocm" else "cuda"
        return f"{install(maker, facts['jax'])} {_environment(facts)}"
    return f"JAX knows cpu, tpu, cuda and rocm. {_environment(facts)}"


def _versions(facts: Facts) -> str:
    pairs = (("jax", facts["jax"]), ("jaxlib", facts["jaxlib"]))
    versions = " and ".join(f"{name} {version}" for name, version in pairs if version)
    return f"{versions or 'Neither jax nor jaxlib'} is installed."


def _character(facts: Facts) -> str:
    """The character that a flag begins with, by name if it is no plain one."""
    odd = next(
        (character for character in facts["flag"] if not character.isascii()), ""
    )
    name = unicodedata.name(odd, "").lower() if odd else ""
    return f"“{odd}” ({name})" if odd else repr(facts["flag"][0])


def _flags(facts: Facts) -> list[str]:
    """The flags; libtpu names them without their hyphens."""
    hyphens = "--" * (facts["variable"] == "LIBTPU_INIT_ARGS")
    return [hyphens + flag for flag in facts["flags"].split()]


def _flag_unknown(facts: Facts) -> str:
    variable = facts["variable"]
    whose = "libtpu" if variable == "LIBTPU_INIT_ARGS" else "This jaxlib's XLA"
    flags = fmt.listed(_flags(facts))
    return (
        f"{whose} has no flag {flags} in {variable}, and ends every program for that."
    )


def _flag_advice(facts: Facts) -> str:
    flags = _flags(facts)
    theirs = [flag for flag in flags if _OF_LIBTPU.match(flag)]
    if theirs and facts["variable"] == "XLA_FLAGS":
        return f"Move {fmt.listed(theirs)} to LIBTPU_INIT_ARGS: libtpu has its own."
    if any(not flag.startswith("--") for flag in flags):
        return "A flag begins with two hyphens."
    return "Take it out: it is misspelt, or XLA has removed it."


def _refused_setting(facts: Facts) -> str:
    value = facts["value"]
    shown = "" if value is None else f"={value}"
    return f"JAX refuses {facts['variable']}{shown}."


REPORT = "This is a bug in jaxtui: please report it with the original text."

WORDS: dict[str, Words] = {
    # Starts.
    "jax-missing": Words(
        "no JAX",
        "The Python that runs jaxtui has no JAX.",
        "Install jaxtui where jax is; on a fresh machine:"
        ' pip install "jaxtui[tpu]", "jaxtui[cuda13]", or jax for the CPU alone.',
    ),
    "jax-too-old": Words(
        "old JAX",
        "jax {jax} is too old: jaxtui needs {needed} or newer.",
        "jaxtui never changes your jax. Upgrade it, on a TPU with"
        ' `pip install -U "jax[tpu]"` so that libtpu fits, or use another environment.',
    ),
    "jax-broken": Words(
        "broken JAX",
        lambda f: f"Importing JAX fails: {ended(f['error'])} {_versions(f)}",
        "`python -c 'import jax'` shows the whole message.",
    ),
    "setting-refused": Words(
        "refused setting",
        _refused_setting,
        "Unset {variable}, or give it a value that JAX knows.",
    ),
    "flag-unknown": Words("unknown flag", _flag_unknown, _flag_advice),
    "flag-value": Words(
        "flag's value",
        "XLA does not take {value!r} as a value of --{flag}.",
        "Correct it in XLA_FLAGS, or unset XLA_FLAGS.",
    ),
    "flag-unreadable": Words(
        "bad flags",
        lambda f: (
            f"{f['variable']} begins with {_character(f)}, so XLA takes {f['flag']} for"
            " the name of a file of flags, and there is none."
        ),
        "A flag begins with two hyphens: --xla_dump_to=FOLDER.",
    ),
    "flag-ignored": Words(
        "ignored flag",
        lambda f: (
            f"XLA ignores {f['flag']} in {f['variable']}: it begins with"
            f" {_character(f)}."
        ),
        "A flag begins with two hyphens.",
    ),
    "module-hidden": Words(
        "hidden module",
        lambda f: child.hides(f["modules"], f["path"]),
        child.RENAME,
    ),
    "limit-reached": Words(
        "limit",
        "JAX needs more than this shell's `{limit}` allows ({value}).",
        "Raise it with `{limit}`, or start from another shell.",
    ),
    "platform-unknown": Words(
        "unknown platform",
        "JAX has no platform {platform!r} here.",
        _platform_advice,
    ),
    "backend-failed": Words(
        "no backend",
        lambda f: f"JAX's backend {f.get('backend') or ''} did not start.".replace(
            "  ", " "
        ),
        _environment,
    ),
    "no-gpu": Words(
        "no GPU",
        "JAX_PLATFORMS is {asked!r}, but JAX finds no NVIDIA GPU.",
        "Check `nvidia-smi`, or unset JAX_PLATFORMS; a container needs --gpus all.",
    ),
    "no-tpu": Words(
        "no TPU",
        "JAX tried to use a TPU and found no chip.",
        "This is not a TPU VM, or its container lacks --privileged or --device.",
    ),
    "libtpu-missing": Words(
        "no libtpu",
        "libtpu, which brings the TPU's runtime and compiler, is not installed.",
        lambda f: (
            f"Run `{topologies.INSTALL}` (some 200 MB; it needs no TPU)."
            if f.get("topology")
            else install("tpu")
        ),
    ),
    "cpu-devices": Words(
        "too many devices",
        "{variable} asks for {asked} CPU devices; jaxtui simulates at most {most}.",
        "Set it lower, or unset {variable}.",
    ),
    "slow-start": Words("slow start", _slow, _slow_advice),
    "start-timeout": Words(
        "no start",
        _timeout,
        lambda f: (
            f"{_slow_advice(f)} A longer limit is --start-limit SECONDS; 0 is none."
        ),
    ),
    "engine-unstartable": Words(
        "no engine",
        "Cannot start the engine: {error:.}",
        "Check the command of --python.",
    ),
    # Ends.
    "engine-died": Words(
        "engine died",
        _died,
        _died_advice,
    ),
    "stop-forced": Words(
        "ended",
        "The run did not stop within {seconds:g} s: jaxtui ended the engine.",
    ),
    "overdue": Words(
        "no answer",
        _overdue,
        lambda f: WAITS.get(f["work"], ""),
    ),
    "engine-silent": Words(
        "no answer",
        lambda f: (
            f"No answer from the {f.get('of', 'engine')} for {f['seconds']:.0f} s."
        ),
        "jaxtui waits {left:.0f} s more.",
    ),
    "engine-hung": Words(
        "no answer",
        lambda f: (
            f"The engine hung{_during(f)}: {f['seconds']:.0f} s without an answer. "
            "jaxtui ended it."
        ),
        "If it hangs again, look for the device or its driver in dmesg.",
    ),
    "engine-gone": Words("no engine", "The engine is not running."),
    "incomplete": Words("incomplete", lambda f: incomplete(f["during"]), AGAIN),
    # Runs.
    "running": Words("busy", "A run is in progress: s stops it."),
    "fault": Words("jaxtui bug", "jaxtui failed: {error:.}", REPORT),
}
