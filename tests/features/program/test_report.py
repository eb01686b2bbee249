"""What the report of a program says, as ``reports.txt`` holds it.

With ``JAXTUI_GOLDEN=write`` in the environment it is written instead of compared with.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from jaxtui.core.model import Inspected, Peak
from jaxtui.core.model.programs import Exchanged
from jaxtui.core.state import State
from jaxtui.features.program import report as program
from jaxtui.ui.report import terminal
from tests.fake_engine import HOST, tpu_devices
from tests.features.program.test_screen import inspected
from tests.golden.test_documents import check_frozen
from tests.records import case

SHOWN = inspected(case(device="tpu:0"))
PEAK = Peak(flops_per_second=1e12, bytes_per_second=1e12, source="docs")
BOUND = replace(SHOWN, flops=2e9, bytes=1e6, peak=PEAK)
NO_COMPUTE = replace(PEAK, flops_per_second=None)
MEMORY = SHOWN.program.memory


def made_of(**facts: Any) -> Inspected:
    return replace(SHOWN, program=replace(SHOWN.program, **facts))


def needing(**sizes: int) -> Inspected:
    assert MEMORY is not None
    return made_of(memory=replace(MEMORY, **sizes))


EXCHANGED = Exchanged(
    name="all-reduce.1",
    kind="all-reduce",
    bytes=1024,
    groups=1,
    participants=2,
    replica_groups="{{0,1}}",
)
PROGRAMS = {
    "without a peak": SHOWN,
    "by compute": BOUND,
    "by bandwidth": replace(BOUND, flops=1e3),
    "by bandwidth alone": replace(BOUND, flops=None),
    "no peak of compute": replace(BOUND, peak=NO_COMPUTE),
    "no peak at all": replace(BOUND, peak=replace(NO_COMPUTE, bytes_per_second=None)),
    "nothing is known": replace(SHOWN, flops=None, bytes=None),
    "eager": replace(SHOWN, case=case("eager"), hlo=""),
    "one step": replace(SHOWN, steps=SHOWN.steps[:1]),
    "interpreted": replace(SHOWN, case=case("pallas")),
    "on a mesh": replace(SHOWN, case=case(device="tpu:0,tpu:1")),
    "hidden": made_of(kernels=None, instructions={}, fusions=()),
    "not counted": made_of(xla_flops=None, xla_bytes=None, xla_transcendentals=None),
    "a loop": made_of(instructions={"while": 1, "fusion": 2}),
    "a call of a library": made_of(instructions={"custom-call": 1}),
    "exchanges": made_of(collectives=(EXCHANGED, EXCHANGED)),
    "no memory": made_of(memory=None),
    "a limit of memory": needing(limit_bytes=2**30, aliased_bytes=16),
}


def reports() -> Iterator[str]:
    state = State(devices=tpu_devices(), host=HOST)
    usual: list[Any] = []
    for name, shown in PROGRAMS.items():
        for topology in (None, "v5e:2x4"):
            yield f"== {name}{', of a topology' * bool(topology)}"
            report = program.report(shown, topology, state)
            # Tables that stand above already are left out.
            new = [one for one in report.tables if one not in usual]
            usual += new
            yield terminal(replace(report, tables=new), 80, full=True)


def test_what_is_said_of_a_program_is_as_it_was() -> None:
    lines = "\n".join(reports()).splitlines()
    text = "".join(f"{line.rstrip()}\n" for line in lines)
    check_frozen(Path(__file__).with_name("reports.txt"), text)
