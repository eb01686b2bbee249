"""Which device computes: where arrays live, and a benchmark that got it wrong."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtui import format as fmt
from jaxtui.lessons import values, words
from jaxtui.lessons.base import Conclusion, Lesson, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Part, Shown, Snippet, Timed, Work

SOURCE = (
    "G. Sapunov, Deep Learning with JAX, notebooks of chapter 3 (Colab, JAX 0.4.13 "
    "and 0.4.14, 2023): https://github.com/che-shr-cat/JAX-in-Action"
)

SLOWER = 1.5
"""How many times slower integers must be before the lesson says that they are."""

FACTS = ("id", "process_index", "platform", "device_kind", "coords", "core_on_chip")

_PUBLISHED = {
    "id": "0",
    "process_index": "0",
    "platform": "tpu",
    "coords": "(0,0,0)",
    "core_on_chip": "0",
}
"""The first device of a TPU v2-8."""


# Step 1


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


# Steps 2 and 3


@dataclass(frozen=True)
class _Two:
    """Two devices to move data between."""

    code: str
    """Binds ``first`` and ``second``."""
    remark: str
    cpu_devices: int | None = None


def _two(setting: Setting) -> _Two:
    """Two devices of one kind, or an accelerator and the CPU, or two simulated ones."""
    platform = setting.platform
    alike = [d for d in setting.devices if d.platform == platform and d.addressable]
    if len(alike) > 1:
        simulated = any(device.simulated for device in alike)
        return _Two(
            code=f"first, second = jax.local_devices(backend='{platform}')[:2]\n",
            remark="SIMULATED CPU devices" if simulated else "",
        )
    if setting.accelerated and words.processor(setting):
        return _Two(
            code=f"first = jax.devices('{platform}')[0]\n"
            "second = jax.devices('cpu')[0]\n",
            remark="the second is the host's CPU",
        )
    return _Two(
        code="first, second = jax.devices()\n",
        remark="SIMULATED: two CPU devices in one process",
        cpu_devices=2,
    )


def _placement(setting: Setting) -> tuple[Work, ...]:
    two = _two(setting)
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
    remark = _two(setting).remark
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


def _conflict(setting: Setting) -> tuple[Work, ...]:
    two = _two(setting)
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
    remark = _two(setting).remark
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


# Steps 4 and 5


def _snippet_setup(n: int) -> str:
    return f"a = jnp.array(range({n} * {n})).reshape({n}, {n})\n"


def _suspect(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    setup = f"""\
{_snippet_setup(n)}\
exact = np.arange({n} * {n}, dtype=np.int64).reshape({n}, {n})
"""
    snippet = Snippet(
        title="The published snippet, checked",
        setup=setup,
        parts=(
            Shown(name="dtype", code="a.dtype"),
            Shown(name="GPU line", code="jnp.dot(a, a).devices()"),
            Shown(name="CPU line", code="jnp.dot(a, a).devices()"),
            Shown(name="last", code="jnp.dot(a, a)[-1, -1]"),
            Shown(name="exact", code="exact[-1] @ exact[:, -1]"),
            Shown(
                name="wrong",
                code="np.mean(np.asarray(jnp.dot(a, a)[0]) != exact[0] @ exact)",
            ),
        ),
        budget_seconds=6.0,
        memory_bytes=24 * n * n + 36 * n * n,
        device=values.chosen(setting),
    )
    return (snippet,)


def _overflows(setting: Setting, outcome: Outcome) -> Conclusion:
    wrong = outcome.number("wrong")
    last, exact = outcome.number("last"), outcome.number("exact")
    rows = (
        Row(what="a.dtype", yours=values.shown(outcome, "dtype")),
        Row(
            what="last number",
            yours=values.whole(last),
            remark=f"exact: {values.whole(exact)}",
        ),
        Row(
            what="wrong in the first row",
            yours=fmt.percent(wrong),
        ),
        Row(what='"GPU" ran on', yours=_place(outcome, "GPU line")),
        Row(what='"CPU" ran on', yours=_place(outcome, "CPU line")),
    )
    if wrong is None or last is None or exact is None:
        return words.inconclusive(setting, outcome, rows, "the product")
    overflowed = wrong > 0 and last != exact
    same = outcome.text("GPU line") == outcome.text("CPU line")
    takeaway = [
        f"Bug 1: a is {values.shown(outcome, 'dtype')}, because range gives integers "
        f"and JAX's are 32 bits wide. The last number should be {values.whole(exact)} "
        f"and came out as {values.whole(last)}; {fmt.percent(wrong)} of the first row "
        "are wrong. Nothing warned."
        if overflowed
        else "At this size nothing overflowed: the last number is "
        f"{values.whole(last)}."
    ]
    if same:
        takeaway.append(
            f"Bug 2: both lines ran on {_place(outcome, 'CPU line')}. The name in a "
            "comment moves no data."
        )
    answer = 2 if wrong >= 0.9 else 1 if wrong > 0 else 0
    return Conclusion(
        rows=rows,
        holds=overflowed and same,
        takeaway=" ".join(takeaway),
        answer=answer,
    )


def _place(outcome: Outcome, name: str) -> str:
    return values.shown(outcome, name).strip("{}")


def _repaired(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    setup = f"""\
{_snippet_setup(n)}\
f = jax.random.uniform(jax.random.key(0), ({n}, {n}))
"""
    parts: list[Part] = [
        Timed(name="int32", code="jnp.dot(a, a).block_until_ready()"),
        Timed(name="float32", code="jnp.dot(f, f).block_until_ready()"),
        Shown(name="here", code="f.devices()"),
    ]
    if setting.accelerated and words.processor(setting):
        setup += "f_cpu = jax.device_put(f, jax.devices('cpu')[0])\n"
        parts += [
            Timed(name="CPU", code="jnp.dot(f_cpu, f_cpu).block_until_ready()"),
            Shown(name="there", code="f_cpu.devices()"),
        ]
    snippet = Snippet(
        title="The snippet repaired: float32, and data where the comment says",
        setup=setup,
        parts=tuple(parts),
        budget_seconds=6.0,
        memory_bytes=24 * n * n + 40 * n * n,
        device=values.chosen(setting),
    )
    return (snippet,)


def _speed(setting: Setting, outcome: Outcome) -> Conclusion:
    whole, real = outcome.seconds("int32"), outcome.seconds("float32")
    cpu = outcome.seconds("CPU")
    here = _place(outcome, "here")
    rows = (
        Row(
            what="int32, as published",
            yours=words.duration(whole),
            published="6.45 ms GPU, 192 ms CPU",
            remark=f"on {here}",
        ),
        Row(what="float32, repaired", yours=words.duration(real), remark=f"on {here}"),
        Row(
            what="float32 on the CPU",
            yours=words.duration(cpu if setting.accelerated else real),
            remark=_place(outcome, "there") if setting.accelerated else "the same line",
        ),
        Row(
            what="accelerator against CPU",
            yours=words.ratio(cpu, real) if setting.accelerated else words.ABSENT,
            published="30×",
            remark="" if setting.accelerated else words.NEEDS_ACCELERATOR,
        ),
    )
    if whole is None or real is None:
        return words.inconclusive(setting, outcome, rows, "the products", many=True)
    holds = whole >= SLOWER * real
    takeaway = [
        f"On {here} the int32 product took {words.duration(whole)} and the float32 "
        f"product {words.duration(real)}: {words.times(whole, real)}."
    ]
    if holds:
        takeaway.append(
            "Fast matrix products are made for floats; the published figures timed "
            "integers on both devices."
        )
    else:
        takeaway.append("Here the dtype makes no large difference; it does on others.")
    if cpu is not None:
        takeaway.append(
            f"With f_cpu on the CPU the comparison is one: {words.duration(cpu)} there,"
            f" {words.times(cpu, real)} the accelerator's time."
        )
    elif not setting.accelerated:
        takeaway.append(
            "How much an accelerator would gain cannot be said here: there is none."
        )
    answer = 2 if holds else 1 if whole > real / SLOWER else 0
    return Conclusion(
        rows=rows, holds=holds, takeaway=" ".join(takeaway), answer=answer
    )


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


LESSON = Lesson(
    name="devices",
    title="Which device computes?",
    summary="Where arrays live, what moves them, and a benchmark that got it wrong.",
    size_means="n of the n×n matrix in the published snippet",
    sizes={"cpu": 1000},
    minimum=100,
    maximum=3000,
    needs=(
        "An accelerator for the comparison with the CPU; two devices, which are "
        "simulated where there is one."
    ),
    steps=(
        Step(
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
        ),
        Step(
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
            claim=(
                "A result lies where the committed operand lies, and is committed too."
            ),
            works=_placement,
            conclude=_follows,
            source=SOURCE,
        ),
        Step(
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
        ),
        Step(
            title="Find the bugs",
            prose="""\
