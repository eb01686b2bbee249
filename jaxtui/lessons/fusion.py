"""Fusion: what ``jit`` makes of six steps over memory."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import cases, values, words
from jaxtui.lessons.base import Conclusion, Lesson, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Experiment, Shown, Snippet, Timed, Work

SOURCE = (
    "Published comparison of SELU on 10⁶ float32 elements; neither its CPU nor its GPU "
    "is named."
)

FASTER = 2.0
"""How many times faster jit must be than eager before the claim holds."""

FEWER = 2.0
"""How many times fewer bytes must be moved."""

_STEPS, _NAMES, _EAGER_BYTES = "steps", "names of the steps", "bytes, step by step"
_KERNELS, _OPCODES, _JIT_BYTES = "kernels", "what is left", "bytes, fused"
_EAGER, _JIT = "eager", "jit"

SELU = """\
def selu(x):
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return scale * lax.select(x > 0, x, alpha * lax.exp(x) - alpha)
"""

_INSIDE = """\
import re


{selu}

x = jax.random.normal(jax.random.key(0), ({n},))
steps = jax.make_jaxpr(selu)(x).eqns
compiled = jax.jit(selu).lower(x).compile()


def moved(step):
    # What one step reads and writes.
    arrays = [each.aval for each in (*step.invars, *step.outvars)]
    return sum(a.size * a.dtype.itemsize for a in arrays)


# Of the compiled program only what is called at the top; the rest is inside of that.
entry = compiled.as_text().split("ENTRY ")[1].split("\\n}}")[0]
opcodes = re.findall(r" = \\S+ ([a-z][\\w-]*)\\(", entry)
free = ("parameter", "constant", "bitcast", "tuple", "get-tuple-element")
kernels = [opcode for opcode in opcodes if opcode not in free]
"""


def _three_ways(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    compared = (
        cases.numpy("selu", n),
        cases.jax(setting.device, "selu", n, "eager"),
        cases.jax(setting.device, "selu", n),
    )
    return (Experiment(cases=compared, budget_seconds=6.0),)


def _faster(setting: Setting, outcome: Outcome) -> Conclusion:
    numpy, eager, jit = (outcome.ready(mode=mode) for mode in ("numpy", "eager", "jit"))
    rows = (
        Row(
            what="NumPy",
            yours=words.duration(numpy),
            published="7.6 ms",
            remark=words.trouble(outcome, mode="numpy"),
        ),
        Row(
            what="JAX, eager",
            yours=words.duration(eager),
            published="1.21 ms, GPU" if setting.accelerated else "4.8 ms, CPU",
            remark=words.trouble(outcome, mode="eager"),
        ),
        Row(
            what="JAX, jit",
            yours=words.duration(jit),
            published="130 µs, GPU",
            remark=words.trouble(outcome, mode="jit"),
        ),
    )
    if eager is None or jit is None:
        return words.inconclusive(setting, outcome, rows, "eager and compiled SELU")
    holds = eager >= FASTER * jit
    takeaway = [
        f"Eager JAX took {words.duration(eager)}, the compiled function "
        f"{words.duration(jit)}: the same lines, {words.times(eager, jit)} as fast."
        if holds
        else f"Eager JAX took {words.duration(eager)} and the compiled function "
        f"{words.duration(jit)}, so compiling gains less than the {FASTER:g} times of "
        "the claim here. With few elements both mostly cost their dispatch."
    ]
    if numpy is not None:
        side = "less" if eager < numpy else "more"
        takeaway.append(
            f"NumPy took {words.duration(numpy)}. Eager JAX, which works in the same "
            f"way, needs {side} than that; what gains most is to compile."
            if holds
            else f"NumPy took {words.duration(numpy)}."
        )
    answer = 0 if eager < FASTER * jit else 1 if eager < 5 * jit else 2
    return Conclusion(
        rows=rows, holds=holds, takeaway=" ".join(takeaway), answer=answer
    )


def _looked_into(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    snippet = Snippet(
        title=f"SELU on {fmt.count(n)} elements, step by step and fused",
        setup=_INSIDE.format(selu=SELU, n=n),
        parts=(
            Shown(name=_STEPS, code="len(steps)"),
            Shown(name=_NAMES, code='", ".join(s.primitive.name for s in steps)'),
            Shown(name=_EAGER_BYTES, code="sum(moved(step) for step in steps)"),
            Shown(name=_KERNELS, code="len(kernels)"),
            Shown(name=_OPCODES, code='", ".join(kernels)'),
            Shown(name=_JIT_BYTES, code="x.nbytes + compiled(x).nbytes"),
            Timed(name=_EAGER, code="selu(x).block_until_ready()"),
            Timed(name=_JIT, code="compiled(x).block_until_ready()"),
        ),
        budget_seconds=4.0,
        memory_bytes=8 * 4 * n,
        device=values.chosen(setting),
    )
    return (snippet,)


def _fewer(setting: Setting, outcome: Outcome) -> Conclusion:
    steps, kernels = outcome.number(_STEPS), outcome.number(_KERNELS)
    apart, fused = outcome.number(_EAGER_BYTES), outcome.number(_JIT_BYTES)
    rows = (
        Row(
            what="eager: kernels that ran",
            yours=values.whole(steps),
            remark=values.shown(outcome, _NAMES),
        ),
        Row(
            what="jit: kernels left",
            yours=values.whole(kernels),
            remark=values.shown(outcome, _OPCODES),
        ),
        Row(
            what="eager: bytes moved",
            yours=fmt.bytes_text(apart),
            remark=_at_speed(apart, outcome.seconds(_EAGER)),
        ),
        Row(
            what="jit: bytes moved",
            yours=fmt.bytes_text(fused),
            remark=_at_speed(fused, outcome.seconds(_JIT)),
        ),
    )
    if steps is None or kernels is None or apart is None or fused is None:
        return words.inconclusive(
            setting, outcome, rows, "kernels and bytes", many=True
        )
    holds = kernels < steps and apart >= FEWER * fused
    takeaway = [
        f"Eager JAX ran {steps:g} kernels; each read its arrays from memory and wrote "
        f"one back, {fmt.bytes_text(apart)} in all."
    ]
    if holds:
        left = "one kernel" if kernels == 1 else f"{kernels:g} kernels"
        takeaway.append(
            f"XLA left {left}: x is read once, everything happens in registers, the "
            f"result is written once, {fmt.bytes_text(fused)}: "
            f"{words.times(apart, fused)} less."
        )
    else:
        takeaway.append(
            f"XLA left {kernels:g}, with {fmt.bytes_text(fused)} to read and write: it "
            "fused less than the claim says on this device."
        )
    eager, jit = outcome.seconds(_EAGER), outcome.seconds(_JIT)
    if eager is not None and jit is not None:
        takeaway.append(
            f"The time went from {words.duration(eager)} to {words.duration(jit)}. "
            "What remains is arithmetic, above all the exponential, and the dispatch."
        )
    answer = 0 if kernels >= steps else 2 if kernels == 1 else 1
    return Conclusion(
        rows=rows, holds=holds, takeaway=" ".join(takeaway), answer=answer
    )


def _at_speed(amount: float | None, seconds: float | None) -> str:
    if amount is None or seconds is None:
        return ""
    return f"in {words.duration(seconds)}: {words.bandwidth(amount, seconds)}"


LESSON = Lesson(
    name="fusion",
    title="Fusion: what jit buys",
    summary="One activation in NumPy, in eager JAX and compiled; where the time went.",
    size_means="number of elements",
    sizes={"cpu": 1_000_000},
    minimum=1000,
    maximum=100_000_000,
    steps=(
        Step(
            title="The same lines, compiled or not",
            prose="""\
