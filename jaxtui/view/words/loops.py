"""Loops and snippets: the timeline and the stopwatch."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.view.words.base import Facts, Words


def _watched(facts: Facts) -> str:
    watched, without = facts["watched"], facts["undisturbed"]
    change = watched / max(without, 1e-12) - 1
    return (
        "A watcher changes what it watches: with a thread that waits for each result"
        f" the loop took {fmt.seconds(watched)}, without it {fmt.seconds(without)}"
        f" ({change:+.1%})."
    )


def _measured(facts: Facts) -> str:
    return (
        "When the device began and ended each call comes from its runtime's own trace,"
        f" of a repeat of its own, which took {fmt.seconds(facts['seconds'])}: tracing"
        " costs time, too."
    )


def _inferred(facts: Facts) -> str:
    return (
        "jaxtui infers where a computation begins: when the host asked for it and the"
        f" one before it was ready. {facts.get('missing', '')}"
    ).rstrip()


def _instrumented(facts: Facts) -> str:
    repeats = fmt.plural(facts["repeats"], "plain repeat")
    kind = "traced" if facts["traced"] else "watched"
    work, stopwatch = _change(facts["work"]), _change(facts["stopwatch"])
    return (
        f"The figures are those of {repeats}. The lanes are one {kind} repeat: its work"
        f" {work}, its stopwatch {stopwatch}."
    )


def _change(ratio: float) -> str:
    return f"{ratio - 1:+.0%}" if ratio < 3 else fmt.ratio(ratio)


WORDS: dict[str, Words] = {
    "watched": Words("", _watched),
    "measured": Words("measured lane", _measured),
    "inferred": Words("inferred lane", _inferred),
    "instrumented": Words("instrumented repeat", _instrumented),
    "few-repeats": Words(
        "few repeats",
        lambda facts: (
            f"Only {fmt.plural(facts['repeats'], 'repeat')} of each kind fitted into"
            " the budget."
        ),
        "Raise --budget.",
    ),
}
