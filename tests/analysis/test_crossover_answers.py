"""Costs by clock, when a start has paid, and the sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxtui.analysis.crossover import (
    CLOCKS,
    DOUBT,
    Answer,
    Crossing,
    Payback,
    Point,
    answer,
    clocks,
    cost,
    crossing_size,
    faster,
    paybacks,
)
from jaxtui.model import Phases
from jaxtui.view.crossover import (
    Names,
    names,
    payback_sentence,
    sentence,
    sentences,
    wins,
)
from tests.analysis.planted import JIT, NUMPY, START, case, found, measurement

CALLED = Names("numpy", "jit")


def test_what_a_call_costs_by_each_clock() -> None:
    measured = measurement(JIT, 1e-3, width=0.1)
    seconds = {clock: cost(measured, clock) for clock in CLOCKS}
    assert seconds["call"][:3] == pytest.approx((0.9e-3, 1e-3, 1.1e-3))
    sent = START.transfer + START.fetch
    assert seconds["call_and_transfers"][:3] == pytest.approx(
        (0.9e-3 + (1 - DOUBT) * sent, 1e-3 + sent, 1.1e-3 + (1 + DOUBT) * sent)
    )
    cold = START.cold_seconds
    assert seconds["first_call"][:3] == pytest.approx(
        ((1 - DOUBT) * cold, cold, (1 + DOUBT) * cold)
    )
    assert seconds["first_call_and_transfers"].median == pytest.approx(cold + sent)


def test_what_runs_on_the_host_sends_and_compiles_nothing() -> None:
    measured = measurement(NUMPY, 1e-3)
    assert {cost(measured, clock) for clock in CLOCKS} == {cost(measured, "call")}


def test_inputs_on_the_host_are_sent_by_the_call_itself() -> None:
    measured = measurement(case(inputs="host"), 1e-3)
    found = cost(measured, "call_and_transfers")
    assert found is not None
    assert found.median == pytest.approx(1e-3 + START.fetch)


def test_what_was_not_measured_costs_nothing_known() -> None:
    measured = measurement(JIT, 1e-3, phases=Phases(compile=0.1))
    assert cost(measured, "call") is not None
    assert {cost(measured, clock) for clock in CLOCKS[1:]} == {None}


def test_few_rounds_are_doubted() -> None:
    found = cost(measurement(JIT, 1e-3, width=0.0, rounds=1), "call")
    assert found is not None
    assert found[:3] == pytest.approx((1e-3 * (1 - DOUBT), 1e-3, 1e-3 * (1 + DOUBT)))


@pytest.mark.parametrize(
    ("first", "second", "asked"),
    [
        (NUMPY, JIT, CLOCKS),
        (case("eager"), JIT, ("call", "first_call")),
        (case(dtype="bfloat16"), JIT, CLOCKS),
        (case(device="cpu:1"), JIT, CLOCKS),
        (case(inputs="host"), JIT, CLOCKS),
        (case(precision="highest"), JIT, ("call", "first_call")),
        (NUMPY, case("numpy", dtype="float64"), ("call",)),
    ],
)
def test_only_clocks_that_can_tell_the_two_apart_are_asked(
    first, second, asked
) -> None:
    assert clocks(first, second) == asked


@given(st.floats(1e-6, 1.0), st.floats(1e-6, 1.0))
def test_a_start_has_paid_at_the_first_call_at_which_the_sum_is_smaller(
    numpy: float, jit: float
) -> None:
    point = Point(64, measurement(NUMPY, numpy, 0.0), measurement(JIT, jit, 0.0))
    (one,) = paybacks([point])
    assert (one.size, one.side) == (64, "second")
    if jit >= numpy:
        assert one.calls is None
        return
    assert one.calls is not None
    start = START.cold_seconds + START.transfer

    def saved(calls: int) -> float:
        return calls * numpy - start - (calls - 1) * jit

    assert saved(one.calls) >= -1e-9 * one.calls
    assert one.calls == 1 or saved(one.calls - 1) <= 1e-9 * one.calls


def test_between_two_of_jax_it_is_the_slower_start_that_has_to_pay() -> None:
    quick = Phases(transfer=1e-4, first_call=0.0105, fetch=1e-5)
    eager = measurement(case("eager"), 2e-3, phases=quick)
    (one,) = paybacks([Point(64, eager, measurement(JIT, 1e-3))])
    # 44.1 ms against 10.6 ms, and a millisecond is saved by each call.
    assert (one.side, one.calls) == ("second", 35)
    (other,) = paybacks([Point(64, measurement(JIT, 1e-3), eager)])
    assert (other.side, other.calls) == ("first", 35)


def test_a_difference_that_cannot_be_measured_never_pays() -> None:
    point = Point(64, measurement(NUMPY, 1.01, 0.02), measurement(JIT, 1.0, 0.02))
    assert faster(point, "call") == "even"
    assert paybacks([point])[0].calls is None


def test_nothing_measured_has_no_answers() -> None:
    assert paybacks([]) == ()
    assert answer([], "call").found == "unknown"


def test_the_place_is_straight_between_neighbours_on_logarithmic_axes() -> None:
    assert crossing_size((100, 10_000), (-1.0, 1.0)) == pytest.approx(1000)
    assert crossing_size((100, 10_000), (-1.0, 3.0)) == pytest.approx(10**2.5)
    # Of two places the last; of none the middle.
    assert crossing_size((1, 100, 10_000), (-1.0, 1.0, -1.0)) == pytest.approx(1000)
    assert crossing_size((100, 10_000), (1.0, 1.0)) == pytest.approx(1000)


@pytest.mark.parametrize(
    ("first", "second", "called"),
    [
        (NUMPY, JIT, ("numpy", "jit")),
        (NUMPY, case(dtype="bfloat16"), ("numpy float32", "jit bfloat16")),
        (case("eager"), JIT, ("eager", "jit")),
        (case(dtype="bfloat16"), JIT, ("bfloat16", "float32")),
        (case(device="tpu:0"), JIT, ("tpu:0", "cpu:0")),
        (case(inputs="host"), JIT, ("host inputs", "device inputs")),
        (
            case("eager", device="tpu:0"),
            JIT,
            ("eager tpu:0", "jit cpu:0"),
        ),
    ],
)
def test_as_few_words_as_tell_the_two_apart(first, second, called) -> None:
    assert names(first, second) == called
    assert names(second, first) == tuple(reversed(called))


def crossing(**changes: object) -> Crossing:
    facts: dict[str, object] = {
        "below": 370,
        "above": 400,
        "at": 384,
        "faster": "second",
    }
    return Crossing(**{**facts, **changes})  # type: ignore[arg-type]


def said(**facts: object) -> str:
    given: dict[str, object] = {"clock": "call", "low": 16, "high": 8192, **facts}
    return sentence(Answer(**given), CALLED)  # type: ignore[arg-type]


def test_a_crossing_in_words() -> None:
    text = said(found="crossing", crossings=(crossing(),), faster="second")
    assert text == (
        "Per call, jit is faster from about 380 on: numpy is still ahead at 370, jit "
        "at 400."
    )
    assert wins(crossing(), CALLED) == "jit beats numpy from ~380"
    # Never outside of the sizes between which it is.
    assert wins(crossing(at=1240, below=1218, above=1300), CALLED).endswith("~1240")
    assert wins(crossing(faster="first"), CALLED) == "numpy beats jit from ~380"


def test_a_stretch_without_difference_in_words() -> None:
    wide = crossing(below=1600, above=2600, undecided=(1800, 2000, 2300))
    assert said(found="crossing", crossings=(wide,), faster="second") == (
        "Per call, numpy is faster up to 1600 and jit from 2600 on; between 1800 and "
        "2300 no difference can be measured."
    )
    narrow = crossing(undecided=(384,))
    text = said(found="crossing", crossings=(narrow,), faster="second")
    assert "at 384 no difference can be measured" in text


def test_a_stretch_of_changing_leads_in_words() -> None:
    mixed = crossing(below=96, above=192, undecided=(136, 162), mixed=True)
    text = said(found="crossing", crossings=(mixed,), faster="second")
    assert text.endswith("between 136 and 162 it was now the one, now the other.")


def test_earlier_crossings_are_mentioned() -> None:
    early = crossing(below=16, above=64, faster="second")
    late = crossing(faster="first")
    text = said(found="crossing", crossings=(early, late), faster="first")
    assert text.startswith("Per call, numpy is faster from about 380 on: ")
    assert text.endswith(
        "They cross before that, too: between 16 and 64 (jit ahead above)."
    )


def test_no_crossover_is_an_answer() -> None:
    assert said(found="always", faster="first", sure=8192) == (
        "Per call, numpy is faster at every size from 16 to 8192: no crossover up to "
        "8192."
    )
    assert said(found="always", faster="second", sure=256, even=(1024, 8192)) == (
        "Per call, jit is faster up to 256, and above that, up to 8192, no difference "
        "can be measured: no crossover up to 8192."
    )
    text = said(found="always", faster="second", sure=8192, even=(64,))
    assert "at every size from 16 to 8192, but for 64, where no difference" in text
    assert said(found="even", even=(16, 8192)) == (
        "Per call, no difference between numpy and jit can be measured at every size "
        "from 16 to 8192."
    )
    assert said(found="always", faster="second", sure=16, high=16).startswith(
        "Per call, jit is faster at 16, the only size that was measured"
    )
    assert said(found="unknown", low=None, high=None).endswith("measured at both.")


def test_every_clock_has_a_sentence() -> None:
    sizes = [16 * 4**step for step in range(13)]
    state = found(lambda n: 1e-9 * n, lambda n: 1e-6 + 2e-10 * n, sizes)
    lines = [*sentences(state)]
    assert [line.partition(",")[0] for line in lines] == [
        "Per call",
        "Per call",
        "For one single call",
        "For one single call",
    ]
    assert len(set(lines)) == 4
    # 1e-9 n = 1e-6 + 2e-10 n; with 110 µs for the copies; with 44 ms for the start.
    places = [found.crossing.at for found in state.answers if found.crossing]
    assert places == pytest.approx([1250, 138_750, 44e6, 44.11e6], rel=0.1)


def test_when_a_start_pays_in_words() -> None:
    paid = [
        Payback(size=64, side="second", calls=None),
        Payback(size=512, side="second", calls=12_345),
        Payback(size=1024, side="second", calls=27),
        Payback(size=4096, side="second", calls=1),
    ]
    assert payback_sentence(paid, CALLED) == (
        "The start of jit, compile and first transfer, pays after 12,000 calls at 512 "
        "and after 1 call at 4096."
    )
    assert payback_sentence(paid[:3][-1:], CALLED).endswith(
        "pays after 27 calls at 1024."
    )
    assert "never pays at the sizes" in payback_sentence(paid[:1], CALLED)
    assert payback_sentence([], CALLED) == ""
