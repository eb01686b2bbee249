"""What people type for a TPU, and what libtpu is asked for."""

from __future__ import annotations

import pytest

from jaxtui.machine import topologies
from jaxtui.machine.topology_names import TopologyError, parse


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("v5e:2x4", "v5e:2x4"),
        (" V5E:2x4 ", "v5e:2x4"),
        ("TPU7x:2x2x1", "tpu7x:2x2x1"),
        ("v5litepod:2x4", "v5e:2x4"),
        ("v7x:2x2x1", "tpu7x:2x2x1"),
        ("v5e=2x4", "v5e:2x4"),
        ("v5e:4x4_untwisted", "v5e:4x4_untwisted"),
        # A chip of a v4 is one device only where it is asked for as such.
        ("v4:2x2x1", "v4:2x2x1,chip_config_name=megacore"),
        (
            "v4:2x2x1,chip_config_name=default",
            "v4:2x2x1,chip_config_name=default",
        ),
        ("v5e:2x4,num_slices=2", "v5e:2x4,num_slices=2"),
        (
            "v5e:2x4,chips_per_host_bounds=2x4x1,num_slices=2",
            "v5e:2x4,chips_per_host_bounds=2x4x1,num_slices=2",
        ),
        # Accelerator types: recorded, of another name, and by the table of layouts.
        ("v5litepod-8", "v5e:2x4,chips_per_host_bounds=2x4x1"),
        ("v5e-8", "v5e:2x4,chips_per_host_bounds=2x4x1"),
        ("v5litepod-8-2-hosts", "v5e:2x4"),
        ("2x-v5e-8", "v5e:2x4,num_slices=2"),
        ("v5litepod-64", "v5e:8x8"),
        ("v4-8", "v4:2x2x1,chip_config_name=megacore"),
        ("v4-128", "v4:4x4x4,chip_config_name=megacore"),
        ("v3-128", "v3:8x8"),
        ("tpu7x-32", "tpu7x:2x2x4"),
        # A family alone is its usual machine.
        ("v4", "v4:2x2x1,chip_config_name=megacore"),
        ("tpu7x", "tpu7x:2x2x1"),
    ],
)
def test_a_name_says_what_libtpu_is_asked_for(typed: str, asked: str) -> None:
    assert parse(typed).label == asked


@pytest.mark.parametrize("name", topologies.names())
def test_every_recorded_name_is_what_it_was_recorded_from(name: str) -> None:
    assert topologies.recorded_as(parse(name)) == name


def test_what_is_typed_back_means_the_same() -> None:
    for name in topologies.names():
        assert parse(parse(name).label) == parse(name)


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("", 'no topology ""'),
        ("hello", "there is v2-8, v3-8"),
        ("v5litpod-16", "Did you mean v5litepod-16?"),
        ("hello", 'pip install "jaxtui[topology]"'),
        ("v5e:", 'no topology "v5e:"'),
        ("v5e-7", "is one of 1, 4, 8, 16, 32, 64, 128, 256."),
        ("v5litepod-512", "is one of 1, 4, 8"),
        ("v4-2", "is one of 8, 16"),
        ("v4-9", 'no accelerator type "v4-9"'),
        # libtpu would end the process by SIGFPE.
        ("v5e:0x4", 'The layout "0x4" is none'),
        ("v5e:2x", 'The layout "2x" is none'),
        ("v5e:999x999", "998,001 chips"),
        ("v5e:2x4,num_slices=300000", "2,400,000 chips; no TPU has more"),
        ("v5e:2x4,slices", '"slices" in "v5e:2x4,slices" is no option'),
    ],
)
def test_what_is_none_is_answered_in_a_sentence(typed: str, says: str) -> None:
    with pytest.raises(TopologyError) as raised:
        parse(typed)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
