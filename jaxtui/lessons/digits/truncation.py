"""Step 3: Where your float64 went."""

from __future__ import annotations

from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Shown, Snippet, Work

_NUMBER = 2**24 + 1
"""The first whole number that float32 does not have."""


def _truncated(setting: Setting) -> tuple[Work, ...]:
    setup = f"wide = np.array([{_NUMBER}.0])  # NumPy's float64\n"
    narrow = Snippet(
        title="float64 data in JAX, as it is by default",
        setup=setup,
        parts=(
            Shown(name="NumPy", code="wide.dtype"),
            Shown(name="taken over", code="jnp.asarray(wide).dtype"),
            Shown(name="its value", code="int(jnp.asarray(wide)[0])"),
            Shown(name="asked for", code='jnp.zeros(3, dtype="float64").dtype'),
        ),
        budget_seconds=1.0,
        device=values.chosen(setting),
    )
    wide = Snippet(
        title="float64 data in JAX with jax_enable_x64",
        setup=setup,
        parts=(
            Shown(name="taken over, x64", code="jnp.asarray(wide).dtype"),
            Shown(name="its value, x64", code="int(jnp.asarray(wide)[0])"),
            Shown(name="integers, x64", code="jnp.arange(3).dtype"),
        ),
        budget_seconds=1.0,
        device=values.chosen(setting),
        x64=True,
    )
    return (narrow, wide)


def _silently(setting: Setting, outcome: Outcome) -> Conclusion:
    rows = (
        Row(what="NumPy's own", yours=values.shown(outcome, "NumPy")),
        Row(
            what="jnp.asarray of it",
            yours=values.shown(outcome, "taken over"),
            remark=_warned(outcome, "taken over"),
        ),
        Row(
            what=f"where {_NUMBER} became",
            yours=values.shown(outcome, "its value"),
        ),
        Row(
            what="jnp.zeros, float64 asked for",
            yours=values.shown(outcome, "asked for"),
            remark=_warned(outcome, "asked for"),
        ),
        Row(
            what="jnp.asarray with x64",
            yours=values.shown(outcome, "taken over, x64"),
            remark=f"{_NUMBER} stays {values.shown(outcome, 'its value, x64')}",
        ),
    )
    if gone := values.absent(outcome, "taken over", "asked for", "taken over, x64"):
        return words.inconclusive(setting, outcome, rows, *gone)
    got, asked = outcome.text("taken over"), outcome.text("asked for")
    silent = got == "float32" and not outcome.values["taken over"].warnings
    cured = outcome.text("taken over, x64") == "float64"
    value = values.shown(outcome, "its value")
    if silent and cured:
        takeaway = (
            f"jnp.asarray made {got} of float64 without a word, and {_NUMBER} became "
            f"{value}. Asking for float64 by name gave {asked}, "
            f"{_warned(outcome, 'asked for')}. With jax_enable_x64 the array stayed "
            "float64. Set it at the start of a program, not halfway: whole numbers "
            f"are {values.shown(outcome, 'integers, x64')} from then on, too."
        )
    else:
        takeaway = (
            f"jnp.asarray gave {got}, {_warned(outcome, 'taken over')}; with x64 it "
            f"gave {outcome.text('taken over, x64')}. This JAX does not behave as the "
            "claim says."
        )
    return Conclusion(
        rows=rows,
        holds=silent and cured,
        takeaway=takeaway,
        answer=2 if got == "float64" else 0 if silent else 1,
    )


def _warned(outcome: Outcome, name: str) -> str:
    value = outcome.values.get(name)
    if value is None:
        return ""
    return "with a warning" if value.warnings else "no warning"


STEP = Step(
    title="Where your float64 went",
    prose="""\
NumPy computes in float64 unless told otherwise. JAX computes in float32: its
64-bit types are switched off, because accelerators are slow in them or have
none.

An array that comes from NumPy is converted on its way. The number 16777217 is
2²⁴ + 1, the first whole number that float32 does not have.

    wide = np.array([16777217.0])
    jnp.asarray(wide)

The same lines then run once more with `jax_enable_x64`. In a program it is
set before anything else happens:

    jax.config.update("jax_enable_x64", True)""",
    question=Question(
        text="What does `jnp.asarray` make of the float64 array?",
        choices=("float32, silently", "float32, with a warning", "float64"),
    ),
    claim=(
        "Without x64 a float64 array becomes float32 without a warning; with"
        " x64 it stays float64."
    ),
    works=_truncated,
    conclude=_silently,
)
