"""NumPy or JAX, and where does the data live: five ways to the same product."""

from __future__ import annotations

from collections.abc import Mapping

from jaxtui import format as fmt
from jaxtui.lessons.base import Setting
from jaxtui.lessons.figures import (
    All,
    AtLeast,
    Figures,
    Gives,
    Holds,
    Value,
    fastest,
    quotient,
    times,
)
from jaxtui.lessons.trial import Code, Trial, jax_case, lesson, numpy_case
from jaxtui.model import Case, Inputs

HIDDEN = 1.5
"""How much longer a product on NumPy data may take on CPU and still count as equal."""

DEARER = 1.05
"""How much longer D must take than E to say that sending the data costs."""

HALF = 1.1
"""How much longer a·b must take than x·xᵀ to say that NumPy saves work."""


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


def _comparison(figures: Figures) -> Mapping[str, Value]:
    a, b, c, d, e = (figures[name] for name in "ABCDE")
    cpu, accelerator = (b and c) is not None, (d and e) is not None
    slower = quotient(c, a) or 0.0
    return {
        "B and C, or D and E": 1.0 if cpu or accelerator else None,
        "cpu": cpu,
        "hidden": (b or 0) <= HIDDEN * (c or 0),
        "as published": a is not None and slower >= 1.5,
        "no slower": a is not None and slower <= 1,
        "less": a is not None and 1 < slower < 1.5,
        "accelerator": accelerator,
        "dearer": (d or 0) >= DEARER * (e or 0),
        "beside": a is not None,
        **{f"{name} remark": _remark_beside_numpy(figures, name) for name in "BCDE"},
    }


def _remark_beside_numpy(figures: Figures, name: str) -> str:
    a, seconds = figures["A"], figures[name]
    if figures.cases[name] is None:
        return "needs JAX's CPU device" if name in "BC" else "needs an accelerator"
    if seconds is None or a is None:
        return ""
    if seconds > a:
        return f"{figures.ratio(name, 'A')} slower than A"
    return f"{figures.ratio('A', name)} faster than A"


def _is_as_claimed(figures: Figures) -> bool | None:
    """Without an accelerator the half of the claim that is about one stays open."""
    halves = [("cpu", "hidden"), ("accelerator", "dearer")]
    checks = [
        figures.all_true(check) for half, check in halves if figures.all_true(half)
    ]
    if not all(checks):
        return False
    return True if figures.all_true("accelerator") else None


# The same work, or half of it.


def _two_cases(setting: Setting) -> Mapping[str, Case]:
    n, device = setting.size, setting.processor or setting.device
    return {
        "NumPy x·xᵀ": numpy_case("gram", n),
        "NumPy a·b": numpy_case("matmul", n),
        "JAX x·xᵀ": jax_case(device, "gram", n),
        "JAX a·b": jax_case(device, "matmul", n),
    }


def _product_figures(figures: Figures) -> Mapping[str, Value]:
    factors = [
        quotient(figures[f"{who} a·b"], figures[f"{who} x·xᵀ"])
        for who in ("NumPy", "JAX")
    ]
    numpy, jax = factors
    return {
        "where": figures.setting.processor or figures.setting.device,
        "flops": 2.0 * figures.setting.size**3,
        "both": jax is not None,
        # JAX does all the work of both: where its factor is the same, symmetry is no
        # explanation.
        "JAX too": bool(numpy and jax and HALF <= numpy < HALF * jax),
        **{
            f"JAX with {what}": _speed_beside_numpy(figures, what)
            for what in ("a·b", "x·xᵀ")
        },
    }


def _speed_beside_numpy(figures: Figures, what: str) -> str:
    numpy, jax = figures[f"NumPy {what}"], figures[f"JAX {what}"]
    if numpy is None or jax is None:
        return fmt.ABSENT
    fast, more, less = ("fast", numpy, jax) if jax <= numpy else ("slow", jax, numpy)
    return f"{times(quotient(more, less))} as {fast}"


# Mixed operands.

KINDS = {
    "np.dot(jax_array, jax_array)": "ndarray",
    "np.sin(jax_array)": "ndarray",
    "jnp.dot(np_array, np_array)": "jax.Array",
    "np_array @ jax_array": "jax.Array",
    "jax_array @ np_array": "jax.Array",
}
"""Who decides: the function that is called, or JAX, where it is an operator."""

FIRST = next(iter(KINDS))


def _other_kinds(figures: Figures) -> Mapping[str, Value]:
    found = {code: figures.text(code) for code in KINDS}
    other = [f"{c} returned {kind}" for c, kind in found.items() if kind != KINDS[c]]
    return {"others": fmt.listed(other)}


LESSON = lesson(
    "numpy-or-jax",
    {
        "Five experiments": Trial(
            cases=_five_cases,
            budget_each=3.0,
            derive=_comparison,
            claim=Holds(_is_as_claimed, "B and C, or D and E"),
            answer=lambda f: (0, 1, 1, 2, 2)[fastest(*"ABCDE")(f) or 0],
        ),
        "Is NumPy faster on a CPU?": Trial(
            cases=_two_cases,
            budget=9.0,
            derive=_product_figures,
            claim=AtLeast("NumPy a·b", HALF, "NumPy x·xᵀ"),
            answer=lambda figures: 0 if figures["holds"] else 1,
        ),
        "Mixed operands": Trial(
            code=Code(budget=2.0, device=lambda setting: setting.device),
            derive=_other_kinds,
            claim=All(*(Gives(code, kind) for code, kind in KINDS.items())),
            answer=lambda f: {"ndarray": 0, "jax.Array": 1}.get(f.text(FIRST) or "", 2),
        ),
    },
    sizes={"cpu": 800, "gpu": 5000, "tpu": 5000},
    minimum=64,
    maximum=20_000,
)
