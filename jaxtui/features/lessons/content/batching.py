"""A program with many inputs: vmap, and random numbers with explicit keys."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.features.lessons.base import Conclusion, Row
from jaxtui.features.lessons.figures import Figures, decimals, near, over, which
from jaxtui.features.lessons.trial import Code, Trial, lesson, size
from jaxtui.format import seconds

PAIRS = 10

FAR = 3.0
"""The least ratio of the loop's time."""

ALIKE = 3.0
"""The largest ratio of the hand-batched form to ``vmap`` that counts as alike."""


def _tolerance(figures: Figures, on_cpu: float) -> float:
    """Accelerators may round the inputs of a product first."""
    return 2e-2 if figures.setting.accelerated else on_cpu


def _ways(figures: Figures) -> Conclusion:
    loop, hand, vmap = map(figures.numbers, ("loop", "hand", "vmap"))
    naive, tolerance = figures.numbers("naive"), _tolerance(figures, 1e-4)
    same = [near(way, loop, tolerance) for way in (hand, vmap)]
    holds, program = len(vmap) == PAIRS and all(same), figures.shown("program")

    def row(what: str, numbers: tuple[float, ...]) -> Row:
        if not numbers:
            return Row(what, fmt.ABSENT)
        first = f"{decimals(numbers[:3], 3)}, …"
        return Row(what, first, remark=f"{len(numbers)} numbers")

    operations = f"its first of {figures.shown('operations')}"
    held = (
        f"Called with the two batches, dot gave one number, {figures['naive']:.3f}.",
        f"vmap(dot) gave {len(vmap)}, the same as the loop and the einsum. Its program "
        f"has no loop and begins with {program}: vmap replaced the operations of dot "
        "by batched ones.",
    )
    return Conclusion(
        holds=holds,
        answer={1: 0, PAIRS: 1}.get(len(naive)),
        rows=(
            Row(
                "dot(a, b), not batched",
                decimals(naive, 3),
                remark="one number: the sum over all pairs",
            ),
            row("Python loop", loop),
            row("by hand, einsum", hand),
            row("jax.vmap(dot)", vmap),
            figures.row("program of jax.vmap(dot)", "program", remark=operations),
        ),
        sentences=held if holds else (),
    )


def _loop_costs(figures: Figures) -> Conclusion:
    row, names = figures.row, ("loop", "vmap", "vmap jit")
    loop, vmap, jit = (figures[name] for name in names)
    holds = loop >= FAR * jit and vmap >= FAR * jit
    return Conclusion(
        holds=holds,
        answer=which(over(vmap, jit), 2, 5),
        rows=(
            row("Python loop, eager", "loop", "4.58 ms"),
            row("by hand, eager", "hand", "91.9 µs"),
            row("vmap, eager", "vmap", "831 µs"),
            row("by hand, jit", "hand jit", "6.93 µs"),
            row("vmap, jit", "vmap jit", "7.60 µs"),
        ),
        sentences=(
            f"The loop took {seconds(loop)}, vmap {seconds(vmap)} eagerly and "
            f"{seconds(jit)} under jit, {figures.times('loop', 'vmap jit')} less than "
            "the loop.",
        ),
    )


def _by_hand(figures: Figures) -> Conclusion:
    row, n = figures.row, fmt.count(figures.setting.size)
    loop, hand, vmap = (figures[name] for name in ("loop", "hand", "vmap"))
    # What it reads, not the lesson's own size.
    largest = figures["size"]
    apart = max(over(figures[name], largest) for name in ("vmap off", "loop off"))
    far, alike = loop >= FAR * vmap, vmap <= ALIKE * hand
    same = apart < _tolerance(figures, 1e-3)
    return Conclusion(
        holds=far and alike and same,
        answer=0 if alike else 1 if far else 2,
        rows=(
            row("loop over a jitted function", "loop", "", f"{n} calls and a stack"),
            row("by hand: vectors @ m.T", "hand"),
            row("vmap, in_axes=(None, 0)", "vmap"),
            Row("largest difference", fmt.error(apart), remark="relative"),
        ),
        sentences=(
            f"For {n} vectors the loop took {seconds(loop)}, vmap {seconds(vmap)} "
            f"({figures.times('loop', 'vmap')} less) and the version batched by hand "
            f"{seconds(hand)}.",
            "" if same else f"The values differ by {fmt.error(apart)}.",
            "" if far else "The loop takes less than 3 times as long as vmap.",
            "" if alike else "vmap takes more than 3 times as long as the one by hand.",
        ),
    )


