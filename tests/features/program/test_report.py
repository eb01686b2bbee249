"""What the report of a program says: its remarks, by their codes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from jaxtui.core.model import Device, Inspected, Peak
from jaxtui.features.program import report as program
from tests.fake_engine import tpu_devices
from tests.features.program.test_screen import inspected
from tests.records import case

SHOWN = inspected(case(device="tpu:0"))
PROGRAM = msgspec.structs.replace(SHOWN.program, kernels=2, xla_transcendentals=None)
PEAK = Peak(flops_per_second=1e12, bytes_per_second=1e12, source="docs")
INSPECTED = msgspec.structs.replace(
    SHOWN, flops=2e9, bytes=1e6, program=PROGRAM, peak=PEAK
)


def changed(**facts: Any) -> Inspected:
    return msgspec.structs.replace(INSPECTED, **facts)


def made_of(**facts: Any) -> Inspected:
    return changed(peak=None, program=msgspec.structs.replace(PROGRAM, **facts))


def codes(inspected: Inspected, devices: tuple[Device, ...] = ()) -> list[str]:
    return [remark.code for remark in program.remarks(inspected, here=not devices)]


@pytest.mark.parametrize(
    ("inspected", "found"),
    [
        (INSPECTED, ["lower-bound"]),
        (changed(peak=None), []),
        (made_of(kernels=None), ["program-hidden"]),
        (made_of(xla_transcendentals=3.0), ["transcendentals-apart"]),
        (made_of(instructions={"while": 1}), ["loop-counted-once"]),
        (made_of(instructions={"custom-call": 1}), ["custom-call-uncounted"]),
    ],
)
def test_what_is_remarked_about_a_program(
    inspected: Inspected, found: list[str]
) -> None:
    assert codes(inspected) == found


@pytest.mark.parametrize(
    ("inspected", "found"),
    [
        (INSPECTED, ["lower-bound", "memory-unknown"]),
        (changed(peak=None), ["peaks-unknown", "memory-unknown"]),
        (changed(flops=None, bytes=None), ["traffic-unknown", "memory-unknown"]),
        (
            changed(peak=msgspec.structs.replace(PEAK, flops_per_second=None)),
            ["lower-bound", "compute-peak-unknown", "memory-unknown"],
        ),
    ],
)
def test_what_is_remarked_where_nothing_runs(
    inspected: Inspected, found: list[str]
) -> None:
    assert codes(inspected, tpu_devices()) == found


def test_the_headline_has_the_kernels_and_the_bound() -> None:
    headline = program.report(INSPECTED).headline.plain
    assert "2 kernels" in headline
    # 2e9 flops at 1e12 a second.
    assert "2.00 ms" in headline
