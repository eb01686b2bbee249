"""Waiting for threads that spin."""

import random
from dataclasses import dataclass
from time import perf_counter

import pytest

from jaxtui.measure import resting
from jaxtui.measure.schedule import shuffled
from jaxtui.model import Case


def test_a_process_at_rest_is_not_waited_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resting, "process_time", lambda: 0.0)
    assert resting.rest(at_most=60.0) < 1.0


def test_threads_that_never_rest_are_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resting, "process_time", perf_counter)
    assert resting.rest(at_most=0.1) >= 0.1


@dataclass(frozen=True)
class One:
    case: Case


def test_what_numpy_runs_has_its_turns_together() -> None:
    made = [
        One(Case(op="add", size=n, dtype="float32", device=device, mode=mode))
        for n in (1, 2, 3)
        for device, mode in (("cpu:0", "jit"), ("host", "numpy"))
    ]
    orders = [shuffled(made, random.Random(seed)) for seed in range(20)]
    for order in orders:
        kinds = [one.case.on_host for one in order]
        assert kinds in ([True] * 3 + [False] * 3, [False] * 3 + [True] * 3)
        assert set(order) == set(made)
    assert len({order[0].case.on_host for order in orders}) == 2
    assert len({tuple(one.case.label for one in order) for order in orders}) > 5
