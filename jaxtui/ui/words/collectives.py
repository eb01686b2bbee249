"""The words of several devices at once: groups, meshes, collectives."""

from __future__ import annotations

from jaxtui.core.wording import Facts, Words


def _group_mode(facts: Facts) -> str:
    given = f"mode {facts['mode']}"
    if facts["inputs"] == "host":
        given = "host inputs"
    return f"{facts['op']} on all of {facts['device']} doesn't work with {given}."


WORDS = {
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
        "Use more devices, such as all, or another axis.",
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
}
