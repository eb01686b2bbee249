"""Step 3: Received incompatible devices."""

from __future__ import annotations

from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.which_device import two_devices
from jaxtui.lessons.which_device.facts import SOURCE
from jaxtui.model import Shown, Snippet, Work


def _conflict(setting: Setting) -> tuple[Work, ...]:
    two = two_devices.find(setting)
    setup = f"""\
{two.code}\
b = jax.device_put(np.arange(4.0, dtype=np.float32), first)
c = jax.device_put(np.arange(4.0, dtype=np.float32), second)
add = jax.jit(lambda b, c: b + c)
"""
    snippet = Snippet(
        title="Two arrays on two devices",
        setup=setup,
        parts=(
            Shown(name="b + c", code="b + c", raises=True),
            Shown(name="add(b, c)", code="add(b, c)", raises=True),
            Shown(name="moved", code="add(jax.device_put(b, second), c)"),
            Shown(name="where", code="add(jax.device_put(b, second), c).devices()"),
        ),
        budget_seconds=3.0,
        cpu_devices=two.cpu_devices,
        device=None if two.cpu_devices else values.chosen(setting),
    )
    return (snippet,)


_REFUSAL = "Received incompatible devices for jitted computation"


def _incompatible(setting: Setting, outcome: Outcome) -> Conclusion:
    remark = two_devices.find(setting).remark
    rows = (
        Row(
            what="b + c",
            yours=values.shown(outcome, "b + c"),
            published="ValueError",
            remark=remark,
        ),
        Row(what="add(b, c), jitted", yours=values.shown(outcome, "add(b, c)")),
        Row(
            what="b moved, then added",
            yours=values.shown(outcome, "moved"),
            remark=f"device_put(b, second): on {values.shown(outcome, 'where')}",
        ),
    )
    names = ("b + c", "add(b, c)", "moved")
    if values.absent(outcome, *names):
        return words.inconclusive(setting, outcome, rows, "the values", many=True)
    refused = all(
        values.raised(outcome, name, "ValueError", _REFUSAL) for name in names[:2]
    )
    repaired = values.numbers(outcome, "moved") == (0.0, 2.0, 4.0, 6.0)
    if refused and repaired:
        takeaway = (
            f'It said: "{values.shown(outcome, "b + c", 240)}" Both arrays are '
            "committed, to different devices, and JAX does not choose for you which "
            "copy to make. The text names each argument, its shape and its device. "
            "One device_put repairs it."
        )
    else:
        takeaway = (
            f"On this JAX the sum gave {values.shown(outcome, 'b + c')} and the sum "
            f"after device_put {values.shown(outcome, 'moved')}."
        )
    answer = 0 if values.gave(outcome, "b + c") else 2 if refused else None
    return Conclusion(
        rows=rows, holds=refused and repaired, takeaway=takeaway, answer=answer
    )


STEP = Step(
    title="Received incompatible devices",
    prose="""\
Two arrays, each committed to another device:

    b = jax.device_put(x, first)
    c = jax.device_put(x, second)
    b + c

To add them, one has to travel. A library could copy it and say nothing. On a
machine with eight chips that would hide a transfer in each line of a program,
and nobody would know why it is slow.

The sum is tried eagerly and under jit, and once more after a `device_put`.
Where there is one device, the two are SIMULATED.""",
    question=Question(
        text="What does b + c do?",
        choices=(
            "It copies b to the second device",
            "It copies both to the host",
            "It raises an error",
        ),
    ),
    claim=(
        "Arrays that are committed to different devices are refused, not "
        "copied in silence."
    ),
    works=_conflict,
    conclude=_incompatible,
    source=SOURCE,
)
