"""Verdicts, rule after rule, and what holds for every reading, however odd."""

from __future__ import annotations

import math
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.core.model import CHECK_TESTS, Expected, ExpectedKind, Reading, Remark, Unit
from jaxtui.features.bench.thresholds import ALIKE, ON_HOST, Bound
from jaxtui.features.check.judge import EXIT_CODES, SEVERITY, judge, overall
from jaxtui.features.check.messages import Checked
from tests.core.figures import (
    baseline,
    cpus,
    crowded,
    device,
    doubted,
    expected,
    printed,
    reading,
    skipped,
    tpus,
    verdict,
    wrong,
)

PEAK = expected(197e12)


def link(measured: float, **more: Any) -> Reading:
    return reading(measured, test="transfer", unit="bytes/s", **more)


@pytest.mark.parametrize(
    ("one", "word", "remarks"),
    [
        # An error is a failure whatever the figure.
        (reading(**wrong()), "fail", "wrong-figure"),
        (reading(**wrong(), expected=PEAK), "fail", "wrong-figure"),
        (reading(**skipped()), "skipped", "no-time-left"),
        # A doubt is low beside a good figure, and excuses no impossible one.
        (reading(**doubted(190e12), expected=PEAK), "low", "cpu-fallback"),
        (
            reading(**doubted(900e12), expected=PEAK),
            *("impossible", "beyond-the-peak cpu-fallback"),
        ),
        # That others used the cores is none.
        (reading(remarks=(crowded(),)), "pass", "contended"),
        (reading(None, unit=""), "fail", "no-figure"),
        # Nothing to compare with: no peak is assumed.
        (reading(), "pass", ""),
        # A link has no usual share of its peak, but cannot exceed it.
        (link(1e9, expected=expected(32e9)), "pass", ""),
        (link(40e9, expected=expected(32e9)), "impossible", "beyond-the-peak"),
    ],
)
def test_one_reading(one: Reading, word: str, remarks: str) -> None:
    found = verdict(one)
    assert (found.word, found.source) == (word, one.expected and one.expected.source)
    assert " ".join(remark.code for remark in found.remarks) == remarks


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
        ("present", expected(4, "exact"), 4, "pass"),
        *(("present", expected(4, "exact"), n, "fail") for n in (3, 5)),
        ("numerics", expected(4, "most"), 4, "pass"),
        ("numerics", expected(4, "most"), 5, "fail"),
    ],
)
def test_both_sides_of_every_threshold(
    test: Any, peak: Expected, measured: float, word: str
) -> None:
    units = {"compute": "flop/s", "bandwidth": "bytes/s", "memory": "bytes"}
    unit = units.get(test, "chips")
    found = verdict(reading(measured, test=test, unit=unit, expected=peak))
    assert (found.word, found.expected) == (word, peak.value)
    share = pytest.approx(measured / peak.value) if test in units else None
    assert found.share == share


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_figure_that_is_not_finite_never_passes(odd: float) -> None:
    for kind in get_args(ExpectedKind):
        assert verdict(reading(odd, expected=expected(1.0, kind))).word == "fail"
    assert verdict(reading(odd)).word == "fail"
    assert verdict(reading(**doubted(odd))).word == "fail"
    sent = reading(odd, test="numerics", expected=expected(1e-2, "most"))
    arrived = msgspec.json.decode(msgspec.json.encode(sent), type=Reading)
    assert arrived.measured is None
    assert verdict(arrived).word == "fail"


WIDE = {"ci_low": 80e12, "ci_high": 120e12}


@pytest.mark.parametrize(
    ("now", "before", "word", "wanted", "remarks"),
    [
        (reading(95e12), reading(100e12), "pass", 100e12, ""),
        # The worse of the two decides.
        (
            *(reading(150e12, expected=PEAK), reading(190e12), "low", 190e12),
            "below-baseline",
        ),
        (reading(180e12, expected=PEAK), reading(185e12), "pass", 197e12, ""),
        (
            *(reading(300e12, expected=PEAK), reading(300e12), "impossible", 197e12),
            "beyond-the-peak",
        ),
        # Intervals that overlap prove nothing.
        (
            reading(85e12, ci_low=70e12, ci_high=90e12),
            *(reading(100e12, **WIDE), "pass", 100e12, "maybe-below-baseline"),
        ),
        (
            reading(75e12, ci_low=70e12, ci_high=79e12),
            *(reading(100e12, **WIDE), "low", 100e12, "below-baseline"),
        ),
        (reading(), reading(what="matmul 64 int8"), "pass", None, ""),
    ],
)
def test_a_baseline(
    now: Reading, before: Reading, word: str, wanted: float | None, remarks: str
) -> None:
    found = verdict(now, kept=baseline([before]))
    assert (found.word, found.expected) == (word, wanted)
    assert " ".join(remark.code for remark in found.remarks) == remarks
    if wanted not in (None, 197e12):
        assert found.source == Remark("baseline", {"file": "monday.json"})


