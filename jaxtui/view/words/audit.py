"""Mistakes in how a program times itself, and what could not be judged."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.view.words.base import Facts, Words


def _names(facts: Facts) -> str:
    return ", ".join(f"`{name}`" for name in facts["functions"]) or "the device"


def _of_spans(facts: Facts) -> str:
    spans, affected = facts["spans"], facts["affected"]
    medians = f" In {affected} of {spans} spans; these are medians."
    return ("" if spans == 1 else medians) + _callers(facts)


def _callers(facts: Facts) -> str:
    more = facts.get("callers", 1) - 1
    return f" The same for {fmt.plural(more, 'other caller')}." if more else ""


def _unawaited(facts: Facts) -> str:
    right = facts["corrected_seconds"]
    work = f" for {fmt.seconds(right)} of work" if right is not None else ""
    return (
        f"The clock stops {fmt.seconds(facts['early_seconds'])} before {_names(facts)}"
        f" is done: it reads {fmt.seconds(facts['read_seconds'])}{work}."
        f"{_of_spans(facts)}"
    )


def _started_busy(facts: Facts) -> str:
    return (
        f"The device was still busy with {_names(facts)} for"
        f" {fmt.seconds(facts['busy_seconds'])} after the clock started."
        f"{_of_spans(facts)}"
    )


def _first_call(facts: Facts) -> str:
    spans = facts["spans"]
    which = "The span" if spans == 1 else f"The first of {spans} spans"
    right = facts["corrected_seconds"]
    without = f"; without that {fmt.seconds(right)}" if right is not None else ""
    return (
        f"{which} includes compiling {_names(facts)}:"
        f" {fmt.seconds(facts['compile_seconds'])} of"
        f" {fmt.seconds(facts['read_seconds'])}{without}.{_callers(facts)}"
    )


def _recompiles(facts: Facts) -> str:
    return (
        f"XLA compiles `{facts['function']}` {facts['times']} times inside the timed"
        f" code, {fmt.seconds(facts['seconds'])} in total."
    )


def _transfer(facts: Facts) -> str:
    size = fmt.bytes_text(facts["bytes"])
    times = "" if facts["times"] == 1 else f", {facts['times']} times"
    if facts["direction"] == "to device":
        return (
            f"The timed code sends NumPy arrays to the device: {size} per call{times}."
        )
    return f"The timed code copies the result into a NumPy array: {size}{times}."


def _transfer_advice(facts: Facts) -> str:
    if facts["direction"] == "to device":
        return (
            "Call `jax.device_put` before the clock starts, unless you want its time."
        )
    return "Wait with `jax.block_until_ready`, and convert after the clock stops."


def _too_short(facts: Facts) -> str:
    return (
        f"{fmt.seconds(facts['read_seconds'])} is too short for `{facts['clock']}`,"
        f" whose resolution is {fmt.seconds(facts['grain_seconds'])}."
    )


def _span_read(facts: Facts) -> str:
    count, work = facts["count"], facts["work_seconds"]
    times = "" if count == 1 else f", {count} times (medians),"
    right = "" if work is None else f" for {fmt.seconds(work)} of work"
    return (
        f"Lines {facts['begin']} to {facts['end']}{times} read"
        f" {fmt.seconds(facts['read_seconds'])}{right}."
    )


WORDS = {
    "no-timing": Words("", "{program} times no JAX work.".format_map),
    "well-timed": Words("", "{spans}, each compiled before and waited for.".format_map),
    "span-read": Words("", _span_read),
    "unawaited": Words(
        "not awaited",
        _unawaited,
        "Call `jax.block_until_ready` on the result before the clock stops.",
    ),
    "started-busy": Words(
        "started busy",
        _started_busy,
        "Wait for earlier results before the clock starts.",
    ),
    "first-call": Words(
        "first call",
        _first_call,
        "Call the function once, and wait, before the clock starts.",
    ),
    "recompiles": Words(
        "recompiles",
        _recompiles,
        "Keep shapes, dtypes and static arguments the same, and call `jax.jit` once,"
        " outside of loops.",
    ),
    "transfer": Words("transfer", _transfer, _transfer_advice),
    "idle-wait": Words(
        "idle wait",
        lambda facts: (
            f"`jax.block_until_ready` waits for nothing: its argument, a"
            f" `{facts['type']}`, holds no JAX array."
        ),
        "Pass the result of the call.",
    ),
    "too-short": Words(
        "too short", _too_short, "Time many calls in a loop and divide."
    ),
    "one-repeat": Words(
        "one repeat",
        lambda facts: (
            f"`{facts['function']}` is timed once, in"
            f" {fmt.seconds(facts['read_seconds'])}: one repeat has no spread."
            f"{_callers(facts)}"
        ),
        "Time several repeats and report the median.",
    ),
    "audit-no-jax": Words(
        "no JAX", "The program never imports JAX, so there is nothing to audit."
    ),
    "audit-no-spans": Words(
        "nothing timed",
        "The program never subtracts one clock reading from another.",
        "jaxtui watches `time.perf_counter`, `time.time`, `time.monotonic`, `timeit`"
        " and `datetime.now`.",
    ),
    "audit-many-spans": Words(
        "many spans",
        lambda facts: (
            f"jaxtui judged the first {facts['spans']} spans and left out"
            f" {facts['lost']}."
        ),
    ),
    "audit-trace-long": Words(
        "long program",
        lambda facts: (
            f"jaxtui watched the device for {fmt.seconds(facts['seconds'])}. It judged"
            " later spans by their compiles and transfers only."
        ),
    ),
    "audit-traces-itself": Words(
        "own trace",
        "The program starts JAX's profiler itself, which allows one session per"
        " process. From there on, jaxtui could not watch the device.",
    ),
    "audit-lost": Words(
        "no audit",
        lambda facts: (
            "The program ended before jaxtui could write what it saw"
            f" (exit status {facts['status']})."
        ),
    ),
}
