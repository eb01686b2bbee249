"""Code that used to work: what older tutorials write, and what to write today."""

from __future__ import annotations

from collections.abc import Mapping

from jaxtui import format as fmt
from jaxtui.lessons.figures import (
    VALUE_LENGTH,
    All,
    Figures,
    Holds,
    Present,
    Raises,
    Succeeds,
    Value,
)
from jaxtui.lessons.trial import Code, Trial, lesson

MOVED = (
    "jax.lib.xla_bridge",
    "jax.tools.colab_tpu",
    "x.device()",
    "jax.config",
    "jax.tree_map",
)
"""Names that were moved or removed."""

MISCALLED = (
    "sparse.BCOO(dense)",
    "sparse.BCOO(data, indices)",
    "lax.switch(i, f, g, x)",
    "randint without shape",
)
"""Calls that are refused."""


def _reads(figures: Figures, name: str) -> str:
    """What came of an old form: its error, its warning, or that it still works."""
    value = figures.outcome.values.get(name)
    if value is None:
        return fmt.ABSENT
    if value.error is not None:
        return fmt.shorten(value.error, VALUE_LENGTH)
    if value.warnings:
        return fmt.shorten(f"warns: {value.warnings[0]}", VALUE_LENGTH)
    return "still works here"


def _version(figures: Figures) -> str:
    host = figures.setting.host
    return f"jax {host.jax}" if host else "this JAX"


def _forms(forms: tuple[str, ...]) -> Trial:
    """A step that runs forms as they were, and as they are."""

    def derive(figures: Figures) -> Mapping[str, Value]:
        found = figures.outcome.values
        old = {form: found.get(f"{form}, old") for form in forms}
        failing = [form for form, v in old.items() if v and (v.error or v.warnings)]
        broken = [form for form in forms if not figures.succeeded(f"{form}, new")]
        kinds = [v.error.partition(":")[0] for v in old.values() if v and v.error]
        return {
            "version": _version(figures),
            "failing": len(failing),
            "forms": len(forms),
            "mended": len(forms) - len(broken),
            "working": fmt.listed([form for form in forms if form not in failing]),
            "broken": fmt.listed(broken),
            "kinds": fmt.listed(kinds),
            **{f"{form} says": _reads(figures, f"{form}, old") for form in forms},
        }

    def answer(figures: Figures) -> int:
        failing = figures["failing"] or 0
        return 2 if failing == len(forms) else 1 if failing else 0

    return Trial(
        derive=derive,
        claim=Holds(
            lambda f: f["failing"] == f["mended"] == len(forms),
            *(f"{form}, {age}" for form in forms for age in ("old", "new")),
            numbers=False,
        ),
        answer=answer,
    )


def _same_numbers(figures: Figures) -> bool:
    old = figures.numbers("old numbers")
    return bool(old) and old == figures.numbers("new numbers")


LESSON = lesson(
    "old-code",
    {
        "Names that have moved": _forms(MOVED),
        "Calls with the wrong arguments": _forms(MISCALLED),
        "PRNGKey and key": Trial(
            code=Code(budget=2.0),
            derive=lambda figures: {
                "version": _version(figures),
                "PRNGKey says": _reads(figures, "PRNGKey"),
                "key says": "works" if figures.succeeded("new dtype") else fmt.ABSENT,
            },
            claim=All(
                Holds(_same_numbers, "old numbers", "new numbers", numbers=False),
                Present("PRNGKey"),
                Succeeds("old + 1"),
                Raises("new + 1", "TypeError"),
            ),
            answer=lambda figures: 0 if _same_numbers(figures) else 1,
        ),
    },
    sizes={"cpu": 1},
)
