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
from jaxtui.ui.report import Column, as_text, fitting
from tests import records
from tests.fake_engine import HOST, cpu_devices, tpu_devices
from tests.ui.making import JIT, at_size, done, run_of

TPUS = tpu_devices()
RATES = {
    "tpu:0": Product(190e12, "4096 bfloat16"),
    "tpu:5": Product(131.4e12, "4096 bfloat16"),
}


def fitted(
    devices: Sequence[Device], width: int, rates: dict[str, Product] | None = None
) -> dict[str, Column]:
    shown = fitting(view.columns(devices, rates), width - 2)
    return {column.key or column.head: column for column, _ in shown}


def rows(column: Column) -> list[str]:
    return [as_text(cell).plain for cell in column.cells]


@pytest.mark.parametrize(
    ("devices", "width", "columns"),
    [
        # A column in which all are empty, or alike, is left out.
        (cpu_devices(8, simulated=True), 70, "id"),
        (TPUS, 70, "id coords memory"),
        (topologies.devices("v3-8"), 70, "id coords core"),
        (topologies.devices("v5litepod-16"), 70, "id process coords"),
        (topologies.devices("2x-v5litepod-8"), 70, "id process slice coords"),
        ((*cpu_devices(), *TPUS), 70, "id kind coords memory"),
        # Where there is no room, those that matter least go first.
        (TPUS, 34, "id memory"),
        (TPUS, 12, "id"),
        (topologies.devices("v3-32"), 24, "id coords core"),
    ],
)
def test_columns_that_tell_something_and_fit(
    devices: tuple[Device, ...], width: int, columns: str
) -> None:
    shown = fitted(devices, width)
    assert [*shown] == columns.split()
    assert sum(one.width + 2 for one in shown.values()) <= max(width, 9)
    assert all(len(one.cells) == len(devices) for one in shown.values())


def test_rates_and_memory_are_in_one_unit_each() -> None:
    shown = fitted(TPUS, 58, RATES)
    assert [*shown] == ["id", "coords", "memory", "rate"]
    assert [*fitted(TPUS, 90, RATES)][-2:] == ["rate", "of"]
    assert shown["rate"].head == "bfloat16 TFLOP/s"
    assert [text.strip() for text in rows(shown["rate"])][::5] == ["190", "131"]
    assert rows(shown["memory"])[7] == "▏░░░░░░░ 0.1/15.7G"
    full = replace(TPUS[0], memory={"bytes_in_use": 96, "bytes_limit": 100})
    (cell,) = fitted((full,), 70)["memory"].cells
    assert {span.style for span in as_text(cell).spans} >= {"danger"}
    slow = fitted(TPUS, 90, {"tpu:0": Product(0.8e9, "9 int8")})
    assert slow["rate"].head == "int8 MFLOP/s"
    assert rows(slow["rate"])[0].strip() == "800"
    assert rows(slow["of"])[:2] == ["matmul 9 int8", ""]


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


def test_each_fact_stands_in_one_group() -> None:
    """What people ask for first, the rest last."""
    spaces = {"default_memory": "device", "runtime_type": "pjrt", "other": "1"}
    device = replace(TPUS[0], attributes=spaces)
    grouped = view.groups(device, HOST)
    assert [*grouped][:5] == ["device", "memory", "host", "software", "attributes"]
    assert grouped["attributes"] == [("other", "1")]
    assert ("default_memory", "device") in grouped["memory"]
    assert ("runtime_type", "pjrt") in grouped["software"]
    assert [*view.groups(device, None)] == [
        "device",
        "memory",
        "software",
        "attributes",
    ]
    assert view.groups(cpu_devices()[0], None)["memory"][0][1].startswith("— (none")


def test_hosts_are_named_once_and_many_are_counted() -> None:
    def named(*names: str) -> list[Host]:
        return [replace(HOST, hostname=name) for name in names]

    assert view.hosts_text(()) == ""
    assert view.hosts_text(named("a", "a", "b")) == "3 processes on a, b"
    assert "6 hosts" in view.hosts_text(named(*"abcdef"))
    # A document has the hosts of several processes alone.
    assert not Devices.of(None, ()).complete
    assert "hosts" not in msgspec.to_builtins(Devices.of(HOST, cpu_devices(2)))
    hosts = msgspec.to_builtins(Devices.of(HOST, cpu_devices(2), named("a", "b")))
    assert [one["hostname"] for one in hosts["hosts"]] == ["a", "b"]


def test_many_devices_are_listed_by_host() -> None:
    memory = {"bytes_in_use": 2**30, "bytes_limit": 4 * 2**30}
    devices = [
        replace(one, hostname=f"w{one.process_index}", memory=memory)
        for one in topologies.compute(Topology(name="tpu7x:4x4x4"))
    ]
    (table,) = view.report(None, devices).tables
    shown = {column.head: rows(column) for column in table.columns}
    assert list(shown) == ["process", "host", "devices", "ids", "memory"]
    assert [column[3] for column in shown.values()] == [
        *("3", "w3", "8", "20-23, 28-31"),
        "██░░░░░░ 8.0/32.0G",
    ]
    assert len(shown["host"]) == 16
    # Half of them are listed one by one, and drawn.
    table, drawn = view.report(None, devices[:64]).tables
    assert len(table.columns[0].cells) == 64
    assert drawn.columns[0].grows
    # So are all of one host.
    (table,) = view.report(None, cpu_devices(65)).tables
    assert len(table.columns[0].cells) == 65
