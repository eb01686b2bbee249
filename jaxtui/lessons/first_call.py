"""Where the first call goes: transfer, compile, run; and when that has paid."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxtui import format as fmt
from jaxtui.lessons import cases, race, words
from jaxtui.lessons.base import Conclusion, Lesson, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.race import Runner
from jaxtui.model import Experiment, Measurement, Phases, Shown, Snippet, Timed, Work
from jaxtui.plot import Picture

SOURCE = (
    "A published comparison on Google Colab, x·xᵀ of a 5000×5000 float32 matrix: "
    "GPU 155 µs, 2.16 s, 68.9 ms; TPU 164 µs, 837 ms, 16.5 ms; NumPy 1.61 s; "
    "JAX on CPU 3.49 s"
)

COLAB = (
    Runner(label="Colab NumPy", first_seconds=1.61, each_seconds=1.61, ghost=True),
    Runner(
        label="Colab GPU",
        first_seconds=155e-6 + 2.16,
        each_seconds=68.9e-3,
        ghost=True,
    ),
    Runner(
        label="Colab TPU",
        first_seconds=164e-6 + 0.837,
        each_seconds=16.5e-3,
        ghost=True,
    ),
)
"""The published runs, n = 5000; their compile has one run in it already."""

COSTLY = 1.25
"""How many later calls a first call must cost to say that compiling shows."""

_SLIP, _COPY, _SAME = "device_put(x)", "copy from NumPy", "same memory"
_FIRST, _COMPILE, _LATER = "first call", "compile alone", "later call"

_AGAIN = " again"
_KINDS = ("n×n float32", "n×(n+1) float32", "n×n bfloat16")
_TRACED = "traced"


# 1: the parts of the first call.


def _gram(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    asked = [cases.jax(setting.device, "gram", n), cases.numpy("gram", n)]
    cpu = words.processor(setting)
    if cpu is not None and cpu != setting.device:
        asked.append(cases.jax(cpu, "gram", n))
    return (Experiment(cases=tuple(asked), budget_seconds=3.0 * len(asked)),)


def _parts(setting: Setting, outcome: Outcome) -> Conclusion:
    jax = outcome.find(mode="jit", device=setting.device)
    rows = _part_rows(setting, outcome, jax)
    if jax is None or jax.ready is None or jax.phases.compile is None:
        return words.inconclusive(
            setting, outcome, rows, "the first call", "a later one"
        )
    phases, later = jax.phases, jax.ready.median
    cold = phases.cold_seconds
    times = cold / later
    holds = times >= COSTLY
    takeaway = (
        f"The first call cost {words.duration(cold)}, a later one "
        f"{words.duration(later)}: {words.times(cold, later)} as much. Before it ran, "
        f"JAX traced, lowered and compiled for {words.duration(_compiling(phases))}."
    )
    if not holds:
        takeaway += (
            " The work itself is so long here that compiling hardly shows, so the "
            "claim does not hold at this size."
        )
    return Conclusion(
        rows=rows,
        holds=holds,
        takeaway=takeaway,
        answer=0 if times < COSTLY else 1 if times < 10 else 2,
    )


def _part_rows(
    setting: Setting, outcome: Outcome, jax: Measurement | None
) -> tuple[Row, ...]:
    phases = jax.phases if jax else Phases()
    amount = 4.0 * setting.size**2
    moved = (
        words.bandwidth(amount, phases.transfer)
        if setting.accelerated
        else "a copy within this machine's memory"
    )
    published = "2.16 s GPU, 837 ms TPU"
    return (
        Row(
            what="transfer from NumPy",
            yours=words.duration(phases.transfer),
            published="155 µs GPU, 164 µs TPU",
            remark=moved,
        ),
        Row(what="trace", yours=words.duration(phases.trace)),
        Row(what="lower", yours=words.duration(phases.lower)),
        Row(
            what="compile",
            yours=words.duration(phases.compile),
            published=published,
            remark="published: with the first run",
        ),
        Row(what="first run", yours=words.duration(phases.first_call)),
        Row(
            what="a later call",
            yours=words.duration(words.ready(jax)),
            published="68.9 ms GPU, 16.5 ms TPU",
            remark=f"here n = {setting.size}, published n = 5000",
        ),
        _numpy_row(outcome),
        _cpu_row(setting, outcome),
    )


def _numpy_row(outcome: Outcome) -> Row:
    return Row(
        what="NumPy",
        yours=words.duration(outcome.ready(mode="numpy")),
        published="1.61 s",
        remark=words.trouble(outcome, mode="numpy"),
    )


def _cpu_row(setting: Setting, outcome: Outcome) -> Row:
    cpu = words.processor(setting)
    if cpu is None:
        seconds, remark = None, "needs JAX's CPU device, which is switched off here"
    else:
        seconds = outcome.ready(mode="jit", device=cpu)
        remark = words.trouble(outcome, mode="jit", device=cpu)
    return Row(
        what="JAX on CPU",
        yours=words.duration(seconds),
        published="3.49 s",
        remark=remark,
    )


def _compiling(phases: Phases) -> float:
    return phases.cold_seconds - (phases.first_call or 0.0)


# 2: the two slips of the published table.


def _slips(setting: Setting) -> tuple[Work, ...]:
    n = setting.size
    # On a CPU device_put may borrow NumPy's memory, and then nothing is sent at all.
    send = "jax.device_put(host)" if setting.accelerated else "jnp.array(host)"
    setup = f"""\
