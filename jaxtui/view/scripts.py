"""Plain Python that does without jaxtui what the screens did: the one writer of it.

Of cases of the engine it writes what a ``Recipe`` says, and of snippets their own
lines. The loop that times is in every script the very one that jaxtui times with.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Awaitable, Callable, Iterator, Sequence, Set
from functools import cache
from importlib.resources import files

import msgspec

from jaxtui.model import (
    Case,
    Experiment,
    Loop,
    Plan,
    PlannedCase,
    Recipe,
    Shown,
    Snippet,
    Timed,
    Work,
)
from jaxtui.model.own import short_name
from jaxtui.text import literal, visible
from jaxtui.view import words
from jaxtui.view.export import ExportError

Planner = Callable[[Experiment], Awaitable[Plan]]
"""Asks an engine how to do an experiment without jaxtui."""

IMPORTS = {
    "functools": "import functools",
    "importlib": "import importlib",
    "io": "import io",
    "runpy": "import runpy",
    "sys": "import sys",
    "types": "import types",
    "perf_counter": "from time import perf_counter",
    "perf_counter_ns": "from time import perf_counter_ns",
    "jax": "import jax",
    "jnp": "import jax.numpy as jnp",
    "ml_dtypes": "import ml_dtypes  # comes with JAX",
    "np": "import numpy as np",
    "tf": "import tensorflow as tf",
    "tnp": "import tensorflow.experimental.numpy as tnp",
    "lax": "from jax import lax",
    "lax, jnp": "from jax import lax, numpy as jnp",
}
"""The lines of a script, in their order, by the names that they define."""

SNIPPET_MODULES = {"jax", "jnp", "np", "lax"}
"""What the code of a snippet may use."""

DEFAULTS = {"jax_enable_x64": "False", "jax_default_device": "None"}
"""What a script may set for the whole process, and JAX's own values."""

TIMED_ON_HOST = """\
seconds, _ = time_calls(f, args, wait, 2)
print(f"ready {np.median(seconds):.3e} s")
"""

TIMED = """\
dispatch, ready = map(np.median, time_calls(f, args, wait, 2))
print(f"dispatch {dispatch:.3e} s, ready {ready:.3e} s")
"""

TAKE_TURNS = '''\
def take_turns(cases, seconds):
    """Print medians of cases in turns: what slows the machine down hits them alike."""
    turns = {{name: [] for name in cases}}
    end = perf_counter_ns() + seconds * 1e9
    while perf_counter_ns() < end or len(turns[name]) < 2:
        for name, case in cases.items():
            turns[name].append([np.median(x) for x in time_calls(*case, {turn})])
    for name, medians in turns.items():
        {clocks} = np.median(medians[1:], axis=0)  # the first turn warmed up
        print(f"{{name}}: {figures}")
'''

COMMENTS = {
    "simulated-devices-needed": "# {device} exists with JAX_NUM_CPU_DEVICES={count} in"
    " the environment.",
    "kernel-interpreted": "# On a CPU, JAX interprets Pallas: the times mean nothing.",
}
"""What must be known before a script runs, by the codes of a recipe's remarks."""

FRESH = """\
made = args

class Fresh:
    \"""A call may donate its arguments: each is given copies.\"""
    def __iter__(self):
        copies = jax.tree.map(
            lambda x: x.copy() if isinstance(x, jax.Array) else x, tuple(made)
        )
        return iter(jax.block_until_ready(copies))

args = Fresh()"""

WAIT_FOR = '''\
queues = [jax.device_put(0.0, device) for device in {devices}]
enqueue = jax.jit(lambda x: x + 1)

def wait_for(value):
    """Wait for a value, and for what nobody kept: each device computes in order."""
    jax.block_until_ready((value, [enqueue(queue) for queue in queues]))
'''

DEVICES = """\
import os

# JAX has to know this before it starts.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_NUM_CPU_DEVICES"] = "{count}"
"""

ALONE = """\
import subprocess
import sys

# This part has to choose JAX's devices before JAX starts: it gets its own process.
subprocess.run([sys.executable, "-c", {code}], check=True)
"""

