"""An experiment in one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from jaxtui.model import Case, Experiment
from jaxtui.model.own import short_name

_Value = TypeVar("_Value")


def describe(experiment: Experiment) -> str:
    """The experiment in one line: ``matmul 1000 float32 jit on cpu:0 and NumPy, …``."""
    jax = [case for case in experiment.cases if not case.on_host]
    text = _described(jax or experiment.cases)
    for mode, name in (("numpy", "NumPy"), ("tensorflow", "TensorFlow")):
        twins = _once(case.dtype for case in experiment.cases if case.mode == mode)
        if jax and twins:
            same = twins == _once(case.dtype for case in jax)
            text += f" and {name}" if same else f" and {name} {_some(twins)}"
    if len(experiment.cases) > 2:
        text += f", {len(experiment.cases)} cases"
    return f"{text}, about {how_long(experiment.budget)}"


def how_long(seconds: float) -> str:
    """A time to wait: ``10 s``, ``2.5 min``, ``2.8 h``."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = seconds / 60
    return f"{minutes:.3g} min" if minutes < 120 else f"{minutes / 60:.2g} h"


def _described(cases: Sequence[Case]) -> str:
    first = cases[0]
    words = [
        _some(_once(short_name(case.op) for case in cases)),
        _span(_once(case.size for case in cases if case.size)),
        _some(_once(case.dtype for case in cases)),
        _some([p for p in _once(c.precision for c in cases) if p != "default"]),
        _some(_once(case.mode for case in cases)),
    ]
    if not first.on_host:
        words.append(f"on {_some(_once(case.device for case in cases))}")
        if any(case.inputs == "host" for case in cases):
            words.append("with host inputs")
    return " ".join(word for word in words if word)


def _some(names: Sequence[str]) -> str:
    """At most three names, and how many more."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _span(sizes: Sequence[int]) -> str:
    if len(sizes) <= 3:
        return ", ".join(map(str, sizes))
    return f"{min(sizes)} to {max(sizes)}"


def _once(values: Iterable[_Value]) -> list[_Value]:
    return list(dict.fromkeys(values))