host = np.random.default_rng(0).standard_normal(({n}, {n}), dtype=np.float32)
x = {send}
f = jax.jit(lambda x: x @ x.T)
g = jax.jit(lambda x: x @ x.T)
# The first compile of a process costs more than any other: it is none of these.
jax.jit(lambda x: x + 1)(x).block_until_ready()
"""
    parts = (
        Timed(name=_SLIP, code="jax.device_put(x).block_until_ready()"),
        Timed(name=_COPY, code=f"{send}.block_until_ready()"),
        Shown(
            name=_SAME,
            code="jax.device_put(x).unsafe_buffer_pointer()"
            " == x.unsafe_buffer_pointer()",
        ),
        Timed(name=_FIRST, code="f(x).block_until_ready()", once=True),
        Timed(name=_COMPILE, code="g.lower(x).compile()", once=True),
        Timed(name=_LATER, code="f(x).block_until_ready()"),
    )
    snippet = Snippet(
        title=f"A transfer that is none and a compile that runs, {n}×{n} float32",
        setup=setup,
        parts=parts,
        budget_seconds=4.0,
        memory_bytes=5 * 4 * n * n,
        device=setting.device,
    )
    return (snippet,)


def _two_slips(setting: Setting, outcome: Outcome) -> Conclusion:
    amount = 4.0 * setting.size**2
    slip, copy = outcome.seconds(_SLIP), outcome.seconds(_COPY)
    first, later = outcome.seconds(_FIRST), outcome.seconds(_LATER)
    alone, same = outcome.seconds(_COMPILE), outcome.text(_SAME)
    rows = (
        Row(
            what="device_put of a JAX array",
            yours=words.duration(slip),
            published="155 µs GPU, 164 µs TPU",
            remark=f"would be {words.bandwidth(amount, slip)}",
        ),
        Row(
            what="the same numbers from NumPy",
            yours=words.duration(copy),
            remark=f"{words.bandwidth(amount, copy)}, a real copy",
        ),
        Row(what="same memory afterwards", yours=same or words.ABSENT),
        Row(
            what="first call of f",
            yours=words.duration(first),
            published="2.16 s GPU, 837 ms TPU",
            remark="called compile in the table",
        ),
        Row(
            what="compile without a run",
            yours=words.duration(alone),
            remark="g.lower(x).compile()",
        ),
        Row(
            what="a later call of f",
            yours=words.duration(later),
            published="68.9 ms GPU, 16.5 ms TPU",
        ),
    )
    if slip is None or copy is None or first is None or later is None or same is None:
        return words.inconclusive(setting, outcome, rows, "the two slips", many=True)
    # Some runtimes tell no addresses; then the clocks have to do.
    nothing_moved = same != "False" and copy >= 2 * slip
    with_run = first > later
    takeaway = (
        f"device_put(x) took {words.duration(slip)} for {fmt.bytes_text(amount)}, "
        f"the copy from NumPy {words.duration(copy)}, {words.times(copy, slip)} as "
        "long. "
    )
    if same == "True":
        takeaway += "The array was there already, and the two share their memory. "
    elif same == "False":
        takeaway += "Here the result is an array of its own, so this was a copy too. "
    takeaway += (
        f"The first call took {words.duration(first)}, of which "
        f"{words.duration(later)} is what any call takes."
        if with_run
        else f"The first call took {words.duration(first)}, no longer than a later "
        f"one ({words.duration(later)}): nothing was left to compile."
    )
    return Conclusion(
        rows=rows,
        holds=nothing_moved and with_run,
        takeaway=takeaway,
        answer=0 if copy >= 2 * slip else 1,
    )


# 3: what compiles again.


def _shapes(setting: Setting) -> tuple[Work, ...]:
    n = _small(setting)
    setup = f"""\
