"""Arrays do not change: what an update is where nothing can be assigned."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Lesson, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Part, Shown, Snippet, Timed, Work

NOTEBOOK = (
    "G. Sapunov, Deep Learning with JAX, notebook of chapter 3 (JAX 0.4.14, 2023): "
    "https://github.com/che-shr-cat/JAX-in-Action"
)

FAR = 5.0
"""How many times faster an update in place must be to count as one."""

METHODS = {
    "set": ("n[2] = 5", "x.at[2].set(5)"),
    "add": ("n[2] += 5", "x.at[2].add(5)"),
    "multiply": ("n[2] *= 5", "x.at[2].multiply(5)"),
    "divide": ("n[2] /= 5", "x.at[2].divide(5)"),
    "power": ("n[2] **= 5", "x.at[2].power(5)"),
    "min": ("n[2] = min(n[2], 5)", "x.at[2].min(5)"),
    "max": ("n[2] = max(n[2], 5)", "x.at[2].max(5)"),
    "apply": ("np.negative.at(n, 2)", "x.at[2].apply(jnp.negative)"),
    "get": ("n = n[2]", "x.at[2].get()"),
}
"""The nine methods of ``.at[]``: what one writes in NumPy, and in JAX."""


# Step 1


def _assignment(setting: Setting) -> tuple[Work, ...]:
    snippet = Snippet(
        title="Assigning to one element, in NumPy and in JAX",
        setup="n = np.array(range(10))\nx = jnp.array(range(10))\n",
        parts=(
            Shown(name="NumPy", code="n[5] = 100\nprint(n)"),
            Shown(name="JAX", code="x[5] = 100", raises=True),
            Shown(name="new array", code="x.at[5].set(100)"),
            Shown(name="old array", code="x"),
        ),
        budget_seconds=2.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _raises(setting: Setting, outcome: Outcome) -> Conclusion:
    rows = (
        Row(what="n[5] = 100, NumPy", yours=values.shown(outcome, "NumPy")),
        Row(
            what="x[5] = 100, JAX",
            yours=values.shown(outcome, "JAX"),
            published="TypeError",
        ),
        Row(what="x.at[5].set(100)", yours=values.shown(outcome, "new array")),
        Row(what="x afterwards", yours=values.shown(outcome, "old array")),
    )
    if values.absent(outcome, "JAX", "new array", "old array"):
        return words.inconclusive(setting, outcome, rows, "the values", many=True)
    new = values.numbers(outcome, "new array")
    old = values.numbers(outcome, "old array")
    refused = values.raised(outcome, "JAX", "TypeError")
    kept = old == tuple(range(10)) and new == (*old[:5], 100.0, *old[6:])
    if refused and kept:
        takeaway = (
            f'It raised "{values.shown(outcome, "JAX", 155)}" The text names the way '
            f"out: x.at[5].set(100) made a second array: element 5 is {new[5]:g} in "
            f"the new one and still {old[5]:g} in the old one."
        )
    else:
        takeaway = (
            f"This JAX does otherwise: the assignment gave "
            f"{values.shown(outcome, 'JAX')}, and x is now "
            f"{values.shown(outcome, 'old array')}."
        )
    return Conclusion(
        rows=rows,
        holds=refused and kept,
        takeaway=takeaway,
        answer=1 if refused else 0,
    )


# Step 2


def _nine(setting: Setting) -> tuple[Work, ...]:
    parts: list[Part] = []
    for name, (numpy, jax) in METHODS.items():
        parts += [
            Shown(name=f"NumPy {name}", code=f"n = start.copy()\n{numpy}\nprint(n)"),
            Shown(name=f"JAX {name}", code=jax),
            Shown(name=f"same {name}", code=f"np.allclose(n, {jax}, rtol=1e-4)"),
        ]
    parts += [
        Shown(name="NumPy twice", code="n = start.copy()\nn[[0, 0]] += 1\nprint(n)"),
        Shown(name="JAX twice", code="x.at[jnp.array([0, 0])].add(1)"),
    ]
    snippet = Snippet(
        title="The nine updates of .at[] and what they are in NumPy",
        setup="start = np.arange(1, 5, dtype=np.float32)\nx = jnp.asarray(start)\n",
        parts=tuple(parts),
        budget_seconds=4.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _equal(setting: Setting, outcome: Outcome) -> Conclusion:
    rows = [
        Row(
            what=jax,
            yours=values.shown(outcome, f"JAX {name}"),
            remark=f"NumPy: {numpy}"
            + ("" if values.true(outcome, f"same {name}") else ", not the same"),
        )
        for name, (numpy, jax) in METHODS.items()
    ]
    rows.append(
        Row(
            what="index [0, 0], .add(1)",
            yours=values.shown(outcome, "JAX twice"),
            remark=(
                f"NumPy: n[[0, 0]] += 1 gives {values.shown(outcome, 'NumPy twice')}"
            ),
        )
    )
    if values.absent(outcome, *(f"same {name}" for name in METHODS)):
        return words.inconclusive(setting, outcome, rows, "the values", many=True)
    same = [name for name in METHODS if values.true(outcome, f"same {name}")]
    other = [name for name in METHODS if name not in same]
    takeaway = [f"{len(same)} of {len(METHODS)} agree with NumPy."]
    if other:
        takeaway.append(f"Not so here: {words.listing(other)}.")
    twice = values.numbers(outcome, "JAX twice")
    if len(twice) == 4:
        takeaway.append(
            "The last row is where the two part: the index 0 stands there twice, and "
            f"JAX adds both times, so that 1 becomes {twice[0]:g}. NumPy's += reads "
            "and writes once; np.add.at would add twice as well."
        )
    answer = 0 if not other else 1 if {*other} <= {"power", "divide"} else None
    return Conclusion(
        rows=tuple(rows), holds=not other, takeaway=" ".join(takeaway), answer=answer
    )


# Step 3


def _update(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    setup = f"""\
x = jnp.arange({n}, dtype=jnp.float32)
a = np.arange({n}, dtype=np.float32)
copying = jax.jit(lambda x: x.at[5].add(1))
in_place = jax.jit(lambda x: x.at[5].add(1), donate_argnums=0)


