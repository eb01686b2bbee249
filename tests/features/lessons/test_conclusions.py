"""What the steps make of figures: one table of runs, and what JAX answers here."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from jaxtui.core.model import LoopSeen, Snippet, Timed
from jaxtui.features.lessons import catalogue as lessons
from jaxtui.features.lessons.base import Conclusion, Setting
from jaxtui.features.lessons.content.first_call import COLAB, PUBLISHED, meeting
from jaxtui.features.lessons.content.sparse import crossover
from jaxtui.features.lessons.figures import NOTHING, Outcome
from jaxtui.features.lessons.trial import Step
from jaxtui.ui import words
from tests.features.lessons.figures import (
    Given,
    after,
    complaining,
    figures,
    ms,
    on,
    played,
    real,
    sec,
    us,
    works,
)
from tests.golden.test_documents import check_frozen

pytestmark = pytest.mark.usefixtures("brief")

DENSITIES = ("0.1 %", "0.3 %", "1 %", "3 %", "10 %", "30 %")
GONE = "jax.lib.xla_bridge"
FIRST = "np.dot(jax_array, jax_array)"
EVEN = dict.fromkeys(("float64", "float16", "bfloat16"), ms(1))


def products(*milliseconds: float) -> Given:
    both = zip(DENSITIES, milliseconds, strict=True)
    return {f"sparse {density}": ms(each) for density, each in both}


FIGURES = """
clock 1: plain call=100us; np.asarray=5ms; block_until_ready=5ms
clock 2: JAX=5ms; JAX.dispatch=100us; NumPy=10ms
ahead 1: call=50us; shape and dtype=50us; passed on=50us; a value=5ms
ahead 2: never=300us+60ms; each=66ms
ahead 3: end=1ms; each=4ms; asarray=4ms; print=20ms
ahead 4: never=80ms+160ms; never.held=32
first-call 1: JAX=5ms; JAX.transfer=1ms; JAX.trace=1ms; JAX.lower=2ms;
    JAX.compile=12ms; JAX.first_call=5ms; NumPy=4ms
first-call 2: device_put(x)=10us; copy from NumPy=500us; first call=20ms;
    compile alone=12ms; later call=5ms; same memory='True'
first-call 3: n×n float32=15ms; n×(n+1) float32=15ms; n×n bfloat16=15ms;
    n×n float32 again=1ms; n×(n+1) float32 again=1ms; n×n bfloat16 again=1ms; traced=3
first-call 4: JAX=1ms; JAX.transfer=1ms; JAX.trace=1ms; JAX.lower=2ms;
    JAX.compile=12ms; JAX.first_call=5ms; NumPy=3ms
first-call 5: JAX=1ms; JAX.transfer=1ms; JAX.trace=1ms; JAX.lower=2ms;
    JAX.compile=12ms; JAX.first_call=5ms; NumPy=3ms
numpy-or-jax 1: A=5ms; B=11ms; C=10ms
numpy-or-jax 1 both: A=150ms; B=300ms; C=290ms; D=30ms; E=5ms
numpy-or-jax 1 tpu: A=150ms; D=30ms; E=5ms
numpy-or-jax 2: NumPy x·xᵀ=5ms; NumPy a·b=9ms; JAX x·xᵀ=8ms; JAX a·b=8ms
small-work 3: NumPy 10=2us; eager 10=20us; jit 10=10us; NumPy 100=2us; eager 100=21us;
    jit 100=11us; jit large=20us
clock 3: it read=0.0001; the work took=0.005; findings=1;
    what the audit says='The clock stops too soon.'; it read, mended=0.005;
    findings, mended=0
fusion 3: kernels=2; lines of each kernel='dot: [4], fusion: [5, 6, 7]';
    most lines in one kernel=3; a step takes=0.006; the product takes=0.005
fusion 1: NumPy=8ms; eager=4ms; jit=400us
fusion 2: steps=6; kernels=1; bytes, step by step=5e+07; bytes, fused=8e+06;
    eager=4ms; jit=500us