traced = []

@jax.jit
def gram(x):
    traced.append(x.shape)  # Python runs this line only while JAX traces
    return x @ x.T

a = jax.random.uniform(jax.random.key(0), ({n}, {n}))
b = jax.random.uniform(jax.random.key(0), ({n}, {n + 1}))
c = a.astype(jnp.bfloat16)
# The first compile of a process costs more than any other: it is none of these.
jax.block_until_ready((b, jax.jit(lambda x: x + 1)(c)))
"""
    first = [
        Timed(name=kind, code=f"gram({name}).block_until_ready()", once=True)
        for kind, name in zip(_KINDS, "abc", strict=True)
    ]
    later = [
        Timed(name=kind + _AGAIN, code=f"gram({name}).block_until_ready()")
        for kind, name in zip(_KINDS, "abc", strict=True)
    ]
    snippet = Snippet(
        title=f"Which calls compile again, n = {n}",
        setup=setup,
        parts=(*first, *later, Shown(name=_TRACED, code="len(traced)")),
        budget_seconds=3.0,
        memory_bytes=8 * 4 * n * n,
        device=setting.device,
    )
    return (snippet,)


def _small(setting: Setting) -> int:
    """Small enough that compiling stands out."""
    return max(16, setting.size // 2)


def _compiled_again(setting: Setting, outcome: Outcome) -> Conclusion:
    traced = outcome.number(_TRACED)
    pairs = [(outcome.seconds(k), outcome.seconds(k + _AGAIN)) for k in _KINDS]
    rows: list[Row] = []
    for kind, (first, later) in zip(_KINDS, pairs, strict=True):
        rows.append(Row(what=f"{kind}, first call", yours=words.duration(first)))
        rows.append(
            Row(
                what=f"{kind}, later calls",
                yours=words.duration(later),
                remark=f"the first took {words.ratio(first, later)}",
            )
        )
    rows.append(
        Row(
            what="times that JAX traced",
            yours=words.ABSENT if traced is None else f"{traced:.0f}",
            remark="entries in the list traced",
        )
    )
    times = [words.quotient(first, later) for first, later in pairs]
    known = [each for each in times if each is not None]
    if traced is None or len(known) < len(_KINDS):
        return words.inconclusive(setting, outcome, rows, "the first calls", many=True)
    holds = traced == len(_KINDS) and min(known) >= COSTLY
    shown = words.listing([fmt.ratio(each) for each in known])
    takeaway = (
        f"JAX traced {traced:.0f} times for {len(_KINDS)} kinds of argument. The first "
        f"call of each kind took {shown} as long as its later calls."
    )
    takeaway += (
        " In a program whose shapes keep changing, that is paid again and again."
        if holds
        else " So not every new kind cost a visible compile here: at this size the "
        "work itself may be most of it."
    )
    return Conclusion(
        rows=tuple(rows),
        holds=holds,
        takeaway=takeaway,
        answer=2 if traced == len(_KINDS) else 0 if traced == 1 else None,
    )


# 4 and 5: the race.


def _race(op: str) -> Callable[[Setting], tuple[Work, ...]]:
    def works(setting: Setting) -> tuple[Work, ...]:
        size = _race_size(setting, op)
        jax, numpy = cases.jax(setting.device, op, size), cases.numpy(op, size)
        return (Experiment(cases=(jax, numpy), budget_seconds=6.0),)

    return works


def _race_size(setting: Setting, op: str) -> int:
    return setting.size if op == "gram" else setting.size**2


def _runners(outcome: Outcome) -> tuple[Runner | None, Runner | None]:
    jax = race.jax_runner(outcome.find(mode="jit"))
    return jax, race.numpy_runner(outcome.find(mode="numpy"))


def _race_picture(op: str) -> Callable[[Setting, Outcome], Picture | None]:
    def picture(setting: Setting, outcome: Outcome) -> Picture | None:
        jax, numpy = _runners(outcome)
        own = [runner for runner in (jax, numpy) if runner is not None]
        ghosts = race.recorded(setting, op)
        title = "seconds so far, after so many calls"
        if op == "gram" and not ghosts:
            ghosts = COLAB
            title += "; Colab: published, n = 5000"
        meet = race.meeting(jax, numpy) if jax and numpy else None
        return race.picture([*own, *ghosts], meet, title)

    return picture


def _race_rows(outcome: Outcome, published: Sequence[str]) -> tuple[Row, ...]:
    jax, numpy = _runners(outcome)
    meet = race.meeting(jax, numpy) if jax and numpy else None
    at = words.ABSENT if jax is None or numpy is None else _at(meet)
    return (
        Row(
            what="JAX, until its first result",
            yours=words.duration(jax.first_seconds if jax else None),
            published=published[0],
            remark=words.trouble(outcome, mode="jit") or "transfer, compile, run",
        ),
        Row(
            what="JAX, each later call",
            yours=words.duration(jax.each_seconds if jax else None),
            published=published[1],
        ),
        Row(
            what="NumPy, each call",
            yours=words.duration(numpy.each_seconds if numpy else None),
            published=published[2],
            remark=words.trouble(outcome, mode="numpy"),
        ),
        Row(
            what="JAX has caught up with",
            yours=at,
            published=published[3],
            remark="from the published figures" if published[3] else "",
        ),
    )


def _at(meet: int | None) -> str:
    return "never" if meet is None else f"call {fmt.count(meet)}"


def _published_meetings() -> str:
    numpy, gpu, tpu = COLAB
    return f"{_at(race.meeting(gpu, numpy))} GPU, {_at(race.meeting(tpu, numpy))} TPU"


def _behind(setting: Setting, outcome: Outcome) -> Conclusion:
    published = (
        "2.16 s GPU, 837 ms TPU",
        "68.9 ms GPU, 16.5 ms TPU",
        "1.61 s",
        _published_meetings(),
    )
    rows = _race_rows(outcome, published)
    jax, numpy = _runners(outcome)
    if jax is None or numpy is None:
        return words.inconclusive(setting, outcome, rows, "one side of the race")
    times = jax.first_seconds / numpy.each_seconds
    meet = race.meeting(jax, numpy)
    takeaway = (
        f"When JAX had its first result, after {words.duration(jax.first_seconds)}, "
        f"NumPy could have had {fmt.significant(times, 2)}. "
        f"{_ending(jax, numpy, meet)}"
    )
    if meet is None and not setting.accelerated:
        takeaway += (
            " NumPy does only half the work of x·xᵀ, because it notices the symmetry;"
            " the lesson numpy-or-jax looks into that."
        )
    return Conclusion(
        rows=rows,
        holds=times > 1,
        takeaway=takeaway,
        answer=_bracket(meet),
    )


def _caught_up(setting: Setting, outcome: Outcome) -> Conclusion:
    rows = _race_rows(outcome, ("", "", "", ""))
    jax, numpy = _runners(outcome)
    if jax is None or numpy is None:
        return words.inconclusive(setting, outcome, rows, "one side of the race")
    meet = race.meeting(jax, numpy)
    return Conclusion(
        rows=rows,
        holds=meet is not None and meet <= 1000,
        takeaway=_ending(jax, numpy, meet),
        answer=_bracket(meet),
    )


def _ending(jax: Runner, numpy: Runner, meet: int | None) -> str:
    each = (
        f"a later JAX call takes {words.duration(jax.each_seconds)}, a NumPy call "
        f"{words.duration(numpy.each_seconds)}"
    )
    if meet is None:
        return f"JAX never catches up here: {each}."
    if meet == 1:
        return f"JAX is ahead from the first call: {each}."
    return f"JAX has caught up with call {fmt.count(meet)}: {each}."


def _bracket(meet: int | None) -> int:
    if meet is None:
        return 3
    return 0 if meet <= 10 else 1 if meet <= 1000 else 2


_MEETINGS = ("Within 10 calls", "Within 1000 calls", "Later", "Never")

LESSON = Lesson(
    name="first-call",
    title="Where the first call goes",
    summary="Transfer, compile, run: what the first call pays, and when it has paid.",
    size_means="n of n×n",
    sizes={"cpu": 600, "gpu": 5000, "tpu": 5000},
    minimum=128,
    maximum=20_000,
    needs="The published GPU and TPU figures need an accelerator.",
    steps=(
        Step(
            title="The parts of a first call",
            prose="""\
