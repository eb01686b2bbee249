"""Arrays do not change: what an update is where nothing can be assigned."""

from __future__ import annotations

from bisect import bisect

from jaxtui.core import format as fmt
from jaxtui.core.format import bytes_text, figure, seconds
from jaxtui.features.lessons.base import Conclusion
from jaxtui.features.lessons.figures import Figures, over
from jaxtui.features.lessons.trial import Code, Trial, lesson, size

TEN = tuple(map(float, range(10)))


def _assignment(figures: Figures) -> Conclusion:
    old, new = figures.numbers("old array"), figures.numbers("new array")
    refused, error = figures.raised("JAX", "TypeError"), figures.text("JAX", 155)
    holds = refused and new == (*TEN[:5], 100.0, *TEN[6:]) and old == TEN
    rows = figures.table(
        ("n[5] = 100, NumPy", "NumPy"),
        ("x[5] = 100, JAX", "JAX", "TypeError"),
        ("x.at[5].set(100)", "new array"),
        ("x afterwards", "old array"),
    )
    sentences = [
        f"This JAX behaves differently: the assignment gave {error}, and x is now"
        f" {figures.text('old array')}."
    ]
    if holds:
        sentences = [
            f'It raised "{error}"',
            "The text names the way out: x.at[5].set(100) made a second array: element"
            f" 5 is {new[5]:g} in the new one and still {old[5]:g} in the old one.",
        ]
    return Conclusion(holds, 1 if refused else 0, rows, sentences)


METHODS = ["set", "add", "multiply", "divide", "power", "min", "max", "apply", "get"]


def _methods(figures: Figures) -> Conclusion:
    differing = [name for name in METHODS if not figures[f"same {name}"]]
    rows = []
    for name in METHODS:
        same = "not the same as NumPy" if name in differing else "same as NumPy"
        rows.append((f"x.at[2].{name}", f"JAX {name}", "", same))
    in_numpy = f"NumPy: n[[0, 0]] += 1 gives {figures.text('NumPy twice')}"
    sentences = (
        f"{len(METHODS) - len(differing)} of {len(METHODS)} agree with NumPy.",
        f"These differ: {fmt.listed(differing)}." if differing else "",
        "In the last row the index is 0 twice. JAX adds both times, so 1 becomes"
        f" {figures['JAX twice']:g}; NumPy's += adds once. np.add.at adds twice, too.",
    )
    rare = {*differing} <= {"power", "divide"}
    return Conclusion(
        not differing,
        0 if not differing else 1 if rare else None,
        figures.table(*rows, ("index [0, 0], .add(1)", "JAX twice", "", in_numpy)),
        sentences,
    )


def _costs(figures: Figures) -> Conclusion:
    n, jit, donated = figures.setting.size, figures["jit"], figures["donated"]
    copied = "copies it: ", figure(over(8.0 * n, jit), "B/s")
    rows = figures.table(
        ("a[5] += 1, NumPy", "NumPy", "", "writes one element"),
        ("x.at[5].add(1), eager", "eager", "", "copies the array"),
        ("the same under jit", "jit", "", copied),
        ("jit, donate_argnums=0", "donated", "", "writes one element"),
        ("a donated array used again", "spent"),
    )
    holds = jit >= 5 * donated
    why = (
        f"Without donation XLA copies all {bytes_text(4.0 * n)} first, because the"
        " caller may still need the old array. With donation the old array is gone, so"
        " rebind its name: x = f(x)."
    )
    sentences = (
        f"Updating one of {fmt.count(n)} elements took {seconds(jit)} under jit and"
        f" {seconds(donated)} with donation: {figures.times('jit', 'donated')} less.",
        why if holds else "",
    )
    return Conclusion(holds, bisect((1.5, 5), over(jit, donated)), rows, sentences)


# Out of bounds.

MODES = {
    "default": ("9", "unchanged"),
    "clip": ("9", "the last becomes 100"),
    "drop": ("-2147483648", ""),
    "fill": ("-1", ""),
    "promise_in_bounds": ("", ""),
}
"""The published results of each mode for reading and for writing."""


def _bounds(figures: Figures) -> Conclusion:
    both = [
        f"{how} {mode}" for mode in ("clip", "drop", "fill") for how in ("get", "set")
    ]
    quiet, text = figures.succeeded(*both), figures.text
    right = (
        figures.numbers("get clip") == (9,)
        and figures.numbers("get fill") == (-1,)
        and figures.numbers("set clip") == (*TEN[:9], 100.0)
        and figures.numbers("set drop") == figures.numbers("set fill") == TEN
    )
    rows: list[tuple[object, ...]] = [("n[42], NumPy", "NumPy")]
    for mode, (read, written) in MODES.items():
        inside = mode == "promise_in_bounds"
        remarks = ["", ""]
        if inside:
            remarks = ["index 5: outside, nothing is promised", "index 5"]
        changes = _changes(figures, f"set {mode}")
        rows.append((f"get, {mode}", f"get {mode}", read, remarks[0]))
        rows.append((f"set, {mode}", (changes,), written, remarks[1]))
    sentences = (
        "NumPy raised an IndexError. JAX raised nothing: a compiled program on a device"
        " cannot."
        if quiet
        else "On this JAX some of the calls raised: see the table.",
        f"Reading, clip gave the last element, {text('get clip')}; fill its fill_value,"
        f" {text('get fill')}; drop {text('get drop')}, which means none. Writing, clip"
        " changed the last element; drop and fill changed nothing."
        if right
        else "The values differ from those of the documentation: see the table.",
    )
    refused = figures.raised("NumPy", "IndexError")
    answers = {9.0: 1, 0.0: 2}
    worked = figures.succeeded("get default")
    answer = answers.get(figures["get default"]) if worked else 0
    return Conclusion(
        refused and quiet and right, answer, figures.table(*rows), sentences
    )


def _changes(figures: Figures, name: str) -> str:
    """Describe the changes that an update of ``range(10)`` made, in words."""
    numbers = figures.numbers(name)
    if len(numbers) != 10:
        return str(figures.cell(name))
    changed = [
        f"{'the last' if i == 9 else f'element {i}'} becomes {numbers[i]:g}"
        for i in range(10)
        if numbers[i] != i
    ]
    return ", ".join(changed) or "unchanged"


def _lists(figures: Figures) -> Conclusion:
    refused = all(figures.raised(name, "TypeError") for name in ("JAX", "index"))
    sums = [figures.numbers(name) for name in ("NumPy", "array")]
    rows = figures.table(
        ("np.sum(numbers)", "NumPy"),
        ("jnp.sum(numbers)", "JAX", "TypeError"),
        ("jnp.sum(jnp.array(numbers))", "array", "31380"),
        ("x[[1, 4]]", "index"),
        ("x[jnp.array([1, 4])]", "array index"),
    )
    holds = refused and sums == [(31380.0,)] * 2
    return Conclusion(holds, 2 if refused else 0, rows)


LESSON = lesson(
    "updates",
    Trial(_assignment, Code(2.0)),
    Trial(_methods, Code(4.0)),
    Trial(_costs, Code(5.0, size)),
    Trial(_bounds),
    Trial(_lists, Code(2.0)),
    sizes={"cpu": 10_000_000, "gpu": 100_000_000, "tpu": 100_000_000},
    limits=(100_000, 1_000_000_000),
)
