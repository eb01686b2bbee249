from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from jaxtui.measure import experiment, ops, turns


@pytest.fixture(scope="module")
def brief() -> Iterator[None]:
    """Cases are done after eight short rounds, whatever the number is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "SPREAD_SHARE", 0.0)
        patch.setattr(turns, "TURN_SECONDS", 0.005)
        patch.setattr(turns, "TURN_SECONDS_AT_MOST", 0.005)
        defaults = turns.Turns.__init__.__kwdefaults__
        patch.setitem(defaults, "warm_up_seconds", 0.02)
        yield


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Puts a changed copy of an op into the catalogue for one test."""

    def plant(of: str, **changes: Any) -> str:
        name = f"planted_{of}"
        monkeypatch.setitem(ops.OPS, name, replace(ops.get(of), name=name, **changes))
        return name

    return plant
