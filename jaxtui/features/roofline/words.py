"""The roofline."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.wording import Facts, Words

_ABOVE = {
    "cache": "part of its data stays in the last-level cache, and reading alone is"
    " faster than copying",
    "contended": "other programs used the cores while jaxtui measured the roof",
    "memory": "the machine was slower while jaxtui measured the roof, or the op mostly"
    " reads, which is faster than copying",
    "compute": "the machine was slower while jaxtui measured the roof, or the op needs"
    " fewer operations than its formula counts",
}

_BELOW = {
    "contended": "other programs used the cores during the run",
    "page-faults": "the operating system maps new memory for the result in every call",
    "op-by-op": "without jit, JAX writes every intermediate result to memory",
}

_NO_RATE = {
    "host-bound": "dispatch takes longer than the work",
    "folded": "XLA did part of the work at compile time",
    "kept": "the result existed before the call",
    "interpreted": "it runs in an interpreter",
    "own": "jaxtui doesn't know the flops of your function",
}

_NAMES = {"memory": "bandwidth", "compute": "compute"}


def reached(facts: Facts) -> str:
    parts = [
        f"{fmt.rate(rate)} in {dtype}"
        for dtype, rate in zip(facts["dtypes"], facts["compute"], strict=True)
    ]
    if facts["bandwidth"] is not None:
        parts.append(f"{fmt.rate(facts['bandwidth'], 'B/s')} of bandwidth")
    if not parts:
        return f"jaxtui has not measured the roofs of {facts['device']}"
    return f"{facts['device']} reaches {fmt.listed(parts)}"


def _roofs(facts: Facts) -> str:
    dtypes, rates = facts["dtypes"], facts["compute"]
    if facts["bandwidth"] is None or not rates:
        return f"{reached(facts)}."
    ridges = [
        fmt.significant(rate / facts["bandwidth"], 2)
        + (f" ({dtype})" if len(dtypes) > 1 else "")
        for dtype, rate in zip(dtypes, rates, strict=True)
    ]
    return (
        f"{reached(facts)}: memory limits below {fmt.listed(ridges)} flops per byte,"
        " arithmetic above."
    )


def _share(facts: Facts) -> str:
    """``71 % of the bandwidth roof``."""
    share = f"{fmt.percent(facts['share'])} of the"
    return f"uncertain: {share}" if facts["uncertain"] else share


def _over(facts: Facts) -> str:
    return f"Faster than the {_NAMES[facts['bound']]} roof: {_ABOVE[facts['cause']]}."


def _below(facts: Facts) -> str:
    what = "memory" if facts["bound"] == "memory" else "arithmetic"
    cause = _BELOW.get(facts["cause"], f"something other than {what} limits it")
    return f"Far below the {_NAMES[facts['bound']]} roof: {cause}."


def _progress(facts: Facts) -> str:
    kept = "these are the roofs so far" if facts["kept"] else "there is no roof yet"
    return f"Stopped: {kept}."


WORDS: dict[str, Words] = {
    "roofs": Words("", _roofs),
    "no-published-peak": Words(
        "peak", "No published peak for this device, so no % of peak."
    ),
    "memory-bound": Words("memory bound", lambda f: f"{_share(f)} bandwidth roof."),
    "moves-data": Words(
        "moves data", lambda f: f"{_share(f)} bandwidth roof, without arithmetic."
    ),
    "compute-bound": Words("compute bound", lambda f: f"{_share(f)} compute roof."),
    "in-cache": Words(
        "in the cache",
        "The arrays fit into the last-level cache ({cache_bytes:B}), so memory does"
        " not limit these calls.",
    ),
    "from-cache": Words(
        "from the cache",
        "Faster than the published bandwidth of the memory: the arrays lie in a cache.",
    ),
    "beyond-peak": Words(
        "impossible",
        "Faster than the published peak in {dtype}: its time is wrong, or the op"
        " needs fewer operations than its formula counts.",
    ),
    "over-the-roof": Words("over the roof", _over),
    "below-the-roof": Words("below the roof", _below),
    "other-silicon": Words(
        "other device",
        "This case ran on {where}, but these are the roofs of {device}.",
    ),
    "sent-each-call": Words(
        "sent each call",
        "The host sends the arguments in every call, and no roof describes that link.",
    ),
    "lost-midway": Words(
        "incomplete", "The engine died before this case had all of its turns."
    ),
    "no-byte-count": Words(
        "no byte count",
        "jaxtui doesn't know the bytes of this op, so there are no flops per byte.",
    ),
    "no-rate": Words(
        "no rate", lambda f: f"This case has no rate: {_NO_RATE[f['because']]}."
    ),
    "nothing-counted": Words(
        "nothing counted", "jaxtui knows neither the flops nor the bytes of this op."
    ),
    "too-few-calls": Words("no rate", "Too few calls for a rate."),
    "no-roof": Words("no roof", "There is no {roof} roof."),
    "roof-not-measured": Words("no roof", "jaxtui has not measured the {roof} roof."),
    "roof-awaited": Words("no roof yet", "jaxtui is still measuring the roofs."),
}
