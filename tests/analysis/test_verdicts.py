"""Verdicts, rule after rule, and what holds for every reading, however odd."""

from __future__ import annotations

import math
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.analysis.check import EXIT_CODES, SEVERITY, judge, overall
from jaxtui.model import CHECK_TESTS, Expected, ExpectedKind, Reading, Unit
from jaxtui.view.document import CheckResults, check_results, encode
from tests.analysis.figures import (
    baseline,
    cpus,
    device,
    expected,
    reading,
    tpus,
    verdict,
)

PEAK = expected(197e12)
NOTHING = "nothing to compare with"
BUSY = "Others used 1.5 of 2 cores."


def link(measured: float, **more: Any) -> Reading:
    return reading(measured, test="transfer", unit="bytes/s", **more)


@pytest.mark.parametrize(
    ("one", "word", "source", "reason"),
    [
        # A fault is a failure whatever the figure, and is not said twice.
        (reading(fault="It broke"), "fail", "the test itself", "It broke."),
        (
            reading(fault="4 chips. Not 2.", said="4 chips.", expected=PEAK),
            *("fail", "a datasheet", "4 chips. Not 2."),
        ),
        (reading(None, skipped="No."), "skipped", "not measured", "No."),
        # A doubt is low beside a good figure, and excuses no impossible one.
        (
            reading(190e12, expected=PEAK, doubt="Noisy"),
            *("low", "a datasheet", "Noisy. 190 TFLOP/s, 96 % of the peak of 197 T"),
        ),
        (
            reading(900e12, expected=PEAK, doubt="Noisy"),
            *("impossible", "a datasheet", "Noisy. 900 TFLOP/s, 457 % of the peak of"),
        ),
        (reading(None, doubt="Others."), "low", "the test itself", "Others."),
        # Words without a figure pass, silence does not.
        (reading(None, unit="", said="8."), "pass", NOTHING, "8."),
        (reading(None, unit=""), "skipped", "not measured", "The test gave no"),
        # Nothing to compare with: no peak is assumed, and what would help is said.
        (
            reading(said="Four threads."),
            "pass",
            f"{NOTHING}: no peak is published for TPU v5 lite here; --baseline",
            "100 TFLOP/s. Four threads.",
        ),
        # A link has no usual share of its peak, but cannot exceed it.
        (link(26e9), "pass", f"{NOTHING}: --baseline FILE", "26.0 GB/s."),
        (link(1e9, expected=expected(32e9)), "pass", "a datasheet", "1.00 GB/s, 3.1 %"),
        (
            link(40e9, expected=expected(32e9)),
            *("impossible", "a datasheet", "40.0 GB/s, 125 % of the peak"),
        ),
        # A share that is nearly enough does not read as enough.
        (
            reading(59.99e12, expected=expected(100e12)),
            *("low", "a datasheet", "60.0 TFLOP/s, just under 60 % of the peak of 100"),
        ),
    ],
)
def test_one_reading(one: Reading, word: str, source: str, reason: str) -> None:
    found = verdict(msgspec.structs.replace(one, detail="Traceback"))
    assert (found.word, found.reading.detail) == (word, "Traceback")
    assert found.source.startswith(source)
    assert found.reason.startswith(reason)


A100, H100 = expected(312e12, reached=271.2e12), expected(989.4e12, reached=794.5e12)
MI300X = expected(1307.4e12, reached=668.4e12)


@pytest.mark.parametrize(
    ("test", "peak", "measured", "word"),
    [
        # 60 % of a peak; never over 102 %.
        ("compute", PEAK, 0.599 * 197e12, "low"),
        ("compute", PEAK, 0.601 * 197e12, "pass"),
        ("compute", PEAK, 1.019 * 197e12, "pass"),
        ("compute", PEAK, 1.021 * 197e12, "impossible"),
        ("bandwidth", expected(819e9), 0.599 * 819e9, "low"),
        ("bandwidth", expected(819e9), 0.601 * 819e9, "pass"),
        ("bandwidth", expected(819e9), 1.021 * 819e9, "impossible"),
        # Three quarters of what others have reached, where that is known.
        ("compute", A100, 203.3e12, "low"),
        ("compute", A100, 203.5e12, "pass"),
        # Published figures, a stopwatch, and a whole chip from half of it.
        ("compute", MI300X, 668.4e12, "pass"),
        ("compute", H100, 1979e12, "impossible"),
        ("compute", expected(61.5e12), 1.6 * 61.5e12, "impossible"),
        ("bandwidth", expected(5300e9), 3577e9, "pass"),  # MI300X by clpeak: 67 %
        # Memory is read and not timed.
        ("memory", expected(80e9), 94e9, "pass"),
        ("memory", expected(80e9), 60e9, "pass"),
        ("memory", expected(80e9), 40e9, "low"),
    ],
)
def test_both_sides_of_every_threshold(
    test: Any, peak: Expected, measured: float, word: str
) -> None:
    units = {"compute": "flop/s", "bandwidth": "bytes/s", "memory": "bytes"}
    found = verdict(reading(measured, test=test, unit=units[test], expected=peak))
    assert (found.word, found.expected) == (word, peak.value)
    assert found.share == pytest.approx(measured / peak.value)


