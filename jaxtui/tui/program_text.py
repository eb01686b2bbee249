"""What is known of a compiled program, as text."""

from __future__ import annotations

from collections.abc import Mapping

from jaxtui import format as fmt
from jaxtui.model.programs import Program, ProgramMemory
from jaxtui.view.text import table


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

    Args:
        needed: XLA's account.
        device_kind: of the device that it is compiled for.
        device_has: say so where it is not known how much the device has.
    """
    rows = [
        ("arguments", fmt.bytes_text(needed.arguments_bytes)),
        ("output", fmt.bytes_text(needed.output_bytes)),
        ("temporaries", fmt.bytes_text(needed.temporaries_bytes)),
        ("program", fmt.bytes_text(needed.program_bytes)),
        ("peak", fmt.bytes_text(needed.peak_bytes)),
    ]
    if needed.aliased_bytes:
        row = ("of the output, in the arguments", fmt.bytes_text(needed.aliased_bytes))
        rows.insert(2, row)
    text = table(("memory", "bytes"), rows, right=("bytes",))
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
    number = f"{fmt.count(kernels)} kernel{'' if kernels == 1 else 's'}"
    return f"{number}: {kinds}" if kinds else number


def fusions(program: Program) -> str:
    """Each fusion with what XLA put into it."""
    rows = [
        (
            one.name,
            one.kind,
            ", ".join(_times(*pair) for pair in one.operations.items()),
        )
        for one in program.fusions
    ]
    return table(("fusion", "kind", "operations inside"), rows) if rows else ""


def _times(name: str, count: int) -> str:
    return name if count == 1 else f"{count} {name}"


def _count(value: float | None) -> str:
    return fmt.ABSENT if value is None else fmt.count(round(value))