Before JAX can answer for the first time, it has to do more than compute:

    transfer      the numbers go from NumPy to the device
    trace         Python runs once, and JAX writes down the operations
    lower         they become a program for the compiler
    compile       XLA turns it into machine code
    first run     the machine code runs for the first time

Later calls with the same shapes only run. So a first call says little about
the speed of a program, and a benchmark that contains one says little about
either. Here the function is the product x·xᵀ of an n×n matrix, and each
part has its own clock.""",
            question=Question(
                text="How much does the first call cost, transfer left aside?",
                choices=(
                    "About as much as a later one",
                    "Up to 10 times as much",
                    "More than 10 times as much",
                ),
            ),
            claim=(
                "The first call costs at least a quarter more than a later one, "
                "because it compiles."
            ),
            works=_gram,
            conclude=_parts,
            source=SOURCE,
        ),
        Step(
            title="Two slips in a published table",
            prose="""\
The published figures come with two slips, and this step repeats both.

The "transfer" of 155 µs is `jax.device_put(x)` of an `x` that was made by
JAX and lived on the device already. Sending 100 MB in 155 µs would take a
link of 645 GB/s. Nothing was sent: JAX returned the array it had.

The "compile" of 2.16 s is the first call, so it contains one whole run.
Compiling alone is `f.lower(x).compile()`, which runs nothing.