def test_what_decides_explains_itself() -> None:
    low = verdict(reading(500e12, expected=H100)).reason
    assert low.startswith(
        "500 TFLOP/s, 51 % of the peak of 989 TFLOP/s. Others have reached"
        " 794 TFLOP/s on such a device; at least 60 % of it is expected."
    )
    assert "DCGM" in low
    impossible = verdict(reading(2450e12, expected=PEAK)).reason
    assert impossible.startswith("2.45 PFLOP/s, 1244 % of the peak of 197 TFLOP/s.")
    for cause in ("dispatch was timed", "sparse", "TF32", "share a chip", "folded"):
        assert cause in impossible


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_figure_that_is_not_finite_never_passes(odd: float) -> None:
    for kind in get_args(ExpectedKind):
        assert verdict(reading(odd, expected=expected(1.0, kind))).word == "fail"
    assert verdict(reading(odd)).word == "fail"
    assert verdict(reading(odd, doubt="hm")).word == "fail"
    sent = reading(odd, test="numerics", expected=expected(1e-2, "most"), said="Rows.")
    arrived = msgspec.json.decode(msgspec.json.encode(sent), type=Reading)
    assert arrived.measured is None
    assert verdict(arrived).word == "fail"


@pytest.mark.parametrize(
    ("kind", "test", "measured", "word", "clause"),
    [
        ("exact", "present", 4, "pass", "4 chips, as expected."),
        ("exact", "present", 3, "fail", "3 chips, not the expected 4 chips."),
        ("exact", "present", 5, "fail", "5 chips, not the expected 4 chips."),
        ("least", "memory", 4, "pass", "4 chips, at least the expected 4 chips."),
        ("least", "memory", 3, "low", "3 chips, less than the expected 4 chips."),
        ("most", "together", 5, "low", "5 chips, above the bound of 4 chips."),
        ("most", "numerics", 4, "pass", "4 chips, within the bound of 4 chips."),
        ("most", "numerics", 5, "fail", "5 chips, above the bound of 4 chips."),
    ],
)
def test_bounds(kind: Any, test: Any, measured: float, word: str, clause: str) -> None:
    one = reading(measured, test=test, unit="chips", expected=expected(4, kind))
    found = verdict(one)
    assert (found.word, found.reason) == (word, clause)
    assert (found.expected, found.source, found.share) == (4, "a datasheet", None)


# Baselines.


WIDE = {"ci_low": 80e12, "ci_high": 120e12}


@pytest.mark.parametrize(
    ("now", "before", "word", "wanted", "reason"),
    [
        (
            *(reading(95e12), reading(100e12), "pass", 100e12),
            "95.0 TFLOP/s, 95 % of the 100 TFLOP/s of the baseline monday.json.",
        ),
        # The worse of the two decides, and both are said.
        (
            *(reading(150e12, expected=PEAK), reading(190e12), "low", 190e12),
            "150 TFLOP/s, 76 % of the peak of 197 TFLOP/s; 79 % of the 190 TFLOP/s of"
            " the baseline monday.json, where at least 90 % is expected.",
        ),
        (reading(180e12, expected=PEAK), reading(185e12), "pass", 197e12, ""),
        (reading(300e12, expected=PEAK), reading(300e12), "impossible", 197e12, ""),
        # Intervals that overlap prove nothing.
        (
            reading(85e12, ci_low=70e12, ci_high=90e12),
            *(reading(100e12, **WIDE), "pass", 100e12),
            "85.0 TFLOP/s, 85 % of the 100 TFLOP/s of the baseline monday.json, which"
            " may be chance",
        ),
        (
            reading(75e12, ci_low=70e12, ci_high=79e12),
            *(reading(100e12, **WIDE), "low", 100e12, ""),
        ),
        (reading(), reading(what="matmul 64 int8"), "pass", None, "100 TFLOP/s."),
    ],
)
def test_a_baseline(
    now: Reading, before: Reading, word: str, wanted: float | None, reason: str
) -> None:
    found = verdict(now, kept=baseline([before]))
    assert (found.word, found.expected) == (word, wanted)
    assert found.reason.startswith(reason)
    if wanted is None:
        assert "the baseline monday.json has none" in found.source
    elif wanted != 197e12:
        assert found.source == "baseline monday.json"


