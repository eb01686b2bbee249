"""Does "Show code" give the figure that jaxtui gives?

    python tests/benchmarks/scripts.py [--pairs 7] [--budget SECONDS] [--seed N]
        [--loops] [--op NAME[:SIZE]|all]... [--python PYTHON] [--control]

For each style of loop, and each op of the catalogue in the modes jit and numpy, fresh
processes alternate: the exported scripts in plain Python, and jaxtui with
an engine of its own. Each figure that a script prints is divided by jaxtui's of the
same name. A ``ready`` is accepted when the median of its ratios is off by no more than
15 %, or when jaxtui notes page faults and the script's median is below its own; any
other figure when it is off by no more than 15 %, or 25 % where it is below 100 µs. A
figure fails also when jaxtui has none of that name. Beside the median stands its 95 %
interval, which says what so many pairs can tell.

With ``--budget`` the subjects come in random order, and share the seconds: each has as
many pairs as fit into its share, one at least, and what had no turn is listed at the
end. Ten minutes see nearly all of it once. The scripts run by ``--python``, so that an
environment with nothing but jax and numpy can be the judge. ``--control`` compares each
script with itself: what fails then, this machine cannot tell apart.
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
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
from sign_test import sign_test_interval

from jaxtui.core.engine.client import EngineClient, EngineOptions
from jaxtui.core.model import LOOP_STYLES, Case, Experiment, Loop, LoopMeasured, OpInfo
from jaxtui.core.session import Session, following
from jaxtui.core.state import EMPTY
from jaxtui.features.bench.scripts import case_script, loop_script
from jaxtui.features.timeline.report import label

ACCEPTED = 0.15
"""How far a median ratio may be from 1."""

SHORT_SECONDS, SHORT_ACCEPTED = 100e-6, 0.25
"""The same for a figure below this that is no ``ready``."""

CALLS = 40
LOOP_SIZE = 700
"""A product of some milliseconds on a small machine."""

SIZES = {"transpose": 1920}
"""Where an op's default will not do. The columns of an array whose rows are a power of
two of bytes share their sets in every cache: how long its transpose takes then depends
on where the two arrays lie, which a process chooses once. At 2048 one process is half
as fast again as the next; jaxtui, whose bursts move the result about, is in the
middle."""

MODES = ("jit", "numpy")

BENCH_SECONDS = 4
"""For one case; its script samples for two seconds after compiling."""

FIGURE = re.compile(r"(?:(dispatch|ready|stopwatch|true) )?(\d\.\d+e[+-]\d+) s(?:, |$)")

ROOT = Path(__file__).parents[2]


class Figure(NamedTuple):
    """Seconds, and whether jaxtui notes page faults."""

    seconds: float
    faults: bool = False


Figures = dict[str, Figure]
"""By name: the title of a part or the label of a case, and the clock."""


class Subject(NamedTuple):
    """What is done in two ways."""

    name: str
    scripts: Sequence[tuple[str, str]]
    """Titles that stand before the names of what they print, and texts."""
    measure: Callable[[], Figures]


class Ratio(NamedTuple):
    """One figure, over all pairs."""

    name: str
    script: float
    jaxtui: float
    ratios: tuple[float, ...]
    faults: bool

    @property
    def median(self) -> float:
        return statistics.median(self.ratios)

    @property
    def verdict(self) -> str:
        ready = self.name.endswith("ready")
        short = not ready and self.script < SHORT_SECONDS
        # Not "less than": NaN, where jaxtui has no such figure, fails as well.
        if abs(self.median - 1) <= (SHORT_ACCEPTED if short else ACCEPTED):
            return "ok"
        if self.faults and self.script < self.jaxtui:
            return "less"
        return "FAIL"


# The script's side.


def printed(scripts: Sequence[tuple[str, str]], python: str) -> Figures:
    """What scripts print, each run by itself."""
    figures: Figures = {}
    for title, script in scripts:
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
            error = f"a script ended with {done.returncode}:\n{done.stderr}"
            raise RuntimeError(error)
        figures |= read(done.stdout, title)
    return figures


def read(text: str, title: str) -> Figures:
    """The figures of an output, by the title and their clock."""
    return {
        f"{title} {one[1] or ''}".strip(): Figure(float(one[2]))
        for one in FIGURE.finditer(text)
    }


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


def of_measurements(measurements: Sequence[dict[str, Any]]) -> Figures:
    figures: Figures = {}
    for one in measurements:
        label = msgspec.convert(one["case"], Case).label
        faults = "page-faults" in [note["flag"] for note in one["notes"]]
        figures[f"{label} ready"] = Figure(one["ready"]["median"], faults)
        if one["dispatch"]:
            figures[f"{label} dispatch"] = Figure(one["dispatch"]["median"])
    return figures


def of_loop(measured: LoopMeasured) -> Figures:
    title, clock = label(measured.loop), measured.undisturbed
    return {
        f"{title} stopwatch": Figure(clock.stopwatch_seconds),
        f"{title} true": Figure(clock.true_seconds),
    }


def measured_cases(cases: Sequence[Case]) -> Figures:
    """The figures of cases that differ in their modes, by a fresh jaxtui."""
    one = cases[0]
    modes = ",".join(each.mode for each in cases)
    budget = str(BENCH_SECONDS * len(cases))
    document = json.loads(
        run_cli(
            *("bench", f"{one.op}:{one.size}", "--dtype", one.dtype, "--mode", modes),
            *("--budget", budget, "--target", "1", "--no-history", "--json"),
        )
    )
    return of_measurements(document["measurements"])


async def engine_loop(loop: Loop) -> Figures:
    """The figures of a loop, by a fresh engine."""
    async with following(Session(EngineClient(EngineOptions()), EMPTY)) as session:
        await session.ready()
        job = await session.run(loop, "loop")
        return of_loop(job.result) if isinstance(job.result, LoopMeasured) else {}


# Both.


async def of_loops() -> list[Subject]:
    case = Case(
        op="matmul", size=LOOP_SIZE, dtype="float32", device="cpu:0", mode="jit"
    )
    async with following(Session(EngineClient(EngineOptions()), EMPTY)) as session:
        await session.ready()
        plan = await session.plan(Experiment(cases=(case,)), recipes=True)
    subjects: list[Subject] = []
    for style, chained in itertools.product(LOOP_STYLES, (False, True)):
        loop = Loop(case=case, calls=CALLS, style=style, chained=chained)
        script = loop_script(loop, plan.cases)
        title = label(loop)
        measure = partial(lambda loop: asyncio.run(engine_loop(loop)), loop)
        subjects.append(Subject(title, [(title, script)], measure))
    return subjects


async def of_ops(asked: Sequence[str]) -> list[Subject]:
    """Each op at the size asked for, or at its own."""
    wanted = [(name, size) for name, _, size in (one.partition(":") for one in asked)]
    subjects: list[Subject] = []
    async with following(Session(EngineClient(EngineOptions()), EMPTY)) as session:
        await session.ready()
        for op in session.state.ops:
            for name, typed in wanted:
                # A collective has no script of its own: it needs several devices.
                if name == op.name or (name == "all" and not op.collective):
                    cases = of_op(op, int(typed or SIZES.get(op.name, op.default)))
                    experiment = Experiment(cases=cases)
                    plan = await session.plan(experiment, recipes=True)
                    scripts = [(x.case.label, case_script([x])) for x in plan.cases]
                    measure = partial(measured_cases, cases)
                    subjects.append(
                        Subject(f"{op.name} {cases[0].size}", scripts, measure)
                    )
    return subjects


def of_op(op: OpInfo, size: int) -> tuple[Case, ...]:
    """One size of an op in all ``MODES``."""
    return tuple(
        Case(
            op=op.name,
            size=size,
            dtype="float32",
            device="host" if mode == "numpy" else "cpu:0",
            mode=mode,
            inputs="host" if mode == "numpy" else "device",
        )
        for mode in MODES
    )


def compared(subject: Subject, pairs: int, end: float, python: str) -> list[Ratio]:
    """Every figure of the scripts beside jaxtui's, in random order within a pair."""
    order = random.Random(0)
    found: list[tuple[Figures, Figures]] = []
    start = perf_counter()
    while len(found) < pairs:
        spent = (perf_counter() - start) / max(1, len(found))
        if found and perf_counter() + spent > end:
            break
        if order.random() < 0.5:
            script = printed(subject.scripts, python)
            ours = subject.measure()
        else:
            ours = subject.measure()
            script = printed(subject.scripts, python)
        found.append((script, ours))
    return [ratio(name, found) for name in found[0][0]]


