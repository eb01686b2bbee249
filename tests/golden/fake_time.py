"""Times functions on a clock that only scripted calls advance; prints what came of it.

    python tests/golden/fake_time.py

Everything but time is real: ``jaxtui.bench`` runs in this process, which has a device
of its own making. It has a queue and executes in order; each function has a script that
says how long a call, its work and the waking of whoever waits take. One JSON document
on stdout has, for each scenario, the order of its calls, its events and measurements.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_NUM_CPU_DEVICES"] = "1"
HERE = Path(__file__).parent
US, MS, S = 1_000, 1_000_000, 1_000_000_000

QUEUE_DEPTH = 32
RESULTS = 80


@dataclass(frozen=True)
class Script:
    """How long a call of a function takes, nanoseconds."""

    dispatch: int = 5 * US
    work: int = 300 * US
    waking: int = 10 * US
    noise: float = 0.01
    """Standard deviation of the work, relative."""
    growth: float = 0.0
    """Of the work, per second."""
    inline: bool = False
    """The caller does the work."""


SCRIPTS = {
    "short": Script(dispatch=20 * US, work=400 * US),
    "medium": Script(work=2 * MS),
    "medium_numpy": Script(work=3 * MS),
    "long": Script(work=150 * MS),
    "endless": Script(work=4 * S),
    "noisy": Script(work=1 * MS, noise=0.8),
    "drifting": Script(work=1 * MS, growth=0.05),
    "handed_over": Script(dispatch=600 * US, work=200 * US),
    "done_at_once": Script(dispatch=0, work=500 * US, inline=True),
    "step": Script(work=41 * MS),
    "matmul": Script(work=2 * MS),
    "matmul_numpy": Script(work=1_130 * MS),
}

TURNS = {"names": ["short", "medium"], "mode": ["jit", "numpy"], "budget": 8}
FLOOR = {"names": "noisy", "budget": 60, "target": 0.01}
ZERO = {"names": "long", "budget": 4, "target": 0, "samples": True}
FAST: dict[str, Any] = {"accelerator": True, "names": "matmul"}
DTYPES = ["f8", "i8", "f16", "bf16", "f32", "f64"]

SCENARIOS: dict[str, dict[str, Any]] = {
    "a short call, until the target is reached": {"names": "short", "budget": 10},
    "a call that is longer than most": {"names": "long", "budget": 10},
    "a call that leaves few rounds": {"names": "endless", "budget": 30},
    "a noisy call, until the budget ends": {"names": "noisy", "budget": 6},
    "a noisy call, until the noise floor": FLOOR,
    "a call that becomes slower": {"names": "drifting", "budget": 4},
    "a call that is mostly hand-over": {"names": "handed_over", "budget": 6},
    "a call that computes before it returns": {"names": "done_at_once", "budget": 4},
    "a result that is a tree": {"names": "two_results", "budget": 3},
    "a target of zero, and every sample": ZERO,
    "arguments on the host": {"names": "medium", "budget": 6, "inputs": "host"},
    "three that take turns": TURNS,
    "an accelerator: the first minute": FAST | {"mode": ["numpy", "jit"], "budget": 5},
    "an accelerator: six dtypes": FAST | {"dtype": DTYPES, "budget": 12},
    "an accelerator: a training step": FAST | {"names": "step", "budget": 15},
}

ACCELERATOR = {"inputs": 300 * MS, "transfer": 100 * MS, "compile": 1_150 * MS}
ACCELERATOR |= {"fetch": 120 * MS, "check": 500 * MS}
"""How long they take for a product of 8192 in bfloat16 on an H100; its size here is 64.
"""


class World:
    """The clock, the device and what was asked of it."""

    def __init__(self) -> None:
        self.now = 1 * S
        self.accelerated = False
        self.asked: list[tuple[str, str]] = []
        self._ready_at: dict[int, int] = {}
        """When results are ready, by ``id``."""
        self._queue: list[int] = []
        """When what was enqueued is ready, in order."""
        self._random = random.Random(0)

    def begin(self) -> None:
        """A scenario begins: with the same noise as every other."""
        self._random.seed(0)
        self._began = self.now
        self.asked.clear()

    def enqueue(self, name: str, result: Any) -> Any:
        """A call of a jitted function that yields ``result``."""
        script = SCRIPTS.get(name, Script())
        self.asked.append((name, "call"))
        self.now += script.dispatch
        self._queue = [moment for moment in self._queue if moment > self.now]
        if len(self._queue) >= QUEUE_DEPTH:
            self.now = self._queue[-QUEUE_DEPTH]
        begin = max([self.now, *self._queue[-1:]])
        done = begin + self._work(script)
        if script.inline:
            self.now = done
        self._queue.append(done)
        self._ready_at.update((id(one), done) for one in leaves(result))
        return result

    def compute(self, name: str, result: Any) -> Any:
        """A call of NumPy's."""
        self.asked.append((name, "done"))
        self.now += self._work(SCRIPTS[name])
        return result

    def wait(self, array: Any, name: str = "") -> bool:
        """Whether the array is of the device; it is ready then."""
        done = self._ready_at.get(id(array))
        if done is None:
            return False
        if self.asked:
            self.asked.append((self.asked[-1][0], "wait"))
        self.now = max(self.now, done) + Script.waking
        self._ready_at = {k: at for k, at in self._ready_at.items() if at > done}
        return True

    def is_ready(self, array: Any) -> bool:
        return self._ready_at.get(id(array), 0) <= self.now

    def take(self, phase: str, otherwise: int = 0) -> None:
        """A phase of the device takes its time."""
        self.now += ACCELERATOR[phase] if self.accelerated else otherwise

    def sleep(self, seconds: float) -> None:
        self.now += round(seconds * S)

    def _work(self, script: Script) -> int:
        factor = self._random.lognormvariate(0, script.noise)
        factor *= 1 + script.growth * (self.now - self._began) / S
        return round(script.work * factor)


