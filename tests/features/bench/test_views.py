"""Which picture a view of a run has, the words where there is none, and its key."""

from __future__ import annotations

from msgspec.structs import replace

from jaxtui.core.model import Peak
from jaxtui.core.state import CaseState
from jaxtui.features.bench.choices import next_picture, view_of
from jaxtui.ui.app.state import State as AppState
from tests.ui.making import (
    FAILED,
    JIT,
    NUMPY,
    SIZES,
    at_size,
    done,
    over_sizes,
    run_of,
)

WAITING = run_of(*(CaseState(at_size(JIT, size)) for size in SIZES))
ON_TWO = (CaseState(replace(JIT, device=name)) for name in ("tpu:0", "tpu:1"))

VIEWED = {
    "waiting": WAITING,
    "in its first call": run_of(CaseState(JIT, status="running", doing="first_call")),
    "failed": run_of(FAILED),
    "cancelled": replace(WAITING, outcome="cancelled"),
    "without NumPy and peak": over_sizes(JIT, peak=None, flops_per_second=None),
    "over sizes": over_sizes(NUMPY, JIT),
    "on two devices": run_of(*ON_TWO),
}
VIEWS = {
    "live": {},
    "histogram": {},
    "roofline": {},
    "sweep": {},
    "numpy": {"metric": "numpy"},
    "peak": {"metric": "peak"},
    "flops": {"metric": "flops"},
}


def test_pictures_go_round_and_curves_need_several_sizes() -> None:
    peak = Peak(flops_per_second=1e13, bytes_per_second=None, source="a data sheet")
    ran = over_sizes(JIT, flops_per_second=1e12, peak=peak)
    state = AppState(jobs={"bench": ran})
    seen = []
    for _ in range(8):
        seen.append((view_of(state), state.metric))
        view, metric = next_picture(state)
        state = replace(state, view=view, metric=metric)
    metrics = ("time", "flops", "peak", "numpy")
    others = ("histogram", "roofline", "live", "sweep")
    assert seen == [("sweep", x) for x in metrics] + [(x, "time") for x in others]
    # No empty plot in between where no peak is published; a metric that an earlier run
    # had is left.
    unknown = AppState(jobs={"bench": over_sizes(JIT, peak=None)}, metric="flops")
    assert next_picture(unknown) == ("sweep", "numpy")
    assert next_picture(replace(unknown, metric="peak")) == ("sweep", "flops")
    one = AppState(jobs={"bench": run_of(done(JIT))}, view="sweep")
    assert view_of(one) == "live"
    assert next_picture(replace(one, view="live")) == ("histogram", "time")
