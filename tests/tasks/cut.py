"""Cuts a trace down to what tests read of it: ``python tests/tasks/cut.py FROM TO``.

Of the first device it keeps the kernels of the first runs of one program; of the host
the steps and what launched those kernels; of the programs that one. Paths become short.
"""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path
from typing import Any

from jaxtui.xla import traces
from jaxtui.xla.kernels import DEVICES, HOST
from tests.tasks import spaces

RUNS = 2
STATS = {
    *("all_reduce_unique_id", "bytes_accessed", "correlation_id", "cuda_graph_id"),
    *("cuda_graph_node_id", "device_duration_ps", "device_offset_ps", "flops"),
    *("hlo_category", "hlo_module", "hlo_op", "kernel_details", "memcpy_details"),
    *("program_id", "run_id", "shape_with_layout", "source", "source_stack"),
    *("step_num", "tf_op", "device_type_string", "gpu_device_name"),
    *("memory_bandwidth", "peak_hbm_bw_gigabytes_per_second"),
    "peak_teraflops_per_second",
}
PATH = re.compile(rb"(/[\w.-]+)+/(?=[\w-]+\.py)")
"""Of a source file: all but its name."""


def cut(space: traces.Space, program: str) -> bytes:
    """The trace of the runs of one program."""
    device = next(plane for plane in space.planes if plane.name.startswith(DEVICES))
    modules = [line for line in device.lines if line.name == "XLA Modules"]
    runs = [e for line in modules for e in line.events if e.name.startswith(program)]
    end = sorted(event.end_ps for event in runs)[RUNS - 1] if runs else sys.maxsize
    begin = min((event.start_ps for event in runs), default=0)
    planes = []
    for plane in space.planes:
        if plane is device:
            planes.append(_plane(plane, begin, end))
        elif plane.name == HOST and not runs:
            planes.append(
                _plane(plane, 0, end, only={"step_num", "run_id", "correlation_id"})
            )
        elif plane.name == traces.PROGRAMS:
            protos = {
                name: spaces.Named(stats={"Hlo Proto": _short(proto)})
                for name, proto in space.programs()
                if name.startswith(program)
            }
            planes.append(spaces.Plane(plane.name, names=protos))
    return spaces.space(*planes)


def _plane(
    plane: traces.Plane, begin: int, end: int, only: set[str] | None = None
) -> spaces.Plane:
    names: dict[str, spaces.Named] = {}
    lines = []
    for line in plane.lines:
        events = []
        for event in line.events:
            stats = dict(event.stats)
            if only and not (only & stats.keys() or event.name.startswith("Pjit")):
                continue
            if begin <= event.start_ps and event.end_ps <= end:
                # Where a text of HLO has the names of operands it says no more.
                name = event.name[:60]
                start = event.start_ps - begin
                events.append(
                    spaces.Event(name, start, event.duration_ps, _kept(stats))
                )
                shared = _kept(event.metadata.stats)
                names[name] = spaces.Named(event.metadata.display_name, shared)
        if events:
            lines.append(spaces.Line(line.name, tuple(events)))
    return spaces.Plane(plane.name, tuple(lines), names, _kept(plane.stats))


def _kept(stats: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _short(value.encode()).decode() if isinstance(value, str) else value
        for name, value in stats.items()
        if name in STATS
    }


def _short(data: bytes) -> bytes:
    """With folders as long as before, which say nothing."""
    return PATH.sub(lambda found: b"/" + b"x" * (len(found[0]) - 2) + b"/", data)


def main() -> None:
    source, target, program = sys.argv[1:]
    data = cut(traces.load(Path(source)), program)
    Path(target).write_bytes(gzip.compress(data, mtime=0))


if __name__ == "__main__":
    main()