LOOPED = """\
repeats = [loop()]  # the first time takes longer
end = perf_counter() + 1
while len(repeats) < 8 or perf_counter() < end:
    repeats.append(loop())
stopwatch, true = np.median(repeats[1:], axis=0)
print(f"stopwatch {stopwatch:.3e} s, true {true:.3e} s")
"""


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """What one experiment, loop or snippet is in plain Python."""

    title: str
    """One line."""
    body: str
    """Runs by itself; only a comment where the case cannot run here."""
    settings: tuple[str, ...] = ()
    """The names of ``DEFAULTS`` that it sets."""
    alone: bool = False
    """It needs a process of its own."""

    @property
    def text(self) -> str:
        """All of it."""
        return f"{_comment(self.title)}\n{self.body}"


def joined(scripts: Sequence[Script], title: str) -> str:
    """Scripts as one file; a single one stays as it is."""
    if not scripts:
        return f"{_comment(words.of('no-scripts', title=title))}\n"
    if len(scripts) == 1:
        return scripts[0].text
    parts = [_comment(title)]
    for script in scripts:
        body = script.body
        if script.alone:
            readable = "'''" not in body and "\\" not in body
            body = ALONE.format(code=f"'''\\\n{body}'''" if readable else repr(body))
        resets = [_setting(name, DEFAULTS[name]) for name in script.settings]
        heading = f"print({_title(script.title)}, flush=True)"
        parts.append(
            "\n".join([_comment(script.title), heading, body.strip("\n"), *resets])
        )
    return "\n\n\n".join(parts) + "\n"


# Cases.


def of_cases(planned: Sequence[PlannedCase]) -> str:
    """One case alone, or several that take turns; those that cannot run are left out.

    Raises:
        ExportError: None of them can.
    """
    if parts := experiment_scripts(planned):
        return joined(
            parts, f"{len(parts)} sets of cases, each with settings of its own"
        )
    why = next((words.why(case.problem) for case in planned if case.problem), "")
    raise ExportError.of("no-script", why=why)


def experiment_scripts(planned: Sequence[PlannedCase]) -> list[Script]:
    """Cases with recipes take turns, those with other settings of JAX in another one.

    NumPy takes whatever the others need.
    """
    able = {each.case: each.recipe for each in planned if each.recipe}
    first = (recipe.settings for case, recipe in able.items() if not case.on_host)
    common = next(first, ())
    groups: dict[tuple[tuple[str, str], ...], dict[Case, Recipe]] = {}
    for case, recipe in able.items():
        settings = common if case.on_host else recipe.settings
        groups.setdefault(settings, {})[case] = recipe
    return [
        _case_script(*group.popitem())
        if len(group) == 1
        else _turns_script(group, settings)
        for settings, group in groups.items()
    ]


def missing(planned: PlannedCase) -> Script:
    """In place of one that cannot run here: a comment that says why."""
    text = words.of("no-script-here", why=words.why(planned.problem))
    return Script(title=planned.case.label, body=f"{_comment(text)}\n")


def _case_script(case: Case, recipe: Recipe) -> Script:
    modules = {*recipe.modules, "perf_counter_ns"}
    if modules >= {"jnp", "lax"}:
        # A line less: all of it has to fit on a slide.
        modules = modules - {"jnp", "lax"} | {"lax, jnp"}
    lines = [
        *_arguments(recipe),
        _call(recipe),
        "time_calls(f, args, wait, 0.1)  # warm up"
        if case.on_host
        else "time_calls(f, args, wait, 0.1)  # compile and warm up",
        (TIMED_ON_HOST if case.on_host else TIMED),
    ]
    return _of_recipe(case.label, recipe, modules, timer(), "\n".join(lines))


