"""Experiments in this process, and how each of their cases ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from jaxtui.core.model import (
    HOST_MODES,
    Case,
    CaseFailed,
    CaseMeasured,
    Experiment,
    Failure,
    Measurement,
    Mode,
    Remark,
    RunEvent,
)
from jaxtui.features.bench.measure.experiment import run
from jaxtui.ui import words

FUNCTIONS = str(Path(__file__).with_name("functions.py"))


def case(
    op: str, size: int, mode: Mode = "jit", dtype: str = "float32", **more: Any
) -> Case:
    """A case on the first CPU device, or on the host in modes that run there."""
    place: dict[str, Any] = {"device": "cpu:0"}
    if mode in HOST_MODES:
        place = {"device": "host", "inputs": "host"}
    return Case(op=op, size=size, dtype=dtype, mode=mode, **(place | more))


def own(
    name: str,
    args: str = "",
    mode: Mode = "jit",
    *,
    file: str = FUNCTIONS,
    size: int = 0,
    **more: Any,
) -> Case:
    """A case of a function of a file; ``args`` are its typed arguments."""
    params = {"args": args} if args else None
    return case(f"{file}:{name}", size, mode, "", params=params, **more)


def experiment(*cases: Case, budget: float = 4.0, **more: Any) -> Experiment:
    """Of these cases, until each has a number, however rough it is.

    With the fixture ``brief`` that is a tenth of a second, and the budget is there for
    a machine that is busy.
    """
    wide = {"target_half_width": 1e9, **more}
    return Experiment(cases=cases, budget_seconds=budget, **wide)


def stop_after(count: int) -> Callable[[], bool]:
    """A stop that is true once it was asked so many times."""
    asked = iter(range(count))
    return lambda: next(asked, None) is None


def endings(events: Iterable[RunEvent]) -> list[Measurement | Failure]:
    """How the cases ended, in their order, each once."""
    ended: dict[int, Measurement | Failure] = {}
    for event in events:
        if isinstance(event, (CaseMeasured, CaseFailed)):
            assert event.index not in ended
            ended[event.index] = (
                event.failure if isinstance(event, CaseFailed) else event.measurement
            )
    return [ended[index] for index in sorted(ended)]


def outcomes(*cases: Case, **more: Any) -> list[Measurement | Failure]:
    """How cases end that run together."""
    ended = endings(run(experiment(*cases, **more)))
    assert len(ended) == len(cases)
    return ended


def measured(*cases: Case, **more: Any) -> list[Measurement]:
    """The measurements of cases of which none may fail."""
    ended = outcomes(*cases, **more)
    found = [one for one in ended if isinstance(one, Measurement)]
    assert len(found) == len(cases), ended
    return found


def failure(one: Case, **more: Any) -> Failure:
    """Of a case that must fail."""
    (ended,) = outcomes(one, **more)
    assert isinstance(ended, Failure), ended
    return ended


def refusal(one: Case, **more: Any) -> Remark:
    """Why a case is refused that must be."""
    remark = failure(one, **more).remark
    assert words.sentence(remark)
    return remark


def facts(notes: Iterable[Remark]) -> dict[str, dict[str, Any]]:
    """The facts under each code, in their order."""
    return {note.code: {**note.facts} for note in notes}
