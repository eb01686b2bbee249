"""NumPy or JAX, and where does the data live: five ways to the same product."""

from __future__ import annotations

from collections.abc import Mapping

from jaxtui.core import format as fmt
from jaxtui.core.format import figure, seconds
from jaxtui.core.model import Case, Inputs
from jaxtui.features.lessons.base import Conclusion, Setting
from jaxtui.features.lessons.figures import Figures, MissingError, fastest, over, times
from jaxtui.features.lessons.trial import Code, Trial, case_of, lesson

HIDDEN = 1.5
"""The largest ratio of a product on NumPy data on CPU that still counts as equal."""

DEARER = 1.05
"""The least ratio of D to E at which sending the data costs."""

HALF = 1.1
"""The least ratio of a·b to x·xᵀ at which NumPy saves work."""


def _five_cases(setting: Setting) -> Mapping[str, Case | None]:
    n = setting.size

    def eager(device: str | None, inputs: Inputs) -> Case | None:
        return case_of("gram", n, "eager", device, inputs) if device else None

    return {
        "A": case_of("gram", n, "numpy"),
        "B": eager(setting.processor, "host"),
        "C": eager(setting.processor, "device"),
        "D": eager(setting.accelerator, "host"),
        "E": eager(setting.accelerator, "device"),
    }


def _five(figures: Figures) -> Conclusion:
    """Without an accelerator the half of the claim that is about one stays open."""
    a, b, c, d, e = (figures.get(name) for name in "ABCDE")
    numpy, cpu, chip = figures.has("A"), figures.has("B", "C"), figures.has("D", "E")
    if not cpu and not chip:
        raise MissingError("C" if figures.cases["C"] else "E")
    hidden, dearer = b <= HIDDEN * c, d >= DEARER * e
    holds = True if chip else None
    if (cpu and not hidden) or (chip and not dearer):
        holds = False

    def remark(name: str) -> str:
        if figures.cases[name] is None:
            missing = "JAX's CPU device" if name in "BC" else "an accelerator"
            return f"needs {missing}"
        if not numpy or not figures.has(name):
            return ""
        if figures[name] > a:
            return f"{figures.ratio(name, 'A')} the time of A"
        return f"{figures.ratio('A', name)} faster than A"

    rows = figures.table(
        ("A  np.dot, NumPy data", "A", "1×"),
        *(
            (f"{name}  jnp.dot, {what}", name, published, remark(name))
            for name, what, published in (
                ("B", "NumPy data, CPU", "about 2× slower"),
                ("C", "JAX data, CPU", "about 2× slower"),
                ("D", "NumPy data, accelerator", "slightly slower than E"),
                ("E", "JAX data, accelerator", "28× faster"),
            )
        ),
    )
    on_cpu = (
        f"On the CPU the product took {seconds(b)} on NumPy data and {seconds(c)} on"
        f" JAX data, {figures.times('B', 'C')} as long: JAX gets n² numbers and does"
        " about n³ operations with them."
    )
    pays = "D pays the transfer with every call"
    transfer = pays if dearer else "the transfer does not show"
    on_chip = (
        f"On the accelerator it took {seconds(d)} on NumPy data and {seconds(e)} on JAX"
        f" data: {transfer}."
    )
    if not chip:
        on_chip = "D and E need an accelerator: this half of the claim stays open."
    sentences = (
        on_cpu if cpu else "",
        "At this size the copy shows." if cpu and not hidden else "",
        f"JAX took {figures.times('C', 'A')} as long as NumPy (published: 2)."
        if cpu and numpy
        else "",
        on_chip,
        f"E is {figures.times('A', 'E')} as fast as NumPy (published: 28)."
        if chip and numpy
        else "",
    )
    answer = (0, 1, 1, 2, 2)[fastest(a, b, c, d, e) or 0]
    return Conclusion(holds, answer, rows, sentences)


# The same work, or half of it.


def _two_cases(setting: Setting) -> Mapping[str, Case]:
    n, device = setting.size, setting.processor or setting.device
    return {
        "NumPy x·xᵀ": case_of("gram", n, "numpy"),
        "NumPy a·b": case_of("matmul", n, "numpy"),
        "JAX x·xᵀ": case_of("gram", n, "jit", device),
        "JAX a·b": case_of("matmul", n, "jit", device),
    }


def _two(figures: Figures) -> Conclusion:
    setting, jax = figures.setting, figures.has("JAX x·xᵀ", "JAX a·b")
    numpy = over(figures["NumPy a·b"], figures["NumPy x·xᵀ"])
    jax_ratio = over(figures.get("JAX a·b"), figures.get("JAX x·xᵀ"))
    jax_times = figures.times("JAX a·b", "JAX x·xᵀ")
    holds = numpy >= HALF

    def row(name: str) -> tuple[object, ...]:
        speed = figure(over(2.0 * setting.size**3, figures.get(name)), "FLOP/s")
        where = f"JAX, {setting.processor or setting.device}:"
        what = name.replace("NumPy", "NumPy:").replace("JAX", where)
        return what, name, "", ("2·n³ operations would be ", speed)

    def beside(what: str) -> str:
        numpy, jax = figures[f"NumPy {what}"], figures[f"JAX {what}"]
        if jax <= numpy:
            return f"{times(over(numpy, jax))} as fast"
        return f"{times(over(jax, numpy))} as slow"

    longer = "In NumPy a·b took"
    longer += f" {figures.times('NumPy a·b', 'NumPy x·xᵀ')} as long as x·xᵀ"
    # JAX does all the work of both: where its factor is the same, symmetry is no
    # explanation.
    if HALF <= numpy < HALF * jax_ratio:
        sentences = [
            f"{longer}.",
            "That is not the symmetry: JAX computes all of both products, and took"
            f" {jax_times} as long for a·b too. Something else makes a·b slower here,"
            " such as the second matrix to read.",
        ]
    else:
        sentences = [
            f"{longer}, although a textbook counts 2·n³ operations for both: NumPy"
            " noticed the symmetry and did half of them."
            if holds
            else f"{longer}: NumPy saved no work here. A NumPy built on another library"
            " may.",
            f"In JAX it took {jax_times} as long." if jax else "",
        ]
    if jax:
        sentences.append(
            f"For a·b, where both do all the work, JAX was {beside('a·b')} as NumPy;"
            f" for x·xᵀ {beside('x·xᵀ')}."
        )
    rows = figures.table(*map(row, figures.cases))
    return Conclusion(holds, 0 if holds else 1, rows, sentences)


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


def _mixed(figures: Figures) -> Conclusion:
    kinds = {code: figures.text(code) for code in KINDS}
    changed = [f"{c} returned {kind}" for c, kind in kinds.items() if kind != KINDS[c]]
    unlike = f"With these versions {fmt.listed(changed)}, unlike in the claim."
    first, *_ = kinds.values()
    answer = {"ndarray": 0, "jax.Array": 1}.get(first, 2)
    rows = figures.table(*((code, code) for code in KINDS))
    return Conclusion(not changed, answer, rows, [unlike if changed else ""])


LESSON = lesson(
    "numpy-or-jax",
    Trial(_five, cases=_five_cases, budget=10.0),
    Trial(_two, cases=_two_cases, budget=9.0),
    Trial(_mixed, Code(2.0)),
    sizes={"cpu": 800, "gpu": 5000, "tpu": 5000},
    limits=(64, 20_000),
)