@pytest.mark.parametrize(
    ("unit", "test", "measured", "word"),
    [
        ("flop/s", "compute", 0.901, "pass"),
        ("flop/s", "compute", 0.899, "low"),
        ("seconds", "collectives", 1.10, "pass"),
        ("seconds", "collectives", 1.12, "low"),
        ("seconds", "dispatch", 1.90, "pass"),
        ("seconds", "dispatch", 2.10, "low"),
        ("seconds", "dispatch", 0.10, "pass"),
        ("", "collectives", 1.90, "pass"),
        ("bytes", "memory", 0.89, "low"),
        ("bytes", "memory", 1.50, "pass"),
        ("bytes/s", "transfer", 0.51, "pass"),
        ("bytes/s", "transfer", 0.49, "low"),
        ("relative error", "numerics", 90.0, "pass"),
        ("chips", "present", 0.5, "pass"),
    ],
)
def test_which_way_a_baseline_goes_and_how_far(
    unit: Any, test: Any, measured: float, word: str
) -> None:
    one = reading(measured, unit=unit, test=test)
    kept = baseline([msgspec.structs.replace(one, measured=1.0)])
    assert verdict(one, kept=kept).word == word


@pytest.mark.parametrize(("measured", "word"), [(50.1, "pass"), (49.9, "low")])
def test_a_cpu_is_granted_its_clocks(measured: float, word: str) -> None:
    kept = baseline([reading(100e9, device="cpu:0")], cpus())
    one = reading(measured * 1e9, device="cpu:0")
    assert verdict(one, cpus(), kept).word == word
    disturbed = msgspec.structs.replace(one, remarks=(crowded(),))
    assert verdict(disturbed, cpus(), kept).expected is None


def test_which_reading_of_a_baseline_counts() -> None:
    """That of the device, of its kind, or of the machine as a whole."""
    kept = baseline([reading(100e12, device="tpu:0"), reading(50e12, device="tpu:1")])
    assert verdict(reading(80e12, device="tpu:3"), kept=kept).expected == 100e12
    assert verdict(reading(49e12, device="tpu:1"), kept=kept).expected == 50e12
    other = [device(3, "TPU v4")]
    assert verdict(reading(80e12, device="tpu:3"), other, kept).expected is None
    late = reading(2.0, device=None, unit="seconds", test="collectives")
    early = msgspec.structs.replace(late, measured=1.0)
    of_device = msgspec.structs.replace(early, device="tpu:0")
    assert verdict(late, kept=baseline([of_device, early])).word == "low"
    assert verdict(late, kept=baseline([of_device])).word == "pass"


COMPUTE, DISPATCH = ("compute", "flop/s"), ("dispatch", "seconds")


@pytest.mark.parametrize(
    ("kind", "devices", "measured", "ends", "bound"),
    [
        # Times the usual one.
        *((COMPUTE, tpus(n), 0.91, None, None) for n in (2, 3, 8)),
        *((COMPUTE, tpus(n), 0.89, None, ALIKE) for n in (2, 3, 8)),
        (("memory", "bytes"), tpus(), 0.5, None, ALIKE),
        (("collectives", "seconds"), tpus(), 1.5, None, ALIKE),
        (DISPATCH, tpus(), 2.1, None, ON_HOST),
        (DISPATCH, tpus(), 1.9, None, None),
        # What happens meanwhile hits one of them: the whole interval must lie below.
        (COMPUTE, tpus(3), 0.4, (0.3, 0.95), None),
        *((COMPUTE, cpus(3, simulated), 0.51, None, None) for simulated in (0, 1)),
        (COMPUTE, cpus(3), 0.49, None, ON_HOST),
        (COMPUTE, cpus(3), 0.4, (0.3, 0.45), ON_HOST),
        (COMPUTE, cpus(3), 0.4, (0.3, 0.55), None),
        # One round may as well be chance.
        (COMPUTE, tpus(3), 0.5, (0.5, 0.5), None),
        (COMPUTE, tpus(3), 0.1, (0.1, 0.1), ALIKE),
    ],
)
def test_how_far_devices_of_a_kind_may_differ(
    kind: Any, devices: Any, measured: float, ends: Any, bound: Bound | None
) -> None:
    facts = dict(zip(("test", "unit"), kind, strict=True))
    usual = 8.0
    low, high = (usual * end for end in ends) if ends else (None, None)
    last = {"device": devices[-1].name, "ci_low": low, "ci_high": high}
    slow = reading(usual * measured, **last, **facts)
    others = [reading(usual, device=one.name, **facts) for one in devices[:-1]]
    *found, judged = judge([*others, slow], devices)
    assert {one.word for one in found} == {"pass"}
    assert judged.word == ("low" if bound else "pass")
    if bound:
        assert judged.source == Remark("other-devices")
        assert (judged.expected, judged.share) == (usual, measured)
        (remark,) = judged.remarks
        assert (remark.facts["others"], remark.facts["why"]) == (
            len(others),
            bound.why,
        )