memory 1: fresh memory=2ms; reused memory=400us; page faults, fresh=980.2
memory 2: new results=1.2ms; results written into one array=300us;
    page faults, new=980; page faults, into one array=0.2
digits 1: float64=2ms; float32=1ms; float16=3ms; bfloat16=400us;
    float64.error_vs_float64=1e-15; float32.error_vs_float64=5e-07;
    float16.error_vs_float64=0.0003; bfloat16.error_vs_float64=0.002;
    float64.bytes=8e+06; float32.bytes=4e+06; bfloat16.bytes=2e+06
devices 5: int32=40ms; float32=10ms; here='{CpuDevice(id=0)}'
devices 5 both: int32=4ms; float32=1ms; CPU=30ms; here='{TPU_0}'; there='{TFRT_CPU_0}'
updates 3: jit=20ms; donated=10us
gradients 3: one=1e-06; many=1e-06; jvp=1e-06; vjp=1e-06; forward one=30ms;
    reverse one=1ms; forward many=1ms; reverse many=30ms
gradients 4: value=1ms; both=3ms
sparse 2: dense=1ms; sparse 0.1 %=100us; sparse 0.3 %=200us; sparse 1 %=400us;
    sparse 3 %=2ms; sparse 10 %=8ms; sparse 30 %=30ms
sparse 4: Python operations=400; fori operations=1; difference=0;
    Python compile=200ms; fori compile=40ms
batching 2: loop=2ms; hand=100us; vmap=300us; hand jit=10us; vmap jit=10us
batching 3: vmap off=1e-06; loop off=0; size=1; loop=40ms; hand=300us; vmap=300us
kernel 1: eager=5ms; jit=1ms; kernel=1ms; eager.error_vs_float64=8e-08;
    jit.error_vs_float64=8e-08; kernel.error_vs_float64=9e-08;
    kernel.note='interpreted'
kernel 1 tpu: eager=5ms; jit=1ms; kernel=1ms; jit.error_vs_float64=8e-08;
    kernel.error_vs_float64=8e-08
