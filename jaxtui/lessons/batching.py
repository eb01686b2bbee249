"""One program, many inputs: vmap, and random numbers with explicit keys."""

from __future__ import annotations

from collections.abc import Mapping

from jaxtui.lessons.figures import (
    All,
    AtLeast,
    AtMost,
    Figures,
    Gives,
    Holds,
    IsTrue,
    Value,
    bracket,
    decimals,
    near,
    quotient,
)
from jaxtui.lessons.trial import Code, Trial, lesson

PAIRS = 10

FAR = 3.0
"""How many times longer the loop must take."""

ALIKE = 3.0
"""How many times the hand-batched form ``vmap`` may take and still count as alike."""

ROWS = 150
"""Of the matrix that every vector of the batch is multiplied with."""


def _first_numbers(figures: Figures) -> Mapping[str, Value]:
    found: dict[str, Value] = {"drawn": len(figures.numbers("vmap"))}
    for name in ("loop", "hand", "vmap"):
        numbers = figures.numbers(name)
        if numbers:
            found[f"first of {name}"] = f"{decimals(numbers[:3], 3)}, …"
            found[f"count of {name}"] = f"{len(numbers)} numbers"
    return found


def _has_same_values(figures: Figures) -> bool:
    loop, tolerance = figures.numbers("loop"), _tolerance(figures, 1e-4)
    ways = (figures.numbers("hand"), figures.numbers("vmap"))
    return len(ways[1]) == PAIRS and all(near(way, loop, tolerance) for way in ways)


def _tolerance(figures: Figures, on_cpu: float) -> float:
    """Accelerators may round the inputs of a product first."""
    return 2e-2 if figures.setting.accelerated else on_cpu


def _batch_figures(figures: Figures) -> Mapping[str, Value]:
    # What it reads, not the lesson's own size.
    largest = figures.outcome.number("size")
    apart = [quotient(figures[f"{name} off"], largest) for name in ("vmap", "loop")]
    found = [one for one in apart if one is not None]
    known = len(found) == len(apart)
    return {
        "apart": max(found, default=None),
        "difference": max(found) if known else None,
        "same": known and max(found) < _tolerance(figures, 1e-3),
        "far": AtLeast("loop", FAR, "vmap").holds(figures),
        "alike": AtMost("vmap", ALIKE, "hand").holds(figures),
    }


def _draw_texts(figures: Figures, *names: str) -> Mapping[str, Value]:
    """The numbers of values, or whatever stands for them."""
    return {
        f"numbers of {name}": decimals(found, 6)
        if (found := figures.numbers(name))
        else figures.shown(name)
        for name in names
    }


DRAWS = ("left", "right", "parent")


def _walk_figures(figures: Figures) -> Mapping[str, Value]:
    found = {name: figures[name] for name in ("spread", "range", "reused")}
    return {
        **_draw_texts(figures, *DRAWS),
        **{
            f"{name} of walks": "0" if abs(value) < 5e-4 else f"{value:.3g}"
            for name, value in found.items()
            if value is not None
        },
    }


def _is_independent(figures: Figures) -> bool:
    different = len({figures.numbers(name) for name in DRAWS}) == len(DRAWS)
    # A standard deviation out of 1000 is right to about 2 %; 10 % is no accident.
    spread, reused = figures["spread"] or 0.0, figures["reused"] or 0.0
    return different and figures.all_true("again") and 9 < spread < 11 and reused < 1e-3


def _reuse_answer(figures: Figures) -> int:
    reused = figures["reused"] or 0.0
    return 2 if reused < 1e-3 else 1 if reused < 0.1 * (figures["range"] or 0.0) else 0


LESSON = lesson(
    "batching",
    {
        "A function of one becomes a function of many": Trial(
            derive=_first_numbers,
            claim=Holds(_has_same_values, "naive", "loop", "hand", "vmap"),
            answer=lambda f: {1: 0, PAIRS: 1}.get(len(f.numbers("naive"))),
        ),
        "What the loop costs": Trial(
            code=Code(budget=5.0),
            claim=All(
                AtLeast("loop", FAR, "vmap jit"), AtLeast("vmap", FAR, "vmap jit")
            ),
            answer=bracket("vmap", "vmap jit", 2, 5),
        ),
        "By hand or by vmap": Trial(
            code=Code(budget=6.0, memory=lambda n: 4 * 6 * n * ROWS),
            derive=_batch_figures,
            claim=All(
                AtLeast("loop", FAR, "vmap"),
                AtMost("vmap", ALIKE, "hand"),
                Holds(lambda figures: figures.all_true("same"), "difference"),
            ),
            answer=lambda f: 0 if f["alike"] else 1 if f["far"] else 2,
        ),
        "Same key, same numbers": Trial(
            derive=lambda figures: _draw_texts(figures, "JAX first", "JAX second"),
            claim=All(
                IsTrue("JAX same"),
                Gives("NumPy same", "False"),
            ),
            answer=lambda figures: 1 if figures.all_true("JAX same") else 0,
        ),
        "Splitting keys": Trial(
            derive=_walk_figures,
            claim=Holds(_is_independent, "spread", "range", "reused", *DRAWS),
            answer=_reuse_answer,
        ),
    },
    sizes={"cpu": 1000, "gpu": 10_000, "tpu": 10_000},
    minimum=50,
    maximum=1_000_000,
)
