"""Step 3: What an update costs."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Timed, Work

FAR = 5.0
"""How many times faster an update in place must be to count as one."""


def _update(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    setup = f"""\
x = jnp.arange({n}, dtype=jnp.float32)
a = np.arange({n}, dtype=np.float32)
copying = jax.jit(lambda x: x.at[5].add(1))
in_place = jax.jit(lambda x: x.at[5].add(1), donate_argnums=0)


def numpy_update():
    a[5] += 1


def donated():
    global mine
    mine = in_place(mine)  # the old array is given away, the new one takes its place
    return mine


mine = jnp.copy(x)
"""
    snippet = Snippet(
        title=f"One element out of {fmt.count(n)} updated",
        setup=setup,
        parts=(
            Shown(
                name="spent",
                code="old = jnp.copy(x)\nin_place(old)\nold + 1",
                raises=True,
            ),
            Timed(name="NumPy", code="numpy_update()"),
            Timed(name="eager", code="x.at[5].add(1).block_until_ready()"),
            Timed(name="jit", code="copying(x).block_until_ready()"),
            Timed(name="donated", code="donated().block_until_ready()"),
        ),
        budget_seconds=5.0,
        memory_bytes=6 * 4 * n,
        device=values.chosen(setting),
    )
    return (snippet,)


def _in_place(setting: Setting, outcome: Outcome) -> Conclusion:
    copied = 2 * 4 * setting.size
    seconds = {
        name: outcome.seconds(name) for name in ("NumPy", "eager", "jit", "donated")
    }
    rows = (
        Row(
            what="a[5] += 1, NumPy",
            yours=words.duration(seconds["NumPy"]),
            remark="writes one element",
        ),
        Row(
            what="x.at[5].add(1), eager",
            yours=words.duration(seconds["eager"]),
            remark="copies the array",
        ),
        Row(
            what="the same under jit",
            yours=words.duration(seconds["jit"]),
            remark=f"copies it: {words.bandwidth(copied, seconds['jit'])}",
        ),
        Row(
            what="jit, donate_argnums=0",
            yours=words.duration(seconds["donated"]),
            remark="writes one element",
        ),
        Row(
            what="a donated array used again",
            yours=values.shown(outcome, "spent"),
        ),
    )
    jit, donated = seconds["jit"], seconds["donated"]
    if jit is None or donated is None:
        return words.inconclusive(setting, outcome, rows, "the updates", many=True)
    holds = jit >= FAR * donated
    takeaway = [
        f"An update of one element of {fmt.count(setting.size)} took "
        f"{words.duration(jit)} under jit and {words.duration(donated)} with the "
        f"argument donated: {words.times(jit, donated)} less."
    ]
    if holds:
        takeaway.append(
            "Without donation the caller may still need the old array, so XLA copies "
            f"all {fmt.bytes_text(4.0 * setting.size)} of it first. Who donates must "
            "rebind the name, as in x = f(x): the old array is gone."
        )
    else:
        takeaway.append(
            f"That is less than {FAR:.0f} times: the array is so small that the call "
            "itself is what is timed, or this backend cannot reuse the memory."
        )
    answer = 0 if jit < 1.5 * donated else 1 if jit < FAR * donated else 2
    return Conclusion(
        rows=rows, holds=holds, takeaway=" ".join(takeaway), answer=answer
    )


STEP = Step(
    title="What an update costs",
    prose="""\
A new array for one changed element sounds expensive, and it is: all the
other elements have to be copied. Inside a jitted function XLA reuses the
memory of intermediate results by itself. The argument of the function is
another matter, because the caller may still use it.

    f = jax.jit(lambda x: x.at[5].add(1), donate_argnums=0)
    x = f(x)

`donate_argnums=0` gives the first argument away. XLA may then write into its
memory, and the array that was passed in is deleted. The same element is
updated here in NumPy, eagerly, under jit, and under jit with donation.""",
    question=Question(
        text="How much faster does donation make the jitted update?",
        choices=("Not at all", "Up to 5 times", "More than 5 times"),
    ),
    claim=(
        "With its argument donated the jitted update is at least 5 times "
        "faster than without."
    ),
    works=_update,
    conclude=_in_place,
)
