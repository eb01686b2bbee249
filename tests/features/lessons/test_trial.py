"""The frame: texts, figures, settings and doubts."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from jaxtui.core import format as fmt
from jaxtui.core.model import (
    Device,
    Remark,
    RunFinished,
    SelectionError,
    Shown,
    Snippet,
    SnippetShown,
    Timed,
    Timing,
    Value,
    WorkFailed,
)
from jaxtui.features.lessons.base import Conclusion, Setting
from jaxtui.features.lessons.content.clock import LESSON as CLOCK
from jaxtui.features.lessons.content.numpy_or_jax import LESSON
from jaxtui.features.lessons.figures import (
    NAN,
    NOTHING,
    Figures,
    MissingError,
    Outcome,
    count,
    decimals,
    fastest,
    near,
    over,
)
from jaxtui.features.lessons.play import conclude
from jaxtui.features.lessons.text import parse
from jaxtui.features.lessons.trial import Code, Lesson, Step, Trial, setting, size
from tests.features.lessons.figures import (
    after,
    cases,
    failed,
    figures,
    measured,
    ms,
    on,
    sec,
)
from tests.records import summary, told


def given(before: Outcome = NOTHING, **figures_: object) -> Outcome:
    """Clocks and values of any name."""
    return figures(CLOCK, 1, on(CLOCK), figures_, before=before)


def found(outcome: Outcome) -> Figures:
    named = dict(zip(("JAX", "NumPy"), cases(CLOCK, 2), strict=True))
    return Figures(on(CLOCK), outcome, named)


# A text and what its figures say.

PAGE = """\
# A page

What it is about,
in two lines.

Size: n of n×n

Needs: A clock.

## A step

Prose with `code`.

    x = 1

    y = 2

```python
# Two of them
a = jnp.ones(n)


# time: first
a + 1
# once: cold
b = {"n": {1}}
# show: value
a.dtype
# raises: refused
a[0] = 1
```

More to know.

**How many,
then?**

1. One
2. Two, at the
   most

**Claim:** It is
true.

**Holds:** So it is.

**Fails:** It is not.

**Source:** A book.

Why it is
so.

    z = 3
