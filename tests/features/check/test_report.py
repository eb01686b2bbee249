"""What a check says: its rows, notes, grid and headline."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace
from rich.text import Text

from jaxtui.core.model import CheckDoing, Expected, Reading, Remark, RunStarted
from jaxtui.core.model.document import Note
from jaxtui.core.state import EMPTY, State
from jaxtui.features.check import report as view
from jaxtui.features.check.exam import Examination, begin, of_level
from jaxtui.features.check.messages import Checked
from jaxtui.features.check.report import LEAST_SAID, OUTCOME
from jaxtui.ui.chipmap import layout, render
from jaxtui.ui.report import Report, Rows, as_text, fitting, terminal
from jaxtui.ui.text import Line, plain
from tests.core.figures import crowded, expected, reading, skipped, wrong
from tests.fake_engine import tpu_devices
from tests.features.check.check_figures import BROKEN, FIGURES, OTHER, SLOW, events

DEVICES = tpu_devices()
NAMES = [one.name for one in DEVICES]
QUICK = of_level("quick")


def play(*, faulty: bool = True, tests: int = len(QUICK)) -> Examination:
    """A check as far as so many tests."""
    exam = begin(DEVICES, "quick")
    for _ in range(tests):
        assert exam.next_work is not None
        for event in events(exam.next_work, faulty=faulty):
            exam = exam.observe(event)
    return exam


def doing(exam: Examination, *names: str) -> Examination:
    """The next test has begun on these devices."""
    assert exam.next_work is not None
    return exam.observe(RunStarted()).observe(CheckDoing(devices=names))


def state(exam: Examination | None) -> State:
    series = {} if exam is None else {"check": exam}
    return replace(EMPTY, devices=DEVICES, series=series)


def document(exam: Examination | None) -> Checked:
    return OUTCOME.result(state(exam), True)


def build(exam: Examination | None) -> Report:
    return OUTCOME.report(document(exam), state(exam))


BEGUN = begin(DEVICES, "quick")
FAULTY, SOUND = play(), play(faulty=False)
RUNNING = doing(play(tests=3), *NAMES)


def text(found: list[Line]) -> str:
    return "\n".join(map(plain, found))


def headline(exam: Examination | None) -> str:
    return build(exam).headline.plain


def product(device: str, rate: float | None = None, **changes: object) -> Reading:
    """By default of the same matrix product, beside the same peak."""
    facts = {"measured": rate, "device": device, "expected": expected(200e12)}
    return reading(**{**facts, **changes})


def report_of(*found: Reading) -> Report:
    return build(replace(BEGUN, readings=found).stopped())


def cells(table: Rows, *heads: str) -> list[tuple[str, ...]]:
    """The texts of some columns, row by row."""
    columns = {column.head: column for column in table.columns}
    texts = [[as_text(cell).plain for cell in columns[head].cells] for head in heads]
    return list(zip(*texts, strict=True))


def notes(report: Report, flag: str) -> list[Note]:
    return [note for note in report.notes if note.flag == flag]


# Figures.


def test_devices_that_agree_share_a_row_and_the_slow_one_has_its_own() -> None:
    figures = [product(one.name, 168e12 + 1e11 * one.id) for one in DEVICES]
    figures[3] = product("tpu:3", 101e12)
    table = report_of(*figures).tables[-1]
    assert cells(table, "", "device", "measured", "expected", "share") == [
        ("✓", "7 devices", "168–169 TFLOP/s", "200 TFLOP/s", "84 %"),
        ("▾", "tpu:3", "101 TFLOP/s", "200 TFLOP/s", "50 %"),
    ]


def test_many_devices_with_one_trouble_share_a_row() -> None:
    figures = [product(name, **wrong()) for name in NAMES]
    assert cells(report_of(*figures).tables[-1], "") == [("✗",)]
    apart = [product(name, **wrong()) for name in NAMES[:2]]
    table = report_of(*apart).tables[-1]
    assert cells(table, "device") == [("tpu:0",), ("tpu:1",)]


def test_what_was_skipped_is_a_remark_and_no_row() -> None:
    found = report_of(
        product("tpu:0", 170e12),
        product("tpu:1", what="matmul 64 int8", **skipped()),
    )
    assert cells(found.tables[-1], "test", "figure") == [
        ("compute", "matmul 8192 bfloat16")
    ]
    (note,) = notes(found, "no time")
    assert note.about == ("compute of tpu:1",)


def test_rows_of_a_thing_follow_each_other_the_best_first() -> None:
    table = report_of(
        *(
            product(one.name, 100e12 if one.id == slow else 170e12, what=what)
            for what, slow in (("matmul a", 0), ("matmul b", 3))
            for one in DEVICES[:4]
        )
    ).tables[-1]
    assert cells(table, "figure", "device") == [
        ("matmul a", "tpu:1-3"),
        ("matmul a", "tpu:0"),
        ("matmul b", "tpu:0-2"),
        ("matmul b", "tpu:3"),
    ]


MOST = Expected(value=1e-2, kind="most", source=Remark("exact-integers"))
FOUR = Expected(value=4, kind="exact", source=Remark("exact-integers"))


@pytest.mark.parametrize(
    ("values", "facts", "measured", "wanted"),
    [
        ((999e9, 1e12), {"expected": None}, "0.999–1.00 TFLOP/s", "—"),
        ((168e12, 171e12), {"expected": None}, "168–171 TFLOP/s", "—"),
        ((168e12, 171e12), {}, "168–171 TFLOP/s", "200 TFLOP/s"),
        ((2e-3,), {"unit": "relative error", "expected": MOST}, "2.0e-3", "≤ 1.0e-2"),
        ((1,), {"unit": "chips", "expected": FOUR}, "1 chip", "4 chips"),
        ((3.1e-5,), {"unit": "seconds", "expected": None}, "31.0 µs", "—"),
    ],
)
def test_figures_have_units_that_people_read(
    values: tuple[float, ...], facts: dict[str, object], measured: str, wanted: str
) -> None:
    found = [
        product(f"tpu:{place}", value, **facts) for place, value in enumerate(values)
    ]
    (row,) = view.rows(document(replace(BEGUN, readings=tuple(found))).tests)
    assert (row.measured, row.expected) == (measured, wanted)


@pytest.mark.parametrize(
    ("low", "sure", "role"),
    [(180e12, 0.99, "title"), (80e12, 0.99, "unknown"), (190e12, 0.0, "unknown")],
)
def test_a_figure_that_is_not_known_is_not_bold(
    low: float, sure: float, role: str
) -> None:
    found = product("tpu:0", 190e12, ci_low=low, ci_high=195e12, confidence=sure)
    columns = report_of(found).tables[-1].columns
    (cell,) = next(one for one in columns if one.head == "measured").cells
    assert isinstance(cell, Text)
    assert cell.style == role


# Notes.


def test_each_remark_is_there_once_with_its_tests_and_devices() -> None:
    found = build(FAULTY)
    wrong = [note for note in found.notes if note.level != "info"]
    assert sorted((note.flag, note.about) for note in wrong) == [
        ("behind the others", (f"compute of {SLOW}",)),
        ("below the peak", (f"compute of {SLOW}",)),
        ("below the peak", (f"compute of {SLOW}",)),
        ("odd one out", (f"numerics of {BROKEN}",)),
    ]
    check = document(FAULTY)
    sources = {figure.source for figure in check.tests} - {""}
    assert {note.text: {*note.about} for note in notes(found, "expected")} == {
        source: {figure.what for figure in check.tests if figure.source == source}
        for source in sources
    }
    (unrated,) = notes(found, "nothing published")
    assert unrated.about == tuple(
        test
        for test in QUICK[1:]
        if any(figure[-1] is None for figure in FIGURES.get(test, OTHER))
    )
    assert not any("--" in note.text for note in found.notes)


def test_others_on_the_cores_are_told_once() -> None:
    used = [
        product(name, 170e12, remarks=(crowded(0.1 * n),))
        for n, name in enumerate(NAMES)
    ]
    (busy,) = notes(report_of(*used), "busy machine")
    assert busy.about == ()
    assert "0.7 of 2 cores" in busy.text


def test_the_document_has_a_row_for_each_reading_and_the_verdict() -> None:
    check = document(FAULTY)
    assert (check.schema, check.command, check.complete) == (2, "check", True)
    assert (check.level, check.verdict, check.baseline) == ("quick", "fail", None)
    assert len(check.tests) == len(FAULTY.readings)
    slow = [x for x in check.tests if x.verdict == "low"]
    assert {x.device for x in slow} == {SLOW}
    assert all("Expected at least" in x.reason for x in slow)
    assert (check.tests[0].test, check.tests[0].reason) == ("present", "")


# The headline.


def test_the_headline_says_who_is_to_blame_and_what_to_do() -> None:
    worst, low = headline(FAULTY).split(". ", 1)
    assert worst.split()[:2] == ["FAIL", BROKEN]
    assert "numerics" in worst
    assert all(part in low for part in (SLOW, "compute"))
    assert headline(SOUND).split()[:2] == ["PASS", f"{len(QUICK)}"]
    impossible = replace(BEGUN, readings=(product("tpu:0", 400e12),)).stopped()
    assert "until a full check passes" in headline(impossible)
    assert headline(None) == ""


def test_while_it_is_running_it_says_how_far_it_is() -> None:
    assert headline(RUNNING).startswith("CHECKING ██████░")
    assert headline(RUNNING).endswith(f"░ {QUICK[3]} 4 of {len(QUICK)} so far: low")
    assert build(RUNNING).title == "check · quick · 8 devices"


def test_a_check_that_is_not_complete_says_so() -> None:
    stopped = play(tests=3).stopped()
    assert headline(stopped).split()[:4] == ["STOPPED", "3", "of", f"{len(QUICK)}"]
    assert {one.test for one in document(stopped).tests} == set(QUICK[:3])
    lost = play(faulty=False, tests=4).lost(Remark("engine-gone"))
    assert headline(lost).startswith(" INCOMPLETE ")
    assert "pass" in headline(lost)
    assert row(lost, "tpu:0")[-1] == "–"
    assert OUTCOME.code
    assert [OUTCOME.code(document(x)) for x in (SOUND, FAULTY, None)] == [0, 2, 0]


@pytest.mark.parametrize("width", [56, 76, 80, 116])
def test_no_line_is_wider_than_there_is_room(width: int) -> None:
    for exam in (FAULTY, RUNNING, BEGUN, None):
        written = terminal(build(exam), width)
        assert all(len(line) <= width for line in written.splitlines())


# The grid of devices and tests.


def heads(exam: Examination, width: int) -> list[str]:
    columns = fitting(view.grid(document(exam), exam).columns, width)
    return [column.head for column, _ in columns[1:]]


def row(exam: Examination, name: str) -> list[str]:
    """A line of the grid."""
    columns = view.grid(document(exam), exam).columns[1:]
    place = NAMES.index(name)
    return [as_text(column.cells[place]).plain.strip() for column in columns]


def test_the_grid_has_a_figure_or_a_mark_for_each_test_of_each_device() -> None:
    whole = dict(zip(QUICK, row(FAULTY, "tpu:0"), strict=True))
    shares = {"memory": "97%", "compute": "86%", "bandwidth": "86%"}
    assert whole == {test: shares.get(test, "✓") for test in QUICK}
    assert row(FAULTY, SLOW)[QUICK.index("compute")] == "▾56%"
    assert row(FAULTY, BROKEN)[QUICK.index("numerics")] == "✗"
    assert row(RUNNING, "tpu:0")[2:5] == [whole[QUICK[2]], "…", "·"]
    assert row(play(tests=3).stopped(), "tpu:0")[4] == "·"
    working = doing(BEGUN, "tpu:0")
    assert [row(working, f"tpu:{one}")[0] for one in (0, 1)] == ["…", "·"]


def test_where_there_is_no_room_those_that_say_least_go_first() -> None:
    assert heads(FAULTY, 200) == list(QUICK)
    kept = heads(FAULTY, 56)
    assert kept == [test for test in QUICK if test in kept]
    in_order = [test for test in LEAST_SAID if test in QUICK]
    assert {*QUICK} - {*kept} == {*in_order[: len(QUICK) - len(kept)]} != set()
    # What is wrong keeps its column.
    late = reading(test="dispatch", device="tpu:1", **wrong())
    exam = play(faulty=False)
    wrong_call = replace(exam, readings=(*exam.readings, late))
    assert "dispatch" in heads(wrong_call, 30)


# On the chip map.


@pytest.mark.parametrize(("width", "height"), [(30, 7), (19, 14)])
def test_the_map_has_marks_and_a_legend(width: int, height: int) -> None:
    found = view.marks(document(FAULTY), DEVICES)
    drawing = render(replace(layout(DEVICES), marks=found), width, height, "tpu:0")
    drawn = text(drawing)
    assert all(len(plain(line)) <= width for line in drawing)
    for mark in ("0✓", "3✗", "5▾", "✓ pass", "▾ low", "✗ FAIL"):
        assert mark in drawn
    roles = {span.device: span.role for line in drawing for span in line if span.device}
    assert roles["tpu:0"] == "check-pass-selected"
    assert roles[BROKEN] == "check-fail"
    assert roles[SLOW] == "check-low"


def test_devices_without_coords_have_marks_too() -> None:
    flat = [msgspec.structs.replace(one, coords=None) for one in DEVICES]
    found = view.marks(document(BEGUN), flat)
    drawn = text(render(replace(layout(flat), marks=found), 40, 8, None))
    assert all(f"[{number}·]" in drawn for number in range(8))
    assert "· untested" in drawn
