"""What a lesson says, at any width: the list, a page at each stage, its parts."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from rich.console import RenderableType

from jaxtui.core import format as fmt
from jaxtui.core.model import Remark, SnippetTimed, Timing, Work
from jaxtui.core.state import Job
from jaxtui.features.lessons import report as view
from jaxtui.features.lessons.base import Conclusion, Row
from jaxtui.features.lessons.course import NOT_TRIED, Attempt
from jaxtui.features.lessons.play import StepRun
from jaxtui.features.lessons.report import Page, PageFigures, Stage, takeaway
from jaxtui.features.lessons.trial import setting
from jaxtui.ui import words
from jaxtui.ui.plot import COLORS, Axis, Picture, Series
from jaxtui.ui.report import written
from tests import records
from tests.fake_engine import HOST, at_once, cpu_devices
from tests.features.lessons.figures import after, measured
from tests.features.lessons.lessons_to_try import FIRST, SECOND
from tests.records import case, summary

STEP = FIRST.steps[0]
HERE = setting(FIRST, cpu_devices(), HOST)
CODES = {"pass": "32", "fail": "31", "low": "33"}
"""The colours of verdicts on a terminal."""


def text(content: RenderableType, width: int = 76) -> str:
    return written(content, width)


def flat(content: RenderableType) -> str:
    return " ".join(text(content).split())


PROSE = """\
A call returns before the work is done: `f(x)`
gives a promise.

    y = f(x)
      .block_until_ready()

Then look.
"""


def test_prose_is_filled_and_code_keeps_its_lines() -> None:
    assert text(view.Prose(PROSE), 60).split("\n\n") == [
        "A call returns before the work is done: f(x) gives a\npromise.",
        "    y = f(x)\n      .block_until_ready()",
        "Then look.",
    ]


ROWS = (
    Row(
        what="it returned",
        yours=(fmt.figure(98e-6, digits=2),),
        published=(fmt.figure(269e-6), " GPU"),
        remark="the call",
    ),
    Row(
        what="the call that waits",
        yours=(fmt.figure(10e-3, digits=2),),
        published=(fmt.figure(1.92),),
        remark=("of ", fmt.figure(1.0, digits=1)),
    ),
    Row(what="an error", yours="TypeError: " + "words " * 20, remark="after 2 s"),
)


@pytest.mark.parametrize("width", [58, 78, 118, 200])
def test_a_table_loses_nothing_at_any_width(width: int) -> None:
    lines = text(view.table(ROWS), width).split("\n")
    assert max(map(len, lines)) <= width
    write = fmt.alike(cell for row in ROWS for cell in row.figures)
    expected = " ".join(cell for row in ROWS for cell in row.texts(write)).split()
    words = " ".join(lines).split()
    assert sorted(words) == sorted([*expected, "yours", "published"])


def test_the_times_of_a_table_are_written_alike() -> None:
    """The learner's, the published ones and those of the remarks; but no words are."""
    lines = [line.split("  ") for line in text(view.table(ROWS), 260).split("\n")[1:]]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert cells[:2] == [
        ["it returned", "98 µs", "269 µs GPU", "the call"],
        ["the call that waits", "10 ms", "1.92 s", "of 1 s"],
    ]
    assert cells[2][-1] == "after 2 s"
    assert "published" not in text(view.table((Row(what="a", yours="1 s"),)))
    assert view.table(()) == ""


# The list.


def test_the_list_says_what_is_done() -> None:
    done = (True, False), (True,)
    listed = view.entries((FIRST, SECOND), done, (9.6, 120))
    assert [entry.plain for entry in listed] == [
        "   1  What comes first?    ●○ 1/2   ~10 s",
        "✓  2  What is wrong here?  ●  1/1  ~120 s",
    ]
    contents = text(view.contents((FIRST, SECOND), done))
    assert "Needs: an accelerator for nothing" in contents
    assert "As text: jaxtui learn second" in contents


PROGRAM = """\
# The snippet first
n = 100
# time: first
n + 1
# show: value
n

# time: matmul 100 float32 jit on cpu:0

# matmul 100 float32 jit on cpu:0
for _ in range(40):
    y = matmul(x)"""


def test_what_a_step_runs_is_shown_as_code() -> None:
    works = (*STEP.works(HERE), *SECOND.steps[0].works(HERE))
    assert text(view.apart(*map(view.program, works)), 60) == PROGRAM