def _turns_script(
    recipes: dict[Case, Recipe], settings: Sequence[tuple[str, str]]
) -> Script:
    ops = " and ".join(dict.fromkeys(short_name(case.op) for case in recipes))
    blocks: list[str] = []
    defined: dict[str, str] = {}
    arguments: tuple[str, ...] = ()
    for case, recipe in recipes.items():
        lines = _comments(recipe)
        # Functions of the user may use their arguments up.
        if recipe.arguments != arguments or recipe.tree:
            lines += _arguments(recipe)
        arguments = recipe.arguments
        lines += [_call(recipe), f"cases[{_title(case.label)}] = f, args, wait"]
        new = defined.get(recipe.name) != recipe.function
        defined[recipe.name] = recipe.function
        blocks.append(_sections(recipe.function if new else "", "\n".join(lines)))
    hosts = 0 < sum(case.on_host for case in recipes) < len(recipes)
    turns = TAKE_TURNS.format(
        # NumPy's threads spin for 0.1 s after a product: for less than half of a turn.
        turn=0.25 if hosts else 0.1,
        clocks="dispatch, ready",
        figures="dispatch {dispatch:.3e} s, ready {ready:.3e} s",
    )
    modules = {
        "perf_counter_ns",
        *(x for recipe in recipes.values() for x in recipe.modules),
    }
    seconds = max(4, (2 if hosts else 1) * len(recipes))
    return Script(
        title=f"{len(recipes)} cases of {ops}, taking turns",
        body=_sections(
            "\n".join([*_imports(modules), *(_setting(*each) for each in settings)]),
            timer(),
            turns,
            "cases = {}",
            *blocks,
            f"take_turns(cases, {seconds})",
        ),
        settings=tuple(name for name, _ in settings),
    )


# Loops.


def loop_script(loop: Loop, planned: PlannedCase) -> Script:
    """A script that runs exactly this loop and prints the medians of both clocks."""
    recipe = planned.recipe
    if recipe is None:
        return missing(planned)
    modules = {*recipe.modules, "perf_counter"}
    body = "\n".join(_loop(loop, recipe.tree))
    lines = [*_arguments(recipe), f"f = {recipe.call}"]
    if recipe.tree and loop.chained:
        lines += [
            "# Does the next call take the whole result, or the first of several?",
            "whole = jax.tree.structure(f(*args)) == jax.tree.structure(args[0])",
        ]
    function = f"def loop():\n{textwrap.indent(body, '    ')}"
    last = "\n".join([*lines, LOOPED])
    title = f"{loop.case.label}, in a loop"
    return _of_recipe(title, recipe, modules, function, last)


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


# Snippets.


def snippet_script(snippet: Snippet) -> Script:
    """The setup as it stands, then the parts in order, then the turns.

    Raises:
        SyntaxError: A part that is timed is no expression.
    """
    timed = [part for part in snippet.parts if isinstance(part, Timed)]
    turns = [part for part in timed if not part.once]
    modules = {"jax", *(["np"] if turns else [])}
    modules |= {"perf_counter_ns"} if timed else set()
    for text in (snippet.setup, *(part.code for part in snippet.parts)):
        used = {x.id for x in ast.walk(ast.parse(text)) if isinstance(x, ast.Name)}
        modules |= used & SNIPPET_MODULES
    settings = [("jax_enable_x64", "True")] if snippet.x64 else []
    devices = "jax.local_devices()"
    if snippet.device is not None:
        platform, _, number = snippet.device.partition(":")
        device = f'jax.devices("{platform}")[{int(number)}]'
        settings.append(("jax_default_device", device))
        devices = f"{{{device}, *{devices}}}"
    head = [
        *([DEVICES.format(count=snippet.cpu_devices)] if snippet.cpu_devices else []),
        *_imports(modules),
        *(_setting(*each) for each in settings),
    ]
    helpers = [timer(), WAIT_FOR.format(devices=devices)] if timed else []
    last = ""
    if turns:
        helpers.append(
            TAKE_TURNS.format(
                turn=0.04, clocks="dispatch, _", figures="{dispatch:.3e} s"
            )
        )
        entries = [
            f"    {_title(part.name)}: (lambda: {_argument(part.code)}, (), wait_for),"
            for part in turns
        ]
        seconds = f"{min(3.0, snippet.budget):g}"
        last = "\n".join(["cases = {", *entries, "}", f"take_turns(cases, {seconds})"])
    parts = (_part(part) for part in snippet.parts if part not in turns)
    return Script(
        title=snippet.title,
        body=_sections(
            "\n".join(head), *helpers, snippet.setup, "\n".join(parts), last
        ),
        settings=tuple(name for name, _ in settings),
        alone=snippet.cpu_devices is not None,
    )


