"""What is offered to be written of a run, without a screen."""

from __future__ import annotations

import inspect

import msgspec
import pytest

from jaxtui.engine.protocol import Envelope
from jaxtui.model import Case, Event, Experiment, Plan, Remark, RunStarted
from jaxtui.state import EMPTY, begin_run, reduce
from jaxtui.view import offers
from jaxtui.view.document import Results
from jaxtui.view.export import ExportError
from jaxtui.view.offers import Offer
from jaxtui.view.render import DARK
from tests.fake_engine import HOST as VM
from tests.fake_engine import sampled

SELU = tuple(
    Case(op="selu", size=64, dtype="float32", device=device, mode=mode)
    for device, mode in (("cpu:0", "jit"), ("host", "numpy"))
)


def offered(*happened: Event) -> Offer:
    """After a run has begun and this has happened; the engine makes no plan."""
    state = begin_run(EMPTY, 1, "bench", Experiment(cases=SELU))
    for event in (RunStarted(cases=SELU, budget_seconds=1.0), *happened):
        state = reduce(state, Envelope(generation=0, run=1, event=event))

    async def no_plan(experiment: Experiment) -> Plan:
        raise ExportError(Remark("script-needs-jax"))

    assert state.run is not None
    return offers.of_run(VM, state.run, None, DARK, no_plan)


async def content(offer: Offer, ending: str) -> str:
    made = offer.contents[ending]()
    return await made if inspect.isawaitable(made) else made


async def test_of_a_run_that_goes_on_there_is_what_has_arrived() -> None:
    offer = offered(sampled(0, SELU[0], 0))
    assert list(offer.contents) == [".json", ".csv", ".md", ".svg", ".py"]
    kept = msgspec.json.decode(await content(offer, ".json"), type=Results)
    assert [one.case for one in kept.measurements] == [SELU[0]]
    assert kept.failures == ()


async def test_without_a_plot_there_is_a_picture_and_without_an_engine_no_script() -> (
    None
):
    offer = offered()
    assert "<svg" in await content(offer, ".svg")
    with pytest.raises(ExportError) as refused:
        await content(offer, ".py")
    assert refused.value.remark.code == "script-needs-jax"
