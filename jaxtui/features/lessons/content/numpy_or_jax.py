"""NumPy or JAX, and where does the data live: five ways to the same product."""

from __future__ import annotations

from collections.abc import Mapping

from jaxtui import format as fmt
from jaxtui.features.lessons.base import Conclusion, Row, Setting
from jaxtui.features.lessons.figures import Figures, fastest, over, times
from jaxtui.features.lessons.trial import Code, Trial, jax_case, lesson, numpy_case
from jaxtui.format import figure, seconds
from jaxtui.model import Case, Inputs

HIDDEN = 1.5
"""The largest ratio of a product on NumPy data on CPU that still counts as equal."""

DEARER = 1.05
"""The least ratio of D to E at which sending the data costs."""

HALF = 1.1
"""The least ratio of a·b to x·xᵀ at which NumPy saves work."""


def _five_cases(setting: Setting) -> Mapping[str, Case | None]:
    n = setting.size

    def eager(device: str | None, inputs: Inputs) -> Case | None:
        return jax_case(device, "gram", n, "eager", inputs) if device else None

    return {
        "A": numpy_case("gram", n),
        "B": eager(setting.processor, "host"),
        "C": eager(setting.processor, "device"),
        "D": eager(setting.accelerator, "host"),
        "E": eager(setting.accelerator, "device"),
    }


def _five(figures: Figures) -> Conclusion:
    """Without an accelerator the half of the claim that is about one stays open."""
    a, b, c, d, e = (figures[name] for name in "ABCDE")
    numpy = not figures.missing("A")
    cpu, accelerator = not figures.missing("B", "C"), not figures.missing("D", "E")
    hidden, dearer = b <= HIDDEN * c, d >= DEARER * e
    holds = True if accelerator else None
    if (cpu and not hidden) or (accelerator and not dearer):
        holds = False

    def remark(name: str, needed: str) -> str:
        if figures.cases[name] is None:
            return needed
        if not numpy or figures.missing(name):
            return ""
        if figures[name] > a:
            return f"{figures.ratio(name, 'A')} the time of A"
        return f"{figures.ratio('A', name)} faster than A"

    def row(name: str, what: str, published: str, needed: str) -> Row:
        text = f"{name}  jnp.dot, {what}"
        return figures.row(text, name, published, remark(name, needed))

    needs_cpu, needs_chip = "needs JAX's CPU device", "needs an accelerator"
    sentences = list[str]()
    if cpu:
        sentences.append(
            f"On the CPU the product took {seconds(b)} on NumPy data and {seconds(c)} "
            f"on JAX data, {figures.times('B', 'C')} as long: JAX gets n² numbers and "
            "does about n³ operations with them."
        )
        if not hidden:
            sentences.append("At this size the copy shows.")
    if cpu and numpy:
        slower, beside = over(c, a), figures.times("C", "A")
        if slower >= 1.5:
            sentence = f"JAX took {beside} as long as NumPy, as published."
        elif slower > 1:
            sentence = (
                f"JAX took {beside} as long as NumPy, less than the published 2 times."
            )
        else:
            sentence = "NumPy was not faster than JAX, unlike in the published figures."
        sentences.append(sentence)
    if accelerator:
        pair = (
            f"On the accelerator it took {seconds(d)} on NumPy data and {seconds(e)} "
            "on JAX data"
        )
        sentences += [
            f"{pair}, {figures.times('D', 'E')} as long: D pays the transfer with "
            "every call."
            if dearer
            else f"{pair}: the transfer does not show.",
            f"E is {figures.times('A', 'E')} as fast as NumPy (published: 28)."
            if numpy
            else "",
        ]
    else:
        sentences.append(
            "D and E need an accelerator, so this machine cannot show that half of the "
            "claim."
        )
    return Conclusion(
        holds=holds,
        answer=(0, 1, 1, 2, 2)[fastest(a, b, c, d, e) or 0],
        rows=(
            figures.row("A  np.dot, NumPy data", "A", "1×"),
            row("B", "NumPy data, CPU", "about 2× slower", needs_cpu),
            row("C", "JAX data, CPU", "about 2× slower", needs_cpu),
            row("D", "NumPy data, accelerator", "slightly slower than E", needs_chip),
            row("E", "JAX data, accelerator", "28× faster", needs_chip),
        ),
        sentences=tuple(sentences) if cpu or accelerator else (),
    )


# The same work, or half of it.


