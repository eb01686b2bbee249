"""The health check."""

from __future__ import annotations

from jaxtui.core import format as fmt
from jaxtui.core.wording import Facts, Words
from jaxtui.machine.words import process

_CAUSES = {
    "flop/s": (
        "Usual causes: the clock stopped at dispatch, XLA removed work whose result is"
        " unused, or the peak is that of another precision or another chip."
    ),
    "bytes/s": (
        "Usual causes: the clock stopped at dispatch, the arrays fit into a cache, XLA"
        " removed the copy, or the peak is that of another chip."
    ),
}

_AGAIN = "Check again; if it persists, report it to the provider of the machine."


def _rounding_bound(facts: Facts) -> str:
    rounded = ", whose inputs an accelerator may round" * bool(facts["rounded_inputs"])
    return f"jaxtui's bound on rounding errors{rounded}"


def _counted_by(facts: Facts) -> str:
    if facts["by"] == "PCI":
        return "chips on the PCI bus"
    return f"device files in /dev; the PCI bus shows {facts['on_bus']} chips"


def _beyond(facts: Facts) -> str:
    causes = _CAUSES.get(facts["unit"], "")
    return f"This is faster than the hardware's peak. {causes}".rstrip()


def _least(facts: Facts) -> str:
    """Write the distance that a figure may have from the one that follows."""
    if facts["unit"] == "seconds":
        return f"at most {fmt.ratio(1 / facts['least'])}"
    return f"at least {fmt.percent(facts['least'])} of"


def _below_peak(facts: Facts) -> str:
    reached = ""
    if facts["reached"]:
        best = fmt.rate(facts["reached"])
        reached = f" Others have reached {best} on this kind of device."
    return f"Expected {_least(facts)} the peak.{reached} {facts['why']}"


def _behind(facts: Facts) -> str:
    others = facts["others"]
    whose = f"the median of the other {others} devices" if others > 1 else "the other"
    return f"Expected {_least(facts)} {whose}. {facts['why']}"


def _below_baseline(facts: Facts) -> str:
    return f"Expected {_least(facts)} the figure in {facts['file']}. {facts['why']}"


def _odd(facts: Facts) -> str:
    differ, others = facts["differ"], facts["others"]
    whose = f"all {others}" if differ == others else f"{differ} of {others}"
    return f"The result differs from that of {whose} other devices, which agree."


def _last_seen(facts: Facts) -> str:
    on = f" on {fmt.plural(facts['devices'], 'device')}" if facts["devices"] else ""
    return f" It was {facts['doing']}{on}." if facts["doing"] else ""


def _holders(facts: Facts) -> str:
    more = f" and {facts['more']} more" if facts["more"] > 0 else ""
    return f"{process(facts)}{more}"


def _limited(facts: Facts) -> str:
    by = " and ".join(facts["by"])
    return f"{by} leaves JAX with fewer than {fmt.plural(facts['chips'], 'chip')}."


def _unused(facts: Facts) -> str:
    lacking = f" {facts['lacking']} is not installed." if facts["lacking"] else ""
    platform = str(facts["platform"]).upper()
    return f"This machine has {facts['chips']}; JAX uses the {platform}.{lacking}"


WORDS: dict[str, Words] = {
    # Where an expectation comes from.
    "rounding-bound": Words("rounding bound", _rounding_bound),
    "exact-integers": Words("exact", "integer arithmetic is exact"),
    "same-input": Words(
        "identical results",
        "the same input gives the same result: {computations:computation}, {times}"
        " runs each",
    ),
    "counted-by": Words("counted", _counted_by),
    "baseline": Words("baseline", "{file}"),
    "other-devices": Words("other devices", "median of the other devices of the kind"),
    # What a figure comes to.
    "beyond-the-peak": Words("faster than possible", _beyond),
    "below-the-peak": Words("below the peak", _below_peak),
    "behind-the-others": Words("behind the others", _behind),
    "below-baseline": Words("below baseline", _below_baseline),
    "maybe-below-baseline": Words(
        "maybe below baseline",
        "Below {file}, but the intervals overlap: it may be chance.",
    ),
    "above-the-bound": Words(
        "error too large", "The error is above the bound: the result is wrong.", _AGAIN
    ),
    "not-as-expected": Words("unexpected", "The figure is not the expected one."),
    "odd-one-out": Words("odd one out", _odd, _AGAIN),
    "no-majority": Words(
        "no majority",
        "The result differs from that of {differ} of {others} other devices, and no"
        " majority shows which is right.",
        _AGAIN,
    ),
    "no-figure": Words(
        "no figure", "The test returned no figure, or a non-finite one."
    ),
    # What a test could not do.
    "test-raised": Words("test failed", "The test raised {error:.}"),
    "hung": Words(
        "hung",
        lambda facts: (
            f"Did not finish within {fmt.seconds(facts['seconds'])}.{_last_seen(facts)}"
        ),
    ),
    "hung-simulated": Words(
        "busy",
        "Did not finish within {seconds:s}: simulated devices share the cores of"
        " this machine.",
        "Run it again with fewer devices, or while no other program is busy.",
    ),
    "engine-ended": Words(
        "engine died",
        lambda facts: f"The engine died during the test.{_last_seen(facts)}",
    ),
    "unfinished-before": Words(
        "skipped", "This device did not finish an earlier test."
    ),
    "shared-memory": Words(
        "shared memory",
        "The device shares its memory with {with}.",
    ),
    "no-memory-figure": Words(
        "unknown", "The runtime does not report how much memory is free."
    ),
    "card-taken": Words(
        "memory taken",
        lambda facts: (
            f"{fmt.bytes_text(facts['used'])} of the card's"
            f" {fmt.bytes_text(facts['total'])} are taken, by {_holders(facts)}."
        ),
        "Wait for it, ask its owner, or choose another GPU: CUDA_VISIBLE_DEVICES.",
    ),
    "memory-in-use": Words(
        "in use",
        "{used:B} of {limit:B} is in use.",
    ),
    "memory-pool": Words(
        "JAX's pool",
        "JAX allocates at most {share:%} of a GPU's memory, here {limit:B}.",
        "XLA_PYTHON_CLIENT_MEM_FRACTION sets the share.",
    ),
    "nothing-copied": Words(
        "zero-copy", "Both sides share one buffer, so nothing is transferred."
    ),
    "no-room": Words(
        "no room",
        "Only {free:B} of memory is free, too little for {size:B} or more.",
    ),
    "slow-copy": Words(
        "slow link",
        "A copy of {size:B} there and back takes {seconds:s}: too long for this size"
        " and larger ones.",
    ),
    "no-time-left": Words(
        "no time", "The budget ran out before this test.", "Run level full."
    ),
    "nothing-computed": Words(
        "nothing to compare", "No test ran twice on the same device."
    ),
    "wrong-figure": Words(
        "wrong result", "The result is not finite, or has the wrong shape.", _AGAIN
    ),
    # Chips that are there, or should be.
    "chips-limited": Words("limited", _limited),
    "one-part": Words(
        "MIG instance",
        "CUDA gives a process one MIG instance: {kind}.",
    ),
    "unused-chips": Words("unused chips", _unused),
    "cpu-fallback": Words("CPU fallback", _unused, "`jaxtui devices` says why."),
}
