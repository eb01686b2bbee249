"""Comparisons, and what is missing from the history."""

from __future__ import annotations

from jaxtui.core.wording import Words

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
