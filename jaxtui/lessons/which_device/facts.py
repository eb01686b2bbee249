"""Step 1: What a device says of itself."""

from __future__ import annotations

from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Part, Shown, Snippet, Work

SOURCE = (
    "G. Sapunov, Deep Learning with JAX, notebooks of chapter 3 (Colab, JAX 0.4.13 "
    "and 0.4.14, 2023): https://github.com/che-shr-cat/JAX-in-Action"
)

FACTS = ("id", "process_index", "platform", "device_kind", "coords", "core_on_chip")

_PUBLISHED = {
    "id": "0",
    "process_index": "0",
    "platform": "tpu",
    "coords": "(0,0,0)",
    "core_on_chip": "0",
}
"""The first device of a TPU v2-8."""


def _devices(setting: Setting) -> tuple[Work, ...]:
    parts: list[Part] = [
        Shown(name=name, code=f"getattr(first, '{name}', None)") for name in FACTS
    ]
    parts += [
        Shown(name="devices", code="len(jax.devices())"),
        Shown(name="local", code="len(jax.local_devices())"),
        Shown(name="unplaced", code="jnp.ones(3).devices()"),
        Shown(name="on the first", code="jnp.ones(3).devices() == {first}"),
    ]
    snippet = Snippet(
        title="What the first device says of itself",
        setup="first = jax.local_devices()[0]\n",
        parts=tuple(parts),
        budget_seconds=2.0,
    )
    return (snippet,)


def _first(setting: Setting, outcome: Outcome) -> Conclusion:
    rows = [
        Row(
            what=f"its {name}",
            yours=values.shown(outcome, name),
            published=_PUBLISHED.get(name, ""),
            remark="only a TPU has this" if _is_none(outcome, name) else "",
        )
        for name in FACTS
    ]
    rows += [
        Row(
            what="jax.devices()",
            yours=values.shown(outcome, "devices"),
            published="8",
            remark="of all processes",
        ),
        Row(
            what="jax.local_devices()",
            yours=values.shown(outcome, "local"),
            published="8",
            remark="of this process",
        ),
        Row(what="jnp.ones(3).devices()", yours=values.shown(outcome, "unplaced")),
    ]
    if values.absent(outcome, *FACTS, "devices", "unplaced", "on the first"):
        return words.inconclusive(setting, outcome, rows, "the values", many=True)
    holds = values.true(outcome, "on the first")
    takeaway = [
        f"Devices that JAX sees here: {values.shown(outcome, 'devices')}, the first "
        f"of platform {values.shown(outcome, 'platform')}.",
        f"jnp.ones(3) went to {values.shown(outcome, 'unplaced')}: the default device, "
        "unless jax.default_device says otherwise."
        if holds
        else f"jnp.ones(3) went to {values.shown(outcome, 'unplaced')}, which is not "
        "the first: somebody has set jax.default_device.",
    ]
    if _is_none(outcome, "coords"):
        takeaway.append(
            "It has no coords and no core_on_chip. They are the place of a TPU's chip "
            "in the torus and the core on it; portable code asks with getattr."
        )
    return Conclusion(
        rows=tuple(rows),
        holds=holds,
        takeaway=" ".join(takeaway),
        answer=0 if holds else None,
    )


def _is_none(outcome: Outcome, name: str) -> bool:
    return outcome.text(name) == "None"


STEP = Step(
    title="What a device says of itself",
    prose="""\
`jax.devices()` lists the devices of the default platform, those of other
processes included; `jax.local_devices()` lists the ones that this process
can use. Each has an `id` and the `process_index` of the process that owns it.

A TPU adds where its chip sits: `coords`, the position in the network of
chips, and `core_on_chip`. Other devices do not have these attributes, so the
code asks with `getattr(device, "coords", None)`.

The first device is also the default device: where data goes that nobody
places. That is checked with `jnp.ones(3)`.""",
    question=Question(
        text="Nobody says where. On which device is jnp.ones(3)?",
        choices=(
            "On the first one",
            "On all of them, in parts",
            "On none until it is used",
        ),
    ),
    claim="An array that nobody places is made on the first local device.",
    works=_devices,
    conclude=_first,
    source=f"{SOURCE} (TPU v2-8)",
)
