"""Step 4: The race, with the start that JAX has."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import race, words
from jaxtui.lessons.base import Conclusion, Question, Setting, Step
from jaxtui.lessons.first_call import racing
from jaxtui.lessons.first_call.parts import SOURCE
from jaxtui.lessons.outcome import Outcome


def _published_meetings() -> str:
    numpy, gpu, tpu = racing.COLAB
    met = [racing.call_number(race.meeting(each, numpy)) for each in (gpu, tpu)]
    return f"{met[0]} GPU, {met[1]} TPU"


def _behind(setting: Setting, outcome: Outcome) -> Conclusion:
    published = (
        "2.16 s GPU, 837 ms TPU",
        "68.9 ms GPU, 16.5 ms TPU",
        "1.61 s",
        _published_meetings(),
    )
    rows = racing.rows(outcome, published)
    jax, numpy = racing.runners(outcome)
    if jax is None or numpy is None:
        return words.inconclusive(setting, outcome, rows, "one side of the race")
    times = jax.first_seconds / numpy.each_seconds
    meet = race.meeting(jax, numpy)
    takeaway = (
        f"When JAX had its first result, after {words.duration(jax.first_seconds)}, "
        f"NumPy could have had {fmt.significant(times, 2)}. "
        f"{racing.ending(jax, numpy, meet)}"
    )
    if meet is None and not setting.accelerated:
        takeaway += (
            " NumPy does only half the work of x·xᵀ, because it notices the symmetry;"
            " the lesson numpy-or-jax looks into that."
        )
    return Conclusion(
        rows=rows,
        holds=times > 1,
        takeaway=takeaway,
        answer=racing.bracket(meet),
    )


STEP = Step(
    title="The race, with the start that JAX has",
    prose="""\
NumPy starts to compute at once. JAX starts with its transfer, its trace and
its compile behind it, and is faster afterwards, or it is not.

The plot shows the seconds spent after so many calls, both axes logarithmic.
NumPy's curve is a straight line. JAX's begins high and flat, and bends when
the calls outweigh the start. Where the two meet is the break-even: with
fewer calls, NumPy would have been the better choice.

The published runs race along as ghosts. They did n = 5000 and other
hardware did them, so only the shape of their curves compares.""",
    question=Question(
        text="When will JAX have caught up with NumPy here?",
        choices=racing.MEETINGS,
    ),
    claim="NumPy has its first result before JAX has.",
    works=racing.works_of("gram"),
    conclude=_behind,
    picture=racing.picture_of("gram"),
    source=SOURCE,
)
