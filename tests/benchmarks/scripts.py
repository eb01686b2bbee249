"""Does "Show code" give the figure that jaxtui gives?

    python tests/benchmarks/scripts.py [--pairs 7] [--short-pairs 21]
        [--lesson NAME[:STEP]]... [--loops] [--op NAME[:SIZE]|all]... [--python PYTHON]
        [--control]

For each step of each lesson, for each style of loop, and for each op of the catalogue
in mode jit at two sizes, fresh processes alternate: the exported script in plain
Python, and jaxtui with an engine of its own. Each figure that the script prints is
divided by jaxtui's of the same name. A figure fails when the median of its ratios is
off by more than 15 %, or when jaxtui has none of that name; beside the median stands
its 95 % interval, which says what so many pairs can tell. The scripts run by
``--python``, so that an environment with nothing but jax and numpy can be the judge.

Figures below 0.2 ms need more pairs: processes that do the very same differ by a factor
there, depending on where the system puts their threads and their memory. A subject with
such a figure in its first pair gets so many as ``--short-pairs`` says. ``--control``
compares each script with itself: what fails then, this machine cannot tell apart.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from jaxtui import lessons
from jaxtui.commands.session import Session, session, spawn_engine
from jaxtui.engine.client import EngineOptions
from jaxtui.lessons.code import code_parts, joined
from jaxtui.model import (
    LOOP_STYLES,
    Case,
    Experiment,
    Loop,
    LoopMeasured,
    OpInfo,
    Ready,
    RunFinished,
)
from jaxtui.scripts.loops import loop_title
from jaxtui.stats import sign_test_interval

ACCEPTED = 0.15
"""How far a median ratio may be from 1."""

SHORT_SECONDS = 200e-6
"""A figure below this is short."""

CALLS = 40
LOOP_SIZE = 700
"""A product of some milliseconds on a small machine."""

LARGER = {"number of elements": 4}
LARGER_OTHERWISE = 2
"""How many times an op's default its second size is. Not a smaller one: a call of less
than 0.1 ms takes half as long again in the next process."""

SIZES = {"transpose": (1920, 3840)}
"""Where an op's own will not do. The columns of an array whose rows are a power of two
of bytes share their sets in every cache: how long its transpose takes then depends on
where the two arrays lie, which a process chooses once. At 2048 one process is half as
fast again as the next; jaxtui, whose bursts move the result about, is in the middle."""

BENCH_SECONDS = 4
"""For one case; its script samples for two seconds after compiling."""

FIGURE = re.compile(r"(?P<name>\S.*?):? +(?P<value>\d\.\d+e[+-]\d+) s")
TITLE = re.compile(r'^print\("(.*)", flush=True\)$|^ {4}"(.*)": \(timed', re.M)
"""Of a part, or of a case among those that take turns."""

ROOT = Path(__file__).parents[2]

Figures = dict[str, float]
"""Seconds by name; before a name that several parts have stands the part's title."""


class Subject(NamedTuple):
    """What is done in two ways."""

    name: str
    script: str
    measure: Callable[[], Figures]


class Pairs(NamedTuple):
    """How many pairs a subject gets."""

    usual: int
    short: int

    def wanted(self, figures: Figures) -> int:
        """Fixed by the figures of the first pair; one will do where there are none."""
        if not figures:
            return 1
        return self.short if min(figures.values()) < SHORT_SECONDS else self.usual


class Ratio(NamedTuple):
    """One figure, over all pairs."""

    name: str
    script: float
    jaxtui: float
    ratios: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.ratios)

    @property
    def fails(self) -> bool:
        # Not "more than": NaN, where jaxtui has no such figure, fails as well.
        return not abs(self.median - 1) <= ACCEPTED


# The script's side.


