"""A gradient is a function: exact, in two modes, and cheap."""

from __future__ import annotations

from itertools import pairwise

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Lesson, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Part, Shown, Snippet, Timed, Work
from jaxtui.plot import Axis, Picture, Series

QUICKSTART = (
    "JAX documentation, docs/notebooks/quickstart.ipynb: https://github.com/jax-ml/jax"
)

NOTEBOOK = (
    "G. Sapunov, Deep Learning with JAX, notebook of chapter 4: "
    "https://github.com/che-shr-cat/JAX-in-Action"
)

LOGISTIC = (0.25, 0.19661, 0.10499)
"""The gradient of ``sum_logistic`` at [0, 1, 2], as published."""

CHEAP = 8.0
"""How many values a value and its gradient may cost together."""

CHEAPER = 3.0
"""How many times cheaper the fitting mode must be."""

STEPS = 20

_MATRIX = 1000
"""Inputs, or outputs, of the functions of step 3."""

_SUM_LOGISTIC = """\
def sum_logistic(x):
    return jnp.sum(1.0 / (1.0 + jnp.exp(-x)))
"""


# Step 1


def _logistic(setting: Setting) -> tuple[Work, ...]:
    setup = f"""\
{_SUM_LOGISTIC}

def differences(f, x, eps=1e-3):
    return jnp.array([(f(x + eps * v) - f(x - eps * v)) / (2 * eps)
                      for v in jnp.eye(len(x))])


x = jnp.arange(3.0)
"""
    snippet = Snippet(
        title="The gradient of sum_logistic at [0, 1, 2]",
        setup=setup,
        parts=(
            Shown(name="function", code="callable(jax.grad(sum_logistic))"),
            Shown(name="grad", code="jax.grad(sum_logistic)(x)"),
            Shown(name="differences", code="differences(sum_logistic, x)"),
            Shown(name="formula", code="jnp.exp(-x) / (1 + jnp.exp(-x)) ** 2"),
        ),
        budget_seconds=3.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _three_numbers(setting: Setting, outcome: Outcome) -> Conclusion:
    grad = values.numbers(outcome, "grad")
    differences = values.numbers(outcome, "differences")
    formula = values.numbers(outcome, "formula")
    published = values.decimals(LOGISTIC)
    rows = (
        Row(
            what="grad(sum_logistic)(x)",
            yours=values.decimals(grad),
            published=published,
        ),
        Row(
            what="differences, float32",
            yours=values.decimals(differences),
            remark=f"off by up to {_farthest(differences, grad)}",
        ),
        Row(
            what="exp(−x) / (1 + exp(−x))²",
            yours=values.decimals(formula),
            remark=f"off by up to {_farthest(formula, grad)}",
        ),
    )
    if not grad or not differences or not formula:
        return words.inconclusive(setting, outcome, rows, "the gradient")
    holds = values.near(grad, LOGISTIC, 2e-5)
    takeaway = (
        f"grad gave {values.decimals(grad)}, "
        + ("the published numbers" if holds else f"and {published} was published")
        + f". It agrees with the formula to {_farthest(formula, grad)}; the "
        f"differences are off by {_farthest(differences, grad)}, because they divide "
        "the rounding errors of float32 by a small step. grad takes no step: it "
        "differentiates each operation by its rule."
    )
    right = values.true(outcome, "function")
    return Conclusion(
        rows=rows, holds=holds, takeaway=takeaway, answer=1 if right else None
    )


def _farthest(found: tuple[float, ...], expected: tuple[float, ...]) -> str:
    return fmt.error(_distance(found, expected))


def _distance(found: tuple[float, ...], expected: tuple[float, ...]) -> float | None:
    if not found or len(found) != len(expected):
        return None
    return max(abs(a - b) for a, b in zip(found, expected, strict=True))


# Step 2

_AT = (11.0, 0.5)
"""Where the two polynomials are differentiated; the first is the published one."""


def _by_hand(setting: Setting) -> tuple[Work, ...]:
    setup = """\
def f(x):
    return x**4 + 12 * x + 1 / x


def g(x):
    return x**4 + 12 * x - 1 / x


def hand(x):  # published for both
    return 4 * x**3 + 12 - 1 / x**2


def differences(f, x, h=1e-5):
    return (f(x + h) - f(x - h)) / (2 * h)
"""
    parts: list[Part] = []
    for at in _AT:
        parts.append(Shown(name=f"hand {at:g}", code=f"hand({at})"))
        for name in ("f", "g"):
            parts += [
                Shown(name=f"grad {name} {at:g}", code=f"jax.grad({name})({at})"),
                Shown(name=f"diff {name} {at:g}", code=f"differences({name}, {at})"),
            ]
    snippet = Snippet(
        title="Two derivatives by hand, by grad and by differences",
        setup=setup,
        parts=tuple(parts),
        budget_seconds=3.0,
        device=values.chosen(setting, words.processor(setting)),
        x64=True,
    )
    return (snippet,)


def _wrong_sign(setting: Setting, outcome: Outcome) -> Conclusion:
    rows: list[Row] = []
    for at in _AT:
        rows.append(
            Row(
                what=f"by hand, x = {at:g}",
                yours=values.decimals(values.numbers(outcome, f"hand {at:g}")),
                published="5335.99173553719" if at == _AT[0] else "",
            )
        )
        for name, sign in (("f", "+"), ("g", "−")):
            rows += [
                Row(
                    what=f"{way}, {sign} 1/x",
                    yours=values.decimals(
                        values.numbers(outcome, f"{key} {name} {at:g}")
                    ),
                    published=_published(key, name, at),
                )
                for key, way in (("grad", "  grad"), ("diff", "  differences"))
            ]
    names = [
        f"{key} {at:g}"
        for key in ("hand", "grad f", "grad g", "diff f", "diff g")
        for at in _AT
    ]
    if any(outcome.number(name) is None for name in names):
        return words.inconclusive(setting, outcome, rows, "the values", many=True)
    first = all(_agree(outcome, f"grad f {at:g}", f"hand {at:g}") for at in _AT)
    second = not any(_agree(outcome, f"grad g {at:g}", f"hand {at:g}") for at in _AT)
    checked = all(
        _agree(outcome, f"grad {name} {at:g}", f"diff {name} {at:g}")
        for name in ("f", "g")
        for at in _AT
    )
    hand, grad = outcome.number("hand 0.5") or 0.0, outcome.number("grad g 0.5") or 0.0
    differences = outcome.number("diff g 0.5") or 0.0
    takeaway = (
        f"For −1/x at 0.5 the hand derivative says {hand:g}; grad says {grad:g}, and "
        f"the differences {differences:.6g}. The derivative of −1/x is +1/x². At 11 "
        "the same slip is 0.0165 in 5336, which nobody would notice in a plot. "
        "Differences are too rough to train with, and good enough to check a formula."
    )
    if not (first and second and checked):
        takeaway = (
            f"Not as expected: at 0.5 the hand derivative is {hand:g}, grad of the "
            f"second function {grad:g}, its differences {differences:.6g}."
        )
    return Conclusion(
        rows=tuple(rows),
        holds=first and second and checked,
        takeaway=takeaway,
        answer=1 if first and second else None,
    )


def _published(key: str, name: str, at: float) -> str:
    if name != "f" or at != _AT[0]:
        return ""
    return {"grad": "5335.9917", "diff": "5335.992456821259"}[key]


def _agree(outcome: Outcome, one: str, other: str) -> bool:
    return values.near(
        values.numbers(outcome, one), values.numbers(outcome, other), 1e-4
    )


# Step 3


def _both_modes(setting: Setting) -> tuple[Work, ...]:
    setup = f"""\
n = {_MATRIX}
m = jax.random.normal(jax.random.key(0), (n, n)) / n**0.5
v = jnp.full(n, 0.1)


def to_one(x):  # n inputs, one output
    return jnp.sum(jnp.tanh(jnp.matmul(m, x, precision="highest")))


def to_many(t):  # one input, n outputs
    return jnp.tanh(jnp.matmul(m, t * v, precision="highest"))


def distance(a, b):
    return jnp.max(jnp.abs(a - b)) / jnp.max(jnp.abs(b))


forward_one, reverse_one = jax.jit(jax.jacfwd(to_one)), jax.jit(jax.jacrev(to_one))
forward_many, reverse_many = jax.jit(jax.jacfwd(to_many)), jax.jit(jax.jacrev(to_many))
t = jnp.float32(1.0)
"""
    snippet = Snippet(
        title=f"Forward and reverse: {_MATRIX} to 1, and 1 to {_MATRIX}",
        setup=setup,
        parts=(
            Shown(name="one", code="distance(forward_one(v), reverse_one(v))"),
            Shown(name="many", code="distance(forward_many(t), reverse_many(t))"),
            Shown(
                name="jvp",
                code="distance(jax.jvp(to_many, (t,), (1.0,))[1], reverse_many(t))",
            ),
            Shown(
                name="vjp",
                code="distance(jax.vjp(to_one, v)[1](1.0)[0], forward_one(v))",
            ),
            Timed(name="forward one", code="forward_one(v).block_until_ready()"),
            Timed(name="reverse one", code="reverse_one(v).block_until_ready()"),
            Timed(name="forward many", code="forward_many(t).block_until_ready()"),
            Timed(name="reverse many", code="reverse_many(t).block_until_ready()"),
        ),
        budget_seconds=6.0,
        memory_bytes=12 * 4 * _MATRIX**2,
        device=values.chosen(setting),
    )
    return (snippet,)


def _which_mode(setting: Setting, outcome: Outcome) -> Conclusion:
    seconds = {
        name: outcome.seconds(name)
        for name in ("forward one", "reverse one", "forward many", "reverse many")
    }
    rows = [
        Row(
            what=f"{mode} mode, {n} → {m}",
            yours=words.duration(seconds[f"{mode} {key}"]),
            remark=how,
        )
        for key, n, m, mode, how in (
            ("one", _MATRIX, 1, "forward", f"jacfwd: {_MATRIX} pushes"),
            ("one", _MATRIX, 1, "reverse", "jacrev: one pull"),
            ("many", 1, _MATRIX, "forward", "jacfwd: one push"),
            ("many", 1, _MATRIX, "reverse", f"jacrev: {_MATRIX} pulls"),
        )
    ]
    apart = [outcome.number(name) for name in ("one", "many", "jvp", "vjp")]
    found = [number for number in apart if number is not None]
    rows.append(
        Row(
            what="largest difference",
            yours=fmt.error(max(found, default=None)),
            remark="relative; jvp and vjp included",
        )
    )
    one = words.quotient(seconds["forward one"], seconds["reverse one"])
    many = words.quotient(seconds["reverse many"], seconds["forward many"])
    if one is None or many is None or len(found) < len(apart):
        return words.inconclusive(setting, outcome, rows, "the modes", many=True)
    same = max(found) < 1e-3
    holds = same and one >= CHEAPER and many >= CHEAPER
    takeaway = [
        f"{_MATRIX} → 1: forward took {fmt.ratio(one)} the time of reverse. "
        f"1 → {_MATRIX}: reverse took {fmt.ratio(many)} the time of forward."
    ]
    takeaway.append(
        f"The results agree to {fmt.error(max(found))}."
        if same
        else f"But the results differ by {fmt.error(max(found))}."
    )
    takeaway.append(
        "A loss has many inputs and one output: that is why grad is reverse mode."
        if holds
        else "At least one of the gaps is smaller than 3 times on this machine."
    )
    return Conclusion(
        rows=tuple(rows),
        holds=holds,
        takeaway=" ".join(takeaway),
        answer=1 if one > 1.5 else 0 if one < 1 / 1.5 else 2,
    )


# Step 4


def _cost(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    setup = f"""\
{_SUM_LOGISTIC}

x = jax.random.normal(jax.random.key(0), ({n},))
value = jax.jit(sum_logistic)
both = jax.jit(jax.value_and_grad(sum_logistic))
"""
    snippet = Snippet(
        title=f"A value, and a value with its gradient of {fmt.count(n)} numbers",
        setup=setup,
        parts=(
            Timed(name="value", code="value(x).block_until_ready()"),
            Timed(name="both", code="jax.block_until_ready(both(x))"),
            Shown(name="numbers", code="both(x)[1].size"),
        ),
        budget_seconds=4.0,
        memory_bytes=5 * 4 * n,
        device=values.chosen(setting),
    )
    return (snippet,)


def _cheap(setting: Setting, outcome: Outcome) -> Conclusion:
    value, both = outcome.seconds("value"), outcome.seconds("both")
    n = setting.size
    differences = None if value is None else (n + 1) * value
    rows = (
        Row(what="the value, jitted", yours=words.duration(value)),
        Row(
            what="value_and_grad, jitted",
            yours=words.duration(both),
            remark=f"{fmt.count(n)} derivatives",
        ),
        Row(
            what="in values",
            yours=words.ratio(both, value),
        ),
        Row(
            what="by differences",
            yours=_long(differences),
            remark=f"{fmt.count(n + 1)} values: computed from the first row, not run",
        ),
    )
    if value is None or both is None:
        return words.inconclusive(setting, outcome, rows, "the value and its gradient")
    times = both / value
    holds = times <= CHEAP
    takeaway = (
        f"The value took {words.duration(value)}, the value with {fmt.count(n)} "
        f"derivatives {words.duration(both)}: {words.times(both, value)}. One-sided "
        f"differences would need {fmt.count(n + 1)} values, {_long(differences)}. "
    )
    takeaway += (
        "Reverse mode walks through the operations once more, backwards, however many "
        "inputs there are."
        if holds
        else "That is more than the claim allows: the backward pass is limited here by "
        "something else than operations, probably by writing the result."
    )
    answer = 0 if times <= CHEAP else 1 if times < n / 2 else 2
    return Conclusion(rows=rows, holds=holds, takeaway=takeaway, answer=answer)


def _long(seconds: float | None) -> str:
    """A time that may be hours."""
    if seconds is None or seconds < 120:
        return fmt.seconds(seconds)
    return f"{fmt.duration(seconds)} {'h' if seconds >= 3600 else 'min'}"


# Step 5


def _descent(setting: Setting) -> tuple[Work, ...]:
    setup = f"""\
x = jnp.linspace(-1.0, 1.0, 100)
noise = 0.1 * jax.random.normal(jax.random.key(0), x.shape)
y = 3.0 * x + 2.0 + noise


def loss(parameters):
    slope, offset = parameters
    return jnp.mean((slope * x + offset - y) ** 2)


def descend(steps, rate=0.3):
    step = jax.jit(jax.value_and_grad(loss))
    parameters, losses = jnp.zeros(2), []
    for _ in range(steps):
        value, gradient = step(parameters)
        losses.append(float(value))
        parameters = parameters - rate * gradient
    return parameters, [*losses, float(loss(parameters))]


parameters, losses = descend({STEPS})
"""
    snippet = Snippet(
        title=f"{STEPS} steps of gradient descent",
        setup=setup,
        parts=(
            Shown(name="losses", code="losses"),
            Shown(name="parameters", code="parameters"),
        ),
        budget_seconds=3.0,
        device=values.chosen(setting),
    )
    return (snippet,)


def _descended(setting: Setting, outcome: Outcome) -> Conclusion:
    losses = values.numbers(outcome, "losses")
    parameters = values.numbers(outcome, "parameters")
    known = len(losses) == STEPS + 1 and len(parameters) == 2
    first, last = (losses[0], losses[-1]) if known else (None, None)
    rows = (
        Row(what="loss before the first step", yours=_loss(first)),
        Row(what=f"loss after {STEPS} steps", yours=_loss(last)),
        Row(
            what="slope and offset",
            yours=values.decimals(parameters, 2),
            remark="the data were made with 3 and 2",
        ),
    )
    if first is None or last is None:
        return words.inconclusive(setting, outcome, rows, "the losses", many=True)
    falling = sum(b < a for a, b in pairwise(losses))
    holds = falling == STEPS and last < 0.1 * first
    takeaway = (
        f"{falling} of {STEPS} steps lowered the loss, from {first:.3g} to {last:.3g}. "
        f"The line found is {parameters[0]:.2f}·x + {parameters[1]:.2f}. The program "
        "contains the loss and no derivative; grad made it."
    )
    answer = 0 if falling == STEPS else 2 if last >= first else 1
    return Conclusion(rows=rows, holds=holds, takeaway=takeaway, answer=answer)


def _loss(value: float | None) -> str:
    return fmt.ABSENT if value is None else f"{value:.3g}"


def _curve(setting: Setting, outcome: Outcome) -> Picture | None:
    losses = values.numbers(outcome, "losses")
    if len(losses) < 2:
        return None
    return Picture(
        series=(Series(label="loss", x=range(len(losses)), y=losses, points=True),),
        x=Axis(label="step"),
        y=Axis(label="loss", log=True),
        title="Loss by step",
    )


LESSON = Lesson(
    name="gradients",
    title="A gradient is a function",
    summary="Derivatives by grad, by hand and by differences, and what they cost.",
    size_means="number of inputs of the function whose gradient is timed",
    sizes={"cpu": 1_000_000, "gpu": 100_000_000, "tpu": 100_000_000},
    minimum=10_000,
    maximum=1_000_000_000,
    steps=(
        Step(
            title="grad takes a function and returns one",
            prose="""\
`jax.grad(f)` is a function: called with `x` it returns the gradient of `f`
at `x`. It is neither a formula nor an approximation. JAX traces `f`, knows
the derivative of each operation in it, and puts them together.

    def sum_logistic(x):
        return jnp.sum(1.0 / (1.0 + jnp.exp(-x)))

    jax.grad(sum_logistic)(jnp.arange(3.0))

Beside it stand the formula that one would derive by hand, and central
differences with a step of 0.001.""",
            question=Question(
                text="What does jax.grad(f) return, before it is given an x?",
                choices=("An array", "A function", "A formula as text"),
            ),
            claim="grad(sum_logistic) at [0, 1, 2] is [0.25, 0.19661, 0.10499].",
            works=_logistic,
            conclude=_three_numbers,
            source=QUICKSTART,
        ),
        Step(
            title="Which of three is right?",
            prose="""\
Two functions that differ in one sign, and a derivative that has been
published for each, found by hand:

    f(x) = x⁴ + 12x + 1/x        f'(x) = 4x³ + 12 − 1/x²
    g(x) = x⁴ + 12x − 1/x        g'(x) = 4x³ + 12 − 1/x²

They cannot both be right. `grad` and central differences are asked, at 11 as
in the publication and at 0.5, where 1/x² is larger. Everything is computed
in float64, so that rounding does not blur the differences.""",
            question=Question(
                text="Which derivative is wrong?",
                choices=("That of f", "That of g", "Neither: 1/x² hardly matters"),
            ),
            claim=(
                "grad and differences agree on both functions, confirm the hand "
                "derivative of f and contradict that of g."
            ),
            works=_by_hand,
            conclude=_wrong_sign,
            source=(
                f"{NOTEBOOK} (f and its figures; the slip in g is quoted without its "
                "author)"
            ),
        ),
        Step(
            title="Forward and reverse",
            prose=f"""\
Derivatives can be put together in two orders. Forward mode (`jvp`) pushes a
change of one input through the program and sees all outputs change. Reverse
mode (`vjp`) pulls one output back and finds its slope in all inputs.

A full Jacobian takes one push per input (`jacfwd`) or one pull per output
(`jacrev`). Both give the same numbers.

Two functions are differentiated both ways: one with {_MATRIX} inputs and one
output, like a loss, and one with 1 input and {_MATRIX} outputs.""",
            question=Question(
                text=f"{_MATRIX} inputs, one output: which mode is cheaper?",
                choices=("Forward", "Reverse", "They cost the same"),
            ),
            claim=(
                "Both modes give the same numbers; reverse is at least 3 times cheaper "
                "for many inputs, forward for many outputs."
            ),
            works=_both_modes,
            conclude=_which_mode,
        ),
        Step(
            title="What a gradient costs",
            prose="""\
A gradient of a million inputs is a million numbers. Differences would need
the function a million times over, and once more.

Reverse mode needs it once, plus one walk backwards through the operations.
Theory bounds that by a small multiple of the function's own cost, whatever
the number of inputs. `jax.value_and_grad` returns both, because the value
falls out on the way.

The value alone and the value with its gradient are timed, both jitted.""",
            question=Question(
                text="How long does the value with its whole gradient take?",
                choices=(
                    "Up to 8 times the value",
                    "Hundreds of times the value",
                    "About as many times as there are inputs",
                ),
            ),
            claim="The value with its gradient costs at most 8 times the value alone.",
            works=_cost,
            conclude=_cheap,
        ),
        Step(
            title="Twenty steps downhill",
            prose="""\
The gradient points uphill. Going a little way against it lowers the loss;
doing that again and again is gradient descent:

    value, gradient = jax.jit(jax.value_and_grad(loss))(parameters)
    parameters = parameters - 0.3 * gradient

Here a line is fitted to 100 noisy points, made with slope 3 and offset 2.
The parameters start at zero. The plot has a logarithmic axis, on which a
steady shrinking is a straight line; it ends at the noise, which no line can
explain.""",
            question=Question(
                text="How does the loss go?",
                choices=(
                    "It falls with every step",
                    "It falls, with some steps up",
                    "It does not fall",
                ),
            ),
            claim=(
                "Each of the twenty steps lowers the loss, to less than a tenth of "
                "where it began."
            ),
            works=_descent,
            conclude=_descended,
            picture=_curve,
        ),
    ),
)
