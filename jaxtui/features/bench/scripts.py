"""Plain Python that does without jaxtui what a case or a loop did.

The engine says in a ``Recipe`` what the case takes. The loop that times is the very one
that jaxtui times with.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator, Sequence, Set
from functools import cache
from importlib.resources import files

from jaxtui.core.model import Loop, PlannedCase, Recipe
from jaxtui.core.text import visible
from jaxtui.ui import words
from jaxtui.ui.export import ExportError

IMPORTS = {
    "functools": "import functools",
    "importlib": "import importlib",
    "runpy": "import runpy",
    "sys": "import sys",
    "types": "import types",
    "perf_counter": "from time import perf_counter",
    "perf_counter_ns": "from time import perf_counter_ns",
    "jax": "import jax",
    "jnp": "import jax.numpy as jnp",
    "ml_dtypes": "import ml_dtypes  # comes with JAX",
    "np": "import numpy as np",
    "lax": "from jax import lax",
    "lax, jnp": "from jax import lax, numpy as jnp",
}
"""The lines of a script, in their order, by the names that they define."""

X64 = 'jax.config.update("jax_enable_x64", True)'

TIMED_ON_HOST = """\
time_calls(f, args, wait, 0.1)  # warm up
seconds, _ = time_calls(f, args, wait, 2)
print(f"ready {np.median(seconds):.3e} s")
"""

TIMED = """\
time_calls(f, args, wait, 0.1)  # compile and warm up
dispatch, ready = map(np.median, time_calls(f, args, wait, 2))
print(f"dispatch {dispatch:.3e} s, ready {ready:.3e} s")
"""

LOOPED = """\
repeats = [loop()]  # the first time takes longer
end = perf_counter() + 1
while len(repeats) < 8 or perf_counter() < end:
    repeats.append(loop())
stopwatch, true = np.median(repeats[1:], axis=0)
print(f"stopwatch {stopwatch:.3e} s, true {true:.3e} s")
"""


def case_script(planned: Sequence[PlannedCase]) -> str:
    """A script that times the only case.

    Raises:
        ExportError: there is no script of it, or of several.
    """
    recipe, case = _recipe(planned), planned[0].case
    modules = {*recipe.modules, "perf_counter_ns"}
    if modules >= {"jnp", "lax"}:
        # A line less: all of it has to fit on a slide.
        modules = modules - {"jnp", "lax"} | {"lax, jnp"}
    line = f"f, wait = {recipe.call}, {recipe.wait}"
    if len(line) > 88:
        line = f"f = {recipe.call}\nwait = {recipe.wait}"
    timed = TIMED_ON_HOST if case.on_host else TIMED
    last = "\n".join([*recipe.arguments, line, timed])
    return _script(case.label, recipe, modules, timer(), last)


def loop_script(loop: Loop, planned: Sequence[PlannedCase]) -> str:
    """A script that runs exactly this loop and prints the medians of both clocks.

    Raises:
        ExportError: there is no script of its case.
    """
    recipe = _recipe(planned)
    body = "\n".join(_loop(loop, recipe.tree))
    lines = [*recipe.arguments, f"f = {recipe.call}"]
    if recipe.tree and loop.chained:
        lines += [
            "# Does the next call take the whole result, or the first of several?",
            "whole = jax.tree.structure(f(*args)) == jax.tree.structure(args[0])",
        ]
    function = f"def loop():\n{textwrap.indent(body, '    ')}"
    title, modules = f"{loop.case.label}, in a loop", {*recipe.modules, "perf_counter"}
    return _script(title, recipe, modules, function, "\n".join([*lines, LOOPED]))


def _loop(loop: Loop, tree: bool) -> Iterator[str]:
    """The lines of the function that is the loop."""
    ready = "jax.block_until_ready(result)" if tree else "result.block_until_ready()"
    carried = "result if whole else result[0]" if tree else "result"
    if loop.chained:
        yield "x, *rest = args"
    yield "start = perf_counter()"
    yield f"for _ in range({loop.calls}):"
    yield f"    result = f({'x, *rest' if loop.chained else '*args'})"
    if loop.chained:
        yield f"    x = {carried}"
    if loop.style == "each":
        yield f"    {ready}"
    if loop.style == "end":
        yield ready
    yield "stopwatch = perf_counter() - start"
    yield ready
    yield "return stopwatch, perf_counter() - start"


def _recipe(planned: Sequence[PlannedCase]) -> Recipe:
    if len(planned) == 1 and planned[0].recipe:
        return planned[0].recipe
    why = next((words.why(case.problem) for case in planned if case.problem), "")
    raise ExportError(
        "A script measures one case: jit, eager or numpy on JAX's default device."
        f" {why}".rstrip()
    )


def _script(title: str, recipe: Recipe, modules: Set[str], *sections: str) -> str:
    """Write the imports and definitions of a recipe, and then the sections."""
    head = [line for name, line in IMPORTS.items() if name in modules]
    head += [X64] * recipe.x64
    texts = ("\n".join(head), recipe.function, *sections)
    body = "\n\n".join(text.strip("\n") for text in texts)
    return f"# {visible(' '.join(title.split()), line=True)}\n{body}\n"


@cache
def timer() -> str:
    """The source of the loop that times, ``jaxtui.timing.clocks.time_calls``.

    As ``inspect.getsource`` gives it, but without importing JAX.
    """
    path = files("jaxtui") / "timing" / "clocks.py"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    start = lines.index("def time_calls(f, args, wait, seconds):\n")
    return "".join(inspect.getblock(lines[start:]))
