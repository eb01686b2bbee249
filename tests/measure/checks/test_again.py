"""A device that only seemed slow is cleared; one that is slow stays so."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import pytest

from jaxtui.machine.survey import Survey
from jaxtui.measure.checks.again import looked_at_again
from jaxtui.measure.checks.base import Context, by_device, name
from jaxtui.measure.stopping import never
from jaxtui.model import Check, CheckDoing, CheckDone, CheckRead, Reading

NAMES = ("cpu:0", "cpu:1", "cpu:2", "cpu:3")


def rates(*looks: dict[str, float]) -> tuple[dict[str, float], list[str]]:
    """The rates in the end, and the devices in the order in which they worked."""
    visits: dict[str, int] = {}

    def job(device: jax.Device, seconds: float) -> Iterator[Reading]:
        number = visits[name(device)] = visits.get(name(device), -1) + 1
        rate = looks[number].get(name(device), 100.0)
        yield Reading(test="compute", device=name(device), what="x", measured=rate)

    check = Check(test="compute", devices=NAMES, budget_seconds=1.0)
    context = Context(check, Survey(), never)
    events = list(looked_at_again(context, job, by_device(context, "x", job)))
    found = {
        one.reading.device or "": one.reading.measured or 0.0
        for one in events
        if isinstance(one, CheckRead)
    }
    assert [one.device for one in events if isinstance(one, CheckDone)] == [*NAMES]
    doing = [one.devices[0] for one in events if isinstance(one, CheckDoing)]
    return found, doing


@pytest.mark.parametrize(
    ("second", "kept"), [({}, 100.0), ({"cpu:2": 25.0}, 25.0), ({"cpu:2": 5.0}, 20.0)]
)
def test_the_better_of_two_looks_counts(second: dict[str, float], kept: float) -> None:
    found, doing = rates({"cpu:2": 20.0}, second)
    assert found == {"cpu:0": 100.0, "cpu:1": 100.0, "cpu:2": kept, "cpu:3": 100.0}
    assert doing == [*NAMES, "cpu:2"]


def test_nobody_is_bothered_without_need() -> None:
    found, doing = rates({"cpu:2": 90.0})
    assert found["cpu:2"] == 90.0
    assert doing == [*NAMES]
