"""The parts of the first call: transfer, compile, run; and the calls that repay it."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Mapping

import msgspec

from jaxtui.core import format as fmt
from jaxtui.core.format import figure, seconds
from jaxtui.core.model import Case, Measurement
from jaxtui.core.stats import break_even_calls
from jaxtui.features.lessons.base import Conclusion, Setting
from jaxtui.features.lessons.figures import Figures, MissingError, count, over, times
from jaxtui.features.lessons.trial import Code, Trial, case_of, lesson, size
from jaxtui.ui.plot import Axis, Color, Mark, Picture, Series

TRANSFER = "155 µs GPU, 164 µs TPU"
FIRST = "2.16 s GPU, 837 ms TPU"
LATER = "68.9 ms GPU, 16.5 ms TPU"


def _cases(setting: Setting) -> Mapping[str, Case | None]:
    n, cpu = setting.size, setting.processor
    return {
        "JAX": case_of("gram", n, "jit", setting.device),
        "NumPy": case_of("gram", n, "numpy"),
        "JAX on CPU": case_of("gram", n, "jit", cpu) if cpu else None,
    }


def _parts(figures: Figures) -> Conclusion:
    setting, phases = figures.setting, figures.measured("JAX").phases
    if phases.compile is None:
        raise MissingError("JAX")
    cold, later = phases.cold_seconds, figures["JAX"]
    compiling = cold - (phases.first_call or 0.0)
    rate = figure(over(4.0 * setting.size**2, phases.transfer or 0.0), "B/s")
    copied = (rate,) if setting.accelerated else "a copy within this machine's memory"
    cpu = "" if setting.processor else "needs JAX's CPU device, which is off here"
    sizes = f"here n = {setting.size}, published n = 5000"
    rows = figures.table(
        ("transfer from NumPy", phases.transfer, TRANSFER, copied),
        ("trace", phases.trace),
        ("lower", phases.lower),
        ("compile", phases.compile, FIRST, "published: with the first run"),
        ("first run", phases.first_call),
        ("a later call", "JAX", LATER, sizes),
        ("NumPy", "NumPy", "1.61 s"),
        ("JAX on CPU", "JAX on CPU", "3.49 s", cpu),
    )
    sentences = (
        f"The first call took {seconds(cold)}, a later one {seconds(later)}:"
        f" {times(over(cold, later))} as long.",
        f"Before it ran, JAX traced, lowered and compiled for {seconds(compiling)}.",
    )
    answer = bisect((1.25, 10), over(cold, later))
    return Conclusion(cold >= 1.25 * later, answer, rows, sentences)


# Two slips in a published table.


def _send(setting: Setting) -> str:
    # On a CPU device_put may borrow NumPy's memory, and then nothing is sent at all.
    send = "jax.device_put" if setting.accelerated else "jnp.array"
    return f"{size(setting)}\nsend = {send}"


def _slips(figures: Figures) -> Conclusion:
    bytes_, same = 4.0 * figures.setting.size**2, figures.text("same memory")
    put, copy = figures["device_put(x)"], figures["copy from NumPy"]
    first, later = figures["first call"], figures["later call"]
    copied, with_run = copy >= 2 * put, first > later
    would_be = "would be ", figure(over(bytes_, put), "B/s")
    real = figure(over(bytes_, copy), "B/s"), ", a real copy"
    rows = figures.table(
        ("device_put of a JAX array", "device_put(x)", TRANSFER, would_be),
        ("the same numbers from NumPy", "copy from NumPy", "", real),
        ("same memory afterwards", "same memory"),
        ("first call of f", "first call", FIRST, "called compile in the table"),
        ("compile without a run", "compile alone", "", "g.lower(x).compile()"),
        ("a later call of f", "later call", LATER),
    )
    shared = {
        "True": "The array was on the device already: both share their memory.",
        "False": "Here the result has memory of its own, so this was a copy too.",
    }
    sentences = (
        f"device_put(x) took {seconds(put)} for {fmt.bytes_text(bytes_)}, the copy from"
        f" NumPy {seconds(copy)}, {figures.times('copy from NumPy', 'device_put(x)')}"
        " as long.",
        shared.get(same, ""),
        f"The first call took {seconds(first)}, "
        + (
            f"including one run of {seconds(later)}."
            if with_run
            else f"no longer than a later one ({seconds(later)}): JAX had nothing left"
            " to compile."
        ),
    )
    holds = same == "True" and copied and with_run
    return Conclusion(holds, 0 if copied else 1, rows, sentences)


# A new shape compiles again.

KINDS = ("n×n float32", "n×(n+1) float32", "n×n bfloat16")


def _half(setting: Setting) -> str:
    """Small enough that compiling stands out."""
    return f"n = {max(16, setting.size // 2)}"


def _kinds(figures: Figures) -> Conclusion:
    traced = figures["traced"]
    slow = [figures[kind] >= 1.25 * figures[f"{kind} again"] for kind in KINDS]
    ratios = [figures.ratio(kind, f"{kind} again") for kind in KINDS]
    rows = [
        row
        for kind, ratio in zip(KINDS, ratios, strict=True)
        for row in (
            (f"{kind}, first call", kind),
            (f"{kind}, later calls", f"{kind} again", "", f"the first took {ratio}"),
        )
    ]
    total = ("times that JAX traced", "traced", "", "entries in the list traced")
    sentences = (
        f"JAX traced {count(traced)}× for 3 kinds of argument.",
        f"The first call of each kind took {ratios[0]}, {ratios[1]} and {ratios[2]} as"
        " long as its later calls.",
    )
    holds = traced == len(KINDS) and all(slow)
    answer = {len(KINDS): 2, 1: 0}.get(round(traced))
    return Conclusion(holds, answer, figures.table(*rows, total), sentences)


# A race between NumPy and JAX, which starts with its first call behind it.

PUBLISHED: Color = (140, 140, 140)
"""Curves of other machines stay in the background."""

_FEWEST_CALLS = 100
_POINTS_PER_DECADE = 16


class Runner(msgspec.Struct, frozen=True):
    """A side of a race."""

    label: str
    first_seconds: float
    """Until the first result was there, with all that had to be paid before it."""
    each_seconds: float
    """Seconds of every later call."""
    calls: int | None = None
    """The number of its calls timed so far; ``None`` when that no longer matters."""


COLAB = (
    Runner("Colab NumPy", 1.61, 1.61),
    Runner("Colab GPU", 155e-6 + 2.16, 68.9e-3),
    Runner("Colab TPU", 164e-6 + 0.837, 16.5e-3),
)
"""The published runs, n = 5000; their compile has one run in it already."""


def _runner(measured: Measurement | None) -> Runner | None:
    """A side as it was measured: JAX starts with transfer, compile and a run behind it.

    NumPy has nothing to pay in advance.
    """
    if measured is None or measured.ready is None:
        return None
    ready, phases = measured.ready, measured.phases
    calls = ready.n if measured.stopped is None else None
    if measured.case.mode == "numpy":
        return Runner("NumPy", ready.median, ready.median, calls)
    start = (phases.transfer or 0.0) + phases.cold_seconds
    return Runner("JAX", start, ready.median, calls)


def meeting(jax: Runner | None, numpy: Runner | None) -> int | None:
    """The call with which JAX has caught up; ``None`` if it never does."""
    if jax is None or numpy is None:
        return None
    return break_even_calls(jax.first_seconds, jax.each_seconds, numpy.each_seconds)


def _race_cases(op: str) -> Callable[[Setting], Mapping[str, Case]]:
    def cases(setting: Setting) -> Mapping[str, Case]:
        size = setting.size if op == "gram" else setting.size**2
        jax = case_of(op, size, "jit", setting.device)
        return {"JAX": jax, "NumPy": case_of(op, size, "numpy")}

    return cases


def _race(figures: Figures) -> Conclusion:
    """Conclude who leads at the start, and when that changes."""
    later, numpy_call = figures["JAX"], figures["NumPy"]
    jax, numpy = _runner(figures.find("JAX")), _runner(figures.find("NumPy"))
    assert jax is not None
    start, meet, gram = (jax.first_seconds, meeting(jax, numpy), _is_gram(figures))
    met, caught_up = "never", "JAX never catches up here"
    if meet is not None:
        met = f"call {fmt.count(meet)}"
        ahead = "JAX is ahead from the first call"
        caught_up = f"JAX catches up at {met}" if meet > 1 else ahead
    published, source = "", ""
    if gram:
        published, source = "call 2 GPU, call 1 TPU", "from the published figures"
    first = FIRST if gram else ""
    rows = figures.table(
        ("JAX, until its first result", start, first, "transfer, compile, run"),
        ("JAX, each later call", "JAX", LATER if gram else ""),
        ("NumPy, each call", "NumPy", "1.61 s" if gram else ""),
        ("JAX catches up at", (met,), published, source),
    )
    sentences = [
        f"{caught_up}: a later JAX call takes {seconds(later)}, a NumPy call"
        f" {seconds(numpy_call)}."
    ]
    if gram:
        results = fmt.significant(over(start, numpy_call), 2)
        sentences.insert(
            0,
            f"JAX had its first result after {seconds(start)}; in that time NumPy"
            f" computes {results} results.",
        )
        if meet is None and not figures.setting.accelerated:
            sentences.append(
                "NumPy notices the symmetry of x·xᵀ and does only half of the work; see"
                " the lesson numpy-or-jax."
            )
    holds = start >= numpy_call if gram else meet is not None and meet <= 1000
    answer = 3 if meet is None else sum(meet > limit for limit in (10, 1000))
    return Conclusion(holds, answer, rows, sentences)


def _is_gram(figures: Figures) -> bool:
    return any(
        case is not None and case.op == "gram" for case in figures.cases.values()
    )


def _race_picture(figures: Figures) -> Picture | None:
    """The race on logarithmic axes; a runner gets as far as it was timed so far."""
    jax, numpy = (_runner(figures.find(name)) for name in ("JAX", "NumPy"))
    own = [side for side in (jax, numpy) if side is not None]
    if not own:
        return None
    meet, published = meeting(jax, numpy), COLAB if _is_gram(figures) else ()
    # A power of ten with room beyond the meeting.
    last = int(10 ** math.ceil(math.log10(max(_FEWEST_CALLS, 4 * (meet or 1)))))
    series = []
    for place, side in enumerate((*own, *published)):
        end = last if side.calls is None else max(2, min(last, side.calls))
        count = math.ceil(math.log10(end) * _POINTS_PER_DECADE)
        calls = [end ** (index / count) for index in range(count + 1)]
        total = [side.first_seconds + (x - 1) * side.each_seconds for x in calls]
        color = None if place < len(own) else PUBLISHED
        series.append(Series(side.label, calls, total, color))
    axis = Axis("calls", log=True, limits=(1, last), format=fmt.tick_size)
    return Picture(
        tuple(series),
        axis,
        Axis("", log=True, format=fmt.tick_seconds),
        "time after so many calls",
        () if meet is None or meet < 2 else (Mark(meet, f"call {fmt.count(meet)}"),),
    )


LESSON = lesson(
    "first-call",
    Trial(_parts, cases=_cases, budget=9.0),
    Trial(_slips, Code(4.0, _send)),
    Trial(_kinds, Code(given=_half)),
    Trial(_race, cases=_race_cases("gram"), picture=_race_picture),
    Trial(_race, cases=_race_cases("selu"), picture=_race_picture),
    sizes={"cpu": 600, "gpu": 5000, "tpu": 5000},
    limits=(128, 20_000),
)
