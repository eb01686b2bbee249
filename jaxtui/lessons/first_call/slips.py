"""Step 2: Two slips in a published table."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.first_call.parts import SOURCE
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Timed, Work

_SLIP, _COPY, _SAME = "device_put(x)", "copy from NumPy", "same memory"

_FIRST, _COMPILE, _LATER = "first call", "compile alone", "later call"


def _slips(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    # On a CPU device_put may borrow NumPy's memory, and then nothing is sent at all.
    send = "jax.device_put(host)" if setting.accelerated else "jnp.array(host)"
    setup = f"""\
host = np.random.default_rng(0).standard_normal(({n}, {n}), dtype=np.float32)
x = {send}
f = jax.jit(lambda x: x @ x.T)
g = jax.jit(lambda x: x @ x.T)
# The first compile of a process costs more than any other: it is none of these.
jax.jit(lambda x: x + 1)(x).block_until_ready()
"""
    parts = (
        Timed(name=_SLIP, code="jax.device_put(x).block_until_ready()"),
        Timed(name=_COPY, code=f"{send}.block_until_ready()"),
        Shown(
            name=_SAME,
            code="jax.device_put(x).unsafe_buffer_pointer()"
            " == x.unsafe_buffer_pointer()",
        ),
        Timed(name=_FIRST, code="f(x).block_until_ready()", once=True),
        Timed(name=_COMPILE, code="g.lower(x).compile()", once=True),
        Timed(name=_LATER, code="f(x).block_until_ready()"),
    )
    snippet = Snippet(
        title=f"A transfer that is none and a compile that runs, {n}×{n} float32",
        setup=setup,
        parts=parts,
        budget_seconds=4.0,
        memory_bytes=5 * 4 * n * n,
        device=setting.device,
    )
    return (snippet,)


def _two_slips(setting: Setting, outcome: Outcome) -> Conclusion:
    amount = 4.0 * setting.size**2
    slip, copy = outcome.seconds(_SLIP), outcome.seconds(_COPY)
    first, later = outcome.seconds(_FIRST), outcome.seconds(_LATER)
    alone, same = outcome.seconds(_COMPILE), outcome.text(_SAME)
    rows = (
        Row(
            what="device_put of a JAX array",
            yours=words.duration(slip),
            published="155 µs GPU, 164 µs TPU",
            remark=f"would be {words.bandwidth(amount, slip)}",
        ),
        Row(
            what="the same numbers from NumPy",
            yours=words.duration(copy),
            remark=f"{words.bandwidth(amount, copy)}, a real copy",
        ),
        Row(what="same memory afterwards", yours=same or words.ABSENT),
        Row(
            what="first call of f",
            yours=words.duration(first),
            published="2.16 s GPU, 837 ms TPU",
            remark="called compile in the table",
        ),
        Row(
            what="compile without a run",
            yours=words.duration(alone),
            remark="g.lower(x).compile()",
        ),
        Row(
            what="a later call of f",
            yours=words.duration(later),
            published="68.9 ms GPU, 16.5 ms TPU",
        ),
    )
    if slip is None or copy is None or first is None or later is None or same is None:
        return words.inconclusive(setting, outcome, rows, "the two slips", many=True)
    # Some runtimes tell no addresses; then the clocks have to do.
    nothing_moved = same != "False" and copy >= 2 * slip
    with_run = first > later
    takeaway = (
        f"device_put(x) took {words.duration(slip)} for {fmt.bytes_text(amount)}, "
        f"the copy from NumPy {words.duration(copy)}, {words.times(copy, slip)} as "
        "long. "
    )
    if same == "True":
        takeaway += "The array was there already, and the two share their memory. "
    elif same == "False":
        takeaway += "Here the result is an array of its own, so this was a copy too. "
    takeaway += (
        f"The first call took {words.duration(first)}, of which "
        f"{words.duration(later)} is what any call takes."
        if with_run
        else f"The first call took {words.duration(first)}, no longer than a later "
        f"one ({words.duration(later)}): nothing was left to compile."
    )
    return Conclusion(
        rows=rows,
        holds=nothing_moved and with_run,
        takeaway=takeaway,
        answer=0 if copy >= 2 * slip else 1,
    )


STEP = Step(
    title="Two slips in a published table",
    prose="""\
The published figures come with two slips, and this step repeats both.

The "transfer" of 155 µs is `jax.device_put(x)` of an `x` that was made by
JAX and lived on the device already. Sending 100 MB in 155 µs would take a
link of 645 GB/s. Nothing was sent: JAX returned the array it had.

The "compile" of 2.16 s is the first call, so it contains one whole run.
Compiling alone is `f.lower(x).compile()`, which runs nothing.

Beside them stand the real ones: a copy from a NumPy array, and a compile
without a run.""",
    question=Question(
        text="How long does device_put take if the array is there already?",
        choices=("Far less than a copy", "About as long as a copy"),
    ),
    claim=(
        "The published transfer moves nothing, and the published compile "
        "contains a run."
    ),
    works=_slips,
    conclude=_two_slips,
    source=SOURCE,
)
