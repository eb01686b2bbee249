"""Every flag that can stand on a measurement, with its one plain sentence.

A flag is part of the JSON contract; the sentence is for people.
"""

from __future__ import annotations

from jaxtui import format as text
from jaxtui.model import Mode, Note


def inline() -> Note:
    """The runtime computed in the calling thread."""
    return Note(
        flag="inline",
        text=(
            "This op runs inline: the call returned with its result already computed, "
            "so dispatch is the whole work and there is nothing to overlap."
        ),
    )


def interpreted() -> Note:
    """A Pallas kernel ran without being compiled."""
    return Note(
        flag="interpreted",
        text=(
            "Pallas compiles no kernels for a CPU: this one ran in interpret mode, "
            "which shows whether it is right. Its time says nothing about speed."
        ),
    )


def host_bound(pipelined: float, dispatch: float) -> Note:
    """Python's hand-over hides the device's own time; both in seconds."""
    return Note(
        flag="host-bound",
        text=(
            f"Host-bound: handing a call over takes {text.seconds(dispatch)} and a "
            f"queued call {text.seconds(pipelined)}, so the device's own time is "
            "hidden and no rate is shown."
        ),
    )


def folded(counted: float | None, expected: float) -> Note:
    """XLA compiled less work than the op's formula has."""
    found = "no flops at all" if not counted else f"{counted:.2g} flops"
    return Note(
        flag="folded",
        text=(
            f"XLA compiled {found} where the op has {expected:.2g}: part of the work "
            "was done at compile time or removed, so no rate is shown."
        ),
    )


def cached_compile() -> Note:
    """The executable came from the persistent compilation cache."""
    return Note(
        flag="cached-compile",
        text=(
            "The executable came from JAX's persistent compilation cache: the compile "
            "time is the time to load it, not to compile."
        ),
    )


def aliased(phases: tuple[str, ...]) -> Note:
    """A transfer or fetch copied nothing."""
    return Note(
        flag="aliased",
        text=(
            f"Zero-copy {' and '.join(phases)}: host and device share the same memory "
            "here, so there is no bandwidth to speak of."
        ),
    )


def memory_copy() -> Note:
    """A transfer on the CPU backend is no bus transfer."""
    return Note(
        flag="memcpy",
        text="On CPU a transfer is a copy within the host's memory, not over a bus.",
    )


def page_faults(per_call: float) -> Note:
    """Fresh memory was mapped in every call."""
    return Note(
        flag="page-faults",
        text=(
            f"About {per_call:,.0f} page faults per call: memory is new to the process "
            "each time, and getting it is part of this number."
        ),
    )


def reused_memory(size: int) -> Note:
    """Malloc keeps blocks that it would map anew elsewhere; bytes of the largest."""
    return Note(
        flag="reused-memory",
        text=(
            f"Memory of {text.bytes_text(size)} is reused from call to call here. By "
            "default glibc maps blocks of 32 MiB or more anew each time: without the "
            "mallopt lines of its script this takes longer."
        ),
    )


def drift(first: float, last: float) -> Note:
    """The first and the last third of the rounds differ; medians in seconds."""
    return Note(
        flag="drift",
        text=(
            f"Drift: {text.seconds(first)} in the first third of the rounds, "
            f"{text.seconds(last)} in the last. The machine changed its speed."
        ),
    )


def bimodal(low: float, high: float) -> Note:
    """The samples fall into two groups, seconds."""
    return Note(
        flag="bimodal",
        text=(
            f"Two groups of samples, around {text.seconds(low)} and "
            f"{text.seconds(high)}: look at the plot before quoting one number."
        ),
    )


def contended(cores: float, count: int) -> Note:
    """Other processes used the CPU."""
    return Note(
        flag="contended",
        text=(
            f"Other processes used {cores:.1f} of {count} cores during these rounds: "
            "this number is theirs too."
        ),
    )


def stolen(share: float) -> Note:
    """The hypervisor took CPU time away."""
    return Note(
        flag="contended",
        text=(
            f"The hypervisor gave {share:.0%} of the CPU time to other machines during "
            "these rounds."
        ),
    )


def implicit_transfer() -> Note:
    """The transfer guard fired for resident inputs."""
    return Note(
        flag="implicit-transfer",
        text=(
            "An argument was sent from the host at every call although inputs are "
            "resident: the time includes that transfer."
        ),
    )


