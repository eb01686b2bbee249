"""Loops and snippets: the timeline and the stopwatch."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.view.words.base import Facts, Words


def _change(ratio: float) -> str:
    percent = round(100 * (ratio - 1))
    if ratio >= 3:
        return f"{fmt.ratio(ratio)} as long"
    if not percent:
        return "as long"
    return f"{abs(percent)} % {'longer' if percent > 0 else 'shorter'}"


def _instrumented(facts: Facts) -> str:
    kind = "traced" if facts["traced"] else "watched"
    figures = f"The figures are medians of {facts['repeats']} plain repeats."
    if facts["repeats"] == 1:
        figures = "The figures are those of one plain repeat."
    return (
        f"{figures} The lanes show one {kind} repeat: its work is"
        f" {_change(facts['work'])}, its stopwatch {_change(facts['stopwatch'])}."
    )


def _incomplete(facts: Facts) -> str:
    text = "JAX's trace doesn't cover every call of this loop"
    if "runs" in facts:
        runs = fmt.plural(facts["runs"], "run")
        text += f": {runs} of {facts['program']}, {fmt.plural(facts['calls'], 'call')}"
    return f"{text}."


WORDS: dict[str, Words] = {
    "few-repeats": Words(
        "few repeats",
        lambda facts: (
            f"Only {fmt.plural(facts['repeats'], 'repeat')} of each kind fit into the"
            " budget."
        ),
        "Take fewer calls or a smaller size.",
    ),
    "instrumented": Words("drawn repeat", _instrumented),
    "inferred": Words(
        "inferred lane",
        "jaxtui infers when the device begins a call: when the host asked for it and"
        " the one before was ready.",
    ),
    "profiler-failed": Words("no trace", "JAX's profiler failed."),
    "traced-repeat-failed": Words("no trace", "The loop failed under JAX's profiler."),
    "trace-too-large": Words(
        "no trace",
        lambda facts: (
            f"A trace of this loop has {fmt.count(facts['events'])} events, more than"
            " jaxtui reads."
        ),
    ),
    "trace-too-long": Words(
        "no trace",
        lambda facts: (
            f"A call takes {fmt.seconds(facts['call_seconds'])}, too long for a trace."
        ),
    ),
    "trace-no-time": Words("no trace", "No time was left for a trace."),
    "trace-perturbed": Words(
        "no trace",
        lambda facts: (
            f"Tracing slows this loop from {fmt.seconds(facts['longest_seconds'])} to"
            f" {fmt.seconds(facts['traced_seconds'])}, so its trace would mislead."
        ),
    ),
    "trace-incomplete": Words("no trace", _incomplete),
    "stopwatch-impossible": Words(
        "IMPOSSIBLE",
        lambda facts: (
            f"IMPOSSIBLE: above the peak of {fmt.rate(facts['peak'])}; the stopwatch"
            " timed the dispatch"
        ),
    ),
    "stopwatch-early": Words(
        "result not awaited",
        lambda facts: f"stopwatch stopped at {fmt.percent(facts['share'])} of the work",
    ),
    "stopwatch-short": Words(
        "result included", "stopwatch stopped just before the work ended"
    ),
    "stopwatch-right": Words(
        "result included", "stopwatch right: the loop waited for its results"
    ),
    "stopwatch-inline": Words(
        "result included", "stopwatch right: the work runs inside the call"
    ),
}