# Keys.


def _draws(figures: Figures, name: str) -> str:
    """The numbers of a value, or whatever stands for them."""
    numbers = figures.numbers(name)
    return decimals(numbers, 6) if numbers else figures.shown(name)


def _same_key(figures: Figures) -> Conclusion:
    row, same = figures.row, figures.is_true("JAX same")
    holds = same and figures.text("NumPy same") == "False"
    key = decimals(figures.numbers("JAX first"), 4)
    held = (
        f"The same key gave {key} both times; NumPy's second call differed from its "
        "first, because its hidden state had moved on.",
    )
    return Conclusion(
        holds=holds,
        answer=1 if same else 0,
        rows=(
            row("np.random.uniform, 1st call", "NumPy first"),
            row("np.random.uniform, 2nd call", "NumPy second"),
            Row("jax.random.uniform(key), 1st", _draws(figures, "JAX first")),
            Row("jax.random.uniform(key), 2nd", _draws(figures, "JAX second")),
            row("without a key", "no key"),
        ),
        sentences=held if holds else (),
    )


DRAWS = ("left", "right", "parent")

WALKS = ("spread", "range", "reused")


def _splits(figures: Figures) -> Conclusion:
    different = len({figures.numbers(name) for name in DRAWS}) == len(DRAWS)
    spread, apart, reused = (figures[name] for name in WALKS)
    # A standard deviation out of 1000 is right to about 2 %; 10 % is no accident.
    expected = 9 < spread < 11 and reused < 1e-3

    def walks(name: str) -> str:
        if figures.missing(name):
            return fmt.ABSENT
        return "0" if abs(figures[name]) < 5e-4 else f"{figures[name]:.3g}"

    holds = different and figures.is_true("again") and expected
    held = (
        "The two halves and their parent drew different numbers, and splitting again "
        "gave the same halves.",
        f"With a thousand split keys the walks ended {walks('range')} apart, with a "
        f"standard deviation of {walks('spread')}; with one key for all, "
        f"{walks('reused')} apart. Use a key once, then split.",
    )
    failed = (
        f"Not as expected: a standard deviation of {walks('spread')}, and walks with "
        f"one key for all that end {walks('reused')} apart.",
    )
    return Conclusion(
        holds=holds,
        answer=2 if reused < 1e-3 else 1 if reused < 0.1 * apart else 0,
        rows=(
            Row("uniform(left)", _draws(figures, "left")),
            Row("uniform(right)", _draws(figures, "right")),
            Row("uniform(key), the parent", _draws(figures, "parent")),
            Row(
                "1000 keys: standard deviation",
                walks("spread"),
                remark="10 is expected: √100",
            ),
            Row(
                "1000 keys: largest − smallest",
                walks("range"),
                remark="of a thousand walks",
            ),
            Row(
                "one key: largest − smallest",
                walks("reused"),
                remark="a thousand times the same walk",
            ),
        ),
        sentences=held if holds else failed,
    )


LESSON = lesson(
    "batching",
    {
        "A function of one becomes a function of many": Trial(
            _ways, needs=("naive", "loop", "hand", "vmap")
        ),
        "What the loop costs": Trial(
            _loop_costs, Code(5.0), needs=("loop", "vmap", "vmap jit")
        ),
        "By hand or by vmap": Trial(
            _by_hand,
            Code(6.0, size),
            needs=("loop", "vmap", "hand", "vmap off", "loop off", "size"),
        ),
        "Same key, same numbers": Trial(_same_key, needs=("JAX same", "NumPy same")),
        "Splitting keys": Trial(_splits, needs=(*WALKS, *DRAWS)),
    },
    sizes={"cpu": 1000, "gpu": 10_000, "tpu": 10_000},
    minimum=50,
    maximum=1_000_000,
)
