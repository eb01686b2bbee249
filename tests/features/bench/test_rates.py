"""Rates over the chip map: colours, figures, and stragglers by id and coords."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from jaxtui.core.model import Device
from jaxtui.core.state import CaseState, Job
from jaxtui.features.bench import rates as view
from jaxtui.features.bench import report as bench
from jaxtui.features.bench.rates import Rate, Rates, stragglers
from jaxtui.features.bench.thresholds import ALIKE, ON_HOST
from jaxtui.ui.chipmap import layout, render
from jaxtui.ui.text import plain
from tests import records
from tests.fake_engine import cpu_devices, tpu_devices


def some(slow: float = 0.5, platform: str = "tpu") -> Rates:
    by_device = {f"{platform}:{n}": Rate(190e12, 191e12) for n in range(8)}
    by_device[f"{platform}:5"] = Rate(190e12 * slow, 191e12 * slow)
    return Rates("FLOP/s", "matmul 8192 bfloat16", by_device, records.case())


def test_what_can_be_shown() -> None:
    assert view.choices(()) == ()
    both = (some(), replace(some(), quantity="B/s"))
    assert view.choices(both) == ("FLOP/s", "B/s", "deviation")
    assert view.heat((), "FLOP/s", tpu_devices()) is None
    assert view.heat((some(),), "B/s", tpu_devices()) is None


def test_colours_and_figures() -> None:
    heat = view.heat((some(),), "FLOP/s", tpu_devices())
    assert heat is not None
    assert heat.marks["tpu:0"].role == "heat-7"
    assert heat.marks["tpu:5"].role == "heat-0"
    assert (heat.marks["tpu:0"].figure, heat.marks["tpu:5"].figure) == ("190", "95.0")
    deviation = view.heat((some(),), "deviation", tpu_devices())
    assert deviation is not None
    assert deviation.marks["tpu:0"].figure == "0 %"
    assert deviation.marks["tpu:5"].figure == "−50 %"


def test_a_straggler_is_named_by_id_and_coords() -> None:
    heat = view.heat((some(),), "FLOP/s", tpu_devices())
    assert heat is not None
    _, line = heat.legend
    text = " ".join(span.text for span in line)
    assert "tpu:5 at 1,1,0" in text
    assert "50 %" in text
    even = view.heat((some(1.0),), "FLOP/s", tpu_devices())
    assert even is not None
    assert len(even.legend) == 1


def drawn(devices: tuple[Device, ...], width: int, height: int) -> str:
    platform = devices[0].platform
    heat = view.heat((some(platform=platform),), "FLOP/s", devices)
    assert heat is not None
    chips = replace(layout(devices), marks=heat.marks, legend=heat.legend)
    lines = render(chips, width, height, devices[0].name, roomy=True)
    assert all(len(plain(line)) <= width for line in lines)
    roles = {span.device: span.role for line in lines for span in line if span.device}
    assert roles[f"{platform}:5"] == "heat-0"
    assert roles[f"{platform}:0"] == "heat-7-selected"
    return "\n".join(map(plain, lines))


def test_figures_stand_in_the_chips_where_there_is_room() -> None:
    for devices in (tpu_devices(), cpu_devices(8, simulated=True)):
        roomy = drawn(devices, 60, 16)
        assert roomy.count("190") >= 7
        assert "95.0" in roomy
        assert "95.0" not in drawn(devices, 30, 6)


def test_a_run_says_which_devices_lag() -> None:
    cases = []
    for n in range(4):
        case = records.case(device=f"tpu:{n}", size=64)
        rate = 1e12 if n == 2 else 3e12
        measured = records.measurement(
            case, records.summary(1e-3), flops_per_second=rate, bytes_per_second=None
        )
        cases.append(CaseState(case, status="done", measurement=measured))
    run = Job(1, cases=tuple(cases), outcome="complete")
    (rates,) = view.of_run(run)
    assert rates.by_device["tpu:2"].per_second == 1e12
    assert view.of_run(None) == ()
    (found,) = view.remarks_of(run)
    assert found.device == "tpu:2"
    report = bench.report(run)
    (said,) = [one for one in report.notes if one.remark.code == "straggler"]
    assert len(said.about) == 1
    assert "tpu:2" in said.about[0]


# Which rates there are, and who lags.


def of(platform: str = "tpu", **shares: float) -> Rates:
    """Eight devices at 100 per second, but for some: ``at3=0.5``."""
    by_device = {}
    for number in range(8):
        value = 100.0 * shares.get(f"at{number}", 1.0)
        by_device[f"{platform}:{number}"] = Rate(value, value * 1.01)
    return Rates("FLOP/s", "matmul 1000 float32", by_device, records.case())


def test_who_lags_is_named_with_the_bound_of_its_kind() -> None:
    assert stragglers(of(), tpu_devices()) == ()
    slow, slower = stragglers(of(at2=0.8, at5=0.4, at6=0.95), tpu_devices())[::-1]
    assert (slower.device, slow.device) == ("tpu:5", "tpu:2")
    assert slower.share == pytest.approx(0.4)
    assert slow.bound == ALIKE
    assert stragglers(of("cpu", at2=0.8), cpu_devices(8)) == ()
    (found,) = stragglers(of("cpu", at2=0.4), cpu_devices(8))
    assert (found.device, found.bound) == ("cpu:2", ON_HOST)


def test_the_best_end_must_lag() -> None:
    rates_of = of()
    by_device = {**rates_of.by_device, "tpu:3": Rate(50.0, 99.0)}
    wide = Rates("FLOP/s", rates_of.what, by_device, records.case())
    assert stragglers(wide, tpu_devices()) == ()


def test_those_of_a_kind_are_compared() -> None:
    kinds = ("A100", "A100", "H100", "H100")
    devices = [
        Device(id=n, platform="gpu", device_kind=kind, process_index=0)
        for n, kind in enumerate(kinds)
    ]
    values = (10.0, 10.0, 30.0, 15.0)
    by_device = {f"gpu:{n}": Rate(v, v) for n, v in enumerate(values)}
    unlike = Rates("FLOP/s", "matmul", by_device, records.case())
    (found,) = stragglers(unlike, devices)
    assert found.device == "gpu:3"


def test_a_case_on_several_devices_has_rates() -> None:
    def measured(device: str, size: int = 64, **more: object) -> CaseState:
        case = records.case(device=device, size=size)
        ready = records.summary(1e-3)
        facts = {"flops_per_second": 1e9, "bytes_per_second": None, **more}
        figures = records.measurement(case, ready, **facts)  # type: ignore[arg-type]
        return CaseState(case, status="done", measurement=figures)

    def rated(*cases: CaseState) -> tuple[Rates, ...]:
        return view.of_measurements(Job(1, cases=cases))

    several = [measured(f"cpu:{n}", flops_per_second=1e9 * (n + 1)) for n in range(3)]
    (found,) = rated(*several)
    assert found.quantity == "FLOP/s"
    assert found.median == 2e9
    assert {name: rate.per_second for name, rate in found.by_device.items()} == {
        "cpu:0": 1e9,
        "cpu:1": 2e9,
        "cpu:2": 3e9,
    }
    assert all(rate.high >= rate.per_second for rate in found.by_device.values())
    assert found.case
    assert found.case.device == ""
    # One device, one device of each size, or all together, are not several.
    for one in (
        several[:1],
        [measured("cpu:0", 64), measured("cpu:1", 128)],
        [measured("cpu:0"), measured("cpu:0-7")],
        [measured("cpu:0", flops_per_second=None), measured("cpu:1")],
    ):
        assert rated(*one) == ()
    both = rated(*(measured(f"cpu:{n}", bytes_per_second=1e10) for n in range(2)))
    assert [one.quantity for one in both] == ["FLOP/s", "B/s"]
