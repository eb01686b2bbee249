"""Step 4: Out of bounds."""

from __future__ import annotations

from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.updates.assignment import NOTEBOOK
from jaxtui.model import Part, Shown, Snippet, Work

_MODES = ("clip", "drop", "fill")

_GET_PUBLISHED = {"default": "9", "clip": "9", "drop": "-2147483648", "fill": "-1"}

_SET_PUBLISHED = {"default": "unchanged", "clip": "the last becomes 100"}


def _outside(setting: Setting) -> tuple[Work, ...]:
    parts: list[Part] = [
        Shown(name="NumPy", code="n[42]", raises=True),
        Shown(name="get default", code="x.at[42].get()"),
        Shown(name="set default", code="x.at[42].set(100)"),
    ]
    for mode in _MODES:
        fill = ", fill_value=-1" if mode == "fill" else ""
        parts += [
            Shown(name=f"get {mode}", code=f"x.at[42].get(mode='{mode}'{fill})"),
            Shown(name=f"set {mode}", code=f"x.at[42].set(100, mode='{mode}')"),
        ]
    promise = "mode='promise_in_bounds'"
    parts += [
        Shown(name="get promise_in_bounds", code=f"x.at[5].get({promise})"),
        Shown(name="set promise_in_bounds", code=f"x.at[5].set(100, {promise})"),
    ]
    snippet = Snippet(
        title="Index 42 of ten elements",
        setup="n = np.array(range(10))\nx = jnp.array(range(10))\n",
        parts=tuple(parts),
        budget_seconds=3.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _modes(setting: Setting, outcome: Outcome) -> Conclusion:
    rows = [Row(what="n[42], NumPy", yours=values.shown(outcome, "NumPy", 32))]
    for mode in ("default", *_MODES, "promise_in_bounds"):
        inside = mode == "promise_in_bounds"
        rows += [
            Row(
                what=f"get, {mode}",
                yours=values.shown(outcome, f"get {mode}"),
                published=_GET_PUBLISHED.get(mode, ""),
                remark="index 5: outside, nothing is promised" if inside else "",
            ),
            Row(
                what=f"set, {mode}",
                yours=_changed(outcome, f"set {mode}"),
                published=_SET_PUBLISHED.get(mode, ""),
                remark="index 5" if inside else "",
            ),
        ]
    names = [f"{what} {mode}" for mode in _MODES for what in ("get", "set")]
    if values.absent(outcome, "NumPy", "get default", "set default", *names):
        return words.inconclusive(setting, outcome, rows, "the values", many=True)
    quiet = all(values.gave(outcome, name) for name in names)
    last = (*map(float, range(9)), 100.0)
    right = (
        outcome.number("get clip") == 9
        and outcome.number("get fill") == -1
        and values.numbers(outcome, "set clip") == last
        and values.numbers(outcome, "set drop") == tuple(range(10))
        and values.numbers(outcome, "set fill") == tuple(range(10))
    )
    holds = quiet and right and values.raised(outcome, "NumPy", "IndexError")
    takeaway = [
        "NumPy raised an IndexError. JAX raised nothing: a compiled program on a "
        "device has nobody to raise to."
        if quiet
        else "On this JAX some of the calls raised; the rows say which."
    ]
    takeaway.append(
        f"clip read the last element, {values.shown(outcome, 'get clip')}; fill read "
        f"what it was given, {values.shown(outcome, 'get fill')}; drop read "
        f"{values.shown(outcome, 'get drop')}, the value that stands for none. On "
        "writing, clip changed the last element, and drop and fill changed nothing."
        if right
        else "The values are not those of the documentation; the rows show them."
    )
    plain = {9.0: 1, 0.0: 2}.get(outcome.number("get default") or 0.0)
    answer = plain if values.gave(outcome, "get default") else 0
    return Conclusion(
        rows=tuple(rows), holds=holds, takeaway=" ".join(takeaway), answer=answer
    )


def _changed(outcome: Outcome, name: str) -> str:
    """What an update of ``range(10)`` has changed, in words."""
    found = values.numbers(outcome, name)
    if len(found) != 10:
        return values.shown(outcome, name)
    changed = [i for i in range(10) if found[i] != i]
    if not changed:
        return "unchanged"
    return ", ".join(
        f"{'the last' if i == 9 else f'element {i}'} becomes {found[i]:g}"
        for i in changed
    )


STEP = Step(
    title="Out of bounds",
    prose="""\
NumPy checks each index when it is used. A compiled program cannot stop in
the middle to raise an error, so JAX settles beforehand what an index out of
bounds shall mean. Every method of `.at[]` takes a `mode`:

`clip` moves the index to the nearest valid one. `drop` ignores an update.
`fill` does too, and lets `get` return `fill_value`. `promise_in_bounds` is
your promise that it cannot happen; if it does, the result is undefined, so
that mode is run here with a valid index only.

The array is `jnp.array(range(10))`, the index 42.""",
    question=Question(
        text="What does x.at[42].get() give, with no mode named?",
        choices=("An IndexError", "The last element", "Zero"),
    ),
    claim=(
        "An index out of bounds raises in NumPy and never in JAX, which clips, "
        "drops or fills as the mode says."
    ),
    works=_outside,
    conclude=_modes,
    source=NOTEBOOK,
)