@pytest.mark.parametrize(
    ("unit", "test", "measured", "word", "bound"),
    [
        ("flop/s", "compute", 0.901, "pass", None),
        ("flop/s", "compute", 0.899, "low", None),
        ("seconds", "together", 1.10, "pass", None),
        ("seconds", "together", 1.12, "low", None),
        ("seconds", "dispatch", 1.90, "pass", None),
        ("seconds", "dispatch", 2.10, "low", None),
        ("seconds", "dispatch", 0.10, "pass", None),
        ("", "together", 1.90, "pass", None),
        ("bytes", "memory", 0.89, "low", None),
        ("bytes", "memory", 1.50, "pass", None),
        ("bytes/s", "transfer", 0.51, "pass", None),
        ("bytes/s", "transfer", 0.49, "low", None),
        ("relative error", "numerics", 90.0, "pass", None),
        ("chips", "present", 0.5, "pass", None),
        # What was expected gives the direction.
        ("bytes", "memory", 0.5, "low", expected(0.1, "least")),
        ("bytes", "memory", 0.5, "pass", expected(10, "most")),
    ],
)
def test_which_way_a_baseline_goes_and_how_far(
    unit: Any, test: Any, measured: float, word: str, bound: Expected | None
) -> None:
    one = reading(measured, unit=unit, test=test, expected=bound)
    kept = baseline([msgspec.structs.replace(one, measured=1.0)])
    assert verdict(one, kept=kept).word == word


@pytest.mark.parametrize(("measured", "word"), [(50.1, "pass"), (49.9, "low")])
def test_a_cpu_is_granted_its_clocks(measured: float, word: str) -> None:
    kept = baseline([reading(100e9, device="cpu:0")], cpus())
    one = reading(measured * 1e9, device="cpu:0")
    assert verdict(one, cpus(), kept).word == word
    disturbed = verdict(msgspec.structs.replace(one, disturbed=BUSY), cpus(), kept)
    assert (disturbed.word, BUSY in disturbed.reason) == ("pass", True)
    assert "not compared" in disturbed.source


def test_which_reading_of_a_baseline_counts() -> None:
    """That of the device, of its kind, or of the machine as a whole."""
    kept = baseline([reading(100e12, device="tpu:0"), reading(50e12, device="tpu:1")])
    assert verdict(reading(80e12, device="tpu:3"), kept=kept).expected == 100e12
    assert verdict(reading(49e12, device="tpu:1"), kept=kept).expected == 50e12
    other = [device(3, "TPU v4")]
    assert verdict(reading(80e12, device="tpu:3"), other, kept).expected is None
    late = reading(2.0, device=None, unit="seconds", test="together")
    early = msgspec.structs.replace(late, measured=1.0)
    of_device = msgspec.structs.replace(early, device="tpu:0")
    assert verdict(late, kept=baseline([of_device, early])).word == "low"
    assert verdict(late, kept=baseline([of_device])).word == "pass"


# Devices of one kind.


