"""Links between devices."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.view.words.base import Facts, Words
from jaxtui.view.words.check import BOUNDS

TORUS = (
    "v4, v5p and TPU7x in slices of whole 4x4x4 cubes, other TPUs along an axis as"
    " long as the pod's side"
)
"""Where the axes of a slice are rings."""


def _links(facts: Facts) -> str:
    pairs, measured, size = facts["pairs"], facts["measured"], facts["size"]
    count = fmt.plural(measured, "link")
    if measured < pairs:
        count = f"{measured} of {pairs} links"
    if not measured:
        return f"{count} measured."
    rate = fmt.rate(facts["rate"], "B/s")
    unit = fmt.common([facts["rate"]], "B/s")
    span = unit.ends(facts["slowest"], facts["fastest"])
    latency = fmt.seconds(facts["latency"])
    return (
        f"{count}: median {rate} with {fmt.bytes_text(size)} copies ({span}), latency"
        f" {latency} with 8 bytes."
    )


def _hops(facts: Facts) -> str:
    way = "Hops follow the shortest path along the axes of the coords"
    if missing := facts["missing"]:
        chips = fmt.plural(missing, "chip")
        verb = "is" if missing == 1 else "are"
        return (
            f"{way}, without wrap-around: {chips} of the box {verb} missing, so real"
            " paths may be longer."
        )
    if facts["rings"]:
        return f"{way}; the axes wrap around ({TORUS})."
    return f"{way}; this slice is a mesh without wrap-around."


def _memory(facts: Facts) -> str:
    links, fresh = facts["links"], facts["fresh"]
    faults = f"{facts['page_faults']:,.0f} page faults per copy"
    if not fresh:
        kind = "All copies reused memory"
    elif fresh == links:
        kind = f"All copies got new memory ({faults}); reused memory takes less time"
    else:
        kind = (
            f"{fresh} of {links} links got new memory ({faults}), which takes longer;"
            " the others reused it"
        )
    return f"CPU devices copy within the host's memory. {kind}."


WORDS: dict[str, Words] = {
    "links": Words("", _links),
    "hops": Words("hops", _hops),
    "links-sampled": Words(
        "sample",
        lambda f: (
            f"jaxtui measured {f['pairs']} pairs of {f['devices']} devices, spread over"
            " all distances; up to 16 devices it measures every pair."
        ),
    ),
    "links-elsewhere": Words(
        "other processes",
        lambda f: (
            f"jaxtui did not measure links to {fmt.plural(f['devices'], 'device')} of"
            f" {fmt.plural(f['processes'], 'other process')}."
        ),
        "Run `jaxtui links` there, too.",
    ),
    "links-memory": Words("memory", _memory),
    "slow-link": Words(
        "slow link",
        lambda f: (
            f"Below {fmt.percent(f['least'])} of the median of pairs at the same"
            f" distance in the same direction. {BOUNDS[f['bound']]}"
        ),
    ),
    "links-one-device": Words(
        "one device",
        lambda f: (
            f"A link needs two devices; there is only {f['device']}."
            if f["device"]
            else "A link needs two devices; there is none."
        ),
        "`--cpu-devices 8` simulates eight.",
    ),
}
