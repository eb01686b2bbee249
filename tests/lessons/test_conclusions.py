"""What the steps make of figures: one table of runs, and what JAX answers here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from jaxtui import lessons
from jaxtui.lessons.base import Setting
from jaxtui.lessons.outcome import NOTHING, Outcome, collect
from jaxtui.lessons.sparse import crossover
from jaxtui.model import (
    Case,
    Device,
    LoopSeen,
    MemorySpan,
    Note,
    Snippet,
    SnippetShown,
    Value,
)
from tests.lessons.figures import (
    BOTH,
    CPU,
    TPU,
    after,
    asked,
    failed,
    here,
    looped,
    measured,
    shown,
    timed,
    works,
)
from tests.lessons.real import machine, shown_values

Run = Callable[[Setting], Outcome]
"""What a step yielded on this machine."""


def values(outcome: Outcome, **numbers: float) -> Outcome:
    """The outcome with values that are numbers; underscores stand for blanks."""
    for name, number in numbers.items():
        outcome = shown(outcome, name.replace("_", " "), f"{number:g}", (number,))
    return outcome


def clocks(_values: Mapping[str, float] | None = None, **seconds: float) -> Run:
    """A snippet that took these times and gave these numbers."""
    names = {name.replace("_", " "): each for name, each in seconds.items()}
    outcome = timed(names)
    for name, number in (_values or {}).items():
        outcome = shown(outcome, name, f"{number:g}", (number,))
    return lambda _: outcome


def experiment(lesson: str, step: int, *seconds: float | str, **facts: Any) -> Run:
    """The cases of a step, in order; a text is the error of one that failed.

    A fact is of all measurements, or a list with one for each.
    """

    def run(setting: Setting) -> Outcome:
        events = []
        cases = asked(lessons.load(lesson), step, setting)
        for index, (case, each) in enumerate(zip(cases, seconds, strict=False)):
            if isinstance(each, str):
                events.append(failed(case, each))
                continue
            event = measured(case, each, dispatch=facts.get("dispatch"))
            one = event.measurement
            for name, fact in facts.items():
                if name != "dispatch":
                    own = fact[index] if isinstance(fact, list) else fact
                    one = msgspec.structs.replace(one, **{name: own})
            events.append(
                msgspec.structs.replace(measured(case, each), measurement=one)
            )
        return after(*events)

    return run


def loops(lesson: str, step: int, *seconds: tuple[float, float], **facts: Any) -> Run:
    """The loops of a step: what the stopwatch read, and what they took."""

    def run(setting: Setting) -> Outcome:
        found = works(lessons.load(lesson), step, setting)
        both = zip(found, seconds, strict=True)
        return after(*(looped(loop, *each, **facts) for loop, each in both))  # type: ignore[arg-type]

    return run


def answered(
    lesson: str, step: int, size: int | None = None, **changed: Value | float | None
) -> Run:
    """What JAX says here, with some values changed; underscores stand for blanks."""

    def run(_: Setting) -> Outcome:
        outcome = shown_values(lesson, step, size)
        for name, other in changed.items():
            name = name.replace("_", " ")
            if isinstance(other, (int, float)):
                other = Value(name=name, text=f"{other:g}", numbers=(float(other),))
            assert other is not None
            outcome = collect(outcome, SnippetShown(value=other))
        return outcome

    return run


def waits(end: float, each: float, printing: float) -> Run:
    taken = {"end": end, "each": each, "asarray": each, "print": printing}

    def run(setting: Setting) -> Outcome:
        found = works(lessons.load("ahead"), 2, setting)
        return after(*(looped(one, *[taken[one.style]] * 2) for one in found))  # type: ignore[union-attr, arg-type]

    return run


def readings(plain: float, copied: float = 5e-3) -> Run:
    seconds = {"plain call": plain, "np.asarray": copied, "block_until_ready": 5e-3}
    return lambda _: timed(seconds)


def promise(value: float) -> Run:
    names = ("call", "shape and dtype", "passed on")
    return lambda _: timed(dict.fromkeys(names, 5e-5) | {"a value": value})


KINDS = ("n×n float32", "n×(n+1) float32", "n×n bfloat16")


def shapes(traced: float, first: float = 15e-3) -> Run:
    seconds = dict.fromkeys(KINDS, first) | {f"{kind} again": 1e-3 for kind in KINDS}
    return lambda _: values(timed(seconds), traced=traced)


def slips(same: str = "True", **other: float) -> Run:
    seconds = {
        "device_put(x)": 10e-6,
        "copy from NumPy": 500e-6,
        "first call": 20e-3,
        "compile alone": 12e-3,
        "later call": 5e-3,
    } | {name.replace("_", " "): each for name, each in other.items()}
    return lambda _: shown(timed(seconds), "same memory", same)


def five(*seconds: float | str) -> Run:
    return experiment("numpy-or-jax", 0, *seconds)


def two(*seconds: float) -> Run:
    return experiment("numpy-or-jax", 1, *seconds)


def mixed(first: str = "ndarray") -> Run:
    def run(_: Setting) -> Outcome:
        outcome = NOTHING
        (snippet,) = works(lessons.load("numpy-or-jax"), 2)
        for index, part in enumerate(snippet.parts):  # type: ignore[union-attr]
            kind = "jax.Array" if "jnp" in part.name or "@" in part.name else "ndarray"
            outcome = shown(outcome, part.name, kind if index else first)
        return outcome

    return run


def kernels(steps: float, left: float, apart: float, fused: float) -> Run:
    found = {"steps": steps, "kernels": left}
    found |= {"bytes, step by step": apart, "bytes, fused": fused}
    return clocks(found, eager=4e-3, jit=5e-4)


def span(fresh: float, reused: float = 0.4e-3, ready: float = 1.2e-3) -> Run:
    memory = MemorySpan(fresh=fresh, reused=reused, page_faults=980.2)
    return experiment("memory", 0, ready, memory=memory)


def faults(new: float, kept: float) -> Run:
    found = {"page faults, new": new, "page faults, into one array": kept}
    return clocks(found, new_results=1.2e-3, results_written_into_one_array=0.3e-3)


ERRORS = [1e-15, 5e-7, 3e-4, 2e-3]
TIMES = (2e-3, 1e-3, 3e-3, 0.4e-3)


def formats(errors: list[float], *seconds: float | str) -> Run:
    found = {"error_vs_float64": errors, "bytes": 2.0**20}
    return experiment("digits", 0, *(seconds or TIMES), **found)


def modes(slow: float = 30e-3, off: float = 1e-6) -> Run:
    off_ = dict.fromkeys(("one", "many", "jvp", "vjp"), off)
    return clocks(
        off_, forward_one=slow, reverse_one=1e-3, forward_many=1e-3, reverse_many=slow
    )


def products(*sparse: float) -> Run:
    names = ("0.1 %", "0.3 %", "1 %", "3 %", "10 %", "30 %")
    seconds = {f"sparse {n}": s for n, s in zip(names, sparse, strict=True)}
    return lambda _: timed({"dense": 1e-3, **seconds})


def unrolled(compiled: float) -> Run:
    counted = {"Python operations": 400, "fori operations": 1, "difference": 0}
    return clocks(counted, Python_compile=compiled, fori_compile=0.04)


def forms(loop: float, eager: float, jit: float = 10e-6) -> Run:
    return clocks(loop=loop, hand=1e-4, vmap=eager, hand_jit=jit, vmap_jit=jit)


def matrix(loop: float, hand: float, vmap: float, off: float = 1e-6) -> Run:
    found = {"vmap off": off, "loop off": 0.0, "size": 1.0}
    return clocks(found, loop=loop, hand=hand, vmap=vmap)


INTERPRETED = (Note(flag="interpreted", text=""),)


def selu(error: float, seconds: float = 1e-3) -> Run:
    def run(setting: Setting) -> Outcome:
        notes = () if setting.accelerated else INTERPRETED
        found = {"error_vs_float64": [8e-8, 8e-8, error], "notes": [(), (), notes]}
        return experiment("kernel", 0, 5e-3, 1e-3, seconds, **found)(setting)

    return run


def grid(compiled: str) -> Run:
    outcome = shown(NOTHING, "compiled for this device", compiled)
    return lambda _: values(outcome, blocks=4, same_as_jit=1)


def error(name: str, text: str) -> Value:
    return Value(name=name, text="", error=text)


GONE = "jax.lib.xla_bridge"
WORKS = Value(name=f"{GONE}, old", text="cpu")
WARNS = Value(name=f"{GONE}, old", text="cpu", warnings=("It is deprecated.",))
WIDE = Value(name="taken over", text="float32", warnings=("UserWarning: …",))
EIGHT = Value(name="vmap", text="…", numbers=(1.0,) * 10)
BCOO = error("sparse.BCOO(dense), new", "AttributeError: fromdense")
RISING = Value(name="losses", text="…", numbers=(5.0, *[4.0] * 19, 6.0))
SUMMED = tuple(
    Value(name=name, text="[0. 2. 4. 6.]", numbers=(0.0, 2.0, 4.0, 6.0))
    for name in ("b + c", "add(b, c)")
)


def and_values(run: Run, *others: Value) -> Run:
    def both(setting: Setting) -> Outcome:
        outcome = run(setting)
        for other in others:
            outcome = collect(outcome, SnippetShown(value=other))
        return outcome

    return both


ANY = ...

Expected = tuple[str, int, Run, bool | None, Any, str]
"""Lesson, step from 0, figures, verdict, answer, and words that are said."""

ON_CPU: Sequence[Expected] = (
    ("clock", 0, readings(100e-6), True, 2, "50 times as long"),
    ("clock", 0, readings(100e-6), True, 2, "copies nothing"),
    ("clock", 0, readings(2e-3), False, 1, "larger size"),
    ("clock", 0, readings(4.9e-3), False, 0, "larger size"),
    ("clock", 0, lambda _: timed({"plain call": 1e-4}), None, None, "Not measured"),
    (
        "clock",
        1,
        experiment("clock", 1, 5e-3, 1e-2, dispatch=1e-4),
        True,
        2,
        "50 times",
    ),
    ("clock", 1, experiment("clock", 1, 5e-3, 1e-2, dispatch=2e-3), False, 1, "close"),
    ("clock", 1, experiment("clock", 1, 5e-3, "Slow.", dispatch=1e-4), True, 2, ""),
    ("ahead", 0, promise(5e-3), True, 2, "100 times"),
    ("ahead", 0, promise(60e-6), False, None, "less than the claim"),
    ("ahead", 1, loops("ahead", 1, (3e-4, 6e-2), (66e-3, 66e-3)), True, 2, "200 times"),
    (
        "ahead",
        1,
        loops("ahead", 1, (59e-3, 60e-3), (6e-2, 6e-2), inline=True),
        False,
        0,
        "calling thread",
    ),
    ("ahead", 2, waits(1e-3, 4e-3, 20e-3), True, 2, "20 times"),
    ("ahead", 2, waits(1e-3, 1e-3, 1e-3), False, 0, "did not show"),
    ("ahead", 3, loops("ahead", 3, (0.08, 0.16), held_from=32), True, 1, "call 33 on"),
    ("ahead", 3, loops("ahead", 3, (0.08, 0.16), held_from=12), False, 1, "12 calls"),
    ("ahead", 3, loops("ahead", 3, (0.08, 0.16)), False, 0, "never got 32 calls"),
    ("ahead", 3, loops("ahead", 3, (0.08, 0.16), inline=True), False, 0, "too small"),
    ("first-call", 1, slips(), True, 0, "50 times as long"),
    ("first-call", 1, slips("False"), False, 0, "an array of its own"),
    ("first-call", 1, slips(first_call=5e-3, later_call=6e-3), False, 0, "no longer"),
    ("first-call", 2, shapes(3), True, 2, "15×, 15× and 15× as long"),
    ("first-call", 2, shapes(1), False, 0, "not every new kind"),
    ("first-call", 2, shapes(3, first=1e-3), False, 2, "not every new kind"),
    (
        "numpy-or-jax",
        0,
        five(5e-3, 11e-3, 10e-3),
        None,
        0,
        "2.0 times as slow as NumPy",
    ),
    ("numpy-or-jax", 0, five(5e-3, 11e-3, 10e-3), None, 0, "half of the claim is not"),
    ("numpy-or-jax", 0, five(12e-3, 11e-3, 10e-3), None, 1, "unlike in the published"),
    ("numpy-or-jax", 0, five(9e-3, 11e-3, 10e-3), None, 0, "no law"),
    ("numpy-or-jax", 0, five(5e-3, 20e-3, 10e-3), False, 0, "does not hold"),
    ("numpy-or-jax", 0, five("Slow.", 11e-3, 10e-3), None, 1, "On the CPU"),
    ("numpy-or-jax", 1, two(5e-3, 9e-3, 8e-3, 8e-3), True, 0, "noticed the symmetry"),
    (
        "numpy-or-jax",
        1,
        two(5e-3, 9e-3, 8e-3, 8e-3),
        True,
        0,
        "In JAX it took 1.0 times",
    ),
    (
        "numpy-or-jax",
        1,
        two(5e-3, 9e-3, 5e-3, 9e-3),
        True,
        0,
        "That is not the symmetry",
    ),
    ("numpy-or-jax", 1, two(9e-3, 9e-3, 8e-3, 8e-3), False, 1, "no work was saved"),
    ("numpy-or-jax", 1, two(5e-3, 9e-3), True, 0, "noticed the symmetry"),
    ("numpy-or-jax", 2, mixed(), True, 0, "stayed in JAX"),
    (
        "numpy-or-jax",
        2,
        mixed("jax.Array"),
        False,
        1,
        "np.dot(jax_array, jax_array) returned jax.Array",
    ),
    (
        "fusion",
        0,
        experiment("fusion", 0, 8e-3, 4e-3, 4e-4),
        True,
        2,
        "10 times as fast",
    ),
    ("fusion", 0, experiment("fusion", 0, 8e-3, 1.5e-3, 1e-3), False, 0, "1.00 ms"),
    ("fusion", 0, experiment("fusion", 0, 8e-3, 3e-3, 1e-3), True, 1, "less than that"),
    ("fusion", 0, experiment("fusion", 0, 8e-3, "Long.", 1e-3), None, None, "Long."),
    ("fusion", 1, kernels(6, 1, 50e6, 8e6), True, 2, "6.2 times less"),
    ("fusion", 1, kernels(6, 6, 50e6, 50e6), False, 0, "fused less"),
    ("memory", 0, span(2e-3), True, 2, "each cost 1.63 µs"),
    ("memory", 0, span(2e-3), True, 2, "got 1.20 ms, nearer to fresh memory"),
    ("memory", 0, span(2e-3), True, 2, "MALLOC_TOP_PAD_="),
    ("memory", 0, span(0.5e-3, ready=0.42e-3), False, 0, "nearer to reused"),
    ("memory", 0, span(1e-3), True, 1, ""),
    ("memory", 0, experiment("memory", 0, 1.2e-3), None, None, "glibc"),
    (
        "memory",
        0,
        experiment("memory", 0, 1.2e-3, notes=(Note(flag="no-span", text="Lost."),)),
        None,
        None,
        "Lost.",
    ),
    ("memory", 0, experiment("memory", 0, "Too long."), None, None, "Too long."),
    ("memory", 1, faults(980, 0.2), True, 0, "it costs 0.25 times what new ones cost"),
    ("memory", 1, faults(1, 0), True, 0, "malloc reused their memory"),
    ("memory", 1, faults(980, 400), False, 1, "Something else"),
    ("digits", 0, formats(ERRORS), True, 3, "Faster than it: bfloat16 2.5×"),
    ("digits", 0, formats(ERRORS), True, 3, "Slower: float64 2.0× and float16 3.0×"),
    ("digits", 0, formats(ERRORS), True, 3, "no arithmetic for the format"),
    ("digits", 0, formats(ERRORS, *[1e-3] * 4), True, ANY, "save memory here, and no"),
    ("digits", 0, formats([1e-15, 4e-4, 3e-4, 2e-3]), False, 3, "in another format"),
    (
        "digits",
        0,
        formats(ERRORS, "No float64.", *TIMES[1:]),
        None,
        3,
        "From float32 to",
    ),
    ("digits", 2, answered("digits", 2, taken_over=WIDE), False, 1, "with a warning"),
    ("digits", 3, answered("digits", 3, weak=7.0), False, 2, "With 2.5 it was 7"),
    (
        "devices",
        2,
        and_values(answered("devices", 2), *SUMMED),
        False,
        0,
        "the sum gave",
    ),
    (
        "devices",
        3,
        answered("devices", 3, 300, wrong=0.0, last=7.0, exact=7.0),
        False,
        0,
        "nothing overflowed",
    ),
    ("devices", 4, clocks(int32=40e-3, float32=10e-3), True, 2, "cannot be said here"),
    ("devices", 4, clocks(int32=11e-3, float32=10e-3), False, 1, "cannot be said here"),
    ("devices", 4, clocks(int32=5e-3, float32=10e-3), False, 0, "cannot be said here"),
    (
        "updates",
        0,
        answered("updates", 0, JAX=Value(name="JAX", text="")),
        False,
        0,
        "otherwise",
    ),
    ("updates", 1, answered("updates", 1, same_power=0.0), False, 1, "here: power."),
    ("updates", 2, clocks(jit=20e-3, donated=1e-5), True, 2, "all 38.1 MiB"),
    ("updates", 2, clocks(jit=40e-6, donated=1e-5), False, 1, "less than 5 times"),
    ("updates", 2, clocks(jit=11e-6, donated=1e-5), False, 0, "less than 5 times"),
    ("updates", 3, answered("updates", 3, get_fill=9.0), False, 1, "not those of the"),
    (
        "gradients",
        0,
        answered("gradients", 0, grad=Value(name="grad", text="", numbers=(1, 2, 3))),
        False,
        1,
        "was published",
    ),
    ("gradients", 2, modes(), True, 1, "many inputs and one output"),
    ("gradients", 2, modes(slow=2e-3), False, 1, "smaller than 3 times"),
    ("gradients", 2, modes(slow=1e-3), False, 2, "smaller than 3 times"),
    ("gradients", 2, modes(off=0.1), False, 1, "results differ"),
    ("gradients", 3, clocks(value=1e-3, both=3e-3), True, 0, "16:40 min"),
    ("gradients", 3, clocks(value=1e-3, both=9e-3), False, 1, "more than the claim"),
    ("gradients", 3, clocks(value=1e-3, both=900.0), False, 2, "more than the claim"),
    ("gradients", 4, answered("gradients", 4, losses=RISING), False, 2, "1 of 20"),
    # 0.01 · 3 ** (log 2.5 / log 5)
    ("sparse", 1, products(1e-4, 2e-4, 4e-4, 2e-3, 8e-3, 3e-2), True, 0, "about 1.9 %"),
    ("sparse", 1, products(2e-3, 3e-3, 4e-3, 5e-3, 6e-3, 7e-3), False, None, "not win"),
    ("sparse", 1, products(*[1e-4] * 6), False, 2, "At 0.1 %"),
    ("sparse", 1, products(9e-4, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3), False, 0, "At one end"),
    ("sparse", 2, answered("sparse", 2, switch_1=0.0), False, 1, "4 of 5 equal"),
    ("sparse", 3, unrolled(0.2), True, 2, "5.0 times as long"),
    ("sparse", 3, unrolled(0.05), False, 2, "gap is smaller"),
    ("batching", 0, answered("batching", 0, vmap=EIGHT), False, 0, "do not agree"),
    ("batching", 1, forms(2e-3, 300e-6), True, 2, "200 times less"),
    ("batching", 1, forms(2e-3, 25e-6), False, 1, "smaller gap"),
    ("batching", 1, forms(20e-6, 11e-6), False, 0, "smaller gap"),
    ("batching", 2, matrix(40e-3, 3e-4, 3e-4), True, 0, "one matrix product"),
    ("batching", 2, matrix(40e-3, 3e-4, 2e-3), False, 1, "not on a par"),
    ("batching", 2, matrix(6e-4, 1e-4, 4e-4), False, 2, "less than 3 times"),
    ("batching", 2, matrix(40e-3, 3e-4, 3e-4, off=0.5), False, 0, "values differ"),
    ("batching", 4, answered("batching", 4, spread=5.0), False, 2, "Not as expected"),
    ("kernel", 0, selu(9e-8), True, 0, "this machine cannot tell"),
    ("kernel", 0, selu(0.3), False, 1, "do not agree"),
    ("kernel", 1, grid("(4096,)"), False, 0, "compiled for cpu:0"),
    ("old-code", 0, and_values(answered("old-code", 0), WORKS), False, 1, f": {GONE}."),
    ("old-code", 0, and_values(answered("old-code", 0), WARNS), True, 2, "5 of 5 old"),
    ("old-code", 1, and_values(answered("old-code", 1), BCOO), False, 2, "form fails"),
)

ON_TPU: Sequence[Any] = (
    (TPU, "clock", 0, readings(1e-4, 20e-3), True, 2, "copies the result to the host"),
    (
        TPU,
        "ahead",
        3,
        loops("ahead", 3, (0.08, 0.16), held_from=12),
        True,
        1,
        "12 calls",
    ),
    (TPU, "ahead", 3, loops("ahead", 3, (0.08, 0.16)), None, 0, "a larger size tells"),
    (
        BOTH,
        "numpy-or-jax",
        0,
        five(0.15, 0.3, 0.29, 30e-3, 5e-3),
        True,
        2,
        "30 times as",
    ),
    (BOTH, "numpy-or-jax", 0, five(0.15, 0.3, 0.29, 5e-3, 5e-3), False, 2, "not show"),
    (TPU, "numpy-or-jax", 0, five(0.15, 30e-3, 5e-3), True, 2, "D pays the transfer"),
    (
        BOTH,
        "devices",
        4,
        clocks(int32=4e-3, float32=1e-3, CPU=3e-2),
        True,
        2,
        "30 times",
    ),
    (TPU, "kernel", 0, selu(8e-8, 2e-3), True, 0, "hard to beat"),
    (TPU, "kernel", 0, selu(8e-8), True, 0, "or faster"),
    (TPU, "kernel", 1, grid("(4096,)"), True, 0, "compiled for tpu:0"),
)


@pytest.mark.parametrize(
    ("devices", "name", "step", "run", "holds", "answer", "said"),
    [*((CPU, *one) for one in ON_CPU), *ON_TPU],
)
def test_what_a_step_says_of_its_figures(
    devices: Sequence[Device],
    name: str,
    step: int,
    run: Run,
    holds: bool | None,
    answer: object,
    said: str,
) -> None:
    lesson = lessons.load(name)
    setting = here(lesson, devices=devices)
    found = lesson.steps[step].conclude(setting, run(setting))
    assert (found.holds, said in found.takeaway) == (holds, True), found.takeaway
    assert answer is ANY or found.answer == answer
    assert not re.search(r"[{}]|\bNone\b|\bnan\b", found.takeaway.replace("{1}", ""))


ROWS: Sequence[tuple[Sequence[Device], str, int, Run, str, str, str]] = (
    (CPU, "clock", 0, readings(1e-4), "jnp.dot(x, x)", "100 µs", "until the call"),
    (
        CPU,
        "clock",
        1,
        experiment("clock", 1, 5e-3, "Too slow.", dispatch=1e-4),
        "done by NumPy, which always waits",
        "—",
        "Too slow.",
    ),
    (CPU, "first-call", 1, slips(), "device_put of a JAX array", "10.0 µs", "144 GB/s"),
    (TPU, "first-call", 0, lambda _: NOTHING, "JAX on CPU", "—", "needs JAX's CPU"),
    (CPU, "numpy-or-jax", 0, five(5e-3, 11e-3, 1e-2), "B", "11.0 ms", "2.2× slower"),
    (CPU, "numpy-or-jax", 0, five(5e-3, 11e-3, 1e-2), "E", "—", "needs an accelerator"),
    (TPU, "numpy-or-jax", 0, five(0.1, 3e-2, 5e-3), "B", "—", "needs JAX's CPU device"),
    (CPU, "numpy-or-jax", 0, five("Slow.", 11e-3, 1e-2), "A", "—", "Slow."),
    (CPU, "numpy-or-jax", 1, two(5e-3, 9e-3), "NumPy: x·xᵀ", "5.00 ms", "205 GFLOP/s"),
    (CPU, "memory", 0, span(2e-3), "page faults of a call, fresh", "980", ""),
    (
        CPU,
        "digits",
        0,
        formats(ERRORS, "None here.", *TIMES[1:]),
        "float64",
        "—",
        "None",
    ),
    (CPU, "kernel", 0, selu(9e-8), "your kernel", "—", "interpret mode"),
    (TPU, "kernel", 0, selu(9e-8, 2e-3), "your kernel", "2.00 ms", "error"),
    (CPU, "devices", 4, clocks(int32=1, float32=1), "accelerator", "—", "needs an acc"),
    (
        BOTH,
        "devices",
        4,
        clocks(int32=1, float32=1e-3, CPU=3e-2),
        "accelerator",
        "30×",
        "",
    ),
    (CPU, "ahead", 2, waits(1e-3, 4e-3, 20e-3), "blocking after", "40.0 µs", "4.0× of"),
    (CPU, "old-code", 0, lambda _: NOTHING, "jax.tree_map", "—", "renamed"),
)


@pytest.mark.parametrize(
    ("devices", "name", "step", "run", "what", "yours", "remark"), ROWS
)
def test_rows_have_the_learners_figure_or_say_why_not(
    devices: Sequence[Device],
    name: str,
    step: int,
    run: Run,
    what: str,
    yours: str,
    remark: str,
) -> None:
    lesson = lessons.load(name)
    setting = here(lesson, devices=devices)
    rows = lesson.steps[step].conclude(setting, run(setting)).rows
    row = next(row for row in rows if row.what.startswith(what))
    assert row.yours == yours
    assert remark in row.remark


HERE: Sequence[tuple[str, int, int | None, object, str, Mapping[str, str]]] = (
    (
        "devices",
        0,
        None,
        0,
        "getattr",
        {"its coords": "None", "its process_index": "0"},
    ),
    ("devices", 1, None, 1, "computed where b was put", {}),
    ("devices", 2, None, 2, "Received incompatible", {"b moved": "[0. 2. 4. 6.]"}),
    # Σ (299·300 + k) · (300·k + 299) over k < 300
    (
        "devices",
        3,
        300,
        2,
        f"{sum((299 * 300 + k) * (300 * k + 299) for k in range(300)):,}",
        {"a.dtype": "int32"},
    ),
    ("digits", 1, None, 1, "70144", {"jnp.float16(70_000)": "inf"}),
    ("digits", 2, None, 0, "16777216", {"jnp.asarray with x64": "float64"}),
    ("digits", 3, None, 2, "jax.lax converts nothing", {"float16 + b": "float32"}),
    ("updates", 0, None, 1, "immutable", {"x afterwards": "[0 1 2 3 4 5 6 7 8 9]"}),
    ("updates", 1, None, 0, "9 of 9", {"x.at[2].power(5)": "[ 1. 2. 243. 4.]"}),
    (
        "updates",
        3,
        None,
        1,
        "NumPy raised an IndexError",
        {
            "get, fill": "-1",
            "set, clip": "the last becomes 100",
            "set, drop": "unchanged",
            "set, fill": "unchanged",
            "set, promise_in_bounds": "element 5 becomes 100",
        },
    ),
    ("updates", 4, None, 2, "refused", {"jnp.sum(jnp.array(numbers))": "31380"}),
    (
        "gradients",
        0,
        None,
        1,
        "published",
        {"grad(sum_logistic)": "0.25, 0.19661, 0.10499"},
    ),
    ("gradients", 1, None, 1, "grad says 16.5", {"by hand, x = 0.5": "8.5"}),
    ("gradients", 4, None, 0, "20 of 20", {}),
    ("sparse", 0, 200, 1, "12 bytes an element", {}),
    (
        "sparse",
        2,
        None,
        1,
        "TracerBoolConversionError",
        {"lax.cond": "2 of 2 equal", "lax.switch": "3 of 3 equal"},
    ),
    ("batching", 0, None, 0, "gave 10", {"program of": "dot_general"}),
    ("batching", 3, None, 1, "both times", {}),
    ("batching", 4, None, 2, "Use a key once", {"one key": "0"}),
    (
        "kernel",
        1,
        None,
        1,
        "refused it on this CPU",
        {"programs in the grid": "4", "pl.program_id(0)": "[0. 1. 2. 3.]"},
    ),
    ("old-code", 0, None, 2, "5 of 5 old forms", {}),
    ("old-code", 1, None, 2, "4 of 4 old forms", {}),
    ("old-code", 2, None, 0, "refused with a TypeError", {}),
)


@pytest.mark.parametrize(("name", "step", "size", "answer", "said", "rows"), HERE)
def test_what_this_jax_says(
    name: str,
    step: int,
    size: int | None,
    answer: object,
    said: str,
    rows: Mapping[str, str],
) -> None:
    outcome = shown_values(name, step, size)
    found = lessons.load(name).steps[step].conclude(machine(name, size), outcome)
    assert found.holds is True, found.takeaway
    assert found.answer == answer
    assert said in found.takeaway
    for what, yours in rows.items():
        row = next(row for row in found.rows if row.what.startswith(what))
        assert row.yours == yours


@pytest.mark.parametrize(
    ("name", "step", "size", "expected"),
    [
        ("fusion", 1, 2000, {"steps": (6, 6), "bytes, fused": (16_000, 16_000)}),
        (
            "fusion",
            1,
            2000,
            {"kernels": (1, 5), "bytes, step by step": (1e5 - 50, 1e5 + 50)},
        ),
        ("memory", 1, 100_000, {"page faults, into one array": (0, 10)}),
        ("gradients", 2, None, dict.fromkeys(("one", "many", "jvp", "vjp"), (0, 1e-3))),
        ("sparse", 3, None, {"Python operations": (400, 400), "difference": (0, 1e-3)}),
    ],
)
def test_what_is_counted_here(
    name: str, step: int, size: int | None, expected: Mapping[str, tuple[float, float]]
) -> None:
    outcome = shown_values(name, step, size)
    for value, (low, high) in expected.items():
        assert low <= (outcome.number(value) or 0.0) <= high, value


def test_a_donated_array_is_gone() -> None:
    assert "deleted" in (
        shown_values("updates", 2, 100_000).values["spent"].error or ""
    )


# Where a step runs depends on the machine.


def only(
    name: str, step: int, devices: Sequence[Device] = CPU, size: Any = None
) -> Any:
    lesson = lessons.load(name)
    (work,) = works(lesson, step, here(lesson, size, devices))
    return work


def test_one_device_is_not_enough_so_that_two_are_simulated() -> None:
    for step in (1, 2):
        assert only("devices", step).cpu_devices == 2
        assert only("devices", step, TPU).cpu_devices is None
    paired = only("devices", 1, (TPU[0], *CPU))
    assert paired.cpu_devices is None
    assert "jax.devices('tpu')[0]\nsecond = jax.devices('cpu')[0]\n" in paired.setup


def test_programs_follow_the_device_and_the_size() -> None:
    assert "x = jax.device_put(host)" in only("first-call", 1, TPU).setup
    assert "x = jnp.array(host)" in only("first-call", 1).setup
    assert only("gradients", 1, BOTH).device == "cpu:0"
    assert only("gradients", 1, BOTH).x64
    assert "(128, 128)" in only("clock", 0, size=128).setup
    assert "f_cpu" in only("devices", 4, BOTH).setup
    assert [part.name for part in only("devices", 4).parts] == [
        "int32",
        "float32",
        "here",
    ]
    needs = [only("updates", 2, size=size).memory_bytes for size in (10**6, 10**7)]
    assert 4 * 10**6 < needs[0] < needs[1]
    work = only("memory", 1)
    assert isinstance(work, Snippet)
    assert work.cpu_devices == 1


def test_cases_follow_the_devices() -> None:
    def devices(name: str, step: int, there: Sequence[Device]) -> list[str]:
        lesson = lessons.load(name)
        cases: tuple[Case, ...] = asked(lesson, step, here(lesson, devices=there))
        return [case.device for case in cases]

    assert devices("first-call", 0, TPU) == ["tpu:0", "host"]
    assert devices("first-call", 0, BOTH) == ["tpu:0", "host", "cpu:0"]
    assert devices("first-call", 0, CPU) == ["cpu:0", "host"]
    assert devices("numpy-or-jax", 0, CPU) == ["host", "cpu:0", "cpu:0"]


# Pictures, and figures that are chosen among several.


def test_the_lanes_grow_and_mark_where_the_host_is_held_back() -> None:
    setting = here(lessons.load("ahead"))
    draw = lessons.load("ahead").steps[3].picture
    assert draw is not None
    (whole,) = loops("ahead", 3, (0.08, 0.16), held_from=32)(setting).loops
    growing = draw(setting, after(LoopSeen(first=4, calls=whole.calls[4:10])))
    assert growing is not None
    assert list(growing.series[0].x) == [5, 6, 7, 8, 9, 10]
    assert not growing.marks
    picture = draw(setting, after(whole))
    assert picture is not None
    assert [mark.at for mark in picture.marks] == [33]
    assert len(picture.series[1].y) == 64


def test_of_two_passes_the_faster_one_counts() -> None:
    lesson = lessons.load("ahead")
    first, *rest = waits(9e-3, 4e-3, 20e-3)(here(lesson)).loops[:4]
    faster = looped(first.loop, 1e-3, 1e-3)
    found = lesson.steps[2].conclude(here(lesson), after(first, *rest, faster))
    assert found.holds is True
    assert found.rows[0].yours == "10.0 µs"


def test_the_crossing_of_sparse_and_dense_is_marked() -> None:
    lesson = lessons.load("sparse")
    draw = lesson.steps[1].picture
    assert draw is not None
    picture = draw(here(lesson), products(1e-4, 2e-4, 4e-4, 2e-3, 8e-3, 3e-2)(ANY))
    assert picture is not None
    (mark,) = picture.marks
    assert 0.01 < mark.at < 0.03
    assert "1.9 %" in picture.draw(70, 12, color=False)
    assert crossover([(1.0, 1.0), (2.0, 2.0)], 3.0) is None
    assert crossover([(1.0, 1.0), (2.0, 2.0)], 0.5) is None
    assert crossover([(1.0, 1.0), (100.0, 100.0)], 10.0) == pytest.approx(10.0)


def test_the_loss_is_drawn_by_step() -> None:
    draw = lessons.load("gradients").steps[4].picture
    assert draw is not None
    picture = draw(machine("gradients"), shown_values("gradients", 4))
    assert picture is not None
    assert len(picture.series[0].x) == 21
    assert "loss" in picture.draw(60, 12, color=False)
