"""Results compared bit by bit."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from jaxtui.measure.checks.ballot import Ballot, difference

NAN = float("nan")


@pytest.mark.parametrize(
    ("left", "right", "elements", "largest"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0, 0.0),
        ([1.0, 2.0, 3.0], [1.0, 2.5, 3.25], 2, 0.5),
        ([0.0], [-0.0], 1, 0.0),
        ([NAN], [NAN], 0, 0.0),
        ([1.0, 2.0], [NAN, 3.0], 2, NAN),
        ([math.inf], [1.0], 1, NAN),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, ml_dtypes.bfloat16])
def test_elements_whose_bytes_differ(
    left: list[float], right: list[float], elements: int, largest: float, dtype: type
) -> None:
    found = difference(np.array(left, dtype), np.array(right, dtype))
    assert (found.elements, found.of) == (elements, len(left))
    assert found.largest == pytest.approx(largest, nan_ok=True)


def test_a_bit_that_no_one_sees_in_the_numbers_shown() -> None:
    right = np.float32(1.0)
    wrong = np.nextafter(right, np.float32(2))
    found = difference(np.array([[right, wrong]]), np.array([[right, right]]))
    assert found.elements == 1
    assert found.largest == pytest.approx(2**-23)


@pytest.mark.parametrize(
    "other", [np.zeros((2, 2), np.float32), np.zeros(3, np.float32), np.zeros(4)]
)
def test_another_shape_or_dtype_differs_everywhere(other: np.ndarray) -> None:
    found = difference(np.zeros(4, np.float32), other)
    assert found.elements == 4
    assert math.isnan(found.largest)


def test_scalars_integers_and_complex_numbers() -> None:
    assert difference(np.array(3), np.array(5)).largest == 2
    assert difference(np.array([3 + 4j]), np.array([0j])).largest == 5
    assert difference(np.empty((0, 3)), np.empty((0, 3))).elements == 0


def ballot(*values: float) -> Ballot:
    made = Ballot()
    for index, value in enumerate(values):
        made.cast(f"d:{index}", np.array([value, 1.0]))
    return made


@pytest.mark.parametrize(
    ("values", "winner"),
    [
        ((1,), (0,)),
        ((1, 1, 1), (0, 1, 2)),
        ((2, 1, 1), (1, 2)),
        ((1, 2, 1, 3), (0, 2)),
        ((1, 2), None),
        ((1, 2, 1, 2), None),
        ((1, 2, 3), None),
        ((), None),
    ],
)
def test_most_devices_win(
    values: tuple[float, ...], winner: tuple[int, ...] | None
) -> None:
    made = ballot(*values)
    if winner is None:
        assert made.winner is None
        return
    assert made.winner is not None
    assert made.holders(made.winner) == tuple(f"d:{index}" for index in winner)
    for index in range(len(values)):
        assert (made.against(f"d:{index}") is None) == (index in winner)


def test_of_a_tie_every_party_differs() -> None:
    made = ballot(1, 2)
    for device in ("d:0", "d:1"):
        found = made.against(device)
        assert found is not None
        assert (found.elements, found.largest) == (1, 1.0)


def test_equal_results_are_kept_once() -> None:
    made = Ballot()
    first = np.arange(3)
    assert made.cast("d:0", first) is first
    assert made.cast("d:1", first.copy()) is first
    assert len(made.results) == 1
