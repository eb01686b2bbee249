"""What a check says: rows, the report of a check, its grid and its headline."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from jaxtui.analysis.check import Verdict, judge
from jaxtui.analysis.examination import Examination, begin, of_level
from jaxtui.model import CheckDoing, Expected, Reading, Remark, RunStarted
from jaxtui.ui.report import Report, Rows, terminal
from jaxtui.view import check as view
from jaxtui.view.check import CHECK_DOING, NO_JUDGEMENT, Judgement, judged
from jaxtui.view.chipmap import layout, render
from jaxtui.view.text import Line, fit, plain
from tests.analysis.figures import crowded, expected, reading, skipped, wrong
from tests.fake_engine import tpu_devices
from tests.tui.check_figures import BROKEN, FIGURES, OTHER, SLOW, events

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


BEGUN = begin(DEVICES, "quick")
FAULTY, SOUND = judged(play()), judged(play(faulty=False))
RUNNING = judged(doing(play(tests=3), *NAMES))


def text(found: list[Line]) -> str:
    return "\n".join(map(plain, found))


def headline(check: Judgement) -> str:
    return plain(view.build(check).verdict)


def product(device: str, rate: float | None = None, **changes: object) -> Reading:
    """By default of the same matrix product, beside the same peak."""
    facts = {"measured": rate, "device": device, "expected": expected(200e12)}
    return reading(**{**facts, **changes})


def report_of(*found: Reading) -> Report:
    return view.build(judged(replace(BEGUN, readings=found).stopped()))


def cells(table: Rows, *keys: str) -> list[tuple[str, ...]]:
    """The texts of some columns, row by row."""
    columns = {column.key: column for column in table.columns}
    texts = [[plain(cell) for cell in columns[key].cells] for key in keys]
    return list(zip(*texts, strict=True))


def statements(report: Report) -> dict[str, tuple[str, ...]]:
    return {one.remark.code: one.about for one in report.notes}


# Figures.


def test_devices_that_agree_share_a_row_and_the_slow_one_has_its_own() -> None:
    figures = [product(one.name, 168e12 + 1e11 * one.id) for one in DEVICES]
    figures[3] = product("tpu:3", 101e12)
    table = report_of(*figures).tables[-1]
    assert cells(table, "word", "device", "measured", "expected", "share") == [
        ("✓", "7 devices", "168–169 TFLOP/s", "200 TFLOP/s", "84 %"),
        ("▾", "tpu:3", "101 TFLOP/s", "200 TFLOP/s", "50 %"),
    ]


def test_many_devices_with_one_trouble_share_a_row() -> None:
    figures = [product(name, **wrong()) for name in NAMES]
    assert cells(report_of(*figures).tables[-1], "word") == [("✗",)]
    apart = [product(name, **wrong()) for name in NAMES[:2]]
    table = report_of(*apart).tables[-1]
    assert cells(table, "device") == [("tpu:0",), ("tpu:1",)]


def test_what_was_skipped_is_a_remark_and_no_row() -> None:
    found = report_of(
        product("tpu:0", 170e12),
        product("tpu:1", what="matmul 64 int8", **skipped()),
    )
    assert cells(found.tables[-1], "test", "what") == [
        ("compute", "matmul 8192 bfloat16")
    ]
    assert statements(found)["no-time-left"] == ("compute of tpu:1",)


def test_rows_of_a_thing_follow_each_other_the_best_first() -> None:
    table = report_of(
        *(
            product(one.name, 100e12 if one.id == slow else 170e12, what=what)
            for what, slow in (("matmul a", 0), ("matmul b", 3))
            for one in DEVICES[:4]
        )
    ).tables[-1]
    assert cells(table, "what", "device") == [
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
    row = view.Row(judge(found, DEVICES))
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
    (cell,) = next(one for one in columns if one.key == "measured").cells
    assert cell[0].role == role


# Remarks.


def test_each_remark_is_there_once_with_its_tests_and_devices() -> None:
    found = view.build(FAULTY)
    assert [(one.remark.code, one.about) for one in found.notes[:4]] == [
        ("odd-one-out", (f"numerics of {BROKEN}",)),
        ("below-the-peak", (f"compute of {SLOW}",)),
        ("below-the-peak", (f"compute of {SLOW}",)),
        ("behind-the-others", (f"compute of {SLOW}",)),
    ]
    expectations = {
        one.remark.facts["rule"]: one.about
        for one in found.notes
        if one.remark.code == "expected"
    }
    figures = {
        rule: {one.reading.what for one in FAULTY.verdicts if rule == _rule(one)}
        for rule in ("counted-by", "published", "rounding-bound")
    }
    assert {rule: {*about} for rule, about in expectations.items()} == figures
    assert statements(found)["no-expectation"] == tuple(
        test
        for test in QUICK[1:]
        if any(figure[-1] is None for figure in FIGURES.get(test, OTHER))
    )


def _rule(verdict: Verdict) -> str:
    return verdict.source.code if verdict.source else ""


def test_others_on_the_cores_are_told_once() -> None:
    used = [
        product(name, 170e12, remarks=(crowded(0.1 * n),))
        for n, name in enumerate(NAMES)
    ]
    found = report_of(*used)
    (busy,) = [one for one in found.notes if one.remark.code == "contended"]
    assert busy.about == ()
    assert busy.remark.facts["used_cores"] == pytest.approx(0.1 * (len(NAMES) - 1))


def test_of_one_device_there_is_its_part_and_the_machine() -> None:
    found = view.of_device(FAULTY, SLOW)
    tests = [test for (test,) in cells(found.tables[0], "test") if test]
    assert tests == list(QUICK)
    assert "odd-one-out" not in statements(found)
    assert "behind-the-others" in statements(found)
    few = judged(begin(DEVICES[:7], "quick"))
    assert view.of_device(few, "tpu:7").tables == ()


# The headline.


def test_the_headline_says_who_is_to_blame_and_what_to_do() -> None:
    worst, low = headline(FAULTY).split(". ", 1)
    assert worst.split()[:2] == ["FAIL", BROKEN]
    assert "numerics" in worst
    assert all(part in low for part in (SLOW, "compute"))
    assert headline(SOUND).split()[:2] == ["PASS", f"{len(QUICK)}"]
    impossible = judged(replace(BEGUN, readings=(product("tpu:0", 400e12),)).stopped())
    assert "`jaxtui check --level full --device tpu:0`" in headline(impossible)
    assert headline(NO_JUDGEMENT) == ""


def test_while_it_is_running_it_says_how_far_it_is() -> None:
    place = f"{QUICK[3]} 4 of {len(QUICK)}, {CHECK_DOING[QUICK[3]]}"
    head = f"{place} on tpu:0, tpu:1, tpu:2 and 5 more so far: low"
    assert headline(RUNNING).startswith("CHECKING ██████░")
    assert headline(RUNNING).endswith(f"░ {head}")
    assert headline(replace(RUNNING, stopping=True)).startswith("STOPPING ")
    assert view.build(RUNNING).title == "check · quick · 8 devices"


def test_a_check_that_is_not_complete_says_so() -> None:
    stopped = judged(play(tests=3).stopped())
    assert headline(stopped).split()[:4] == ["STOPPED", "3", "of", f"{len(QUICK)}"]
    assert [stopped.is_done(test) for test in QUICK[2:4]] == [True, False]
    assert {one.reading.test for one in stopped.verdicts} == set(QUICK[:3])
    lost = judged(play(faulty=False, tests=4).lost(Remark("engine-gone")))
    assert headline(lost).startswith(" INCOMPLETE ")
    assert "pass" in headline(lost)
    assert row(lost, "tpu:0")[-1] == "–"
    assert "engine-gone" in statements(view.build(lost))


def test_what_was_judged_is_not_judged_again() -> None:
    exam = play(tests=3)
    first = judged(exam)
    again = judged(doing(exam, "tpu:0"), last=first)
    assert again.verdicts is first.verdicts
    assert judged(None) is NO_JUDGEMENT


@pytest.mark.parametrize("width", [56, 76, 80, 116])
def test_no_line_is_wider_than_there_is_room(width: int) -> None:
    for check in (FAULTY, RUNNING, judged(BEGUN), NO_JUDGEMENT):
        for report in (view.build(check), view.of_device(check, BROKEN)):
            assert all(
                len(line) <= width for line in terminal(report, width).splitlines()
            )


# The grid of devices and tests.


def heads(check: Judgement, width: int) -> list[str]:
    return [one.key for one in fit(view.grid(check, DEVICES), width, 1).columns[1:]]


def row(check: Judgement, name: str) -> list[str]:
    """A line of the grid."""
    place = NAMES.index(name)
    columns = view.grid(check, DEVICES)[1:]
    return [plain(one.cells[place]).strip() for one in columns]


def test_the_grid_has_a_figure_or_a_mark_for_each_test_of_each_device() -> None:
    whole = dict(zip(QUICK, row(FAULTY, "tpu:0"), strict=True))
    shares = {"memory": "97%", "compute": "86%", "bandwidth": "86%"}
    assert whole == {test: shares.get(test, "✓") for test in QUICK}
    assert row(FAULTY, SLOW)[QUICK.index("compute")] == "▾56%"
    assert row(FAULTY, BROKEN)[QUICK.index("numerics")] == "✗"
    assert row(RUNNING, "tpu:0")[2:5] == [whole[QUICK[2]], "…", "·"]
    assert row(judged(play(tests=3).stopped()), "tpu:0")[4] == "·"
    working = judged(doing(BEGUN, "tpu:0"))
    assert [row(working, f"tpu:{one}")[0] for one in (0, 1)] == ["…", "·"]
    badges = [plain(cell) for cell in view.badges(working, DEVICES).cells]
    assert badges[:2] == ["…", ""]
    badges = [plain(cell) for cell in view.badges(FAULTY, DEVICES).cells]
    assert [badges[0], badges[3], badges[5]] == ["✓ pass", "✗ FAIL", "▾ low"]


def test_where_there_is_no_room_those_that_say_least_go_first() -> None:
    assert heads(FAULTY, 200) == list(QUICK)
    kept = heads(FAULTY, 56)
    assert kept == [test for test in QUICK if test in kept]
    in_order = [test for test in CHECK_DOING if test in QUICK]
    assert {*QUICK} - {*kept} == {*in_order[: len(QUICK) - len(kept)]} != set()
    # What is wrong keeps its column.
    late = reading(test="dispatch", device="tpu:1", **wrong())
    exam = play(faulty=False)
    wrong_call = judged(replace(exam, readings=(*exam.readings, late)))
    assert "dispatch" in heads(wrong_call, 30)


# On the chip map.


@pytest.mark.parametrize(("width", "height"), [(30, 7), (19, 14)])
def test_the_map_has_marks_and_a_legend(width: int, height: int) -> None:
    found = view.marks(FAULTY, DEVICES)
    drawing = render(replace(layout(DEVICES), marks=found), width, height, "tpu:0")
    drawn = text(drawing)
    assert all(len(plain(line)) <= width for line in drawing)
    for mark in ("0✓", "3✗", "5▾", "✓ pass", "▾ low", "✗ FAIL"):
        assert mark in drawn
    roles = {span.device: span.role for line in drawing for span in line if span.device}
    assert roles["tpu:0"] == "check-pass-selected"
    assert roles[BROKEN] == "check-fail"
    assert roles[SLOW] == "check-low"


def test_devices_without_coords_or_of_another_process_have_marks_too() -> None:
    flat = [msgspec.structs.replace(one, coords=None) for one in DEVICES]
    found = view.marks(judged(BEGUN), flat)
    drawn = text(render(replace(layout(flat), marks=found), 40, 8, None))
    assert all(f"[{number}·]" in drawn for number in range(8))
    assert "· untested" in drawn
    few = judged(begin(DEVICES[:7], "quick"))
    assert view.marks(few, DEVICES)["tpu:7"].word == "untested"
