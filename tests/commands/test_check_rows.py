"""The rows of a check: few lines, nothing twice, nothing lost."""

from __future__ import annotations

from jaxtui.commands import check_text
from jaxtui.commands.check_block import block
from jaxtui.commands.check_verdict import closing
from jaxtui.health.examination import begin, observe
from jaxtui.health.rows import rows
from jaxtui.model import Check, Expected, Reading
from tests.commands.checking import PEAK, judged, reading, sound
from tests.commands.fakes import DEVICES
from tests.tui.fake_engine import tpu_devices


def product(device: str, rate: float, **changes: object) -> Reading:
    check = Check(test="compute", devices=(device,), budget_seconds=1.0)
    facts = {"what": "matmul 8192 bfloat16", "measured": rate, "expected": PEAK}
    return reading(check, device, **{**facts, **changes})


def test_devices_that_agree_share_a_line_and_the_slow_one_is_named_with_its_place() -> (
    None
):
    devices = tpu_devices()
    figures = [product(one.name, 168e12 + 1e11 * one.id) for one in devices]
    figures[3] = product("tpu:3", 101e12)
    text = block("compute", judged(figures, devices), devices)
    first, together, apart, reason, *_ = text.splitlines()
    assert first == "compute: low"
    assert together.split() == [
        *("matmul", "8192", "bfloat16", "tpu:0-2,", "4-7"),
        *("168-169", "of", "200", "TFLOP/s", "84", "%"),
    ]
    assert apart.split() == [
        *("matmul", "8192", "bfloat16", "tpu:3", "(3,0,0)"),
        *("101", "of", "200", "TFLOP/s", "50", "%"),
    ]
    assert reason.startswith("    low: 101 TFLOP/s, ")


def test_many_devices_with_one_trouble_are_told_in_one_row_that_names_them_all() -> (
    None
):
    devices = tpu_devices()
    faults = [
        product(one.name, 0.0, measured=None, fault=f"{one.name} gave garbage.")
        for one in devices
    ]
    text = block("compute", judged(faults, devices), devices)
    assert text.count("fail:") == 1
    for one in devices:
        assert f"{one.name} (" in text


def test_no_line_is_wider_than_a_terminal_and_nothing_is_lost() -> None:
    devices = tpu_devices()
    long = "host to device, 67108864 bytes at once, pinned, in pieces of 4194304 bytes"
    figures = [
        product(one.name, 50e12 + 1e11 * one.id, what=long, doubt="Why not. " * 20)
        for one in devices[:3]
    ]
    text = block("compute", judged(figures, devices), devices)
    assert max(map(len, text.splitlines())) <= 80
    for word in long.split():
        assert word in text


def test_what_was_left_out_is_one_sentence_for_all_devices() -> None:
    devices = tpu_devices()
    skipped = [
        product(one.name, 0.0, measured=None, skipped=f"{one.name} is too old.")
        for one in devices
    ]
    text = block("compute", judged(skipped, devices), devices)
    assert text.splitlines() == [
        "compute: skipped",
        "  skipped: matmul 8192 bfloat16: tpu:0-7: each is too old.",
    ]


def test_what_copies_nothing_is_one_sentence_for_all_sizes() -> None:
    devices = tpu_devices()[:2]
    said = "Zero-copy: nothing travels."
    nothing = {"measured": None, "expected": None, "said": said}
    copies = [
        product(one.name, 0.0, what=f"to host {size} MiB", **nothing)
        for size in (1, 8, 64)
        for one in devices
    ]
    text = block("compute", judged(copies, devices), devices)
    assert text.splitlines() == [
        "compute: pass",
        f"  to host 1 MiB and 2 more: tpu:0-1: {said}",
    ]


def test_rows_of_the_same_thing_follow_each_other_and_no_sentence_is_told_twice() -> (
    None
):
    devices = tpu_devices()[:4]
    figures = [
        product(one.name, 100e12 if one.id == slow else 170e12, what=what)
        for what, slow in (("matmul a", 0), ("matmul b", 3))
        for one in devices
    ]
    lines = block("compute", judged(figures, devices), devices).splitlines()
    heads = [line.split()[1:3] for line in lines if line.startswith("  matmul")]
    assert heads == [["a", "tpu:1-3"], ["a", "tpu:0"], ["b", "tpu:0-2"], ["b", "tpu:3"]]
    assert " ".join(" ".join(lines).split()).count("Usual causes") == 1


def test_of_a_sound_rate_only_the_remarks_are_printed() -> None:
    devices = tpu_devices()[:1]
    remark = "Other processes used 1.7 of 2 cores."
    found = [product("tpu:0", 170e12, said=f"5.6 ms per call, 12 rounds. {remark}")]
    text = block("compute", judged(found, devices), devices)
    assert text.splitlines()[2:] == [f"    {remark}"]


def test_figures_of_two_magnitudes_and_bounds_keep_their_units() -> None:
    devices = tpu_devices()[:2]
    wide = [product("tpu:0", 999e9, expected=None), product("tpu:1", 1e12)]
    (row,) = rows(judged([wide[0], product("tpu:1", 1e12, expected=None)], devices))
    assert row.figure == "999 GFLOP/s to 1.00 TFLOP/s"
    most = Expected(value=1e-2, kind="most", source="bfloat16 has 8 bits")
    error = product("tpu:0", 2e-3, unit="relative error", expected=most)
    (row,) = rows(judged([error], devices))
    assert row.figure == "2.0e-3, at most 1.0e-2"


def test_colours_are_only_paint() -> None:
    devices = tpu_devices()[:1]
    found = judged([product("tpu:0", 50e12)], devices)
    verdicts = [one.verdict for one in found]
    painted = block("compute", found, devices, colour=True)
    last = closing(verdicts, devices, colour=True)
    assert "\x1b[33mlow\x1b[0m" in painted
    for text, plain in (
        (painted, block("compute", found, devices)),
        (last, closing(verdicts, devices)),
    ):
        assert text.replace("\x1b[33m", "").replace("\x1b[0m", "") == plain


def test_the_progress_line_says_which_test_and_what_it_does() -> None:
    state = begin(DEVICES, "quick")
    for event in sound(state.waiting[0])[:2]:
        state = observe(state, event)
    line = check_text.progress_line(state, 3.0, 79, ascii_only=True)
    assert line == "-" * 20 + " 3 s  test 1 of 9, present: doing present"
    assert len(check_text.progress_line(state, 3.0, 30, ascii_only=False)) == 30
