"""Which picture of a run the key goes to."""

from __future__ import annotations

from msgspec.structs import replace

from jaxtui.tui.state import State, next_picture, view_of
from tests.view.making import JIT, done, over_sizes, run_of


def test_pictures_go_round_and_curves_need_several_sizes() -> None:
    state = State(jobs={"bench": over_sizes(JIT)})
    seen = []
    for _ in range(8):
        seen.append((view_of(state), state.metric))
        view, metric = next_picture(state)
        state = replace(state, view=view, metric=metric)
    assert seen == [
        ("sweep", "time"),
        ("sweep", "flops"),
        ("sweep", "peak"),
        ("sweep", "numpy"),
        ("histogram", "time"),
        ("roofline", "time"),
        ("live", "time"),
        ("sweep", "time"),
    ]
    one = State(jobs={"bench": run_of(done(JIT))}, view="sweep")
    assert view_of(one) == "live"
    assert next_picture(replace(one, view="live")) == ("histogram", "time")
