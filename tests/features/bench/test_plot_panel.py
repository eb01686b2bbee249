"""Which picture of a run the key goes to."""

from __future__ import annotations

from msgspec.structs import replace

from jaxtui.core.model import Peak
from jaxtui.features.bench.choices import next_picture, view_of
from jaxtui.ui.app.state import State
from tests.ui.making import JIT, done, over_sizes, run_of


def test_pictures_go_round_and_curves_need_several_sizes() -> None:
    peak = Peak(flops_per_second=1e13, bytes_per_second=None, source="a data sheet")
    ran = over_sizes(JIT, flops_per_second=1e12, peak=peak)
    state = State(jobs={"bench": ran})
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
    # No empty plot in between where no peak is published; a metric that an earlier run
    # had is left.
    unknown = State(jobs={"bench": over_sizes(JIT, peak=None)}, metric="flops")
    assert next_picture(unknown) == ("sweep", "numpy")
    assert next_picture(replace(unknown, metric="peak")) == ("sweep", "flops")
    one = State(jobs={"bench": run_of(done(JIT))}, view="sweep")
    assert view_of(one) == "live"
    assert next_picture(replace(one, view="live")) == ("histogram", "time")
