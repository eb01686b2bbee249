from __future__ import annotations

from collections.abc import Iterator

import pytest

from jaxtui.measure import experiment, turns


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
