"""What a lesson says, at any width: the list, a page at each stage, its parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from jaxtui import format as fmt
from jaxtui.features.lessons import report as view
from jaxtui.features.lessons.base import Conclusion, Question, Row
from jaxtui.features.lessons.course import NOT_TRIED, Attempt
from jaxtui.features.lessons.play import StepRun
from jaxtui.features.lessons.report import Page, PageFigures, Stage, takeaway
from jaxtui.features.lessons.trial import setting
from jaxtui.model import (
    Experiment,
    Remark,
    Shown,
    Snippet,
    SnippetTimed,
    Timed,
    Timing,
    Work,
)
from jaxtui.plot import COLORS, Axis, Picture, Series
from jaxtui.state import Job
from jaxtui.view import words
from jaxtui.view.text import Line, plain
from tests import records
from tests.fake_engine import HOST, OPS, at_once, cpu_devices
from tests.features.lessons.figures import after, measured
from tests.features.lessons.lessons_to_try import FIRST, SECOND
from tests.records import case, summary

STEP = FIRST.steps[0]
HERE = setting(FIRST, cpu_devices(), HOST, OPS)


def text(lines: list[Line]) -> str:
    return "\n".join(map(plain, lines))


PROSE = """\
A call returns before the work is done: `f(x)`
gives a promise.

    y = f(x)
      .block_until_ready()

Then look.
"""


def test_paragraphs_and_code_are_told_apart() -> None:
    lines = view.prose(PROSE, 60)
    assert text(lines).split("\n\n") == [
        "A call returns before the work is done: f(x) gives a\npromise.",
        "    y = f(x)\n      .block_until_ready()",
        "Then look.",
    ]
    roles = [[span.role for span in line] for line in lines]
    assert "code" in roles[0]
    assert roles.count(["block"]) == 2
    assert text(view.prose("Look:\n    x = 1", 60)) == "Look:\n\n    x = 1"
    # Code keeps its lines, however narrow it is.
    assert "      .block_until_ready()" in text(view.prose(PROSE, 12))


@pytest.mark.parametrize(
    ("prose", "width", "ticks", "lines"),
    [
        ("Call `f(x)`.", 60, True, ["Call `f(x)`."]),
        ("Call `f(x)`.", 60, False, ["Call f(x)."]),
        ("5` is no code", 60, False, ["5` is no code"]),
        ("take `a + b + c` now", 10, False, ["take", "a + b + c", "now"]),
        ("`aaaa bbbb cccc dddd`", 10, False, ["aaaa bbbb", "cccc dddd"]),
        ("", 40, False, []),
    ],
)
def test_inline_code_is_broken_only_where_it_must_be(
    prose: str, width: int, ticks: bool, lines: list[str]
) -> None:
    assert list(map(plain, view.prose(prose, width, ticks=ticks))) == lines


@pytest.mark.parametrize("ticks", [True, False])
@given(
    words=st.lists(st.text("ab`,()", min_size=1, max_size=9), max_size=40),
    width=st.integers(12, 80),
)
def test_no_line_is_wider_and_no_word_is_lost(
    ticks: bool, words: list[str], width: int
) -> None:
    drawn = list(map(plain, view.prose(" ".join(words), width, ticks=ticks)))
    assert all(len(line) <= width for line in drawn)
    if ticks:
        assert "".join("".join(drawn).split()) == "".join(words)


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


@pytest.mark.parametrize("width", [40, 58, 78, 118, 200])
def test_a_table_loses_nothing_at_any_width(width: int) -> None:
    lines = list(map(plain, view.table(ROWS, width)))
    assert max(map(len, lines)) <= width
    words = " ".join(lines).split()
    write = fmt.alike(cell for row in ROWS for cell in row.figures)
    expected = " ".join(cell for row in ROWS for cell in row.texts(write)).split()
    assert sorted(words) == sorted([*expected, "yours", "published"])


def test_the_times_of_a_table_are_written_alike() -> None:
    """The learner's, the published ones and those of the remarks; but no words are."""
    lines = [plain(line).split("  ") for line in view.table(ROWS, 200)[1:]]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert cells[:2] == [
        ["it returned", "98 µs", "269 µs GPU", "the call"],
        ["the call that waits", "10 ms", "1.92 s", "of 1 s"],
    ]
    assert cells[2][-1] == "after 2 s"
    assert "published" not in text(view.table((Row(what="a", yours="1 s"),), 60))
    assert view.table((), 60) == []


# The list.


def test_the_list_says_what_is_done() -> None:
    def listed(width: int) -> str:
        found = view.entries((FIRST, SECOND), done, width, (9.6,) * 2)
        return text([line for entry in found for line in entry])

    done = (True, False, False), (True,)
    assert listed(76) == (
        "   1  What comes first?    ●○○ 1/3  ~10 s\n"
        "✓  2  What is wrong here?  ●   1/1  ~10 s"
    )
    # What there is no room for: first the times, then the ends of titles.
    assert listed(30) == (
        "   1  What comes fir…  ●○○ 1/3\n✓  2  What is wrong …  ●   1/1"
    )
    contents = text(view.contents((FIRST, SECOND), done, 76))
    assert "Needs: an accelerator for nothing" in contents
    assert "As text: jaxtui learn second" in contents
    steps = list(map(plain, view.steps(FIRST, done[0], 40)))
    assert steps == ["✓ 1  Two works", "○ 2  Works that follow", "○ 3  Nothing to run"]


