"""Records as an engine sends them, for every test that needs some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxtui.core.model import (
    Case,
    Device,
    Host,
    Measurement,
    Mode,
    OpInfo,
    Phases,
    PlannedCase,
    Remark,
    Sampled,
    Severity,
    Summary,
)
from jaxtui.core.model.profile import Frame, Gap, Kernel, Profile, Share
from jaxtui.core.stats import Pool, median
from jaxtui.ui import words


def summary(
    seconds: float, width: float = 0.0, *, n: int = 100, rounds: int = 8
) -> Summary:
    """A clock that always read the same; ``width`` is the half-width, relative."""
    return Summary(
        n=n,
        rounds=rounds,
        median=seconds,
        mean=seconds,
        mad=0.0,
        p10=seconds,
        p90=seconds,
        p99=seconds,
        max=seconds,
        ci_low=seconds * (1 - width),
        ci_high=seconds * (1 + width),
    )


def summarize(rounds: Sequence[Sequence[float]]) -> Summary:
    """Of rounds with the seconds of their calls, as the measuring core makes it."""
    pool = Pool()
    pool.add(value for round_ in rounds for value in round_)
    return pool.summary([median(round_) for round_ in rounds])


def case(mode: Mode = "jit", **changes: object) -> Case:
    """``selu`` of 1000 elements on the first CPU, or on the host."""
    host = mode == "numpy"
    facts: dict[str, object] = {
        "op": "selu",
        "size": 1000,
        "dtype": "float32",
        "device": "host" if host else "cpu:0",
        "mode": mode,
        "inputs": "host" if host else "device",
    }
    return Case(**{**facts, **changes})  # type: ignore[arg-type]


def host(hostname: str = "box", **changes: object) -> Host:
    facts: dict[str, object] = {
        "python": "3.12",
        "jax": "0.12",
        "jaxlib": "0.12",
        "numpy": "2.0",
        "platform_version": "cpu",
    }
    return Host(hostname=hostname, **{**facts, **changes})  # type: ignore[arg-type]


def device(name: str, **changes: object) -> Device:
    """``tpu:3`` by name, which this process can address."""
    platform, number = name.split(":")
    facts: dict[str, object] = {
        "id": int(number),
        "platform": platform,
        "device_kind": "cpu" if platform == "cpu" else "kind",
        "process_index": 0,
    }
    return Device(**{**facts, **changes})  # type: ignore[arg-type]


def op(name: str, *dtypes: str, **changes: object) -> OpInfo:
    """Of the catalogue, with the usual modes."""
    facts: dict[str, object] = {
        "summary": f"{name}.",
        "size_means": "n",
        "dtypes": dtypes,
        "flops": "n",
        "bytes": "n",
        "minimum": 1,
        "default": 1000,
        "maximum": 10**9,
    }
    return OpInfo(name=name, **{**facts, **changes})  # type: ignore[arg-type]


def measurement(
    of: Case, ready: float | Summary | None = 1e-3, **changes: object
) -> Measurement:
    """A finished one with no figure but the seconds until the result was ready."""
    facts: dict[str, object] = {
        "phases": Phases(),
        "dispatch": None,
        "ready": summary(ready) if isinstance(ready, float) else ready,
        "pipelined_seconds": None,
        "flops": None,
        "bytes": None,
        "flops_per_second": None,
        "bytes_per_second": None,
        "output_dtype": of.dtype,
        "error_vs_float64": None,
        "stopped": "target",
        "stable": True,
    }
    return Measurement(case=of, **{**facts, **changes})  # type: ignore[arg-type]


def sampled(
    index: int,
    turn: int,
    of: Measurement,
    ready: Sequence[float],
    dispatch: Sequence[float] = (),
) -> Sampled:
    """A turn with these seconds of its calls."""
    return Sampled(
        index=index,
        round=turn,
        calls=len(ready),
        dispatch=tuple(dispatch),
        ready=tuple(ready),
        ready_median=median(ready),
        measurement=of,
    )


def planned(of: Case, **changes: object) -> PlannedCase:
    """One that needs nothing, and can run."""
    facts: dict[str, object] = {
        "memory_bytes": 0,
        "host_memory_bytes": 0,
        "flops": None,
        "bytes": None,
    }
    return PlannedCase(case=of, **{**facts, **changes})  # type: ignore[arg-type]


words.TABLE["refused"] = words.Words(
    "refused", lambda facts: facts["error"], lambda facts: facts["hint"]
)
"""A code of tests alone: its facts are its words."""


def told(
    error: str = "It failed.",
    hint: str = "",
    detail: str = "",
    severity: Severity = "error",
) -> Remark:
    """Why something failed, or what is to be known, where a test does not care."""
    return Remark("refused", {"error": error, "hint": hint}, severity, detail)


FRAMES = tuple(
    Frame(file="/home/ada/train.py", line=line, function=function)
    for line, function in ((4, "dense"), (8, "loss"), (13, "step"), (5, "dense"))
)
"""Of a profile: two lines of ``dense``, which ``loss`` calls, which ``step`` calls."""


def kernel(
    name: str,
    *steps: float,
    stacks: Sequence[Sequence[int]] = ((0, 1, 2),),
    **more: Any,
) -> Kernel:
    """A kernel with its own time in each step; equal parts for several stacks."""
    shares = (Share(part=1 / len(stacks), stack=tuple(stack)) for stack in stacks)
    known: dict[str, Any] = {
        "program": "jit_step(3)",
        "kind": "compute",
        "category": name.partition(".")[0],
        "shape": "f32[8]",
        "op_name": f"jit(step)/{name}",
        "total_seconds": sum(steps) / len(steps),
        "hidden_seconds": 0.0,
        "count": 1.0,
        "flops": None,
        "bytes": None,
    }
    return Kernel(name=name, steps=steps, shares=tuple(shares), **known | more)


def profiled(*kernels: Kernel, **more: Any) -> Profile:
    """Two steps of 10 ms of one device."""
    steps = (10e-3, 10e-3)
    busy = tuple(sum(each.steps[step] for each in kernels) for step in (0, 1))
    known: dict[str, Any] = {
        "source": "train.py:step float32 jit on cpu:0",
        "devices": ("cpu:0",),
        "steps": steps,
        "busy": busy,
        "frames": FRAMES,
    }
    return Profile(kernels=kernels, **known | more)


def gap(seconds: float, before: str = "dot.5", **more: Any) -> Gap:
    known: dict[str, Any] = {
        "start_seconds": 0.0,
        "device": "cpu:0",
        "after": "dot.4",
        "host": (),
    }
    return Gap(seconds=seconds, before=before, **known | more)
