"""Step 2: Nine ways to update."""

from __future__ import annotations

from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Part, Shown, Snippet, Work

METHODS = {
    "set": ("n[2] = 5", "x.at[2].set(5)"),
    "add": ("n[2] += 5", "x.at[2].add(5)"),
    "multiply": ("n[2] *= 5", "x.at[2].multiply(5)"),
    "divide": ("n[2] /= 5", "x.at[2].divide(5)"),
    "power": ("n[2] **= 5", "x.at[2].power(5)"),
    "min": ("n[2] = min(n[2], 5)", "x.at[2].min(5)"),
    "max": ("n[2] = max(n[2], 5)", "x.at[2].max(5)"),
    "apply": ("np.negative.at(n, 2)", "x.at[2].apply(jnp.negative)"),
    "get": ("n = n[2]", "x.at[2].get()"),
}
"""The nine methods of ``.at[]``: what one writes in NumPy, and in JAX."""


def _nine(setting: Setting) -> tuple[Work, ...]:
    parts: list[Part] = []
    for name, (numpy, jax) in METHODS.items():
        parts += [
            Shown(name=f"NumPy {name}", code=f"n = start.copy()\n{numpy}\nprint(n)"),
            Shown(name=f"JAX {name}", code=jax),
            Shown(name=f"same {name}", code=f"np.allclose(n, {jax}, rtol=1e-4)"),
        ]
    parts += [
        Shown(name="NumPy twice", code="n = start.copy()\nn[[0, 0]] += 1\nprint(n)"),
        Shown(name="JAX twice", code="x.at[jnp.array([0, 0])].add(1)"),
    ]
    snippet = Snippet(
        title="The nine updates of .at[] and what they are in NumPy",
        setup="start = np.arange(1, 5, dtype=np.float32)\nx = jnp.asarray(start)\n",
        parts=tuple(parts),
        budget_seconds=4.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _equal(setting: Setting, outcome: Outcome) -> Conclusion:
    rows = [
        Row(
            what=jax,
            yours=values.shown(outcome, f"JAX {name}"),
            remark=f"NumPy: {numpy}"
            + ("" if values.true(outcome, f"same {name}") else ", not the same"),
        )
        for name, (numpy, jax) in METHODS.items()
    ]
    rows.append(
        Row(
            what="index [0, 0], .add(1)",
            yours=values.shown(outcome, "JAX twice"),
            remark=(
                f"NumPy: n[[0, 0]] += 1 gives {values.shown(outcome, 'NumPy twice')}"
            ),
        )
    )
    if values.absent(outcome, *(f"same {name}" for name in METHODS)):
        return words.inconclusive(setting, outcome, rows, "the values", many=True)
    same = [name for name in METHODS if values.true(outcome, f"same {name}")]
    other = [name for name in METHODS if name not in same]
    takeaway = [f"{len(same)} of {len(METHODS)} agree with NumPy."]
    if other:
        takeaway.append(f"Not so here: {words.listing(other)}.")
    twice = values.numbers(outcome, "JAX twice")
    if len(twice) == 4:
        takeaway.append(
            "The last row is where the two part: the index 0 stands there twice, and "
            f"JAX adds both times, so that 1 becomes {twice[0]:g}. NumPy's += reads "
            "and writes once; np.add.at would add twice as well."
        )
    answer = 0 if not other else 1 if {*other} <= {"power", "divide"} else None
    return Conclusion(
        rows=tuple(rows), holds=not other, takeaway=" ".join(takeaway), answer=answer
    )


STEP = Step(
    title="Nine ways to update",
    prose="""\
`x.at[index]` has nine methods. Eight return an updated copy; `get` returns
the elements themselves, with a say in what happens out of bounds.

    set  add  multiply  divide  power  min  max  apply  get

Each is run here on [1. 2. 3. 4.], with the NumPy form beside it, which works
in place on a copy. The index is 2 and the operand 5.

The last row has the index 0 twice. The index is an array there: a list as an
index is refused, which is the last step of this lesson.""",
    question=Question(
        text="In how many of the nine does JAX give what NumPy gives?",
        choices=("All nine", "All but power and divide", "About half"),
    ),
    claim="Each of the nine updates gives what its NumPy form gives.",
    works=_nine,
    conclude=_equal,
    source=(
        "JAX documentation, jax.numpy.ndarray.at: https://docs.jax.dev/en/"
        "latest/_autosummary/jax.numpy.ndarray.at.html"
    ),
)
