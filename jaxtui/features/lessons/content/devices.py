"""The device that computes: the place of arrays, and a benchmark that got it wrong."""

from __future__ import annotations

from jaxtui import format as fmt
from jaxtui.features.lessons.base import Conclusion, Row, Setting
from jaxtui.features.lessons.figures import Figures, count, over, which
from jaxtui.features.lessons.trial import Code, Trial, lesson, size
from jaxtui.format import seconds

SLOWER = 1.5
"""The factor by which integers must be slower."""

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
    row, shown = figures.row, figures.shown
    absent = [name for name in FACTS if figures.text(name) == "None"]
    holds, went = figures.is_true("on the first"), shown("unplaced")
    why = (
        ": the default device, unless jax.default_device says otherwise"
        if holds
        else ", which is not the first: jax.default_device is set"
    )
    facts = (
        row(
            f"its {name}",
            name,
            published,
            "only a TPU has this" if name in absent else "",
        )
        for name, published in FACTS.items()
    )
    return Conclusion(
        holds=holds,
        answer=0 if holds else None,
        rows=(
            *facts,
            row("jax.devices()", "devices", "8", "of all processes"),
            row("jax.local_devices()", "local", "8", "of this process"),
            row("jnp.ones(3).devices()", "unplaced"),
        ),
        sentences=(
            f"JAX sees {shown('devices')} devices here, the first of platform "
            f"{shown('platform')}.",
            f"jnp.ones(3) went to {went}{why}.",
            "It has no coords and no core_on_chip: those are the position of a TPU's "
            "chip in its network, and the core on the chip."
            if "coords" in absent
            else "",
        ),
    )


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
    given=lambda setting: _two(setting)[0],
    cpu_devices=lambda setting: _two(setting)[2],
)


def _following(figures: Figures) -> Conclusion:
    row, _, remark = figures.row, *_two(figures.setting)[:2]
    follows, ran = figures.is_true("follows"), figures.succeeded("a + b")
    holds, where = follows and figures.is_true("sticks"), figures.shown("a + b")
    return Conclusion(
        holds=holds,
        answer=2 if not ran else 1 if follows else 0,
        rows=(
            row("a: devices, committed", "a"),
            row("b = device_put(a, second)", "b"),
            row("a + b", "a + b", remark=remark),
            row("jax.jit(jnp.sin)(b)", "jit"),
            row("jax.device_get(b)", "host"),
        ),
        sentences=(
            f"a + b is {where}: computed where b was put, and committed to that device "
            "as well."
            if holds
            else f"Here a + b is {where}, which is not where b was put; this JAX "
            "places results by another rule.",
            f"({remark[:1].upper()}{remark[1:]}.)" if remark else "",
        ),
    )


def _incompatible(figures: Figures) -> Conclusion:
    row, remark = figures.row, _two(figures.setting)[1]
    refused = all(
        figures.failed_with(name, "ValueError", REFUSAL)
        for name in ("b + c", "add(b, c)")
    )
    holds = refused and figures.numbers("moved") == (0, 2, 4, 6)
    moved = f"device_put(b, second): on {figures.shown('where')}"
    return Conclusion(
        holds=holds,
        answer=0 if figures.succeeded("b + c") else 2 if refused else None,
        rows=(
            row("b + c", "b + c", "ValueError", remark),
            row("add(b, c), jitted", "add(b, c)"),
            row("b moved, then added", "moved", remark=moved),
        ),
        sentences=(
            f'It said: "{figures.shown("b + c", 240)}"'
            if holds
            else f"On this JAX the sum gave {figures.shown('b + c')} and the sum after "
            f"device_put {figures.shown('moved')}.",
        ),
    )


# The snippet that went round.


