"""Step 5: The same race with other work."""

from __future__ import annotations

from jaxtui.lessons import race, words
from jaxtui.lessons.base import Conclusion, Question, Setting, Step
from jaxtui.lessons.first_call import racing
from jaxtui.lessons.outcome import Outcome


def _caught_up(setting: Setting, outcome: Outcome) -> Conclusion:
    rows = racing.rows(outcome, ("", "", "", ""))
    jax, numpy = racing.runners(outcome)
    if jax is None or numpy is None:
        return words.inconclusive(setting, outcome, rows, "one side of the race")
    meet = race.meeting(jax, numpy)
    return Conclusion(
        rows=rows,
        holds=meet is not None and meet <= 1000,
        takeaway=racing.ending(jax, numpy, meet),
        answer=racing.bracket(meet),
    )


STEP = Step(
    title="The same race with other work",
    prose="""\
How soon a compile pays depends on the work. A matrix product is what NumPy's
own library is best at. This race is over SELU of n² numbers:

    1.0507 * where(x > 0, x, 1.6733 * (exp(x) - 1))

NumPy walks through memory once for every operation in the formula, and
writes an array each time. JAX fuses the whole formula into one pass. The
start is the same as before: a transfer and a compile.""",
    question=Question(
        text="When will JAX have caught up with NumPy in this race?",
        choices=racing.MEETINGS,
    ),
    claim="JAX catches up with NumPy within 1000 calls.",
    works=racing.works_of("selu"),
    conclude=_caught_up,
    picture=racing.picture_of("selu"),
)
