"""Step 2: Computation follows the data."""

from __future__ import annotations

from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.which_device import two_devices
from jaxtui.lessons.which_device.facts import SOURCE
from jaxtui.model import Shown, Snippet, Work


def _placement(setting: Setting) -> tuple[Work, ...]:
    two = two_devices.find(setting)
    setup = f"""\
{two.code}\
a = jnp.arange(4.0)              # nobody has placed it
b = jax.device_put(a, second)    # placed: committed to its device
"""
    snippet = Snippet(
        title="Where arrays and results live",
        setup=setup,
        parts=(
            Shown(name="a", code="a.devices(), a.committed"),
            Shown(name="b", code="b.devices(), b.committed"),
            Shown(name="a + b", code="(a + b).devices(), (a + b).committed"),
            Shown(name="jit", code="jax.jit(jnp.sin)(b).devices()"),
            Shown(name="follows", code="(a + b).devices() == {second}"),
            Shown(name="sticks", code="(a + b).committed and not a.committed"),
            Shown(name="host", code="type(jax.device_get(b))"),
        ),
        budget_seconds=3.0,
        cpu_devices=two.cpu_devices,
        device=None if two.cpu_devices else values.chosen(setting),
    )
    return (snippet,)


def _follows(setting: Setting, outcome: Outcome) -> Conclusion:
    remark = two_devices.find(setting).remark
    rows = (
        Row(what="a: devices, committed", yours=values.shown(outcome, "a")),
        Row(what="b = device_put(a, second)", yours=values.shown(outcome, "b")),
        Row(what="a + b", yours=values.shown(outcome, "a + b"), remark=remark),
        Row(what="jax.jit(jnp.sin)(b)", yours=values.shown(outcome, "jit")),
        Row(what="jax.device_get(b)", yours=values.shown(outcome, "host")),
    )
    if values.absent(outcome, "a", "b", "a + b", "follows", "sticks"):
        return words.inconclusive(setting, outcome, rows, "the values", many=True)
    holds = values.true(outcome, "follows", "sticks")
    takeaway = (
        f"a + b is {values.shown(outcome, 'a + b')}: computed where b was put, and "
        "committed to that device as well. An array that nobody has placed goes along; "
        "computation follows the data."
        if holds
        else f"Here a + b is {values.shown(outcome, 'a + b')}, which is not where b "
        "was put; this JAX places results by another rule."
    )
    if remark:
        takeaway += f" ({_upper(remark)}.)"
    answer = 1 if values.true(outcome, "follows") else 0
    if not values.gave(outcome, "a + b"):
        answer = 2
    return Conclusion(rows=rows, holds=holds, takeaway=takeaway, answer=answer)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


STEP = Step(
    title="Computation follows the data",
    prose="""\
`jax.device_put(a, device)` returns the array on that device, and commits it
there. An array that nobody has placed is uncommitted: it lies on the default
device, but may move.

    a = jnp.arange(4.0)
    b = jax.device_put(a, second)

No function takes a device to compute on. The operands decide. Where there is
only one device, this step runs in a process of its own with two SIMULATED
CPU devices: the rules are the same, the speed means nothing.""",
    question=Question(
        text="a is uncommitted, b is on the second device. Where is a + b?",
        choices=(
            "On the first, the default",
            "On the second, where b is",
            "Nowhere: it raises",
        ),
    ),
    claim=("A result lies where the committed operand lies, and is committed too."),
    works=_placement,
    conclude=_follows,
    source=SOURCE,
)
