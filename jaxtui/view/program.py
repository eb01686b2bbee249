"""What JAX and XLA made of a case, as text for people."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping

from jaxtui import format as fmt
from jaxtui.model import Inspected
from jaxtui.model.programs import Program, ProgramMemory
from jaxtui.view.text import COLUMNS, table, wrap

_METADATA = re.compile(
    r", (?:metadata|backend_config)=\{(?:[^{}\"]|\"[^\"]*\"|\{[^{}]*\})*\}"
)

_TABLES = re.compile(
    r"^(?:FileNames|FunctionNames|FileLocations|StackFrames)\n(?:\d+ [^\n]*\n)*\n*",
    re.MULTILINE,
)


def summary(inspected: Inspected, columns: int = COLUMNS) -> str:
    return "\n\n".join(part for part in _parts(inspected, columns) if part)


def title(inspected: Inspected) -> str:
    case, program, steps = inspected.case, inspected.program, inspected.steps
    if case.mode == "eager":
        count = fmt.count(len(steps))
        what = "a program" if len(steps) == 1 else f"{count} programs"
        return f"Op by op JAX runs {what} with {_kernels(inspected.eager_kernels)}."
    if program.kernels is None:
        return "This jax does not show the compiled program."
    apart = inspected.eager_kernels
    if apart is None:
        return f"XLA made {_kernels(program.kernels)} of it."
    return (
        f"XLA made {_kernels(program.kernels)} of it; op by op, without jit, it runs "
        f"{_kernels(apart)}."
    )


def hlo(text: str) -> str:
    """HLO without what only tools read: metadata and the backend's settings.

    A newer XLA lists the files and lines of the source in tables of their own.
    """
    return _METADATA.sub("", _TABLES.sub("", text))


def entry(text: str) -> str:
    """The entry computations of an HLO text: what a call runs, line by line."""
    found = re.findall(r"(?:^// step [^\n]*\n)|(?:^ENTRY .*?^\})", text, re.M | re.S)
    return "\n".join(part.rstrip("\n") for part in found)


def _parts(inspected: Inspected, columns: int) -> Iterator[str]:
    program = inspected.program
    made_of = kernels(program.kernels, program.instructions)
    for text in (inspected.case.label, title(inspected), f"program: {made_of}"):
        yield wrap(text, later="  ", width=columns)
    yield _fusions(program, columns)
    yield _steps(inspected)
    yield counts(
        inspected.flops,
        inspected.bytes,
        program.xla_flops,
        program.xla_bytes,
        program.xla_transcendentals,
    )
    yield wrap(*_remarks(inspected), later="  ", width=columns)
    if program.memory is not None:
        known = program.memory.limit_bytes is not None
        yield memory(program.memory, inspected.device_kind, device_has=known)
    yield stages(
        {
            "trace": inspected.trace_seconds,
            "lower": inspected.lower_seconds,
            "compile": inspected.compile_seconds,
        }
    )


def _steps(inspected: Inspected) -> str:
    if len(inspected.steps) < 2:
        return ""
    rows = [
        (
            step.name,
            kernels(step.program.kernels, step.program.instructions),
            fmt.figure(step.program.xla_bytes, "memory"),
        )
        for step in inspected.steps
    ]
    return table(
        ("op by op", "is", "reads and writes"), rows, right=("reads and writes",)
    )


def _remarks(inspected: Inspected) -> Iterator[str]:
    program = inspected.program
    if program.xla_transcendentals:
        yield (
            "XLA counts exponentials and the like apart; a formula counts each as one "
            "flop."
        )
    if inspected.case.mode == "pallas" and inspected.device_kind == "cpu":
        yield "A CPU interprets the Pallas kernel: this is the interpreter's program."
    if "while" in program.instructions:
        yield "XLA counts the body of a loop once, however often it runs."
    if "custom-call" in program.instructions:
        yield "XLA cannot look into a custom-call: it counts nothing of it."


def _kernels(count: int | None) -> str:
    if count is None:
        return "an unknown number of kernels"
    return "one kernel" if count == 1 else fmt.plural(count, "kernel")


def _fusions(program: Program, columns: int) -> str:
    """What each is made of; a line that is too long goes on under its last column."""
    head = ("fusion", "kind", "operations inside")
    rows: list[tuple[str, ...]] = []
    for one in program.fusions:
        inside = one.operations.items()
        names = (name if count == 1 else f"{count} {name}" for name, count in inside)
        rows.append((one.name, one.kind, ", ".join(names)))
    if not rows:
        return ""
    leading, kinds, _ = zip(head, *rows, strict=True)
    room = columns - max(map(len, leading)) - max(map(len, kinds)) - 4
    cells: list[tuple[str, ...]] = []
    for name, kind, text in rows:
        lines = textwrap.wrap(text, max(1, room), break_long_words=False)
        first, *more = lines or [""]
        cells += [(name, kind, first), *(("", "", line) for line in more)]
    return table(head, cells)


# Of any program.


def stages(seconds: Mapping[str, float | None]) -> str:
    """What each stage of a compile took."""
    rows = [(name, fmt.figure(each)) for name, each in seconds.items()]
    return table(("stage", "time"), rows, right=("time",))


def counts(
    flops: float | None,
    traffic: float | None,
    xla_flops: float | None,
    xla_bytes: float | None,
    transcendentals: float | None = None,
) -> str:
    """Flops and bytes of one call: the op's formula beside XLA's own count."""
    rows = [
        ("flops", _count(flops), _count(xla_flops)),
        ("bytes", _count(traffic), _count(xla_bytes)),
    ]
    if transcendentals:
        rows.insert(1, ("transcendentals", fmt.ABSENT, _count(transcendentals)))
    head = ("per call", "by formula", "XLA counts")
    return table(head, rows, right=head[1:])


def memory(needed: ProgramMemory, device_kind: str, *, device_has: bool = True) -> str:
    """What one call needs, and how much of the device that is.

    ``device_has`` says so where it is not known how much the device has.
    """
    rows = [
        ("arguments", fmt.figure(needed.arguments_bytes, "memory")),
        ("output", fmt.figure(needed.output_bytes, "memory")),
        ("temporaries", fmt.figure(needed.temporaries_bytes, "memory")),
        ("program", fmt.figure(needed.program_bytes, "memory")),
        ("peak", fmt.figure(needed.peak_bytes, "memory")),
    ]
    if aliased := needed.aliased_bytes:
        row = ("of the output, in the arguments", fmt.figure(aliased, "memory"))
        rows.insert(2, row)
    text = table(("memory", "size"), rows, right=("size",))
    if needed.limit_bytes is None:
        unknown = f"\nHow much a device {device_kind} has is not known here."
        return text + unknown if device_has else text
    share = ""
    if needed.peak_bytes is not None:
        share = f"  {fmt.percent(needed.peak_bytes / needed.limit_bytes)}"
    return f"{text}{share} of the {fmt.bytes_text(needed.limit_bytes)} of a device"


def kernels(kernels: int | None, instructions: Mapping[str, int]) -> str:
    """How many kernels, and of which kinds: ``3 kernels: 2 fusion, 1 copy``."""
    if kernels is None:
        return "this jax does not show the program"
    kinds = ", ".join(f"{count} {name}" for name, count in instructions.items())
    number = fmt.plural(kernels, "kernel")
    return f"{number}: {kinds}" if kinds else number


def _count(value: float | None) -> str:
    return fmt.ABSENT if value is None else fmt.count(round(value))