kernel 2 tpu: blocks=4; same as jit=1; compiled for this device='(4096,)'
"""
"""Figures with which a claim holds, by lesson, step and machine; of all other steps
they are what JAX says here. Of a loop: its stopwatch and its work."""


def figure(text: str) -> object:
    """A time, such as ``5ms``, a pair of them, a number, or a text in quotes."""
    if text.endswith("s"):
        times = [
            {"us": us, "ms": ms}[part[-2:]](float(part[:-2]))
            for part in text.split("+")
        ]
        return times[0] if len(times) == 1 else tuple(times)
    return ast.literal_eval(text)


def given(text: str) -> Given:
    pairs = (each.partition("=") for each in " ".join(text.split()).split("; "))
    return {name: figure(value) for name, _, value in pairs}


BASES: Mapping[str, Given] = {
    where: given(text)
    for where, _, text in (
        line.partition(": ") for line in FIGURES.replace("\n    ", " ").splitlines()[1:]
    )
}

TABLE: Sequence[tuple[Any, ...]] = (
    # Step, what differs from its base, verdict, answer; of what JAX says also rows of
    # the table: "its first cell | the learner's figure | the remark".
    ("clock 1", {}, True, 2),
    ("clock 1", {"plain call": ms(2)}, False, 1),
    ("clock 1", {"block_until_ready": None}, None, None),
    ("clock 1 tpu", {"np.asarray": ms(20)}, True, 2),
    ("clock 2", {}, True, 2),
    ("clock 2", {"JAX.dispatch": ms(2)}, False, 1),
    ("clock 2", {"NumPy": Exception("Slow.")}, True, 2),
    ("clock 3", {}, True, 1),
    ("clock 3", {"findings, mended": 1}, False, 1),
    ("clock 3", {"findings": None}, None, None),
    ("ahead 1", {}, True, 2),
    ("ahead 1", {"a value": us(60)}, False, None),
    ("ahead 2", {}, True, 2),
    ("ahead 2", {"never": (ms(59), ms(60)), "never.inline": True}, False, 0),
    ("ahead 3", {}, True, 2),
    ("ahead 3", {"each": ms(1), "print": ms(1)}, False, 0),
    ("ahead 4", {}, True, 1),
    ("ahead 4", {"never.held": 12}, False, 1),
    ("ahead 4", {"never.held": None}, False, 0),
    ("ahead 4", {"never.held": None, "never.inline": True}, False, 0),
    ("ahead 4 tpu", {"never.held": 12}, True, 1),
    ("ahead 4 tpu", {"never.held": None}, None, 0),
    ("first-call 1", {}, True, 1),
    ("first-call 1", {"JAX": ms(50)}, False, 0),
    ("first-call 1 tpu", {}, True, 1),
    ("first-call 2", {}, True, 0),
    ("first-call 2", {"same memory": "False"}, False, 0),
    ("first-call 2", {"first call": ms(5), "later call": ms(6)}, False, 0),
    ("first-call 3", {}, True, 2),
    ("first-call 3", {"traced": 1}, False, 0),
    ("first-call 3", {"n×n float32": ms(1)}, False, 2),
    ("first-call 4", {}, True, 0),
    ("first-call 4", {"JAX": ms(4)}, True, 3),
    ("first-call 4", {"NumPy": sec(1)}, False, 0),
    ("first-call 4", {"NumPy": Exception("Slow.")}, None, None),
    ("first-call 5", {}, True, 0),
    ("first-call 5", {"JAX": ms(4)}, False, 3),
    ("numpy-or-jax 1", {}, None, 0),
    ("numpy-or-jax 1", {"A": ms(12)}, None, 1),
    ("numpy-or-jax 1", {"A": ms(9)}, None, 0),
    ("numpy-or-jax 1", {"B": ms(20)}, False, 0),
    ("numpy-or-jax 1", {"A": Exception("Slow.")}, None, 1),
    ("numpy-or-jax 1 both", {}, True, 2),
    ("numpy-or-jax 1 both", {"D": ms(5)}, False, 2),
    ("numpy-or-jax 1 tpu", {}, True, 2),
    ("numpy-or-jax 2", {}, True, 0),
    ("numpy-or-jax 2", {"JAX x·xᵀ": ms(5), "JAX a·b": ms(9)}, True, 0),
    ("numpy-or-jax 2", {"NumPy x·xᵀ": ms(9)}, False, 1),
    ("numpy-or-jax 2", {"JAX x·xᵀ": None, "JAX a·b": None}, True, 0),
    ("numpy-or-jax 3", {}, True, 0),
    ("numpy-or-jax 3", {FIRST: "jax.Array"}, False, 1),
    ("small-work 3", {}, True, 0),
    ("small-work 3", {"eager 100": us(200), "jit 100": us(100)}, False, 2),
    ("fusion 1", {}, True, 2),
    ("fusion 1", {"eager": ms(1.5), "jit": ms(1)}, False, 0),
    ("fusion 1", {"eager": Exception("Long.")}, None, None),
    ("fusion 3", {}, True, 1),
    ("fusion 3", {"most lines in one kernel": 1, "kernels": 4}, False, 0),
    ("fusion 2", {}, True, 2),
    ("fusion 2", {"kernels": 6, "bytes, fused": 50e6}, False, 0),
    ("memory 1", {}, True, 2),
    ("memory 1", {"fresh memory": us(500)}, False, 0),
    ("memory 1", {"fresh memory": us(400), "page faults, fresh": 0}, None, None),
    ("memory 2", {}, True, 0),
    ("memory 2", {"page faults, new": 1}, True, 0),
    ("memory 2", {"page faults, into one array": 400}, False, 1),
    ("digits 1", {}, True, 3),
    ("digits 1", EVEN, True, ...),
    ("digits 1", {"float32.error_vs_float64": 4e-4}, False, 3),
    ("digits 1", {"float64": Exception("None.")}, None, 3),
    ("digits 2", {}, True, 1, "jnp.float16(70_000) | inf"),
    ("digits 2", {"float16 of 70000": 7}, False, 1),
    ("digits 3", {}, True, 0, "jnp.asarray with x64 | float64"),
    ("digits 3", {"taken over": complaining("float32")}, False, 1),
    ("digits 4", {}, True, 2, "float16 + b | float32"),
    ("digits 4", {"weak": 7}, False, 2),
    ("devices 1", {}, True, 0, "its coords | None", "its process_index | 0"),
    ("devices 1", {"on the first": 0}, False, None),
    ("devices 2", {}, True, 1),
    ("devices 2", {"follows": 0}, False, 0),
    ("devices 3", {}, True, 2, "b moved | [0. 2. 4. 6.]"),
    ("devices 3", {"b + c": (0, 2, 4, 6), "add(b, c)": (0, 2, 4, 6)}, False, 0),
    ("devices 4", {}, True, 0, "a.dtype | int32", "wrong in | 0 %"),
    ("devices 4", {"wrong": 0.99}, True, 2),
    ("devices 4", {"wrong": 0, "last": 7, "exact": 7}, False, 0),
    ("devices 5", {}, True, 2),
    ("devices 5", {"int32": ms(11)}, False, 1),
    ("devices 5 both", {}, True, 2),
    ("updates 1", {}, True, 1, "x afterwards | [0 1 2 3 4 5 6 7 8 9]"),
    ("updates 1", {"JAX": ""}, False, 0),
    ("updates 2", {}, True, 0, "x.at[2].power | [ 1. 2. 243. 4.]"),
    ("updates 2", {"same power": 0}, False, 1),
    ("updates 3", {}, True, 2),
    ("updates 3", {"jit": us(40)}, False, 1),
    (
        "updates 4",
        {},
        True,
        1,
        "get, fill | -1",
        "set, clip | the last becomes 100",
        "set, d | unchanged",
    ),
    ("updates 4", {"get fill": 9}, False, 1),
    ("updates 5", {}, True, 2, "jnp.sum(jnp.array(numbers)) | 31380"),
    ("updates 5", {"array": 7}, False, 2),
    ("gradients 1", {}, True, 1, "grad(sum_logistic) | 0.25, 0.19661, 0.10499"),
    ("gradients 1", {"grad": (1, 2, 3)}, False, 1),
    ("gradients 2", {}, True, 1, "by hand, x = 0.5 | 8.5"),
    ("gradients 2", {"hand 11": 7}, False, None),
    ("gradients 3", {}, True, 1),
    ("gradients 3", {"forward one": ms(2), "reverse many": ms(2)}, False, 1),
    ("gradients 3", {"jvp": 0.1}, False, 1),
    ("gradients 4", {}, True, 0),
    ("gradients 4", {"both": ms(9)}, False, 1),
    ("gradients 5", {}, True, 0),
    ("gradients 5", {"losses": (5, *[4] * 19, 6)}, False, 2),
    ("sparse 1", {}, True, 1),
    ("sparse 1", {"difference": 1e9}, False, 1),
    ("sparse 2", {}, True, 0),
    ("sparse 2", products(2, 3, 4, 5, 6, 7), False, None),
    ("sparse 2", products(*[0.1] * 6), False, 2),
    ("sparse 2", products(0.9, 2, 3, 4, 5, 6), False, 0),
    ("sparse 3", {}, True, 1, "lax.c | 2 of 2 equal", "lax.s | 3 of 3 equal"),
    ("sparse 3", {"switch 1": 0}, False, 1),
    ("sparse 4", {}, True, 2),
    ("sparse 4", {"Python compile": ms(50)}, False, 2),
    ("batching 1", {}, True, 0, "program of | dot_general"),
    ("batching 1", {"vmap": (1,) * 10}, False, 0),
    ("batching 2", {}, True, 2),
    ("batching 2", {"vmap": us(25)}, False, 1),
    ("batching 3", {}, True, 0),
    ("batching 3", {"vmap": ms(2)}, False, 1),
    ("batching 3", {"loop": us(600), "hand": us(100), "vmap": us(400)}, False, 2),
    ("batching 3", {"vmap off": 0.5}, False, 0),
    ("batching 4", {}, True, 1),
    ("batching 4", {"JAX same": 0}, False, 0),
    ("batching 5", {}, True, 2, "one key | 0"),
    ("batching 5", {"spread": 5}, False, 2),
    ("kernel 1", {}, True, 0),
    ("kernel 1", {"kernel.error_vs_float64": 0.3}, False, 1),
    ("kernel 1 tpu", {"kernel": ms(2)}, True, 0),
    ("kernel 1 tpu", {}, True, 0),
    ("kernel 2", {}, None, 1, "programs in the grid | 4"),
    ("kernel 2", {"compiled for this device": "(4,)"}, False, 0),
    ("kernel 2 tpu", {}, True, 0),
    ("old-code 1", {}, True, 2),
    ("old-code 1", {f"{GONE}, old": "cpu"}, False, 1),
    ("old-code 1", {f"{GONE}, old": complaining("cpu")}, True, 2),
    ("old-code 2", {}, True, 2),
    ("old-code 2", {"sparse.BCOO(dense), new": AttributeError("x")}, False, 2),
    ("old-code 3", {}, True, 0),
    ("old-code 3", {"new + 1": 3}, False, 0),
)


def described(changes: Given) -> str:
    return ", ".join(f"{name} = {value}" for name, value in changes.items()) or "base"


def identify(row: tuple[Any, ...]) -> str:
    return f"{row[0]}: {described(row[1])}"[:60]


def outcome_of(where: str, changes: Given) -> tuple[Step, Setting, Outcome]:
    """A step, and its base with some figures changed."""
    name, number, machine = (*where.split(), "")[:3]
    lesson, step = lessons.load(name), int(number)
    base = BASES.get(where, BASES.get(f"{name} {number}", {}))
    before, setting = NOTHING, on(lesson, machine=machine)
    if not base:
        setting, before = real(name), played(name, step)
    given = {**base, **changes}
    outcome = figures(lesson, step, setting, given, before=before)
    return lesson.steps[step - 1], setting, outcome


def concluded(where: str, changes: Given) -> Conclusion:
    step, setting, outcome = outcome_of(where, changes)
    return step.conclude(setting, outcome)


@pytest.mark.parametrize("row", TABLE, ids=identify)
def test_what_a_step_concludes_from_its_figures(row: tuple[Any, ...]) -> None:
    where, changes, holds, answer, *rows = row
    found = concluded(where, changes)
    assert found.holds is holds, found.sentences
    assert answer is ... or found.answer == answer
    assert not re.search(r"\bNone\b|\bnan\b", " ".join(found.sentences))
    for text in rows:
        what, *cells = text.split(" | ")
        line = next(one for one in found.rows if one.what.startswith(what))
        _, yours, _, remark = line.texts()
        assert yours == cells[0]
        assert not cells[1:] or cells[1] in remark


def test_what_is_said_of_figures_is_as_recorded() -> None:
    """Words, table and picture; ``JAXTUI_GOLDEN=write`` writes them anew."""
    parts = []
    for where, changes, holds, *_ in TABLE:
        if where not in BASES and " ".join(where.split()[:2]) not in BASES:
            continue  # JAX says these, each version in its own words
        step, setting, outcome = outcome_of(where, changes)
        found = step.conclude(setting, outcome)
        title = f"== {where}: {described(changes)} → {holds}, {found.answer}"
        reasons = map(words.sentence, found.reasons)
        rows = (" | ".join(row.texts()).rstrip(" |") for row in found.rows)
        picture = step.trial.picture(step.figures(setting, outcome))
        drawn = picture.draw(60, 12, color=False) if picture and not changes else ""
        lines = [title, *found.sentences, *reasons, *rows, *str(drawn).splitlines()]
        parts.append("\n".join(line.rstrip() for line in lines))
    text = "\n\n".join(parts) + "\n"
    check_frozen(Path(__file__).with_name("conclusions.txt"), text)


def test_every_claim_is_seen_to_hold_and_to_fail() -> None:
    """Small work's first two steps have a machine of their own."""
    seen: dict[str, set[bool | None]] = {}
    for where, _, holds, *_ in TABLE:
        seen.setdefault(" ".join(where.split()[:2]), set()).add(holds)
    steps = {
        f"{name} {number}"
        for name in lessons.NAMES
        for number, _ in enumerate(lessons.load(name).steps, 1)
    }
    assert {*seen} == steps - {"small-work 1", "small-work 2"}
    assert [step for step, holds in seen.items() if not holds >= {True, False}] == []


