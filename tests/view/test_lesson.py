"""What a lesson says, at any width."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui import format as fmt
from jaxtui.lessons.base import Conclusion, Doubt, Row
from jaxtui.lessons.trial import setting
from jaxtui.model import MemorySpan, Remark, SnippetTimed, Timing
from jaxtui.view import lesson as view
from jaxtui.view.text import Line, plain
from tests import records
from tests.fake_engine import HOST, OPS, cpu_devices
from tests.lessons.figures import after, measured
from tests.records import case, summary
from tests.tui.lessons_to_try import FIRST, SECOND

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


@pytest.mark.parametrize(
    ("holds", "prediction", "answer", "said"),
    [
        (True, 1, 1, ["✓ Holds here: ", "Your prediction was right: two"]),
        (False, 0, 1, ["✗ Does not hold here: ", "“one”; it is “two”."]),
        (None, 0, None, ["— Not shown here: ", "“one”; there is no answer"]),
        (True, None, 1, ["✓ ", "Answer: two"]),
    ],
)
def test_a_verdict_and_what_was_predicted(
    holds: bool | None, prediction: int | None, answer: int | None, said: list[str]
) -> None:
    found = Conclusion(rows=ROWS, holds=holds, sentences=("So it is.",), answer=answer)
    lines = text(view.results(STEP, found, (), prediction, 76))
    assert all(one in lines for one in (*said, STEP.claim, "So it is.", "98 µs"))
    assert "Others" not in lines
    doubts = (
        Doubt(text="Others used the cores.", noted=True),
        Doubt(text="It wanders."),
    )
    doubted = text(
        view.results(STEP, replace(found, doubts=doubts), (), prediction, 76)
    )
    below = f"{STEP.claim}\nOthers used the cores.\nIt wanders.\n"
    assert below in doubted
    assert doubted.count("It wanders.") == 1
    silent = replace(STEP, question=None)
    assert "predict" not in text(view.verdict(silent, found, prediction, 76))


def test_a_question_marks_what_was_predicted_and_what_is_right() -> None:
    assert STEP.question is not None
    for answer, asked in (
        (None, "How many?\n ○ 1  one\n ○ 2  two\n ● 3  three"),
        (1, "How many?\n ○ 1  one\n ○ 2  two  ✓\n ● 3  three  ✗"),
    ):
        assert text(view.question(STEP.question, 2, answer, 40)) == asked


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
    # A single case is shown with either memory.
    span = MemorySpan(fresh=4e-3, reused=1e-3, page_faults=980.0)
    single = after(measured(case("numpy"), 2e-3, memory=span))
    reused, fresh = map(plain, view.bars(single, 60))
    assert reused.startswith("reused memory  1.00 ms  ███")
    assert fresh.startswith("fresh memory   4.00 ms  ███")
    assert view.bars(after(), 60) == []


def test_a_time_that_is_not_known_to_within_a_third_is_dim() -> None:
    wide = records.summary(2e-3, 0.4)
    once = Timing(name="the first call", seconds=records.summary(1e-3), once=True)
    outcome = after(
        SnippetTimed(timing=Timing(name="wanders", seconds=wide)),
        SnippetTimed(timing=once),
    )
    roles = [line[1].role for line in view.bars(outcome, 60)]
    assert roles == ["unknown", "strong"]


def test_heading_and_source_say_where() -> None:
    title, step = map(plain, view.heading(FIRST, 1, HERE, 76))
    assert title.endswith("n of n×n: 100 · cpu:0")
    assert step == "1/3  Two works"
    narrow, _ = map(plain, view.heading(FIRST, 1, HERE, 36))
    assert narrow.endswith("size 100 · cpu:0")
    assert text(view.source(STEP, HERE, 76)).startswith("Yours: cpu:0, vm")
    simulated = replace(HERE, devices=cpu_devices(2, simulated=True))
    assert "SIMULATED" in text(view.source(STEP, simulated, 76))
