"""The rates of devices beside each other, and who lags."""

from __future__ import annotations

import pytest

from jaxtui.analysis import rates
from jaxtui.analysis.rates import Rate, Rates, stragglers
from jaxtui.analysis.thresholds import ALIKE, ON_HOST
from jaxtui.model import Device, Reading
from tests import records
from tests.fake_engine import cpu_devices, tpu_devices


def of(platform: str = "tpu", **shares: float) -> Rates:
    """Eight devices at 100 per second, but for some: ``at3=0.5``."""
    by_device = {}
    for number in range(8):
        value = 100.0 * shares.get(f"at{number}", 1.0)
        by_device[f"{platform}:{number}"] = Rate(value, value * 1.01)
    return Rates("FLOP/s", "matmul 1000 float32", by_device)


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
    wide = Rates("FLOP/s", rates_of.what, by_device)
    assert stragglers(wide, tpu_devices()) == ()


def test_those_of_a_kind_are_compared() -> None:
    kinds = ("A100", "A100", "H100", "H100")
    devices = [
        Device(id=n, platform="gpu", device_kind=kind, process_index=0)
        for n, kind in enumerate(kinds)
    ]
    values = (10.0, 10.0, 30.0, 15.0)
    by_device = {f"gpu:{n}": Rate(v, v) for n, v in enumerate(values)}
    unlike = Rates("FLOP/s", "matmul", by_device)
    (found,) = stragglers(unlike, devices)
    assert found.device == "gpu:3"


def test_a_case_on_several_devices_has_rates() -> None:
    def measured(device: str, size: int = 64, **more: object) -> object:
        case = records.case(device=device, size=size)
        ready = records.summary(1e-3)
        facts = {"flops_per_second": 1e9, "bytes_per_second": None, **more}
        return records.measurement(case, ready, **facts)

    several = [measured(f"cpu:{n}", flops_per_second=1e9 * (n + 1)) for n in range(3)]
    (found,) = rates.of_measurements(several)  # type: ignore[arg-type]
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
        assert rates.of_measurements(one) == ()  # type: ignore[arg-type]
    both = rates.of_measurements(
        [measured(f"cpu:{n}", bytes_per_second=1e10) for n in range(2)]  # type: ignore[arg-type]
    )
    assert [one.quantity for one in both] == ["FLOP/s", "B/s"]


def test_a_check_has_rates_of_compute_and_bandwidth() -> None:
    def reading(test: str, unit: str, device: str, what: str, value: float) -> Reading:
        return Reading(
            test=test,  # type: ignore[arg-type]
            unit=unit,  # type: ignore[arg-type]
            device=device,
            what=what,
            measured=value,
        )

    readings = [
        reading("compute", "flop/s", "tpu:0", "matmul 8192 bfloat16", 1e14),
        reading("compute", "flop/s", "tpu:1", "matmul 8192 bfloat16", 9e13),
        reading("compute", "flop/s", "tpu:0", "matmul 4096 float32", 1e13),
        reading("bandwidth", "bytes/s", "tpu:0", "copy 1", 8e11),
        reading("transfer", "bytes/s", "tpu:0", "host to device 1 MiB", 1e9),
        reading("transfer", "bytes/s", "tpu:1", "host to device 1 MiB", 1e9),
    ]
    (compute,) = rates.of_readings(readings)
    assert (compute.quantity, compute.what) == ("FLOP/s", "matmul 8192 bfloat16")
    more = reading("bandwidth", "bytes/s", "tpu:1", "copy 1", 8e11)
    assert [one.quantity for one in rates.of_readings([*readings, more])] == [
        "FLOP/s",
        "B/s",
    ]
    assert rates.of_readings([]) == ()
