"""A program with many inputs: vmap, and random numbers with explicit keys."""

from __future__ import annotations

from bisect import bisect

from jaxtui.core import format as fmt
from jaxtui.core.format import seconds
from jaxtui.features.lessons.base import Conclusion
from jaxtui.features.lessons.figures import Figures, decimals, near, over
from jaxtui.features.lessons.trial import Code, Trial, lesson, size


def _tolerance(figures: Figures, on_cpu: float) -> float:
    """Accelerators may round the inputs of a product first."""
    return 2e-2 if figures.setting.accelerated else on_cpu


def _ways(figures: Figures) -> Conclusion:
    naive, loop, hand, vmap = map(figures.numbers, ("naive", "loop", "hand", "vmap"))
    tolerance = _tolerance(figures, 1e-4)
    same = near(hand, loop, tolerance) and near(vmap, loop, tolerance)
    holds, program = len(vmap) == 10 and same, figures.text("program")

    def row(what: str, numbers: tuple[float, ...]) -> tuple[object, ...]:
        first = f"{decimals(numbers[:3], 3)}, …"
        return what, (first,), "", f"{len(numbers)} numbers"

    total = "one number: the sum over all pairs"
    operations = f"its first of {figures.text('operations')}"
    rows = figures.table(
        ("dot(a, b), not batched", (decimals(naive, 3),), "", total),
        row("Python loop", loop),
        row("by hand, einsum", hand),
        row("jax.vmap(dot)", vmap),
        ("program of jax.vmap(dot)", "program", "", operations),
    )
    sentences = (
        "Called with the two batches, dot gave one number,"
        f" {figures['naive']:.3f}. vmap(dot) gave {len(vmap)}, the same as the loop and"
        f" the einsum. Its program has no loop and begins with {program}: vmap replaced"
        " the operations of dot by batched ones.",
    )
    answer = {1: 0, 10: 1}.get(len(naive))
    return Conclusion(holds, answer, rows, sentences if holds else ())


def _loop_costs(figures: Figures) -> Conclusion:
    loop, vmap, jit = (figures[name] for name in ("loop", "vmap", "vmap jit"))
    rows = figures.table(
        ("Python loop, eager", "loop", "4.58 ms"),
        ("by hand, eager", "hand", "91.9 µs"),
        ("vmap, eager", "vmap", "831 µs"),
        ("by hand, jit", "hand jit", "6.93 µs"),
        ("vmap, jit", "vmap jit", "7.60 µs"),
    )
    sentence = (
        f"The loop took {seconds(loop)}, vmap {seconds(vmap)} eagerly and"
        f" {seconds(jit)} under jit, {figures.times('loop', 'vmap jit')} less than the"
        " loop."
    )
    holds = min(loop, vmap) >= 3 * jit
    return Conclusion(holds, bisect((2, 5), over(vmap, jit)), rows, [sentence])


def _by_hand(figures: Figures) -> Conclusion:
    n, names = fmt.count(figures.setting.size), ("loop", "hand", "vmap")
    loop, hand, vmap = (figures[name] for name in names)
    # What it reads, not the lesson's own size.
    off = max(figures["vmap off"], figures["loop off"])
    apart = over(off, figures["size"])
    far, alike = loop >= 3 * vmap, vmap <= 3 * hand
    same = apart < _tolerance(figures, 1e-3)
    rows = figures.table(
        ("loop over a jitted function", "loop", "", f"{n} calls and a stack"),
        ("by hand: vectors @ m.T", "hand"),
        ("vmap, in_axes=(None, 0)", "vmap"),
        ("largest difference", (fmt.error(apart),), "", "relative"),
    )
    sentences = (
        f"For {n} vectors the loop took {seconds(loop)}, vmap {seconds(vmap)}"
        f" ({figures.times('loop', 'vmap')} less) and the version batched by hand"
        f" {seconds(hand)}.",
        "" if same else f"The values differ by {fmt.error(apart)}.",
        "" if far else "The loop takes less than 3 times as long as vmap.",
        "" if alike else "vmap takes more than 3 times as long as the one by hand.",
    )
    answer = 0 if alike else 1 if far else 2
    return Conclusion(far and alike and same, answer, rows, sentences)


# Keys.


def _draws(figures: Figures, name: str) -> tuple[str]:
    """The numbers of a value, or whatever stands for them."""
    numbers = figures.numbers(name)
    return (decimals(numbers, 6) if numbers else figures.text(name),)


def _same_key(figures: Figures) -> Conclusion:
    same, key = bool(figures["JAX same"]), decimals(figures.numbers("JAX first"), 4)
    holds = same and figures.text("NumPy same") == "False"
    rows = figures.table(
        ("np.random.uniform, 1st call", "NumPy first"),
        ("np.random.uniform, 2nd call", "NumPy second"),
        ("jax.random.uniform(key), 1st", _draws(figures, "JAX first")),
        ("jax.random.uniform(key), 2nd", _draws(figures, "JAX second")),
        ("without a key", "no key"),
    )
    sentence = (
        f"The same key gave {key} both times; NumPy's second call differed from its"
        " first, because its hidden state had moved on."
    )
    return Conclusion(holds, 1 if same else 0, rows, [sentence] if holds else ())


def _splits(figures: Figures) -> Conclusion:
    draws = {figures.numbers(name) for name in ("left", "right", "parent")}
    spread, apart, reused = (figures[name] for name in ("spread", "range", "reused"))
    # A standard deviation out of 1000 is right to about 2 %; 10 % is no accident.
    expected = 9 < spread < 11 and reused < 1e-3
    holds = len(draws) == 3 and bool(figures["again"]) and expected
    one_key = "0" if reused < 5e-4 else f"{reused:.3g}"
    rows = figures.table(
        ("uniform(left)", _draws(figures, "left")),
        ("uniform(right)", _draws(figures, "right")),
        ("uniform(key), the parent", _draws(figures, "parent")),
        ("1000 keys: standard deviation", (f"{spread:.3g}",), "", "expected: √100"),
        ("1000 keys: largest − smallest", (f"{apart:.3g}",), "", "of a thousand walks"),
        ("one key: largest − smallest", (one_key,), "", "1000 times the same walk"),
    )
    sentences = [
        f"Not as expected: a standard deviation of {spread:.3g}, and walks with one key"
        f" for all that end {one_key} apart."
    ]
    if holds:
        sentences = [
            "The two halves and their parent drew different numbers, and splitting"
            " again gave the same halves.",
            f"With a thousand split keys the walks ended {apart:.3g} apart, with a"
            f" standard deviation of {spread:.3g}; with one key for all, {one_key}"
            " apart. Use a key once, then split.",
        ]
    answer = 2 if reused < 1e-3 else 1 if reused < 0.1 * apart else 0
    return Conclusion(holds, answer, rows, sentences)


LESSON = lesson(
    "batching",
    Trial(_ways),
    Trial(_loop_costs, Code(5.0)),
    Trial(_by_hand, Code(6.0, size)),
    Trial(_same_key),
    Trial(_splits),
    sizes={"cpu": 1000, "gpu": 10_000, "tpu": 10_000},
    limits=(50, 1_000_000),
)
