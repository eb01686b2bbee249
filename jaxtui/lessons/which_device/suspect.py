"""Step 4: Find the bugs."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.which_device.facts import SOURCE
from jaxtui.model import Shown, Snippet, Work


def snippet_setup(n: int) -> str:
    """The line of the snippet that makes its array."""
    return f"a = jnp.array(range({n} * {n})).reshape({n}, {n})\n"


def _suspect(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    setup = f"""\
{snippet_setup(n)}\
exact = np.arange({n} * {n}, dtype=np.int64).reshape({n}, {n})
"""
    snippet = Snippet(
        title="The published snippet, checked",
        setup=setup,
        parts=(
            Shown(name="dtype", code="a.dtype"),
            Shown(name="GPU line", code="jnp.dot(a, a).devices()"),
            Shown(name="CPU line", code="jnp.dot(a, a).devices()"),
            Shown(name="last", code="jnp.dot(a, a)[-1, -1]"),
            Shown(name="exact", code="exact[-1] @ exact[:, -1]"),
            Shown(
                name="wrong",
                code="np.mean(np.asarray(jnp.dot(a, a)[0]) != exact[0] @ exact)",
            ),
        ),
        budget_seconds=6.0,
        memory_bytes=24 * n * n + 36 * n * n,
        device=values.chosen(setting),
    )
    return (snippet,)


def _overflows(setting: Setting, outcome: Outcome) -> Conclusion:
    wrong = outcome.number("wrong")
    last, exact = outcome.number("last"), outcome.number("exact")
    rows = (
        Row(what="a.dtype", yours=values.shown(outcome, "dtype")),
        Row(
            what="last number",
            yours=values.whole(last),
            remark=f"exact: {values.whole(exact)}",
        ),
        Row(
            what="wrong in the first row",
            yours=fmt.percent(wrong),
        ),
        Row(what='"GPU" ran on', yours=place(outcome, "GPU line")),
        Row(what='"CPU" ran on', yours=place(outcome, "CPU line")),
    )
    if wrong is None or last is None or exact is None:
        return words.inconclusive(setting, outcome, rows, "the product")
    overflowed = wrong > 0 and last != exact
    same = outcome.text("GPU line") == outcome.text("CPU line")
    takeaway = [
        f"Bug 1: a is {values.shown(outcome, 'dtype')}, because range gives integers "
        f"and JAX's are 32 bits wide. The last number should be {values.whole(exact)} "
        f"and came out as {values.whole(last)}; {fmt.percent(wrong)} of the first row "
        "are wrong. Nothing warned."
        if overflowed
        else "At this size nothing overflowed: the last number is "
        f"{values.whole(last)}."
    ]
    if same:
        takeaway.append(
            f"Bug 2: both lines ran on {place(outcome, 'CPU line')}. The name in a "
            "comment moves no data."
        )
    answer = 2 if wrong >= 0.9 else 1 if wrong > 0 else 0
    return Conclusion(
        rows=rows,
        holds=overflowed and same,
        takeaway=" ".join(takeaway),
        answer=answer,
    )


def place(outcome: Outcome, name: str) -> str:
    """The device of a value, out of the set that was shown."""
    return values.shown(outcome, name).strip("{}")


STEP = Step(
    title="Find the bugs",
    prose="""\
"The GPU is 30 times faster", says a snippet that went round:

    a = jnp.array(range(10**6)).reshape(1000, 1000)
    %timeit jnp.dot(a, a).block_until_ready()   # GPU
    %timeit jnp.dot(a, a).block_until_ready()   # CPU

The timing itself is right: both lines wait for the result. Two other things
are wrong with it. Look for them before you go on: what is in the matrix, and
where is the matrix?

The product is compared with NumPy's in 64-bit integers.""",
    question=Question(
        text="How many numbers of the product's first row are wrong?",
        choices=("None", "Some of them", "Nearly all of them"),
    ),
    claim=("The product overflows int32, and both lines run on the same device."),
    works=_suspect,
    conclude=_overflows,
    source=(
        f"{SOURCE}. The notebook multiplies the same int32 matrix; its CPU "
        "line does use a copy on the CPU."
    ),
)