def ratio(name: str, found: Sequence[tuple[Figures, Figures]]) -> Ratio:
    script = [one[name].seconds for one, _ in found]
    ours = [one.get(name, Figure(float("nan"))) for _, one in found]
    ratios = tuple(a / b.seconds for a, b in zip(script, ours, strict=True))
    return Ratio(
        name,
        statistics.median(script),
        statistics.median(one.seconds for one in ours),
        ratios,
        2 * sum(one.faults for one in ours) > len(ours),
    )


def report(subject: Subject, pairs: int, end: float, python: str) -> bool:
    """Prints the rows of a subject; whether all is in order."""
    lengths = ", ".join(str(len(text.splitlines())) for _, text in subject.scripts)
    print(f"\n{subject.name}: {lengths} lines", flush=True)
    try:
        rows = compared(subject, pairs, end, python)
    except RuntimeError as error:
        print(f"  FAIL  {error}")
        return False
    if not rows:
        print("  prints no figures")
    for row in rows:
        print(f"  {line(row)}", flush=True)
    return all(row.verdict != "FAIL" for row in rows)


def line(row: Ratio) -> str:
    """One row of the table."""
    sure = sign_test_interval(row.ratios)
    interval = f"[{sure.low:.3f}, {sure.high:.3f}] {len(row.ratios):2}"
    figures = f"{row.script:.3e} / {row.jaxtui:.3e} s"
    return f"{row.verdict:<4}  {row.median:6.3f}  {interval}  {figures}  {row.name}"


