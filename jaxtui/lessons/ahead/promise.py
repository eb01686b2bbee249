"""Step 1: A promise has a shape."""

from __future__ import annotations

from jaxtui.lessons import words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Timed, Work

SOURCE = (
    "JAX documentation, Asynchronous dispatch: "
    "https://docs.jax.dev/en/latest/async_dispatch.html"
)

FAR = 5.0
"""How many times as long waiting must take as the hand-over."""

_RETURNED, _SHAPE, _PASSED, _VALUE = "call", "shape and dtype", "passed on", "a value"

_TYPE, _READY, _SEEN_SHAPE = "type", "ready at once", "its shape"


def _promise(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    setup = f"""\
x = jax.random.uniform(jax.random.key(0), ({n}, {n}))
multiply = jax.jit(jnp.dot)
multiply(x, x).block_until_ready()  # compiles

def ask(result):
    return result, result.shape, result.dtype
"""
    parts = (
        Shown(name=_READY, code="multiply(x, x).is_ready()"),
        Shown(name=_TYPE, code="isinstance(multiply(x, x), jax.Array)"),
        Shown(name=_SEEN_SHAPE, code="multiply(x, x).shape"),
        Timed(name=_RETURNED, code="multiply(x, x)"),
        Timed(name=_SHAPE, code="ask(multiply(x, x))"),
        Timed(name=_PASSED, code="multiply(multiply(x, x), x)"),
        Timed(name=_VALUE, code="float(multiply(x, x)[0, 0])"),
    )
    snippet = Snippet(
        title=f"What can be asked of an unfinished product, {n}×{n} float32",
        setup=setup,
        parts=parts,
        budget_seconds=4.0,
        memory_bytes=6 * 4 * n * n,
        device=setting.device,
    )
    return (snippet,)


def _promised(setting: Setting, outcome: Outcome) -> Conclusion:
    names = (_RETURNED, _SHAPE, _PASSED, _VALUE)
    code = (
        "y = multiply(x, x)",
        "the same, y.shape, y.dtype",
        "multiply(y, x), before y is there",
        "float(y[0, 0])",
    )
    seconds = [outcome.seconds(name) for name in names]
    value = seconds[-1]
    remarks = ("", "known before the value", "two calls, no wait", "waits")
    rows = [
        Row(what=what, yours=words.duration(each), remark=remark)
        for what, each, remark in zip(code, seconds, remarks, strict=True)
    ]
    rows += [
        Row(
            what="y.is_ready() right after the call",
            yours=outcome.text(_READY) or words.ABSENT,
        ),
        Row(
            what="isinstance(y, jax.Array)",
            yours=outcome.text(_TYPE) or words.ABSENT,
            remark=f"of shape {outcome.text(_SEEN_SHAPE) or words.ABSENT}",
        ),
    ]
    known = [each for each in seconds[:-1] if each is not None]
    if value is None or len(known) < 3:
        return words.inconclusive(
            setting, outcome, rows, "all of the answers", many=True
        )
    slowest = max(known)
    holds = value >= FAR * slowest
    takeaway = (
        f"Calling took {words.duration(known[0])}, with shape and dtype "
        f"{words.duration(known[1])}, passed on to a second product "
        f"{words.duration(known[2])}. One number out of the result took "
        f"{words.duration(value)}, {words.times(value, slowest)} as long as the "
        "slowest of these"
    )
    takeaway += (
        ": only looking at a value waits."
        if holds
        else ". That is less than the claim says: at this size the hand-over is a good "
        "part of the work."
    )
    return Conclusion(
        rows=tuple(rows),
        holds=holds,
        takeaway=takeaway,
        answer=2 if holds else None,
    )


STEP = Step(
    title="A promise has a shape",
    prose="""\
The `jax.Array` that a call returns is a promise: the value is being
computed. What follows from the program alone is known at once, such as
shape and dtype. The array can also be passed on to the next call, which is
then queued behind the first.

    y = multiply(x, x)         # returns at once
    y.shape, y.dtype           # no wait
    z = multiply(y, x)         # no wait either
    float(y[0, 0])             # waits: this is a value

Printing, `float(...)`, `if y.sum() > 0` and `np.asarray` all look at values.
The program then stands still until the device is done.""",
    question=Question(
        text="Which of these lines has to wait for the product?",
        choices=(
            "y.shape",
            "multiply(y, x)",
            "float(y[0, 0])",
        ),
    ),
    claim=(
        "Looking at a value takes at least 5 times as long as calling, asking "
        "for the shape, or passing the result on."
    ),
    works=_promise,
    conclude=_promised,
    source=SOURCE,
)