def numpy_update():
    a[5] += 1


def donated():
    global mine
    mine = in_place(mine)  # the old array is given away, the new one takes its place
    return mine


mine = jnp.copy(x)
"""
    snippet = Snippet(
        title=f"One element out of {fmt.count(n)} updated",
        setup=setup,
        parts=(
            Shown(
                name="spent",
                code="old = jnp.copy(x)\nin_place(old)\nold + 1",
                raises=True,
            ),
            Timed(name="NumPy", code="numpy_update()"),
            Timed(name="eager", code="x.at[5].add(1).block_until_ready()"),
            Timed(name="jit", code="copying(x).block_until_ready()"),
            Timed(name="donated", code="donated().block_until_ready()"),
        ),
        budget_seconds=5.0,
        memory_bytes=6 * 4 * n,
        device=values.chosen(setting),
    )
    return (snippet,)


def _in_place(setting: Setting, outcome: Outcome) -> Conclusion:
    copied = 2 * 4 * setting.size
    seconds = {
        name: outcome.seconds(name) for name in ("NumPy", "eager", "jit", "donated")
    }
    rows = (
        Row(
            what="a[5] += 1, NumPy",
            yours=words.duration(seconds["NumPy"]),
            remark="writes one element",
        ),
        Row(
            what="x.at[5].add(1), eager",
            yours=words.duration(seconds["eager"]),
            remark="copies the array",
        ),
        Row(
            what="the same under jit",
            yours=words.duration(seconds["jit"]),
            remark=f"copies it: {words.bandwidth(copied, seconds['jit'])}",
        ),
        Row(
            what="jit, donate_argnums=0",
            yours=words.duration(seconds["donated"]),
            remark="writes one element",
        ),
        Row(
            what="a donated array used again",
            yours=values.shown(outcome, "spent"),
        ),
    )
    jit, donated = seconds["jit"], seconds["donated"]
    if jit is None or donated is None:
        return words.inconclusive(setting, outcome, rows, "the updates", many=True)
    holds = jit >= FAR * donated
    takeaway = [
        f"An update of one element of {fmt.count(setting.size)} took "
        f"{words.duration(jit)} under jit and {words.duration(donated)} with the "
        f"argument donated: {words.times(jit, donated)} less."
    ]
    if holds:
        takeaway.append(
            "Without donation the caller may still need the old array, so XLA copies "
            f"all {fmt.bytes_text(4.0 * setting.size)} of it first. Who donates must "
            "rebind the name, as in x = f(x): the old array is gone."
        )
    else:
        takeaway.append(
            f"That is less than {FAR:.0f} times: the array is so small that the call "
            "itself is what is timed, or this backend cannot reuse the memory."
        )
    answer = 0 if jit < 1.5 * donated else 1 if jit < FAR * donated else 2
    return Conclusion(
        rows=rows, holds=holds, takeaway=" ".join(takeaway), answer=answer
    )


# Step 4

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


# Step 5


def _lists(setting: Setting) -> tuple[Work, ...]:
    snippet = Snippet(
        title="A list where an array is expected",
        setup="numbers = [1, 42, 31337]\nx = jnp.arange(10)\n",
        parts=(
            Shown(name="NumPy", code="np.sum(numbers)"),
            Shown(name="JAX", code="jnp.sum(numbers)", raises=True),
            Shown(name="array", code="jnp.sum(jnp.array(numbers))"),
            Shown(name="index", code="x[[1, 4]]", raises=True),
            Shown(name="array index", code="x[jnp.array([1, 4])]"),
        ),
        budget_seconds=2.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _refused(setting: Setting, outcome: Outcome) -> Conclusion:
    rows = (
        Row(what="np.sum(numbers)", yours=values.shown(outcome, "NumPy")),
        Row(
            what="jnp.sum(numbers)",
            yours=values.shown(outcome, "JAX"),
            published="TypeError",
        ),
        Row(
            what="jnp.sum(jnp.array(numbers))",
            yours=values.shown(outcome, "array"),
            published="31380",
        ),
        Row(what="x[[1, 4]]", yours=values.shown(outcome, "index")),
        Row(what="x[jnp.array([1, 4])]", yours=values.shown(outcome, "array index")),
    )
    if values.absent(outcome, "NumPy", "JAX", "array", "index"):
        return words.inconclusive(setting, outcome, rows, "the values", many=True)
    both = all(values.raised(outcome, name, "TypeError") for name in ("JAX", "index"))
    right = outcome.number("array") == 31380 == outcome.number("NumPy")
    takeaway = (
        "Both were refused with a TypeError. Under jit every number of a list would "
        "become an argument of its own, and a long list a slow program without "
        "anybody noticing; jnp.array(numbers) makes the copy visible, and gives "
        f"{values.shown(outcome, 'array')} like NumPy."
        if both and right
        else "This JAX is more lenient, or the sums differ; the rows show its answers."
    )
    return Conclusion(
        rows=rows, holds=both and right, takeaway=takeaway, answer=2 if both else 0
    )


LESSON = Lesson(
    name="updates",
    title="Arrays do not change",
    summary="Updates that make new arrays, and when they cost nothing.",
    size_means="number of elements of the array that is updated",
    sizes={"cpu": 10_000_000, "gpu": 100_000_000, "tpu": 100_000_000},
    minimum=100_000,
    maximum=1_000_000_000,
    steps=(
        Step(
            title="Assignment raises",
            prose="""\
