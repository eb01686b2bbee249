"""The clock that lies: one product, three ways to stop the watch."""

from __future__ import annotations

from jaxtui.lessons import cases, words
from jaxtui.lessons.base import Conclusion, Lesson, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Experiment, Measurement, Snippet, Timed, Work

SOURCE = (
    "JAX documentation, Asynchronous dispatch, 1000×1000 float32 on a CPU: "
    "https://docs.jax.dev/en/latest/async_dispatch.html"
)

FAR = 5.0
"""How many times too little a stopwatch reads before this lesson calls it a lie."""

_PLAIN, _ASARRAY, _BLOCKED = "plain call", "np.asarray", "block_until_ready"

_CHOICES = ("About the same", "Up to 5 times less", "More than 5 times less")


def _product(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    setup = f"""\
x = jax.random.uniform(jax.random.key(0), ({n}, {n}))
jnp.dot(x, x).block_until_ready()  # compiles, so that no clock below sees it
"""
    snippet = Snippet(
        title=f"The product of a {n}×{n} float32 matrix with itself, timed three ways",
        setup=setup,
        parts=(
            Timed(name=_PLAIN, code="jnp.dot(x, x)"),
            Timed(name=_ASARRAY, code="np.asarray(jnp.dot(x, x))"),
            Timed(name=_BLOCKED, code="jnp.dot(x, x).block_until_ready()"),
        ),
        budget_seconds=4.0,
        memory_bytes=4 * 4 * n * n,
        device=setting.device,
    )
    return (snippet,)


def _three_readings(setting: Setting, outcome: Outcome) -> Conclusion:
    plain, copied = outcome.seconds(_PLAIN), outcome.seconds(_ASARRAY)
    blocked = outcome.seconds(_BLOCKED)
    rows = (
        Row(
            what="jnp.dot(x, x)",
            yours=words.duration(plain),
            published="269 µs",
            remark="until the call returned",
        ),
        Row(
            what="np.asarray(jnp.dot(x, x))",
            yours=words.duration(copied),
            published="8.09 ms",
            remark="with the copy to the host" if setting.accelerated else "no copy",
        ),
        Row(
            what="jnp.dot(x, x).block_until_ready()",
            yours=words.duration(blocked),
            published="4.92 ms",
            remark="until the result was there",
        ),
    )
    if plain is None or copied is None or blocked is None:
        return words.inconclusive(
            setting, outcome, rows, "the three readings", many=True
        )
    times = blocked / plain
    holds = times >= FAR
    takeaway = [
        f"The plain call read {words.duration(plain)}, the product took "
        f"{words.duration(blocked)}: {words.times(blocked, plain)} as long."
    ]
    if holds:
        takeaway.append("The stopwatch timed the hand-over of the work, not the work.")
    else:
        takeaway.append(
            f"That is less than the {FAR:.0f} times of the claim: either the product "
            "is so small here that handing it over takes as long as doing it, or other "
            "programs kept the host from returning. Try a larger size, or a quieter "
            "machine."
        )
    takeaway.append(_about_asarray(setting, copied, blocked))
    answer = 2 if times >= FAR else 1 if times >= 1.25 else 0
    return Conclusion(
        rows=rows, holds=holds, takeaway=" ".join(takeaway), answer=answer
    )


def _about_asarray(setting: Setting, copied: float, blocked: float) -> str:
    said = f"np.asarray read {words.times(copied, blocked)} what blocking read"
    if setting.accelerated:
        return f"{said}: it waits as well, and then copies the result to the host."
    return (
        f"{said}: it waits as well, and on a CPU it copies nothing, because NumPy "
        "looks at JAX's own memory."
    )


def _rates(setting: Setting) -> tuple[Work, ...]:
    jax = cases.jax(setting.device, "matmul", setting.size)
    numpy = cases.numpy("matmul", setting.size)
    return (Experiment(cases=(jax, numpy), budget_seconds=6.0),)


def _claimed_speed(setting: Setting, outcome: Outcome) -> Conclusion:
    jax, numpy = outcome.find(mode="jit"), outcome.find(mode="numpy")
    flops = 2.0 * setting.size**3
    claimed = words.quotient(flops, _dispatch(jax))
    real = words.quotient(flops, jax.work_seconds if jax else None)
    peak = jax.peak.flops_per_second if jax and jax.peak else None
    rows = (
        Row(
            what="claimed by the plain reading",
            yours=words.speed(claimed),
            remark=f"flops over {words.duration(_dispatch(jax))}",
        ),
        Row(
            what="done by JAX",
            yours=words.speed(real),
            remark=f"flops over {words.duration(jax.work_seconds if jax else None)}",
        ),
        Row(
            what="done by NumPy, which always waits",
            yours=words.rate(flops, words.ready(numpy)),
            remark=words.trouble(outcome, mode="numpy") or "on the host's CPU",
        ),
        Row(
            what="the chip's peak",
            yours=words.speed(peak),
            remark=jax.peak.source if peak and jax and jax.peak else "not known here",
        ),
    )
    if claimed is None or real is None:
        return words.inconclusive(setting, outcome, rows, "the call", "its result")
    holds = claimed >= FAR * real
    takeaway = [
        f"The plain reading claims {words.speed(claimed)}; this machine did "
        f"{words.speed(real)}, {words.times(claimed, real)} less."
    ]
    if peak is not None and claimed > peak:
        takeaway.append(
            f"The claim is above the chip's peak of {words.speed(peak)}: such a figure "
            "timed the dispatch."
        )
    elif holds:
        takeaway.append(
            "The operations were divided by the time of the hand-over, not of the work."
        )
    else:
        takeaway.append(
            "At this size the two are close, so the claim is not confirmed: handing "
            "the work over is a good part of it."
        )
    answer = 2 if holds else 1 if claimed >= 2 * real else 0
    return Conclusion(
        rows=rows, holds=holds, takeaway=" ".join(takeaway), answer=answer
    )


def _dispatch(measured: Measurement | None) -> float | None:
    return measured.dispatch.median if measured and measured.dispatch else None


LESSON = Lesson(
    name="clock",
    title="The clock that lies",
    summary="A plain call returns before its work is done; what a stopwatch then says.",
    size_means="n of n×n",
    sizes={"cpu": 1000, "gpu": 4000, "tpu": 4000},
    minimum=64,
    maximum=20_000,
    steps=(
        Step(
            title="One product, three readings",
            prose="""\
JAX dispatches work asynchronously. A call such as `jnp.dot(x, x)` hands the
product to the device and returns at once, with a `jax.Array` whose value is
still to come. A stopwatch around the call times the hand-over.

Three lines compute the same product; only the end of the timing differs:

    jnp.dot(x, x)
    np.asarray(jnp.dot(x, x))
    jnp.dot(x, x).block_until_ready()

`block_until_ready()` waits for the value. `np.asarray` waits too, because
NumPy needs the numbers, and then brings them to the host. On a CPU the host
has them already, and nothing is copied.""",
            question=Question(
                text="What will the plain call read, beside the one that blocks?",
                choices=_CHOICES,
            ),
            claim=(
                "The plain call reads at least 5 times less than the call that waits."
            ),
            works=_product,
            conclude=_three_readings,
            source=SOURCE,
        ),
        Step(
            title="The speed that a plain call claims",
            prose="""\
A product of two n×n matrices takes about 2·n³ floating-point operations.
Divided by a time, that is a speed, and a speed can be checked: no chip is
faster than its peak.

Here the same product runs compiled, and both clocks are read: until the call
returned (dispatch), and until the results of many calls were there. NumPy
does the product as well. It has no dispatch, it simply computes, so its
figure says what to expect of this machine's CPU.""",
            question=Question(
                text="What speed would you report from the plain reading?",
                choices=(
                    "About the real one",
                    "2 to 5 times the real one",
                    "More than 5 times the real one",
                ),
            ),
            claim=(
                "The plain reading claims at least 5 times the speed that the machine"
                " has."
            ),
            works=_rates,
            conclude=_claimed_speed,
        ),
    ),
)