def subjects_of(options: Any) -> list[Subject]:
    subjects: list[Subject] = []
    if options.loops or not options.op:
        subjects += asyncio.run(of_loops())
    if options.op or not options.loops:
        subjects += asyncio.run(of_ops(options.op or ["all"]))
    return subjects


def main() -> int:
    """Print the table; 1 if a figure differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--budget", type=float, metavar="SECONDS", default=float("inf"))
    parser.add_argument("--seed", type=int, default=0, help="of the order")
    parser.add_argument("--loops", action="store_true", help="the loops")
    parser.add_argument("--op", action="append", metavar="NAME[:SIZE]|all")
    parser.add_argument("--python", default=sys.executable, help="runs the scripts")
    parser.add_argument("--control", action="store_true", help="script / script")
    options: Any = parser.parse_args()
    end = perf_counter() + options.budget
    subjects = subjects_of(options)
    if options.budget < float("inf"):
        random.Random(options.seed).shuffle(subjects)
    judged = "script" if options.control else "jaxtui"
    print(f"script / {judged}, {options.pairs} alternating pairs at most")
    right = True
    for done, subject in enumerate(subjects):
        now = perf_counter()
        if now >= end:
            print(f"\n{len(subjects) - done} of {len(subjects)} had no turn")
            break
        share = now + (end - now) / (len(subjects) - done)
        if options.control:
            again = partial(printed, subject.scripts, options.python)
            subject = subject._replace(measure=again)
        right = report(subject, options.pairs, share, options.python) and right
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
