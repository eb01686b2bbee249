"""What holds for every reading, however odd."""

from __future__ import annotations

from typing import get_args

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.health.verdict import SEVERITY, Verdict, judge, of_device, overall
from jaxtui.model import CHECK_TESTS, Expected, ExpectedKind, Reading, Unit
from tests.health.making import baseline, cpus, tpus

WORDS = st.sampled_from(["", "A sentence.", "no full stop"])
DEVICES = (*tpus(3), *cpus(2))
NAMES = st.sampled_from([None, "gpu:9", *(one.name for one in DEVICES)])

anything = st.one_of(st.none(), st.floats())
expectations = st.none() | st.builds(
    Expected,
    value=st.floats(),
    kind=st.sampled_from(get_args(ExpectedKind)),
    source=st.just("somebody"),
    reached=anything,
)
readings = st.builds(
    Reading,
    test=st.sampled_from(CHECK_TESTS),
    device=NAMES,
    what=st.sampled_from(["matmul", "copy"]),
    unit=st.sampled_from(get_args(Unit)),
    measured=anything,
    ci_low=anything,
    ci_high=anything,
    expected=expectations,
    fault=WORDS,
    doubt=WORDS,
    skipped=WORDS,
    said=WORDS,
)


@given(st.lists(readings, max_size=6), st.lists(readings, max_size=3))
def test_nothing_raises_and_every_reading_gets_its_verdict(
    found: list[Reading], before: list[Reading]
) -> None:
    for kept in (None, baseline(before, DEVICES)):
        verdicts = judge(found, DEVICES, kept)
        assert [(one.test, one.device, one.what) for one in verdicts] == [
            (one.test, one.device, one.what) for one in found
        ]
        assert overall(verdicts) in SEVERITY
        for reading, one in zip(found, verdicts, strict=True):
            assert one.source
            assert one.reason
            assert of_device(verdicts, one.device or "") in (None, *SEVERITY)
            assert not reading.fault or one.verdict == "fail"
            msgspec.json.decode(msgspec.json.encode(one), type=Verdict)


positive = st.floats(min_value=1e-9, max_value=1e18)
UPWARDS = ("low", "pass", "impossible")
DOWNWARDS = ("pass", "low", "fail")


@given(
    measured=st.tuples(positive, positive).map(sorted),
    peak=positive,
    reached=st.none() | positive,
    before=positive,
    sister=positive,
)
def test_a_faster_device_is_never_slower_off(
    measured: list[float],
    peak: float,
    reached: float | None,
    before: float,
    sister: float,
) -> None:
    wanted = Expected(value=peak, kind="peak", source="a", reached=reached)
    words = []
    for value in measured:
        one = Reading(
            test="compute",
            device="tpu:0",
            what="matmul",
            unit="flop/s",
            measured=value,
            expected=wanted,
        )
        other = msgspec.structs.replace(one, device="tpu:1", measured=sister)
        kept = baseline([msgspec.structs.replace(one, measured=before)], DEVICES)
        words.append(judge([one, other], DEVICES, kept)[0].verdict)
    assert UPWARDS.index(words[0]) <= UPWARDS.index(words[1])


@given(
    measured=st.tuples(positive, positive).map(sorted),
    bound=positive,
    before=positive,
    test=st.sampled_from(["numerics", "steady", "together"]),
)
def test_a_shorter_time_is_never_worse(
    measured: list[float], bound: float, before: float, test: str
) -> None:
    words = []
    for value in measured:
        one = Reading(
            test=test,  # type: ignore[arg-type]
            device="tpu:0",
            what="time",
            unit="seconds",
            measured=value,
            expected=Expected(value=bound, kind="most", source="a"),
        )
        kept = baseline([msgspec.structs.replace(one, measured=before)], DEVICES)
        words.append(judge([one], DEVICES, kept)[0].verdict)
    assert DOWNWARDS.index(words[0]) <= DOWNWARDS.index(words[1])