A `jax.Array` is immutable: once it is made, its elements stay as they are.
JAX compiles functions without side effects, and an assignment into an array
is one: whoever else holds the array would see it change.

What one writes instead is an expression for a new array:

    y = x.at[5].set(100)

`x.at[5]` names a place, `.set(100)` says what shall be there, and the result
is another array. Ten numbers are updated here in NumPy's way and in JAX's.""",
            question=Question(
                text="What does x[5] = 100 do to a jax.Array?",
                choices=(
                    "It changes the element",
                    "It raises a TypeError",
                    "It changes a copy in silence",
                ),
            ),
            claim=(
                "Assigning to an element raises a TypeError, and .at[].set() leaves "
                "the old array as it was."
            ),
            works=_assignment,
            conclude=_raises,
            source=NOTEBOOK,
        ),
        Step(
            title="Nine ways to update",
            prose="""\
`x.at[index]` has nine methods. Eight return an updated copy; `get` returns
the elements themselves, with a say in what happens out of bounds.

    set  add  multiply  divide  power  min  max  apply  get

Each is run here on [1. 2. 3. 4.], with the NumPy form beside it, which works
in place on a copy. The index is 2 and the operand 5.

The last row has the index 0 twice. The index is an array there: a list as an
index is refused, which is the last step of this lesson.""",
            question=Question(
                text="In how many of the nine does JAX give what NumPy gives?",
                choices=("All nine", "All but power and divide", "About half"),
            ),
            claim="Each of the nine updates gives what its NumPy form gives.",
            works=_nine,
            conclude=_equal,
            source=(
                "JAX documentation, jax.numpy.ndarray.at: https://docs.jax.dev/en/"
                "latest/_autosummary/jax.numpy.ndarray.at.html"
            ),
        ),
        Step(
            title="What an update costs",
            prose="""\
A new array for one changed element sounds expensive, and it is: all the
other elements have to be copied. Inside a jitted function XLA reuses the
memory of intermediate results by itself. The argument of the function is
another matter, because the caller may still use it.

    f = jax.jit(lambda x: x.at[5].add(1), donate_argnums=0)
    x = f(x)

`donate_argnums=0` gives the first argument away. XLA may then write into its
memory, and the array that was passed in is deleted. The same element is
updated here in NumPy, eagerly, under jit, and under jit with donation.""",
            question=Question(
                text="How much faster does donation make the jitted update?",
                choices=("Not at all", "Up to 5 times", "More than 5 times"),
            ),
            claim=(
                "With its argument donated the jitted update is at least 5 times "
                "faster than without."
            ),
            works=_update,
            conclude=_in_place,
        ),
        Step(
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
        ),
        Step(
            title="Lists are not arrays",
            prose="""\
NumPy turns whatever it is given into an array: a list, a tuple, a list of
lists. JAX does not. Its functions take arrays and single numbers; a list is
refused, as an argument and as an index.

    jnp.sum([1, 42, 31337])

The conversion would be written quickly, but it costs a copy to the device
for every call, and under jit each number of the list would be traced as an
argument of its own. JAX leaves it to you to say when that shall happen.""",
            question=Question(
                text="What does JAX say to a list?",
                choices=(
                    "It converts it, like NumPy",
                    "It converts it and warns",
                    "It raises a TypeError",
                ),
            ),
            claim="JAX refuses a list, as argument and as index, with a TypeError.",
            works=_lists,
            conclude=_refused,
            source=NOTEBOOK,
        ),
    ),
)
