"""A table of devices: what tells them apart, as much as there is room for."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace
from rich.console import Group, RenderableType

from jaxtui.core.model import Device, EngineFailed, Holder, Topology
from jaxtui.features.devices import report as view
from jaxtui.features.devices.report import Product
from jaxtui.machine import topologies
from jaxtui.ui.app.state import EMPTY
from jaxtui.ui.findings import failure_lines
from jaxtui.ui.report import Column, as_text, fitting, written
from tests import records
from tests.fake_engine import HOST, cpu_devices, tpu_devices
from tests.records import told
from tests.ui.making import JIT, at_size, done, run_of

TPUS = tpu_devices()
RATES = {
    "tpu:0": Product(190e12, "4096 bfloat16"),
    "tpu:5": Product(131.4e12, "4096 bfloat16"),
}


def names(
    devices: tuple[Device, ...], width: int, rates: dict[str, Product] | None = None
) -> list[str]:
    return [one.key or one.head for one in fitted(devices, width, rates)]


def fitted(
    devices: tuple[Device, ...],
    width: int,
    rates: dict[str, Product] | None = None,
) -> list[Column]:
    return [column for column, _ in fitting(view.columns(devices, rates), width - 2)]


def rows(column: Column) -> list[str]:
    return [as_text(cell).plain for cell in column.cells]


def text(*content: RenderableType) -> str:
    return written(Group(*content), 42)


@pytest.mark.parametrize(
    ("devices", "width", "columns"),
    [
        # A column in which all are empty, or alike, is left out.
        (cpu_devices(), 70, ["id"]),
        (cpu_devices(8, simulated=True), 70, ["id"]),
        (TPUS, 70, ["id", "coords", "memory"]),
        (topologies.devices("v3-8"), 70, ["id", "coords", "core"]),
        (topologies.devices("v5litepod-16"), 70, ["id", "process", "coords"]),
        (
            topologies.devices("2x-v5litepod-8"),
            70,
            ["id", "process", "slice", "coords"],
        ),
        ((*cpu_devices(), *TPUS), 70, ["id", "kind", "coords", "memory"]),
        # Where there is no room, those that matter least go first.
        (TPUS, 34, ["id", "memory"]),
        (TPUS, 12, ["id"]),
        (topologies.devices("v3-32"), 24, ["id", "coords", "core"]),
    ],
)
def test_columns_that_tell_something_and_fit(
    devices: tuple[Device, ...], width: int, columns: list[str]
) -> None:
    assert names(devices, width) == columns
    shown = fitted(devices, width)
    assert sum(one.width + 2 for one in shown) <= max(width, 9)
    assert all(len(one.cells) == len(devices) for one in shown)


def test_rates_and_memory_are_in_one_unit_each() -> None:
    shown = {one.key or one.head: one for one in fitted(TPUS, 58, RATES)}
    assert list(shown) == ["id", "coords", "memory", "rate"]
    assert names(TPUS, 90, RATES)[-2:] == ["rate", "of"]
    assert shown["rate"].head == "bfloat16 TFLOP/s"
    assert [text.strip() for text in rows(shown["rate"])][::5] == ["190", "131"]
    assert rows(shown["memory"])[7] == "▏░░░░░░░ 0.1/15.7G"
    full = msgspec.structs.replace(
        TPUS[0], memory={"bytes_in_use": 96, "bytes_limit": 100}
    )
    (column,) = [one for one in fitted((full,), 70) if one.head == "memory"]
    assert {span.style for span in as_text(column.cells[0]).spans} >= {"danger"}
    int8 = {"tpu:0": Product(0.8e9, "9 int8")}
    slow = {one.key or one.head: one for one in fitted(TPUS, 90, int8)}
    assert (slow["rate"].head, rows(slow["rate"])[0].strip()) == (
        "int8 MFLOP/s",
        "800",
    )
    assert (rows(slow["of"])[0], rows(slow["of"])[1]) == ("matmul 9 int8", "")


def test_the_best_product_of_a_device() -> None:
    run = run_of(
        done(JIT, flops_per_second=1e12),
        done(at_size(JIT, 512), flops_per_second=2e12),
        done(msgspec.structs.replace(JIT, op="selu"), flops_per_second=9e12),
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


def test_titles_details_and_failures() -> None:
    assert view.title((*cpu_devices(), *TPUS)) == "1 × cpu, 8 × TPU v5 lite"
    found = text(*view.facts(TPUS[0], TPUS, HOST, 42))
    assert found.startswith("v5litepod-8 = 8 TensorCores = 8 chips = 8\nJAX devices: ")
    for name in ("process_index", "bytes_limit", "15.7 GiB", "AMD EPYC 7B12"):
        assert name in found
    assert all(len(line) <= 42 for line in found.split("\n"))
    assert "none" in text(*view.facts(cpu_devices()[0], cpu_devices(), None, 42))
    # Each fact stands in one group: what people ask for first, the rest last.
    spaces = {"default_memory": "device", "runtime_type": "pjrt", "other": "1"}
    device = msgspec.structs.replace(TPUS[0], attributes=spaces)
    grouped = view.groups(device, HOST)
    assert [*grouped][:5] == ["device", "memory", "host", "software", "attributes"]
    assert grouped["device"][0] == ("kind", "TPU v5 lite")
    assert grouped["attributes"] == [("other", "1")]
    assert ("default_memory", "device") in grouped["memory"]
    assert ("runtime_type", "pjrt") in grouped["software"]
    assert [*view.groups(device, None)] == [
        "device",
        "memory",
        "software",
        "attributes",
    ]
    assert text(view.host_summary(HOST)).startswith("AMD EPYC 7B12\n2 cores · 16.0 GiB")
    holder = Holder(pid=4242, user="ada", command="python train.py", paths=())
    failed = EngineFailed(
        remark=told("The TPU is held.", "End it.", "libtpu: [busy]\nmore"),
        holders=(holder,),
    )
    lines = text(*failure_lines(failed))
    assert lines.startswith("The TPU is held.\nEnd it.\n")
    assert "4242" in lines
    assert lines.endswith("  libtpu: [busy]\n  more")


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