"The GPU is 30 times faster", says a snippet that went round:

    a = jnp.array(range(10**6)).reshape(1000, 1000)
    %timeit jnp.dot(a, a).block_until_ready()   # GPU
    %timeit jnp.dot(a, a).block_until_ready()   # CPU

The timing itself is right: both lines wait for the result. Two other things
are wrong with it. Look for them before you go on: what is in the matrix, and
where is the matrix?

The product is compared with NumPy's in 64-bit integers.""",
            question=Question(
                text="How many numbers of the product's first row are wrong?",
                choices=("None", "Some of them", "Nearly all of them"),
            ),
            claim=(
                "The product overflows int32, and both lines run on the same device."
            ),
            works=_suspect,
            conclude=_overflows,
            source=(
                f"{SOURCE}. The notebook multiplies the same int32 matrix; its CPU "
                "line does use a copy on the CPU."
            ),
        ),
        Step(
            title="The snippet repaired",
            prose="""\
Two repairs: random float32 numbers instead of integers, and for the line
called CPU a copy that is committed there.

    f = jax.random.uniform(jax.random.key(0), (1000, 1000))
    f_cpu = jax.device_put(f, jax.devices("cpu")[0])

The integer product is timed once more beside the float one, on the same
device: the dtype alone makes a difference, because the fast units and
libraries for matrix products are made for floats.

Without an accelerator the two float lines are one and the same, and the
row for the comparison stays empty.""",
            question=Question(
                text="On one device, how does int32 compare with float32?",
                choices=(
                    "At least 1.5 times faster",
                    "About the same",
                    "At least 1.5 times slower",
                ),
            ),
            claim=(
                "On one and the same device the int32 product takes at least 1.5 times "
                "as long as the float32 product."
            ),
            works=_repaired,
            conclude=_speed,
            source=f"{SOURCE}, 1000×1000 int32, a Colab GPU and its host's CPU",
        ),
    ),
)
