from __future__ import annotations

import pytest

from jaxtui.machine import topologies


def test_all_nineteen_can_be_typed():
    names = topologies.names()
    assert len(names) == 19
    assert {"v3-32", "v5litepod-8", "v5litepod-8-2-hosts", "2x-v5litepod-8"} <= {*names}
    assert not any(" " in name or "(" in name for name in names)


@pytest.mark.parametrize(
    ("name", "count", "processes", "kind"),
    [
        ("v2-8", 8, 1, "TPU v2"),
        ("v5litepod-16", 16, 4, "TPU v5 lite"),
        ("v5p-16", 8, 2, "TPU v5"),
        ("tpu7x-8", 8, 1, "TPU7x"),
    ],
)
def test_devices_are_those_of_the_record(name, count, processes, kind):
    devices = topologies.devices(name)
    assert len(devices) == count
    assert len({device.process_index for device in devices}) == processes
    assert {device.device_kind for device in devices} == {kind}
    assert all(device.addressable == (device.process_index == 0) for device in devices)
