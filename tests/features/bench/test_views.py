"""Which picture a view of a run has, and the words where there is none."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from jaxtui.core.state import CaseState, Job, State
from jaxtui.features.bench.curves import Metric
from jaxtui.features.bench.views import View, plot
from tests.ui.making import (
    COLORS,
    FAILED,
    JIT,
    NUMPY,
    SIZES,
    at_size,
    over_sizes,
    run_of,
)

WAITING = run_of(*(CaseState(at_size(JIT, size)) for size in SIZES))


@pytest.mark.parametrize(
    ("run", "wanted", "said"),
    [
        (WAITING, ("live",), "No timed call of matmul"),
        (
            WAITING,
            ("histogram",),
            "No timed call of matmul",
        ),
        (WAITING, ("sweep",), "No timed call yet."),
        (WAITING, ("roofline",), "z measures the roofs of tpu:0"),
        (run_of(FAILED), ("live",), "No room. Smaller."),
        (run_of(FAILED), ("sweep",), "Every case failed"),
        (
            replace(WAITING, outcome="cancelled"),
            ("sweep",),
            "Stopped before the first",
        ),
        (over_sizes(JIT, peak=None), ("sweep", "numpy"), "Add mode numpy."),
        (
            over_sizes(JIT, peak=None),
            ("sweep", "peak"),
            "No published peak for this device",
        ),
    ],
)
def test_where_there_is_no_picture_there_are_words(
    run: Job, wanted: tuple[View, Metric], said: str
) -> None:
    view, *metric = wanted
    _, picture, why = plot(State(jobs={"bench": run}), 0, view, COLORS, *metric)
    assert picture is None
    assert said in why


def test_each_view_has_its_picture_and_title() -> None:
    state = State(jobs={"bench": over_sizes(NUMPY, JIT)})
    titles = {}
    for view in ("live", "sweep", "histogram"):
        titles[view], picture, _ = plot(state, 1, view, COLORS)
        assert (picture is not None) == (view == "sweep"), "no calls were kept"
    assert titles["live"].endswith("· matmul 256 jit")
    assert titles["histogram"].endswith("· matmul 256 jit")
    assert "time per call over size" in titles["sweep"]
    assert plot(State(), 0, "live", COLORS) == ("", None, "")
    # The roofline is that of the selected case's device.
    cases = [msgspec.structs.replace(JIT, device=name) for name in ("tpu:0", "tpu:1")]
    state = State(jobs={"bench": run_of(*map(CaseState, cases))})
    assert plot(state, 1, "roofline", COLORS)[0] == "roofline of tpu:1"
