"""Your own kernel: an activation written in Pallas, beside what XLA makes of it."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import cases, values, words
from jaxtui.lessons.base import Conclusion, Lesson, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Experiment, Measurement, Mode, Shown, Snippet, Work

SOURCE = "JAX documentation, Pallas: https://docs.jax.dev/en/latest/pallas/index.html"

AGREES = 1e-6
"""How much further from float64 than XLA's result the kernel's may be, relative."""

MODES: dict[Mode, str] = {
    "eager": "JAX, eager",
    "jit": "JAX, jit",
    "pallas": "your kernel",
}

_INTERPRETED = "interpret mode: its time says nothing about speed"

_BLOCKS, _FIRST = "blocks", "first element of each block"
_SAME, _COMPILES = "same as jit", "compiled for this device"

KERNEL = """\
from jax.experimental import pallas as pl

alpha, scale = 1.6732632423543772, 1.0507009873554805


def selu(x_ref, out_ref):
    x = x_ref[...]
    out_ref[...] = scale * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


def whose_block(x_ref, out_ref):
    out_ref[...] = jnp.full_like(x_ref[...], pl.program_id(0))


blocks = pl.BlockSpec(({block},), lambda i: i)


def run(kernel, x, interpret):
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(x.size // {block},),
        in_specs=[blocks],
        out_specs=blocks,
        interpret=interpret,
    )(x)


x = jax.random.normal(jax.random.key(0), ({size},))
"""

# Step 1


def _three_ways(setting: Setting) -> tuple[Work, ...]:
    compared = tuple(
        cases.jax(setting.device, "selu", setting.size, mode) for mode in MODES
    )
    return (Experiment(cases=compared, budget_seconds=6.0),)


def _right(setting: Setting, outcome: Outcome) -> Conclusion:
    found = {mode: outcome.find(mode=mode) for mode in MODES}
    rows = tuple(
        Row(
            what=label,
            yours=_time(found[mode]),
            remark=words.trouble(outcome, mode=mode) or _error(found[mode]),
        )
        for mode, label in MODES.items()
    )
    kernel, jit = found["pallas"], found["jit"]
    ours = kernel.error_vs_float64 if kernel else None
    theirs = jit.error_vs_float64 if jit else None
    if kernel is None or ours is None or theirs is None:
        return words.inconclusive(setting, outcome, rows, "the kernel", "XLA's version")
    holds = abs(ours - theirs) <= AGREES and not kernel.has("inaccurate")
    said = [
        f"The kernel is off by {fmt.error(ours)} against NumPy in float64, XLA's own "
        f"version by {fmt.error(theirs)}."
    ]
    said.append(
        "So the kernel is right."
        if holds
        else "So the two do not agree: the kernel computes something else."
    )
    said.append(_about_speed(kernel, jit))
    return Conclusion(
        rows=rows,
        holds=holds,
        takeaway=" ".join(said),
        answer=0 if holds else 1,
    )


def _time(one: Measurement | None) -> str:
    if one is not None and one.has("interpreted"):
        return fmt.ABSENT
    return words.duration(words.ready(one))


def _error(one: Measurement | None) -> str:
    if one is None:
        return ""
    error = f"error {fmt.error(one.error_vs_float64)}"
    return f"{error}; {_INTERPRETED}" if one.has("interpreted") else error


def _about_speed(kernel: Measurement, jit: Measurement | None) -> str:
    """What can be said about the kernel's time on this device."""
    if kernel.has("interpreted"):
        return (
            "About its speed this machine cannot tell: Pallas compiles kernels for "
            "GPUs and TPUs, and on a CPU its interpret mode only shows whether a "
            "kernel is right."
        )
    took, compiled = words.ready(kernel), words.ready(jit)
    said = f"It took {words.duration(took)} and XLA's {words.duration(compiled)}"
    if took is None or compiled is None:
        return f"{said}."
    if took > 1.1 * compiled:
        return f"{said}: for such an op XLA's fusion is hard to beat."
    return f"{said}: as fast as what XLA makes of the same lines, or faster."


# Step 2


