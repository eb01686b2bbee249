"""A compiled program: what it consists of, and what XLA says that it costs."""

from __future__ import annotations

import msgspec

from jaxtui.model.base import Record


class Fusion(Record, frozen=True, kw_only=True):
    """Operations that XLA made one kernel of."""

    name: str
    kind: str
    """XLA's word for how it is computed: ``kLoop``, ``kInput``, ``kOutput`` …"""
    operations: dict[str, int]
    """How many of each are inside, the most frequent first; without those that only
    name or rearrange values."""


class ProgramMemory(Record, frozen=True, kw_only=True):
    """Bytes of device memory that one call needs, by XLA's ``memory_analysis``."""

    arguments_bytes: int
    output_bytes: int
    temporaries_bytes: int
    aliased_bytes: int
    """Of the output, what lies in memory of the arguments."""
    program_bytes: int
    """The compiled program itself."""
    peak_bytes: int | None
    """At the worst moment; ``None`` where this jax does not say."""
    limit_bytes: float | None = None
    """Memory of one JAX device; ``None`` for a kind that the table does not have."""
    limit_source: str = ""


class Program(Record, frozen=True, kw_only=True):
    """What is known of a program once it is compiled; nothing was run."""

    kernels: int | None
    """Instructions of the entry computation that do something; ``None`` where the
    program cannot be read."""
    instructions: dict[str, int] = msgspec.field(default_factory=dict)
    """How many of each kind, the most frequent first."""
    fusions: tuple[Fusion, ...] = ()
    """In the bodies of loops, too."""
    xla_flops: float | None = None
    xla_bytes: float | None = None
    xla_transcendentals: float | None = None
    """XLA's ``cost_analysis``; ``None`` where it does not say, which it does not of
    what it counts none of."""
    memory: ProgramMemory | None = None
