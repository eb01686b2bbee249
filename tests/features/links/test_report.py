"""What is said of links: figures by distance, slow pairs, heat maps."""

from __future__ import annotations

import pytest

from jaxtui.features.links.report import Heat, count, headline, report, taking_part
from jaxtui.ui.heat import Scale
from jaxtui.ui.report import terminal
from tests.fake_engine import cpu_devices, tpu_devices
from tests.features.links.linking import measured


def test_a_heat_map_keeps_directions() -> None:
    links, state = measured(tpu_devices(), {("tpu:2", "tpu:5"): 2.0})
    heat = Heat(links, taking_part(links, state.devices))
    slow, fast = heat.text(("tpu:2", "tpu:5")), heat.text(("tpu:5", "tpu:2"))
    assert (slow.plain, fast.plain) == ("20", "40")
    assert slow.spans[0].style != fast.spans[0].style
    assert heat.text(("tpu:2", "tpu:2")).plain == "·"
    tall = heat.text(("tpu:2", "tpu:5"), 6, 3)
    assert tall.plain == "      \n  20  \n      "
    about = heat.about(("tpu:2", "tpu:5")).plain
    assert "2,0,0 → tpu:5 at 1,1,0  20.0 GB/s (19.8–20.2) · 30.0 µs" in about


@pytest.mark.parametrize(("devices", "maps"), [(3, 2), (16, 2), (17, 0), (64, 0)])
def test_it_fits_a_small_terminal(devices: int, maps: int) -> None:
    links, state = measured(cpu_devices(devices))
    told = report(links, state)
    assert len(told.tables) == maps
    text = terminal(told, 80)
    assert max(map(len, text.splitlines())) <= 80


def test_links_that_were_not_measured() -> None:
    links, _ = measured(tpu_devices(), broken=["tpu:3"])
    assert count(links) == (49, 56)
    assert headline(links).startswith("49 of 56 links: ")
    told = report(*measured(cpu_devices(2), broken=["cpu:0", "cpu:1"]))
    assert (told.verdict, told.tables) == ("0 of 2 links measured.", [])
    assert "link down" in terminal(told, None)


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