def test_who_is_not_compared() -> None:
    """Other kinds, other things, faults, and what the host does for its own devices."""
    mixed = (device(0, "NVIDIA H100", "gpu"), device(1, "NVIDIA T4", "gpu"))
    slow = [reading(1e12, device="gpu:0"), reading(0.1e12, device="gpu:1")]
    assert overall(judge(slow, mixed)) == "pass"
    sizes = [reading(1e12), reading(1e11, device="tpu:1", what="matmul 64 float32")]
    assert overall(judge(sizes, tpus())) == "pass"
    bad = reading(device="tpu:1", **(wrong() | {"measured": 500e12}))
    found = judge([reading(100e12), bad], tpus())
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


NUMERICS = {"test": "numerics", "unit": "relative error"}


@pytest.mark.parametrize(
    ("digests", "odd"),
    [
        ("a", ""),
        ("aa", ""),
        ("aab", "2"),
        ("abab", "0 1 2 3"),
        ("ab", "0 1"),
        ("aabc", "2 3"),
        # One that contradicts itself says nothing of the others.
        ("-ab", "1 2"),
        ("-aab", "3"),
    ],
)
def test_the_odd_one_out(digests: str, odd: str) -> None:
    """Among devices that ran the same program, where XLA chooses one for each."""
    for program in ("", "gemm:"):
        readings = [
            reading(
                1e-3,
                device=f"tpu:{index}",
                digest="" if one == "-" else program + one,
                **NUMERICS,
            )
            for index, one in enumerate(digests)
        ]
        found = enumerate(judge(readings, tpus()))
        assert " ".join(str(i) for i, one in found if one.word == "fail") == odd


@pytest.mark.parametrize(
    "changed",
    [
        {"digest": "other:b"},
        {"device": "gpu:0", "digest": "one:b"},
        {"digest": "one:b", "remarks": wrong()["remarks"]},
    ],
)
def test_other_programs_kinds_and_wrong_ones_are_no_majority(changed: Any) -> None:
    other = reading(1e-3, **{"device": "tpu:1", **NUMERICS, **changed})
    readings = [reading(1e-3, digest="one:a", **NUMERICS), other]
    found = judge(readings, (*tpus(2), device(0, "NVIDIA H100", "gpu")))
    assert found[0].word == "pass"


def test_the_worst_verdict_decides() -> None:
    readings = [
        reading(190e12, expected=PEAK),
        reading(what="int4", **skipped()),
        reading(90e12, expected=PEAK, what="int8"),
        reading(device="tpu:1", what="bits", **wrong()),
    ]
    found = judge(readings, tpus())
    assert [one.reading for one in found] == list(readings)
    words = [overall(found[:count]) for count in (4, 3, 2, 0)]
    assert words == ["fail", "low", "pass", "skipped"]
    assert overall(found[1:2]) == "skipped"
    assert set(SEVERITY) == set(EXIT_CODES)
    assert [EXIT_CODES[word] for word in SEVERITY] == [3, 0, 1, 2, 2]


DEVICES = (*tpus(3), *cpus(2))
REMARKS = st.sampled_from(
    [crowded(), *wrong()["remarks"], *skipped()["remarks"], *doubted()["remarks"]]
)
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
        source=st.just(Remark("exact-integers")),
        reached=ANYTHING,
    ),
    remarks=st.lists(REMARKS, max_size=2).map(tuple),
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
            wrong = any(each.severity == "error" for each in one.remarks)
            assert judged.word == "fail" or not wrong
            assert judged.remarks or judged.word == "pass"
        msgspec.json.decode(printed(verdicts, DEVICES, None), type=Checked)


POSITIVE = st.floats(min_value=1e-9, max_value=1e18)
PAIR = st.tuples(POSITIVE, POSITIVE).map(sorted)


@given(
    measured=PAIR,
    bound=POSITIVE,
    reached=st.none() | POSITIVE,
    before=POSITIVE,
    other=POSITIVE,
    test=st.sampled_from(["compute", "numerics", "collectives"]),
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
