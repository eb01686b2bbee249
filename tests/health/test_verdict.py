"""One rule of the verdicts after the other; figures of real chips are in test_chips."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from jaxtui.health.verdict import EXIT_CODES, SEVERITY, judge, of_device, overall
from jaxtui.model import Reading
from tests.health.making import (
    baseline,
    cpus,
    device,
    expected,
    reading,
    tpus,
    verdict,
)


def test_a_fault_is_a_failure_whatever_the_figure() -> None:
    found = verdict(
        reading(100.0, expected=expected(90), fault="It broke off", detail="Traceback")
    )
    assert found.verdict == "fail"
    assert found.reason == "It broke off."
    assert found.detail == "Traceback"
    assert (found.expected, found.source) == (90, "a datasheet")


def test_what_the_fault_says_already_is_not_said_twice() -> None:
    found = verdict(
        reading(2.0, fault="v5e-4 is 4 chips. JAX sees 2.", said="v5e-4 is 4 chips.")
    )
    assert found.reason == "v5e-4 is 4 chips. JAX sees 2."


def test_what_was_skipped_is_skipped_and_says_why() -> None:
    found = verdict(reading(None, skipped="A CPU has no such thing."))
    assert (found.verdict, found.source) == ("skipped", "not measured")
    assert found.reason == "A CPU has no such thing."


def test_a_doubt_is_low_beside_a_good_figure() -> None:
    found = verdict(reading(190e12, expected=expected(197e12), doubt="It is noisy"))
    assert found.verdict == "low"
    assert found.reason == "It is noisy. 190 TFLOP/s, 96 % of the peak of 197 TFLOP/s."


def test_a_doubt_does_not_excuse_an_impossible_figure() -> None:
    found = verdict(reading(900e12, expected=expected(197e12), doubt="It is noisy"))
    assert found.verdict == "impossible"


def test_a_doubt_without_a_figure_is_low() -> None:
    found = verdict(reading(None, doubt="Somebody else uses this device."))
    assert (found.verdict, found.source) == ("low", "the test itself")
    assert found.reason == "Somebody else uses this device."


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("kind", ["peak", "least", "most", "exact"])
def test_a_figure_that_is_not_finite_never_passes(odd: float, kind: Any) -> None:
    assert verdict(reading(odd, expected=expected(1.0, kind))).verdict == "fail"
    assert verdict(reading(odd)).verdict == "fail"
    assert verdict(reading(odd, doubt="hm")).verdict == "fail"


def test_nan_that_the_wire_made_null_never_passes() -> None:
    sent = reading(
        math.nan,
        test="numerics",
        unit="relative error",
        expected=expected(1e-2, "most"),
        said="1024 rows of 8192 were compared.",
    )
    arrived = msgspec.json.decode(msgspec.json.encode(sent), type=Reading)
    assert arrived.measured is None
    assert verdict(arrived).verdict == "fail"


def test_words_without_a_figure_pass_and_silence_does_not() -> None:
    found = verdict(reading(None, unit="", said="8 chips, 1 process."))
    assert (found.verdict, found.expected) == ("pass", None)
    assert found.reason == "8 chips, 1 process."
    assert verdict(reading(None, unit="")).verdict == "skipped"


@pytest.mark.parametrize(
    ("kind", "test", "measured", "word", "clause"),
    [
        ("exact", "present", 4, "pass", "4 chips, as expected."),
        ("exact", "present", 3, "fail", "3 chips, not the expected 4 chips."),
        ("exact", "present", 5, "fail", "5 chips, not the expected 4 chips."),
        ("least", "memory", 4, "pass", "4 chips, at least the expected 4 chips."),
        ("least", "memory", 3, "low", "3 chips, less than the expected 4 chips."),
        ("most", "steady", 4, "pass", "4 chips, within the bound of 4 chips."),
        ("most", "steady", 5, "low", "5 chips, above the bound of 4 chips."),
        ("most", "together", 5, "low", "5 chips, above the bound of 4 chips."),
        ("most", "numerics", 4, "pass", "4 chips, within the bound of 4 chips."),
        ("most", "numerics", 5, "fail", "5 chips, above the bound of 4 chips."),
    ],
)
def test_bounds(kind: Any, test: Any, measured: float, word: str, clause: str) -> None:
    one = reading(measured, test=test, unit="chips", expected=expected(4, kind))
    found = verdict(one)
    assert (found.verdict, found.reason) == (word, clause)
    assert (found.expected, found.source, found.share) == (4, "a datasheet", None)


def test_without_anything_to_compare_with_it_passes_and_says_so() -> None:
    one = reading(105e9, device="cpu:0", said="Four threads.")
    found = verdict(one, cpus(1))
    assert (found.verdict, found.expected, found.share) == ("pass", None, None)
    assert found.source == (
        "nothing to compare with: no peak is published for cpu here; save a baseline"
        " with --save-baseline"
    )
    assert found.reason == "105 GFLOP/s. Four threads."


def test_a_link_has_no_peak_to_miss() -> None:
    found = verdict(reading(26e9, test="transfer", unit="bytes/s"))
    assert "peak" not in found.source
    assert "--save-baseline" in found.source


def test_a_transfer_has_no_usual_share_of_its_peak() -> None:
    one = reading(1e9, test="transfer", unit="bytes/s", expected=expected(32e9))
    assert verdict(one).verdict == "pass"
    faster = msgspec.structs.replace(one, measured=40e9)
    assert verdict(faster).verdict == "impossible"


def test_a_share_that_is_nearly_enough_does_not_read_as_enough() -> None:
    found = verdict(reading(59.99e12, expected=expected(100e12)))
    assert found.verdict == "low"
    assert "just under 60 % of the peak" in found.reason


# Baselines.


def rates(found: float, before: float, **more: Any) -> Any:
    return verdict(reading(found, **more), kept=baseline([reading(before)]))


def test_a_baseline_decides_where_there_is_no_peak() -> None:
    found = rates(95e12, 100e12)
    assert (found.verdict, found.expected) == ("pass", 100e12)
    assert found.source == "baseline monday of 2026-11-20"
    assert found.share == pytest.approx(0.95)
    assert (
        found.reason == "95.0 TFLOP/s, 95 % of the 100 TFLOP/s of the baseline monday."
    )


@pytest.mark.parametrize(("measured", "word"), [(90.1, "pass"), (89.9, "low")])
def test_an_accelerator_is_held_to_nine_tenths_of_its_baseline(
    measured: float, word: str
) -> None:
    assert rates(measured * 1e12, 100e12).verdict == word


@pytest.mark.parametrize(("measured", "word"), [(70.1, "pass"), (69.9, "low")])
def test_a_cpu_is_granted_its_clocks(measured: float, word: str) -> None:
    kept = baseline([reading(100e9, device="cpu:0")], cpus())
    one = reading(measured * 1e9, device="cpu:0")
    assert verdict(one, cpus(), kept).verdict == word


def test_what_others_disturbed_is_not_compared_with_a_baseline_and_says_so() -> None:
    kept = baseline([reading(100e9, device="cpu:0")], cpus())
    one = reading(10e9, device="cpu:0", disturbed="Others used 1.5 of 2 cores.")
    found = verdict(one, cpus(), kept)
    assert found.verdict == "pass"
    assert "Others used 1.5 of 2 cores." in found.reason
    assert "not compared" in found.source


@pytest.mark.parametrize(("measured", "word"), [(0.21, "pass"), (0.19, "low")])
def test_a_disturbed_sister_is_low_only_if_it_is_far_behind(
    measured: float, word: str
) -> None:
    busy = "Others used 1.5 of 2 cores."
    slow = reading(measured * 1e12, device="cpu:0", disturbed=busy)
    others = [reading(1e12, device=one.name, disturbed=busy) for one in cpus(3)[1:]]
    assert judge([slow, *others], cpus(3))[0].verdict == word


def test_a_good_share_of_the_peak_below_the_baseline_is_low_and_says_both() -> None:
    found = rates(150e12, 190e12, expected=expected(197e12))
    assert (found.verdict, found.expected) == ("low", 190e12)
    assert found.source == "baseline monday of 2026-11-20"
    assert "76 % of the peak of 197 TFLOP/s; 79 % of the 190 TFLOP/s" in found.reason
    assert "where at least 90 % is expected" in found.reason


def test_the_peak_stays_what_is_expected_where_both_are_met() -> None:
    found = rates(180e12, 185e12, expected=expected(197e12))
    assert (found.verdict, found.expected) == ("pass", 197e12)
    assert "baseline monday" in found.reason


def test_an_impossible_figure_is_impossible_whatever_the_baseline_says() -> None:
    found = rates(300e12, 300e12, expected=expected(197e12))
    assert (found.verdict, found.expected) == ("impossible", 197e12)


@pytest.mark.parametrize(
    ("unit", "test", "measured", "word"),
    [
        ("seconds", "steady", 1.10, "pass"),
        ("seconds", "steady", 1.12, "low"),
        ("seconds", "dispatch", 2.90, "pass"),
        ("seconds", "dispatch", 3.10, "low"),
        ("seconds", "dispatch", 0.10, "pass"),
        ("", "together", 1.90, "pass"),
        ("bytes", "memory", 0.89, "low"),
        ("bytes", "memory", 1.50, "pass"),
        ("bytes/s", "transfer", 0.71, "pass"),
        ("bytes/s", "transfer", 0.69, "low"),
        ("relative error", "numerics", 90.0, "pass"),
        ("chips", "present", 0.5, "pass"),
    ],
)
def test_the_direction_of_a_baseline(
    unit: Any, test: Any, measured: float, word: str
) -> None:
    one = reading(measured, unit=unit, test=test)
    kept = baseline([msgspec.structs.replace(one, measured=1.0)])
    assert verdict(one, kept=kept).verdict == word


@pytest.mark.parametrize(("kind", "word"), [("least", "low"), ("most", "pass")])
def test_what_was_expected_gives_the_direction(kind: Any, word: str) -> None:
    bound = expected(0.1 if kind == "least" else 10, kind)
    one = reading(0.5, unit="bytes", test="memory", expected=bound)
    kept = baseline([msgspec.structs.replace(one, measured=1.0)])
    assert verdict(one, kept=kept).verdict == word


def test_intervals_that_overlap_prove_nothing() -> None:
    before = reading(100e12, ci_low=80e12, ci_high=120e12)
    near = reading(85e12, ci_low=70e12, ci_high=90e12)
    found = verdict(near, kept=baseline([before]))
    assert found.verdict == "pass"
    assert "may be chance" in found.reason
    far = reading(75e12, ci_low=70e12, ci_high=79e12)
    assert verdict(far, kept=baseline([before])).verdict == "low"


def test_a_baseline_of_another_device_of_the_kind_will_do() -> None:
    kept = baseline([reading(100e12, device="tpu:0"), reading(50e12, device="tpu:1")])
    assert verdict(reading(80e12, device="tpu:3"), kept=kept).expected == 100e12
    assert verdict(reading(49e12, device="tpu:1"), kept=kept).expected == 50e12
    other = [device(3, "TPU v4")]
    assert verdict(reading(80e12, device="tpu:3"), other, kept).expected is None


def test_a_baseline_without_the_figure_is_said() -> None:
    kept = baseline([reading(1.0, what="matmul 64 int8")])
    found = verdict(reading(80e12), kept=kept)
    assert (found.verdict, found.expected) == ("pass", None)
    assert "the baseline monday has none" in found.source


def test_a_reading_of_the_machine_is_compared_with_that_of_the_machine() -> None:
    whole = reading(1.0, device=None, unit="seconds", test="together")
    kept = baseline([msgspec.structs.replace(whole, device="tpu:0"), whole])
    late = msgspec.structs.replace(whole, measured=2.0)
    assert verdict(late, kept=kept).verdict == "low"
    only = baseline([msgspec.structs.replace(whole, device="tpu:0")])
    assert verdict(late, kept=only).verdict == "pass"


# Sisters.


def test_a_straggler_is_low_and_named_by_its_place() -> None:
    readings = [reading(169e12, device=f"tpu:{index}") for index in range(8)]
    readings[5] = reading(105e12, device="tpu:5", expected=expected(140e12))
    found = judge(readings, tpus())
    assert [one.verdict for one in found] == ["pass"] * 5 + ["low"] + ["pass"] * 2
    slow = found[5]
    assert slow.source == "its sister devices"
    assert slow.expected == 169e12
    assert slow.reason.startswith("105 TFLOP/s, 75 % of the peak of 140 TFLOP/s.")
    assert (
        "tpu:5 at 1,1,0 is 38 % slower than the median of the other 7 devices"
        " (169 TFLOP/s)." in slow.reason
    )
    assert overall(found) == "low"


@pytest.mark.parametrize(
    ("devices", "measured", "word"),
    [
        (tpus(3), 0.91, "pass"),
        (tpus(3), 0.89, "low"),
        (cpus(3), 0.51, "pass"),
        (cpus(3), 0.49, "low"),
        (cpus(3, simulated=False), 0.51, "pass"),
        (tpus(2), 0.89, "low"),
    ],
)
def test_how_far_sisters_may_differ(devices: Any, measured: float, word: str) -> None:
    readings = [reading(1e12, device=one.name) for one in devices[1:]]
    slow = reading(measured * 1e12, device=devices[0].name)
    found = judge([slow, *readings], devices)
    assert [one.verdict for one in found] == [word] + ["pass"] * len(readings)


@pytest.mark.parametrize(("end", "word"), [(0.45e12, "low"), (0.55e12, "pass")])
def test_a_device_of_the_host_must_be_slow_in_all_rounds(end: float, word: str) -> None:
    slow = reading(0.4e12, device="cpu:0", ci_low=0.3e12, ci_high=end)
    others = [reading(1e12, device=f"cpu:{index}") for index in (1, 2)]
    assert judge([slow, *others], cpus())[0].verdict == word
    named = {"cpu:0": "tpu:0", "cpu:1": "tpu:1", "cpu:2": "tpu:2"}
    chips = [
        msgspec.structs.replace(one, device=named[one.device or ""])
        for one in (slow, *others)
    ]
    assert judge(chips, tpus())[0].verdict == "low"


@pytest.mark.parametrize(("measured", "word"), [(2.9e-5, "pass"), (3.1e-5, "low")])
def test_a_slow_dispatch_beside_its_sisters(measured: float, word: str) -> None:
    given: dict[str, Any] = {"test": "dispatch", "unit": "seconds"}
    readings = [reading(1e-5, device=f"tpu:{index}", **given) for index in range(4)]
    readings[2] = reading(measured, device="tpu:2", **given)
    found = judge(readings, tpus())
    assert found[2].verdict == word
    if word == "low":
        assert "takes 3.1× as long as the median of the other 3" in found[2].reason


@pytest.mark.parametrize("test", ["dispatch", "transfer"])
def test_what_the_host_does_for_its_own_devices_tells_nothing_of_them(
    test: str,
) -> None:
    unit = "seconds" if test == "dispatch" else "bytes/s"
    given: dict[str, Any] = {"test": test, "unit": unit}
    figures = [1e-3 if test == "dispatch" else 1e-7, 1e-5, 1e-5]
    readings = [
        reading(figure, device=f"cpu:{index}", **given)
        for index, figure in enumerate(figures)
    ]
    assert {one.verdict for one in judge(readings, cpus())} == {"pass"}


def test_only_devices_of_one_kind_and_the_same_thing_are_sisters() -> None:
    mixed = (device(0, "NVIDIA H100", "gpu"), device(1, "NVIDIA T4", "gpu"))
    slow = [reading(1e12, device="gpu:0"), reading(0.1e12, device="gpu:1")]
    assert overall(judge(slow, mixed)) == "pass"
    sizes = [reading(1e12), reading(1e11, device="tpu:1", what="matmul 64 float32")]
    assert overall(judge(sizes, tpus())) == "pass"


def test_a_figure_with_a_fault_is_no_sister() -> None:
    wrong = reading(500e12, device="tpu:1", fault="Its result is wrong.")
    found = judge([reading(100e12), wrong], tpus())
    assert [one.verdict for one in found] == ["pass", "fail"]


# All together.


def test_the_worst_verdict_decides() -> None:
    readings = [
        reading(190e12, expected=expected(197e12)),
        reading(None, what="int4", skipped="Not on this chip."),
        reading(90e12, expected=expected(197e12), what="int8"),
        reading(None, device="tpu:1", what="bits", fault="Wrong."),
        reading(1.0, device=None, what="chips", unit="chips"),
    ]
    found = judge(readings, tpus())
    assert [one.what for one in found] == [one.what for one in readings]
    assert overall(found) == "fail"
    assert overall(found[:3]) == "low"
    assert overall(found[:2]) == "pass"
    assert overall(found[1:2]) == "skipped"
    assert overall(()) == "skipped"
    assert of_device(found, "tpu:0") == "low"
    assert of_device(found, "tpu:1") == "fail"
    assert of_device(found, "tpu:2") is None


def test_severity_and_exit_codes_cover_every_word() -> None:
    assert set(SEVERITY) == set(EXIT_CODES)
    assert [EXIT_CODES[word] for word in SEVERITY] == [3, 0, 1, 2, 2]
