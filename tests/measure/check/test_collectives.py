"""The collectives between all devices, on real (CPU) devices."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from jaxtui.measure import ops
from jaxtui.model import RunFinished
from tests.measure.check.faults import NAMES, check, done, events, readings


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jaxtui.measure.check.collectives.SHARED_SIZE", 4096)


def of_all(devices: int = 4):
    found = events(check("collectives", devices, level="full"))
    return found, readings(found)


def test_each_is_right_and_has_its_bandwidth() -> None:
    found, read = of_all()
    assert [reading.what.split()[0] for reading in read] == [*ops.COLLECTIVES]
    for reading in read:
        assert (reading.device, reading.unit) == (None, "bytes/s")
        assert reading.measured is not None
        assert reading.measured > 0
        assert reading.confidence
        assert reading.remarks == ()
    assert done(found) == NAMES
    assert isinstance(found[-1], RunFinished)


def test_a_wrong_element_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ops.COLLECTIVES["permute"]
    wrong = replace(right, form=lambda x, axes: right.form(x, axes) + 1)
    monkeypatch.setitem(ops.COLLECTIVES, "permute", wrong)
    _, read = of_all()
    codes = {reading.what.split()[0]: reading.remarks for reading in read}
    (remark,) = codes.pop("permute")
    assert (remark.code, remark.severity) == ("wrong-result", "error")
    assert remark.facts["wrong"] == 4 * 1024
    assert not any(codes.values())


def test_one_that_raises_costs_its_figure_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def burns(x, axes):
        raise RuntimeError("INTERNAL: link on fire")

    right = ops.COLLECTIVES["permute"]
    monkeypatch.setitem(ops.COLLECTIVES, "permute", replace(right, form=burns))
    found, read = of_all()
    measured = {reading.what.split()[0]: reading.measured for reading in read}
    assert measured.pop("permute") is None
    assert all(measured.values())
    assert done(found) == NAMES


def test_a_device_alone_has_nobody_to_talk_to() -> None:
    found, (only,) = of_all(1)
    assert [remark.code for remark in only.remarks] == ["one-device"]
    assert done(found) == NAMES[:1]
