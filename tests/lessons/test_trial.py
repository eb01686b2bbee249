"""The frame: texts and their figures, claims, settings, doubts, and scripts."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

import msgspec
import pytest

from jaxtui import format as fmt
from jaxtui.lessons.base import Conclusion, Doubt, Row, Setting
from jaxtui.lessons.clock import LESSON as CLOCK
from jaxtui.lessons.figures import (
    All,
    AtLeast,
    AtMost,
    Below,
    Equals,
    Figures,
    Gives,
    Holds,
    IsTrue,
    Present,
    Raises,
    Succeeds,
    bracket,
    near,
    quotient,
)
from jaxtui.lessons.numpy_or_jax import LESSON
from jaxtui.lessons.outcome import NOTHING, Outcome
from jaxtui.lessons.play import Planner, code_parts, conclude
from jaxtui.lessons.text import parse
from jaxtui.lessons.trial import Lesson, Step, Trial, setting
from jaxtui.model import (
    Device,
    Experiment,
    Failure,
    Loop,
    Plan,
    Remark,
    RunFinished,
    SelectionError,
    SnippetShown,
    Stopped,
    Timing,
    Value,
    WorkFailed,
)
from tests.fake_engine import RECIPE
from tests.lessons.figures import after, cases, failed, figures, measured, on
from tests.records import case, planned, summary


def given(text: str, before: Outcome = NOTHING) -> Outcome:
    """Clocks and values of any name."""
    return figures(CLOCK, 1, on(CLOCK), text, before=before)


def found(outcome: Outcome) -> Figures:
    named = dict(zip(("JAX", "NumPy"), cases(CLOCK, 2), strict=True))
    return Figures(on(CLOCK), outcome, named)


# A text and its figures.

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
# Two of them, n = {n}
a = jnp.ones({n})


# time: first one
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

**Source:** A book.

| what | yours | published | remark |
|---|---|---|---|
| first | {first one} | {0.90 s} CPU | {accelerated?fast:slow} |
| · below | {value} |

- It took {first one}, {first one / size:times} as long, i.e. slow. It is so.
- [holds, not accelerated] It {accelerated?is:holds. Or so}.
- [fails] It does not hold. No.
- [accelerated] It is fast.

Why it is
so.

    z = 3
"""


def test_a_page_is_a_step_with_its_trial() -> None:
    page, (text,) = parse(PAGE)
    assert (page.title, page.summary) == ("A page", "What it is about, in two lines.")
    assert (page.size_means, page.needs) == ("n of n×n", "A clock.")
    assert text.setup == "Prose with `code`.\n\n    x = 1\n\n    y = 2\n\nMore to know."
    assert text.explanation == "Why it is\nso.\n\n    z = 3"
    assert text.question is not None
    assert text.question.text == "How many, then?"
    assert text.question.choices == ("One", "Two, at the most")
    assert (text.claim, text.source) == ("It is true.", "A book.")
    with pytest.raises(ValueError, match="no Sizes"):
        parse(PAGE.replace("Size:", "Sizes:"))
    with pytest.raises(ValueError, match="begins with a comment, its title, and not"):
        parse(PAGE.replace("# Two of them", "two = 2"))
    # What runs.
    trial = Trial(claim=AtLeast("first one", 2, "size"), answer=lambda _: 1)
    step = Step(**vars(text), trial=trial)
    there = replace(on(CLOCK), size=2)
    (snippet,) = step.works(there)
    parts = [(type(one).__name__, one.name, one.code) for one in snippet.parts]
    assert (snippet.title, snippet.setup) == ("Two of them, n = 2", "a = jnp.ones(2)\n")
    assert parts == [
        ("Timed", "first one", "a + 1"),
        ("Timed", "cold", 'b = {"n": {1}}'),
        ("Shown", "value", "a.dtype"),
        ("Shown", "refused", "a[0] = 1"),
    ]
    assert [snippet.parts[1].once, snippet.parts[3].raises] == [True, True]
    # What its figures say, one unit for a row.
    outcome = given("first one = 8s; value = 'float32'")
    told = step.conclude(there, outcome)
    assert told == Conclusion(
        rows=(
            Row(
                what="first",
                yours=(fmt.figure(8.0),),
                published=(fmt.Figure((0.9,), "s", fmt.Unit("s", 1.0), 2), " CPU"),
                remark=("slow",),
            ),
            Row(what="  below", yours=("float32",)),
        ),
        holds=True,
        sentences=(
            "It took 8.00 s, 4.0 times as long, i.e. slow.",
            "It is so.",
            "It holds. Or so.",
        ),
        answer=1,
    )
    assert told.rows[0].texts() == ("first", "8.00 s", "0.90 s CPU", "slow")
    nothing = step.conclude(there, NOTHING)
    assert (nothing.holds, nothing.rows[0].texts()[1]) == (None, "—")
    assert nothing.takeaway == (
        "Not measured on this machine (device cpu:0): first one. So there is nothing "
        "to conclude."
    )