def test_a_claim_that_holds_has_an_answer() -> None:
    for where, changes, holds, *_ in TABLE:
        name, number = where.split()[:2]
        question = lessons.load(name).steps[int(number) - 1].question
        if holds and question.right is None:
            assert concluded(where, changes).answer is not None, where


# What JAX really answers.


@pytest.mark.parametrize("name", lessons.NAMES)
def test_all_that_a_lesson_runs_runs_here(name: str) -> None:
    """Every setup, every part and every case; and nothing that a claim needs is
    missing then.
    """
    lesson = lessons.load(name)
    for number, step in enumerate(lesson.steps, 1):
        outcome, where = played(name, number), f"{name} {number}"
        assert outcome.problem is None, (where, outcome.problem)
        assert not outcome.failures, where
        assert not any(one.ready is None for one in outcome.measurements), where
        parts = [
            part
            for work in step.works(real(name))
            if isinstance(work, Snippet)
            for part in work.parts
        ]
        for part in parts:
            if isinstance(part, Timed):
                assert part.name in outcome.timings, (where, part.name)
                continue
            value = outcome.values[part.name]
            complains = bool(value.error or value.warnings)
            assert complains or not part.raises, (where, part.name)
            assert part.raises or not value.error, (where, value)
        said = step.conclude(real(name), outcome).sentences
        assert not any(line.startswith("Not measured") for line in said), said


