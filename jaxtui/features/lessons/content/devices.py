"""The device that computes: the place of arrays, and a benchmark that got it wrong."""

from __future__ import annotations

from bisect import bisect

from jaxtui.core import format as fmt
from jaxtui.core.format import seconds
from jaxtui.features.lessons.base import Conclusion, Setting
from jaxtui.features.lessons.figures import Figures, count, over
from jaxtui.features.lessons.trial import Code, Trial, lesson, size

FACTS = {
    "id": "0",
    "process_index": "0",
    "platform": "tpu",
    "device_kind": "",
    "coords": "(0,0,0)",
    "core_on_chip": "0",
}
"""The attributes of a device, and their published values."""

REFUSAL = "Received incompatible devices for jitted computation"


def _facts(figures: Figures) -> Conclusion:
    absent = [name for name in FACTS if figures.text(name) == "None"]
    holds, went = bool(figures["on the first"]), figures.text("unplaced")
    only = dict.fromkeys(absent, "only a TPU has this")
    rows = figures.table(
        *(
            (f"its {name}", name, published, only.get(name, ""))
            for name, published in FACTS.items()
        ),
        ("jax.devices()", "devices", "8", "of all processes"),
        ("jax.local_devices()", "local", "8", "of this process"),
        ("jnp.ones(3).devices()", "unplaced"),
    )
    why = ": the default device, unless jax.default_device says otherwise"
    if not holds:
        why = ", which is not the first: jax.default_device is set"
    sentences = (
        f"JAX sees {figures.text('devices')} devices here, the first of platform"
        f" {figures.text('platform')}.",
        f"jnp.ones(3) went to {went}{why}.",
        "It has no coords and no core_on_chip: those are the position of a TPU's chip"
        " in its network, and the core on the chip."
        if "coords" in absent
        else "",
    )
    return Conclusion(holds, 0 if holds else None, rows, sentences)


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


TWO = Code(
    given=lambda setting: _two(setting)[0], cpu_devices=lambda setting: _two(setting)[2]
)


def _following(figures: Figures) -> Conclusion:
    remark, where = _two(figures.setting)[1], figures.text("a + b")
    follows, sticks = bool(figures["follows"]), bool(figures["sticks"])
    rows = figures.table(
        ("a: devices, committed", "a"),
        ("b = device_put(a, second)", "b"),
        ("a + b", "a + b", "", remark),
        ("jax.jit(jnp.sin)(b)", "jit"),
        ("jax.device_get(b)", "host"),
    )
    sentences = (
        f"a + b is {where}: computed where b was put, and committed to that device as"
        " well."
        if follows and sticks
        else f"Here a + b is {where}, which is not where b was put; this JAX places"
        " results by another rule.",
        f"({remark[:1].upper()}{remark[1:]}.)" if remark else "",
    )
    return Conclusion(follows and sticks, 1 if follows else 0, rows, sentences)


def _incompatible(figures: Figures) -> Conclusion:
    remark, sums = _two(figures.setting)[1], ("b + c", "add(b, c)")
    refused = all(figures.raised(name, "ValueError", REFUSAL) for name in sums)
    holds = refused and figures.numbers("moved") == (0, 2, 4, 6)
    moved = f"device_put(b, second): on {figures.cell('where')}"
    rows = figures.table(
        ("b + c", "b + c", "ValueError", remark),
        ("add(b, c), jitted", "add(b, c)"),
        ("b moved, then added", "moved", "", moved),
    )
    sentence = (
        f'It said: "{figures.text("b + c", 240)}"'
        if holds
        else f"On this JAX the sum gave {figures.text('b + c')} and the sum after"
        f" device_put {figures.text('moved')}."
    )
    answer = 0 if figures.succeeded("b + c") else 2 if refused else None
    return Conclusion(holds, answer, rows, [sentence])


# The snippet that went round.


def _bugs(figures: Figures) -> Conclusion:
    last, exact, wrong = (figures[name] for name in ("last", "exact", "wrong"))
    gpu, cpu = (figures.text(f"{name} line").strip("{}") for name in ("GPU", "CPU"))
    rows = figures.table(
        ("a.dtype", "dtype"),
        ("last number", (count(last),), "", f"exact: {count(exact)}"),
        ("wrong in the first row", (fmt.percent(wrong),)),
        ('"GPU" ran on', (gpu,)),
        ('"CPU" ran on', (cpu,)),
    )
    sentences = [f"At this size nothing overflowed: the last number is {count(last)}."]
    # Of a small product the first row is right, and the last one is not.
    if last != exact:
        sentences = [
            f"Bug 1: a is {figures.text('dtype')}, because range gives integers and"
            " JAX's are 32 bits wide.",
            f"The last number should be {count(exact)} and came out as {count(last)};"
            f" {fmt.percent(wrong)} of the first row are wrong. Nothing warned.",
        ]
    if gpu == cpu:
        moved = "The name in a comment moves no data"
        sentences.append(f"Bug 2: both lines ran on {cpu}. {moved}.")
    answer = 2 if wrong >= 0.9 else 1 if wrong > 0 else 0
    return Conclusion(last != exact and gpu == cpu, answer, rows, sentences)


def _paired(setting: Setting) -> bool:
    """Return whether there are an accelerator and a CPU to compare."""
    return setting.accelerated and setting.processor is not None


def _repair(setting: Setting) -> str:
    cpu = "jax.devices('cpu')[0]" if _paired(setting) else "None"
    return f"{size(setting)}\ncpu = {cpu}"


def _repaired(figures: Figures) -> Conclusion:
    gpu, whole, single = (
        figures.setting.accelerated,
        figures["int32"],
        figures["float32"],
    )
    place = figures.text("here").strip("{}")
    on, there = f"on {place}", str(figures.cell("there")).strip("{}")
    cpu = ("float32 on the CPU", "float32", "", "the same line")
    factor = ("accelerator against CPU", (fmt.ABSENT,), "30×", "needs an accelerator")
    beside = "Without an accelerator there is nothing to compare."
    if gpu:
        cpu = ("float32 on the CPU", "CPU", "", there)
        ratio = figures.ratio("CPU", "float32")
        factor = ("accelerator against CPU", (ratio,), "30×", "")
        beside = ""
    if figures.has("CPU"):
        beside = (
            f"With f_cpu on the CPU the comparison is real: {seconds(figures['CPU'])}"
            f" there, {figures.times('CPU', 'float32')} the accelerator's time."
        )
    rows = figures.table(
        ("int32, as published", "int32", "6.45 ms GPU, 192 ms CPU", on),
        ("float32, repaired", "float32", "", on),
        cpu,
        factor,
    )
    sentence = (
        f"On {place} the int32 product took {seconds(whole)} and the float32 product"
        f" {seconds(single)}: {figures.times('int32', 'float32')}."
    )
    answer = bisect((1 / 1.5, 1.5), over(whole, single))
    return Conclusion(whole >= 1.5 * single, answer, rows, (sentence, beside))


LESSON = lesson(
    "devices",
    Trial(_facts, Code(2.0, device=lambda _: None)),
    Trial(_following, TWO),
    Trial(_incompatible, TWO),
    Trial(_bugs, Code(6.0, size)),
    Trial(
        _repaired,
        Code(6.0, _repair, without=lambda s: () if _paired(s) else ("CPU", "there")),
    ),
    sizes={"cpu": 1000},
    limits=(100, 3000),
)