LONG = Value(name="v", text="[1.  2.\n 3.]", numbers=(1.0, 0.196612, 3.0))
SEEN = after(SnippetShown(value=LONG), before=given("a = 9ms; b = 0.5ms"))


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{a}", "9.00 ms"),
        ("{a / b}", "18×"),
        ("{a / b:times}", "18 times"),
        ("{a / nothing:times}", "— times"),
        ("{nothing}", "—"),
        ("{v}", "[1. 2. 3.]"),
        ("{v:5}", "[1.…"),
        ("{v:d2}", "1, 0.2, 3"),
        ("{nothing:d2}", "—"),
        ("{v:.3g} of {size:count}", "1 of 1,000"),
        ("{device}{accelerated?, fast:, slow}", "cpu:0, slow"),
        ("{a?there{:} {a}:gone}", "there: 9.00 ms"),
        ("{nothing?there:{7.60 µs}, gone}", "7.60 µs, gone"),
        ("{not nothing?{b?both}}!", "both!"),
        ("{nothing, a?both}", ""),
    ],
)
def test_figures_in_a_text(text: str, filled: str) -> None:
    assert found(SEEN).fill(text) == filled


def test_what_is_missing_has_a_reason_once() -> None:
    outcome = after(*(failed(case, "Too slow.") for case in cases(CLOCK, 2)))
    concluded = CLOCK.steps[1].conclude(on(CLOCK), outcome)
    assert concluded.takeaway.endswith("nothing to conclude. Too slow.")
    assert found(outcome).failure_of("NumPy speed") == "Too slow."
    assert found(outcome).failure_of("eager") == ""


def test_figures_beside_others() -> None:
    for above, below in ((None, 1.0), (1.0, None), (1.0, 0.0), (float("inf"), 1.0)):
        assert quotient(above, below) is None
    for other, close in (((1.0, 2.0), True), ((1.0, 2.2), False), ((1.0,), False)):
        assert near(other, (1.0, 2.01), 0.1) == close


# Claims.


GIVEN = after(
    SnippetShown(value=Value(name="v", text="True", numbers=(1.0,))),
    before=given("a = 6s; b = 2s; n = 1 2"),
)
REFUSAL = Value(
    name="v", text="", error="ValueError: first line", detail="first\nsecond line"
)
REFUSED = after(SnippetShown(value=REFUSAL))


