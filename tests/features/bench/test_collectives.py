"""What is shown of collectives."""

from __future__ import annotations

import msgspec

from jaxtui.core.model import CollectiveRates
from jaxtui.features.bench import curves
from jaxtui.features.bench import report as bench
from jaxtui.ui.plot import COLORS
from jaxtui.ui.report import as_text
from tests.records import case
from tests.ui.making import done, run_of

REDUCE = case(op="all_reduce", device="tpu:0-7")


def rates(bus: float, wrong: int | None = 0) -> CollectiveRates:
    return CollectiveRates(
        participants=8,
        algorithm_bytes_per_second=bus / 1.75,
        bus_bytes_per_second=bus,
        wrong=wrong,
    )


def at(size: int, **changes: object):
    return done(msgspec.structs.replace(REDUCE, size=size), 1e-3, **changes)


SWEEP = run_of(
    at(1024, collective=rates(1.75e9), pipelined_seconds=2e-3),
    at(4096, collective=rates(7e9, 12), pipelined_seconds=3e-3),
)


def cells(run) -> dict[str, list[str]]:
    found = bench.result_columns(run, room=0)
    return {
        column.head: [as_text(cell).plain for cell in column.cells] for column in found
    }


def test_columns_are_those_of_nccl_tests() -> None:
    found = cells(SWEEP)
    assert found["algbw GB/s"] == ["1.00", "4.00"]
    assert found["busbw GB/s"] == ["1.75", "7.00"]
    assert found["wrong"] == ["0", "12"]
    assert found["pipelined ms"] == ["2.00", "3.00"]
    assert "FLOP/s" not in found


def test_other_ops_beside_them_keep_their_rates() -> None:
    found = cells(run_of(*SWEEP.cases, done(case(), 1e-3, flops_per_second=2e9)))
    assert found["busbw GB/s"] == ["1.75", "7.00", ""]
    rates = next(texts for head, texts in found.items() if "rate" in head)
    assert rates[2].startswith("2.0")


def test_nothing_is_wrong_before_it_was_checked() -> None:
    assert cells(run_of(at(1024, collective=rates(1e9, None))))["wrong"] == [""]


def test_busbw_is_a_curve_over_size() -> None:
    drawn = curves.picture(SWEEP, "busbw", COLORS)
    assert drawn is not None
    (series,) = drawn.series
    assert [*series.y] == [1.75e9, 7e9]
    assert curves.picture(run_of(done(case(), 1e-3)), "busbw", COLORS) is None