@pytest.mark.parametrize(
    ("test", "unit", "usual", "slow", "said"),
    [
        (
            *("compute", "flop/s", 169e12, 105e12),
            "105 TFLOP/s, 75 % of the peak of 140 TFLOP/s. tpu:5 at 1,1,0 is 38 %"
            " slower than the median of the other 7 devices (169 TFLOP/s).",
        ),
        (
            *("dispatch", "seconds", 1e-5, 2.1e-5),
            "tpu:5 at 1,1,0 takes 2.1× as long as the median of the other 7 devices"
            " (10.0 µs).",
        ),
        ("dispatch", "seconds", 1e-5, 1.9e-5, ""),
    ],
)
def test_a_straggler_is_low_and_named_by_its_place(
    test: Any, unit: Any, usual: float, slow: float, said: str
) -> None:
    usually = {"test": test, "unit": unit}
    readings = [reading(usual, device=f"tpu:{n}", **usually) for n in range(8)]
    bound = expected(140e12) if unit == "flop/s" else None
    readings[5] = reading(slow, device="tpu:5", expected=bound, **usually)
    found = judge(readings, tpus())
    words = ["low" if said and index == 5 else "pass" for index in range(8)]
    assert [one.word for one in found] == words
    if said:
        assert (found[5].source, found[5].expected) == ("its sister devices", usual)
        assert said in found[5].reason


@pytest.mark.parametrize(
    ("devices", "measured", "more", "word"),
    [
        (tpus(3), 0.91, {}, "pass"),
        (tpus(3), 0.89, {}, "low"),
        (tpus(2), 0.89, {}, "low"),
        # What happens meanwhile hits one of them: the whole interval must lie below.
        (tpus(3), 0.4, {"ci_low": 0.3e12, "ci_high": 0.95e12}, "pass"),
        (cpus(3), 0.51, {}, "pass"),
        (cpus(3), 0.49, {}, "low"),
        (cpus(3, simulated=False), 0.51, {}, "pass"),
        (cpus(3), 0.4, {"ci_low": 0.3e12, "ci_high": 0.45e12}, "low"),
        (cpus(3), 0.4, {"ci_low": 0.3e12, "ci_high": 0.55e12}, "pass"),
    ],
)
def test_how_far_devices_of_a_kind_may_differ(
    devices: Any, measured: float, more: Any, word: str
) -> None:
    others = [reading(1e12, device=one.name) for one in devices[1:]]
    slow = reading(measured * 1e12, device=devices[0].name, **more)
    found = judge([slow, *others], devices)
    assert [one.word for one in found] == [word] + ["pass"] * len(others)


def test_who_is_not_compared() -> None:
    """Other kinds, other things, faults, and what the host does for its own devices."""
    mixed = (device(0, "NVIDIA H100", "gpu"), device(1, "NVIDIA T4", "gpu"))
    slow = [reading(1e12, device="gpu:0"), reading(0.1e12, device="gpu:1")]
    assert overall(judge(slow, mixed)) == "pass"
    sizes = [reading(1e12), reading(1e11, device="tpu:1", what="matmul 64 float32")]
    assert overall(judge(sizes, tpus())) == "pass"
    wrong = reading(500e12, device="tpu:1", fault="Its result is wrong.")
    found = judge([reading(100e12), wrong], tpus())
    assert [one.word for one in found] == ["pass", "fail"]
    for test, unit, odd in (
        ("dispatch", "seconds", 1e-3),
        ("transfer", "bytes/s", 1e-7),
    ):
        readings = [
            reading(figure, device=f"cpu:{index}", test=test, unit=unit)
            for index, figure in enumerate([odd, 1e-5, 1e-5])
        ]
        assert {one.word for one in judge(readings, cpus())} == {"pass"}


@pytest.mark.parametrize(
    ("digests", "odd"),
    [
        ("a", ""),
        ("aa", ""),
        ("aab", "2"),
        ("abab", "0 1 2 3"),
        ("ab", "0 1"),
        ("abc", "0 1 2"),
        ("aabc", "2 3"),
        # One that contradicts itself says nothing of the others.
        ("-ab", "1 2"),
        ("-aab", "3"),
    ],
)
def test_the_odd_one_out(digests: str, odd: str) -> None:
    """Among devices that ran the same program, where XLA chooses one for each."""
    for program in ("", "gemm:"):
        found = judge(
            [
                reading(
                    1e-3,
                    device=f"tpu:{index}",
                    test="numerics",
                    unit="relative error",
                    expected=expected(1e-2, "most"),
                    digest="" if one == "-" else program + one,
                )
                for index, one in enumerate(digests)
            ],
            tpus(),
        )
        failed = [str(i) for i, one in enumerate(found) if one.word == "fail"]
        assert " ".join(failed) == odd


