"""What is said of links: figures by distance, slow pairs, heat maps."""

from __future__ import annotations

import pytest

from jaxtui.features.links.report import report
from jaxtui.ui.heat import Scale
from jaxtui.ui.report import terminal
from tests.fake_engine import cpu_devices, tpu_devices
from tests.features.links.linking import measured


@pytest.mark.parametrize(("devices", "maps"), [(3, 2), (16, 2), (17, 0), (64, 0)])
def test_it_fits_a_small_terminal(devices: int, maps: int) -> None:
    links, state = measured(cpu_devices(devices))
    told = report(links, state)
    assert len(told.tables) == maps
    text = terminal(told, 80)
    assert max(map(len, text.splitlines())) <= 80


MEASURED = {
    "all": measured(tpu_devices(), {("tpu:2", "tpu:5"): 2.0}),
    "some": measured(tpu_devices(), broken=["tpu:3"]),
    "none": measured(cpu_devices(2), broken=["cpu:0", "cpu:1"]),
}


def test_a_scale_covers_a_factor_of_two() -> None:
    assert Scale.of([]) is None
    alike = Scale.of([95.0, 100.0])
    assert alike is not None
    assert alike.role(95.0) == alike.role(100.0) == "heat-7"
    outlier = Scale.of([1.0, 1.1, 1.2, 1.5, 1.9, 1000.0])
    assert outlier is not None
    assert len({outlier.role(x) for x in (1.0, 1.5, 1.9, 1000.0)}) == 4
    apart = Scale.of([10.0, 55.0, 100.0])
    assert apart is not None
    roles = [apart.role(x) for x in (10.0, 55.0, 100.0)]
    assert roles == ["heat-0", "heat-4", "heat-7"]