def _bugs(figures: Figures) -> Conclusion:
    last, exact, wrong = (figures[name] for name in ("last", "exact", "wrong"))
    gpu, cpu = (figures.shown(f"{which} line").strip("{}") for which in ("GPU", "CPU"))
    # Of a small product the first row is right, and the last one is not.
    overflowed, dtype = last != exact, figures.shown("dtype")
    return Conclusion(
        holds=overflowed and gpu == cpu,
        answer=2 if wrong >= 0.9 else 1 if wrong > 0 else 0,
        rows=(
            figures.row("a.dtype", "dtype"),
            Row("last number", count(last), remark=f"exact: {count(exact)}"),
            Row("wrong in the first row", fmt.percent(wrong)),
            Row('"GPU" ran on', gpu),
            Row('"CPU" ran on', cpu),
        ),
        sentences=(
            f"Bug 1: a is {dtype}, because range gives integers and JAX's are 32 bits "
            "wide."
            if overflowed
            else f"At this size nothing overflowed: the last number is {count(last)}.",
            f"The last number should be {count(exact)} and came out as {count(last)}; "
            f"{fmt.percent(wrong)} of the first row are wrong. Nothing warned."
            if overflowed
            else "",
            f"Bug 2: both lines ran on {cpu}. The name in a comment moves no data."
            if gpu == cpu
            else "",
        ),
    )


def _paired(setting: Setting) -> bool:
    """Return whether there are an accelerator and a CPU to compare."""
    return setting.accelerated and setting.processor is not None


def _repair(setting: Setting) -> str:
    cpu = "jax.devices('cpu')[0]" if _paired(setting) else "None"
    return f"{size(setting)}\ncpu = {cpu}"


def _repaired(figures: Figures) -> Conclusion:
    row, gpu = figures.row, figures.setting.accelerated
    whole, single, cpu = figures["int32"], figures["float32"], figures["CPU"]
    place, there = (figures.shown(name).strip("{}") for name in ("here", "there"))
    factor, paired = figures.ratio("CPU", "float32"), not figures.missing("CPU")
    published, on = "6.45 ms GPU, 192 ms CPU", f"on {place}"
    beside = (
        f"With f_cpu on the CPU the comparison is real: {seconds(cpu)} there, "
        f"{figures.times('CPU', 'float32')} the accelerator's time."
    )
    return Conclusion(
        holds=whole >= SLOWER * single,
        answer=which(over(whole, single), 1 / SLOWER, SLOWER),
        rows=(
            row("int32, as published", "int32", published, on),
            row("float32, repaired", "float32", remark=on),
            row("float32 on the CPU", "CPU", remark=there)
            if gpu
            else row("float32 on the CPU", "float32", remark="the same line"),
            Row(
                "accelerator against CPU",
                factor if gpu else fmt.ABSENT,
                "30×",
                "" if gpu else "needs an accelerator",
            ),
        ),
        sentences=(
            f"On {place} the int32 product took {seconds(whole)} and the float32 "
            f"product {seconds(single)}: {figures.times('int32', 'float32')}.",
            beside if paired else "",
            "Without an accelerator there is nothing to compare."
            if not paired and not gpu
            else "",
        ),
    )


LESSON = lesson(
    "devices",
    {
        "What a device reports": Trial(
            _facts,
            Code(2.0, device=lambda _: None),
            needs=("on the first", *FACTS, "devices", "unplaced"),
        ),
        "Computation follows the data": Trial(
            _following, TWO, needs=("follows", "sticks", "a", "b", "a + b")
        ),
        "Received incompatible devices": Trial(
            _incompatible, TWO, needs=("b + c", "add(b, c)", "moved")
        ),
        "Find the bugs": Trial(
            _bugs,
            Code(6.0, size),
            needs=("wrong", "last", "exact"),
        ),
        "The snippet repaired": Trial(
            _repaired,
            Code(
                6.0,
                _repair,
                without=lambda s: () if _paired(s) else ("CPU", "there"),
            ),
            needs=("int32", "float32"),
        ),
    },
    sizes={"cpu": 1000},
    minimum=100,
    maximum=3000,
)
