"""Links between devices."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.view.words.base import Facts, Words
from jaxtui.view.words.check import BOUNDS
from jaxtui.view.words.engine import AGAIN, incomplete

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
        f"{count}: {rate} in copies of {fmt.bytes_text(size)} ({span}), {latency} for 8"
        " bytes."
    )


def _hops(facts: Facts) -> str:
    way = "the shortest way along the axes of the coords"
    if missing := facts["missing"]:
        chips = fmt.plural(missing, "chip")
        verb = "is" if missing == 1 else "are"
        return (
            f"Hops count the links of {way}, without wrap-around: {chips} of the box"
            f" {verb} missing, so the real way may be longer."
        )
    if facts["rings"]:
        return f"Hops count the links of {way}; axes wrap around ({TORUS})."
    return (
        f"Hops count the links of {way}; a slice of this layout is a mesh without"
        " wrap-around."
    )


def _no_room(facts: Facts) -> str:
    size = fmt.bytes_text(facts["size"])
    if facts["device"]:
        where = f"on {facts['device']}"
        what = f"Copies of {size} need three arrays {where}"
    else:
        where = "of host memory"
        count = fmt.plural(facts["devices"], "CPU device")
        what = (
            f"Copies of {size} between {count} need {fmt.bytes_text(facts['needed'])}"
        )
    return f"{what}, and {fmt.bytes_text(facts['free'])} {where} is free."


def _memory(facts: Facts) -> str:
    links, fresh = facts["links"], facts["fresh"]
    faults = f"{facts['page_faults']:,.0f} page faults per copy"
    if not fresh:
        kind = (
            "All of them reused memory: in new memory each takes several times as long"
        )
    elif fresh == links:
        kind = (
            f"All of them got new memory ({faults}): to reuse it is several times"
            " faster"
        )
    else:
        kind = (
            f"{fresh} of {links} got new memory ({faults}); the others reused it, which"
            " is several times faster and depends on earlier frees"
        )
    return f"CPU devices copy within the host's memory. {kind}."


WORDS: dict[str, Words] = {
    "links": Words("", _links),
    "hops": Words("hops", _hops),
    "links-sampled": Words(
        "sample",
        lambda f: (
            f"{f['pairs']} pairs of {f['devices']} devices, spread over all distances:"
            " more than 16 devices have too many pairs to measure them all."
        ),
    ),
    "links-elsewhere": Words(
        "other processes",
        lambda f: (
            f"Not measured: links with {fmt.plural(f['devices'], 'device')} of"
            f" {fmt.plural(f['processes'], 'other process')}."
        ),
        "Run `jaxtui links` there, too.",
    ),
    "links-memory": Words("memory", _memory),
    "slow-link": Words(
        "slow link",
        lambda f: (
            f"Below {fmt.percent(f['least'])} of the median of the pairs of its"
            f" distance and direction. {BOUNDS[f['bound']]}"
        ),
    ),
    "links-no-room": Words("no room", _no_room, "Choose a smaller --size."),
    "links-one-device": Words(
        "one device",
        lambda f: (
            f"A link needs two devices: there is only {f['device'] or 'no device'}."
        ),
        "`--cpu-devices 8` simulates eight.",
    ),
    "links-lost": Words("incomplete", incomplete("run"), AGAIN),
}
