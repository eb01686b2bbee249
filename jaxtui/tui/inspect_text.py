"""What JAX and XLA made of a case, as text for people."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from jaxtui import format as fmt
from jaxtui.model import Inspected
from jaxtui.tui import program_text
from jaxtui.view.text import table

COLUMNS = 80

_METADATA = re.compile(
    r", (?:metadata|backend_config)=\{(?:[^{}\"]|\"[^\"]*\"|\{[^{}]*\})*\}"
)

_TABLES = re.compile(
    r"^(?:FileNames|FunctionNames|FileLocations|StackFrames)\n(?:\d+ [^\n]*\n)*\n*",
    re.MULTILINE,
)


def summary(inspected: Inspected, columns: int = COLUMNS) -> str:
    """Kernels, counts and memory, in so many columns."""
    return "\n\n".join(part for part in _parts(inspected, columns) if part)


def title(inspected: Inspected) -> str:
    """The answer in one sentence."""
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
    yield _wrapped(inspected.case.label, columns)
    yield _wrapped(title(inspected), columns)
    kernels = program_text.kernels(program.kernels, program.instructions)
    yield _wrapped(f"program: {kernels}", columns)
    yield _wrapped_table(program_text.fusions(program), columns)
    yield _steps(inspected)
    yield program_text.counts(
        inspected.flops,
        inspected.bytes,
        program.xla_flops,
        program.xla_bytes,
        program.xla_transcendentals,
    )
    yield "\n".join(_wrapped(line, columns) for line in _remarks(inspected))
    if program.memory is not None:
        known = program.memory.limit_bytes is not None
        yield program_text.memory(
            program.memory, inspected.device_kind, device_has=known
        )
    yield _clocks(inspected)


def _steps(inspected: Inspected) -> str:
    if len(inspected.steps) < 2:
        return ""
    rows = [
        (
            step.name,
            program_text.kernels(step.program.kernels, step.program.instructions),
            fmt.bytes_text(step.program.xla_bytes),
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


def _clocks(inspected: Inspected) -> str:
    rows = [
        ("trace", fmt.seconds(inspected.trace_seconds)),
        ("lower", fmt.seconds(inspected.lower_seconds)),
        ("compile", fmt.seconds(inspected.compile_seconds)),
    ]
    return table(("stage", "seconds"), rows, right=("seconds",))


def _kernels(count: int | None) -> str:
    if count is None:
        return "an unknown number of kernels"
    return "one kernel" if count == 1 else f"{fmt.count(count)} kernels"


def _wrapped_table(text: str, columns: int) -> str:
    """Lines that are too long go on under the last column."""
    lines = text.split("\n")
    indent = " " * max(0, lines[0].rfind("  ") + 2)
    return "\n".join(
        textwrap.fill(
            line,
            columns,
            subsequent_indent=indent,
            break_long_words=False,
            drop_whitespace=True,
            replace_whitespace=False,
        )
        for line in lines
    )


def _wrapped(text: str, columns: int) -> str:
    return textwrap.fill(
        text,
        columns,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