def _part(part: Shown | Timed) -> str:
    label = _title(f"{part.name}:")
    if isinstance(part, Timed):
        call = f"time_calls(lambda: {_argument(part.code)}, (), wait_for, 0)"
        return f'print({label}, format({call}[0][0], ".3e"), "s")'
    if _prints(part.code):
        shown = "\n".join([f"print({label})", part.code.strip("\n")])
    else:
        shown = f"print({label}, {_argument(part.code)})"
    if not part.raises:
        return shown
    return (
        f"try:\n{textwrap.indent(shown, '    ')}\nexcept Exception as error:\n"
        f"    print({label}, type(error).__name__, error)"
    )


def _prints(code: str) -> bool:
    """Whether it is a statement, or a call of print."""
    match ast.parse(code.strip()).body:
        case [ast.Expr(value=ast.Call(func=ast.Name(id="print")))]:
            return True
        case [ast.Expr()]:
            return False
    return True


def _argument(code: str) -> str:
    """An expression as one argument of a call, in parentheses where it needs them."""
    code = code.strip()
    tree = ast.parse(code, mode="eval").body
    if "\n" in code or "#" in code:
        return f"(\n{code}\n)"
    return f"({code})" if isinstance(tree, ast.Tuple) else code


# Works, as of a step of a lesson.


async def code_parts(works: Sequence[Work], plan: Planner) -> tuple[Script, ...]:
    """The scripts of some works; the cases of an experiment take turns in one.

    What a step decides to run in view of its figures, as in a bisection, is not in it.
    """
    parts: list[Script] = []
    for work in works:
        if isinstance(work, Snippet):
            parts.append(snippet_script(work))
        elif isinstance(work, Loop):
            (planned,) = (await plan(Experiment(cases=(work.case,)))).cases
            parts.append(loop_script(work, planned))
        elif isinstance(work, Experiment):
            parts += _experiment_scripts(await plan(work))
    return tuple(parts)


def _experiment_scripts(plan: Plan) -> list[Script]:
    """One for all cases that take turns, and one for each that cannot run here."""
    groups: dict[tuple[int, str], list[PlannedCase]] = {}
    for case in plan.cases:
        # Where memory is short, sizes run one after another here, too.
        key = (case.case.size, case.case.op) if plan.grouped else (0, "")
        if case.recipe:
            groups.setdefault(key, []).append(case)
    able = [case for each in groups.values() for case in experiment_scripts(each)]
    return [*able, *(missing(case) for case in plan.cases if not case.recipe)]


# Pieces.


def _of_recipe(title: str, recipe: Recipe, modules: Set[str], *sections: str) -> Script:
    """What a recipe needs and defines, and then what is done with it."""
    settings = [_setting(*each) for each in recipe.settings]
    head = [*_comments(recipe), *_imports(modules), *settings]
    return Script(
        title=title,
        body=_sections("\n".join(head), recipe.function, *sections),
        settings=tuple(name for name, _ in recipe.settings),
    )


@cache
def timer() -> str:
    """The source of the loop that times, ``jaxtui.measure.clocks.time_calls``.

    As ``inspect.getsource`` gives it, but without importing JAX.
    """
    path = files("jaxtui") / "measure" / "clocks.py"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    start = lines.index("def time_calls(f, args, wait, seconds):\n")
    return "".join(inspect.getblock(lines[start:]))


def _title(text: str) -> str:
    """A literal of what a script prints to a terminal."""
    return literal(visible(text, line=True))


def _comment(text: str) -> str:
    """A comment of one line, whatever the text holds."""
    return f"# {visible(' '.join(text.split()), line=True)}"


def _setting(name: str, value: str) -> str:
    return f'jax.config.update("{name}", {value})'


def _comments(recipe: Recipe) -> list[str]:
    return [COMMENTS[remark.code].format(**remark.facts) for remark in recipe.remarks]


def _arguments(recipe: Recipe) -> list[str]:
    """The lines that define ``args``."""
    return [*recipe.arguments, *([FRESH] if recipe.donates else [])]


def _call(recipe: Recipe) -> str:
    """The lines that define ``f`` and ``wait``."""
    line = f"f, wait = {recipe.call}, {recipe.wait}"
    return line if len(line) <= 88 else f"f = {recipe.call}\nwait = {recipe.wait}"


def _imports(modules: Set[str]) -> list[str]:
    return [line for name, line in IMPORTS.items() if name in modules]


def _sections(*texts: str) -> str:
    """One after the other with an empty line between; those that are empty left out."""
    return "\n\n".join(x for text in texts if (x := text.strip("\n"))) + "\n"
