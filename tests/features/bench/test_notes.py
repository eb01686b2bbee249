"""The thresholds of notes, from both sides."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.core.model import Peak, Remark
from jaxtui.core.model.measurement import Interval
from jaxtui.features.bench.measure import notes
from jaxtui.machine import malloc
from jaxtui.tasks.workload import Workload
from jaxtui.timing.contention import Usage
from jaxtui.timing.turns import Turns


@pytest.mark.parametrize(
    ("last", "width", "differs"),
    [(1.04, 0.01, True), (0.95, 0.01, True), (1.02, 0.01, False), (1.2, 0.3, False)],
)
def test_a_drift_is_wider_than_the_interval_and_three_percent(
    last: float, width: float, differs: bool
) -> None:
    interval = Interval(1 - width / 2, 1.0, 1 + width / 2)
    found = notes.drift([1.0, 1.0, 1.0, 1.1, last, last], interval)
    assert found == ((1.0, last) if differs else None)
    assert notes.drift([1.0, last, 1.0, last, last], interval) is None


@pytest.mark.parametrize(
    ("high", "slow", "calls", "groups"),
    [
        (1.5, 15, 40, True),
        (1.2, 15, 40, False),  # hardly slower
        (1.5, 2, 40, False),  # a few outliers are no group
        (1.5, 6, 16, False),  # too few to tell
    ],
)
def test_two_groups_have_a_gap_between_them(
    high: float, slow: int, calls: int, groups: bool
) -> None:
    samples = [1.0 + 0.001 * n for n in range(calls - slow)]
    samples += [high + 0.001 * n for n in range(slow)]
    found = notes.two_groups(samples)
    assert (found is not None) == groups
    if found:
        assert found == pytest.approx((1.0, high), abs=0.05)


@pytest.mark.parametrize(
    ("on_cpu", "mode", "kernels", "flops", "share", "inline"),
    [
        (True, "jit", 1, 0.0, 1.0, True),
        (True, "jit", 1, 0.0, 0.3, False),
        # Ready on return, but nobody computed it in the caller: a fast product.
        (True, "jit", 1, 524_288.0, 1.0, False),
        (False, "jit", 1, 0.0, 1.0, False),
        (False, "eager", 4, 400.0, 1.0, False),
        # Op by op each program is small.
        (True, "eager", 4, 2400.0, 1.0, True),
    ],
)
def test_only_a_cpu_computes_small_programs_in_the_caller(
    on_cpu: bool, mode: str, kernels: int, flops: float, share: float, inline: bool
) -> None:
    workload = SimpleNamespace(
        on_cpu=on_cpu,
        own=False,
        kernels=kernels,
        compiled_flops=flops if mode == "jit" else None,
        op=SimpleNamespace(counted_flops=lambda size: flops),
        case=SimpleNamespace(size=1, mode=mode),
    )
    turns = SimpleNamespace(workload=workload, ready_share=share)
    assert notes.is_inline(cast("Turns", turns)) == inline


THREE = [1.0] * 30 + [2.0] * 40 + [5.0] * 30
BETWEEN = [1.0] * 500 + [1.1 + 0.005 * n for n in range(10)] + [1.6] * 490


@pytest.mark.parametrize(
    ("samples", "groups"),
    [
        # It is all the same which of two groups is the larger.
        *(([0.0345] * n + [16.0] * (100 - n), (0.0345, 16.0)) for n in (85, 50, 15)),
        (THREE, (1.0, 2.0, 5.0)),
        # A few calls between two groups do not join them.
        (BETWEEN, (1.0, 1.6)),
    ],
)
def test_groups_are_told_apart(samples: list[float], groups: tuple[float, ...]) -> None:
    assert notes.two_groups(samples) == pytest.approx(groups)


@pytest.mark.parametrize(
    "tail",
    [
        [40.0],
        [1.5, 3.0, 9.0, 40.0],
        # A tenth of the calls, but all over the place.
        [1.3, 1.5, 1.8, 2.2, 2.8, 3.5, 5.0, 8.0, 13.0, 20.0],
    ],
)
def test_a_tail_is_no_group(tail: list[float]) -> None:
    body = [1.0 + 0.0005 * n for n in range(100 - len(tail))]
    assert notes.two_groups(body + tail) is None
    assert notes.two_groups([1 / one for one in body + tail]) is None


@given(
    st.lists(st.tuples(st.floats(-12, 3), st.integers(1, 60)), min_size=1, max_size=8)
)
def test_mirrored_calls_have_the_mirrored_groups(
    clusters: list[tuple[float, int]],
) -> None:
    samples = [2.0**exponent for exponent, count in clusters for _ in range(count)]
    found = notes.two_groups(samples)
    mirrored = notes.two_groups([1 / one for one in samples])
    assert (found is None) == (mirrored is None)
    if found and mirrored:
        assert mirrored == pytest.approx([1 / one for one in reversed(found)])


@pytest.mark.parametrize(
    ("device", "mode", "faults", "result", "ready", "code"),
    [
        ("cpu:0", "jit", 2930.0, 12e6, 11e-3, "page-faults"),
        ("cpu:0", "jit", 0.0, 12e6, 1e-3, "reused-pages"),
        ("host", "numpy", 0.0, 12e6, 0.8e-3, "reused-pages"),
        # Intermediate results get new pages, too; it is said which way that goes.
        ("host", "numpy", 456.0, 1e6, 1.4e-3, "page-faults"),
        # Some huge pages: neither end.
        ("host", "numpy", 32.0, 64e6, 10e-3, ""),
        ("cpu:0", "jit", 0.0, 1e6, 5e-3, ""),  # new pages would hardly be felt
        ("cpu:0", "jit", 0.0, 100e3, 20e-6, ""),  # below malloc's threshold
        ("gpu:0", "jit", 2930.0, 12e6, 1e-3, ""),
    ],
)
def test_what_new_or_reused_memory_does_to_a_call_is_said_in_both_directions(
    device: str,
    mode: str,
    faults: float,
    result: float,
    ready: float,
    code: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(malloc, "chosen_end", lambda: None)
    monkeypatch.setattr(malloc, "why_unknown", str)
    case = SimpleNamespace(on_host=mode == "numpy")
    on_cpu = device == "cpu:0"
    work = SimpleNamespace(on_cpu=on_cpu, case=case, result_bytes=int(result))
    turns = SimpleNamespace(
        workload=work,
        page_faults=[faults] * 6,
        interval=Interval(ready, ready, ready),
        provisional=False,
    )
    remarks = [*notes.of_memory(cast("Turns", turns))]
    assert [remark.code for remark in remarks] == [code][: bool(code)]
    assert all(remark.facts["page_faults"] == faults for remark in remarks)


def usage(cores: int, used: float) -> Usage:
    return Usage(seconds=1.0, others=used, steal=0.0, cores=cores)


TURNS = [330e-6, 346e-6, 360e-6]


@pytest.mark.parametrize(
    ("judge", "facts", "noted"),
    [
        # A device changes its clock under load.
        *((notes.throttled, (TURNS, x), True) for x in (407e-6, 300e-6)),
        *((notes.throttled, (TURNS, x), False) for x in (370e-6, 346e-6)),
        # Others use more than a twentieth of the cores, or half of one.
        *((notes.contention, (usage(*x),), True) for x in ((2, 0.2), (16, 0.6))),
        *((notes.contention, (usage(*x),), False) for x in ((2, 0.1), (16, 0.2))),
        # A figure is uncertain beyond a factor of two.
        (notes.uncertain, (Interval(0.0345, 16.0, 16.0, 0.99),), True),
        (notes.uncertain, (Interval(0.0, 1.0, 1.0, 0.99),), True),
        (notes.uncertain, (Interval(10.0, 21.0, 21.0, 0.5),), True),
        (notes.uncertain, (Interval(10.0, 19.0, 19.0, 0.99),), False),
        # Of a single round another note says it.
        (notes.uncertain, (Interval(16.0, 16.0, 16.0, 0.0),), False),
        # Freeing takes more than three percent of a call.
        (notes.of_freeing, (0.04, 1.0), True),
        *((notes.of_freeing, (x, 1.0), False) for x in (None, 0.0, 0.02)),
    ],
)
def test_what_is_noted_from_which_bound_on(judge: Any, facts: Any, noted: bool) -> None:
    found = judge(*facts)
    remarks = (
        [] if found is None else [found] if isinstance(found, Remark) else [*found]
    )
    assert len(remarks) == noted
    for remark in remarks:
        assert judge is not notes.uncertain or remark.code in notes.UNSTABLE
        if judge is notes.throttled:
            assert remark.facts == {"turns": 346e-6, "loaded": facts[1]}


@pytest.mark.parametrize(
    ("rate", "peak", "noted"),
    [(3e12, 2e12, True), (2e12, 2e12, False), (3e12, None, False), (None, 2e12, False)],
)
def test_no_rate_is_above_a_peak(
    rate: float | None, peak: float | None, noted: bool
) -> None:
    published = Peak(flops_per_second=peak, bytes_per_second=1.0, source="a datasheet")
    workload = cast("Workload", SimpleNamespace(peak=published))
    facts: dict[str, Any] = {"flops_per_second": rate, "peak": peak}
    (*found,) = notes.of_rate(workload, rate)
    assert found == [Remark("impossible", facts)] * noted
    assert all(remark.severity == "error" for remark in found)
