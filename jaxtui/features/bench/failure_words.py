"""Why a case has no number: what it needs, what it raised, what its devices refuse."""

from __future__ import annotations

from jaxtui.core import format as fmt
from jaxtui.core.engine.words import AGAIN, REPORT
from jaxtui.core.text import ended
from jaxtui.core.wording import Facts, Words

PHASES = {
    "import": "while Python imported its file",
    "inputs": "while jaxtui made its inputs",
    "transfer": "while JAX sent its inputs to the device",
    "trace": "while JAX traced it",
    "lower": "while JAX lowered it",
    "compile": "while XLA compiled it",
    "first_call": "in its first run",
    "dispatch": "while JAX dispatched it",
    "block": "in block_until_ready, after the call had returned",
    "sampling": "while jaxtui timed it",
    "fetch": "while JAX fetched its result",
    "check": "while jaxtui checked its result",
    "warm-up": "in its warm-up",
    "snippet": "in its program",
}
"""The phase in which an error surfaced, as the end of a sentence."""


def _when(facts: Facts) -> str:
    """Write the phase, with a blank before; empty where it is not known."""
    phase = facts.get("phase")
    if not phase:
        return ""
    return f" {PHASES.get(phase, f'in the phase {phase}')}"


def _where(facts: Facts) -> str:
    """Write the line that failed; a fault of the whole file is at line 0."""
    if not facts.get("file"):
        return ""
    return (
        f" ({facts['file']}:{facts['line']})"
        if facts["line"]
        else f" ({facts['file']})"
    )


def _memory(facts: Facts) -> str:
    requested, free = facts.get("asked"), facts.get("free")
    if "bytes" in facts:
        requested = fmt.bytes_text(facts["bytes"])
    largest = ""
    if buffers := facts.get("buffers"):
        largest = f" The largest buffers: {', '.join(buffers)}."
    kind = "host memory" if facts.get("found_by") == "host" else "device memory"
    if facts.get("found_by") == "compiler":
        needs = f"XLA needs {requested} of device memory for it; the device has {free}."
        return needs + largest
    want = f": it asked for {requested}" if requested else ""
    free_text = f", {free} was free" if free else ""
    return f"Out of {kind}{_when(facts)}{want}{free_text}.{largest}"


def _memory_advice(facts: Facts) -> str:
    if facts.get("own"):
        return "Pass smaller arguments; arrays that it keeps from every call add up."
    return "Choose a smaller size or a narrower dtype, or free memory on the device."


def _group_mode(facts: Facts) -> str:
    given = f"mode {facts['mode']}"
    if facts["inputs"] == "host":
        given = "host inputs"
    return f"{facts['op']} on all of {facts['device']} doesn't work with {given}."


WORDS: dict[str, Words] = {
    "group-own": Words(
        "one device only",
        "{op} is your own function: several devices run it over a mesh, with typed"
        " arguments.",
        "Give a mesh, such as 2x4, and shard its arguments, as in f32[1024,1024]@x,-.",
    ),
    "group-mode": Words("jit only", _group_mode, "Use mode jit and device inputs."),
    "program-of-each": Words(
        "same program",
        "Every device of {device} runs the same program.",
        "Name one device.",
    ),
    "links-unpublished": Words(
        "no link peak",
        "jaxtui knows no published peak of the links between these devices.",
    ),
    "loop-on-group": Words(
        "one device only",
        "The timeline shows one device; {device} is a group.",
        "Choose one of them.",
    ),
    "per-device": Words(
        "one of several",
        "{devices:,} devices run this program: kernels, flops, bytes and memory are"
        " those of one.",
    ),
    "mesh-misfit": Words(
        "mesh doesn't fit",
        "The mesh {mesh} needs {needed:device}; {device} has {count}.",
        "Use one that fits, or other devices.",
    ),
    "collective-alone": Words(
        "one participant",
        lambda f: (
            f"{f['op']} needs at least two devices; "
            + (
                f"{f['device']} is one."
                if f["count"] == 1
                else f"each group of the mesh {f['mesh']} has one."
            )
        ),
        lambda f: (
            "Choose more of them, such as all; where there is only one,"
            " JAX_NUM_CPU_DEVICES=8 in the environment simulates eight."
            if f["count"] == 1
            else "Choose another axis."
        ),
    ),
    "elements-sampled": Words(
        "sampled check",
        "jaxtui checked {elements:,} elements of each device's result, not all.",
    ),
    "size-rounded": Words(
        "rounded size",
        "{asked} bytes don't divide among {participants} participants: jaxtui used"
        " {taken}.",
    ),
    # What it needs, and what it raised.
    "too-large": Words(
        "too large",
        "It needs {needed:B} on {on}; {free:B} are free.",
        "Choose a smaller size or a narrower dtype.",
    ),
    "too-slow": Words(
        "too slow",
        "One call would take about {seconds:s} (estimated from a smaller size), and"
        " nothing could stop it.",
        "Choose a smaller size, or a budget that is longer than a call.",
    ),
    "stopped": Words(
        "stopped",
        lambda f: {
            "turn": "The run stopped before this case had its turn.",
            "sample": "The run stopped before the first sample of this case.",
        }.get(f.get("before", ""), "The run stopped."),
        AGAIN,
    ),
    "broken-off": Words(
        "interrupted",
        lambda f: (
            f"The run was {f['outcome']}"
            + (
                f" in the phase {f['phase']}."
                if f.get("phase")
                else " before its turn."
            )
        ),
        "Run it again; nothing is wrong with the case itself.",
    ),
    "out-of-memory": Words("out of memory", _memory, _memory_advice),
    "dtype-unsupported": Words(
        "dtype",
        "JAX refuses its dtype: {error:.}",
        "Choose another dtype; `jaxtui ops` lists those of each op.",
    ),
    "unsupported": Words(
        "unsupported",
        "The device's compiler or runtime does not implement it.",
        "Choose another dtype, precision, mode or device.",
    ),
    "no-kernel-image": Words(
        "no GPU code",
        "JAX's CUDA plugin has no machine code for this GPU.",
        "Install a plugin that was built for its compute capability, which `jaxtui"
        " devices --json` has among the attributes.",
    ),
    "array-deleted": Words(
        "deleted array", lambda f: f"It used a deleted array{_when(f)}.", REPORT
    ),
    "raised": Words("failed", lambda f: f"It failed{_when(f)}: {ended(f['error'])}"),
    "function-raised": Words(
        "failed",
        lambda f: f"{f['function']} failed{_when(f)}{_where(f)}: {ended(f['error'])}",
        lambda f: (
            "Choose mode eager, which calls it without jax.jit, or jit it in its file."
            if f.get("as_is")
            else ""
        ),
    ),
    "exit-called": Words(
        "exit",
        lambda f: f"{f['function']} called sys.exit({f['exit']}){_when(f)}{_where(f)}.",
        lambda f: (
            'Put what runs the file under `if __name__ == "__main__":`.'
            if f["phase"] == "import"
            else "Let it return its result."
        ),
    ),
    "arguments-donated": Words(
        "donated",
        lambda f: (
            f"{f['function']} got an argument that an earlier call had"
            f" deleted{_when(f)}."
        ),
        "jaxtui copies what is donated by position: make the argument positional.",
    ),
}
