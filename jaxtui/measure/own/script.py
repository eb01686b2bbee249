"""The script that times a function of the user's own without jaxtui.

Written from what the file says, without running it: the script imports the file itself.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

from jaxtui.measure.own import files
from jaxtui.measure.own.arguments import WIDE, draw_code, specs
from jaxtui.measure.own.functions import Source
from jaxtui.measure.own.troubles import OwnError
from jaxtui.measure.script import (
    SENDING,
    call_lines,
    device_line,
    loop,
    sends,
    simulated_device,
)
from jaxtui.model import Case
from jaxtui.model.own import ARGS, MAKE_ARGS, NUMPY
from jaxtui.scripts.allocator import SETTLED
from jaxtui.text import docstring, literal

STANDARD = ("ctypes", "importlib", "runpy", "statistics", "sys", "time", "types")
"""Modules of the standard library that a script may need."""

READY = "jax.block_until_ready({})"
"""How a result is waited for, which may be a tree of arrays."""

TO_NUMPY = """\
args = jax.tree.map(
    lambda x: np.array(x) if isinstance(x, (np.ndarray, jax.Array)) else x, args
)
"""


def script(case: Case, source: Source, seed: int = 0) -> str:
    """Plain Python that imports the function, makes its arguments and times it."""
    title = docstring(f"{case.label}, timed without jaxtui.")
    return f"{title}\n\n{_text(case, source, seed)}{loop(case, READY)}"


def setup(case: Case, source: Source, seed: int = 0) -> str:
    """The part before the loop: ``f`` and ``args`` are defined in it."""
    text = _text(case, source, seed)
    return text + SENDING if sends(case) else text


def _text(case: Case, source: Source, seed: int) -> str:
    code = "\n".join(_lines(case, source, seed)) + "\n"
    needed = {"statistics", "time", *re.findall(r"\b(\w+)\.", SETTLED + code)}
    imports = [f"import {name}" for name in STANDARD if name in needed]
    third = ["import jax", "import numpy as np"]
    if "ml_dtypes" in needed:
        third.insert(1, "import ml_dtypes  # comes with JAX")
    wide = any(spec.dtype in WIDE for spec in specs(case))
    if wide and not case.on_host:
        third += ["", 'jax.config.update("jax_enable_x64", True)']
    return "\n".join([*imports, "", *third, "", SETTLED, code])


def _lines(case: Case, source: Source, seed: int) -> Iterator[str]:
    if not case.on_host:
        yield from simulated_device(case)
        yield device_line(case)
        yield 'jax.config.update("jax_default_device", device)'
    yield from _module(source)
    yield from _arguments(case, source, seed)
    name = f"own.{source.name}"
    if case.on_host:
        yield from TO_NUMPY.splitlines()
        yield f"f = {name}{NUMPY}"
        return
    if case.inputs == "device":
        yield "args = jax.device_put(args, device)"
    else:
        yield from TO_NUMPY.splitlines()
    yield from call_lines(case, name)


def _module(source: Source) -> Iterator[str]:
    if source.module:
        yield f"own = importlib.import_module({literal(source.module)})"
        return
    # Not by its name, which may be that of another module, or none.
    yield f"sys.path[:0] = [{literal(os.path.dirname(source.file))}]"
    yield f"own = types.SimpleNamespace(**runpy.run_path({literal(source.file)}))"


def _arguments(case: Case, source: Source, seed: int) -> Iterator[str]:
    typed = specs(case)
    if typed:
        yield f"rng = np.random.default_rng({seed})"
        yield "args = ("
        for spec in typed:
            yield f"    {draw_code(spec)},"
        yield ")"
        return
    defined = _defined(source)
    last = source.name.rpartition(".")[2]
    own = source.name + ARGS
    makes_all = last + ARGS not in defined and MAKE_ARGS in defined
    factory, name = (MAKE_ARGS, MAKE_ARGS) if makes_all else (own, last + ARGS)
    given = [str(case.size)] if case.size else []
    if "seed" in defined.get(name, ()):
        given.append(f"seed={seed}")
    yield f"args = own.{factory}({', '.join(given)})"


def _defined(source: Source) -> dict[str, tuple[str, ...]]:
    """The functions of a file with the names of their parameters, as it is written."""
    if not source.file:
        return {}
    try:
        tree = ast.parse(files.read(source.file))
    except (OwnError, SyntaxError, ValueError):
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            taken = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            found[node.name] = tuple(one.arg for one in taken)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {one.asname or one.name: () for one in node.names}
        elif isinstance(node, ast.Assign):
            names = (one.id for one in node.targets if isinstance(one, ast.Name))
            found |= dict.fromkeys(names, ())
    return found
