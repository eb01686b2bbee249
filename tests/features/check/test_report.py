"""What a check says: its rows, notes, grid and headline."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from rich.text import Text

from jaxtui.core.model import CheckDoing, Expected, Reading, Remark, RunStarted
from jaxtui.core.state import EMPTY, State
from jaxtui.features.check import report as view
from jaxtui.features.check.exam import Examination, begin, of_level
from jaxtui.features.check.messages import Checked
from jaxtui.features.check.report import LEAST_SAID, OUTCOME
from jaxtui.ui.chipmap import layout, render
from jaxtui.ui.report import Report, Rows, as_text, fitting, terminal
from jaxtui.ui.text import plain
from tests.core.figures import crowded, expected, reading, wrong
from tests.fake_engine import tpu_devices
from tests.features.check.check_figures import BROKEN, SLOW, events

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


@pytest.mark.parametrize("width", [56, 76, 80, 116])
def test_no_line_is_wider_than_there_is_room(width: int) -> None:
    for exam in (FAULTY, RUNNING, BEGUN, None):
        written = terminal(build(exam), width)
        assert all(len(line) <= width for line in written.splitlines())


def test_where_there_is_no_room_those_that_say_least_go_first() -> None:
    def heads(exam: Examination, width: int) -> list[str]:
        columns = fitting(view.grid(document(exam), exam).columns, width)
        return [column.head for column, _ in columns[1:]]

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


def test_rows() -> None:
    """Devices that agree share one, the best first; so do many with one trouble."""
    figures = [product(one.name, 168e12 + 1e11 * one.id, what="a") for one in DEVICES]
    figures[3] = product("tpu:3", 101e12, what="a")
    others = [
        product(name, 1e14 if name == "tpu:0" else 17e13, what="b") for name in NAMES
    ]
    table = report_of(*figures, *others).tables[-1]
    assert cells(table, "", "figure", "device", "measured", "expected", "share") == [
        *(
            (
                "✓",
                figures[0].what,
                "7 devices",
                "168–169 TFLOP/s",
                "200 TFLOP/s",
                "84 %",
            ),
        ),
        ("▾", "a", "tpu:3", "101 TFLOP/s", "200 TFLOP/s", "50 %"),
        ("✓", "b", "7 devices", "170 TFLOP/s", "200 TFLOP/s", "85 %"),
        ("▾", "b", "tpu:0", "100 TFLOP/s", "200 TFLOP/s", "50 %"),
    ]
    for names, rows in ((NAMES, ["all"]), (NAMES[:2], NAMES[:2])):
        broken = report_of(*(product(name, **wrong()) for name in names))
        assert [device for (device,) in cells(broken.tables[-1], "device")] == rows


def test_others_on_the_cores_are_told_once() -> None:
    used = [
        product(name, 170e12, remarks=(crowded(0.1 * n),))
        for n, name in enumerate(NAMES)
    ]
    (busy,) = (note for note in report_of(*used).notes if note.flag == "busy machine")
    assert busy.about == ()
    assert "0.7 of 2 cores" in busy.text


LOST = play(faulty=False, tests=4).lost(Remark("engine-gone"))
IMPOSSIBLE = replace(BEGUN, readings=(product("tpu:0", 400e12),)).stopped()


@pytest.mark.parametrize(
    ("exam", "begin", "end", "code"),
    [
        (FAULTY, " FAIL  tpu:3 at 3,0,0 in numerics", "", 2),
        (SOUND, f" PASS  {len(QUICK)} ran", "", 0),
        (IMPOSSIBLE, "", "until a full check passes.", 2),
        (RUNNING, "CHECKING ██████░", f"{QUICK[3]} 4 of {len(QUICK)} so far: low", 1),
        (play(tests=3).stopped(), f" STOPPED  3 of {len(QUICK)} tests", "", 1),
        (LOST, " INCOMPLETE ", "pass.", 0),
        (None, "", "", 0),
    ],
)
def test_the_headline_and_the_code(
    exam: Examination | None, begin: str, end: str, code: int
) -> None:
    headline = build(exam).headline.plain
    assert headline.startswith(begin)
    assert headline.endswith(end)
    assert OUTCOME.code
    assert OUTCOME.code(document(exam)) == code


def test_the_grid_has_a_mark_for_what_is_done_at_work_or_waits() -> None:
    def row(exam: Examination, name: str) -> str:
        columns = view.grid(document(exam), exam).columns[1:]
        place = NAMES.index(name)
        return " ".join(as_text(one.cells[place]).plain.strip() for one in columns)

    assert row(FAULTY, "tpu:0") == "✓ 97% 86% 86% ✓ ✓ ✓"
    assert row(FAULTY, SLOW) == "✓ 97% ▾56% 86% ✓ ✓ ✓"
    assert row(FAULTY, BROKEN) == "✓ 97% 85% 86% ✓ ✓ ✗"
    assert row(RUNNING, "tpu:0") == "✓ 97% 86% … · · ·"
    assert row(play(tests=3).stopped(), "tpu:0") == "✓ 97% 86% · · · ·"
    assert row(doing(BEGUN, "tpu:0"), "tpu:1") == "· · · · · · ·"
    assert row(LOST, "tpu:0") == "✓ 97% 86% 86% – – –"


@pytest.mark.parametrize(("width", "height"), [(30, 7), (19, 14)])
def test_the_map_has_marks_and_a_legend(width: int, height: int) -> None:
    found = view.marks(document(FAULTY), DEVICES)
    drawing = render(replace(layout(DEVICES), marks=found), width, height, "tpu:0")
    drawn = "\n".join(map(plain, drawing))
    assert all(len(plain(line)) <= width for line in drawing)
    for mark in ("0✓", "3✗", "5▾", "✓ pass", "▾ low", "✗ FAIL"):
        assert mark in drawn
    roles = {span.device: span.role for line in drawing for span in line if span.device}
    assert roles["tpu:0"] == "check-pass-selected"
    assert (roles[BROKEN], roles[SLOW]) == ("check-fail", "check-low")
    flat = [replace(one, coords=None) for one in DEVICES]
    bare = replace(layout(flat), marks=view.marks(document(BEGUN), flat))
    drawn = "\n".join(map(plain, render(bare, 40, 8, None)))
    assert all(f"[{number}·]" in drawn for number in range(8))
    assert "· untested" in drawn
