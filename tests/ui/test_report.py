"""A report in its media: what fits, what a terminal must not act on, escapes."""

from __future__ import annotations

import pytest

from jaxtui.core.model import Remark
from jaxtui.core.model.document import Note
from jaxtui.ui.plot import HEIGHT, Picture, Series
from jaxtui.ui.report import Column, Report, Rows, gather, markdown, svg, terminal

ROWS = Rows(
    (
        Column("name", ["matmul", "add"]),
        Column("time", ["1 ms", "20 ms"], right=True, rank=1),
        Column("calls", ["1,000", "20"], right=True, rank=2),
    ),
    "cases",
)


def report(text: str = "It is slow.", *about: str) -> Report:
    notes = [
        Note(flag="hops", text="Good to know."),
        Note(flag="slow", text=text, about=about, level="warning"),
    ]
    return Report("title", "2 cases.", [ROWS], notes, "box · jax 0.12")


@pytest.mark.parametrize(
    ("width", "head"),
    [
        (None, "name     time  calls"),
        (20, "name     time  calls"),
        (19, "name     time"),
        (12, "name"),
    ],
)
def test_columns_drop_out_by_rank(width: int | None, head: str) -> None:
    lines = terminal(report(), width).splitlines()
    assert lines[2:4] == ["cases", head]


def test_sentences_are_as_wide_as_a_small_terminal() -> None:
    for width in (60, 200, None):
        lines = terminal(report("word " * 60), width).splitlines()
        assert max(map(len, lines)) <= min(width or 80, 80)


def test_a_terminal_acts_on_nothing_that_others_wrote() -> None:
    hostile = report("\x1b[31mred\x07 [bold]markup[/] :smile:", "\u202eback")
    for text in (terminal(hostile, 80), svg(hostile), markdown(hostile)):
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "[bold]markup[/] :smile:" in terminal(hostile, 80)
    assert "\x1b[" in terminal(report(), 80, colour=True)


def test_markdown_keeps_its_tables_and_takes_no_html() -> None:
    told = markdown(report("a | b <script>", "c|d"))
    assert "| name | time | calls |\n| :-- | --: | --: |\n| matmul |" in told
    assert "- **slow**: a \\| b &lt;script> – c\\|d" in told


def test_a_picture_names_no_font_in_the_network() -> None:
    assert "@font-face" not in svg(report())
    assert "title · box · jax 0.12" in svg(report()).replace("&#160;", " ")


def test_a_column_that_grows_goes_over_several_lines() -> None:
    columns = Column("op", ["a"]), Column("what", ["word " * 9], grows=True)
    rows = Rows((*columns, Column("path", ["/home/somebody/x.py"], tail=True, most=9)))
    lines = terminal(Report("", tables=[rows]), 40).splitlines()
    assert max(map(len, lines)) <= 40
    assert len(lines) > 2
    assert lines[1].endswith("…ody/x.py")


def test_the_answer_comes_last_and_notes_are_a_line_each() -> None:
    told = terminal(report("Slow. " * 30, "a", "b"), 60, full=False, hint="Press n.")
    lines = told.splitlines()
    assert lines[2:5] == ["slow  Slow – a, b", "hops  Good to know", "Press n."]
    assert lines[-1].split() == ["add", "20", "ms", "20"]
    # What is in full already needs no hint.
    failed = Note(flag="failed", text="No such op.", level="error")
    told = terminal(Report("", notes=[failed]), 60, full=False, hint="Press n.")
    assert "Press n." not in told


def test_remarks_of_a_code_are_one_note_with_their_rows() -> None:
    less, more = (
        Remark("contended", {"used_cores": used, "cores": 2, "by": "host"}, "warning")
        for used in (1.0, 1.5)
    )
    (note,) = gather([("a", [less]), ("b", [more]), ("c", [])])
    assert (note.about, note.level) == (("a", "b"), "warning")
    assert "1.5" in note.text


def test_a_picture_is_drawn_on_a_terminal_only() -> None:
    line = Series("time", (1.0, 2.0, 3.0), (1.0, 2.0, 4.0))
    drawn = Report("title", "2 cases.", picture=Picture((line,)))
    assert len(terminal(drawn, 60).splitlines()) == HEIGHT + 2
    assert terminal(drawn, None) == "2 cases."
    assert "time" in svg(drawn)
