"""Step 5: The snippet repaired."""

from __future__ import annotations

from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.which_device.facts import SOURCE
from jaxtui.lessons.which_device.suspect import place, snippet_setup
from jaxtui.model import Part, Shown, Snippet, Timed, Work

SLOWER = 1.5
"""How many times slower integers must be before the lesson says that they are."""


def _repaired(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    setup = f"""\
{snippet_setup(n)}\
f = jax.random.uniform(jax.random.key(0), ({n}, {n}))
"""
    parts: list[Part] = [
        Timed(name="int32", code="jnp.dot(a, a).block_until_ready()"),
        Timed(name="float32", code="jnp.dot(f, f).block_until_ready()"),
        Shown(name="here", code="f.devices()"),
    ]
    if setting.accelerated and words.processor(setting):
        setup += "f_cpu = jax.device_put(f, jax.devices('cpu')[0])\n"
        parts += [
            Timed(name="CPU", code="jnp.dot(f_cpu, f_cpu).block_until_ready()"),
            Shown(name="there", code="f_cpu.devices()"),
        ]
    snippet = Snippet(
        title="The snippet repaired: float32, and data where the comment says",
        setup=setup,
        parts=tuple(parts),
        budget_seconds=6.0,
        memory_bytes=24 * n * n + 40 * n * n,
        device=values.chosen(setting),
    )
    return (snippet,)


def _speed(setting: Setting, outcome: Outcome) -> Conclusion:
    whole, real = outcome.seconds("int32"), outcome.seconds("float32")
    cpu = outcome.seconds("CPU")
    here = place(outcome, "here")
    rows = (
        Row(
            what="int32, as published",
            yours=words.duration(whole),
            published="6.45 ms GPU, 192 ms CPU",
            remark=f"on {here}",
        ),
        Row(what="float32, repaired", yours=words.duration(real), remark=f"on {here}"),
        Row(
            what="float32 on the CPU",
            yours=words.duration(cpu if setting.accelerated else real),
            remark=place(outcome, "there") if setting.accelerated else "the same line",
        ),
        Row(
            what="accelerator against CPU",
            yours=words.ratio(cpu, real) if setting.accelerated else words.ABSENT,
            published="30×",
            remark="" if setting.accelerated else words.NEEDS_ACCELERATOR,
        ),
    )
    if whole is None or real is None:
        return words.inconclusive(setting, outcome, rows, "the products", many=True)
    holds = whole >= SLOWER * real
    takeaway = [
        f"On {here} the int32 product took {words.duration(whole)} and the float32 "
        f"product {words.duration(real)}: {words.times(whole, real)}."
    ]
    if holds:
        takeaway.append(
            "Fast matrix products are made for floats; the published figures timed "
            "integers on both devices."
        )
    else:
        takeaway.append("Here the dtype makes no large difference; it does on others.")
    if cpu is not None:
        takeaway.append(
            f"With f_cpu on the CPU the comparison is one: {words.duration(cpu)} there,"
            f" {words.times(cpu, real)} the accelerator's time."
        )
    elif not setting.accelerated:
        takeaway.append(
            "How much an accelerator would gain cannot be said here: there is none."
        )
    answer = 2 if holds else 1 if whole > real / SLOWER else 0
    return Conclusion(
        rows=rows, holds=holds, takeaway=" ".join(takeaway), answer=answer
    )


STEP = Step(
    title="The snippet repaired",
    prose="""\
Two repairs: random float32 numbers instead of integers, and for the line
called CPU a copy that is committed there.

    f = jax.random.uniform(jax.random.key(0), (1000, 1000))
    f_cpu = jax.device_put(f, jax.devices("cpu")[0])

The integer product is timed once more beside the float one, on the same
device: the dtype alone makes a difference, because the fast units and
libraries for matrix products are made for floats.

Without an accelerator the two float lines are one and the same, and the
row for the comparison stays empty.""",
    question=Question(
        text="On one device, how does int32 compare with float32?",
        choices=(
            "At least 1.5 times faster",
            "About the same",
            "At least 1.5 times slower",
        ),
    ),
    claim=(
        "On one and the same device the int32 product takes at least 1.5 times "
        "as long as the float32 product."
    ),
    works=_repaired,
    conclude=_speed,
    source=f"{SOURCE}, 1000×1000 int32, a Colab GPU and its host's CPU",
)
