"""Is ``ready`` what a plain program gets?

    python tests/benchmarks/plain.py [CASE]... [--pairs 5] [--seconds 2]

A case is written ``sigmoid:16M:jit``. For each, fresh processes alternate: a plain
script (inputs, five warm-up calls, a loop of calls that are waited for, and the median)
and ``jaxtui bench`` of that case alone. The scripts are written here by hand and know
nothing of jaxtui. A script pays for giving its results back, which ``ready`` leaves out
and jaxtui says apart, so both are added up. A case holds when the median of the pairs'
ratios lies within 15 % of 1, or when jaxtui notes new or reused memory and the median
of the scripts lies on the side that the note names: below its own, or above.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

ACCEPTED = 0.15

SCALES = {"k": 1000, "M": 1_000_000}

VECTOR = "draw(n)"
MATRIX = "draw((n, n))"

OPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "add": ("lambda a, b: a + b", (VECTOR, VECTOR)),
    "copy": ("lambda x: xp.copy(x)", (VECTOR,)),
    "sigmoid": ("lambda x: 1 / (1 + xp.exp(-x))", (VECTOR,)),
    "triad": ("lambda a, b: a + 3 * b", (VECTOR, VECTOR)),
    "sum": ("lambda x: xp.sum(x)", (VECTOR,)),
    "sort": ("lambda x: xp.sort(x)", (VECTOR,)),
    "cumsum": ("lambda x: xp.cumsum(x)", (VECTOR,)),
    "matmul": ("lambda a, b: a @ b", (MATRIX, MATRIX)),
    "transpose": ("lambda x: xp.array(x.T, copy=True, order='C')", (MATRIX,)),
    "fft": ("lambda x: xp.fft.fft(x)", (MATRIX,)),
    "softmax": (
        "lambda x: (lambda p: p / xp.sum(p, axis=1, keepdims=True))"
        "(xp.exp(x - xp.max(x, axis=1, keepdims=True)))",
        (MATRIX,),
    ),
}

SCRIPT = """\
from statistics import median
from time import perf_counter

import jax
import jax.numpy as jnp
import numpy as np

n, mode = {size}, {mode!r}
rng = np.random.default_rng(0)
draw = lambda shape: rng.standard_normal(shape, dtype=np.float32)
args = [{args}]
xp = np if mode == "numpy" else jnp
f = {function}
wait = lambda result: result
if mode != "numpy":
    args = [jax.device_put(x) for x in args]
    f = jax.jit(f) if mode == "jit" else f
    wait = jax.block_until_ready
for _ in range(5):
    wait(f(*args))
times = []
end = perf_counter() + {seconds}
while perf_counter() < end or len(times) < 5:
    start = perf_counter()
    wait(f(*args))
    times.append(perf_counter() - start)
print(median(times))
"""

CASES = (
    *("sigmoid:16M:jit", "copy:16M:jit", "copy:16M:numpy", "fft:2048:jit"),
    *("sigmoid:4M:numpy", "sigmoid:250k:numpy", "add:3M:numpy"),
    *("matmul:900:jit", "softmax:600:jit", "matmul:2048:jit"),
    *("add:64M:jit", "add:256:jit", "triad:500k:eager", "sort:100k:jit"),
    *("cumsum:30k:numpy", "matmul:64:jit", "sigmoid:1M:eager", "softmax:2000:numpy"),
    *("fft:512:numpy", "add:100k:jit"),
)
"""Between 10 µs and 1 s, with results from 1 KiB to 256 MiB."""


def main() -> int:
    """Run the pairs; 1 when a case does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*", default=CASES, metavar="CASE")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    wrong = 0
    print(f"{'case':22} {'script':>10} {'jaxtui':>10} {'ratio':>6}  note")
    for name in options.cases:
        wrong += not compare(name, options.pairs, options.seconds)
    print(f"{len(options.cases) - wrong} of {len(options.cases)} cases hold")
    return int(wrong > 0)


def compare(name: str, pairs: int, seconds: float) -> bool:
    """Alternate both sides of one case and print its row."""
    op, size_text, mode = name.split(":")
    scale = SCALES.get(size_text[-1])
    size = int(size_text[:-1]) * scale if scale else int(size_text)
    plain: list[float] = []
    ours: list[float] = []
    notes: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(pairs):
            turns: list[Callable[[], object]] = [
                lambda: plain.append(run_script(op, size, mode, seconds, folder)),
                lambda: ours.append(run_jaxtui(op, size, mode, folder, notes)),
            ]
            for turn in turns if pair % 2 else reversed(turns):
                turn()
    ratio = median([a / b for a, b in zip(ours, plain, strict=True)])
    script, note = median(plain), max(notes, key=notes.count)
    side = {"page-faults": script < median(ours), "reused-pages": script > median(ours)}
    holds = abs(ratio - 1) <= ACCEPTED or side.get(note, False)
    print(
        f"{name:22} {script * 1e3:7.3f} ms {median(ours) * 1e3:7.3f} ms {ratio:6.2f}"
        f"  {note:12} {'' if holds else 'OUT'}",
        flush=True,
    )
    return holds


def run_script(op: str, size: int, mode: str, seconds: float, folder: str) -> float:
    """Median seconds of the plain script, in a process of its own."""
    function, args = OPS[op]
    path = Path(folder, "plain.py")
    text = SCRIPT.format(
        size=size, mode=mode, args=", ".join(args), function=function, seconds=seconds
    )
    path.write_text(text)
    return float(_output([sys.executable, str(path)]))


def run_jaxtui(op: str, size: int, mode: str, folder: str, notes: list[str]) -> float:
    """Median ``ready`` of ``jaxtui bench``, and what giving a result back takes.

    The code of its note on memory is added to ``notes``, or an empty text.
    """
    command = [sys.executable, "-m", "jaxtui", "bench", f"{op}:{size}", "--json"]
    document = json.loads(_output([*command, "--mode", mode], folder))
    (measured,) = document["measurements"]
    codes = {note["flag"] for note in measured["notes"]}
    notes.append("".join(codes & {"page-faults", "reused-pages"}))
    seconds: float = measured["ready"]["median"] + (measured["free_seconds"] or 0.0)
    return seconds


def _output(command: list[str], state: str | None = None) -> str:
    environment = dict(os.environ, JAX_PLATFORMS="cpu")
    if state:
        environment["XDG_STATE_HOME"] = environment["XDG_DATA_HOME"] = state
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
