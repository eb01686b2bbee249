"""Step 1: The parts of a first call."""

from __future__ import annotations

from jaxtui.lessons import cases, words
from jaxtui.lessons.base import Conclusion, Question, Row, Setting, Step
from jaxtui.lessons.outcome import Outcome
from jaxtui.model import Experiment, Measurement, Phases, Work

SOURCE = (
    "A published comparison on Google Colab, x·xᵀ of a 5000×5000 float32 matrix: "
    "GPU 155 µs, 2.16 s, 68.9 ms; TPU 164 µs, 837 ms, 16.5 ms; NumPy 1.61 s; "
    "JAX on CPU 3.49 s"
)

COSTLY = 1.25
"""How many later calls a first call must cost to say that compiling shows."""


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


STEP = Step(
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
)