COUNTS: dict[str, dict[str, tuple[float, float]]] = {
    "fusion 2": {
        "steps": (6, 6),
        "kernels": (1, 5),
        "bytes, fused": (8000, 8000),
        "bytes, step by step": (5e4 - 50, 5e4 + 50),
    },
    "memory 2": {"page faults, into one array": (0, 10)},
    "gradients 3": dict.fromkeys(("one", "many", "jvp", "vjp"), (0, 1e-3)),
    "sparse 4": {"Python operations": (400, 400), "difference": (0, 1e-3)},
}


@pytest.mark.parametrize("where", COUNTS)
def test_what_is_counted_here(where: str) -> None:
    name, number = where.split()
    for value, (low, high) in COUNTS[where].items():
        assert low <= played(name, int(number)).values[value].numbers[0] <= high


# Where a step runs depends on the machine.


def only(name: str, step: int, machine: str = "", size: int | None = None) -> Any:
    lesson = lessons.load(name)
    (work,) = works(lesson, step, on(lesson, size, machine))
    return work


def test_programs_and_cases_follow_devices_and_size() -> None:
    # One device is not enough, so that two are simulated.
    pairs = [only("devices", step, at) for step in (2, 3) for at in ("", "tpu", "gpu")]
    assert [one.cpu_devices for one in pairs] == [2, None, None] * 2
    assert "jax.devices('gpu')[0]\nsecond = jax.devices('cpu')[0]\n" in pairs[2].setup
    assert only("memory", 2).cpu_devices == 1
    assert "send = jax.device_put\n" in only("first-call", 2, "tpu").setup
    assert "send = jnp.array\n" in only("first-call", 2).setup
    wide = only("gradients", 2, "both")
    assert (wide.device, wide.x64) == ("cpu:0", True)
    assert only("gradients", 2).device is None
    assert "n = 1_280\n" in only("clock", 1, size=1280).setup
    assert "cpu = jax.devices('cpu')[0]\n" in only("devices", 5, "both").setup
    parts = [part.name for part in only("devices", 5).parts]
    assert parts == ["int32", "float32", "here"]
    for name, machine, devices in (
        ("first-call", "tpu", ["tpu:0", "host"]),
        ("first-call", "both", ["tpu:0", "host", "cpu:0"]),
        ("first-call", "", ["cpu:0", "host"]),
        ("numpy-or-jax", "", ["host", "cpu:0", "cpu:0"]),
    ):
        assert [case.device for case in only(name, 1, machine).cases] == devices


