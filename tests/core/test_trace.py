"""The envelope of many calls in bounded memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jaxtui.core.trace import MAXIMUM_POINTS, Trace, thin

times = st.lists(st.floats(min_value=1e-9, max_value=1e3), max_size=200)


@given(times)
def test_thinning_keeps_the_extremes_and_halves(points: list[float]) -> None:
    thinned = thin(points)
    assert len(thinned) <= len(points) // 2 + 2
    if points:
        assert min(thinned) == min(points)
        assert max(thinned) == max(points)


def test_thinning_keeps_the_order_of_the_extremes() -> None:
    assert thin([1, 9, 2, 3, 8, 4, 5, 1]) == (1, 9, 8, 1)


def test_any_number_of_calls_stays_bounded_and_keeps_its_peak() -> None:
    trace = Trace()
    for turn in range(300):
        trace = trace.extended([1.0] * 199 + [100.0 if turn == 0 else 2.0])
    assert len(trace.points) <= MAXIMUM_POINTS
    assert max(trace.points) == 100.0
    assert trace.points.index(100.0) < 10
