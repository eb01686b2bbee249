"""Which device computes: where arrays live, and a benchmark that got it wrong."""

from __future__ import annotations

from collections.abc import Mapping

from jaxtui.lessons.base import Setting
from jaxtui.lessons.figures import (
    All,
    AtLeast,
    Equals,
    Figures,
    Holds,
    IsTrue,
    Present,
    Raises,
    Value,
    bracket,
)
from jaxtui.lessons.trial import Code, Trial, lesson

SLOWER = 1.5
"""How many times slower integers must be before the lesson says that they are."""

FACTS = ("id", "process_index", "platform", "device_kind", "coords", "core_on_chip")

REFUSAL = "Received incompatible devices for jitted computation"


def _missing_facts(figures: Figures) -> Mapping[str, Value]:
    """What only a TPU's device has."""
    return {f"no {name}": figures.text(name) == "None" for name in FACTS}


# Two devices of this machine, or two that are simulated.


def _two(setting: Setting) -> tuple[str, str, int | None]:
    """Lines that bind ``first`` and ``second``, a remark, and how many to simulate."""
    platform = setting.platform
    alike = [d for d in setting.devices if d.platform == platform and d.addressable]
    if len(alike) > 1:
        simulated = any(device.simulated for device in alike)
        return (
            f"first, second = jax.local_devices(backend='{platform}')[:2]",
            "SIMULATED CPU devices" if simulated else "",
            None,
        )
    if setting.accelerated and setting.processor:
        return (
            f"first = jax.devices('{platform}')[0]\nsecond = jax.devices('cpu')[0]",
            "the second is the host's CPU",
            None,
        )
    return (
        "first, second = jax.devices()",
        "SIMULATED: two CPU devices in one process",
        2,
    )


def _pair_remark(figures: Figures) -> Mapping[str, Value]:
    _, remark, _ = _two(figures.setting)
    return {"remark": remark, "Remark": remark[:1].upper() + remark[1:]}


TWO = Code(
    names=lambda setting: {"two": _two(setting)[0]},
    cpu_devices=lambda setting: _two(setting)[2],
)


def _place_answer(figures: Figures) -> int:
    if not figures.succeeded("a + b"):
        return 2
    return 1 if figures.all_true("follows") else 0


REFUSED = All(
    Raises("b + c", "ValueError", REFUSAL), Raises("add(b, c)", "ValueError", REFUSAL)
)


def _refusal_answer(figures: Figures) -> int | None:
    if figures.succeeded("b + c"):
        return 0
    return 2 if REFUSED.holds(figures) else None


# The snippet that went round.


def _bug_figures(figures: Figures) -> Mapping[str, Value]:
    return {
        "GPU place": figures.shown("GPU line").strip("{}"),
        "CPU place": figures.shown("CPU line").strip("{}"),
        # Of a small product the first row is right, and the last one is not.
        "overflowed": figures["last"] != figures["exact"],
        "same": figures.text("GPU line") == figures.text("CPU line"),
    }


def _wrong_answer(figures: Figures) -> int:
    wrong = figures["wrong"] or 0.0
    return 2 if wrong >= 0.9 else 1 if wrong > 0 else 0


F_CPU = "\nf_cpu = jax.device_put(f, jax.devices('cpu')[0])"


def _paired(setting: Setting) -> bool:
    """Whether there are an accelerator and a CPU to compare."""
    return setting.accelerated and setting.processor is not None


def _place_names(figures: Figures) -> Mapping[str, Value]:
    return {
        "place": figures.shown("here").strip("{}"),
        "CPU place": figures.shown("there").strip("{}"),
    }


LESSON = lesson(
    "devices",
    {
        "What a device says of itself": Trial(
            code=Code(budget=2.0, device=lambda _: None),
            derive=_missing_facts,
            claim=All(IsTrue("on the first"), Present(*FACTS, "devices", "unplaced")),
            answer=lambda figures: 0 if figures["holds"] else None,
        ),
        "Computation follows the data": Trial(
            code=TWO,
            derive=_pair_remark,
            claim=All(IsTrue("follows", "sticks"), Present("a", "b", "a + b")),
            answer=_place_answer,
        ),
        "Received incompatible devices": Trial(
            code=TWO,
            derive=_pair_remark,
            claim=All(REFUSED, Equals("moved", (0, 2, 4, 6))),
            answer=_refusal_answer,
        ),
        "Find the bugs": Trial(
            code=Code(budget=6.0, memory=lambda n: 24 * n * n + 36 * n * n),
            derive=_bug_figures,
            claim=Holds(
                lambda f: f.all_true("overflowed", "same"), "wrong", "last", "exact"
            ),
            answer=_wrong_answer,
        ),
        "The snippet repaired": Trial(
            code=Code(
                budget=6.0,
                memory=lambda n: 24 * n * n + 40 * n * n,
                names=lambda setting: {"f_cpu": F_CPU if _paired(setting) else ""},
                without=lambda s: () if _paired(s) else ("CPU", "there"),
            ),
            derive=_place_names,
            claim=AtLeast("int32", SLOWER, "float32"),
            answer=bracket("int32", "float32", 1 / SLOWER, SLOWER),
        ),
    },
    sizes={"cpu": 1000},
    minimum=100,
    maximum=3000,
)
