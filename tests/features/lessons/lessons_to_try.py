"""Two small lessons that do everything a lesson can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxtui.core import format as fmt
from jaxtui.core.model import Case, Experiment, Loop, Shown, Snippet, Timed, Work
from jaxtui.features.lessons.base import Conclusion, Question, Row, Setting
from jaxtui.features.lessons.figures import Figures, Outcome
from jaxtui.features.lessons.trial import Lesson, Step, Trial
from jaxtui.ui.plot import Axis, Picture, Series

PROSE = "\n\n".join(
    [
        "A paragraph that is longer than any line of a terminal of eighty columns is, "
        "with `jnp.dot(x, x)` in it.",
        "    jnp.dot(x, x).block_until_ready()",
        "The last paragraph.",
    ]
)


PUBLISHED = (fmt.Figure((269e-6,), "s", fmt.Unit("µs", 1e-6)),)


def snippet(name: str, size: int) -> Snippet:
    return Snippet(
        title=f"The snippet {name}",
        setup=f"n = {size}\n",
        parts=(Timed(name=name, code="n + 1"), Shown(name="value", code="n")),
    )


def case(setting: Setting, mode: str = "jit") -> Case:
    return Case(
        op="matmul",
        size=setting.size,
        dtype="float32",
        device=setting.device,
        mode=mode,  # type: ignore[arg-type]
    )


def two_works(setting: Setting) -> tuple[Work, ...]:
    experiment = Experiment(cases=(case(setting),), budget_seconds=0.1)
    return snippet("first", setting.size), experiment


def two_figures(setting: Setting, outcome: Outcome) -> Conclusion:
    timing, measured = outcome.timings.get("first"), outcome.measurements
    first = timing.seconds.median if timing else None
    ready = measured[0].ready.median if measured and measured[0].ready else None
    rows = (
        Row(what="first", yours=(fmt.figure(first, digits=1),), published=PUBLISHED),
        Row(what="ready", yours=(fmt.figure(ready, digits=1),), remark="in the end"),
    )
    done = first is not None and ready is not None
    return Conclusion(
        rows=rows,
        holds=True if done else None,
        sentences=(f"Both were measured with {setting.size}.",),
        answer=1,
    )


def curve(figures: Figures) -> Picture | None:
    if not figures.has("first"):
        return None
    line = Series("first", (1.0, 2.0), (1.0, float(figures.setting.size)))
    return Picture(series=(line,), x=Axis(), y=Axis(), title="")


def bisected(_: Setting, outcome: Outcome) -> Conclusion:
    row = Row(what="runs", yours=str(len(outcome.timings)))
    return Conclusion(rows=(row,), holds=False, sentences=("It took some.",))


def narrower(_: Figures, count: int) -> Work | None:
    return snippet(f"follow {count}", count) if count < 3 else None


class Told(Step, frozen=True, kw_only=True):
    """A step whose conclusion is not worked out of a text."""

    told: Callable[[Setting, Outcome], Conclusion]

    def conclude(self, setting: Setting, outcome: Outcome) -> Conclusion:
        return self.told(setting, outcome)


def trial(works: Callable[[Setting], tuple[Work, ...]], **more: Any) -> Trial:
    return Trial(lambda figures: Conclusion(holds=None), works=works, **more)


def wrong(_: Setting, __: Outcome) -> Conclusion:
    raise ZeroDivisionError("nobody divides by zero")


FIRST = Lesson(
    name="first",
    title="What comes first?",
    summary="A lesson of two steps.",
    size_means="n of n×n",
    sizes={"cpu": 100, "tpu": 400},
    minimum=60,
    maximum=300,
    needs="an accelerator for nothing",
    steps=(
        Told(
            title="Two works",
            setup="What must be known.",
            explanation=PROSE,
            claim="Two works give two figures.",
            trial=trial(two_works, picture=curve),
            told=two_figures,
            question=Question(text="How many?", choices=("one", "two", "three")),
            source="A page of a book",
        ),
        Told(
            title="Works that follow",
            setup="One leads to the next.",
            claim="One work is enough.",
            trial=trial(
                lambda setting: (snippet("begin", setting.size),), follow=narrower
            ),
            told=bisected,
            question=Question(
                text="Enough?", choices=("yes", "no", "perhaps", "never")
            ),
        ),
    ),
)

SECOND = Lesson(
    name="second",
    title="What is wrong here?",
    summary="A lesson with a mistake of its own.",
    size_means="",
    sizes={"cpu": 1},
    steps=(
        Told(
            title="A loop",
            setup="It divides by zero.",
            claim="It does not.",
            question=Question(text="Does it?", choices=("yes", "no")),
            trial=trial(lambda setting: (Loop(case=case(setting), calls=40),)),
            told=wrong,
        ),
    ),
)

LESSONS = {lesson.name: lesson for lesson in (FIRST, SECOND)}