# Pictures, and figures that are chosen among several.


def drawn(name: str, step: int, outcome: Outcome | None = None, **setting: Any) -> Any:
    """The picture of an outcome, or of the figures with which the claim holds."""
    lesson = lessons.load(name)
    there = replace(on(lesson), **setting)
    draw = lesson.steps[step - 1].trial.picture
    assert draw is not None
    seen = outcome or figures(lesson, step, there, BASES[f"{name} {step}"])
    return draw(lesson.steps[step - 1].figures(there, seen))


def test_the_lanes_grow() -> None:
    lesson = lessons.load("ahead")
    (whole,) = figures(lesson, 4, on(lesson), BASES["ahead 4"]).loops
    growing = drawn("ahead", 4, after(LoopSeen(first=4, calls=whole.calls[4:10])))
    assert [*growing.series[0].x] == [5, 6, 7, 8, 9, 10]
    assert not growing.marks


@pytest.mark.parametrize(
    ("end", "level", "place"), [(2.0, 3.0, None), (2.0, 0.5, None), (100.0, 10.0, 10.0)]
)
def test_where_a_line_crosses_a_level(
    end: float, level: float, place: float | None
) -> None:
    found = crossover([(1.0, 1.0), (end, end)], level)
    assert found == (place and pytest.approx(place))


