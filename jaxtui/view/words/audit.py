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
    read, right = facts["read_seconds"], facts["corrected_seconds"]
    return (
        f"The clock stops {fmt.seconds(facts['early_seconds'])} before {_names(facts)}"
        f" is done: it read {fmt.seconds(read)} for {fmt.seconds(right)}."
        f"{_of_spans(facts)}"
    )


def _started_busy(facts: Facts) -> str:
    return (
        f"The clock starts {fmt.seconds(facts['busy_seconds'])} before {_names(facts)},"
        f" called earlier, is done.{_of_spans(facts)}"
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
            f"NumPy arrays go to the device inside the timed code: {size} a call"
            f"{times}."
        )
    return f"The result becomes a NumPy array inside the timed code: {size}{times}."


def _transfer_advice(facts: Facts) -> str:
    if facts["direction"] == "to device":
        return (
            "Call `jax.device_put` before the clock starts, unless you want its time."
        )
    return "Wait with `jax.block_until_ready`, and convert after the clock stops."


def _too_short(facts: Facts) -> str:
    return (
        f"{fmt.seconds(facts['read_seconds'])} is too short for `{facts['clock']}`,"
        f" which is good to {fmt.seconds(facts['grain_seconds'])}."
    )


WORDS = {
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
            f"`jax.block_until_ready` gets a value of type `{facts['type']}`, which"
            " holds no JAX array: it waits for nothing."
        ),
        "Pass the result of the call.",
    ),
    "too-short": Words(
        "too short", _too_short, "Time many calls in a loop, and divide."
    ),
    "one-repeat": Words(
        "one repeat",
        lambda facts: (
            f"`{facts['function']}` is timed once, in"
            f" {fmt.seconds(facts['read_seconds'])}: nobody knows how much that varies."
            f"{_callers(facts)}"
        ),
        "Repeat it, and report a median.",
    ),
    "audit-no-jax": Words(
        "no JAX", "The program never imports JAX, so there is nothing to audit."
    ),
    "audit-no-spans": Words(
        "nothing timed",
        "The program subtracts no two readings of a clock.",
        "jaxtui watches `time.perf_counter`, `time.time`, `time.monotonic`, `timeit`"
        " and `datetime.now`.",
    ),
    "audit-many-spans": Words(
        "many spans",
        lambda facts: (
            f"Only the first {facts['spans']} spans were judged;"
            f" {facts['lost']} were not."
        ),
    ),
    "audit-trace-long": Words(
        "long program",
        lambda facts: (
            f"The device was watched for {fmt.seconds(facts['seconds'])}. Later spans"
            " were judged by their compiles and transfers alone."
        ),
    ),
    "audit-traces-itself": Words(
        "own trace",
        "The program starts JAX's profiler itself, which allows one session a process:"
        " from there on the device was not watched.",
    ),
    "audit-lost": Words(
        "no audit",
        lambda facts: (
            "The program ended before jaxtui could write what it saw"
            f" (exit status {facts['status']})."
        ),
    ),
}