"""


def say(seen: Figures) -> Conclusion:
    first = seen["first"]
    rows = seen.table(("first", "first", "0.90 s CPU"), ("value", "value"))
    return Conclusion(first > 5, 1, rows, (f"It took {first:.0f} s.", ""))


def test_a_page_is_a_step_with_its_trial() -> None:
    page, (text,) = parse(PAGE)
    assert page == {
        "title": "A page",
        "summary": "What it is about, in two lines.",
        "size_means": "n of n×n",
        "needs": "A clock.",
    }
    step = Step(**text, trial=Trial(say, Code(given=size)))
    assert step.setup == "Prose with `code`.\n\n    x = 1\n\n    y = 2\n\nMore to know."
    assert step.explanation == "Why it is\nso.\n\n    z = 3"
    assert step.question.text == "How many, then?"
    assert step.question.choices == ("One", "Two, at the most")
    assert (step.claim, step.source) == ("It is true.", "A book.")
    with pytest.raises(ValueError, match="no Sizes"):
        parse(PAGE.replace("Size:", "Sizes:"))
    with pytest.raises(ValueError, match="begins with a comment, its title, and not"):
        parse(PAGE.replace("# Two of them", "two = 2"))
    # What runs.
    there = replace(on(CLOCK), size=2000)
    (snippet,) = step.works(there)
    assert isinstance(snippet, Snippet)
    parts = [(type(one).__name__, one.name, one.code) for one in snippet.parts]
    assert snippet.title == "Two of them"
    assert snippet.setup == "n = 2_000\na = jnp.ones(n)\n"
    assert parts == [
        ("Timed", "first", "a + 1"),
        ("Timed", "cold", 'b = {"n": {1}}'),
        ("Shown", "value", "a.dtype"),
        ("Shown", "refused", "a[0] = 1"),
    ]
    _, once, _, raising = snippet.parts
    assert isinstance(once, Timed)
    assert isinstance(raising, Shown)
    assert once.once
    assert raising.raises
    # What its figures say.
    seen = step.conclude(there, given(first=sec(8), value="float32"))
    assert (seen.holds, seen.answer) == (True, 1)
    assert seen.sentences == ("It took 8 s.", "So it is.")
    assert [row.texts() for row in seen.rows] == [
        ("first", "8.00 s", "0.90 s CPU", ""),
        ("value", "float32", "", ""),
    ]
    assert isinstance(seen.rows[0].published[0], fmt.Figure)
    less = step.conclude(there, given(first=sec(1)))
    assert (less.holds, less.sentences[-1]) == (False, "It is not.")
    assert less.rows[1].texts()[1] == "—"
    nothing = step.conclude(there, NOTHING)
    assert (nothing.holds, nothing.answer, nothing.rows) == (None, None, ())
    assert "first" in nothing.sentences[0]
    refused = Value(name="first", text="", error="ValueError: no")
    shown = step.conclude(there, after(SnippetShown(value=refused)))
    assert shown.holds is None


def test_what_is_missing_has_a_reason_once() -> None:
    outcome = after(*(failed(case, "Too slow.") for case in cases(CLOCK, 2)))
    concluded = CLOCK.steps[1].conclude(on(CLOCK), outcome)
    assert concluded.reasons == (told("Too slow."),)
    assert found(outcome).why("NumPy") == (told("Too slow."),)
    assert found(outcome).why("eager") == ()


LONG = Value(name="v", text="[1.  2.\n 3.]", numbers=(1.0, 0.196612, 3.0))
REFUSAL = Value(
    name="r", text="", error="ValueError: first line", detail="first\nsecond line"
)
SEEN = after(
    SnippetShown(value=LONG),
    SnippetShown(value=REFUSAL),
    before=given(a=ms(9), b=ms(0.5), n=(1, 2), no=0),
)


def test_figures_by_name() -> None:
    seen = Figures(on(CLOCK), SEEN, {}, raises=["r"])
    assert seen["a"] == seen.get("a") == pytest.approx(9e-3)
    assert (seen["v"], seen.numbers("n")) == (1.0, (1.0, 2.0))
    assert (seen.ratio("a", "b"), seen.times("a", "b")) == ("18×", "18 times")
    assert seen.times("a", "nothing") == "— times"
    assert (seen.text("v"), seen.text("v", 5)) == ("[1. 2. 3.]", "[1.…")
    assert (seen.text("r"), seen.cell("nothing")) == ("ValueError: first line", "—")
    assert [seen.has("a", "n"), seen.has("a", "r"), seen.has("x")] == [1, 0, 0]
    assert [seen.succeeded(*names) for names in (["v"], "vr")] == [True, False]
    assert seen.raised("r", "ValueError", "second")
    assert not seen.raised("r", "ValueError", "third")
    assert not seen.raised("v", "ValueError")


def test_a_figure_that_is_missing_or_has_an_error_stops_the_conclusion() -> None:
    seen = found(SEEN)
    assert math.isnan(seen.get("nothing"))
    for ask in (
        lambda: seen["nothing"],
        lambda: seen["r"],
        lambda: seen.text("r"),
        lambda: seen.numbers("a"),
        lambda: seen.succeeded("nothing"),
        lambda: seen.measured("JAX"),
        lambda: seen.loop("never"),
    ):
        with pytest.raises(MissingError):
            ask()


def test_numbers_that_are_missing_stay_missing() -> None:
    for above, below in ((NAN, 1.0), (1.0, NAN), (1.0, 0.0), (float("inf"), 1.0)):
        assert math.isnan(over(above, below))
    assert (fastest(3.0, NAN, 1.0), fastest(NAN)) == (2, None)
    for other, close in (((1.0, 2.0), True), ((1.0, 2.2), False), ((1.0,), False)):
        assert near(other, (1.0, 2.01), 0.1) == close
    assert (decimals((1.0, 0.196612)), decimals(())) == ("1, 0.19661", "—")
    assert (count(1e3), count(NAN)) == ("1,000", "—")


# Settings.

SIZED = Lesson(
    name="clock",
    title="Does it lie?",
    summary="It does.",
    steps=(),
    size_means="n of n×n",
    sizes={"cpu": 1000, "tpu": 8000},
    minimum=10,
    maximum=9000,
)
SIZELESS = replace(SIZED, name="devices", size_means="", sizes={}, minimum=1)


def device(platform: str, number: int = 0, *, mine: bool = True) -> Device:
    return Device(
        id=number,
        platform=platform,
        device_kind=platform,
        process_index=0 if mine else 1,
        addressable=mine,
    )


CPUS = (device("cpu"), device("cpu", 1))
TPUS = (device("tpu", 0, mine=False), device("tpu", 1), device("tpu", 2), CPUS[0])


@pytest.mark.parametrize(
    ("lesson", "devices", "size", "name", "expected"),
    [
        (SIZED, CPUS, None, None, (1000, "cpu:0")),
        (SIZED, TPUS, None, None, (8000, "tpu:1")),
        (SIZED, (TPUS[0], *CPUS), None, None, (1000, "cpu:0")),
        (SIZED, TPUS, None, "cpu:0", (1000, "cpu:0")),
        (SIZED, CPUS, 10, None, (10, "cpu:0")),
        (SIZED, CPUS, 9000, None, (9000, "cpu:0")),
        (SIZELESS, CPUS, None, None, (1, "cpu:0")),
        (SIZED, TPUS, None, "tpu", "is 2 devices"),
        (SIZED, CPUS, 9, None, "The size 9 does not fit"),
        (SIZED, CPUS, 9001, None, "The size 9001 does not fit"),
        (SIZELESS, CPUS, 5, None, "no size to set"),
    ],
)
def test_where_a_lesson_runs(
    lesson: Lesson,
    devices: tuple[Device, ...],
    size: int | None,
    name: str | None,
    expected: tuple[int, str] | str,
) -> None:
    def where() -> Setting:
        return setting(lesson, devices, None, size, name)

    if isinstance(expected, str):
        with pytest.raises(SelectionError) as refused:
            where()
        assert expected in str(refused.value)
    else:
        assert (where().size, where().device) == expected


# Doubts.

TWO = 2
"""The step that compares x·xᵀ with a·b; its claim is about NumPy's."""