def printed(script: str, python: str) -> Figures:
    """What the script prints, run by itself."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "exported.py"
        path.write_text(script, encoding="utf-8")
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(
            [python, str(path)],
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment,
        )
    if done.returncode:
        raise RuntimeError(f"the script ended with {done.returncode}:\n{done.stderr}")
    return read(done.stdout, [a or b for a, b in TITLE.findall(script)])


def read(text: str, titles: Sequence[str]) -> Figures:
    """The figures of an output, those under a title by the name of both."""
    figures: Figures = {}
    title = ""
    for line in text.splitlines():
        if line in titles:
            title = line
        elif match := FIGURE.fullmatch(line):
            figures[f"{title} {match['name']}".strip()] = float(match["value"])
    return figures


# jaxtui's side.


def run_cli(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "jaxtui", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    return done.stdout


def measured_step(name: str, number: int) -> Figures:
    """The figures of one step, by a fresh jaxtui."""
    document = json.loads(run_cli("learn", name, "--step", str(number), "--json"))
    (step,) = document["steps"]
    figures = {name: one["seconds"]["median"] for name, one in step["timings"].items()}
    for one in step["measurements"]:
        label = msgspec.convert(one["case"], Case).label
        for clock in ("dispatch", "ready"):
            if one[clock]:
                figures[f"{label} {clock}"] = one[clock]["median"]
    for one in step["loops"]:
        figures |= of_loop(msgspec.convert(one, LoopMeasured))
    return figures


def of_loop(measured: LoopMeasured) -> Figures:
    title, clock = loop_title(measured.loop), measured.undisturbed
    return {
        f"{title} stopwatch": clock.stopwatch_seconds,
        f"{title} true": clock.true_seconds,
    }


def measured_case(case: Case) -> Figures:
    """The figures of one case, by a fresh jaxtui."""
    asked = ["--dtype", case.dtype, "--mode", case.mode, "--device", case.device]
    budget = ["--budget", str(BENCH_SECONDS), "--target", "1"]
    document = json.loads(
        run_cli(
            "bench", f"{case.op}:{case.size}", *asked, *budget, "--no-history", "--json"
        )
    )
    (one,) = document["measurements"]
    return {clock: one[clock]["median"] for clock in ("dispatch", "ready")}


async def engine_loop(loop: Loop) -> Figures:
    """The figures of a loop, by a fresh engine."""
    async with session(spawn_engine, EngineOptions()) as engine:
        figures: Figures = {}
        number = None
        async for envelope in engine.events():
            match envelope.event:
                case Ready():
                    number = await engine.engine.run(loop)
                case LoopMeasured() as measured:
                    figures = of_loop(measured)
                case RunFinished() if envelope.run == number:
                    break
        return figures


async def loop_code(loop: Loop) -> str:
    async with session(spawn_engine, EngineOptions()) as engine:
        await until_ready(engine)
        return joined(await code_parts((loop,), engine.engine.plan), "loop")


async def case_codes(asked: Sequence[str]) -> list[tuple[Case, str]]:
    """Cases with their scripts: at the size asked for, or at two of the op's own."""
    wanted = [(name, size) for name, _, size in (one.partition(":") for one in asked)]
    async with session(spawn_engine, EngineOptions()) as engine:
        ready = await until_ready(engine)
        cases = tuple(
            Case(op=op.name, size=size, dtype="float32", device="cpu:0", mode="jit")
            for op in ready.ops
            for name, typed in wanted
            if name in (op.name, "all")
            for size in ([int(typed)] if typed else own_sizes(op))
        )
        plan = await engine.engine.plan(Experiment(cases=cases))
        return [(one.case, one.script) for one in plan.cases]


def own_sizes(op: OpInfo) -> tuple[int, int]:
    """The default size and a larger one."""
    times = LARGER.get(op.size_means, LARGER_OTHERWISE)
    return SIZES.get(op.name, (op.default, op.default * times))


async def until_ready(engine: Session) -> Ready:
    async for envelope in engine.events():
        if isinstance(envelope.event, Ready):
            return envelope.event
    raise RuntimeError("the engine ended")


# Both.


def of_lesson(name: str, only: int | None = None) -> Iterator[Subject]:
    for number, _ in enumerate(lessons.load(name).steps, 1):
        if only not in (None, number):
            continue
        script = run_cli("learn", name, "--step", str(number), "--code")
        measure = partial(measured_step, name, number)
        yield Subject(f"{name} {number}", script, measure)