BARS = """\
plain call         0.100 ms  ▌
a call that waits   4.00 ms  ███████████████████
jit cpu:0           2.00 ms  █████████▌
numpy host          1.00 ms  ████▊"""


def test_times_are_bars_on_one_scale_in_one_unit() -> None:
    clocks = {"plain call": 1e-4, "a call that waits": 4e-3}
    # What was interpreted has no speed.
    note = Remark("interpreted", text="In interpret mode.")
    outcome = after(
        *(
            SnippetTimed(timing=Timing(name=name, seconds=summary(seconds)))
            for name, seconds in clocks.items()
        ),
        measured(case(), 2e-3),
        measured(case("numpy"), 1e-3),
        measured(case("pallas"), 9e-3, notes=(note,)),
    )
    assert text(view.bars(outcome), 48) == BARS
    assert view.bars(after()) == ""


def test_a_time_that_is_not_known_to_within_a_third_is_dim() -> None:
    wide = records.summary(2e-3, 0.4)
    once = Timing(name="the first call", seconds=records.summary(1e-3), once=True)
    outcome = after(
        SnippetTimed(timing=Timing(name="wanders", seconds=wide)),
        SnippetTimed(timing=once),
    )
    rows = Row("wanders", "2 ms", vague=True), Row("the first call", "1 ms")
    for drawn in (view.bars(outcome), view.table(rows)):
        *_, wanders, first = written(drawn, 60, colour=True).split("\n")
        assert ("\x1b[2m" in wanders, "\x1b[1m" in first) == (True, True)


# A page.


def run_of(*works: Work) -> StepRun:
    run = StepRun(FIRST.steps[0], HERE)
    for work in works:
        for event in at_once(work):  # type: ignore[arg-type]
            run = run.observe(event)
    return run


def page(run: StepRun | None = None, **changes: object) -> Page:
    live = bool(changes.get("live"))
    figures = PageFigures.of(STEP, HERE, run, COLORS, live=live)
    facts: dict[str, object] = {
        "lesson": FIRST,
        "number": 0,
        "run": run,
        "setting": HERE,
        "figures": figures,
    }
    return Page(**{**facts, **changes})  # type: ignore[arg-type]


BROKEN = Attempt(trouble="It broke.")


@pytest.mark.parametrize(
    ("attempt", "live", "stage", "asks"),
    [
        (NOT_TRIED, False, "before", True),
        (BROKEN, False, "broken", True),
        (BROKEN, True, "running", False),
        (Attempt(run=run_of()), False, "done", False),
    ],
)
def test_how_far_a_step_is(
    attempt: Attempt, live: bool, stage: Stage, asks: bool
) -> None:
    shown = page(attempt.run, attempt=attempt, live=live)
    assert (shown.stage, shown.asks) == (stage, asks)
    # What it says of the outcome comes with the outcome.
    assert ("Two works give two" in flat(shown.verdict())) == (stage == "done")


@pytest.mark.parametrize(
    ("elapsed", "remaining", "now", "left"),
    [
        # Before the engine has said anything there is the budget of what runs.
        (0.0, 0.0, 2.0, 3.0),
        (1.0, 3.0, 1.0, 3.0),
        # What it has said last grows old.
        (1.0, 3.0, 2.5, 1.5),
        (1.0, 3.0, 99.0, -95.0),
    ],
)
def test_the_seconds_left_go_down_between_two_reports(
    elapsed: float, remaining: float, now: float, left: float
) -> None:
    snippet, experiment = FIRST.steps[0].works(HERE)
    assert (snippet.budget, experiment.budget) == (5.0, 0.1)  # type: ignore[union-attr]
    job = Job(1, work=snippet, elapsed_seconds=elapsed, remaining_seconds=remaining)
    # The experiment comes after it, and earlier works lie behind both.
    facts = {"live": True, "job": job, "played_seconds": 50.0}
    shown = page(run_of(), elapsed_seconds=50.0 + now, **facts)
    assert shown.seconds_left == pytest.approx(max(0.0, left + 0.1))
    shown = page(run_of(snippet), elapsed_seconds=50.0 + now, **facts)
    assert shown.seconds_left == pytest.approx(max(0.0, left))


