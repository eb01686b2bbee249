"""NumPy or JAX, and where does the data live: five ways to the same product."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtui.lessons import cases, words
from jaxtui.lessons.base import Conclusion, Lesson, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Case, Experiment, Inputs, Measurement, Shown, Snippet, Work

SOURCE = (
    "A published comparison on Google Colab with a Tesla T4, x·xᵀ of a 10000×10000 "
    "float32 matrix"
)

HIDDEN = 1.5
"""How much longer a product on NumPy data may take on CPU and still count as equal."""

DEARER = 1.05
"""How much longer D must take than E to say that sending the data costs."""

HALF = 1.1
"""How much longer a·b must take than x·xᵀ to say that NumPy saves work."""


@dataclass(frozen=True, kw_only=True)
class _Way:
    """One of the five experiments."""

    letter: str
    what: str
    published: str
    case: Case | None
    needs: str = ""
    """What this machine lacks where there is no case."""

    def seconds(self, outcome: Outcome) -> float | None:
        if self.case is None:
            return None
        return words.ready(_found(outcome, self.case))

    def trouble(self, outcome: Outcome) -> str:
        if self.case is None:
            return self.needs
        facts = {name: getattr(self.case, name) for name in ("mode", "device")}
        return words.trouble(outcome, **facts, inputs=self.case.inputs)


def _found(outcome: Outcome, case: Case) -> Measurement | None:
    return next((m for m in outcome.measurements if m.case == case), None)


# 1: the five experiments.


def _ways(setting: Setting) -> tuple[_Way, ...]:
    n = setting.size
    cpu, accelerator = words.processor(setting), words.accelerator(setting)
    no_cpu = "needs JAX's CPU device"

    def eager(device: str | None, inputs: Inputs) -> Case | None:
        if device is None:
            return None
        return cases.jax(device, "gram", n, "eager", inputs)

    return (
        _Way(
            letter="A",
            what="np.dot, NumPy data",
            published="1×",
            case=cases.numpy("gram", n),
        ),
        _Way(
            letter="B",
            what="jnp.dot, NumPy data, CPU",
            published="about 2× slower",
            case=eager(cpu, "host"),
            needs=no_cpu,
        ),
        _Way(
            letter="C",
            what="jnp.dot, JAX data, CPU",
            published="about 2× slower",
            case=eager(cpu, "device"),
            needs=no_cpu,
        ),
        _Way(
            letter="D",
            what="jnp.dot, NumPy data, accelerator",
            published="slightly slower than E",
            case=eager(accelerator, "host"),
            needs=words.NEEDS_ACCELERATOR,
        ),
        _Way(
            letter="E",
            what="jnp.dot, JAX data, accelerator",
            published="28× faster",
            case=eager(accelerator, "device"),
            needs=words.NEEDS_ACCELERATOR,
        ),
    )


def _five(setting: Setting) -> tuple[Work, ...]:
    asked = tuple(way.case for way in _ways(setting) if way.case is not None)
    return (Experiment(cases=asked, budget_seconds=3.0 * len(asked)),)


def _five_ways(setting: Setting, outcome: Outcome) -> Conclusion:
    ways = _ways(setting)
    seconds = {way.letter: way.seconds(outcome) for way in ways}
    a = seconds["A"]
    rows = tuple(
        Row(
            what=f"{way.letter}  {way.what}",
            yours=words.duration(seconds[way.letter]),
            published=way.published,
            remark=way.trouble(outcome) or _beside(seconds[way.letter], a, way.letter),
        )
        for way in ways
    )
    checks, said = [], []
    b, c, d, e = (seconds[letter] for letter in "BCDE")
    if b is not None and c is not None:
        checks.append(b <= HIDDEN * c)
        said.append(_said_of_cpu(a, b, c))
    if d is not None and e is not None:
        checks.append(d >= DEARER * e)
        said.append(_said_of_accelerator(a, d, e))
    if not checks:
        return words.inconclusive(setting, outcome, rows, "B and C", "D and E")
    if d is None or e is None:
        said.append("D and E need an accelerator, so nothing is said about them here.")
    return Conclusion(
        rows=rows,
        holds=all(checks),
        takeaway=" ".join(said),
        answer=_fastest(seconds),
    )


def _beside(seconds: float | None, a: float | None, letter: str) -> str:
    if letter == "A" or seconds is None or a is None:
        return ""
    if seconds > a:
        return f"{words.ratio(seconds, a)} slower than A"
    return f"{words.ratio(a, seconds)} faster than A"


def _said_of_cpu(a: float | None, b: float, c: float) -> str:
    said = (
        f"On the CPU the product took {words.duration(b)} on NumPy data and "
        f"{words.duration(c)} on JAX data, {words.times(b, c)} as long: n² numbers are "
        "handed over, about n³ operations are done with them."
    )
    if b > HIDDEN * c:
        said += " At this size the handing over shows, so the claim does not hold."
    if a is None:
        return said
    slower = c / a
    if slower >= 1.5:
        return f"{said} JAX was {words.times(c, a)} as slow as NumPy, as published."
    if slower <= 1:
        return f"{said} NumPy was not faster than JAX, unlike in the published figures."
    return (
        f"{said} JAX took {words.times(c, a)} as long as NumPy, less than the "
        "published 2 times: that is no law."
    )


def _said_of_accelerator(a: float | None, d: float, e: float) -> str:
    said = (
        f"On the accelerator it took {words.duration(d)} on NumPy data and "
        f"{words.duration(e)} on JAX data"
    )
    said += (
        f", {words.times(d, e)} as long: D pays the transfer with every call."
        if d >= DEARER * e
        else ": the transfer does not show, so the claim does not hold here."
    )
    if a is None:
        return said
    return f"{said} E is {words.times(a, e)} as fast as NumPy (published: 28)."


def _fastest(seconds: dict[str, float | None]) -> int | None:
    known = {letter: each for letter, each in seconds.items() if each is not None}
    if len(known) < 2:
        return None
    best = min(known, key=lambda letter: known[letter])
    return {"A": 0, "B": 1, "C": 1, "D": 2, "E": 2}[best]


# 2: the same work, or half of it.


def _two_products(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    device = words.processor(setting) or setting.device
    asked = [cases.numpy("gram", n), cases.numpy("matmul", n)]
    asked += [cases.jax(device, "gram", n), cases.jax(device, "matmul", n)]
    return (Experiment(cases=tuple(asked), budget_seconds=9.0),)


def _half_the_work(setting: Setting, outcome: Outcome) -> Conclusion:
    facts = [(mode, op) for mode in ("numpy", "jit") for op in ("gram", "matmul")]
    gram, matmul, jax_gram, jax_matmul = (
        outcome.ready(mode=mode, op=op) for mode, op in facts
    )
    flops = 2.0 * setting.size**3
    names = {"numpy": "NumPy", "jit": f"JAX, {_where(setting)}"}
    rows = tuple(
        Row(
            what=f"{names[mode]}: {'x·xᵀ' if op == 'gram' else 'a·b'}",
            yours=words.duration(outcome.ready(mode=mode, op=op)),
            remark=words.trouble(outcome, mode=mode, op=op)
            or f"2·n³ operations would be {words.rate(flops, seconds)}",
        )
        for (mode, op), seconds in zip(
            facts, (gram, matmul, jax_gram, jax_matmul), strict=True
        )
    )
    if gram is None or matmul is None:
        return words.inconclusive(
            setting, outcome, rows, "NumPy's two products", many=True
        )
    holds = matmul >= HALF * gram
    takeaway = f"In NumPy a·b took {words.times(matmul, gram)} as long as x·xᵀ" + (
        ", although a textbook counts 2·n³ operations for both: NumPy noticed the "
        "symmetry and did half of them."
        if holds
        else ": here no work was saved. A NumPy built on another library may do so."
    )
    if jax_gram is not None and jax_matmul is not None:
        takeaway += (
            f" In JAX it took {words.times(jax_matmul, jax_gram)} as long. Between a "
            f"NumPy and a JAX that both do all the work, JAX was "
            f"{_compared(matmul, jax_matmul)}; for x·xᵀ it was "
            f"{_compared(gram, jax_gram)}."
        )
    return Conclusion(
        rows=rows, holds=holds, takeaway=takeaway, answer=0 if holds else 1
    )


def _where(setting: Setting) -> str:
    return words.processor(setting) or setting.device


def _compared(numpy: float, jax: float) -> str:
    if jax <= numpy:
        return f"{words.times(numpy, jax)} as fast"
    return f"{words.times(jax, numpy)} as slow"


# 3: mixed operands.


_EXPRESSIONS = (
    ("np.dot(jax_array, jax_array)", "ndarray"),
    ("np.sin(jax_array)", "ndarray"),
    ("jnp.dot(np_array, np_array)", "jax.Array"),
    ("np_array @ jax_array", "jax.Array"),
    ("jax_array @ np_array", "jax.Array"),
)
"""Who decides: the function that is called, or JAX, where it is an operator."""


def _mixed(setting: Setting) -> tuple[Work, ...]:
    setup = """\
