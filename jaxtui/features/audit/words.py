"""Mistakes in how a program times itself, and what could not be judged."""

from __future__ import annotations

from jaxtui.core import format as fmt
from jaxtui.core.wording import Facts, Words


def _names(facts: Facts) -> str:
    return ", ".join(f"`{name}`" for name in facts["functions"]) or "the device"


def _of_spans(facts: Facts) -> str:
    spans, affected = facts["spans"], facts["affected"]
    return "" if spans == 1 else f" In {affected} of {spans} spans; these are medians."


def _unawaited(facts: Facts) -> str:
    right, early = facts["corrected_seconds"], facts["early_seconds"]
    work = f" for {fmt.seconds(right)} of work" if right is not None else ""
    # A longer delay has the work of calls before in it.
    delay = "" if right is not None and early > right else f" {fmt.seconds(early)}"
    return (
        f"The clock stops{delay} before {_names(facts)} is done: it reads"
        f" {fmt.seconds(facts['read_seconds'])}{work}."
        f"{_of_spans(facts)}"
    )


def _started_busy(facts: Facts) -> str:
    return (
        f"The device was still busy with {_names(facts)} for"
        f" {fmt.seconds(facts['busy_seconds'])} after the clock started."
        f"{_of_spans(facts)}"
    )


def _first_call(facts: Facts) -> str:
    spans, affected = facts["spans"], facts["affected"]
    which = "The span includes"
    if affected > 1:
        which = f"{affected} of {spans} spans include"
    elif spans > 1:
        which = f"The first of {spans} spans includes"
    right = facts["corrected_seconds"]
    without = f"; without that {fmt.seconds(right)}" if right is not None else ""
    again = " The program times the same again without." * ("is_timed_again" in facts)
    reason = facts["reason"]
    return (
        f"{which} compiling {_names(facts)}:"
        f" {fmt.seconds(facts['compile_seconds'])} of"
        f" {fmt.seconds(facts['read_seconds'])}{without}.{again}"
    ) + (f" JAX had compiled it for other arguments: {reason}." if reason else "")


def _first_call_advice(facts: Facts) -> str:
    if "is_timed_again" in facts:
        return ""
    if 2 * facts["affected"] <= facts["spans"]:
        return f"Leave {'it' if facts['affected'] == 1 else 'them'} out."
    if facts["reason"]:
        return "Warm up with the arguments that are timed."
    return "Call the function once, and wait, before the clock starts."


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


def _cpu_time(facts: Facts) -> str:
    whose = (
        "of all threads together" if "process" in facts["clock"] else "of one thread"
    )
    return (
        f"`{facts['clock']}` counts CPU seconds {whose}: it reads"
        f" {fmt.seconds(facts['read_seconds'])} in {fmt.seconds(facts['seconds'])}."
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
        _first_call_advice,
    ),
    "recompiles": Words(
        "recompiles",
        "XLA compiles `{function}` {times} times inside the timed code, {seconds:s}"
        " in total.",
        "Keep shapes, dtypes and static arguments the same, and call `jax.jit` once,"
        " outside of loops.",
    ),
    "transfer": Words("transfer", _transfer, _transfer_advice),
    "idle-wait": Words(
        "idle wait",
        "`jax.block_until_ready` waits for nothing: its argument, a `{type}`, holds"
        " no JAX array.",
        "Pass the result of the call.",
    ),
    "cpu-time": Words("CPU time", _cpu_time, "Use `time.perf_counter`."),
    "traced-clock": Words(
        "clock while tracing",
        "JAX runs this line only while it traces the function: the clock times tracing,"
        " not the computation.",
        "Read the clock outside of the jitted function, around its call.",
    ),
    "idle-device": Words(
        "idle device",
        "The device had nothing to do for {idle_seconds:s} of {read_seconds:s},"
        " while the host did other work, as a data loader does.",
    ),
    "one-repeat": Words(
        "one repeat",
        "`{function}` is timed once, in {read_seconds:s}: one repeat has no spread.",
        "Time several repeats and report the median.",
    ),
    "audit-no-jax": Words(
        "no JAX", "The program never imports JAX, so there is nothing to audit."
    ),
    "audit-no-spans": Words(
        "nothing timed",
        "The program never subtracts one clock reading from another.",
        "jaxtui watches the clocks of `time`, `timeit` and `tqdm`, and not those of"
        " `datetime`.",
    ),
    "audit-many-spans": Words(
        "many spans",
        "jaxtui judged the first {spans} spans and left out {lost}.",
    ),
    "audit-trace-long": Words(
        "long program",
        "jaxtui watched the device for {seconds:s}. It judged later spans by their"
        " compiles and transfers only.",
    ),
    "audit-traces-itself": Words(
        "own trace",
        "The program starts JAX's profiler itself, which allows one session per"
        " process. From there on, jaxtui could not watch the device.",
    ),
    "audit-lost": Words(
        "no audit",
        "The program ended before jaxtui could write what it saw (exit status"
        " {status}).",
    ),
}
