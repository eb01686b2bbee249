"""Timing cases: what qualifies a measurement."""

from __future__ import annotations

from jaxtui.core import format as fmt
from jaxtui.core.text import ended
from jaxtui.core.wording import Facts, Words
from jaxtui.features.bench import failure_words

_USUAL = 0.95
"""The confidence of an interval that needs no remark."""


def _few_rounds(facts: Facts) -> str:
    rounds = facts["rounds"]
    count = f"Only {fmt.plural(rounds, 'round')} fit into the budget"
    if "each" in facts:
        count = f"{fmt.plural(rounds, 'call')} of about {fmt.seconds(facts['each'])}"
        count += " after all others"
    if rounds < 2:
        return f"{count}, so there is no interval."
    return f"{count}: the interval is min–max."


def _uncertain(facts: Facts) -> str:
    low, high = facts["low"], facts["high"]
    ends = f"{fmt.seconds(low)} to {fmt.seconds(high)}"
    factor = f", a factor of {fmt.significant(high / low, 2)}" if low > 0 else ""
    return f"The interval spans {ends}{factor}."


def _throttled(facts: Facts) -> str:
    turns, loaded = fmt.seconds(facts["turns"]), fmt.seconds(facts["loaded"])
    change = "slows down" if facts["loaded"] > facts["turns"] else "speeds up"
    return (
        f"The device {change} under load: a pipelined call takes {turns} in short"
        f" turns, {loaded} after 0.3 s of work without a pause."
    )


def _drift(facts: Facts) -> str:
    first, last = fmt.seconds(facts["first"]), fmt.seconds(facts["last"])
    change = "slowed down" if facts["last"] > facts["first"] else "sped up"
    return (
        f"The machine {change} during the run: {first} in the first third of the"
        f" rounds, {last} in the last."
    )


def _bimodal(facts: Facts) -> str:
    middles = facts["middles"]
    count = {2: "Two", 3: "Three"}.get(len(middles), "Several")
    return f"{count} groups of calls, around {fmt.listed(map(fmt.seconds, middles))}."


def _contended(facts: Facts) -> str:
    used, cores = facts["used_cores"], facts["cores"]
    most = "up to " * bool(facts.get("most"))
    if facts["by"] == "hypervisor":
        share = fmt.percent(used / cores) if cores else ""
        return f"The hypervisor gave {most}{share} of the CPU time to other machines."
    return (
        f"Other programs used {most}{used:.1f} of {cores} cores during the run, so"
        " these timings include interference from them."
    )


def _busy(facts: Facts) -> str:
    used = f"{'up to ' * bool(facts.get('most'))}{facts['used_cores']:.1f}"
    who = "the hypervisor" if facts["by"] == "hypervisor" else "other programs"
    return f"{who} took {used} of {facts['cores']} cores"


def _queue_full(facts: Facts) -> str:
    if "call" in facts:
        return (
            f"The queue is full from call {facts['call'] + 1} on: the host blocks"
            " until a computation finishes."
        )
    return (
        f"A burst put {facts['in_flight']} computations in flight, but the queue depth"
        f" is {facts['depth']}: the pipelined time includes waiting."
    )


def _impossible(facts: Facts) -> str:
    if facts.get("by") == "stopwatch":
        return (
            "Faster than the chip's peak: the stopwatch timed dispatch, not the work."
        )
    rate, peak = fmt.rate(facts["flops_per_second"]), fmt.rate(facts["peak"])
    return (
        f"{rate} is above the device's peak of {peak}: the clock missed part of the op."
    )


def _uncopied(facts: Facts) -> str:
    if "error" in facts:
        return f"Copies to and from the device were not timed: {ended(facts['error'])}"
    needed, free = map(fmt.bytes_text, (facts["needed"], facts["free"]))
    return f"Transfer was not timed: a second copy needs {needed}, {free} are free."


def _memory(facts: Facts) -> str:
    faults = f"{facts['page_faults']:,.0f} page faults per call."
    # A measurement of an earlier version has both ends.
    if "end" not in facts:
        return faults
    return f"You chose {facts['end']} memory ({facts['setting']}): {faults}"


def _freeing(facts: Facts) -> str:
    free, whole = facts["seconds"], facts["ready"] + facts["seconds"]
    return (
        f"Freeing the result takes {fmt.seconds(free)} per call, which `ready` leaves"
        f" out: a plain loop takes {fmt.seconds(whole)} per call."
    )


def _numpy_dtype(facts: Facts) -> str:
    name = "NumPy" if facts["mode"] == "numpy" else "TensorFlow's NumPy"
    return f"{name} has no {facts['dtype']}, so it ran in {facts['used']}."