def dtype_changed(asked: str, got: str) -> Note:
    """The result has another dtype than the case."""
    return Note(
        flag="dtype-changed",
        text=f"The result of this {asked} case is {got}.",
    )


def wide_types() -> Note:
    """A float64 case of JAX, for which x64 was switched on."""
    return Note(
        flag="x64",
        text=(
            "JAX has float64 only with x64, which was switched on for this case alone: "
            "a program without JAX_ENABLE_X64=1 computes in float32 instead."
        ),
    )


def numpy_dtype(asked: str, used: str, mode: Mode = "numpy") -> Note:
    """NumPy, or TensorFlow's version of it, computed in another dtype."""
    name = "NumPy" if mode == "numpy" else "TensorFlow's NumPy"
    return Note(
        flag="numpy-dtype",
        text=f"{name} has no {asked} of its own: its side ran in {used}.",
    )


def queue_full(in_flight: int, depth: int) -> Note:
    """The longer burst did not fit into the queue."""
    return Note(
        flag="queue-full",
        text=(
            f"A burst put {in_flight} computations in flight, but the runtime holds "
            f"the host back at {depth}: pipelined contains waiting."
        ),
    )


def no_warm_up() -> Note:
    """One call used up the warm-up."""
    return Note(
        flag="no-warm-up",
        text="One call takes so long that there was no warm-up beyond the first.",
    )


def few_rounds(rounds: int) -> Note:
    """Too few rounds for a sign-test interval."""
    return Note(
        flag="few-rounds",
        text=(
            f"Only {text.plural(rounds, 'round')} fitted into the budget: the interval "
            "is the smallest and the largest round, not 95 %."
        ),
    )


def inaccurate(error: float, tolerance: float) -> Note:
    """The result is further from float64 than the dtype explains."""
    return Note(
        flag="inaccurate",
        text=(
            f"The result is off by {error:.1e} against NumPy in float64; this dtype "
            f"should reach {tolerance:.0e}."
        ),
    )


def not_finite() -> Note:
    """A result of a function of the user's own."""
    return Note(
        flag="not-finite",
        text="The result holds numbers that are not finite: nan or infinity.",
    )


def own(*, counted: bool, loops: bool, fused: bool) -> Note:
    """What there is instead of formulas and of a reference.

    Args:
        counted: Whether XLA says anything.
        loops: Whether the program has a loop, whose body XLA counts once.
        fused: Whether the compiled program was counted, or one op after the other.
    """
    unchecked = "the result of your own function is compared with nothing."
    if loops:
        return Note(
            flag="own",
            text=(
                "XLA counts the body of a loop once, however often it runs, so no rate"
                f" is shown; {unchecked}"
            ),
        )
    if not counted:
        return Note(flag="own", text=f"Flops and bytes are not known; {unchecked}")
    program = "the compiled program" if fused else "its ops one by one"
    return Note(
        flag="own",
        text=(
            f"Flops and bytes are as XLA counts them in {program}, without what it"
            f" leaves to libraries; {unchecked}"
        ),
    )


def wrong_result() -> Note:
    """The result is not finite, or has the wrong shape or distribution."""
    return Note(
        flag="wrong-result",
        text="The result is not what this op should give: its speed means nothing.",
    )


def rows_sampled(rows: int) -> Note:
    """The float64 check was done on some rows only."""
    return Note(
        flag="rows-sampled",
        text=f"The float64 check computed {rows} rows of the result, not all of it.",
    )


def symmetric() -> Note:
    """NumPy does half the work of x·xᵀ."""
    return Note(
        flag="symmetric",
        text=(
            "NumPy hands x·xᵀ to a symmetric BLAS routine with half the flops; the "
            "rate counts the full product."
        ),
    )


def simulated() -> Note:
    """The device is one of ``--cpu-devices N``."""
    return Note(
        flag="simulated",
        text="SIMULATED device: it shares this machine's CPU with its siblings.",
    )


def impossible(rate: float, peak: float) -> Note:
    """A rate above the peak of the device, both per second."""
    return Note(
        flag="impossible",
        text=(
            f"{text.rate(rate)} is above this device's peak of {text.rate(peak)}: "
            "something other than the whole op was timed."
        ),
    )