def of_loops() -> Iterator[Subject]:
    case = Case(
        op="matmul", size=LOOP_SIZE, dtype="float32", device="cpu:0", mode="jit"
    )
    for style, chained in itertools.product(LOOP_STYLES, (False, True)):
        loop = Loop(case=case, calls=CALLS, style=style, chained=chained)
        name = f"loop {style} {'chained' if chained else 'independent'}"
        script = asyncio.run(loop_code(loop))
        yield Subject(name, script, lambda loop=loop: asyncio.run(engine_loop(loop)))


def of_ops(names: Sequence[str]) -> Iterator[Subject]:
    for case, script in asyncio.run(case_codes(names)):
        yield Subject(case.label, script, partial(measured_case, case))


def compared(subject: Subject, pairs: Pairs, python: str) -> list[Ratio]:
    """Every figure of the script beside jaxtui's, in random order within a pair."""
    order = random.Random(0)
    found: list[tuple[Figures, Figures]] = []
    wanted = 1
    while len(found) < wanted:
        if order.random() < 0.5:
            script = printed(subject.script, python)
            ours = subject.measure()
        else:
            ours = subject.measure()
            script = printed(subject.script, python)
        found.append((script, ours))
        if len(found) == 1:
            wanted = pairs.wanted(script)
    return [ratio(name, found) for name in found[0][0]]


def ratio(name: str, found: Sequence[tuple[Figures, Figures]]) -> Ratio:
    script = [one[name] for one, _ in found]
    ours = [same(name, one) for _, one in found]
    ratios = tuple(a / b for a, b in zip(script, ours, strict=True))
    return Ratio(name, statistics.median(script), statistics.median(ours), ratios)


def same(name: str, figures: Figures) -> float:
    """The figure of this name; NaN, which fails, where there is none.

    A script of a single part prints no titles, and one of a snippet has titles that
    its figures do without.
    """
    if name in figures:
        return figures[name]
    titled = [key for key in figures if key.endswith(f" {name}")]
    if len(titled) == 1:
        return figures[titled[0]]
    bare = [key for key in figures if name.endswith(f" {key}")]
    return figures[max(bare, key=len)] if bare else float("nan")


def report(subject: Subject, pairs: Pairs, python: str) -> bool:
    """Prints the rows of a subject; whether all is in order."""
    print(f"\n{subject.name}", flush=True)
    try:
        rows = compared(subject, pairs, python)
    except RuntimeError as error:
        print(f"  FAIL  {error}")
        return False
    if not rows:
        print("  prints no figures")
    for row in rows:
        print(f"  {line(row)}", flush=True)
    return not any(row.fails for row in rows)


def line(row: Ratio) -> str:
    """One row of the table."""
    verdict = "FAIL" if row.fails else "ok"
    sure = sign_test_interval(row.ratios)
    interval = f"[{sure.low:.3f}, {sure.high:.3f}] {len(row.ratios):2}"
    figures = f"{row.script:.3e} / {row.jaxtui:.3e} s"
    return f"{verdict:<4}  {row.median:6.3f}  {interval}  {figures}  {row.name}"


def main() -> int:
    """Print the table; 1 if a figure differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--short-pairs", type=int, default=21)
    parser.add_argument("--lesson", action="append", metavar="NAME[:STEP]")
    parser.add_argument("--loops", action="store_true", help="the loops")
    parser.add_argument("--op", action="append", metavar="NAME[:SIZE]|all")
    parser.add_argument("--python", default=sys.executable, help="runs the scripts")
    parser.add_argument("--control", action="store_true", help="script / script")
    options: Any = parser.parse_args()
    chosen = bool(options.lesson or options.loops or options.op)
    names = options.lesson or ([] if chosen else list(lessons.MODULES))
    subjects = []
    for asked in names:
        name, _, step = asked.partition(":")
        subjects.append(of_lesson(name, int(step) if step else None))
    if options.loops or not chosen:
        subjects.append(of_loops())
    if options.op or not chosen:
        subjects.append(of_ops(options.op or ["all"]))
    pairs = Pairs(options.pairs, options.short_pairs)
    judged = "script" if options.control else "jaxtui"
    print(f"script / {judged}, {pairs.usual} alternating pairs of fresh processes")
    right = True
    for subject in itertools.chain.from_iterable(subjects):
        if options.control:
            again = partial(printed, subject.script, options.python)
            subject = subject._replace(measure=again)
        right = report(subject, pairs, options.python) and right
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