def kind(value):
    return "jax.Array" if isinstance(value, jax.Array) else type(value).__name__

np_array = np.ones((8, 8), np.float32)
jax_array = jnp.asarray(np_array)
"""
    snippet = Snippet(
        title="What a mixture of NumPy and JAX returns",
        setup=setup,
        parts=tuple(Shown(name=code, code=f"kind({code})") for code, _ in _EXPRESSIONS),
        budget_seconds=2.0,
        device=setting.device,
    )
    return (snippet,)


def _kinds(setting: Setting, outcome: Outcome) -> Conclusion:
    got = [outcome.text(code) for code, _ in _EXPRESSIONS]
    rows = tuple(
        Row(what=code, yours=kind or words.ABSENT)
        for (code, _), kind in zip(_EXPRESSIONS, got, strict=True)
    )
    if None in got:
        return words.inconclusive(setting, outcome, rows, "all results", many=True)
    other = [
        f"{code} returned {kind}"
        for (code, expected), kind in zip(_EXPRESSIONS, got, strict=True)
        if kind != expected
    ]
    first = got[0]
    if other:
        takeaway = f"With these versions {words.listing(other)}, unlike in the claim."
    else:
        takeaway = (
            f"np.dot of JAX data returned a NumPy {first}: it fetched the data from the"
            " device and computed on the host, without a word. jnp functions and the"
            " operator @ stayed in JAX."
        )
    return Conclusion(
        rows=rows,
        holds=not other,
        takeaway=takeaway,
        answer=0 if first == "ndarray" else 1 if first == "jax.Array" else 2,
    )


LESSON = Lesson(
    name="numpy-or-jax",
    title="NumPy or JAX, and where does the data live?",
    summary="The same product in five ways: who computes it, and where its data lives.",
    size_means="n of n×n",
    sizes={"cpu": 800, "gpu": 5000, "tpu": 5000},
    minimum=64,
    maximum=20_000,
    needs="Experiments D and E need an accelerator.",
    steps=(
        Step(
            title="Five experiments",
            prose="""\
