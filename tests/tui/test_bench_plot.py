"""Which view of a run the keys go to, and why one has no effect."""

from __future__ import annotations

from dataclasses import replace

from jaxtui.tui.bench_plot import why_not_plot
from jaxtui.tui.state import State, next_view, view_of
from tests.view.making import JIT, done, over_sizes, run_of


def test_views_go_round_and_curves_need_several_sizes() -> None:
    state = State(jobs={"bench": over_sizes(JIT)})
    seen = []
    for _ in range(5):
        seen.append(view_of(state))
        state = replace(state, view=next_view(state))
    assert seen == ["sweep", "histogram", "roofline", "live", "sweep"]
    one = State(jobs={"bench": run_of(done(JIT))}, view="sweep")
    assert view_of(one) == "live"
    assert next_view(replace(one, view="live")) == "histogram"
    assert "only one size" in (why_not_plot("metric", one) or "")
    for action in ("view", "metric"):
        assert "run something first" in (why_not_plot(action, State()) or "")
    assert why_not_plot("run", State()) is None