def _cut(setting: Setting) -> tuple[Work, ...]:
    block = 1024
    size = 4 * block
    interpret = not setting.accelerated
    snippet = Snippet(
        title="A kernel, its blocks and its grid",
        setup=KERNEL.format(block=block, size=size),
        parts=(
            Shown(
                name=_COMPILES, code="run(selu, x, interpret=False).shape", raises=True
            ),
            Shown(
                name=_SAME,
                code=(
                    f"bool(jnp.allclose(run(selu, x, interpret={interpret}),"
                    " jax.nn.selu(x), atol=1e-6))"
                ),
            ),
            Shown(name=_BLOCKS, code=f"x.size // {block}"),
            Shown(
                name=_FIRST,
                code=f"run(whose_block, x, interpret={interpret})[::{block}]",
            ),
        ),
        budget_seconds=4.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _compiles(setting: Setting, outcome: Outcome) -> Conclusion:
    refused = values.failure(outcome, _COMPILES)
    rows = (
        Row(what="programs in the grid", yours=values.whole(outcome.number(_BLOCKS))),
        Row(
            what="pl.program_id(0) of each block",
            yours=values.shown(outcome, _FIRST),
        ),
        Row(
            what="same as jax.nn.selu",
            yours=values.shown(outcome, _SAME),
            remark="" if setting.accelerated else "in interpret mode",
        ),
        Row(
            what="compiled, interpret=False",
            yours="refused" if refused else values.shown(outcome, _COMPILES),
            remark=values.shortened(refused or ""),
        ),
    )
    if gone := values.absent(outcome, _COMPILES, _SAME, _BLOCKS):
        return words.inconclusive(setting, outcome, rows, *gone)
    same = values.true(outcome, _SAME)
    said = [
        f"The grid ran the kernel {values.whole(outcome.number(_BLOCKS))} times, once "
        "for each block, and "
        + ("the pieces together are SELU." if same else "the result is not SELU.")
    ]
    if refused and not setting.accelerated:
        said.append(
            "Without interpret mode JAX refused it on this CPU: there is no compiler "
            "for kernels here. The same lines are compiled on a GPU or a TPU."
        )
    elif refused:
        said.append(f"Compiling failed on {setting.device}, against the claim.")
    else:
        said.append(f"It was compiled for {setting.device}.")
    expected = bool(refused) != setting.accelerated
    return Conclusion(
        rows=rows,
        holds=same and expected,
        takeaway=" ".join(said),
        answer=1 if refused else 0,
    )


LESSON = Lesson(
    name="kernel",
    title="Your own kernel",
    summary="SELU written in Pallas, beside jit and eager: whether it is right.",
    size_means="number of elements",
    sizes={"cpu": 1 << 18, "gpu": 1 << 20, "tpu": 1 << 20},
    minimum=1,
    maximum=1 << 28,
    needs="A GPU or a TPU to compile the kernel; a CPU interprets it.",
    steps=(
        Step(
            title="A kernel and its result",
            prose="""\
XLA writes the kernels of a JAX program. Pallas lets you write one yourself,
in Python, for the rare case in which you know better. A kernel gets
references to its input and its output and says what happens to one block:

    def kernel(x_ref, out_ref):
        x = x_ref[...]
        y = scale * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)
        out_ref[...] = y

It runs here beside eager JAX and `jit`, and all results are compared with
NumPy in float64. On a GPU or TPU the kernel is compiled. On a CPU it runs in
interpret mode, which is there to test kernels: the result counts, its time
means nothing and is not compared.""",
            question=Question(
                text="Will the kernel give the same numbers as XLA's version?",
                choices=("Yes, to the last digits or so", "No, less accurate ones"),
            ),
            claim="The kernel's result is as accurate as the compiled function's.",
            works=_three_ways,
            conclude=_right,
            source=SOURCE,
        ),
        Step(
            title="Blocks and the grid",
            prose="""\
A kernel sees one block, not the array. `pl.pallas_call` cuts the arrays into
blocks and runs the kernel once for each, a program of the grid:

    blocks = pl.BlockSpec((1024,), lambda i: i)
    pl.pallas_call(kernel, grid=(x.size // 1024,), in_specs=[blocks],
                   out_specs=blocks, out_shape=..., interpret=...)(x)

`lambda i: i` says that program i gets block i; `pl.program_id(0)` is that
number inside the kernel. On a GPU the programs run side by side, on a TPU one
after the other while the next block is being fetched.

The array here has four blocks, and compiling is tried as well.""",
            question=Question(
                text="Will Pallas compile the kernel for the device of this lesson?",
                choices=("Yes", "No, it can only be interpreted here"),
            ),
            claim="Pallas compiles kernels for GPUs and TPUs and not for CPUs.",
            works=_cut,
            conclude=_compiles,
            source=SOURCE,
        ),
    ),
)
