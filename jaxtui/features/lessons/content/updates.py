"""Arrays do not change: what an update is where nothing can be assigned."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.features.lessons.base import Conclusion, Row
from jaxtui.features.lessons.figures import Figures, over, which
from jaxtui.features.lessons.trial import Code, Trial, lesson, size
from jaxtui.format import bytes_text, figure, seconds

FAR = 5.0
"""The factor by which an update in place must be faster."""

TEN = tuple(map(float, range(10)))


def _assignment(figures: Figures) -> Conclusion:
    row, new = figures.row, figures.numbers("new array")
    old, error = figures.numbers("old array"), figures.shown("JAX", 155)
    refused = figures.failed_with("JAX", "TypeError")
    holds = refused and new == (*TEN[:5], 100.0, *TEN[6:]) and old == TEN
    held = (
        f'It raised "{error}"',
        "The text names the way out: x.at[5].set(100) made a second array: element 5 "
        f"is {new[5]:g} in the new one and still {old[5]:g} in the old one."
        if holds
        else "",
    )
    failed = (
        f"This JAX behaves differently: the assignment gave {figures.shown('JAX')}, "
        f"and x is now {figures.shown('old array')}.",
    )
    return Conclusion(
        holds=holds,
        answer=1 if refused else 0,
        rows=(
            row("n[5] = 100, NumPy", "NumPy"),
            row("x[5] = 100, JAX", "JAX", "TypeError"),
            row("x.at[5].set(100)", "new array"),
            row("x afterwards", "old array"),
        ),
        sentences=held if holds else failed,
    )


METHODS = {
    "set": "n[2] = 5",
    "add": "n[2] += 5",
    "multiply": "n[2] *= 5",
    "divide": "n[2] /= 5",
    "power": "n[2] **= 5",
    "min": "n[2] = min(n[2], 5)",
    "max": "n[2] = max(n[2], 5)",
    "apply": "np.negative.at(n, 2)",
    "get": "n = n[2]",
}
"""The nine methods of ``.at[]``, and what they are in NumPy."""

OPERANDS = {"apply": "jnp.negative", "get": ""}
"""Operands other than 5."""


def _methods(figures: Figures) -> Conclusion:
    differing = [name for name in METHODS if not figures.is_true(f"same {name}")]
    twice = figures.numbers("JAX twice")

    def row(name: str, numpy: str) -> Row:
        what = f"x.at[2].{name}({OPERANDS.get(name, '5')})"
        remark = f"NumPy: {numpy}{', not the same' if name in differing else ''}"
        return figures.row(what, f"JAX {name}", remark=remark)

    in_numpy = f"NumPy: n[[0, 0]] += 1 gives {figures.shown('NumPy twice')}"
    added = (
        "In the last row the index is 0 twice. JAX adds both times, so 1 becomes "
        f"{figures['JAX twice']:g}; NumPy's += adds once. np.add.at adds twice, too."
    )
    return Conclusion(
        holds=not differing,
        answer=0
        if not differing
        else 1
        if {*differing} <= {"power", "divide"}
        else None,
        rows=(
            *(row(name, numpy) for name, numpy in METHODS.items()),
            figures.row("index [0, 0], .add(1)", "JAX twice", remark=in_numpy),
        ),
        sentences=(
            f"{len(METHODS) - len(differing)} of {len(METHODS)} agree with NumPy.",
            f"These differ: {fmt.listed(differing)}." if differing else "",
            added if len(twice) == 4 else "",
        ),
    )


def _costs(figures: Figures) -> Conclusion:
    row, n = figures.row, figures.setting.size
    jit, donated = figures["jit"], figures["donated"]
    copied = "copies it: ", figure(over(8.0 * n, jit), "B/s")
    holds = jit >= FAR * donated
    why = (
        f"Without donation XLA copies all {bytes_text(4.0 * n)} first, because the "
        "caller may still need the old array. With donation the old array is gone, so "
        "rebind its name: x = f(x)."
    )
    return Conclusion(
        holds=holds,
        answer=which(over(jit, donated), 1.5, FAR),
        rows=(
            row("a[5] += 1, NumPy", "NumPy", remark="writes one element"),
            row("x.at[5].add(1), eager", "eager", remark="copies the array"),
            row("the same under jit", "jit", remark=copied),
            row("jit, donate_argnums=0", "donated", remark="writes one element"),
            row("a donated array used again", "spent"),
        ),
        sentences=(
            f"Updating one of {fmt.count(n)} elements took {seconds(jit)} under jit "
            f"and {seconds(donated)} with donation: {figures.times('jit', 'donated')} "
            "less.",
            why if holds else "",
        ),
    )


# Out of bounds.

MODES = {
    "default": ("9", "unchanged"),
    "clip": ("9", "the last becomes 100"),
    "drop": ("-2147483648", ""),
    "fill": ("-1", ""),
    "promise_in_bounds": ("", ""),
}
"""The published results of each mode for reading and for writing."""

BOTH = [
    f"{what} {mode}" for mode in ("clip", "drop", "fill") for what in ("get", "set")
]


def _bounds(figures: Figures) -> Conclusion:
    quiet = all(map(figures.succeeded, BOTH))
    right = (
        figures["get clip"] == 9
        and figures["get fill"] == -1
        and figures.numbers("set clip") == (*TEN[:9], 100.0)
        and figures.numbers("set drop") == figures.numbers("set fill") == TEN
    )
    rows = [Row("n[42], NumPy", figures.shown("NumPy", 32))]
    for mode, (read, written) in MODES.items():
        inside = mode == "promise_in_bounds"
        outside = "index 5: outside, nothing is promised" if inside else ""
        rows += [
            figures.row(f"get, {mode}", f"get {mode}", read, outside),
            Row(
                f"set, {mode}",
                _changes(figures, f"set {mode}"),
                written,
                "index 5" if inside else "",
            ),
        ]
    reads = [figures.shown(f"get {mode}") for mode in ("clip", "fill", "drop")]
    default = figures["get default"]
    return Conclusion(
        holds=figures.failed_with("NumPy", "IndexError") and quiet and right,
        answer={9.0: 1, 0.0: 2}.get(default) if figures.succeeded("get default") else 0,
        rows=tuple(rows),
        sentences=(
            "NumPy raised an IndexError."
            if quiet
            else "On this JAX some of the calls raised: see the table.",
            "JAX raised nothing: a compiled program on a device cannot."
            if quiet
            else "",
            f"Reading, clip gave the last element, {reads[0]}; fill its fill_value, "
            f"{reads[1]}; drop {reads[2]}, which means none. Writing, clip changed the "
            "last element; drop and fill changed nothing."
            if right
            else "The values differ from those of the documentation: see the table.",
        ),
    )


def _changes(figures: Figures, name: str) -> str:
    """Describe the changes that an update of ``range(10)`` made, in words."""
    numbers = figures.numbers(name)
    if len(numbers) != 10:
        return figures.shown(name)
    changed = [
        f"{'the last' if i == 9 else f'element {i}'} becomes {numbers[i]:g}"
        for i in range(10)
        if numbers[i] != i
    ]
    return ", ".join(changed) or "unchanged"


def _lists(figures: Figures) -> Conclusion:
    row = figures.row
    refused = all(figures.failed_with(name, "TypeError") for name in ("JAX", "index"))
    sums = [figures.numbers(name) for name in ("NumPy", "array")]
    return Conclusion(
        holds=refused and sums == [(31380.0,)] * 2,
        answer=2 if refused else 0,
        rows=(
            row("np.sum(numbers)", "NumPy"),
            row("jnp.sum(numbers)", "JAX", "TypeError"),
            row("jnp.sum(jnp.array(numbers))", "array", "31380"),
            row("x[[1, 4]]", "index"),
            row("x[jnp.array([1, 4])]", "array index"),
        ),
    )


LESSON = lesson(
    "updates",
    {
        "Assignment raises": Trial(
            _assignment, Code(2.0), needs=("JAX", "new array", "old array")
        ),
        "Nine ways to update": Trial(
            _methods, Code(4.0), needs=tuple(f"same {name}" for name in METHODS)
        ),
        "What an update costs": Trial(
            _costs,
            Code(5.0, size),
            needs=("jit", "donated"),
        ),
        "Out of bounds": Trial(_bounds, needs=("NumPy", "get default", "set default")),
        "Lists are not arrays": Trial(
            _lists, Code(2.0), needs=("JAX", "index", "NumPy", "array")
        ),
    },
    sizes={"cpu": 10_000_000, "gpu": 100_000_000, "tpu": 100_000_000},
    minimum=100_000,
    maximum=1_000_000_000,
)
