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
            f"{f['op']} is your own function: it runs on one device, or over a mesh."
        ),
        "Give a mesh and shard its arguments, as in f32[1024,1024]@x,-.",
    ),
    "group-mode": Words("jit only", _group_mode, "Use mode jit and device inputs."),
    "mesh-unknown": Words(
        "unknown mesh",
        lambda f: f'"{f["mesh"]}" is not a mesh.',
        "Write its sizes and, if you like, axes: 8, 2x4, 2x4@y.",
    ),
    "mesh-without-arguments": Words(
        "arguments needed",
        lambda f: f"{f['op']} runs over a mesh only with typed arguments.",
        "Type each like f32[1024,1024]@x,-.",
    ),
    "sharded-without-mesh": Words(
        "mesh needed",
        lambda f: f"{f['argument']} is sharded over {f['axis']}, but there is no mesh.",
        "Give one, such as 2x4.",
    ),
    "sharded-axis-unknown": Words(
        "unknown axis",
        lambda f: (
            f"{f['argument']} is sharded over {f['axis']}, but the mesh {f['mesh']} has"
            f" only {fmt.listed(f['axes'])}."
        ),
    ),
    "sharded-unevenly": Words(
        "uneven shards",
        lambda f: (
            f"{f['argument']}: a dimension of {f['length']} doesn't divide among the"
            f" {f['devices']} devices of axis {f['axis']} in the mesh {f['mesh']}."
        ),
        "Use a multiple, or leave the dimension whole with -.",
    ),
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
        lambda f: f"Use one that fits ({', '.join(f['fits'])}), or other devices.",
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
