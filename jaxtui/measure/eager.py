"""The programs that JAX runs when it executes an op step by step, without ``jit``."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from time import perf_counter
from typing import Any, NamedTuple

import jax

from jaxtui.measure import programs
from jaxtui.model.programs import EagerStep


class Alone(NamedTuple):
    """One step, lowered and compiled alone."""

    step: EagerStep
    lower_seconds: float
    """Tracing included; 0 for a step that an equal one was compiled for."""
    compile_seconds: float
    stablehlo: str
    hlo: str


class Steps:
    """Compiles equations of a jaxpr one by one, equal ones once, as JAX does."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._known: dict[Hashable, Alone] = {}

    def compiled(self, equation: Any) -> Alone:
        """The program of one equation, with the scope of its case around.

        Args:
            equation: of the jaxpr of the whole op; a literal in it is an argument of
                the program, as the scalar is that eager JAX hands over.
        """
        avals = [variable.aval for variable in equation.invars]
        key = (equation.primitive.name, str(equation.params), str(avals))
        if (known := self._known.get(key)) is not None:
            return known._replace(lower_seconds=0.0, compile_seconds=0.0)
        start = perf_counter()
        lowered = jax.jit(_bound(equation)).lower(*map(_shape, avals))
        middle = perf_counter()
        compiled = lowered.compile()
        end = perf_counter()
        self._known[key] = Alone(
            EagerStep(
                name=_name(equation),
                program=programs.read(compiled, self._device.device_kind),
            ),
            middle - start,
            end - middle,
            programs.text_of(lowered) or "",
            programs.text_of(compiled) or "",
        )
        return self._known[key]


def _bound(equation: Any) -> Callable[..., Any]:
    """A fresh function that does what the equation does."""

    def step(*arguments: Any) -> Any:
        made = equation.primitive.get_bind_params(equation.params)
        # A newer jax hands over no functions beside the parameters.
        functions, params = made if isinstance(made, tuple) else ((), made)
        return equation.primitive.bind(*functions, *arguments, **params)

    return step


def _shape(aval: Any) -> jax.ShapeDtypeStruct:
    weak = bool(getattr(aval, "weak_type", False))
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=weak)


def _name(equation: Any) -> str:
    """The primitive, or the function whose ``jit`` it is."""
    return str(equation.params.get("name") or equation.primitive.name)
