"""The plain Python of cases that take turns, as those of an experiment do."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence
from typing import NamedTuple

from jaxtui.model import Case, PlannedCase
from jaxtui.model.own import short_name
from jaxtui.scripts.allocator import SETTLED
from jaxtui.text import docstring, literal, visible

ROUNDS = 8
"""Turns of each case; of the medians of so many, one may be far out."""

ROUND_SECONDS = 0.6
"""One turn of everybody, unless its turns would be too short or too long."""

TURN_SECONDS = 0.04
TURN_SECONDS_AT_MOST = 0.25

TELLING = ("size", "dtype", "precision", "device", "inputs")
"""What tells cases of the same op and mode apart."""

WIDE = 'jax.config.update("jax_enable_x64", {})'

TIMED = {
    "timed": '''\
def timed(f, args):
    """Seconds until the result was ready, and until the call returned."""
    start = time.perf_counter()
    result = f(*args)
    returned = time.perf_counter()
    result.block_until_ready()
    return time.perf_counter() - start, returned - start
''',
    "timed_tree": '''\
def timed_tree(f, args):
    """The same for a result that may be several arrays."""
    start = time.perf_counter()
    result = f(*args)
    returned = time.perf_counter()
    jax.block_until_ready(result)
    return time.perf_counter() - start, returned - start
''',
    "timed_on_host": '''\
def timed_on_host(f, args):
    """Seconds until the call returned: then the result is ready, too."""
    start = time.perf_counter()
    result = f(*args)
    return (time.perf_counter() - start,)
''',
}

TAKE_TURNS = '''\
def take_turns(cases):
    """Print the medians of cases; the machine's moods hit all of them alike."""
    medians = {{title: [] for title in cases}}
    for _ in range({rounds}):
{order}{choosing}
            calls = [clock(f, args)]{spreading}
            end = time.perf_counter() + {seconds:.2g}
            while time.perf_counter() < end:
                calls.append(clock(f, args))
            medians[title].append([statistics.median(each) for each in zip(*calls)])
    for title, rounds in medians.items():
        print(title)
        for name, each in zip(("ready   ", "dispatch"), zip(*rounds)):
            print(f"{{name}} {{statistics.median(each):.3e}} s")
'''

IN_ORDER = "        for title, (clock, f, args) in cases.items():"

HOST_FIRST = """\
        turns = random.sample(list(cases.items()), len(cases))
        turns.sort(key=lambda turn: turn[1][0] is not timed_on_host)
        for number, (title, (clock, f, args)) in enumerate(turns):
            if number == {hosts}:
                rest()"""
"""Where NumPy is among them."""

REST = '''\
def rest():
    """Wait until NumPy's threads are idle: they spin for 0.1 s after a product."""
    for _ in range(30):
        used = time.process_time()
        time.sleep(0.01)
        if time.process_time() - used < 0.0025:
            return
'''
"""Not simply a pause: after a long one, calls of a few microseconds take several times
as long for a while."""

SPREAD = '''\
def spread(f, args):
    """Queue calls, so that the system spreads the threads over the cores again."""
    end = time.perf_counter() + 0.015
    while time.perf_counter() < end:
        for _ in range(6):
            result = f(*args)
        jax.block_until_ready(result)