Beside them stand the real ones: a copy from a NumPy array, and a compile
without a run.""",
            question=Question(
                text="How long does device_put take if the array is there already?",
                choices=("Far less than a copy", "About as long as a copy"),
            ),
            claim=(
                "The published transfer moves nothing, and the published compile "
                "contains a run."
            ),
            works=_slips,
            conclude=_two_slips,
            source=SOURCE,
        ),
        Step(
            title="A new shape compiles again",
            prose="""\
`jax.jit` compiles for the shapes and dtypes of the arguments. When the same
function meets an argument of another kind, it is traced and compiled anew;
what it has compiled before stays in its cache.

The function below appends to a list. Python runs that line only while JAX
traces, so the length of the list counts the compiles:

    @jax.jit
    def gram(x):
        traced.append(x.shape)
        return x @ x.T

It is called with an n×n matrix, with one more column, and in bfloat16.""",
            question=Question(
                text="Which calls compile?",
                choices=(
                    "Only the very first call",
                    "Every call",
                    "The first call of each shape and dtype",
                ),
            ),
            claim="Each new shape or dtype is traced and compiled once more.",
            works=_shapes,
            conclude=_compiled_again,
        ),
        Step(
            title="The race, with the start that JAX has",
            prose="""\
NumPy starts to compute at once. JAX starts with its transfer, its trace and
its compile behind it, and is faster afterwards, or it is not.

The plot shows the seconds spent after so many calls, both axes logarithmic.
NumPy's curve is a straight line. JAX's begins high and flat, and bends when
the calls outweigh the start. Where the two meet is the break-even: with
fewer calls, NumPy would have been the better choice.

The published runs race along as ghosts. They did n = 5000 and other
hardware did them, so only the shape of their curves compares.""",
            question=Question(
                text="When will JAX have caught up with NumPy here?",
                choices=_MEETINGS,
            ),
            claim="NumPy has its first result before JAX has.",
            works=_race("gram"),
            conclude=_behind,
            picture=_race_picture("gram"),
            source=SOURCE,
        ),
        Step(
            title="The same race with other work",
            prose="""\
How soon a compile pays depends on the work. A matrix product is what NumPy's
own library is best at. This race is over SELU of n² numbers:

    1.0507 * where(x > 0, x, 1.6733 * (exp(x) - 1))

NumPy walks through memory once for every operation in the formula, and
writes an array each time. JAX fuses the whole formula into one pass. The
start is the same as before: a transfer and a compile.""",
            question=Question(
                text="When will JAX have caught up with NumPy in this race?",
                choices=_MEETINGS,
            ),
            claim="JAX catches up with NumPy within 1000 calls.",
            works=_race("selu"),
            conclude=_caught_up,
            picture=_race_picture("selu"),
        ),
    ),
)
