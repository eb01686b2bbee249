"""Code that used to work: what older tutorials write, and what to write today."""

from __future__ import annotations

from collections.abc import Mapping

from jaxtui import format as fmt
from jaxtui.features.lessons.base import Conclusion, Row
from jaxtui.features.lessons.figures import VALUE_LENGTH, Figures, decimals
from jaxtui.features.lessons.trial import Code, Trial, lesson

MOVED = {
    "jax.lib.xla_bridge": (
        "internal, and gone since JAX 0.8",
        "jax.default_backend()",
    ),
    "jax.tools.colab_tpu": ("a TPU VM needs no set-up", "jax.devices()"),
    "x.device()": (
        "device is a property; devices() is a set",
        "jnp.ones(3).devices()",
    ),
    "jax.config": (
        "no longer a module to import from",
        "jax.config.jax_enable_x64",
    ),
    "jax.tree_map": ("renamed", "jax.tree.map(jnp.sin, [0.0])"),
}
"""Names that were moved or removed: why they fail, and what one writes today."""

MISCALLED = {
    "sparse.BCOO(dense)": (
        "the constructor takes (data, indices) and shape",
        "sparse.BCOO.fromdense(dense)",
    ),
    "sparse.BCOO(data, indices)": (
        "data and indices are one argument, a tuple",
        "sparse.BCOO((data, indices), shape=(2, 2))",
    ),
    "lax.switch(i, f, g, x)": (
        "the branches are one argument, a list",
        "lax.switch(i, [jnp.sin, jnp.cos], x)",
    ),
    "randint without shape": (
        "a single number has the shape ()",
        "random.randint(key, (), minval=0, maxval=4)",
    ),
}
"""Calls that are refused, likewise."""


def _reads(figures: Figures, name: str) -> str:
    """Return the result of an old form: error, warning, or that it still works."""
    value = figures.value(name)
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


def _forms(forms: Mapping[str, tuple[str, str]]) -> Trial:
    """A step that runs forms as they were, and as they are."""

    def conclude(figures: Figures) -> Conclusion:
        old = {form: figures.value(f"{form}, old") for form in forms}
        failing = [form for form, v in old.items() if v and (v.error or v.warnings)]
        broken = [form for form in forms if not figures.succeeded(f"{form}, new")]
        kinds = [v.error.partition(":")[0] for v in old.values() if v and v.error]
        working, all_of = [form for form in forms if form not in failing], len(forms)
        rows = list[Row]()
        for form, (why, today) in forms.items():
            rows.append(Row(form, _reads(figures, f"{form}, old"), remark=why))
            rows.append(figures.row("  today", f"{form}, new", remark=today))
        return Conclusion(
            holds=not working and not broken,
            answer=2 if not working else 1 if failing else 0,
            rows=tuple(rows),
            sentences=(
                f"On {_version(figures)} {len(failing)} of {all_of} old forms fail or "
                f"warn, and {all_of - len(broken)} of {all_of} of today's forms work.",
                f"These still work: {fmt.listed(working)}. A newer JAX may refuse them."
                if working
                else "",
                f"Today's form fails here for {fmt.listed(broken)}." if broken else "",
                f"Kinds of error: {fmt.listed(kinds)}. An ImportError or "
                "AttributeError means that a name has moved, a TypeError that the "
                "arguments are wrong."
                if kinds
                else "",
            ),
        )

    return Trial(conclude, needs=tuple(f"{form}, old" for form in forms))


def _keys(figures: Figures) -> Conclusion:
    old, new = (figures.numbers(f"{which} numbers") for which in ("old", "new"))
    same, version = bool(old) and old == new, _version(figures)
    plain, typed = (
        figures.succeeded("old + 1"),
        figures.failed_with("new + 1", "TypeError"),
    )
    reads, holds = _reads(figures, "PRNGKey"), same and plain and typed
    held = (
        f"On {version} PRNGKey: {reads}.",
        f"Both keys draw {decimals(old, 4)}. The old one is a plain array of two "
        "numbers, and adding 1 to it made another key by mistake; the new one has a "
        "dtype of its own and refused with a TypeError.",
    )
    failed = (
        f"{version} behaves differently: the old key plus 1 gave "
        f"{figures.shown('old + 1')}, the new one {figures.shown('new + 1')}.",
    )
    works = "works" if figures.succeeded("new dtype") else fmt.ABSENT

    def dtype(name: str) -> str:
        return f"dtype, shape: {figures.shown(name)}"

    return Conclusion(
        holds=holds,
        answer=0 if same else 1,
        rows=(
            Row("jax.random.PRNGKey(0)", reads, remark=dtype("old dtype")),
            Row("  jax.random.key(0)", works, remark=dtype("new dtype")),
            Row("uniform with PRNGKey(0)", decimals(old, 6)),
            Row("  uniform with key(0)", decimals(new, 6)),
            figures.row(
                "PRNGKey(0) + 1", "old + 1", remark="another key, made by mistake"
            ),
            figures.row("  key(0) + 1", "new + 1"),
        ),
        sentences=held if holds else failed,
    )


LESSON = lesson(
    "old-code",
    {
        "Names that have moved": _forms(MOVED),
        "Calls with the wrong arguments": _forms(MISCALLED),
        "PRNGKey and key": Trial(
            _keys,
            Code(2.0),
            needs=("old numbers", "new numbers", "PRNGKey", "new + 1"),
        ),
    },
    sizes={"cpu": 1},
)