def _wrong_result(facts: Facts) -> str:
    match facts["by"]:
        case "shapes":
            return f"JAX returns {facts['jax']}, NumPy returns {facts['numpy']}."
        case "participants":
            wrong = fmt.plural(facts["wrong"], "element")
            return f"{wrong} of the result are wrong, so its speed means nothing."
    return "The result is wrong, so its speed means nothing."


def _inaccurate(facts: Facts) -> str:
    error, most = f"{facts['error']:.1e}", f"{facts['tolerance']:.0e}"
    if facts["by"] == "sides":
        return (
            f"The results of JAX and NumPy differ by {error}; the tolerance is {most}."
        )
    return f"The result is off by {error} from NumPy in float64; tolerance {most}."


def _two_sides(facts: Facts) -> str:
    advice = {
        "shapes": "Do not compare their times.",
        "sides": "Do not compare their times, unless both draw random numbers.",
    }
    return advice.get(facts["by"], "")


_COUNTED = {
    "loop": "XLA counts the body of a loop once, so no rate is shown",
    "host": "jaxtui doesn't know the flops and bytes of NumPy",
    "nothing": "jaxtui doesn't know its flops and bytes",
    "xla": "Flops and bytes are XLA's count",
}


def _own(facts: Facts) -> str:
    if facts["counted"] == "library":
        libraries = ", ".join(facts["libraries"])
        counted = f"XLA does not count the work of {libraries}, so no rate is shown"
    else:
        counted = _COUNTED[facts["counted"]]
    compared = "has nothing to check its result against"
    if facts["compared"] == "values":
        compared = "compares the shapes and values of JAX's and NumPy's results"
    return f"{counted}; jaxtui {compared}."


def _donated(facts: Facts) -> str:
    numbers = ", ".join(map(str, facts["arguments"]))
    return (
        f"The function donates arguments (positions {numbers}): jaxtui gives each call"
        " fresh copies, which no clock includes."
    )


def _sharded(facts: Facts) -> str:
    if facts.get("mesh"):
        return (
            f"The function runs over a mesh of {facts['devices']} devices; rates are"
            " totals over all of them."
        )
    return (
        f"The file spreads it over {facts['devices']} devices. XLA counts the work of"
        " one device, so rates are per device."
    )


def _aliased(facts: Facts) -> str:
    phases = " and ".join(facts["phases"])
    return (
        f"Host and device share the memory of {phases}, so nothing is copied and no"
        " bandwidth is shown."
    )


def _settings(facts: Facts) -> str:
    pairs = zip(facts["settings"], facts["values"], strict=True)
    settings = fmt.listed(f"{name}={value}" for name, value in pairs)
    return f"The function ran with {settings}, set by its file or by your program."


def _few_processes(facts: Facts) -> str:
    actual, requested = facts["found"], facts["asked"]
    count = f"Only {fmt.plural(actual, 'process')}"
    if actual < requested:
        count = f"Only {actual} of {requested} processes timed it"
    if actual == 1:
        return f"{count}: the interval covers that process alone."
    if facts["confidence"] < _USUAL:
        return f"{count}: the interval is min–max."
    return f"{count}."


def _earlier_runs(facts: Facts) -> str:
    ends = tuple(dict.fromkeys((facts["low"], facts["high"])))
    span = fmt.Figure(ends, "s", fmt.common(ends))
    return (
        f"{fmt.plural(facts['runs'], 'earlier run')} on this machine took {span}: this"
        " interval covers one process."
    )