def test_the_loss_is_drawn_by_step() -> None:
    (losses,) = drawn("gradients", 5, played("gradients", 5)).series
    assert (len(losses.x), losses.label) == (21, "loss")


def test_the_published_runs_are_in_the_first_race() -> None:
    picture = drawn("first-call", 4)
    colors = [one.color == PUBLISHED for one in picture.series]
    assert colors == [False] * 2 + [True] * 3
    lesson = lessons.load("first-call")
    # 2.16 s and 68.9 ms a call against 1.61 s a call; 0.837 s is less than 1.61 s.
    numpy, gpu, tpu = COLAB
    met = f"call {meeting(gpu, numpy)} GPU, call {meeting(tpu, numpy)} TPU"
    outcome = figures(lesson, 4, on(lesson), BASES["first-call 4"])
    row = lesson.steps[3].conclude(on(lesson), outcome).rows[3]
    assert row.texts()[2] == met
    assert len(drawn("first-call", 5).series) == 2
    # While it runs a curve gets as far as the calls.
    assert drawn("first-call", 4, NOTHING) is None
    interim = (
        replace(one, stopped=None, ready=replace(one.ready, n=7))
        for one in outcome.measurements
        if one.ready
    )
    running = drawn("first-call", 4, replace(outcome, measurements=tuple(interim)))
    for found, last in ((running, 7), (drawn("first-call", 4), 100)):
        assert max(found.series[0].x) == pytest.approx(last)