def test_the_text_that_is_taken_away_is_what_jaxtui_learn_prints() -> None:
    run = run_of(FIRST.steps[0].works(HERE)[0])
    attempt = Attempt(prediction=2, run=run)
    shown = page(run, attempt=attempt)
    words = shown.text()
    for part in (
        "What comes first?",
        "What must be known.",
        "# The snippet first",
        "You predicted “three”; it is “two”.",
        "Both were measured with 100.",
        "Published: A page of a book",
    ):
        assert part in words
    # Nothing of the outcome before there is one.
    before = page().text()
    assert "What must be known." in before
    assert "two”" not in before
    assert "Yours:" not in before


@pytest.mark.parametrize(
    ("holds", "prediction", "answer", "role"),
    [
        (True, 1, 1, "pass"),
        (False, 0, 1, "fail"),
        (None, 0, None, "low"),
        (True, None, 1, "pass"),
    ],
)
def test_a_verdict_and_what_was_predicted(
    holds: bool | None, prediction: int | None, answer: int | None, role: str
) -> None:
    doubt = Remark("step-disturbed")
    concluded = Conclusion(
        rows=ROWS, holds=holds, sentences=("So it is.", "And so on."), answer=answer
    )
    run = run_of()
    shown = page(
        run,
        attempt=Attempt(prediction=prediction, run=run),
        figures=PageFigures(conclusion=replace(concluded, doubts=(doubt,))),
    )
    first, *_ = written(shown.verdict(), 76, colour=True).split("\n")
    assert f"\x1b[{CODES[role]}m" in first
    said = flat(shown.verdict())
    assert STEP.claim in said
    assert "So it is." in said
    assert "And so on." in text(shown.explanation())
    assert "98 µs" in text(shown.results())
    assert words.text(doubt) in said
    assert takeaway(concluded) == takeaway(replace(concluded, doubts=(doubt,)))
    choices = [text(choice) for choice in shown.choices()]
    assert ["✓" in choice for choice in choices] == [i == answer for i in range(3)]
    assert ["●" in choice for choice in choices] == [i == prediction for i in range(3)]
    wrong = answer is not None and prediction not in (None, answer)
    assert ("✗" in "".join(choices)) == wrong


@pytest.mark.parametrize(
    ("prediction", "graded", "marks", "sentence"),
    [
        (0, True, "✓  ", "Your prediction was right: one"),
        (1, True, " ✓ ", "Your prediction was right: two"),
        (2, True, " ✓✗", "You predicted “three”; it is “two”."),
        (0, False, "✓  ", "Your prediction was right: one"),
        (2, False, "   ", "This run cannot grade it. Run the step again."),
    ],
)
def test_every_choice_that_the_figures_allow_is_right_and_noise_grades_nobody(
    prediction: int, graded: bool, marks: str, sentence: str
) -> None:
    conclusion = Conclusion(
        rows=ROWS, holds=True, answer=1, answers=frozenset({0, 1}), graded=graded
    )
    run = run_of()
    shown = page(
        run,
        attempt=Attempt(prediction=prediction, run=run),
        figures=PageFigures(conclusion=conclusion),
    )
    choices = [text(choice) for choice in shown.choices()]
    drawn = "".join("✓" if "✓" in c else "✗" if "✗" in c else " " for c in choices)
    assert drawn == marks
    assert sentence in flat(shown.verdict())


def test_heading_and_sources_say_where() -> None:
    run = run_of()
    shown = page(run, attempt=Attempt(run=run), done=(True, False))
    line = text(shown.heading())
    assert line.endswith("n of n×n: 100 · cpu:0")
    assert "●○ 1/2" in line
    assert text(page().heading(), 36).endswith("size 100 · cpu:0")
    assert "Yours: cpu:0, vm" in text(shown.explanation())
    there = replace(HERE, devices=cpu_devices(2, simulated=True))
    simulated = page(replace(run, setting=there), attempt=Attempt(run=run))
    assert "SIMULATED" in text(simulated.explanation())


def test_curves_have_the_colours_of_their_sides() -> None:
    line = Series("first", (1.0,), (1.0,))
    numpy, grey = replace(line, label="NumPy"), replace(line, color=(9, 9, 9))
    picture = Picture(series=(line, numpy, grey), x=Axis(), y=Axis(), title="")
    step = replace(STEP, trial=replace(STEP.trial, picture=lambda *_: picture))
    drawn = PageFigures.of(step, HERE, run_of(), COLORS, live=False).picture
    assert drawn is not None
    assert [one.color for one in drawn.series] == [COLORS[-1], COLORS[2], (9, 9, 9)]
