"""The words of several devices at once: groups, meshes, collectives."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.view.words.base import Facts, Words


def _group_mode(facts: Facts) -> str:
    given = f"mode {facts['mode']}"
    if facts["inputs"] == "host":
        given = "host inputs"
    return f"{facts['op']} on all of {facts['device']} doesn't work with {given}."


WORDS = {
    "group-own": Words(
        "one device only",
        lambda f: (
            f"{f['op']} is your own function: several devices run it over a mesh, with"
            " typed arguments."
        ),
        "Give a mesh, such as 2x4, and shard its arguments, as in f32[1024,1024]@x,-.",
    ),
    "group-mode": Words("jit only", _group_mode, "Use mode jit and device inputs."),
    "program-of-each": Words(
        "same program",
        lambda f: f"Every device of {f['device']} runs the same program.",
        "Name one device.",
    ),
    "links-unpublished": Words(
        "no link peak",
        "jaxtui knows no published peak of the links between these devices.",
    ),
    "loop-on-group": Words(
        "one device only",
        lambda f: f"The timeline shows one device; {f['device']} is a group.",
        "Choose one of them.",
    ),
    "per-device": Words(
        "one of several",
        lambda f: (
            f"{fmt.count(f['devices'])} devices run this program: kernels, flops, bytes"
            " and memory are those of one."
        ),
    ),
    "mesh-misfit": Words(
        "mesh doesn't fit",
        lambda f: (
            f"The mesh {f['mesh']} needs {fmt.plural(f['needed'], 'device')};"
            f" {f['device']} has {f['count']}."
        ),
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
        lambda f: (
            f"jaxtui checked {fmt.count(f['elements'])} elements of each device's"
            " result, not all."
        ),
    ),
    "size-rounded": Words(
        "rounded size",
        lambda f: (
            f"{f['asked']} bytes don't divide among {f['participants']} participants:"
            f" jaxtui used {f['taken']}."
        ),
    ),
}
