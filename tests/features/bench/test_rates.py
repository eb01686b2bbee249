"""Rates over the chip map: colours, figures, and stragglers by id and coords."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from jaxtui.core.state import CaseState, Job
from jaxtui.features.bench import rates as view
from jaxtui.features.bench.rates import Rate, Rates, stragglers
from jaxtui.features.bench.thresholds import ALIKE, ON_HOST
from jaxtui.ui.chipmap import layout, render
from jaxtui.ui.text import plain
from tests import records
from tests.fake_engine import cpu_devices, tpu_devices


def of(platform: str = "tpu", **shares: float) -> Rates:
    """Eight devices at 190 T per second, but for some: ``at3=0.5``."""
    by_device = {}
    for number in range(8):
        value = 190e12 * shares.get(f"at{number}", 1.0)
        by_device[f"{platform}:{number}"] = Rate(value, value * 1.01)
    return Rates("FLOP/s", "matmul 8192 bfloat16", by_device, records.case())


SLOW = of(at5=0.5)


def test_colours_and_figures() -> None:
    both = (SLOW, replace(SLOW, quantity="B/s"))
    assert (view.choices(()), view.choices(both)) == (
        (),
        ("FLOP/s", "B/s", "deviation"),
    )
    assert view.heat((), "FLOP/s", tpu_devices()) is None
    assert view.heat((SLOW,), "B/s", tpu_devices()) is None
    expected: dict[Any, tuple[str, str]] = {
        "FLOP/s": ("190", "95.0"),
        "deviation": ("0 %", "−50 %"),
    }
    for quantity, figures in expected.items():
        heat = view.heat((SLOW,), quantity, tpu_devices())
        assert heat is not None
        marks = [heat.marks[name] for name in ("tpu:0", "tpu:5")]
        assert tuple(mark.figure for mark in marks) == figures
        assert [mark.role for mark in marks] == ["heat-7", "heat-0"]
        # A straggler is named by id and coords.
        _, line = heat.legend
        assert "tpu:5 at 1,1,0, 50 %" in " ".join(span.text for span in line)
    even = view.heat((of(),), "FLOP/s", tpu_devices())
    assert even is not None
    assert len(even.legend) == 1


@pytest.mark.parametrize("devices", [tpu_devices(), cpu_devices(8, simulated=True)])
def test_figures_stand_in_the_chips_where_there_is_room(devices: Any) -> None:
    platform = devices[0].platform
    heat = view.heat((of(platform, at5=0.5),), "FLOP/s", devices)
    assert heat is not None
    chips = replace(layout(devices), marks=heat.marks, legend=heat.legend)
    for width, height, count in (60, 16, 7), (30, 6, 0):
        lines = render(chips, width, height, devices[0].name, roomy=True)
        assert all(len(plain(line)) <= width for line in lines)
        roles = {x.device: x.role for line in lines for x in line if x.device}
        assert roles[f"{platform}:5"] == "heat-0"
        assert roles[f"{platform}:0"] == "heat-7-selected"
        text = "\n".join(map(plain, lines))
        assert text.count("190") >= count
        assert ("95.0" in text) == bool(count)


# Who lags.


def test_who_lags_is_named_with_the_bound_of_its_kind() -> None:
    assert stragglers(of(), tpu_devices()) == ()
    slow, slower = stragglers(of(at2=0.8, at5=0.4, at6=0.95), tpu_devices())[::-1]
    assert (slower.device, slow.device) == ("tpu:5", "tpu:2")
    assert slower.share == pytest.approx(0.4)
    assert slow.bound == ALIKE
    assert stragglers(of("cpu", at2=0.8), cpu_devices(8)) == ()
    (found,) = stragglers(of("cpu", at2=0.4), cpu_devices(8))
    assert (found.device, found.bound) == ("cpu:2", ON_HOST)
    # The best end must lag.
    wide = replace(of(), by_device={**of().by_device, "tpu:3": Rate(95e12, 189e12)})
    assert stragglers(wide, tpu_devices()) == ()


def test_those_of_a_kind_are_compared() -> None:
    kinds = ("A100", "A100", "H100", "H100")
    devices = [
        records.device(f"gpu:{n}", device_kind=kind) for n, kind in enumerate(kinds)
    ]
    values = (10.0, 10.0, 30.0, 15.0)
    by_device = {f"gpu:{n}": Rate(v, v) for n, v in enumerate(values)}
    unlike = Rates("FLOP/s", "matmul", by_device, records.case())
    (found,) = stragglers(unlike, devices)
    assert found.device == "gpu:3"


def measured(
    device: str, flops: float | None = 1e9, size: int = 64, **more: object
) -> Any:
    case = records.case(device=device, size=size)
    facts: dict[str, Any] = {
        "flops_per_second": flops,
        "bytes_per_second": None,
        **more,
    }
    figures = records.measurement(case, records.summary(1e-3), **facts)
    return CaseState(case, status="done", measurement=figures)


def rated(*cases: CaseState) -> tuple[Rates, ...]:
    return view.of_measurements(Job(1, cases=cases))


def test_a_case_on_several_devices_has_rates() -> None:
    several = [measured(f"cpu:{n}", 1e9 * (n + 1)) for n in range(3)]
    (found,) = rated(*several)
    assert (found.quantity, found.median) == ("FLOP/s", 2e9)
    rates = {name: rate.per_second for name, rate in found.by_device.items()}
    assert rates == {"cpu:0": 1e9, "cpu:1": 2e9, "cpu:2": 3e9}
    assert all(rate.high >= rate.per_second for rate in found.by_device.values())
    assert found.case
    assert found.case.device == ""
    # One device, one device of each size, or all together, are not several.
    assert rated(several[0]) == ()
    assert rated(several[0], measured("cpu:1", size=128)) == ()
    assert rated(several[0], measured("cpu:0-7")) == ()
    assert rated(measured("cpu:0", None), several[1]) == ()
    both = rated(*(measured(f"cpu:{n}", bytes_per_second=1e10) for n in range(2)))
    assert [one.quantity for one in both] == ["FLOP/s", "B/s"]


def test_a_run_says_which_devices_lag() -> None:
    cases = [measured(f"tpu:{n}", 1e12 if n == 2 else 3e12) for n in range(4)]
    run = Job(1, cases=tuple(cases), outcome="complete")
    (rates,) = view.of_run(run)
    assert rates.by_device["tpu:2"].per_second == 1e12
    assert view.of_run(None) == ()
    (found,) = view.remarks_of(run)
    assert found.device == "tpu:2"
