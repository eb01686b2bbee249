"""The instructions, categories, work and lines of a trace's kernels."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import (
    Container,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
from operator import attrgetter
from pathlib import Path

from jaxtui.core.model.own import XLA_DTYPES
from jaxtui.core.model.profile import Frame, KernelKind, Share
from jaxtui.xla import peaks
from jaxtui.xla.kernels import DEVICES, Kernel
from jaxtui.xla.programs import COLLECTIVES, NO_WORK, Instruction, Program, read_traced
from jaxtui.xla.traces import Space, Stat

_PACKAGE = Path(__file__).parents[3]
HIDDEN = (
    *map(str, (_PACKAGE / "tasks").glob("*.py")),
    *(str(_PACKAGE / name) for name in ("api.py", "core", "features", "timing")),
    str(_PACKAGE / "tasks/ops/base.py"),
    "<frozen runpy>",
)
"""Files that call the profiled code; the ops of the catalogue are shown."""

_COLLECTIVES = (*COLLECTIVES, "collective", "recv", "send")
_COPIES = (
    "async-copy",
    "copy",
    "data formatting",
    "host-transfer",
    "infeed",
    "outfeed",
)
"""The beginnings of kernel and category names that are copies."""

_MODULE = "XlaModule"
"""Stands where a CUDA graph has no name of JAX for its kernels."""

_WORDS = re.compile(r"[A-Za-z0-9]+")

_FUSIONS = {
    "kLoop": "loop fusion",
    "kInput": "input fusion",
    "kOutput": "output fusion",
}


class Programs:
    """The programs of a trace that ran, and the device that ran them.

    Args:
        space: the trace.
        wanted: their names.
        device_kind: as JAX names it; empty for what the trace says.
    """

    def __init__(
        self, space: Space, names: Container[str], device_kind: str = ""
    ) -> None:
        devices = (p.stats for p in space.planes if p.name.startswith(DEVICES))
        device: dict[str, Stat] = next(filter(None, devices), {})
        kind = device.get("device_type_string") or device.get("gpu_device_name")
        self.is_amd = device.get("device_vendor") == "AMD"
        if self.is_amd and not kind:
            kind = peaks.amd_kind(device)
        self.device_kind = device_kind or str(kind or "")
        self._flops_per_second = _rate(device, "peak_teraflops_per_second", 1e12)
        published = peaks.peak(self.device_kind, "", matrix=False)
        self.bytes_per_second = (
            _rate(device, "peak_hbm_bw_gigabytes_per_second", 1e9)
            # XLA takes AMD's memory for DDR: half of what it has.
            or (None if self.is_amd else _rate(device, "memory_bandwidth", 1.0))
            or (published.bytes_per_second if published else None)
        )
        """The peak of one device."""
        self.known: dict[str, Program] = {}
        for name, proto in space.programs():
            if name in names:
                with suppress(ValueError):  # of a later format
                    self.known[name] = read_traced(proto)
        self.frames: dict[Frame, int] = {}
        """The lines that kernels came from so far, and the place of each."""

    def find(self, kernel: Kernel) -> tuple[Program, Instruction] | None:
        """The instruction of a kernel, and its program."""
        program = self.known.get(kernel.program)
        instruction = program and program.instructions.get(kernel.name)
        return (program, instruction) if program and instruction else None

    def holders(self, kernel: Kernel) -> frozenset[str]:
        """The loops, branches and calls that a kernel runs in."""
        program = self.known.get(kernel.program)
        return program.holders.get(kernel.name, frozenset()) if program else frozenset()

    def settled(self, ran: Sequence[Kernel]) -> Iterator[Kernel]:
        """Kernels of which a loop, branch or call of the CPU ends with what it holds.

        Up to 0.7.2 the event that tells its end may come long afterwards.
        """
        held: dict[Hashable, list[Kernel]] = defaultdict(list)
        for item in ran:
            for holder in self.holders(item):
                held[item.program, item.run, item.device, holder].append(item)
        for item in ran:
            inner = held.get((item.program, item.run, item.device, item.name), [])
            first = bisect_left(inner, item.start, key=attrgetter("start"))
            last = bisect_right(inner, item.end, key=attrgetter("start"))
            ends = [k.end for k in inner[first:last]]
            if ends and item.stats.get("_p") is not None:
                yield item._replace(end=min(item.end, max(ends)))
            else:
                yield item

    def category(self, kernel: Kernel) -> str:
        if category := kernel.stats.get("hlo_category"):
            return str(category)
        if "memcpy_details" in kernel.stats:
            return "copy"
        if (match := self.find(kernel)) is None:
            return kernel.name.partition(".")[0].rstrip("0123456789") or kernel.name
        program, instruction = match
        opcodes = [inner.opcode for inner in program.inside(instruction)]
        if instruction.opcode == "fusion":
            if heavy := {"dot", "convolution"}.intersection(opcodes):
                return f"{heavy.pop()} fusion"
            return _FUSIONS.get(instruction.fusion_kind, "custom fusion")
        if instruction.opcode == "call":
            return next((o for o in reversed(opcodes) if o not in NO_WORK), "call")
        if instruction.opcode == "custom-call" and instruction.target:
            return " ".join(_WORDS.findall(instruction.target))
        return instruction.opcode

    def shape(self, kernel: Kernel) -> str:
        if match := self.find(kernel):
            return str(match[1].shape)
        return str(kernel.stats.get("shape_with_layout", "")).partition("{")[0]

    def op_name(self, kernel: Kernel) -> str:
        if match := self.find(kernel):
            program, instruction = match
            # XLA may name what a fusion holds and not the fusion.
            inside = reversed([*program.inside(instruction), instruction])
            names = (inner.metadata.op_name for inner in inside)
            return next(filter(None, names), "")
        name = str(kernel.stats.get("tf_op", "")).rstrip(":")
        return "" if name == _MODULE else name

    def work(self, kernel: Kernel) -> tuple[float | None, float | None]:
        """Flops and bytes of one run."""
        if "bytes_accessed" in kernel.stats:
            counted = kernel.stats.get("flops"), kernel.stats["bytes_accessed"]
            flops, moved = (
                float(count) if isinstance(count, (int, float)) else None
                for count in counted
            )
            return flops, moved
        if (match := self.find(kernel)) is None:
            return None, None
        program, instruction = match
        return program.flops(instruction), program.bytes(instruction)

    def flops_per_second(self, kernel: Kernel, category: str) -> float | None:
        """The peak of one device for what a kernel multiplies; ``None`` where it
        multiplies nothing, or no peak is known.
        """
        if match := self.find(kernel):
            program, instruction = match
            if (product := program.product(instruction)) is None:
                return None
            dtype, precision = product
            name = XLA_DTYPES.get(dtype, dtype)
            if peak := peaks.peak(self.device_kind, name, precision):
                return peak.flops_per_second
        elif not any(word in category for word in ("convolution", "dot")):
            return None
        return self._flops_per_second

    def shares(self, kernel: Kernel) -> Iterator[Share]:
        """The lines of a kernel: of a fusion those of all that it computes.

        Each has a part of its time by the work of its instructions.
        """
        if (match := self.find(kernel)) is None:
            yield self._share(_source(kernel))
            return
        program, instruction = match
        weights: Counter[tuple[Frame, ...]] = Counter()
        for inner in program.inside(instruction):
            if inner.opcode not in NO_WORK and (stack := program.stack(inner)):
                weights[stack] += program.work(inner)  # type: ignore[assignment]
        whole = sum(weights.values())
        if not whole:
            inside = (instruction, *program.inside(instruction))
            stacks = (program.stack(fused) for fused in inside)
            yield self._share(next(filter(None, stacks), ()))
        for stack, weight in weights.most_common() if whole else ():
            yield self._share(stack, weight / whole)

    def _share(self, lines: Iterable[Frame], part: float = 1.0) -> Share:
        frames = [frame for frame in lines if not frame.file.startswith(HIDDEN)]
        places = (self.frames.setdefault(f, len(self.frames)) for f in frames)
        return Share(part=part, stack=tuple(places))


def _rate(stats: Mapping[str, Stat], name: str, unit: float) -> float | None:
    value = stats.get(name)
    return value * unit if isinstance(value, (int, float)) and value > 0 else None


def kind_of(name: str, category: str) -> KernelKind:
    for text in (category, name):
        if text.startswith(_COLLECTIVES):
            return "collective"
        if text.startswith(_COPIES):
            return "copy"
    return "compute"


def _source(kernel: Kernel) -> Iterator[Frame]:
    """The stack that a TPU writes into its trace, the innermost last."""
    stack = str(kernel.stats.get("source_stack", "")).strip().splitlines()
    for text in reversed(stack or [str(kernel.stats.get("source", ""))]):
        file, *numbers = text.strip().split(":")
        if file and numbers and numbers[0].isdigit():
            yield Frame(file=file, line=int(numbers[0]), function="")
