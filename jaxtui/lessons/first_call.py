"""Where the first call goes: transfer, compile, run; and when that has paid."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jaxtui import format as fmt
from jaxtui.lessons.base import Setting
from jaxtui.lessons.figures import All, AtLeast, Equals, Figures, Holds, Value, bracket
from jaxtui.lessons.outcome import Outcome
from jaxtui.lessons.trial import Code, Trial, jax_case, lesson, numpy_case
from jaxtui.model import Case, Measurement, Phases
from jaxtui.plot import Axis, Color, Mark, Picture, Series
from jaxtui.stats import break_even_calls

COSTLY = 1.25
"""How many later calls a first call must cost to say that compiling shows."""


def _cases(setting: Setting) -> Mapping[str, Case | None]:
    n, cpu = setting.size, setting.processor
    return {
        "JAX": jax_case(setting.device, "gram", n),
        "NumPy": numpy_case("gram", n),
        "JAX on CPU": jax_case(cpu, "gram", n) if cpu else None,
    }


def _part_figures(figures: Figures) -> Mapping[str, Value]:
    jax = figures.measured("JAX")
    phases = jax.phases if jax else Phases()
    compiled = jax is not None and jax.phases.compile is not None
    cold = phases.cold_seconds if compiled else None
    return {
        "no CPU": figures.setting.processor is None,
        "bytes": 4.0 * figures.setting.size**2,
        "transfer": phases.transfer,
        "trace": phases.trace,
        "lower": phases.lower,
        "compile": phases.compile,
        "first run": phases.first_call,
        "first call": cold,
        "compiling": None if cold is None else cold - (phases.first_call or 0.0),
    }


# Two slips in a published table.


def _send_code(setting: Setting) -> str:
    # On a CPU device_put may borrow NumPy's memory, and then nothing is sent at all.
    return "jax.device_put(host)" if setting.accelerated else "jnp.array(host)"


SENT = AtLeast("copy from NumPy", 2, "device_put(x)")


# A new shape compiles again.

KINDS = ("n×n float32", "n×(n+1) float32", "n×n bfloat16")


def _half_size(setting: Setting) -> int:
    """Small enough that compiling stands out."""
    return max(16, setting.size // 2)


# A race between NumPy and JAX, which starts with its first call behind it.

PUBLISHED: Color = (140, 140, 140)
"""Curves of other machines stay in the background."""

_FEWEST_CALLS = 100
_POINTS_PER_DECADE = 16


@dataclass(frozen=True, kw_only=True)
class Runner:
    """One side of a race."""

    label: str
    first_seconds: float
    """Until the first result was there, with all that had to be paid before it."""
    each_seconds: float
    """Of every later call."""
    calls: int | None = None
    """How many of its calls were timed so far; ``None`` when that no longer matters."""

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


def _race_figures(figures: Figures) -> Mapping[str, Value]:
    jax, numpy = _sides(figures.outcome)
    meet = meeting(jax, numpy)
    done = jax is not None and numpy is not None
    return {
        "JAX start": jax.first_seconds if jax else None,
        "done": done,
        "met": meet is not None,
        "at once": meet == 1,
        "meeting": "never" if meet is None else f"call {fmt.count(meet)}",
        "calls": math.inf if meet is None else float(meet),
    }


def _meeting_answer(figures: Figures) -> int:
    calls = figures["calls"] or 0.0
    return sum(calls > limit for limit in (10, 1000, 1e300))


def _picture_of(op: str) -> Callable[[Setting, Outcome], Picture | None]:
    def picture(setting: Setting, outcome: Outcome) -> Picture | None:
        jax, numpy = _sides(outcome)
        own = [side for side in (jax, numpy) if side is not None]
        title = "time so far, after so many calls"
        if op == "gram":
            title += "; Colab: published, n = 5000"
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
    for place, one in enumerate((*own, *published)):
        end = last if one.calls is None else max(2, min(last, one.calls))
        count = math.ceil(math.log10(end) * _POINTS_PER_DECADE)
        calls = [end ** (index / count) for index in range(count + 1)]
        color = None if place < len(own) else PUBLISHED
        series.append(Series(one.label, calls, [one.after(x) for x in calls], color))
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
            cases=_cases,
            budget_each=3.0,
            derive=_part_figures,
            claim=AtLeast("first call", COSTLY, "JAX"),
            answer=bracket("first call", "JAX", COSTLY, 10),
        ),
        "Two slips in a published table": Trial(
            code=Code(
                budget=4.0,
                memory=lambda n: 5 * 4 * n * n,
                names=lambda setting: {"send": _send_code(setting)},
                device=lambda setting: setting.device,
            ),
            derive=lambda figures: {
                "bytes": 4.0 * figures.setting.size**2,
                "shared": figures.text("same memory") == "True",
                "copied": figures.text("same memory") == "False",
                "with a run": (figures["first call"] or 0)
                > (figures["later call"] or 0),
            },
            claim=All(
                # Some runtimes tell no addresses; then the clocks have to do.
                Holds(lambda f: not f.all_true("copied"), "same memory", numbers=False),
                SENT,
                Holds(lambda f: f.all_true("with a run"), "first call", "later call"),
            ),
            answer=lambda figures: 0 if SENT.holds(figures) else 1,
        ),
        "A new shape compiles again": Trial(
            code=Code(
                memory=lambda n: 8 * n * n,
                names=lambda s: {"half": _half_size(s), "more": _half_size(s) + 1},
                device=lambda setting: setting.device,
            ),
            claim=All(
                Equals("traced", (len(KINDS),)),
                *(AtLeast(kind, COSTLY, f"{kind} again") for kind in KINDS),
            ),
            answer=lambda f: {len(KINDS): 2, 1: 0}.get(int(f["traced"] or 0)),
        ),
        "The race, with the start that JAX has": Trial(
            cases=_race_cases("gram"),
            derive=_race_figures,
            picture=_picture_of("gram"),
            claim=AtLeast("JAX start", 1, "NumPy"),
            answer=_meeting_answer,
        ),
        "The same race with other work": Trial(
            cases=_race_cases("selu"),
            derive=_race_figures,
            picture=_picture_of("selu"),
            claim=Holds(lambda f: (f["calls"] or 0) <= 1000, "JAX start", "NumPy"),
            answer=_meeting_answer,
        ),
    },
    sizes={"cpu": 600, "gpu": 5000, "tpu": 5000},
    minimum=128,
    maximum=20_000,
)
