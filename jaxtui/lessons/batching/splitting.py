"""Step 5: Splitting keys."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.batching.keys import line
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Work


def _splitting(setting: Setting) -> tuple[Work, ...]:
    setup = """\
key = jax.random.key(0)
left, right = jax.random.split(key)
keys = jax.random.split(key, 1000)


def one(key):  # a random walk of 100 steps
    return jnp.sum(jax.random.normal(key, (100,)))
"""
    snippet = Snippet(
        title="Splitting a key",
        setup=setup,
        parts=(
            Shown(name="left", code="jax.random.uniform(left, (3,))"),
            Shown(name="right", code="jax.random.uniform(right, (3,))"),
            Shown(name="parent", code="jax.random.uniform(key, (3,))"),
            Shown(
                name="again",
                code="jnp.array_equal(jax.random.key_data(jax.random.split(key)[0]), "
                "jax.random.key_data(left))",
            ),
            Shown(name="spread", code="jnp.std(jax.vmap(one)(keys))"),
            Shown(name="range", code="jnp.ptp(jax.vmap(one)(keys))"),
            Shown(
                name="reused",
                code="jnp.ptp(jax.vmap(one)(jnp.stack([key] * 1000)))",
            ),
        ),
        budget_seconds=3.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _independent(setting: Setting, outcome: Outcome) -> Conclusion:
    drawn = {
        name: values.numbers(outcome, name) for name in ("left", "right", "parent")
    }
    spread, apart = outcome.number("spread"), outcome.number("range")
    reused = outcome.number("reused")
    rows = (
        Row(what="uniform(left)", yours=line(outcome, "left")),
        Row(what="uniform(right)", yours=line(outcome, "right")),
        Row(what="uniform(key), the parent", yours=line(outcome, "parent")),
        Row(
            what="1000 keys: standard deviation",
            yours=_figure(spread),
            remark="10 is expected: √100",
        ),
        Row(
            what="1000 keys: largest − smallest",
            yours=_figure(apart),
            remark="of a thousand walks",
        ),
        Row(
            what="one key: largest − smallest",
            yours=_figure(reused),
            remark="a thousand times the same walk",
        ),
    )
    if spread is None or apart is None or reused is None or not all(drawn.values()):
        return words.inconclusive(setting, outcome, rows, "the draws", many=True)
    different = len(set(drawn.values())) == 3
    same = values.true(outcome, "again")
    # A standard deviation out of 1000 is right to about 2 %; 10 % is no accident.
    holds = different and same and 9 < spread < 11 and reused < 1e-3
    takeaway = (
        f"The two halves and their parent drew different numbers, and splitting again "
        f"gave the same halves. With a thousand split keys the walks ended "
        f"{_figure(apart)} apart, with a standard deviation of {_figure(spread)}; with "
        f"one key for all, {_figure(reused)} apart. Use a key once, then split."
        if holds
        else f"Not as expected: a standard deviation of {_figure(spread)}, and walks "
        f"with one key for all that end {_figure(reused)} apart."
    )
    answer = 2 if reused < 1e-3 else 1 if reused < 0.1 * apart else 0
    return Conclusion(rows=rows, holds=holds, takeaway=takeaway, answer=answer)


def _figure(value: float | None) -> str:
    if value is None:
        return fmt.ABSENT
    return "0" if abs(value) < 5e-4 else f"{value:.3g}"


STEP = Step(
    title="Splitting keys",
    prose="""\
Two draws that shall differ need two keys. `jax.random.split` makes them, and
always the same ones from the same key:

    left, right = jax.random.split(key)
    keys = jax.random.split(key, 1000)
    jax.vmap(one)(keys)

The last line is how a batch gets its randomness: one key for each member. As
a check, a thousand random walks of a hundred steps are made in one `vmap`,
with split keys and, wrongly, with the same key for all.""",
    question=Question(
        text="One key for all thousand walks: how do they differ?",
        choices=(
            "They differ as usual",
            "They differ a little",
            "They are all the same",
        ),
    ),
    claim=(
        "Split keys draw different numbers, the same ones each time; one key "
        "for all makes all draws the same."
    ),
    works=_splitting,
    conclude=_independent,
)