'''
"""As jaxtui's bursts do. Behind the turns of ops that one thread computes, and without
this, a sigmoid of a million elements takes 0.57 ms for a whole turn; alone, 0.45 ms."""

SPREADING = """
            if {where}calls[0][0] < 0.002:
                spread(f, args)"""
"""Not where a call is long: threads find their cores within a few milliseconds."""

CHOOSING = """
            # With 64-bit types on, the other dtypes would widen.
            jax.config.update("jax_enable_x64", "float64" in title)"""


class _Pieces(NamedTuple):
    """What a setup consists of."""

    imports: tuple[str, ...]
    remarks: tuple[str, ...]
    form: str
    """The op's function; empty where there is none."""
    code: str
    """What defines ``f`` and ``args``."""


def turns_title(cases: Sequence[Case]) -> str:
    """What the script of these cases says of itself."""
    ops = " and ".join(dict.fromkeys(short_name(case.op) for case in cases))
    return f"{len(cases)} cases of {ops}, taking turns"


def turns_script(planned: Sequence[PlannedCase]) -> str:
    """A script in which the cases take turns, and which prints both clocks of each.

    Args:
        planned: Cases with a ``setup``.
    """
    return _Script(planned).text()


class _Script:
    def __init__(self, planned: Sequence[PlannedCase]) -> None:
        self._planned = {one.case.label: one for one in planned}.values()
        self._cases = [one.case for one in self._planned]
        self._pieces = [_pieces(one.setup) for one in self._planned]
        self._names = _names(self._cases)
        widths = {case.dtype == "float64" for case in self._cases if not case.on_host}
        self._wide, self._mixed = widths == {True}, len(widths) > 1
        hosts = sum(case.on_host for case in self._cases)
        self._hosts = hosts if hosts < len(self._cases) else 0
        """Cases of NumPy, if others take turns with them."""
        self._dispatched = hosts < len(self._cases)
        """Some are JAX's."""

    def text(self) -> str:
        more = ["import random"] if self._hosts else []
        head = [
            docstring(f"{turns_title(self._cases)}, timed without jaxtui."),
            *_imports([line for each in self._pieces for line in each.imports] + more),
        ]
        if self._wide:
            head.append(WIDE.format(True))
        head.append(SETTLED.strip())
        clocks = {name: TIMED[name] for name in map(_clock, self._planned)}
        sections = [
            "\n\n".join(head),
            *clocks.values(),
            *([REST] if self._hosts else []),
            *([SPREAD] if self._dispatched else []),
            self._take_turns(),
            *dict.fromkeys(each.form for each in self._pieces if each.form),
            *map(self._function, self._names, self._cases, self._pieces),
            self._call(),
        ]
        return "\n\n\n".join(section.strip("\n") for section in sections) + "\n"

    def _take_turns(self) -> str:
        fair = ROUND_SECONDS / len(self._cases)
        return TAKE_TURNS.format(
            rounds=ROUNDS,
            seconds=max(TURN_SECONDS, min(fair, TURN_SECONDS_AT_MOST)),
            order=self._order(),
            spreading=self._spreading(),
            choosing=CHOOSING if self._mixed else "",
        )

    def _order(self) -> str:
        """One after the other; NumPy's together, before everybody else's."""
        return HOST_FIRST.format(hosts=self._hosts) if self._hosts else IN_ORDER

    def _spreading(self) -> str:
        if not self._dispatched:
            return ""
        where = "clock is not timed_on_host and " if self._hosts else ""
        return SPREADING.format(where=where)

    def _function(self, name: str, case: Case, pieces: _Pieces) -> str:
        """The function that makes a case ready."""
        lines = [docstring(f"{case.label}."), *pieces.remarks]
        if self._mixed and not case.on_host:
            lines.append(WIDE.format(case.dtype == "float64"))
        # One empty line is enough inside of a function.
        lines += re.sub(r"\n{3,}", "\n\n", pieces.code).split("\n")
        lines += ["", "return f, args"] if lines[-1][:1] == " " else ["return f, args"]
        return f"def {name}():\n" + "\n".join(f"    {x}" if x else x for x in lines)

    def _call(self) -> str:
        entries = [
            f"    {title}: ({_clock(one)}, *{name}()),"
            for one, name in zip(self._planned, self._names, strict=True)
            for title in [literal(visible(one.case.label, line=True))]
        ]
        return "\n".join(["take_turns({", *entries, "})"])


def _pieces(setup: str) -> _Pieces:
    """Takes a setup apart: imports and settings, the op's function, what follows."""
    setup = setup.replace(SETTLED.strip(), "")
    lines, end = setup.split("\n"), 0
    form = ""
    for node in ast.parse(setup).body:
        if isinstance(node, ast.FunctionDef) and node.end_lineno:
            form = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            end = node.end_lineno
        elif isinstance(node, (ast.Import, ast.ImportFrom, ast.Expr)):
            end = node.end_lineno or end
            continue
        break
    head = lines[:end]
    return _Pieces(
        imports=tuple(x for x in head if x.startswith(("import ", "from "))),
        remarks=tuple(x for x in head if x.startswith("#")),
        form=form,
        code="\n".join(lines[end:]).strip("\n"),
    )


def _imports(lines: Sequence[str]) -> list[str]:
    """The lines once each, the standard library first."""
    blocks: dict[bool, list[str]] = {True: [], False: []}
    for line in sorted(set(lines), key=lambda x: (x.startswith("from "), x)):
        module = re.split(r"[ .]", line)[1]
        blocks[module in sys.stdlib_module_names].append(line)
    return ["\n".join(block) for block in blocks.values() if block]


def _clock(planned: PlannedCase) -> str:
    if planned.case.on_host:
        return "timed_on_host"
    return "timed_tree" if planned.own else "timed"


def _names(cases: Sequence[Case]) -> list[str]:
    """What the functions of the cases are called, each in its own way."""
    found: list[str] = []
    for case in cases:
        alike = [one for one in cases if (one.op, one.mode) == (case.op, case.mode)]
        told = [
            str(getattr(case, field))
            for field in TELLING
            if len({getattr(one, field) for one in alike}) > 1
        ]
        words = "_".join([short_name(case.op), case.mode, *told])
        name = re.sub(r"\W|^(?=\d)", "_", words, flags=re.ASCII)
        # Two files may differ in nothing that a name can hold.
        found.append(f"{name}_{len(found)}" if name in found else name)
    return found
