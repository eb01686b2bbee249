"""The cost, the memory and the optimised HLO of a program, from JAX and XLA."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import SingleDeviceSharding

from jaxtui.core.model import Case, Peak, Precision
from jaxtui.core.model.programs import Program, ProgramMemory
from jaxtui.tasks.devices import probe
from jaxtui.tasks.ops.base import Op
from jaxtui.xla import peaks
from jaxtui.xla import programs as hlo


def shapes(op: Op, case: Case, device: Any) -> list[jax.ShapeDtypeStruct]:
    """The arguments of a case as shapes and dtypes on the device, without any data."""
    return [
        array_shape(argument.shape, argument.dtype(case.dtype), device)
        for argument in op.arguments(case.size)
    ]


def array_shape(dims: tuple[int, ...], dtype: str, device: Any) -> jax.ShapeDtypeStruct:
    place = SingleDeviceSharding(device)
    return jax.ShapeDtypeStruct(dims, jnp.dtype(dtype), sharding=place)


def text_of(stage: Any) -> str | None:
    """The text of a lowered or compiled program; ``None`` where there is none."""
    text = probe(lambda: stage.as_text())
    return text if isinstance(text, str) else None


def costs(stage: Any) -> dict[str, Any] | None:
    """XLA's ``cost_analysis`` of a lowered or compiled program.

    It may be missing, raise, or be a list of one, by platform and version: ``None``
    where nothing is known.
    """
    analysis = probe(lambda: stage.cost_analysis())
    if isinstance(analysis, list) and len(analysis) == 1:
        (analysis,) = analysis
    return analysis if isinstance(analysis, dict) else None


class Count(NamedTuple):
    """XLA's ``cost_analysis`` of a function of a file, which has no formula."""

    flops: float | None = None
    """Flops plus transcendentals; ``None`` where XLA does not say."""
    bytes: float | None = None
    """Bytes that its kernels read and write."""
    loops: bool = False
    """True if it has a loop, whose body XLA counts once."""
    libraries: tuple[str, ...] = ()
    """The libraries that it calls, whose work XLA does not know."""

    def times(self, devices: int) -> Count:
        """Return the count of all devices that run the program."""
        flops = None if self.flops is None else devices * self.flops
        moved = None if self.bytes is None else devices * self.bytes
        return self._replace(flops=flops, bytes=moved)

    @property
    def is_whole(self) -> bool:
        """Return whether it is the whole work."""
        return not (self.loops or self.libraries)

    @property
    def is_rewritten(self) -> bool:
        """Return whether XLA counts all of it only before it compiles."""
        calls = map(_REWRITTEN.fullmatch, self.libraries)
        return bool(self.libraries) and all(calls) and not self.loops


NOTHING = Count()
"""The count of an unknown program."""


_LOOP = re.compile(r" while\(|\bstablehlo\.while\b")
_LIBRARY = re.compile(
    r'custom_call_target="([^"]+)"|\bstablehlo\.custom_call @([\w.$]+)'
)
_MARK = re.compile(
    r"Sharding|SPMD\w+|annotate_device_placement|AllocateBuffer|AssumeGatherIndices\w*"
    r"|xla\.sdy\..*|sdy\..*"
)
"""Calls that are no work."""
_REWRITTEN = re.compile(r"__cublas\$.*|__cudnn\$.*")
"""The targets that XLA for GPUs calls in place of operations that it could count."""


def inner(stage: Any) -> Any:
    """Return the stage of JAX inside a library's wrapper."""
    for name in ("traced", "lowered", "compiled"):
        stage = getattr(stage, name, stage)
    return stage


def count(stage: Any) -> Count:
    """Count the work of a lowered or a compiled program, by XLA."""
    if (analysis := costs(stage)) is None:
        return NOTHING
    text = text_of(stage) or ""
    return Count(
        counted_flops(stage) or None,
        _number(analysis, "bytes accessed") or None,
        bool(_LOOP.search(text)),
        _libraries(text),
    )


def _libraries(text: str) -> tuple[str, ...]:
    called = dict.fromkeys(quoted or plain for quoted, plain in _LIBRARY.findall(text))
    return tuple(name for name in called if not _MARK.fullmatch(name))


def counted_flops(stage: Any) -> float | None:
    """XLA's count of flops plus transcendentals, 0 where it counts none.

    ``None`` where it cannot count all: for a call of a library it puts -1.
    """
    analysis = costs(stage)
    if analysis is None or _libraries(text_of(stage) or ""):
        return None
    counts = (analysis.get("flops", 0.0), analysis.get("transcendentals", 0.0))
    return float(sum(counts)) if min(counts) >= 0 else None


