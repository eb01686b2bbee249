"""A table of devices: what tells them apart, as much as there is room for."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from msgspec.structs import replace

from jaxtui.core.model import Device, Host, Topology
from jaxtui.features.devices import report as view
from jaxtui.features.devices.messages import Devices
from jaxtui.features.devices.report import Product
from jaxtui.machine import topologies
from jaxtui.ui.app.state import EMPTY
from jaxtui.ui.report import Column, fitting
from tests import records
from tests.fake_engine import HOST, cpu_devices, tpu_devices
from tests.ui.making import JIT, at_size, done, run_of

TPUS = tpu_devices()
RATES = {
    "tpu:0": Product(190e12, "4096 bfloat16"),
    "tpu:5": Product(131.4e12, "4096 bfloat16", sure=False),
}
FULL = replace(TPUS[0], memory={"bytes_in_use": 96, "bytes_limit": 100})
OTHER = replace(TPUS[0], addressable=False, process_index=1)

TABLES = {
    "simulated": (cpu_devices(8, simulated=True), 70, {}),
    "tpus": (TPUS, 70, {}),
    "two cores": (topologies.devices("v3-8"), 70, {}),
    "processes": (topologies.devices("v5litepod-16"), 70, {}),
    "slices": (topologies.devices("2x-v5litepod-8"), 70, {}),
    "two kinds": ((*cpu_devices(), *TPUS), 70, {}),
    "low": (TPUS, 34, {}),
    "lowest": (TPUS, 12, {}),
    "narrow": (topologies.devices("v3-32"), 24, {}),
    "with rates": (TPUS, 58, RATES),
    "with rates and their products": (TPUS, 90, RATES),
    "slow": (TPUS[:2], 90, {"tpu:0": Product(0.8e9, "9 int8")}),
    "full, and of another process": ((FULL, OTHER), 70, {}),
}


def fitted(
    devices: Sequence[Device], width: int, rates: dict[str, Product]
) -> list[Column]:
    columns = view.columns(devices, rates, marked=("tpu:1",))
    return [column for column, _ in fitting(columns, width - 2)]


@pytest.mark.parametrize("name", TABLES)
def test_columns_fit(name: str) -> None:
    devices, width, _ = TABLES[name]
    shown = fitted(*TABLES[name])
    assert sum(one.width + 2 for one in shown) <= max(width, 9)
    assert all(len(one.cells) == len(devices) for one in shown)


def hosts(*names: str) -> list[Host]:
    return [replace(HOST, hostname=name) for name in names]


SPACES = {"default_memory": "device", "runtime_type": "pjrt", "other": "1"}
GROUPS = {
    "a tpu": view.groups(replace(TPUS[0], attributes=SPACES), HOST),
    "without a host": view.groups(replace(OTHER, attributes=SPACES), None),
    "a cpu": view.groups(cpu_devices()[0], None),
}

POD = [
    replace(
        one,
        hostname=f"w{one.process_index}",
        memory={"bytes_in_use": 2**30, "bytes_limit": 4 * 2**30},
    )
    for one in topologies.compute(Topology(name="tpu7x:4x4x4"))
]
REPORTS = {
    "many devices": view.report(None, POD),
    "half of them": view.report(HOST, POD[:64], hosts=hosts("a", "a", "b")),
    "many of one host": view.report(HOST, cpu_devices(65), hosts=hosts(*"abcdef")),
}


def test_the_best_product_of_a_device() -> None:
    run = run_of(
        done(JIT, flops_per_second=1e12),
        done(at_size(JIT, 512), flops_per_second=2e12),
        done(replace(JIT, op="selu"), flops_per_second=9e12),
    )
    state = replace(EMPTY, devices=TPUS, jobs={"bench": run})
    assert view.product_rates(state) == {"tpu:0": (2e12, "512 float32", True)}
    # What is known comes before what may be faster.
    wide = records.summary(1e-3, 0.4)
    doubtful = done(at_size(JIT, 9), flops_per_second=8e12, ready=wide)
    state = replace(EMPTY, jobs={"bench": run_of(doubtful)})
    assert view.product_rates(state) == {"tpu:0": (8e12, "9 float32", False)}
    state = replace(EMPTY, jobs={"bench": run_of(doubtful, *run.cases)})
    assert view.product_rates(state)["tpu:0"].of == "512 float32"
    assert view.product_rates(EMPTY) == {}


def test_a_document_has_the_hosts_of_several_processes_alone() -> None:
    assert not Devices.of(None, ()).complete
    assert "hosts" not in msgspec.to_builtins(Devices.of(HOST, cpu_devices(2)))
    both = msgspec.to_builtins(Devices.of(HOST, cpu_devices(2), hosts("a", "b")))
    assert [one["hostname"] for one in both["hosts"]] == ["a", "b"]