@pytest.mark.parametrize(
    ("claim", "outcome", "holds"),
    [
        (AtLeast("a", 3, "b"), GIVEN, True),
        (AtLeast("a", 3.1, "b"), GIVEN, False),
        (AtLeast("a", 3, "c"), GIVEN, ["c"]),
        (AtMost("a", 3, "b"), GIVEN, True),
        (AtMost("a", 2.9, "b"), GIVEN, False),
        (Gives("v", "True"), GIVEN, True),
        (Gives("v", "False"), GIVEN, False),
        (Gives("w", "True"), GIVEN, ["w"]),
        (Equals("n", (1.0, 2.0)), GIVEN, True),
        (Equals("n", (1.0, 2.5)), GIVEN, False),
        (Equals("n", (1.0, 2.5), 0.5), GIVEN, True),
        (Equals("n", (1.0,)), GIVEN, False),
        (Equals("n", (1.0,)), NOTHING, ["n"]),
        (Below("a", 6.1), GIVEN, True),
        (Below("a", 6), GIVEN, False),
        (Below("v", 2), REFUSED, ["v"]),
        (Present("v"), REFUSED, True),
        (Present("v"), NOTHING, ["v"]),
        (Succeeds("v"), GIVEN, True),
        (Succeeds("v"), REFUSED, False),
        (Succeeds("v"), NOTHING, ["v"]),
        (IsTrue("v"), GIVEN, True),
        (IsTrue("v"), given("v = 0"), False),
        (IsTrue("v"), REFUSED, False),
        (Raises("v", "ValueError", "second"), REFUSED, True),
        (Raises("v", "ValueError", "third"), REFUSED, False),
        (Raises("v", "TypeError"), REFUSED, False),
        (Raises("v", "TypeError"), GIVEN, False),
        (Raises("v", "TypeError"), NOTHING, ["v"]),
        (Holds(lambda _: None, "a"), GIVEN, None),
        (Holds(lambda _: True, "v"), REFUSED, ["v"]),
        (Holds(lambda _: True, "v", numbers=False), REFUSED, True),
        (All(AtLeast("a", 3, "b"), IsTrue("v")), GIVEN, True),
        (All(AtLeast("a", 4, "b"), IsTrue("v")), GIVEN, False),
        (All(AtLeast("a", 4, "c"), AtLeast("c", 4, "d")), GIVEN, ["c", "d"]),
    ],
)
def test_claims(claim: Holds, outcome: Outcome, holds: bool | list[str] | None) -> None:
    seen = found(outcome)
    assert (claim.missing(seen) or claim.holds(seen)) == holds


def test_choices_part_at_limits() -> None:
    answer = bracket("a", "b", 1.25, 5)
    for seconds, index in ((2.0, 0), (2.5, 1), (9.9, 1), (10.0, 2)):
        assert answer(found(given(f"a = {seconds}s; b = 2s"))) == index
    assert answer(found(NOTHING)) is None


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
        (SIZED, TPUS, None, "tpu", "is 2 devices: name one"),
        (SIZED, CPUS, 9, None, "The size 9 does not fit .* 10 to 9000"),
        (SIZED, CPUS, 9001, None, "The size 9001 does not fit"),
        (SIZELESS, CPUS, 5, None, "leave 5 out"),
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
        return setting(lesson, devices, None, (), size, name)

    if isinstance(expected, str):
        with pytest.raises(SelectionError, match=expected):
            where()
    else:
        assert (where().size, where().device) == expected


# Doubts.

TWO = 2
"""The step that compares x·xᵀ with a·b; its claim is about NumPy's."""

REFUTING = (9e-3, 9e-3, 8e-3, 8e-3)
CONFIRMING = (5e-3, 9e-3, 8e-3, 8e-3)


def outcome(
    *seconds: float, half_width: float = 0.0, stopped: Stopped | None = "target"
) -> Outcome:
    """The figures of that step; the first has so wide an interval."""
    (first, *others), (mine, *theirs) = cases(LESSON, TWO), seconds
    made = measured(first, summary(mine, half_width), stopped=stopped)
    return after(made, *map(measured, others, theirs))


DOUBT = (
    "But gram 800 float32 numpy on host is only known to lie between 6.03 ms and"
    " 12.0 ms (99 % interval): something else may have used the machine. Run this step"
    " again before you believe it."
)


@pytest.mark.parametrize(
    ("seen", "doubt"),
    [
        (outcome(*REFUTING, half_width=0.33), DOUBT),
        (outcome(*REFUTING, half_width=0.2), ""),
        (outcome(*CONFIRMING, half_width=0.33), ""),
        (outcome(*REFUTING, half_width=0.33, stopped=None), ""),
        (NOTHING, ""),
    ],
    ids=["wandering", "steady", "confirmed", "not yet done", "nothing"],
)
def test_figures_that_wander_refute_nothing(seen: Outcome, doubt: str) -> None:
    step, there = LESSON.steps[TWO - 1], on(LESSON)
    alone, both = step.conclude(there, seen), conclude(step, there, seen)
    assert both == replace(alone, doubts=(Doubt(text=doubt),) if doubt else ())
    assert both.takeaway == f"{alone.takeaway} {doubt}".rstrip()