WORLD = World()
sys.modules["fake_time"] = sys.modules[__name__]

# Before jaxtui is imported: its modules import clocks by name.
time.perf_counter_ns = time.monotonic_ns = lambda: WORLD.now
time.perf_counter = time.monotonic = lambda: WORLD.now / S
time.process_time = lambda: 0.0
sleeping: Any = time
sleeping.sleep = WORLD.sleep
usage: Any = resource
usage.getrusage = lambda _: SimpleNamespace(ru_minflt=0, ru_majflt=0)

import jax  # noqa: E402

real_jit, leaves = jax.jit, jax.tree.leaves
real_array: Any = type(jax.numpy.zeros(1))
real_wait, real_read = real_array.block_until_ready, Path.read_text


class Jitted:
    """What ``jax.jit`` gives, its stages as well: all of them at once."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self._name = getattr(function, "__name__", "")
        self._call = real_jit(function, **options)
        self._results: Iterator[Any] | None = None
        self.jaxpr: Any = None

    def __call__(self, *args: Any) -> Any:
        if self._results is None:
            # Real ones, but not computed in every call: more than are ever in flight.
            self._results = cycle([self._call(*args) for _ in range(RESULTS)])
        return WORLD.enqueue(self._name, next(self._results))

    def trace(self, *args: Any) -> Jitted:
        self.jaxpr = self._call.trace(*args).jaxpr
        return self._stage("trace", 2 * MS)

    def lower(self, *_: Any) -> Jitted:
        return self._stage("lower", 5 * MS)

    def compile(self) -> Jitted:
        WORLD.take("compile")
        return self._stage("compile", 0 if WORLD.accelerated else 40 * MS)

    def cost_analysis(self) -> dict[str, float]:
        return {"flops": 1e6, "bytes accessed": 64.0}

    def memory_analysis(self) -> Any:
        return SimpleNamespace(temp_size_in_bytes=0)

    def as_text(self) -> str:
        return ""

    def _stage(self, name: str, duration: int) -> Jitted:
        WORLD.asked.append((self._name, name))
        WORLD.now += duration
        return self


def block(array: Any) -> Any:
    return array if WORLD.wait(array) else real_wait(array)


def read_text(path: Path, *args: Any, **named: Any) -> str:
    """Nothing is known of what else this machine does."""
    if path.parts[:2] == ("/", "proc"):
        raise FileNotFoundError(path)
    return real_read(path, *args, **named)


jax.jit = Jitted  # type: ignore[assignment]
real_array.block_until_ready = block
real_array.is_ready = lambda array: WORLD.is_ready(array)
Path.read_text = read_text  # type: ignore[assignment,method-assign]


def brief(asked: Sequence[tuple[str, str]]) -> list[str]:
    """The order of calls: a line whenever another function has its turn.

    ``1×40`` are 40 calls, each waited for. ``2+6×12`` are 24 bursts of 2 and of 6 calls
    in whatever order, each waited for at its end; ``done`` is a call of NumPy's.
    """
    steps: list[tuple[str, str]] = []
    queued = 0
    for name, what in asked:
        queued += what == "call"
        if what != "call":
            steps.append((name, str(queued) if what == "wait" else what))
            queued = 0
    lines = []
    for name, group in groupby(steps, key=lambda step: step[0]):
        words = []
        for is_burst, some in groupby(
            (what for _, what in group), key=lambda what: what.isdigit() and what != "1"
        ):
            if is_burst:
                words.append(counted(sorted(some, key=int)))
            else:
                words += [repeated(what, list(same)) for what, same in groupby(some)]
        lines.append(f"{name}: {' '.join(words)}")
    return lines


def counted(bursts: list[str]) -> str:
    """Bursts of two lengths."""
    runs = [(length, len(list(same))) for length, same in groupby(bursts)]
    if len({times for _, times in runs}) == 1:
        lengths = "+".join(length for length, _ in runs)
        return repeated(lengths, range(runs[0][1]))
    return "+".join(f"{length}×{times}" for length, times in runs)


def repeated(what: str, times: Sequence[Any]) -> str:
    """``what``, or how often it came."""
    return f"{what}×{len(times)}" if len(times) > 1 else what


def watched(run: Callable[..., Any], seen: list[str]) -> Callable[..., Any]:
    """A run whose events are seen; what only says how far it is, is left out."""

    def events(*args: Any, **named: Any) -> Any:
        for event in run(*args, **named):
            more = [getattr(event, name, None) for name in ("index", "phase")]
            words = [
                type(event).__name__,
                *(str(one) for one in more if one is not None),
            ]
            if words[0] != "Progress":
                seen.append(" ".join(words))
            yield event

    return events


def rounded(value: Any) -> Any:
    """Numbers with six digits; the folder of this file is left out."""
    match value:
        case float():
            return float(f"{value:.6g}")
        case str():
            return value.replace(f"{HERE}/", "")
        case dict():
            # Errors are XLA's, and no two versions of it make the same.
            value = {k: v for k, v in value.items() if k != "error_vs_float64"}
            return {key: rounded(one) for key, one in value.items()}
        case list():
            return [rounded(one) for one in value]
    return value


def taking(phase: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """The same, in the time that the phase takes on the device."""

    def called(*args: Any, **named: Any) -> Any:
        WORLD.take(phase)
        return call(*args, **named)

    return called


def accelerate() -> None:
    """Let the slow work around a call take the time of an accelerator's."""
    from dataclasses import replace

    from jaxtui.tasks import accuracy, inputs, ops, workload
    from jaxtui.timing import coldpath

    inputs.host_inputs = taking("inputs", inputs.host_inputs)
    workload.send = taking("transfer", workload.send)
    coldpath.to_host = taking("fetch", coldpath.to_host)
    accuracy.check = taking("check", accuracy.check)
    product = ops.OPS["matmul"]

    def matmul(a: Any, b: Any) -> Any:
        return WORLD.compute("matmul_numpy", product.numpy(a, b))

    ops.OPS["matmul"] = replace(product, numpy=matmul)


def main() -> None:
    """Every scenario."""
    import jaxtui
    from jaxtui.features.bench.measure import experiment

    accelerate()
    seen: list[str] = []
    experiment.run = watched(experiment.run, seen)
    document = {}
    for title, asked in SCENARIOS.items():
        names = asked["names"] if isinstance(asked["names"], list) else [asked["names"]]
        options = {key: value for key, value in asked.items() if key != "names"}
        WORLD.begin()
        WORLD.accelerated = options.pop("accelerator", False)
        seen.clear()
        file = f"{HERE}/functions_to_time.py"
        result = jaxtui.bench(
            [f"{name}:64" if name == "matmul" else f"{file}:{name}" for name in names],
            history=False,
            **options,
        )
        results = json.loads(result.to_json())
        document[title] = {
            "calls": brief(WORLD.asked),
            "events": [repeated(what, list(same)) for what, same in groupby(seen)],
            "measurements": rounded(results["measurements"]),
            "failures": rounded(results["failures"]),
        }
    json.dump(document, sys.stdout, indent=1, ensure_ascii=False)


if __name__ == "__main__":
    main()
