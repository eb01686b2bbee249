"""The store that several processes share, in memory: each of them is a thread."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from jaxtui.core.engine.hosts import Hosts
from jaxtui.core.model import Place, Terms

LIMIT_SECONDS = 60.0


class Store:
    """Keys that can be waited for, and what was done with them."""

    def __init__(self, processes: int) -> None:
        self.values: dict[str, bytes] = {}
        self.done: Counter[str] = Counter()
        """Messages, by what they ask for."""
        self._processes, self._met = processes, Counter[str]()
        self._changed = threading.Condition()

    def put(self, key: str, value: bytes, *, again: bool = False) -> None:
        with self._changed:
            assert again or key not in self.values, key
            self.done["put"] += 1
            self.values[key] = value
            self._changed.notify_all()

    def get(self, key: str, seconds: float) -> bytes | None:
        with self._changed:
            self.done["get"] += 1
            self._changed.wait_for(lambda: key in self.values, seconds)
            return self.values.get(key)

    def under(self, key: str) -> list[tuple[str, bytes]]:
        with self._changed:
            found = [one for one in self.values if one.startswith(f"{key}/")]
            return [(one, self.values[one]) for one in sorted(found)]

    def meet(self, barrier: str) -> None:
        with self._changed:
            self.done["meet"] += 1
            self._met[barrier] += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._met[barrier] == self._processes)

    def delete(self, key: str) -> None:
        with self._changed:
            self.done["delete"] += 1
            for each in [*self.values]:
                if each == key or each.startswith(f"{key}/"):
                    del self.values[each]


def group(
    processes: int, machines: Sequence[int] = (), said: Callable[..., None] = print
) -> tuple[Store, list[Hosts]]:
    """So many processes that have met; all on one machine unless it is said."""
    store: Any = Store(processes)
    terms = Terms(
        hostnames=tuple(f"h{number}" for number in range(processes)),
        machines=tuple(machines) or (0,) * processes,
    )
    places = [Place("h0:1", processes, number) for number in range(processes)]
    return store, [Hosts(store, place, terms, said) for place in places]


def at_once(parts: Sequence[Callable[[], Any]]) -> list[Any]:
    """What each of them gives, all at the same time; the first exception is raised."""
    with ThreadPoolExecutor(len(parts)) as pool:
        futures = [pool.submit(part) for part in parts]
        return [future.result(LIMIT_SECONDS) for future in futures]