REFUTING = (9e-3, 9e-3, 8e-3, 8e-3)
CONFIRMING = (5e-3, 9e-3, 8e-3, 8e-3)


def outcome(
    seconds: tuple[float, ...], half_width: float = 0.0, *, others: bool = False
) -> Outcome:
    """The figures of that step; the first has so wide an interval, and others used the
    machine meanwhile.
    """
    (first, *cases_left), (mine, *theirs) = cases(LESSON, TWO), seconds
    notes = (Remark("contended"),) * others
    made = measured(first, summary(mine, half_width), stopped="target", notes=notes)
    return after(made, *map(measured, cases_left, theirs))


CONFIRMED = outcome(CONFIRMING)
CRASHED = RunFinished(outcome="crashed", elapsed_seconds=0.0)
DISTURBED = Timing(name="a", seconds=summary(1.0), disturbed=Remark("contended"))


@pytest.mark.parametrize(
    ("seen", "holds", "right", "graded", "doubt"),
    [
        (outcome(REFUTING, 0.33), None, {0, 1}, True, "step-unsteady"),
        (outcome(REFUTING, 0.05), False, {1}, True, None),
        (outcome(CONFIRMING, 0.05), True, {0}, True, None),
        (outcome(CONFIRMING, 0.9), True, {0, 1}, True, None),
        (NOTHING, None, set(), True, None),
        # Disturbed figures grade where their intervals agree on a choice.
        (outcome(CONFIRMING, others=True), True, {0}, True, "step-disturbed"),
        (outcome(CONFIRMING, 0.9, others=True), True, {0, 1}, False, "step-disturbed"),
        (outcome(REFUTING, others=True), None, {1}, True, "step-disturbed"),
        (
            replace(CONFIRMED, timings={**CONFIRMED.timings, "a": DISTURBED}),
            *(True, {0}, True, "step-disturbed"),
        ),
        # What was broken off is no verdict.
        (after(CRASHED, before=CONFIRMED), None, set(), True, "step-incomplete"),
        (
            replace(CONFIRMED, problem=WorkFailed(remark=told("It broke."))),
            *(None, set(), True, None),
        ),
    ],
)
def test_noise_is_not_graded(
    seen: Outcome, holds: bool | None, right: set[int], graded: bool, doubt: str | None
) -> None:
    step, there = LESSON.steps[TWO - 1], on(LESSON)
    found = conclude(step, there, seen)
    assert (found.holds, {*found.answers}, found.graded) == (holds, right, graded)
    assert [one.code for one in found.doubts] == [doubt] * bool(doubt)
    if doubt == "step-unsteady":
        assert found.doubts[0].facts["name"] == "gram 800 float32 numpy on host"
        assert found.doubts[0].facts["low"] == pytest.approx(6.03e-3)
    # Without a prediction there is nothing to grade; an allowed choice is right.
    assert found.grades(None)
    assert all(found.grades(choice) for choice in right)
    assert found.grades(2) == graded


def test_a_question_about_a_meaning_is_graded_by_it() -> None:
    step, there = LESSON.steps[TWO - 1], on(LESSON)
    meant = replace(step, question=replace(step.question, right=0))
    found = conclude(meant, there, outcome(REFUTING, others=True))
    assert (found.answer, {*found.answers}, found.graded) == (0, {0}, True)
