"""Rates over the chip map: colours, figures, and stragglers by id and coords."""

from __future__ import annotations

from msgspec.structs import replace

from jaxtui.analysis.rates import Rate, Rates
from jaxtui.model import Device
from jaxtui.state import CaseState, Job
from jaxtui.view import bench
from jaxtui.view import rates as view
from jaxtui.view.chipmap import layout, render
from jaxtui.view.text import plain
from tests import records
from tests.fake_engine import cpu_devices, tpu_devices


def some(slow: float = 0.5, platform: str = "tpu") -> Rates:
    by_device = {f"{platform}:{n}": Rate(190e12, 191e12) for n in range(8)}
    by_device[f"{platform}:5"] = Rate(190e12 * slow, 191e12 * slow)
    return Rates("FLOP/s", "matmul 8192 bfloat16", by_device)


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
    (said,) = [one for one in report.remarks if one.remark.code == "straggler"]
    assert len(said.about) == 1
    assert "tpu:2" in said.about[0]