def read(compiled: Any, device_kind: str) -> Program:
    """Kernels, XLA's own counts, and memory."""
    data = probe(lambda: _serialized(compiled))
    program = hlo.read(data) if isinstance(data, bytes) else None
    kernels = program.kernels() if program else {}
    analysis = costs(compiled) or {}
    return Program(
        kernels=sum(kernels.values()) if program else None,
        instructions=kernels,
        fusions=tuple(program.fusions()) if program else (),
        collectives=tuple(program.exchanges()) if program else (),
        xla_flops=_number(analysis, "flops"),
        xla_bytes=_number(analysis, "bytes accessed"),
        xla_transcendentals=_number(analysis, "transcendentals"),
        memory=_memory(compiled, device_kind),
    )


def _serialized(compiled: Any) -> bytes:
    (module,) = compiled.runtime_executable().hlo_modules()
    return bytes(module.as_serialized_hlo_module_proto())


def _number(analysis: dict[str, Any], name: str) -> float | None:
    value = analysis.get(name)
    # XLA says -1 where it cannot count, as it does for a kernel of Pallas.
    return None if value is None or value < 0 else float(value)


def _memory(compiled: Any, device_kind: str) -> ProgramMemory | None:
    stats = probe(lambda: compiled.memory_analysis())
    if stats is None:
        return None
    limit = peaks.memory(device_kind)
    # XLA takes all temporaries at once, also where fewer are alive together, and its
    # own peak leaves them out on a CPU; jax older than 0.7 has none.
    together = stats.argument_size_in_bytes + stats.temp_size_in_bytes
    together += max(0, stats.output_size_in_bytes - stats.alias_size_in_bytes)
    peak = max(together, getattr(stats, "peak_memory_in_bytes", 0))
    return ProgramMemory(
        arguments_bytes=stats.argument_size_in_bytes,
        output_bytes=stats.output_size_in_bytes,
        temporaries_bytes=stats.temp_size_in_bytes,
        aliased_bytes=stats.alias_size_in_bytes,
        program_bytes=stats.generated_code_size_in_bytes,
        peak_bytes=peak,
        limit_bytes=limit.value if limit else None,
        limit_source=str(limit.source.facts["source"]) if limit else "",
    )


# What a function of a file multiplies, by its jaxpr.


class Product(NamedTuple):
    """A product of matrices, or a convolution."""

    work: float
    """Operations of all of its runs in a call."""
    once: float
    """Flops as XLA counts them: a loop's body once. 0 of a convolution, where XLA
    leaves the padding out."""
    dtype: str
    """The dtype of its first operand."""
    precision: Precision


def largest_product(jaxpr: Any) -> Product | None:
    """The one with the most work; ``None`` where nothing is multiplied.

    Args:
        jaxpr: A ``jax.core.ClosedJaxpr``.
    """
    return max(_products(jaxpr.jaxpr), default=None)


def peak(product: Product | None, device_kind: str) -> Peak | None:
    """The peak of one device for what is multiplied."""
    if product is None:
        return peaks.peak(device_kind, "", matrix=False)
    return peaks.peak(device_kind, product.dtype, product.precision)


def _products(jaxpr: Any) -> Iterator[Product]:
    for equation in jaxpr.eqns:
        runs = float(equation.params.get("length", 1))
        for inner in _inner(equation):
            for product in _products(inner):
                yield product._replace(work=runs * product.work)
        name = equation.primitive.name
        if name not in ("dot_general", "conv_general_dilated"):
            continue
        first, second = (variable.aval for variable in equation.invars)
        size = 2.0 * math.prod(equation.outvars[0].aval.shape)
        if name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            work = once = size * math.prod(first.shape[axis] for axis in contracted)
        else:
            features = second.shape[equation.params["dimension_numbers"].rhs_spec[0]]
            work, once = size * math.prod(second.shape) / max(1, features), 0.0
        wanted = equation.params["precision"]
        wanted = wanted[0] if isinstance(wanted, tuple) else wanted
        precision = _PRECISIONS.get(str(getattr(wanted, "name", "")), "default")
        yield Product(work, once, str(first.dtype), precision)


_PRECISIONS: dict[str, Precision] = {"HIGH": "high", "HIGHEST": "highest"}
"""The precisions by the names of ``jax.lax.Precision``."""


def _inner(equation: Any) -> Iterator[Any]:
    """The jaxprs among the parameters of an equation: bodies, branches, conditions."""
    for value in equation.params.values():
        for part in value if isinstance(value, (tuple, list)) else (value,):
            jaxpr = getattr(part, "jaxpr", part)
            if hasattr(jaxpr, "eqns"):
                yield jaxpr
