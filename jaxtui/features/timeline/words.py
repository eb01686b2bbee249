"""Loops: why none ran, and what is drawn of it."""

from __future__ import annotations

from jaxtui.core import format as fmt
from jaxtui.core.wording import Facts, Words


def _change(ratio: float) -> str:
    percent = round(100 * (ratio - 1))
    if ratio >= 3:
        return f"{fmt.ratio(ratio)} as long"
    if not percent:
        return "equally long"
    return f"{abs(percent)} % {'longer' if percent > 0 else 'shorter'}"


def _instrumented(facts: Facts) -> str:
    kind = "traced" if facts["traced"] else "watched"
    figures = f"The figures are medians of {facts['repeats']} plain repeats."
    if facts["repeats"] == 1:
        figures = "The figures are those of one plain repeat."
    return (
        f"The lanes show one {kind} repeat: its work is {_change(facts['work'])}, its"
        f" stopwatch {_change(facts['stopwatch'])}. {figures}"
    )


def _incomplete(facts: Facts) -> str:
    text = "JAX's trace doesn't cover every call of this loop"
    if "runs" in facts:
        runs = fmt.plural(facts["runs"], "run")
        text += f": {runs} of {facts['program']}, {fmt.plural(facts['calls'], 'call')}"
    return f"{text}."


def _loop_too_slow(facts: Facts) -> str:
    seconds, budget = fmt.seconds(facts["seconds"]), fmt.seconds(facts["budget"])
    if facts["calls"] == 1:
        return (
            f"One call would take about {seconds} (estimated from a smaller size), more"
            f" than the budget of {budget}."
        )
    return (
        f"{facts['calls']} calls would take about {seconds}, and the budget is"
        f" {budget}."
    )


WORDS: dict[str, Words] = {
    "donates-arguments": Words(
        "donated arguments",
        "{function} donates its arguments, so a second call cannot take them again.",
        lambda facts: (
            "Let it donate its first argument alone."
            if facts["chained"]
            else "Choose chained calls: each passes its result to the next."
        ),
    ),
    "cannot-chain": Words(
        "cannot chain",
        "{function} can't take its own result: it doesn't match its first argument.",
        "Choose independent calls, or return the next call's first argument first, as"
        " in `return params, loss`.",
    ),
    "loop-too-slow": Words(
        "too slow",
        _loop_too_slow,
        "Choose fewer calls, a smaller size or a larger budget.",
    ),
    "few-repeats": Words(
        "few repeats",
        "Only {repeats:repeat} of each kind fit into the budget.",
        "Choose fewer calls or a smaller size.",
    ),
    "instrumented": Words("drawn repeat", _instrumented),
    "inferred": Words(
        "inferred lane",
        "jaxtui infers when the device begins a call: as soon as the host has"
        " dispatched it and the call before is ready.",
    ),
    "profiler-failed": Words("no trace", "JAX's profiler failed."),
    "traced-repeat-failed": Words("no trace", "The loop failed under JAX's profiler."),
    "trace-too-large": Words(
        "no trace",
        "A trace of this loop has {events:,} events, more than jaxtui reads.",
    ),
    "trace-no-time": Words("no trace", "There was no time for a trace."),
    "trace-perturbed": Words(
        "no trace",
        "Tracing slows this loop from {longest_seconds:s} to {traced_seconds:s}, so"
        " its trace would mislead.",
    ),
    "trace-incomplete": Words("no trace", _incomplete),
}
