"""Comparisons and the history."""

from __future__ import annotations

import math

from jaxtui import format as fmt
from jaxtui.model.measurement import is_vague
from jaxtui.wording import Facts, Words


def _interval(low: float, high: float) -> str:
    ends = [fmt.significant(end, 2) for end in (low, high)]
    if ends[0] == ends[1]:
        ends = [fmt.significant(end, 3) for end in (low, high)]
    return "–".join(ends)


def _faster(facts: Facts) -> str:
    low = facts["low"]
    ends = 1 / facts["high"], 1 / low if low > 0 else math.inf
    return _by(facts, "faster", 1 / facts["ratio"], ends)


def _slower(facts: Facts) -> str:
    return _by(facts, "slower", facts["ratio"], (facts["low"], facts["high"]))


def _by(facts: Facts, word: str, times: float, ends: tuple[float, float]) -> str:
    """``B is 1.7× faster than A (1.5–1.9×, 99 % interval)``."""
    name = fmt.interval_name(facts["confidence"])
    if ends[1] == math.inf:
        least = fmt.ratio(ends[0])
        return f"{facts['second']} is at least {least} {word} than {facts['first']}."
    span = _interval(*ends)
    if is_vague(*ends, facts["confidence"]):
        return f"{facts['second']} is {span}× {word} than {facts['first']} ({name})."
    return (
        f"{facts['second']} is {fmt.ratio(times)} {word} than {facts['first']}"
        f" ({span}×, {name})."
    )


def _of_time(facts: Facts) -> str:
    """``B takes 1.02× the time of A (0.95–1.1×, 99 % interval)``."""
    if facts["ratio"] is None:
        return ""
    span = _interval(facts["low"], facts["high"])
    return (
        f"{facts['second']} takes {fmt.ratio(facts['ratio'])} the time of"
        f" {facts['first']} ({span}×, {fmt.interval_name(facts['confidence'])})."
    )


def _not_comparable(facts: Facts) -> str:
    of = " and ".join(f"the {name}" for name in facts["of"])
    return f"{facts['first']} and {facts['second']} differ in {of}: not comparable."


def _pairs(facts: Facts) -> str:
    cases = fmt.plural(facts["cases"], "case")
    told = [f"{word} in {facts[word]}" for word in ("faster", "slower") if facts[word]]
    if told:
        return f"{facts['second']} is {fmt.listed(told)} of {cases}."
    if facts["same"]:
        return f"No difference seen in {facts['same']} of {cases}."
    return f"Cannot tell in {cases}."


WORDS: dict[str, Words] = {
    "no-samples": Words("no samples", "{side} has no samples to compare."),
    "no-ratio": Words("no ratio", "One of the two times is too short for a ratio."),
    "no-pairs": Words("no pairs", "No pair of processes measured both."),
    "few-pairs": Words(
        "few pairs",
        "Only {pairs:pair} of processes: a verdict needs {least} or more.",
        "Time both in more processes.",
    ),
    "other-work": Words(
        "other work",
        "These are two different computations: comparing their times says nothing.",
    ),
    "one-round": Words(
        "one round",
        "{side} has one round, so its error is unknown.",
        "Raise the budget.",
    ),
    "busy-side": Words(
        "busy machine",
        "Other programs used the cores during the run of {side}.",
        "Measure it again on an idle machine.",
    ),
    "not-in-turns": Words(
        "not in turns",
        "The two did not take turns in one run, and two runs on one machine can"
        " differ by {allowance:%} by chance.",
        "Time both in {processes} processes.",
    ),
    "no-source": Words(
        "source unknown",
        "The history has no source of either function, so they may differ.",
    ),
    "same-setting": Words(
        "same setting", "Case, chip, host and versions are the same."
    ),
    "more-rows": Words(
        "more rows",
        "These are the newest {shown} of {count}.",
        "Raise the limit, or filter with words.",
    ),
    "damaged-rows": Words(
        "damaged rows",
        "Cannot read {rows:row} of the history.",
    ),
}
