"""What is offered to be written of a run, without a screen."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from jaxtui.engine.protocol import Envelope
from jaxtui.model import Case, Event, Experiment, Plan, RunStarted
from jaxtui.places import ExportError
from jaxtui.state import EMPTY, begin_run, reduce
from jaxtui.view import offers
from jaxtui.view.document import Results
from jaxtui.view.export import DARK
from jaxtui.view.offers import Offer
from tests.fake_engine import HOST as VM
from tests.fake_engine import sampled

SELU = tuple(
    Case(op="selu", size=64, dtype="float32", device=device, mode=mode)
    for device, mode in (("cpu:0", "jit"), ("host", "numpy"))
)


def offered(*happened: Event, cases: tuple[Case, ...] = SELU) -> Offer:
    """After a run has begun and this has happened; the engine makes no plan."""
    state = begin_run(EMPTY, 1, "bench", Experiment(cases=cases))
    for event in (RunStarted(cases=cases, budget_seconds=1.0), *happened):
        state = reduce(state, Envelope(generation=0, run=1, event=event))

    async def no_plan(experiment: Experiment) -> Plan:
        raise ExportError("JAX is not there.")

    assert state.run is not None
    return offers.of_run(VM, state.run, cases[0], None, DARK, no_plan)


def content(offer: Offer, ending: str) -> str:
    found = next(one for one in offer.formats if one.ending == ending)
    return asyncio.run(found.content())  # type: ignore[arg-type]


def test_of_a_run_that_goes_on_there_is_what_has_arrived() -> None:
    offer = offered(sampled(0, SELU[0], 0))
    assert offer.what == "selu, 2 cases, what has arrived so far"
    kept = msgspec.json.decode(content(offer, ".json"), type=Results)
    assert [one.case for one in kept.measurements] == [SELU[0]]
    assert kept.failures == ()


@pytest.mark.parametrize(("cases", "scripts"), [(SELU, 2), (SELU[:1], 1)])
def test_without_a_plot_the_picture_is_the_table_and_a_script_needs_the_engine(
    cases: tuple[Case, ...], scripts: int
) -> None:
    offer = offered(cases=cases)
    holds = {one.ending: one.holds for one in offer.formats}
    assert holds[".svg"] == "the table: there is no plot yet, as a picture"
    assert "<svg" in content(offer, ".svg")
    assert all(0 < len(one.holds) <= 60 for one in offer.formats)
    # That of the selected case, and that of all, if there are others.
    assert [one.ending for one in offer.formats].count(".py") == scripts
    with pytest.raises(ExportError, match="JAX is not there"):
        content(offer, ".py")
