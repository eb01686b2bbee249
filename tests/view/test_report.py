"""A report, drawn: what is said once, what drops out, what stays plain."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from jaxtui.model import Remark
from jaxtui.plot import HEIGHT, Picture, Series
from jaxtui.view import words
from jaxtui.view.report import (
    Report,
    Statement,
    Table,
    gather,
    lines,
    paragraphs,
    terminal,
)
from jaxtui.view.text import Column, Span, plain


def column(key, *cells, rank=0):
    return Column(key, key, [(Span(cell),) for cell in cells], rank=rank, right=True)


REPORT = Report(
    "a race",
    (Span("JAX is 1.7× faster than NumPy (1.5–1.9×)", "jit"),),
    (
        Table(
            (
                column("op", "selu"),
                column("ready", "2.1 µs"),
                column("error", "0", rank=1),
            )
        ),
    ),
    (Statement(Remark("slow", {"seconds": 2.0}, "warning", "It is slow."), ("selu",)),),
    host="box, jax 0.10",
)


def test_the_headline_comes_first_and_a_rank_drops_out():
    text = [plain(line) for line in lines(REPORT, 16)]
    assert text[0].startswith("JAX is 1.7×")
    assert "  op   ready" in text
    assert any("error" in plain(line) for line in lines(REPORT, 60))


def test_a_pipe_has_every_column_and_no_colour():
    assert "\x1b" not in terminal(REPORT, None, colour=False)
    assert "error" in terminal(REPORT, None, colour=False)
    assert "\x1b" in terminal(REPORT, 60, colour=True)


def test_a_terminal_has_the_picture_and_a_pipe_has_not():
    curve = Series("jit", [1.0, 2.0], [1.0, 2.0])
    report = replace(REPORT, picture=Picture((curve,)))
    assert len(terminal(report, 60, colour=False).split("\n")) > HEIGHT
    assert terminal(report, None, colour=False) == terminal(REPORT, None, colour=False)


def test_on_a_command_line_the_answer_comes_last_and_a_note_is_a_line():
    """But for what has failed, which says all that there is."""
    rows = [(f"matmul {size} jit", [uncertain(size)]) for size in range(2, 18)]
    failed = Remark("unknown-here", {}, "error", "It is broken. Mend it.")
    report = replace(REPORT, remarks=gather([*rows, ("selu", [failed])]))
    for width in (80, None):
        text = terminal(report, width, colour=False, full=False, hint="--notes").split(
            "\n"
        )
        failure, note, hint = text[2:5]
        assert failure.startswith("unknown-here: It is broken. Mend it.")
        assert note.startswith(
            "uncertain: the interval spans more than a factor of two"
        )
        assert ("– 16 rows" in note) == (width == 80)
        assert hint == "--notes"
        assert text[6].startswith("JAX is 1.7×")
        assert text[-1].split() == ["selu", "2.1", "µs", "0"]
    full = terminal(report, 80, colour=False, full=True).split("\n")
    assert len(full) > 20
    assert full[-1].split() == ["selu", "2.1", "µs", "0"]


def test_a_remark_stands_once_with_its_rows_and_the_worst_first():
    slow, wrong = Remark("slow", {"n": 1}), Remark("wrong", severity="error")
    found = gather([("a", [slow]), ("b", [slow, wrong])], of_all=[Remark("whole")])
    assert [(one.remark.code, one.about) for one in found] == [
        ("wrong", ("b",)),
        ("whole", ()),
        ("slow", ()),
    ]


def test_remarks_that_differ_in_an_amount_are_one_with_the_largest():
    busy = [
        Remark("contended", {"by": "programs", "used_cores": used, "cores": 2.0})
        for used in (0.5, 1.5, 1.0)
    ]
    rows = [(name, [remark]) for name, remark in zip("abc", busy, strict=True)]
    ((remark, about),) = [(s.remark, s.about) for s in gather([*rows, ("d", [])])]
    assert (remark.facts["used_cores"], about) == (1.5, ("a", "b", "c"))


def test_what_to_do_stands_once_below_the_rows():
    rows = [(name, [uncertain(high)]) for name, high in (("a", 2.0), ("b", 3.0))]
    (paragraph,) = paragraphs(gather([*rows, ("c", [])]))
    first, second, advice = map(plain, paragraph.sentences)
    assert (first[:3], second[:3]) == ("a: ", "b: ")
    assert advice == words.advice(uncertain(2.0))


def uncertain(high):
    return Remark("uncertain", {"low": 1.0, "high": high}, "warning")


@given(st.integers(1, 200), st.text(max_size=80), st.text(max_size=200))
def test_no_line_is_wider_than_there_is_room(width, cell, detail):
    report = Report(
        "any",
        (Span(detail),),
        (Table((column("op", "selu"), column("x", cell, rank=1))),),
        (Statement(Remark("c", detail=detail), (cell,)),),
    )
    assert max(len(plain(line)) for line in lines(report, max(width, 20))) <= max(
        width, 20
    )
