"""What XLA makes of a case; compiling ahead of time; files of functions."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.view.words.base import Facts, Words


def _lower_bound(facts: Facts) -> str:
    work, rate, what = (
        (fmt.rate(facts["work"], "FLOP"), fmt.rate(facts["rate"]), "peak")
        if facts["by"] == "compute"
        else (fmt.rate(facts["work"], "B"), fmt.rate(facts["rate"], "B/s"), "bandwidth")
    )
    return (
        f"No call is faster than {fmt.seconds(facts['seconds'])}: {work} at the"
        f" device's {what} of {rate}. Only a run shows how much slower it is."
        f" Peaks: {facts['source']}."
    )


WORDS: dict[str, Words] = {
    "lower-bound": Words("lower bound", _lower_bound),
    "compute-peak-unknown": Words(
        "no compute peak",
        lambda f: (
            f"No peak for {f['dtype']} arithmetic is published for this device, so"
            " only the memory traffic bounds the call."
        ),
    ),
    "peaks-unknown": Words(
        "no lower bound",
        lambda f: f"jaxtui knows no published peak of {f['device_kind']}.",
    ),
    "traffic-unknown": Words(
        "no lower bound",
        "jaxtui doesn't know how many bytes a function of your own must move.",
    ),
    "program-hidden": Words(
        "program not shown", "This jax doesn't show the compiled program."
    ),
    "transcendentals-apart": Words(
        "transcendentals",
        "XLA counts exponentials and the like separately; the formula counts each as"
        " one flop.",
    ),
    "kernel-interpreted": Words(
        "interpreted kernel",
        "On a CPU, JAX interprets Pallas kernels. This is the interpreter's program.",
    ),
    "loop-counted-once": Words(
        "loop", "XLA counts the body of a loop once, however often it runs."
    ),
    "custom-call-uncounted": Words(
        "custom call", "XLA can't see inside a custom call and counts none of its work."
    ),
    "memory-unknown": Words(
        "device memory unknown",
        lambda f: f"jaxtui doesn't know how much memory a {f['device_kind']} has.",
    ),
}
