"""Two processes in step, played by two threads whose calls differ in length."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from jaxtui.core.engine.lockstep import CLEAR_STEPS, Lockstep
from jaxtui.tasks import waiting
from jaxtui.tasks.workload import Workload
from jaxtui.timing import turns
from jaxtui.timing.pace import ALONE, Pace
from jaxtui.timing.turns import Turns, take_turns
from tests.stores import at_once, group
from tests.tasks.running import case


def in_step(*parts: Callable[[Pace], object]) -> list[Any]:
    """What each of them gives, all at the same time."""
    store, hosts = group(len(parts))
    every = range(len(parts))

    def run(number: int) -> Any:
        pace = Lockstep(hosts[number], "step", every)
        result = parts[number](pace)
        pace.close()
        return result

    results = at_once([partial(run, number) for number in every])
    assert not store.values  # nothing is left of what was decided
    return results


def test_the_first_decides_and_all_are_gathered_there() -> None:
    def part(number: int) -> Callable[[Pace], object]:
        return lambda pace: (
            pace.decide(lambda: number, int),
            pace.gather(number, int),
            pace.decide(lambda: ("selu", number), tuple[str, int]),
        )

    first, second, third = in_step(*map(part, (10, 20, 30)))
    assert first == (10, [10, 20, 30], ("selu", 10))
    assert second == (10, [20], ("selu", 10))
    assert third == (10, [30], ("selu", 10))


def test_a_process_alone_decides_for_itself() -> None:
    assert not ALONE.shared
    assert ALONE.decide(lambda: 3, int) == 3
    assert ALONE.gather(3, int) == [3]


def test_decisions_are_forgotten_once_all_have_read_them() -> None:
    most = 0

    def decide(pace: Pace) -> list[int]:
        nonlocal most
        values = []
        for number in range(5 * CLEAR_STEPS):
            values.append(pace.decide(partial(int, number), int))
            most = max(most, len(pace._store.values))  # type: ignore[attr-defined]
        return values

    first, second, third = in_step(decide, decide, decide)
    assert first == second == third == [*range(5 * CLEAR_STEPS)]
    assert most <= CLEAR_STEPS + 3


def test_all_call_as_often_and_in_the_same_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "CALLS_AT_MOST", 40)

    def part(elements: int) -> Callable[[Pace], list[str]]:
        def calls(pace: Pace) -> list[str]:
            seen: list[str] = []

            def call(name: str, x: Any) -> Any:
                seen.append(name)
                return np.exp(x)

            def series(name: str) -> Turns:
                return Turns(
                    Workload(
                        case=case("add", 8, "jit"),
                        call=lambda x: call(name, x),
                        args=(np.ones(elements),),
                        wait=waiting.no_wait,
                    ),
                    throughput=name == "a",
                    queue_depth=32,
                    pace=pace,
                )

            every = [series("a"), series("b")]
            for one in take_turns(every, 0.5, stop=lambda: False, seed=3, pace=pace):
                # As the clock of one of them would have it.
                enough = len(one.rounds) + elements // 1000
                one.done = pace.decides and enough >= 6
            assert all(one.rounds for one in every)
            return seen

        return calls

    first, second = in_step(part(8), part(2_000))
    assert first == second
    assert {"a", "b"} == {*first}