WORDS: dict[str, Words] = {
    **failure_words.WORDS,
    "no-product": Words("no product", "XLA has no matrix product in {dtype}."),
    "straggler": Words(
        "straggler",
        "{share:%} of the median of the other devices. Expected at least {least:%} of"
        " it. {why}",
    ),
    # Why there is no plot.
    # What qualifies a number.
    "few-rounds": Words(
        "few rounds",
        _few_rounds,
        lambda facts: "" if "each" in facts else "Raise the budget.",
        lambda facts: (
            "a call takes a second: a few after all others"
            if "each" in facts
            else "under six, so the interval is min–max: raise the budget"
        ),
    ),
    "uncertain": Words(
        "",
        _uncertain,
        "End other programs, or raise the budget.",
        "the interval spans more than a factor of two",
    ),
    "no-warm-up": Words(
        "no warm-up",
        "A call takes so long that the first one was the only warm-up.",
    ),
    "throttled": Words(
        "sustained load",
        _throttled,
        "",
        "a pipelined call takes longer or shorter under load",
    ),
    "drift": Words("", _drift, "", "the machine changed its speed during the run"),
    "bimodal": Words(
        "",
        _bimodal,
        "Look at the plot before you quote one number.",
        "calls fall into two or more groups",
    ),
    "contended": Words("busy machine", _contended, "", _busy),
    "implicit-transfer": Words(
        "implicit transfer",
        "The host sent an argument in every call although inputs are resident, so the"
        " time includes that transfer.",
    ),
    "queue-full": Words(
        "full queue", _queue_full, "", "the pipelined time includes waiting for room"
    ),
    "inline": Words(
        "inline",
        "The op runs in the calling thread: its result is ready when the call returns,"
        " so nothing overlaps. On CPU, XLA does this for programs that it counts below"
        " 1000 flops.",
        "",
        "the result is ready when the call returns",
    ),
    "folded": Words(
        "constant folding",
        "XLA computed most of the work at compile time, or removed it. No rate is"
        " shown.",
        "Return what the function computes, and pass its data as arguments.",
        "XLA removed work, or did it at compile time",
    ),
    "host-bound": Words(
        "",
        "Dispatch takes {dispatch:s} and a pipelined call {queued:s}, so dispatch"
        " hides the device's own time. No rate is shown.",
        "",
        "dispatch takes about as long as the work, so no rate",
    ),
    "kept": Words(
        "cached result",
        "The result existed before the call: the function returns an array that it"
        " keeps, or an argument. This is the time of a lookup, not of the work.",
    ),
    "recompiled": Words(
        "",
        "JAX compiled {programs:program} in {calls:call} after the warm-up, so the"
        " time includes compilation.",
        "Call `jax.jit` once, outside of the function, with static arguments that stay"
        " the same.",
        "JAX compiled again after the warm-up",
    ),
    "impossible": Words("", _impossible),
    "memory": Words(
        "chosen memory",
        _memory,
        "",
        "new pages in each call, or reused ones, as chosen",
    ),
    "page-faults": Words(
        "page faults",
        "{page_faults:,.0f} page faults per call: the process gets new memory each"
        " time. With reused memory it takes less.",
        "`jaxtui bench --memory fresh,reused` times both.",
        "each call gets new memory; with reused memory it takes less",
    ),
    "reused-pages": Words(
        "reused memory",
        "No page faults: each call reuses the memory of the result before. In a program"
        " that gets new memory each time it takes longer.",
        "`jaxtui bench --memory fresh,reused` times both.",
        "each call reuses memory; with new memory it takes longer",
    ),
    "freeing": Words(
        "", _freeing, "", "a plain loop also frees its results, which takes time"
    ),
    "simulated": Words(
        "simulated device",
        "SIMULATED device: it shares this machine's CPU with the other simulated"
        " devices.",
    ),
    "not-finite": Words("not finite", "The result contains NaN or infinity."),
    "numpy-dtype": Words("NumPy's dtype", _numpy_dtype),
    "x64": Words(
        "",
        "jaxtui enabled x64 for this case alone: without JAX_ENABLE_X64=1 a program"
        " computes in float32.",
    ),
    "dtype-changed": Words(
        "changed dtype",
        "The result of this {dtype} case is {result}.",
    ),
    "symmetric": Words(
        "",
        "NumPy computes x·xᵀ with a symmetric BLAS routine, which does half of the"
        " flops; the rate counts the full product.",
        "",
        "NumPy does half of the flops of x·xᵀ; the rate counts all",
    ),
    "rows-sampled": Words(
        "sampled check",
        "The float64 check compared {rows} rows of the result, not all.",
    ),
    "wrong-result": Words("wrong result", _wrong_result, _two_sides),
    "inaccurate": Words("", _inaccurate, _two_sides),
    "own": Words("own function", _own),
    "warm-phases": Words(
        "warm phases",
        "The function is jitted already and may have run in this process, so jaxtui"
        " cannot time trace, lower and compile.",
    ),
    "donated": Words("donated arguments", _donated),
    "sharded": Words("", _sharded),
    "interpreted": Words(
        "interpret mode",
        "Pallas doesn't compile kernels for a CPU: this one ran in interpret mode,"
        " which tests its result, not its speed.",
    ),
    "cached-compile": Words(
        "cached executable",
        "The executable came from JAX's persistent compilation cache: compile is the"
        " time to load it.",
    ),
    "aliased": Words("zero-copy", _aliased),
    "uncopied": Words("no copy", _uncopied),
    "memcpy": Words(
        "no bus transfer",
        "On CPU a transfer is a copy within the host's memory, not over a bus.",
    ),
    "precision": Words(
        "default precision",
        "{setting} changes the default precision to {value}.",
    ),
    "waits": Words(
        "blocking calls",
        "{setting}={value}: the host blocks in every call, so dispatch includes the"
        " whole work.",
    ),
    "settings": Words("file settings", _settings),
    "more-modes": Words("more modes", "Also runs as {modes:and}."),
    "few-processes": Words("few processes", _few_processes),
    "earlier-runs": Words(
        "earlier runs differ",
        _earlier_runs,
        "Time it in several processes to cover them.",
        "they lie outside of the interval",
    ),
}