def test_results_of_other_programs_kinds_and_wrong_ones_are_no_majority() -> None:
    numerics = {"test": "numerics", "unit": "relative error"}
    for changed in (
        {"digest": "other:b"},
        {"device": "gpu:0", "digest": "one:b"},
        {"fault": "Wrong.", "digest": "one:b"},
    ):
        readings = [
            reading(1e-3, digest="one:a", **numerics),
            reading(1e-3, **{"device": "tpu:1", **numerics, **changed}),
        ]
        found = judge(readings, (*tpus(2), device(0, "NVIDIA H100", "gpu")))
        assert found[0].word == "pass"


# All together.


def test_the_worst_verdict_decides() -> None:
    readings = [
        reading(190e12, expected=PEAK),
        reading(None, what="int4", skipped="Not on this chip."),
        reading(90e12, expected=PEAK, what="int8"),
        reading(None, device="tpu:1", what="bits", fault="Wrong."),
    ]
    found = judge(readings, tpus())
    assert [one.reading for one in found] == list(readings)
    words = [overall(found[:count]) for count in (4, 3, 2, 0)]
    assert words == ["fail", "low", "pass", "skipped"]
    assert overall(found[1:2]) == "skipped"
    assert set(SEVERITY) == set(EXIT_CODES)
    assert [EXIT_CODES[word] for word in SEVERITY] == [3, 0, 1, 2, 2]


DEVICES = (*tpus(3), *cpus(2))
TEXTS = st.sampled_from(["", "A sentence.", "no full stop"])
ANYTHING = st.one_of(st.none(), st.floats())
READINGS = st.builds(
    Reading,
    test=st.sampled_from(CHECK_TESTS),
    device=st.sampled_from([None, "gpu:9", *(one.name for one in DEVICES)]),
    what=st.sampled_from(["matmul", "copy"]),
    unit=st.sampled_from(get_args(Unit)),
    measured=ANYTHING,
    ci_low=ANYTHING,
    ci_high=ANYTHING,
    expected=st.none()
    | st.builds(
        Expected,
        value=st.floats(),
        kind=st.sampled_from(get_args(ExpectedKind)),
        source=st.just("somebody"),
        reached=ANYTHING,
    ),
    fault=TEXTS,
    doubt=TEXTS,
    skipped=TEXTS,
    said=TEXTS,
    digest=st.sampled_from(["", "a", "b", "p:a", "p:b"]),
)


@given(st.lists(READINGS, max_size=6), st.lists(READINGS, max_size=3))
def test_nothing_raises_and_every_reading_gets_its_verdict(
    found: list[Reading], before: list[Reading]
) -> None:
    for kept in (None, baseline(before, DEVICES)):
        verdicts = judge(found, DEVICES, kept)
        assert overall(verdicts) in SEVERITY
        for one, judged in zip(found, verdicts, strict=True):
            assert judged.reading is one
            assert judged.source
            assert judged.reason
            assert not one.fault or judged.word == "fail"
        document = check_results(
            None, DEVICES, verdicts, level="quick", baseline=None, outcome="complete"
        )
        msgspec.json.decode(encode(document), type=CheckResults)


POSITIVE = st.floats(min_value=1e-9, max_value=1e18)
PAIR = st.tuples(POSITIVE, POSITIVE).map(sorted)


@given(
    measured=PAIR,
    bound=POSITIVE,
    reached=st.none() | POSITIVE,
    before=POSITIVE,
    other=POSITIVE,
    test=st.sampled_from(["compute", "numerics", "together"]),
)
def test_a_faster_device_is_never_worse_off(
    measured: list[float],
    bound: float,
    reached: float | None,
    before: float,
    other: float,
    test: str,
) -> None:
    """Beside its peak, or its bound, a baseline and another device."""
    rate, words = test == "compute", []
    wanted = expected(bound, "peak" if rate else "most", reached)
    for value in measured:
        unit = "flop/s" if rate else "seconds"
        one = reading(value, test=test, unit=unit, expected=wanted)
        beside = msgspec.structs.replace(one, device="tpu:1", measured=other)
        kept = baseline([msgspec.structs.replace(one, measured=before)], DEVICES)
        words.append(judge([one, beside], DEVICES, kept)[0].word)
    order = ("low", "pass", "impossible") if rate else ("pass", "low", "fail")
    assert order.index(words[0]) <= order.index(words[1])