SELU is an activation function, six small steps for each element: compare,
exponential, multiply, subtract, select, multiply.

    scale * lax.select(x > 0, x, alpha * lax.exp(x) - alpha)

NumPy does one step for the whole array, then the next. So does JAX when it
runs eagerly, one kernel per step. With `jax.jit` the function is traced once,
and XLA compiles all of it as one program.

The array has a million elements unless you set another size. Nothing about
the arithmetic changes, only who sees it as a whole.""",
            question=Question(
                text="How much faster is the compiled function than eager JAX?",
                choices=(
                    "Less than 2 times: the work is the same",
                    "2 to 5 times",
                    "More than 5 times",
                ),
            ),
            claim="The compiled function is at least twice as fast as eager JAX.",
            works=_three_ways,
            conclude=_faster,
            source=SOURCE,
        ),
        Step(
            title="How many kernels, how many bytes",
            prose="""\
A kernel is a program that the device runs over a whole array. Eager JAX
starts one for each primitive, and every one reads its inputs from memory and
writes its result there. `jax.make_jaxpr` lists the primitives.

XLA may merge neighbours into one kernel, a fusion: an intermediate value then
never leaves the processor. What it really did stands in the text of the
compiled program:

    jax.jit(selu).lower(x).compile().as_text()

Counted here are the operations that its entry calls, without those that cost
nothing, and the bytes that arrays take on their way from and to memory.""",
            question=Question(
                text="How many kernels are left of the six?",
                choices=("All six", "Two to five", "One"),
            ),
            claim="XLA leaves fewer kernels, and they move at most half of the bytes.",
            works=_looked_into,
            conclude=_fewer,
        ),
    ),
)