def test_others_who_used_the_machine_are_named_beside_the_verdict() -> None:
    step, there, quiet = LESSON.steps[TWO - 1], on(LESSON), outcome(*CONFIRMING)
    one, *rest = quiet.measurements
    noted = msgspec.structs.replace(one, notes=(Remark("contended"),))
    timed = Timing(
        name="a",
        seconds=summary(1.0),
        disturbed="Other programs used the cores meanwhile.",
    )
    for busy in (
        replace(quiet, measurements=(noted, *rest)),
        replace(quiet, timings={**quiet.timings, "a": timed}),
    ):
        found = conclude(step, there, busy)
        assert found.holds is True
        (doubt,) = found.doubts
        assert doubt.noted
        # A document has it beside the figures.
        assert found.takeaway == " ".join(found.sentences)
    assert conclude(step, there, quiet).doubts == ()


def test_what_was_broken_off_is_no_verdict() -> None:
    step, there = LESSON.steps[TWO - 1], on(LESSON)
    problem = WorkFailed(error="It broke.", hint="")
    stopped = replace(outcome(*CONFIRMING), problem=problem)
    ended = conclude(step, there, stopped)
    assert (ended.holds, ended.answer) == (None, None)
    ended = RunFinished(outcome="crashed", elapsed_seconds=0.0)
    lost = conclude(step, there, after(ended, before=outcome(*CONFIRMING)))
    assert lost.holds is None
    assert lost.takeaway.startswith("Incomplete: the engine was lost")


# Scripts.


def answered(*able: bool, grouped: bool = False) -> Planner:
    """A plan in which some cases cannot be run; by default all of them can."""

    async def plan(experiment: Experiment) -> Plan:
        cases = zip_longest(experiment.cases, able, fillvalue=True)
        made = (
            planned(
                case,
                recipe=RECIPE if able else None,
                problem=None
                if able
                else Failure(case=case, error="No room.", hint="Go\nsmaller."),
            )
            for case, able in cases
        )
        return Plan(cases=tuple(made), budget_seconds=1.0, grouped=grouped)

    return plan


async def test_the_cases_of_an_experiment_take_turns_in_one_script() -> None:
    one, other = case(), case(op="sum")
    both = Experiment(cases=(one, other))
    (part,) = await code_parts((both,), answered())
    assert part.title == "2 cases of selu and sum, taking turns"
    assert "take_turns(" in part.body
    # Where memory is short, sizes do not.
    sizes = (case(mode, size=n) for mode in ("jit", "eager") for n in (64, 128))
    grouped = Experiment(cases=tuple(sizes))
    parts = await code_parts((grouped,), answered(grouped=True))
    assert ["128" in part.body for part in parts] == [False, True]
    # What cannot run here is a comment that says why.
    able, missing = await code_parts((both,), answered(False))
    assert able.title == other.label
    why = "# It does not run here. No room. Go smaller.\n"
    assert missing.text == f"# {one.label}\n{why}"
    for work in (Experiment(cases=(one,)), Loop(case=one)):
        (part,) = await code_parts((work,), answered(False))
        assert part.body == why


def test_a_budget_of_each_case_is_for_as_many_as_this_machine_can_run() -> None:
    named = {"a": case(size=1), "again": case(size=1), "b": case(size=2), "c": None}
    trial = Trial(claim=AtLeast("a", 1, "b"), cases=lambda _: named, budget_each=3.0)
    step = Step(title="", setup="", claim="", trial=trial)
    (experiment,) = step.works(on(CLOCK))
    assert isinstance(experiment, Experiment)
    assert ([one.size for one in experiment.cases], experiment.budget) == ([1, 2], 6.0)
