"""What a check says: few lines, nothing twice, nothing lost, on any width."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from jaxtui.analysis.check import judge
from jaxtui.analysis.examination import Examination, begin
from jaxtui.model import (
    CHECK_TESTS,
    DEVICE,
    CheckDoing,
    CheckRead,
    Expected,
    Reading,
    RunStarted,
)
from jaxtui.view import check as view
from jaxtui.view import check_screen as screen
from jaxtui.view.check import NO_REPORT, report
from jaxtui.view.chipmap import layout, render
from jaxtui.view.text import Line, ansi, plain
from tests.analysis.figures import expected, reading
from tests.fake_engine import tpu_devices
from tests.tui.check_figures import BROKEN, SLOW, events

DEVICES = tpu_devices()
NAMES = [one.name for one in DEVICES]


def play(*, faulty: bool = True, tests: int = 8) -> Examination:
    """A check as far as so many tests."""
    exam = begin(DEVICES, "quick")
    for _ in range(tests):
        assert exam.next_work is not None
        for event in events(exam.next_work, faulty=faulty):
            exam = exam.observe(event)
    return exam


def doing(exam: Examination, what: str, *names: str) -> Examination:
    """The next test has begun on these devices."""
    assert exam.next_work is not None
    exam = exam.observe(RunStarted())
    return exam.observe(CheckDoing(devices=names, what=what))


BEGUN = begin(DEVICES, "quick")
FAULTY, SOUND = report(play()), report(play(faulty=False))
RUNNING = report(doing(play(tests=3), "copying 2 GiB on 8 devices", *NAMES))


def texts(lines: list[Line]) -> list[str]:
    return [plain(line) for line in lines]


def text(lines: list[Line]) -> str:
    return "\n".join(texts(lines))


# The whole text.


def product(device: str, rate: float | None, **changes: object) -> Reading:
    """By default of the same matrix product, beside the same peak."""
    return reading(rate, **{"device": device, "expected": expected(200e12), **changes})


def block(*found: Reading) -> list[str]:
    return texts(view.block("compute", judge(found, DEVICES), DEVICES))


def test_devices_that_agree_share_a_line_and_the_slow_one_has_its_place() -> None:
    figures = [product(one.name, 168e12 + 1e11 * one.id) for one in DEVICES]
    figures[3] = product("tpu:3", 101e12)
    first, together, apart, reason, *_ = block(*figures)
    assert first == "compute: low"
    line = "matmul 8192 bfloat16 tpu:0-2, 4-7 168-169 of 200 TFLOP/s 84 %"
    assert together.split() == line.split()
    line = "matmul 8192 bfloat16 tpu:3 at 3,0,0 101 of 200 TFLOP/s 50 %"
    assert apart.split() == line.split()
    assert reason.startswith("    low: 101 TFLOP/s, ")


def test_no_line_is_wider_than_a_terminal_and_nothing_is_lost() -> None:
    long = "host to device, 67108864 bytes at once, pinned, in pieces of 4194304 bytes"
    facts = {"what": long, "doubt": "Why not. " * 20}
    lines = block(*(product(one.name, 50e12, **facts) for one in DEVICES[:3]))
    assert max(map(len, lines)) <= 80
    assert all(word in " ".join(lines) for word in long.split())


SAID = "Zero-copy: nothing travels."
EVERYWHERE = [
    "    The same on each of tpu:0 at 0,0,0; tpu:1 at 1,0,0; tpu:2 at 2,0,0;",
    "    tpu:3 at 3,0,0; tpu:4 at 0,1,0; tpu:5 at 1,1,0; tpu:6 at 2,1,0;",
    "    tpu:7 at 3,1,0.",
]


@pytest.mark.parametrize(
    ("found", "lines"),
    [
        # What was left out is one sentence for all devices.
        (
            [product(name, None, skipped=f"{DEVICE} is too old.") for name in NAMES],
            [
                "compute: skipped",
                "  skipped: matmul 8192 bfloat16: tpu:0-7: each is too old.",
            ],
        ),
        # One trouble of many devices is told in one row that names them all.
        (
            [product(name, None, fault=f"{DEVICE} gave garbage.") for name in NAMES],
            [
                "compute: fail",
                "  matmul 8192 bfloat16  tpu:0-7",
                "    fail: tpu:0 at 0,0,0 gave garbage.",
                *EVERYWHERE,
            ],
        ),
        # Other troubles of as many are not the same.
        (
            [
                product(name, None, fault=f"{DEVICE} got {other}.", expected=None)
                for name, other in zip(NAMES[:2], NAMES[2:], strict=False)
            ],
            [
                "compute: fail",
                "  matmul 8192 bfloat16  tpu:0 at 0,0,0",
                "    fail: tpu:0 at 0,0,0 got tpu:2.",
                "  matmul 8192 bfloat16  tpu:1 at 1,0,0",
                "    fail: tpu:1 at 1,0,0 got tpu:3.",
            ],
        ),
        (
            [product(NAMES[5], None, skipped=f"{DEVICE} is too old.")],
            [
                "compute: skipped",
                "  skipped: matmul 8192 bfloat16: tpu:5 at 1,1,0 is too old.",
            ],
        ),
        # What copies nothing is one sentence for all sizes.
        (
            [
                product(
                    name, None, what=f"to host {size} MiB", expected=None, said=SAID
                )
                for size in (1, 8, 64)
                for name in ("tpu:0", "tpu:1")
            ],
            ["compute: pass", f"  to host 1 MiB and 2 more: tpu:0-1: {SAID}"],
        ),
        # A sound rate says all by itself; what is told of a dispatch is told once.
        (
            [
                product("tpu:0", 170e12, said="5.6 ms, 12 rounds.", what="a"),
                *(
                    product(
                        "tpu:0", 150e12, said=f"{ms} ms.", test="dispatch", what=f"{ms}"
                    )
                    for ms in (5, 6)
                ),
            ],
            [
                "compute: pass",
                "  a  tpu:0 at 0,0,0  170 of 200 TFLOP/s  85 %",
                "  5  tpu:0 at 0,0,0  150 of 200 TFLOP/s  75 %",
                "    5 ms.",
                "  6  tpu:0 at 0,0,0  150 of 200 TFLOP/s  75 %",
            ],
        ),
    ],
)
def test_blocks(found: list[Reading], lines: list[str]) -> None:
    assert block(*found) == lines


def test_rows_of_a_thing_follow_each_other_and_no_sentence_is_told_twice() -> None:
    lines = block(
        *(
            product(one.name, 100e12 if one.id == slow else 170e12, what=what)
            for what, slow in (("matmul a", 0), ("matmul b", 3))
            for one in DEVICES[:4]
        )
    )
    heads = [line.split()[1:3] for line in lines if line.startswith("  matmul")]
    assert heads == [["a", "tpu:1-3"], ["a", "tpu:0"], ["b", "tpu:0-2"], ["b", "tpu:3"]]
    told = " ".join(" ".join(lines).split())
    for sentence in ("At least 60 %", "75 to 97 %", "5 % between", "Usual causes"):
        assert told.count(sentence) == 1


def test_figures_of_two_magnitudes_and_bounds_keep_their_units() -> None:
    most = Expected(value=1e-2, kind="most", source="bfloat16 has 8 bits")
    all_four = Expected(value=4, kind="exact", source="the file")
    of_error = {"unit": "relative error", "expected": most}
    of_chips = {"unit": "chips", "test": "present", "expected": all_four, "fault": "!"}
    for values, facts, figure in (
        ((999e9, 1e12), {"expected": None}, "999 GFLOP/s to 1.00 TFLOP/s"),
        ((168e12, 171e12), {"expected": None}, "168-171 TFLOP/s"),
        ((168e12, 171e12), {}, "168-171 of 200 TFLOP/s"),
        ((900e9, 171e12), {}, "900 GFLOP/s to 171 of 200 TFLOP/s"),
        ((2e-3,), of_error, "2.0e-3, at most 1.0e-2"),
        ((1e-3, 2e-3), of_error, "1.0e-3-2.0e-3, at most 1.0e-2"),
        ((1,), of_chips, "1 chip of 4 chips"),
        ((3,), of_chips, "3 of 4 chips"),
    ):
        found = [
            product(f"tpu:{place}", value, **facts)
            for place, value in enumerate(values)
        ]
        row = view.Row(tuple(judge(found, DEVICES)))
        assert row.figure == figure


def test_colours_are_only_paint() -> None:
    lines = [
        *view.block("compute", FAULTY.of_test("compute"), DEVICES),
        *view.closing(FAULTY),
    ]
    shown = "\n".join(ansi(line, colour=True) for line in lines)
    assert "compute: \x1b[33mlow\x1b[0m" in shown
    assert "Verdict: \x1b[31mfail\x1b[0m. Do not rely on tpu:3 at 3,0,0" in shown
    for code in ("\x1b[31m", "\x1b[33m", "\x1b[0m"):
        shown = shown.replace(code, "")
    assert shown == text(lines)
    assert shown.endswith("Low besides: tpu:5 at 1,1,0 in compute and together.")


def test_of_more_than_the_hardware_can_do_nothing_is_to_be_believed() -> None:
    exam = begin(DEVICES, "quick").observe(CheckRead(reading=product("tpu:0", 400e12)))
    stopped = report(exam.stopped())
    assert row(stopped, "tpu:0")[2] == "!"
    said = text(screen.summary(stopped, 300))
    assert "so far: impossible. More than the hardware can do was measured: " in said
    assert "`jaxtui check --level full --device tpu:0` says otherwise" in said


# On a screen.


@pytest.mark.parametrize("width", [30, 56, 76, 116])
def test_no_line_is_wider_than_there_is_room(width: int) -> None:
    for shown in (FAULTY, RUNNING, report(BEGUN), NO_REPORT):
        lines = [*screen.troubles(shown, width), *screen.details(shown, BROKEN, width)]
        if width >= 56:
            lines += screen.summary(shown, width)
            lines += screen.figures(shown, "tpu:0", width)
            columns = screen.grid(shown, DEVICES, width)
            assert columns[0].width + sum(one.width + 1 for one in columns[1:]) <= width
        assert all(len(plain(line)) <= width for line in lines)


def heads(shown: view.Report, width: int) -> list[str]:
    return [one.head.strip() for one in screen.grid(shown, DEVICES, width)[1:]]


def row(shown: view.Report, name: str, width: int = 116) -> list[str]:
    """A line of the grid."""
    place = NAMES.index(name)
    columns = screen.grid(shown, DEVICES, width)[1:]
    return [plain(one.cells[place]).strip() for one in columns]


def test_a_device_has_a_line_for_each_figure() -> None:
    lines = screen.figures(FAULTY, "tpu:0", 76)
    tests = dict.fromkeys(plain(line).split()[0] for line in lines)
    assert " ".join(tests) == (
        "memory compute bandwidth transfer dispatch numerics together"
    )
    assert screen.figures(NO_REPORT, "tpu:0", 76) == []


@pytest.mark.parametrize(
    ("low", "sure", "role"),
    [(180e12, 0.99, "title"), (80e12, 0.99, "unknown"), (190e12, 0.0, "unknown")],
)
def test_a_figure_that_is_not_known_is_not_bold(
    low: float, sure: float, role: str
) -> None:
    found = product("tpu:0", 190e12, ci_low=low, ci_high=195e12, confidence=sure)
    exam = replace(BEGUN, readings=(found,))
    (line,) = screen.figures(report(exam), "tpu:0", 76)
    assert line[-1].role == role


def test_the_grid_has_a_figure_or_a_mark_for_each_test_of_each_device() -> None:
    assert row(FAULTY, "tpu:0") == ["✓", "97%", "86%", "86%", "✓", "✓", "✓", "✓"]
    assert row(FAULTY, SLOW)[2] == "▾56%"
    assert row(FAULTY, BROKEN)[6] == "✗"
    assert row(RUNNING, "tpu:0")[2:5] == ["86%", "…", "·"]
    assert row(report(play(tests=3).stopped()), "tpu:0")[4] == "·"
    working = report(doing(BEGUN, "counting", "tpu:0"))
    assert [row(working, f"tpu:{one}")[0] for one in (0, 1)] == ["…", "·"]
    badges = [plain(cell) for cell in screen.badges(working, DEVICES).cells]
    assert badges[:2] == ["…", ""]
    assert heads(FAULTY, 116) == list(CHECK_TESTS)
    # Where there is no room, those that say least share a column.
    assert heads(FAULTY, 76) == [*CHECK_TESTS]
    assert heads(report(BEGUN), 76) == heads(FAULTY, 76)
    said = ["compute", "bandwidth", "numerics", "together", "others"]
    assert heads(FAULTY, 56) == said
    assert row(FAULTY, BROKEN, 56)[2:] == ["✗", "✓", "4 ✓"]
    assert row(RUNNING, "tpu:0", 56)[-1] == "2 ✓"
    assert row(report(BEGUN), "tpu:0", 56)[-1] == "·"
    assert row(working, "tpu:0", 56)[-1] == "…"
    # What is wrong keeps its column, and is told where there is room for none.
    late = reading(None, test="dispatch", device="tpu:1", fault="It never came back.")
    exam = play(faulty=False)
    wrong = report(replace(exam, readings=(*exam.readings, late)))
    assert "dispatch" in heads(wrong, 56)
    assert heads(FAULTY, 20) == ["others"]
    assert [row(FAULTY, name, 20)[0] for name in (SLOW, BROKEN)] == ["▾56%", "✗"]
    badges = [plain(cell) for cell in screen.badges(FAULTY, DEVICES).cells]
    assert [badges[0], badges[3], badges[5]] == ["✓ pass", "✗ FAIL", "▾ low"]


def test_while_it_is_running_it_says_how_far_it_is() -> None:
    first, second = texts(screen.summary(RUNNING, 76))
    assert first == "CHECKING ██████░░░░░░░░░░ bandwidth 4 of 8 so far: low"
    assert second == "copying 2 GiB on 8 devices"
    stopping = replace(RUNNING, stopping=True)
    assert text(screen.summary(stopping, 76)).startswith("STOPPING ")
    assert screen.heading(RUNNING) == "check · quick · 8 devices"


def test_in_the_end_there_is_a_badge_and_a_line_for_what_did_not_pass() -> None:
    assert texts(screen.summary(FAULTY, 76))[0].startswith(
        " FAIL  Do not rely on tpu:3 at 3,0,0 in numerics."
    )
    assert texts(screen.summary(SOUND, 76))[0].startswith(" PASS  Everything that was")
    assert screen.troubles(SOUND, 76) == []
    lines = texts(screen.troubles(FAULTY, 76))
    tests = [line[2:].split()[0] for line in lines]
    assert tests == ["numerics", "compute", "together"]
    assert lines[0].startswith("✗ numerics  FAIL  tpu:3 at 3,0,0  tpu:3 gives")
    assert lines[0].endswith("…")
    assert "tpu:5 at 1,1,0  221 of 394 TFLOP/s (56 %)" in lines[1]
    # Where there is room, the whole reason.
    whole = text(screen.troubles(FAULTY, 76, 30))
    assert "seven sisters for the" in whole
    assert "…" not in whole


def test_all_of_a_device_is_told_on_demand() -> None:
    whole = text(screen.details(FAULTY, SLOW, 76))
    assert whole.startswith(f"{SLOW} at 1,1,0 in the check\n▾ low compute, matmul")
    assert "matmul 8192 int8" in whole
    assert "slower than the median" in " ".join(whole.split())
    assert "this machine as a whole\n✓ present, chips" in whole
    assert whole.count("cloud.google") == 1
    # Nothing is published for it: a dash, and not a sentence.
    assert "✓ transfer, host to device  12.1 GB/s —" in whole
    assert "nothing to compare" not in whole
    few = report(begin(DEVICES[:7], "quick"))
    assert screen.details(few, "tpu:7", 76) == []
    assert few.word_of("tpu:7") is None


def test_a_check_that_is_not_complete_says_so() -> None:
    stopped = report(play(tests=3).stopped())
    assert "STOPPED  3 of 8 tests" in text(screen.summary(stopped, 78))
    assert [stopped.is_done(test) for test in CHECK_TESTS[2:4]] == [True, False]
    assert {one.reading.test for one in stopped.verdicts} == set(CHECK_TESTS[:3])
    assert "Verdict of what there is: low." in text(view.closing(stopped))
    why = "JAX could not be started again."
    lost = report(play(faulty=False, tests=4).lost(why))
    assert " INCOMPLETE  the engine was lost" in text(screen.summary(lost, 78))
    assert "JAX could not be" in text(screen.troubles(lost, 76))
    assert row(lost, "tpu:0")[7] == "–"
    assert text(view.closing(lost)).endswith(
        "Verdict of what there is: pass. Check again."
    )


def test_what_was_judged_is_not_judged_again() -> None:
    exam = play(tests=3)
    first = report(exam)
    again = report(doing(exam, "copying", "tpu:0"), last=first)
    assert again.verdicts is first.verdicts
    assert report(None) is NO_REPORT


# On the chip map.


@pytest.mark.parametrize(("width", "height"), [(30, 7), (19, 14)])
def test_the_map_has_marks_and_a_legend(width: int, height: int) -> None:
    found = view.marks(FAULTY, DEVICES)
    lines = render(replace(layout(DEVICES), marks=found), width, height, "tpu:0")
    drawn = text(lines)
    assert all(len(plain(line)) <= width for line in lines)
    for mark in ("0✓", "3✗", "5▾", "✓ pass", "▾ low", "✗ FAIL"):
        assert mark in drawn
    roles = {span.device: span.role for line in lines for span in line if span.device}
    assert roles["tpu:0"] == "check-pass-selected"
    assert roles[BROKEN] == "check-fail"
    assert roles[SLOW] == "check-low"


def test_devices_without_coords_or_of_another_process_have_marks_too() -> None:
    flat = [msgspec.structs.replace(one, coords=None) for one in DEVICES]
    found = view.marks(report(BEGUN), flat)
    drawn = text(render(replace(layout(flat), marks=found), 40, 8, None))
    assert "[0·][1·]" in drawn
    assert "· untested" in drawn
    few = report(begin(DEVICES[:7], "quick"))
    assert view.marks(few, DEVICES)["tpu:7"].word == "untested"
