"""What a lesson says, at any width."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.lessons.base import Conclusion, Row, setting
from jaxtui.lessons.outcome import Outcome, collect
from jaxtui.model import HOST as MODEL_HOST
from jaxtui.model import (
    Case,
    CaseMeasured,
    MemorySpan,
    Note,
    SnippetTimed,
    Timing,
)
from jaxtui.view import lesson as view
from jaxtui.view.text import Line, Span, plain
from tests.tui.fake_engine import HOST, OPS, cpu_devices, measurement, summary
from tests.tui.lessons_to_try import FIRST, SECOND

STEP = FIRST.steps[0]
JIT = Case(op="matmul", size=100, dtype="float32", device="cpu:0", mode="jit")
NUMPY = msgspec.structs.replace(JIT, device=MODEL_HOST, mode="numpy", inputs="host")
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
    code = [line for line in lines if line and line[0].role == "block"]
    assert len(code) == 2
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


def test_inline_code_has_its_role() -> None:
    (line,) = view.prose("Call `f(x)`, then wait.", 60)
    assert line == (Span("Call "), Span("f(x)", "code"), Span(", then wait."))
    broken = view.prose("`aaaa bbbb cccc dddd`", 10)
    assert {span.role for line in broken for span in line} == {"code"}


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
    Row(what="plain", yours="0.098 ms", published="0.269 ms", remark="it returned"),
    Row(what="the call that waits", yours="10 ms", published="4.92 ms"),
    Row(what="an error", yours="TypeError: " + "words " * 20, remark="as expected"),
)


@pytest.mark.parametrize("width", [40, 58, 78, 118, 200])
def test_a_table_loses_nothing_at_any_width(width: int) -> None:
    lines = list(map(plain, view.table(ROWS, width)))
    assert max(map(len, lines)) <= width
    words = " ".join(lines).split()
    for row in ROWS:
        for cell in (row.what, row.yours, row.published, row.remark):
            assert all(
                words.count(one) >= cell.split().count(one) for one in cell.split()
            )


def test_the_times_of_a_table_are_in_one_unit() -> None:
    """The learner's, the published ones and those of the remarks are compared."""
    rows = (
        Row(what="returned", yours="98 µs", published="269 µs", remark="the call"),
        Row(what="waited", yours="10 ms", published="1.92 s", remark="of 1 s"),
    )
    lines = [plain(line).split("  ") for line in view.table(rows, 78)[1:]]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert cells == [
        ["returned", "0.098 ms", "0.269 ms", "the call"],
        ["waited", "10 ms", "1920 ms", "of 1000 ms"],
    ]


def test_a_table_without_published_figures_has_no_column_for_them() -> None:
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
    found = Conclusion(rows=ROWS, holds=holds, takeaway="So it is.", answer=answer)
    lines = text(view.results(STEP, found, (), prediction, 76))
    assert all(one in lines for one in (*said, STEP.claim, "So it is.", "0.098 ms"))
    silent = replace(STEP, question=None)
    assert "predict" not in text(view.verdict(silent, found, prediction, 76))


def test_a_question_marks_what_was_predicted_and_what_is_right() -> None:
    assert STEP.question is not None
    asked = text(view.question(STEP.question, 2, None, 40))
    assert asked == "How many?\n ○ 1  one\n ○ 2  two\n ● 3  three"
    known = text(view.question(STEP.question, 2, 1, 40))
    assert "○ 2  two  ✓" in known
    assert "● 3  three  ✗" in known


def test_the_list_says_what_is_done() -> None:
    done = (True, False, False), (True,)
    entries = view.entries((FIRST, SECOND), done, 76, (9.6,) * 2)
    lines = [plain(line) for entry in entries for line in entry]
    assert lines == [
        "   1  What comes first?    ●○○ 1/3  ~10 s",
        "✓  2  What is wrong here?  ●   1/1  ~10 s",
    ]
    # What there is no room for: first the times, then the ends of titles.
    narrow = view.entries((FIRST, SECOND), done, 30, (9.6,) * 2)
    assert [plain(line) for entry in narrow for line in entry] == [
        "   1  What comes fir…  ●○○ 1/3",
        "✓  2  What is wrong …  ●   1/1",
    ]
    (_, summary), _ = view.entries((FIRST, SECOND), done, 76, wide=True)
    assert plain(summary) == "      A lesson of three steps."
    contents = text(view.contents((FIRST, SECOND), done, 76))
    assert "Needs: an accelerator for nothing" in contents
    assert "As text: jaxtui learn second" in contents
    steps = list(map(plain, view.steps(FIRST, done[0], 40)))
    assert steps == ["✓ 1  Two works", "○ 2  Works that follow", "○ 3  Nothing to run"]


def test_what_a_step_runs_is_shown_as_code() -> None:
    works = (*STEP.works(HERE), *SECOND.steps[0].works(HERE))
    assert (
        text(view.program(works, 60))
        == """\
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
    )


def test_times_are_bars_on_one_scale_in_one_unit() -> None:
    outcome = Outcome()
    assert view.bars(outcome, 60) == []
    for name, seconds in (("plain call", 1e-4), ("a call that waits", 4e-3)):
        timing = Timing(name=name, seconds=summary(seconds))
        outcome = collect(outcome, SnippetTimed(timing=timing))
    for index, (case, seconds) in enumerate(((JIT, 2e-3), (NUMPY, 1e-3))):
        found = msgspec.structs.replace(measurement(case), ready=summary(seconds))
        outcome = collect(outcome, CaseMeasured(index=index, measurement=found))
    # What was interpreted has no speed.
    kernel = msgspec.structs.replace(JIT, mode="pallas")
    note = Note(flag="interpreted", text="In interpret mode.")
    found = msgspec.structs.replace(measurement(kernel), notes=(note,))
    outcome = collect(outcome, CaseMeasured(index=2, measurement=found))
    assert (
        text(view.bars(outcome, 48))
        == """\
plain call         0.100 ms  ▌
a call that waits   4.00 ms  ███████████████████
jit cpu:0           2.00 ms  █████████▌
numpy host          1.00 ms  ████▊"""
    )


def test_a_single_case_is_shown_with_either_memory() -> None:
    span = MemorySpan(fresh=4e-3, reused=1e-3, page_faults=980.0)
    found = msgspec.structs.replace(measurement(NUMPY), memory=span)
    outcome = collect(Outcome(), CaseMeasured(index=0, measurement=found))
    reused, fresh = map(plain, view.bars(outcome, 60))
    assert reused.startswith("reused memory  1.00 ms  ███")
    assert fresh.startswith("fresh memory   4.00 ms  ███")


def test_the_first_sentence_of_a_takeaway() -> None:
    told = "It read 1.2 ms, i.e. twice as long. So it is. See below."
    first = "It read 1.2 ms, i.e. twice as long."
    assert view.sentences(told) == (first, "So it is. See below.")
    assert view.sentences("Nothing.") == ("Nothing.", "")


def test_heading_and_source_say_where() -> None:
    title, step = map(plain, view.heading(FIRST, 1, HERE, 76))
    assert title.endswith("n of n×n: 100 · cpu:0")
    assert step == "1/3  Two works"
    narrow, _ = map(plain, view.heading(FIRST, 1, HERE, 36))
    assert narrow.endswith("size 100 · cpu:0")
    assert text(view.source(STEP, HERE, 76)).startswith("Yours: cpu:0, vm")
    simulated = replace(HERE, devices=cpu_devices(2, simulated=True))
    assert "SIMULATED" in text(view.source(STEP, simulated, 76))
