"""The progress of an engine: its start, the length of a run, and the elapsed part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from jaxtui.core import format as fmt
from jaxtui.core.engine.hosts_words import waiting
from jaxtui.core.engine.startup import Start, awaits_others, others
from jaxtui.core.engine.words import starting_text
from jaxtui.core.experiments import Extent, extent, product
from jaxtui.core.model import Case, Experiment
from jaxtui.core.model.own import short_name
from jaxtui.core.state import Job

_Value = TypeVar("_Value")


DOING = {
    "compiler-warm-up": "warming up the compiler",
    "cpu-devices": "starting a process with simulated CPU devices",
    "first_call": "first run",
    "other-hosts": "waiting for other hosts",
    "part": "running",
    "process-warm-up": "warming up the process",
    "bandwidth": "moving large arrays",
    "compute": "multiplying matrices",
    "dispatch": "timing calls",
    "memory": "reading memory statistics",
    "numerics": "comparing results with float64",
    "products": "multiplying matrices",
    "profile": "profiling",
    "profile-reading": "reading the trace",
    "repeat": "repeating the loop",
    "setup": "setting up",
    "starting": "starting JAX",
    "tensorflow-import": "importing TensorFlow",
    "transfer": "copying between host and device",
    "traced-repeat": "tracing the loop",
}
"""The activity of a run, by the code of ``Progress``; others are their own words."""


def doing(code: str, about: str = "") -> str:
    """``compile: matmul 512 float32 jit on cpu:0``."""
    name = DOING.get(code, code.replace("_", " "))
    return f"{name}: {about}" if about else name


def starting(start: Start) -> str:
    """``initialising JAX on 8 TPU v5e chips``, ``waiting for process 1 (node-1)``."""
    if awaits_others(start):
        return waiting(others(start))
    return starting_text(imported=start.imported, hardware=start.hardware)


def job_text(job: Job) -> str:
    """``process 2 of 5: sampling: matmul 512 float32 jit on cpu:0``; may be empty."""
    if not job.doing:
        return ""
    several = job.processes > 1
    number = job.process + (job.between and job.process < job.processes)
    place = f"process {number} of {job.processes}: " if several else ""
    return f"{place}{doing(job.doing, job.about)}"


# What is to be run.


def extent_text(extent: Extent) -> str:
    """``2 ops × 40 sizes × 3 dtypes × 3 modes = 720 cases, about 12 min …``."""
    per_case = ""
    if extent.typed and extent.cases > 1:
        turns = extent.cases * extent.processes
        per_case = f", {fmt.seconds(extent.budget / turns, 2)} of turns for each"
        if extent.processes > 1:
            per_case += f" in each of {extent.processes} processes"
    multiplied = product(extent.factors, extent.ops, extent.cases)
    return f"{multiplied}, {extent_duration(extent)}{per_case}"


def extent_duration(extent: Extent) -> str:
    """``about 12 s``, ``about 12 s plus 5 starts of JAX``."""
    starts = extent.processes
    plus = f" plus {starts} starts of JAX" if starts > 1 else ""
    return f"about {fmt.how_long(extent.seconds)}{plus}"


def describe(experiment: Experiment) -> str:
    """The experiment in one line: ``matmul 1000 float32 jit on cpu:0 and NumPy, …``."""
    jax = [case for case in experiment.cases if not case.on_host]
    text = _described(jax or experiment.cases)
    for mode, name in (("numpy", "NumPy"), ("tensorflow", "TensorFlow")):
        twins = _once(case.dtype for case in experiment.cases if case.mode == mode)
        if jax and twins:
            same = twins == _once(case.dtype for case in jax)
            text += f" and {name}" if same else f" and {name} {fmt.some(twins)}"
    if len(experiment.cases) > 2:
        text += f", {len(experiment.cases)} cases"
    return f"{text}, {extent_duration(extent(experiment))}"


def _described(cases: Sequence[Case]) -> str:
    first = cases[0]
    words = [
        fmt.some(_once(short_name(case.op) for case in cases)),
        _span(_once(case.size for case in cases if case.size)),
        fmt.some(_once(case.dtype for case in cases if case.dtype)),
        fmt.some([p for p in _once(c.precision for c in cases) if p != "default"]),
        fmt.some(_once(case.mode for case in cases)),
    ]
    if not first.on_host:
        words.append(f"on {fmt.some(_once(case.device for case in cases))}")
        if any(case.inputs == "host" for case in cases):
            words.append("with host inputs")
    return " ".join(word for word in words if word)


def _span(sizes: Sequence[int]) -> str:
    if len(sizes) <= 3:
        return ", ".join(map(str, sizes))
    return f"{min(sizes)} to {max(sizes)}"


def _once(values: Iterable[_Value]) -> list[_Value]:
    return list(dict.fromkeys(values))
