from __future__ import annotations

import pytest

from jaxtui.machine import slices


@pytest.mark.parametrize(
    ("name", "chips"),
    [
        ("v2-8", 4),
        ("v3-32", 16),
        ("v4-8", 4),
        ("v5litepod-16", 16),
        ("v5p-8", 4),
        ("v6e-8", 8),
        ("tpu7x-8", 4),
        ("ct5lp-hightpu-4t", None),
        ("", None),
    ],
)
def test_chips_of_an_accelerator_type(name, chips):
    assert slices.chips_of(name) == chips


@pytest.mark.parametrize(
    ("hosts", "count"), [("", 1), ("localhost", 1), ("a,b", 2), ("a, b,c,", 3)]
)
def test_workers_are_counted(hosts, count):
    assert slices.workers({"TPU_WORKER_HOSTNAMES": hosts}) == count
    assert slices.workers({}) == 1


@pytest.mark.parametrize(
    ("chips", "environment"),
    [
        (
            8,
            "TPU_PROCESS_BOUNDS=1,1,1 TPU_CHIPS_PER_PROCESS_BOUNDS=2,4,1 "
            "TPU_VISIBLE_CHIPS=0,1,2,3,4,5,6,7",
        ),
        (
            1,
            "TPU_PROCESS_BOUNDS=1,1,1 TPU_CHIPS_PER_PROCESS_BOUNDS=1,1,1 "
            "TPU_VISIBLE_CHIPS=0",
        ),
        (0, "TPU_PROCESS_BOUNDS=1,1,1"),
        (3, "TPU_PROCESS_BOUNDS=1,1,1"),
    ],
)
def test_what_one_host_needs_to_work_alone(chips, environment):
    assert slices.this_host_only(chips) == environment
    assert f"`{environment} jaxtui`" in slices.advice(chips)
    assert "not tried" in slices.advice(chips)