The same product x·xᵀ of an n×n float32 matrix, five times:

    A   np.dot on NumPy data
    B   jnp.dot on NumPy data, on the CPU
    C   jnp.dot on JAX data, on the CPU
    D   jnp.dot on NumPy data, on an accelerator
    E   jnp.dot on JAX data, on an accelerator

NumPy data is handed over to JAX with every call. To an accelerator it
travels over a bus each time; on the CPU it is copied within the memory or
merely borrowed. JAX data stays where it is. All figures are of calls whose
result was waited for.""",
            question=Question(
                text="What is fastest on this machine?",
                choices=("A, NumPy", "B or C, JAX on the CPU", "D or E, if it can"),
            ),
            claim=(
                "Sending NumPy data with every call costs an accelerator time; on the "
                "CPU a large product hides it."
            ),
            works=_five,
            conclude=_five_ways,
            source=SOURCE,
        ),
        Step(
            title="Is NumPy faster on a CPU?",
            prose="""\
In the published figures JAX on the CPU was about 2 times slower than NumPy.
That is no law. The example is special: x·xᵀ is symmetric, and half of it
determines the rest. `np.dot(x, x.T)` sees that both operands are the same
array, one of them transposed, and calls a routine that computes one half.
XLA computes all of it.

So compare a product that has no symmetry: a·b with two different matrices.
If NumPy saves half of the work, then a·b takes it almost 2 times as long as
x·xᵀ, and JAX takes about the same time for both.""",
            question=Question(
                text="Which of the two products will take NumPy longer?",
                choices=("a·b, clearly", "Neither, about the same"),
            ),
            claim="NumPy takes at least 1.1 times as long for a·b as for x·xᵀ.",
            works=_two_products,
            conclude=_half_the_work,
        ),
        Step(
            title="Mixed operands",
            prose="""\
NumPy functions accept JAX arrays, and JAX functions accept NumPy arrays.
Which side computes, and what comes back?

    np.dot(jax_array, jax_array)
    jnp.dot(np_array, np_array)
    np_array @ jax_array
    jax_array @ np_array

A function belongs to its library: `np.` computes with NumPy, whatever it is
given. An operator asks both operands, and a JAX array asks to decide, even
on the right. A forgotten `np.` therefore works, only slowly: it brings the
data back from the device and computes on the host.""",
            question=Question(
                text="What does np.dot(jax_array, jax_array) return?",
                choices=("A NumPy array", "A JAX array", "An error"),
            ),
            claim=(
                "np functions return NumPy arrays; jnp functions and operators with a "
                "JAX array return JAX arrays."
            ),
            works=_mixed,
            conclude=_kinds,
        ),
    ),
)
