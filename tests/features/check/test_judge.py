"""Verdicts, rule after rule, and what holds for every reading, however odd."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.core.model import (
    CHECK_TESTS,
    Device,
    Expected,
    ExpectedKind,
    Reading,
    Remark,
    Unit,
)
from jaxtui.features.check.baseline import Baseline
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

PEAK, LINK = expected(197e12), expected(32e9)
A100, H100 = expected(312e12, reached=271.2e12), expected(989.4e12, reached=794.5e12)
MI300X = expected(1307.4e12, reached=668.4e12)
UNITS = {
    "compute": "flop/s",
    "bandwidth": "bytes/s",
    "transfer": "bytes/s",
    "memory": "bytes",
    "present": "chips",
    "numerics": "relative error",
    "dispatch": "seconds",
    "collectives": "seconds",
}
Judged = tuple[list[Reading], Sequence[Device], Baseline | None]


def of(test: str, measured: float, **more: Any) -> Reading:
    return reading(measured, **{"test": test, "unit": UNITS[test], **more})


def beside(now: Reading, before: Reading, devices: Any = None) -> Judged:
    return [now], devices or tpus(), baseline([before], devices)


def among(test: str, devices: Any, share: float, ends: Any = ()) -> Judged:
    """The last device beside the others, which have 8."""
    low, high = (8 * end for end in ends) if ends else (None, None)
    last = of(test, 8 * share, device=devices[-1].name, ci_low=low, ci_high=high)
    others = [of(test, 8.0, device=one.name) for one in devices[:-1]]
    return [*others, last], devices, None


ALONE = {
    "an error is a failure whatever the figure": reading(**wrong()),
    "an error beside a peak": reading(**wrong(), expected=PEAK),
    "skipped": reading(**skipped()),
    "a doubt beside a good figure": reading(**doubted(190e12), expected=PEAK),
    "a doubt excuses no impossible one": reading(**doubted(900e12), expected=PEAK),
    "that others used the cores is none": reading(remarks=(crowded(),)),
    "no figure": reading(None, unit=""),
    "nothing to compare with: no peak is assumed": reading(),
    "a link has no usual share of its peak": of("transfer", 1e9, expected=LINK),
    "a link cannot exceed it": of("transfer", 40e9, expected=LINK),
    # Both sides of every threshold.
    **{
        f"{test} {share} of {peak.value:.4g}": of(
            test, share * peak.value, expected=peak
        )
        for test, peak, shares in (
            ("compute", PEAK, (0.599, 0.601, 1.019, 1.021)),
            ("bandwidth", expected(819e9), (0.599, 0.601, 1.021)),
            # Three quarters of what others have reached, where that is known.
            ("compute", A100, (0.651, 0.653)),
            # Published figures, a stopwatch, and a whole chip from half of it.
            ("compute", MI300X, (668.4 / 1307.4,)),
            ("compute", H100, (2.0, 500 / 989.4)),
            ("compute", expected(61.5e12), (1.6,)),
            ("bandwidth", expected(5300e9), (0.675,)),  # MI300X by clpeak
            # Memory is read and not timed.
            ("memory", expected(80e9), (0.5, 0.75, 1.175)),
            ("present", expected(4, "exact"), (0.75, 1, 1.25)),
            ("numerics", expected(4, "most"), (1, 1.25)),
        )
        for share in shares
    },
}
WIDE = {"ci_low": 80e12, "ci_high": 120e12}
CPU = {"device": "cpu:0"}
JUDGED: dict[str, Judged] = {
    **{name: ([one], tpus(), None) for name, one in ALONE.items()},
    "a little slower than before": beside(reading(95e12), reading(100e12)),
    "the worse of the two decides": beside(
        reading(150e12, expected=PEAK), reading(190e12)
    ),
    "both are well": beside(reading(180e12, expected=PEAK), reading(185e12)),
    "impossible before and now": beside(
        reading(300e12, expected=PEAK), reading(300e12)
    ),
    "intervals that overlap prove nothing": beside(
        reading(85e12, ci_low=70e12, ci_high=90e12), reading(100e12, **WIDE)
    ),
    "intervals that lie apart": beside(
        reading(75e12, ci_low=70e12, ci_high=79e12), reading(100e12, **WIDE)
    ),
    "another thing": beside(reading(), reading(what="matmul 64 int8")),
    "a cpu that others disturb": beside(
        reading(49.9e9, remarks=(crowded(),), **CPU), reading(100e9, **CPU), cpus()
    ),
    **{
        f"{test} {share} of before": beside(of(test, share), of(test, 1.0))
        for test, shares in (
            ("compute", (0.901, 0.899)),
            ("collectives", (1.10, 1.12)),
            ("dispatch", (1.90, 2.10, 0.10)),
            ("memory", (0.89, 1.50)),
            ("transfer", (0.51, 0.49)),
            ("numerics", (90.0,)),
            ("present", (0.5,)),
        )
        for share in shares
    },
    **{
        f"a cpu {share} of before": beside(
            reading(share * 1e9, **CPU), reading(1e9, **CPU), cpus()
        )
        for share in (0.501, 0.499)
    },
    "no unit": beside(of("collectives", 0.1, unit=""), of("collectives", 1, unit="")),
    **{
        f"{test} {share} of the {len(devices)} {devices[0].platform}s {ends}": among(
            test, devices, share, ends
        )
        for test, devices, share, ends in (
            *(("compute", tpus(n), x, ()) for n in (2, 3, 8) for x in (0.89, 0.91)),
            ("memory", tpus(), 0.5, ()),
            ("collectives", tpus(), 1.5, ()),
            *(("dispatch", tpus(), share, ()) for share in (1.9, 2.1)),
            # What happens meanwhile hits one of them: the whole interval counts.
            ("compute", tpus(3), 0.4, (0.3, 0.95)),
            *(("compute", cpus(3, False), share, ()) for share in (0.49, 0.51)),
            *(("compute", cpus(4), share, ()) for share in (0.49, 0.51)),
            ("compute", cpus(3), 0.4, (0.3, 0.45)),
            ("compute", cpus(3), 0.4, (0.3, 0.55)),
            # One round may as well be chance.
            *(("compute", tpus(3), x, (x, x)) for x in (0.1, 0.5)),
            *(("dispatch", tpus(3), x, (x, x)) for x in (3.9, 4.1)),
        )
    },
}
"""Readings, of which the last one counts, the devices, and a baseline."""


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
