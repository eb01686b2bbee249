"""A report in its media: what fits, what a terminal must not act on, escapes."""

from __future__ import annotations

from typing import Any

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


def test_a_picture_names_no_font_in_the_network() -> None:
    assert "@font-face" not in svg(report())
    assert "title · box · jax 0.12" in svg(report()).replace("&#160;", " ")


LONG = Rows(
    (
        *(Column("op", ["a"]), Column("what", ["word " * 9], grows=True)),
        Column("path", ["/home/somebody/x.py"], tail=True, most=9),
    )
)
FAILED = Note(flag="failed", text="No such op.", level="error")
LESS, MORE = (
    Remark("contended", {"used_cores": used, "cores": 2, "by": "host"}, "warning")
    for used in (1.0, 1.5)
)
BRIEF: dict[str, Any] = {"full": False, "hint": "Press n."}

PRINTED = {
    **{
        f"in {width} columns": terminal(report(), width) for width in (None, 20, 19, 12)
    },
    "notes and their rows": terminal(report("It is slow.", "a", "b"), 80),
    "a column that grows": terminal(Report("", tables=[LONG]), 40),
    "the answer last": terminal(report("Slow. " * 30, "a", "b"), 60, **BRIEF),
    "in full already": terminal(Report("", notes=[FAILED]), 60, **BRIEF),
    "markdown": markdown(report("a | b <script>", "c|d")),
    "remarks of a code": terminal(
        Report("", notes=gather([("a", [LESS]), ("b", [MORE]), ("c", [])])), 80
    ),
}


def test_a_picture_is_drawn_on_a_terminal_only() -> None:
    line = Series("time", (1.0, 2.0, 3.0), (1.0, 2.0, 4.0))
    drawn = Report("title", "2 cases.", picture=Picture((line,)))
    assert len(terminal(drawn, 60).splitlines()) == HEIGHT + 2
    assert terminal(drawn, None) == "2 cases."
    assert "time" in svg(drawn)