def _two_cases(setting: Setting) -> Mapping[str, Case]:
    n, device = setting.size, setting.processor or setting.device
    return {
        "NumPy x·xᵀ": numpy_case("gram", n),
        "NumPy a·b": numpy_case("matmul", n),
        "JAX x·xᵀ": jax_case(device, "gram", n),
        "JAX a·b": jax_case(device, "matmul", n),
    }


def _two(figures: Figures) -> Conclusion:
    setting, complete = figures.setting, not figures.missing("JAX x·xᵀ", "JAX a·b")
    numpy = over(figures["NumPy a·b"], figures["NumPy x·xᵀ"])
    jax = over(figures["JAX a·b"], figures["JAX x·xᵀ"])
    numpy_times = figures.times("NumPy a·b", "NumPy x·xᵀ")
    jax_times = figures.times("JAX a·b", "JAX x·xᵀ")
    holds = numpy >= HALF
    # JAX does all the work of both: where its factor is the same, symmetry is no
    # explanation.
    jax_too = HALF <= numpy < HALF * jax

    def row(who: str, what: str, name: str) -> Row:
        speed = figure(over(2.0 * setting.size**3, figures[name]), "FLOP/s")
        remark = "2·n³ operations would be ", speed
        return figures.row(f"{who}: {what}", name, remark=remark)

    def beside(what: str) -> str:
        numpy, jax = figures[f"NumPy {what}"], figures[f"JAX {what}"]
        if jax <= numpy:
            return f"{times(over(numpy, jax))} as fast"
        return f"{times(over(jax, numpy))} as slow"

    where = f"JAX, {setting.processor or setting.device}"
    longer = f"In NumPy a·b took {numpy_times} as long as x·xᵀ"
    if jax_too:
        sentences = [
            f"{longer}.",
            "That is not the symmetry: JAX computes all of both products, and took "
            f"{jax_times} as long for a·b too. Something else makes a·b slower here, "
            "such as the second matrix to read.",
        ]
    elif holds:
        sentences = [
            f"{longer}, although a textbook counts 2·n³ operations for both: NumPy "
            "noticed the symmetry and did half of them."
        ]
    else:
        sentences = [
            f"{longer}: NumPy saved no work here.",
            "A NumPy built on another library may.",
        ]
    if complete and not jax_too:
        sentences.append(f"In JAX it took {jax_times} as long.")
    if complete:
        sentences.append(
            f"For a·b, where both do all the work, JAX was {beside('a·b')} as NumPy; "
            f"for x·xᵀ {beside('x·xᵀ')}."
        )
    return Conclusion(
        holds=holds,
        answer=0 if holds else 1,
        rows=tuple(
            row(who, what, f"{name} {what}")
            for who, name in (("NumPy", "NumPy"), (where, "JAX"))
            for what in ("x·xᵀ", "a·b")
        ),
        sentences=tuple(sentences),
    )


# Mixed operands.

KINDS = {
    "np.dot(jax_array, jax_array)": "ndarray",
    "np.sin(jax_array)": "ndarray",
    "jnp.dot(np_array, np_array)": "jax.Array",
    "np_array @ jax_array": "jax.Array",
    "jax_array @ np_array": "jax.Array",
}
"""The type of each result: the called function decides, or JAX, where it is an
operator."""

FIRST = next(iter(KINDS))


def _mixed(figures: Figures) -> Conclusion:
    kinds = {code: figures.text(code) for code in KINDS}
    changed = [f"{c} returned {kind}" for c, kind in kinds.items() if kind != KINDS[c]]
    return Conclusion(
        holds=not changed,
        answer={"ndarray": 0, "jax.Array": 1}.get(kinds[FIRST] or "", 2),
        rows=tuple(figures.row(code, code) for code in KINDS),
        sentences=(
            f"With these versions {fmt.listed(changed)}, unlike in the claim."
            if changed
            else "",
        ),
    )


LESSON = lesson(
    "numpy-or-jax",
    {
        "Five experiments": Trial(_five, cases=_five_cases, budget_each=3.0),
        "Is NumPy faster on a CPU?": Trial(
            _two, cases=_two_cases, budget=9.0, needs=("NumPy x·xᵀ", "NumPy a·b")
        ),
        "Mixed operands": Trial(_mixed, Code(2.0), needs=tuple(KINDS)),
    },
    sizes={"cpu": 800, "gpu": 5000, "tpu": 5000},
    minimum=64,
    maximum=20_000,
)
