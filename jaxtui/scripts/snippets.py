"""The plain Python that does what a snippet does, with nothing but JAX and NumPy."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from jaxtui.model import SNIPPET_IMPORTS, Shown, Snippet, Timed
from jaxtui.scripts.allocator import SETTLED
from jaxtui.text import literal

SECONDS_AT_MOST = 3.0
"""How long a script takes turns, unless its snippet has less."""

NAMES = ("fences", "step", "timed", "take_turns", "error")
"""What a script calls its own; longer where the snippet has such a name."""

DEVICES = """\
import os

# JAX has to know this before it starts.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_NUM_CPU_DEVICES"] = "{count}"
"""

TIMED = '''\
{fences} = [jax.device_put(0.0, each) for each in {devices}]
{step} = jax.jit(lambda x: x + 1)


def {timed}(call):
    """Seconds until the call returned."""
    start = perf_counter()
    value = call()
    seconds = perf_counter() - start
    # Outside the clock: wait for the value, and for what was dispatched and dropped.
    jax.block_until_ready((value, [{step}(each) for each in {fences}]))
    return seconds
'''

TAKE_TURNS = '''\
def {take_turns}(calls):
    """Print the median seconds of calls; the machine's moods hit all of them alike."""
    for call in [*calls.values()] * 2:
        {timed}(call)  # to warm up
    seconds = {{name: [] for name in calls}}
    end = perf_counter() + {budget:g}
    while perf_counter() < end:
        for name, call in calls.items():
            turn = perf_counter() + 0.04
            seconds[name].append({timed}(call))
            while perf_counter() < turn:
                seconds[name].append({timed}(call))
    for name, taken in seconds.items():
        print(f"{{name}}  {{statistics.median(taken):.3e}} s")
'''


def snippet_script(snippet: Snippet) -> str:
    """The setup as it stands, then the parts in order, then the turns.

    Raises:
        SyntaxError: A part that is timed is no expression, or one whose error is to be
            shown is not even Python.
    """
    return _Script(snippet).text()


class _Script:
    def __init__(self, snippet: Snippet) -> None:
        self._snippet = snippet
        timed = [part for part in snippet.parts if isinstance(part, Timed)]
        self._times = bool(timed)
        self._repeated = [part for part in timed if not part.once]
        texts = [snippet.setup, *(part.code for part in snippet.parts)]
        self._words = frozenset(re.findall(r"\w+", "\n".join(texts)))
        self._names = {name: self._free(name) for name in NAMES}

    def text(self) -> str:
        parts = filter(None, map(self._part, self._snippet.parts))
        sections = [
            "\n\n".join(self._head()),
            *self._helpers(),
            self._snippet.setup,
            _joined([*parts, *self._turns()]),
        ]
        stripped = [section.strip("\n") for section in sections]
        return _spaced([section for section in stripped if section]) + "\n"

    def _free(self, name: str) -> str:
        while name in self._words:
            name += "_"
        return name

    def _head(self) -> Iterator[str]:
        snippet = self._snippet
        yield f"# {' '.join(snippet.title.split())}"
        if snippet.cpu_devices is not None:
            yield DEVICES.format(count=snippet.cpu_devices).strip()
        if self._times:
            first = ["statistics"] if self._repeated else []
            lines = [f"import {name}" for name in ("ctypes", *first, "sys")]
            yield "\n".join([*lines, "from time import perf_counter"])
        yield "\n".join(
            line
            for line in SNIPPET_IMPORTS.splitlines()
            if line == "import jax" or line.split()[-1] in self._words
        )
        if snippet.x64:
            yield 'jax.config.update("jax_enable_x64", True)'
        if self._times:
            yield SETTLED.strip()
        if snippet.device is not None:
            yield _chosen(snippet.device)

    def _helpers(self) -> Iterator[str]:
        if self._times:
            chosen = self._snippet.device is not None
            devices = (
                "{*jax.local_devices(), device}" if chosen else "jax.local_devices()"
            )
            yield TIMED.format(**self._names, devices=devices)
        if self._repeated:
            budget = min(SECONDS_AT_MOST, self._snippet.budget)
            yield TAKE_TURNS.format(**self._names, budget=budget)

    def _part(self, part: Shown | Timed) -> str:
        if isinstance(part, Shown):
            return self._caught(part) if part.raises else _shown(part)
        if not part.once:
            return ""
        seconds = f"{self._names['timed']}(lambda: {_argument(part.code)})"
        return f'print({_label(part)}, format({seconds}, ".3e"), "s")'

    def _caught(self, part: Shown) -> str:
        error = self._names["error"]
        return (
            f"try:\n{_indented(_shown(part))}\n"
            f"except Exception as {error}:\n"
            f"    print({_label(part)}, type({error}).__name__, {error})"
        )

    def _turns(self) -> Iterator[str]:
        if self._repeated:
            calls = [f"        {_entry(part)}," for part in self._repeated]
            lines = [f"{self._names['take_turns']}(", "    {", *calls, "    }", ")"]
            yield "\n".join(lines)


def _spaced(sections: list[str]) -> str:
    """One after the other, with more room after a function."""
    text = "".join(sections[:1])
    for before, section in itertools.pairwise(sections):
        indented = before.rpartition("\n")[2].startswith(" ")
        text += ("\n\n\n" if indented else "\n\n") + section
    return text


def _joined(parts: list[str]) -> str:
    """One after the other, those of several lines set off by empty ones."""
    text = "".join(parts[:1])
    for before, part in itertools.pairwise(parts):
        text += ("\n\n" if "\n" in before + part else "\n") + part
    return text


def _chosen(device: str) -> str:
    platform, _, number = device.partition(":")
    return (
        f"device = next(d for d in jax.devices({literal(platform)})"
        f" if d.id == {int(number)})\n"
        'jax.config.update("jax_default_device", device)'
    )


def _shown(part: Shown) -> str:
    """Prints a value after its name; a statement stays as it is."""
    tree = _expression(part.code)
    if tree is None or _prints(tree):
        code = part.code.strip("\n")
        return f"print({_label(part)})\n{code}"
    return f"print({_label(part)}, {_argument(part.code)})"


def _expression(code: str) -> ast.expr | None:
    try:
        return ast.parse(code, mode="eval").body
    except SyntaxError:
        return None


def _prints(tree: ast.expr) -> bool:
    match tree:
        case ast.Call(func=ast.Name(id="print")):
            return True
        case _:
            return False


def _argument(code: str) -> str:
    """An expression as one argument of a call, in parentheses where it needs them."""
    ast.parse(code, mode="eval")
    code = code.strip()
    if "\n" in code or "#" in code:
        return f"(\n{code}\n)"
    return code if _is_one(code) else f"({code})"


def _is_one(code: str) -> bool:
    """Whether it is a single argument as it stands; ``a, b`` would be two."""
    match ast.parse(f"call({code})", mode="eval").body:
        case ast.Call(args=[_]):
            # "a," would be one argument with a comma after it.
            return not code.endswith(",")
        case _:
            return False


def _indented(code: str) -> str:
    """The code one level deeper, except for the lines inside of its strings."""
    inside: set[int] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            inside.update(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
    return "\n".join(
        line if number in inside or not line else f"    {line}"
        for number, line in enumerate(code.split("\n"), 1)
    )


def _entry(part: Timed) -> str:
    return f"{literal(part.name)}: lambda: {_argument(part.code)}"


def _label(part: Shown | Timed) -> str:
    return literal(f"{part.name}:")
