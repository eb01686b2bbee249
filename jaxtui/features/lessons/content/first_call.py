"""The parts of the first call: transfer, compile, run; and the calls that repay it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec

from jaxtui import format as fmt
from jaxtui.features.lessons.base import Conclusion, Row, Setting
from jaxtui.features.lessons.figures import (
    NAN,
    Figures,
    at_least,
    count,
    over,
    quote,
    times,
    which,
)
from jaxtui.features.lessons.outcome import Outcome
from jaxtui.features.lessons.trial import (
    Code,
    Trial,
    jax_case,
    lesson,
    numpy_case,
    size,
)
from jaxtui.format import figure, seconds
from jaxtui.model import Case, Measurement, Phases
from jaxtui.plot import Axis, Color, Mark, Picture, Series
from jaxtui.stats import break_even_calls

COSTLY = 1.25
"""The least ratio of a first call to later ones at which compiling shows."""

TRANSFER = "155 µs GPU, 164 µs TPU"
FIRST = "2.16 s GPU, 837 ms TPU"
LATER = "68.9 ms GPU, 16.5 ms TPU"


def _bandwidth(bytes_: float, duration: float) -> fmt.Cell:
    return figure(over(bytes_, duration), "B/s")


def _cases(setting: Setting) -> Mapping[str, Case | None]:
    n, cpu = setting.size, setting.processor
    return {
        "JAX": jax_case(setting.device, "gram", n),
        "NumPy": numpy_case("gram", n),
        "JAX on CPU": jax_case(cpu, "gram", n) if cpu else None,
    }


def _parts(figures: Figures) -> Conclusion:
    setting, row, jax = figures.setting, figures.row, figures.measured("JAX")
    phases = jax.phases if jax else Phases()
    cold = phases.cold_seconds if phases.compile is not None else NAN
    compiling, later = cold - (phases.first_call or 0.0), figures["JAX"]
    factor = over(cold, later)
    rates = [_bandwidth(4.0 * setting.size**2, phases.transfer or NAN)]
    copied = rates if setting.accelerated else "a copy within this machine's memory"
    sizes = f"here n = {setting.size}, published n = 5000"
    switched_off = "needs JAX's CPU device, which is off here"
    rows = (
        Row(
            "transfer from NumPy",
            (figure(phases.transfer),),
            quote(TRANSFER),
            copied,
        ),
        Row("trace", (figure(phases.trace),)),
        Row("lower", (figure(phases.lower),)),
        Row(
            "compile",
            (figure(phases.compile),),
            quote(FIRST),
            "published: with the first run",
        ),
        Row("first run", (figure(phases.first_call),)),
        row("a later call", "JAX", LATER, sizes),
        row("NumPy", "NumPy", "1.61 s"),
        row(
            "JAX on CPU",
            "JAX on CPU",
            "3.49 s",
            "" if setting.processor else switched_off,
        ),
    )
    if math.isnan(factor):
        return Conclusion(rows=rows, holds=None)
    return Conclusion(
        holds=cold >= COSTLY * later,
        answer=which(factor, COSTLY, 10),
        rows=rows,
        sentences=(
            f"The first call took {seconds(cold)}, a later one {seconds(later)}: "
            f"{times(factor)} as long.",
            "Before it ran, JAX traced, lowered and compiled for "
            f"{seconds(compiling)}.",
        ),
    )


# Two slips in a published table.


def _send(setting: Setting) -> str:
    # On a CPU device_put may borrow NumPy's memory, and then nothing is sent at all.
    send = "jax.device_put" if setting.accelerated else "jnp.array"
    return f"{size(setting)}\nsend = {send}"


def _slips(figures: Figures) -> Conclusion:
    row, bytes_ = figures.row, 4.0 * figures.setting.size**2
    put, copy = figures["device_put(x)"], figures["copy from NumPy"]
    first, later = figures["first call"], figures["later call"]
    would_be = ("would be ", _bandwidth(bytes_, put))
    real = (_bandwidth(bytes_, copy), ", a real copy")
    copied, with_run, same = copy >= 2 * put, first > later, figures.text("same memory")
    return Conclusion(
        # Some runtimes tell no addresses; then the clocks have to do.
        holds=same != "False" and copied and with_run,
        answer=0 if copied else 1,
        rows=(
            row("device_put of a JAX array", "device_put(x)", TRANSFER, would_be),
            row("the same numbers from NumPy", "copy from NumPy", remark=real),
            row("same memory afterwards", "same memory"),
            row("first call of f", "first call", FIRST, "called compile in the table"),
            row(
                "compile without a run", "compile alone", remark="g.lower(x).compile()"
            ),
            row("a later call of f", "later call", LATER),
        ),
        sentences=(
            f"device_put(x) took {seconds(put)} for {fmt.bytes_text(bytes_)}, the copy "
            f"from NumPy {seconds(copy)}, "
            f"{figures.times('copy from NumPy', 'device_put(x)')} as long.",
            "The array was on the device already: both share their memory."
            if same == "True"
            else "",
            "Here the result has memory of its own, so this was a copy too."
            if same == "False"
            else "",
            f"The first call took {seconds(first)}, including one run of "
            f"{seconds(later)}."
            if with_run
            else f"The first call took {seconds(first)}, no longer than a later one "
            f"({seconds(later)}): JAX had nothing left to compile.",
        ),
    )


# A new shape compiles again.

KINDS = ("n×n float32", "n×(n+1) float32", "n×n bfloat16")


def _half(setting: Setting) -> str:
    """Small enough that compiling stands out."""
    return f"n = {max(16, setting.size // 2)}"


def _kinds(figures: Figures) -> Conclusion:
    traced, rows = figures["traced"], list[Row]()
    ratios = [figures.ratio(kind, f"{kind} again") for kind in KINDS]
    for kind, ratio in zip(KINDS, ratios, strict=True):
        remark = f"the first took {ratio}"
        rows.append(figures.row(f"{kind}, first call", kind))
        rows.append(figures.row(f"{kind}, later calls", f"{kind} again", remark=remark))
    return Conclusion(
        holds=traced == len(KINDS)
        and all(figures[kind] >= COSTLY * figures[f"{kind} again"] for kind in KINDS),
        answer={len(KINDS): 2, 1: 0}.get(0 if math.isnan(traced) else round(traced)),
        rows=(
            *rows,
            Row(
                "times that JAX traced",
                count(traced),
                remark="entries in the list traced",
            ),
        ),
        sentences=(
            f"JAX traced {count(traced)}× for 3 kinds of argument.",
            f"The first call of each kind took {ratios[0]}, {ratios[1]} and "
            f"{ratios[2]} as long as its later calls.",
        ),
    )


# A race between NumPy and JAX, which starts with its first call behind it.

PUBLISHED: Color = (140, 140, 140)
"""Curves of other machines stay in the background."""

_FEWEST_CALLS = 100
_POINTS_PER_DECADE = 16


class Runner(msgspec.Struct, frozen=True, kw_only=True):
    """A side of a race."""

    label: str
    first_seconds: float
    """Until the first result was there, with all that had to be paid before it."""
    each_seconds: float
    """Seconds of every later call."""
    calls: int | None = None
    """The number of its calls timed so far; ``None`` when that no longer matters."""

    def after(self, calls: float) -> float:
        return self.first_seconds + (calls - 1) * self.each_seconds


COLAB = (
    Runner(label="Colab NumPy", first_seconds=1.61, each_seconds=1.61),
    Runner(label="Colab GPU", first_seconds=155e-6 + 2.16, each_seconds=68.9e-3),
    Runner(label="Colab TPU", first_seconds=164e-6 + 0.837, each_seconds=16.5e-3),
)
"""The published runs, n = 5000; their compile has one run in it already."""


def runner(measured: Measurement | None, label: str) -> Runner | None:
    """A side as it was measured: JAX starts with transfer, compile and a run behind it.

    NumPy has nothing to pay in advance.
    """
    if measured is None or measured.ready is None:
        return None
    ready, phases = measured.ready, measured.phases
    start = (phases.transfer or 0.0) + phases.cold_seconds
    return Runner(
        label=label,
        first_seconds=ready.median if measured.case.mode == "numpy" else start,
        each_seconds=ready.median,
        calls=ready.n if measured.stopped is None else None,
    )


def meeting(jax: Runner | None, numpy: Runner | None) -> int | None:
    """The call with which JAX has caught up; ``None`` if it never does."""
    if jax is None or numpy is None:
        return None
    return break_even_calls(jax.first_seconds, jax.each_seconds, numpy.each_seconds)


def _sides(outcome: Outcome) -> tuple[Runner | None, Runner | None]:
    jax, numpy = outcome.find(mode="jit"), outcome.find(mode="numpy")
    return runner(jax, "JAX"), runner(numpy, "NumPy")


def _race_cases(op: str) -> Callable[[Setting], Mapping[str, Case]]:
    def cases(setting: Setting) -> Mapping[str, Case]:
        size = setting.size if op == "gram" else setting.size**2
        jax = jax_case(setting.device, op, size)
        return {"JAX": jax, "NumPy": numpy_case(op, size)}

    return cases


def _race(op: str) -> Callable[[Figures], Conclusion]:
    """Conclude who leads at the start, and when that changes."""

    def conclude(figures: Figures) -> Conclusion:
        jax, numpy = _sides(figures.outcome)
        meet, gram = meeting(jax, numpy), op == "gram"
        start = jax.first_seconds if jax else NAN
        calls = math.inf if meet is None else meet
        later, numpy_seconds = figures["JAX"], figures["NumPy"]
        met = "never" if meet is None else f"call {fmt.count(meet)}"
        caught_up = (
            f"JAX catches up at {met}"
            if meet is not None and meet > 1
            else "JAX is ahead from the first call"
            if meet is not None
            else "JAX never catches up here"
        )
        ahead = (
            f"JAX had its first result after {seconds(start)}; in that time NumPy "
            f"computes {fmt.significant(over(start, numpy_seconds), 2)} results."
        )
        symmetry = (
            "NumPy notices the symmetry of x·xᵀ and does only half of the work; see "
            "the lesson numpy-or-jax."
        )
        return Conclusion(
            holds=at_least(start, 1, numpy_seconds) if gram else calls <= 1000,
            answer=sum(calls > limit for limit in (10, 1000, 1e300)),
            rows=(
                Row(
                    "JAX, until its first result",
                    (figure(start),),
                    quote(FIRST if gram else ""),
                    "transfer, compile, run",
                ),
                figures.row("JAX, each later call", "JAX", LATER if gram else ""),
                figures.row("NumPy, each call", "NumPy", "1.61 s" if gram else ""),
                Row(
                    "JAX catches up at",
                    met if jax and numpy else fmt.ABSENT,
                    "call 2 GPU, call 1 TPU" if gram else "",
                    "from the published figures" if gram else "",
                ),
            ),
            sentences=(
                ahead if gram else "",
                f"{caught_up}: a later JAX call takes {seconds(later)}, a NumPy call "
                f"{seconds(numpy_seconds)}.",
                symmetry
                if gram and meet is None and not figures.setting.accelerated
                else "",
            ),
        )

    return conclude


def _picture_of(op: str) -> Callable[[Setting, Outcome], Picture | None]:
    def picture(setting: Setting, outcome: Outcome) -> Picture | None:
        jax, numpy = _sides(outcome)
        own = [side for side in (jax, numpy) if side is not None]
        title = "time after so many calls"
        published = COLAB if op == "gram" else ()
        meet = meeting(jax, numpy)
        return _race_picture(own, published, meet, title) if own else None

    return picture


def _race_picture(
    own: Sequence[Runner], published: Sequence[Runner], meet: int | None, title: str
) -> Picture:
    """The race on logarithmic axes; a runner gets as far as it was timed so far."""
    # A power of ten with room beyond the meeting.
    last = int(10 ** math.ceil(math.log10(max(_FEWEST_CALLS, 4 * (meet or 1)))))
    series = []
    for place, side in enumerate((*own, *published)):
        end = last if side.calls is None else max(2, min(last, side.calls))
        count = math.ceil(math.log10(end) * _POINTS_PER_DECADE)
        calls = [end ** (index / count) for index in range(count + 1)]
        color = None if place < len(own) else PUBLISHED
        series.append(Series(side.label, calls, [side.after(x) for x in calls], color))
    mark = () if meet is None or meet < 2 else (Mark(meet, f"call {fmt.count(meet)}"),)
    return Picture(
        tuple(series),
        Axis(
            "calls",
            log=True,
            limits=(1, last),
            format=lambda value: fmt.size(round(value)),
        ),
        Axis("", log=True, format=fmt.tick_seconds),
        title,
        mark,
    )


LESSON = lesson(
    "first-call",
    {
        "The parts of a first call": Trial(
            _parts, cases=_cases, budget_each=3.0, needs=("JAX",)
        ),
        "Two slips in a published table": Trial(
            _slips,
            Code(4.0, _send),
            needs=(
                "same memory",
                "copy from NumPy",
                "device_put(x)",
                "first call",
                "later call",
            ),
        ),
        "A new shape compiles again": Trial(
            _kinds,
            Code(given=_half),
            needs=("traced", *KINDS, *(f"{kind} again" for kind in KINDS)),
        ),
        "The race, including JAX's start-up": Trial(
            _race("gram"),
            cases=_race_cases("gram"),
            picture=_picture_of("gram"),
            needs=("JAX", "NumPy"),
        ),
        "The same race with other work": Trial(
            _race("selu"),
            cases=_race_cases("selu"),
            picture=_picture_of("selu"),
            needs=("JAX", "NumPy"),
        ),
    },
    sizes={"cpu": 600, "gpu": 5000, "tpu": 5000},
    minimum=128,
    maximum=20_000,
)
