"""Code that used to work: what older tutorials write, and what to write today."""

from __future__ import annotations

from jaxtui.core import format as fmt
from jaxtui.features.lessons.base import Conclusion
from jaxtui.features.lessons.figures import (
    VALUE_LENGTH,
    Figures,
    MissingError,
    decimals,
)
from jaxtui.features.lessons.trial import Code, Trial, lesson


def _reads(figures: Figures, name: str) -> str:
    """Return the result of an old form: error, warning, or that it still works."""
    value, text = figures.value(name), "still works here"
    if value.warnings:
        text = f"warns: {value.warnings[0]}"
    return fmt.shorten(value.error or text, VALUE_LENGTH)


def _version(figures: Figures) -> str:
    host = figures.setting.host
    return f"jax {host.jax}" if host else "this JAX"


def _forms(figures: Figures) -> Conclusion:
    """Conclude from forms as they were, and as they are."""
    names = figures.outcome.values
    forms = [
        form for form, _, old in (n.rpartition(", ") for n in names) if old == "old"
    ]
    if not forms:
        raise MissingError("old forms")
    old = {form: figures.value(f"{form}, old") for form in forms}
    working = [form for form, v in old.items() if not v.error and not v.warnings]
    broken = [form for form in forms if not figures.succeeded(f"{form}, new")]
    kinds = [v.error.partition(":")[0] for v in old.values() if v.error]
    rows: list[tuple[object, ...]] = []
    for form in forms:
        rows.append((form, (_reads(figures, f"{form}, old"),)))
        rows.append(("  today", f"{form}, new"))
    number = len(forms)
    sentences = [
        f"On {_version(figures)} {number - len(working)} of {number} old forms fail or"
        f" warn, and {number - len(broken)} of {number} of today's forms work."
    ]
    if working:
        still = f"These still work: {fmt.listed(working)}."
        sentences.append(f"{still} A newer JAX may refuse them.")
    if broken:
        sentences.append(f"Today's form fails here for {fmt.listed(broken)}.")
    if kinds:
        sentences.append(
            f"Kinds of error: {fmt.listed(kinds)}. An ImportError or AttributeError"
            " means that a name has moved, a TypeError that the arguments are wrong."
        )
    answer = 2 if not working else 1 if len(working) < number else 0
    return Conclusion(
        not working and not broken, answer, figures.table(*rows), sentences
    )


def _keys(figures: Figures) -> Conclusion:
    old, new = figures.numbers("old numbers"), figures.numbers("new numbers")
    same, version = bool(old) and old == new, _version(figures)
    plain, typed = figures.succeeded("old + 1"), figures.raised("new + 1", "TypeError")
    reads, holds = _reads(figures, "PRNGKey"), same and plain and typed
    works = "works" if figures.succeeded("new dtype") else fmt.ABSENT
    dtypes = [f"dtype, shape: {figures.cell(f'{key} dtype')}" for key in ("old", "new")]
    rows = figures.table(
        ("jax.random.PRNGKey(0)", (reads,), "", dtypes[0]),
        ("  jax.random.key(0)", (works,), "", dtypes[1]),
        ("uniform with PRNGKey(0)", (decimals(old, 6),)),
        ("  uniform with key(0)", (decimals(new, 6),)),
        ("PRNGKey(0) + 1", "old + 1", "", "another key, made by mistake"),
        ("  key(0) + 1", "new + 1"),
    )
    sentences = [
        f"{version} behaves differently: the old key plus 1 gave"
        f" {figures.cell('old + 1')}, the new one {figures.cell('new + 1')}."
    ]
    if holds:
        sentences = [
            f"On {version} PRNGKey: {reads}.",
            f"Both keys draw {decimals(old, 4)}. The old one is a plain array of two"
            " numbers, and adding 1 to it made another key by mistake; the new one has"
            " a dtype of its own and refused with a TypeError.",
        ]
    return Conclusion(holds, 0 if same else 1, rows, sentences)


LESSON = lesson(
    "old-code", Trial(_forms), Trial(_forms), Trial(_keys, Code(2.0)), sizes={"cpu": 1}
)