PROGRAM = """\
# The snippet first
n = 100
# time: first
n + 1
# show: value
n

time  matmul 100 float32 jit on cpu:0

# matmul 100 float32 jit on cpu:0
for _ in range(40):
    y = matmul(x)"""


def test_what_a_step_runs_is_shown_as_code() -> None:
    works = (*STEP.works(HERE), *SECOND.steps[0].works(HERE))
    assert text(view.program(works, 60)) == PROGRAM


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
    assert text(view.bars(outcome, 48)) == BARS
    assert view.bars(after(), 60) == []


def test_what_will_be_timed_has_bars_without_a_length() -> None:
    shown = Snippet(
        title="",
        setup="",
        parts=(Timed(name="plain call", code="f(x)"), Shown(name="type", code="x")),
    )
    modes = Experiment(cases=(case(), case("numpy")))
    lines = [plain(line) for line in view.empty_bars((shown, modes), 100)]
    assert [line.partition("  ")[0] for line in lines] == [
        "plain call",
        *sorted(one.label for one in modes.cases),
    ]
    assert len({line.index("?") for line in lines}) == 1
    assert {len(line) for line in lines} == {100}
    # Where there is no room, cases are called by what differs.
    narrow = [plain(line).split()[0] for line in view.empty_bars((modes,), 40)]
    assert narrow == ["jit", "numpy"]
    assert view.empty_bars((), 60) == []


def test_a_time_that_is_not_known_to_within_a_third_is_dim() -> None:
    wide = records.summary(2e-3, 0.4)
    once = Timing(name="the first call", seconds=records.summary(1e-3), once=True)
    outcome = after(
        SnippetTimed(timing=Timing(name="wanders", seconds=wide)),
        SnippetTimed(timing=once),
    )
    roles = [line[1].role for line in view.bars(outcome, 60)]
    assert roles == ["unknown", "strong"]


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
    assert ("Two works give two" in text(shown.verdict(76))) == (stage == "done")
    assert ("What must be known" in text(shown.question(76))) == (stage != "done")


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


@pytest.mark.parametrize("width", [20, 76])
def test_a_line_of_a_choice_is_that_choice(width: int) -> None:
    choices = ("a choice of more than one line", "another", "a third one that is long")
    question = Question(text="Which one of these?", choices=choices)
    step = replace(FIRST.steps[0], question=question)
    shown = page(lesson=replace(FIRST, steps=(step,)))
    lines = text(shown.question(width)).split("\n")
    numbers = [shown.choice_at(width, line) for line in range(len(lines) + 1)]
    marked = [index for index, line in enumerate(lines) if "○" in line]
    ends = [*marked[1:], len(lines)]
    wanted: list[int | None] = [None] * marked[0]
    for number, (start, end) in enumerate(zip(marked, ends, strict=True), 1):
        wanted += [number] * (end - start)
    assert numbers == [*wanted, None]
    assert page(number=2).choice_at(width, 0) is None


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
    lines = shown.verdict(76)
    assert lines[0][0].role == role
    said = text(lines)
    assert STEP.claim in said
    assert "So it is." in said
    assert "And so on." in text(shown.explanation(76))
    assert "98 µs" in text(shown.results(76))
    assert words.text(doubt) in " ".join(said.split())
    assert takeaway(concluded) == takeaway(replace(concluded, doubts=(doubt,)))
    choices = text(shown.asked(76)).split("\n")[1:]
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
    choices = text(shown.asked(76)).split("\n")[1:]
    drawn = "".join("✓" if "✓" in c else "✗" if "✗" in c else " " for c in choices)
    assert drawn == marks
    assert sentence in " ".join(text(shown.verdict(76)).split())


def test_a_row_is_dim_where_its_bar_is() -> None:
    (_, *lines) = view.table((Row("a", "1 s"), Row("b", "1 s", vague=True)), 60)
    assert [line[1].role for line in lines] == ["strong", "unknown"]


def test_heading_and_sources_say_where() -> None:
    run = run_of()
    shown = page(run, attempt=Attempt(run=run), done=(True, False, False))
    (line,) = map(plain, shown.heading(76))
    assert line.endswith("n of n×n: 100 · cpu:0")
    assert "●○○ 1/3" in line
    (narrow,) = map(plain, page().heading(36))
    assert narrow.endswith("size 100 · cpu:0")
    assert "Yours: cpu:0, vm" in text(shown.explanation(76))
    there = replace(HERE, devices=cpu_devices(2, simulated=True))
    simulated = page(replace(run, setting=there), attempt=Attempt(run=run))
    assert "SIMULATED" in text(simulated.explanation(76))


def test_curves_have_the_colours_of_their_sides() -> None:
    line = Series("first", (1.0,), (1.0,))
    numpy, grey = replace(line, label="NumPy"), replace(line, color=(9, 9, 9))
    picture = Picture(series=(line, numpy, grey), x=Axis(), y=Axis(), title="")
    step = replace(STEP, trial=replace(STEP.trial, picture=lambda *_: picture))
    drawn = PageFigures.of(step, HERE, run_of(), COLORS, live=False).picture
    assert drawn is not None
    assert [one.color for one in drawn.series] == [COLORS[-1], COLORS[2], (9, 9, 9)]
