"""Two processes in step, played by two threads whose calls differ in length."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jaxtui.engine.lockstep import Lockstep
from jaxtui.measure import clocks
from jaxtui.measure.pace import ALONE, Pace
from jaxtui.measure.turns import Turns, take_turns
from jaxtui.measure.workload import Workload
from tests.measure.running import case

LIMIT_SECONDS = 60.0


class Store:
    """Keys that can be waited for."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._changed = threading.Condition()

    def put(self, key: str, value: bytes, *, again: bool = False) -> None:
        with self._changed:
            self._values[key] = value
            self._changed.notify_all()

    def get(self, key: str, seconds: float) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: key in self._values, seconds)
            return self._values.get(key)

    def delete(self, key: str) -> None:
        with self._changed:
            for each in [one for one in self._values if one.startswith(f"{key}/")]:
                del self._values[each]


class Group:
    def lost(self, *_: object, **__: object) -> None: ...

    def give_up(self, remark: object) -> None: ...


def in_step(*parts: Callable[[Pace], object]) -> list[Any]:
    """What each of them gives, all at the same time."""
    store, results = Store(), [None for _ in parts]
    group: Any = Group()
    every = range(len(parts))

    def run(number: int) -> None:
        pace = Lockstep(group, store, 0, every, number)  # type: ignore[arg-type]
        results[number] = parts[number](pace)  # type: ignore[call-overload]
        pace.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in every]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_SECONDS)
        assert not thread.is_alive()
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


def test_all_call_as_often_and_in_the_same_order() -> None:
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
                        wait=clocks.no_wait,
                    ),
                    throughput=name == "a",
                    queue_depth=32,
                    pace=pace,
                )

            every = [series("a"), series("b")]
            turns: Iterator[Turns] = take_turns(
                every, 0.5, stop=lambda: False, seed=3, pace=pace
            )
            for one in turns:
                # As the clock of one of them would have it.
                enough = len(one.rounds) + elements // 1000
                one.done = pace.decide(lambda enough=enough: enough >= 6, bool)  # type: ignore[misc]
            assert all(one.rounds for one in every)
            return seen

        return calls

    first, second = in_step(part(8), part(2_000))
    assert first == second
    assert {"a", "b"} == {*first}
