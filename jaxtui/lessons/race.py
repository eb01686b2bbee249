"""A race: the seconds spent so far, over the number of calls made so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from jaxtui import format as fmt
from jaxtui.lessons.base import Setting
from jaxtui.model import Measurement
from jaxtui.plot import Axis, Color, Mark, Picture, Series
from jaxtui.stats import break_even_calls

GHOST: Color = (140, 140, 140)
"""Curves of other machines stay in the background."""

_FEWEST_CALLS = 100
_POINTS_PER_DECADE = 16


@dataclass(frozen=True, kw_only=True)
class Runner:
    """One side of a race."""

    label: str
    first_seconds: float
    """Until the first result was there, with all that had to be paid before it."""
    each_seconds: float
    """Of every later call."""
    calls: int | None = None
    """How many of its calls were timed so far; ``None`` when that no longer matters."""
    ghost: bool = False
    """Another machine's."""

    def after(self, calls: float) -> float:
        """Seconds spent after so many calls."""
        return self.first_seconds + (calls - 1) * self.each_seconds


def numpy_runner(measured: Measurement | None, label: str = "NumPy") -> Runner | None:
    """NumPy's side: it has nothing to pay in advance."""
    if measured is None or measured.ready is None:
        return None
    seconds = measured.ready.median
    return Runner(
        label=label,
        first_seconds=seconds,
        each_seconds=seconds,
        calls=_so_far(measured),
    )


def jax_runner(measured: Measurement | None, label: str = "JAX") -> Runner | None:
    """JAX's side: it starts with its transfer and compile behind it."""
    if measured is None or measured.ready is None:
        return None
    return Runner(
        label=label,
        first_seconds=behind(measured),
        each_seconds=measured.ready.median,
        calls=_so_far(measured),
    )


def behind(measured: Measurement) -> float:
    """Seconds until JAX's first result from NumPy data: transfer, compile, run."""
    return (measured.phases.transfer or 0.0) + measured.phases.cold_seconds


def meeting(jax: Runner, numpy: Runner) -> int | None:
    """The call with which JAX has caught up; ``None`` if it never does."""
    return break_even_calls(jax.first_seconds, jax.each_seconds, numpy.each_seconds)


def recorded(setting: Setting, op: str) -> tuple[Runner, ...]:
    """What another machine measured of this op, as ghosts."""
    found: list[Runner] = []
    for measured in setting.ghosts:
        if measured.case.op != op:
            continue
        numpy = measured.case.mode == "numpy"
        make, name = (numpy_runner, "NumPy") if numpy else (jax_runner, "JAX")
        label = f"{setting.ghost_label} {name} {measured.case.size}".strip()
        runner = make(measured, label)
        if runner is not None:
            found.append(ghost(runner))
    return tuple(found)


def ghost(runner: Runner) -> Runner:
    """The same run, in the background."""
    return Runner(
        label=runner.label,
        first_seconds=runner.first_seconds,
        each_seconds=runner.each_seconds,
        ghost=True,
    )


def picture(runners: Sequence[Runner], meet: int | None, title: str) -> Picture | None:
    """The race on logarithmic axes; a runner gets as far as it was timed so far."""
    if not any(not runner.ghost for runner in runners):
        return None
    last = _horizon(meet)
    curves = [(runner, _calls(runner, last)) for runner in runners]
    series = tuple(
        Series(
            runner.label,
            calls,
            [runner.after(call) for call in calls],
            GHOST if runner.ghost else None,
        )
        for runner, calls in curves
    )
    mark = () if meet is None or meet < 2 else (Mark(meet, f"call {fmt.count(meet)}"),)
    return Picture(
        series,
        Axis("calls", log=True, limits=(1, last), format=_calls_tick),
        Axis("", log=True, format=fmt.tick_seconds),
        title,
        mark,
    )


def _so_far(measured: Measurement) -> int | None:
    running = measured.stopped is None and measured.ready is not None
    return measured.ready.n if running and measured.ready else None


def _horizon(meet: int | None) -> int:
    """A power of ten with room beyond the meeting."""
    wanted = max(_FEWEST_CALLS, 4 * (meet or 1))
    return int(10 ** math.ceil(math.log10(wanted)))


def _calls(runner: Runner, last: int) -> list[float]:
    """Numbers of calls, evenly spread on a logarithmic axis."""
    end = last if runner.calls is None else max(2, min(last, runner.calls))
    count = math.ceil(math.log10(end) * _POINTS_PER_DECADE)
    return [end ** (index / count) for index in range(count + 1)]


def _calls_tick(value: float) -> str:
    return fmt.size(round(value))
