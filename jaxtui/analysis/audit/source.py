"""What the source of a program makes of a reading of its clock."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import takewhile

from jaxtui.model.audit import Place, Span

_PURPOSE = re.compile(
    r"\bcompil(?!ed)|\bcompiled in\b|\bcold\b|\bwarm ?(up|ing)|\b(trac|lower)ing\b"
    r"|\bfirst(?=\W*$|\W+(call|run|step|it|time|exec|pass|invoc|eval|use|launch|comp))"
)
"""Says that a reading is of what happens once. Not *first batch*, nor *compiled*."""
_WITHOUT = re.compile(r"\b(no|not|non|without|after|post|exclud\w*|excl|minus)\b\W*$")

_ROBUST = re.compile(
    r"(nan|arg)?(min|median|percentile|quantile)s?|sort|nsmallest"
    r"|(discard|drop|skip|trim)\w*"
)
"""Functions that one of several readings hardly changes, or that leave some out."""
_MIXED = re.compile(r"(nan|f|geometric_)?(mean|average|avg|sum)")
_KEEPS = ("append", "extend", "insert", "add", "appendleft", "put")
_TIMES = ("timeit", "repeat", "autorange")
_SLOT = re.compile(r"%[-+ #0-9.]*[a-zA-Z]|\{[^{}]*\}")

_Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_Loop = (ast.For, ast.AsyncFor, ast.While)
_Name = tuple[ast.AST | None, str]
"""With the function or module that binds it; ``None`` for attributes of objects."""


class Source:
    """The source of a program.

    Args:
        text: of a line of it, or of a whole file for line 0; empty where there is none.
    """

    def __init__(self, text: Callable[[Place], str]) -> None:
        self._text = text
        self._files: dict[str, _File] = {}
        self._flows: dict[tuple[Place | None, ...], _Flow] = {}

    def _flow(self, span: Span) -> _Flow:
        place = span.taken or span.end
        key = span.begin, place, span.caller
        if key not in self._flows:
            flow = self._flows[key] = _Flow(self._file(place))
            flow.run(span, place, self._file(span.caller or place))
        return self._flows[key]

    def _file(self, place: Place) -> _File:
        if place.file not in self._files:
            self._files[place.file] = _File(self._text(Place(place.file, 0)))
        return self._files[place.file]

    def is_of_compiling(self, span: Span) -> bool:
        """Whether the program calls the reading so, or prints it as that."""
        for label in self._flow(span).labels:
            text = re.sub("[_-]", " ", label).lower()
            for word in _PURPOSE.finditer(text):
                if not _WITHOUT.search(text[: word.start()]):
                    return True
        return False

    def drops_first(self, span: Span) -> bool:
        """Whether of several readings the first is not used, or only for a minimum, a
        median or the like.
        """
        flow = self._flow(span)
        return flow.drops and not flow.mixes


class _File:
    """The statements of a file."""

    def __init__(self, text: str) -> None:
        try:
            self.tree = ast.parse(text)
        except (SyntaxError, ValueError):
            self.tree = ast.Module([], [])
        self.parents = {
            child: node
            for node in ast.walk(self.tree)
            for child in ast.iter_child_nodes(node)
        }

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        nodes = ast.walk(self.tree)
        return {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}

    def statement(self, line: int) -> ast.stmt | None:
        """The innermost one of a line."""
        around = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.stmt)
            and node.lineno <= line <= (node.end_lineno or node.lineno)
        ]
        return max(around, key=lambda node: node.lineno, default=None)

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What holds it, the innermost first."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def within(self, node: ast.AST, kinds: tuple[type, ...]) -> ast.AST | None:
        """The innermost of these around it, in its function."""
        for outer in self.around(node):
            if isinstance(outer, kinds):
                return outer
            if isinstance(outer, _Function):
                break
        return None

    def name(self, node: ast.AST) -> _Name | None:
        """What it is called: its last attribute, or what it is an item of."""
        while isinstance(node, ast.Subscript | ast.Call | ast.Starred):
            node = node.func if isinstance(node, ast.Call) else node.value
            if isinstance(node, ast.Attribute) and node.attr in ("setdefault", "get"):
                node = node.value
        if isinstance(node, ast.Attribute):
            return None, node.attr
        if isinstance(node, ast.Name):
            return self._scope(node), node.id
        return None

    def _scope(self, node: ast.Name) -> ast.AST:
        for outer in self.around(node):
            if isinstance(outer, _Function) and node.id in _bound(outer):
                return outer
        return self.tree

    def uses(self, name: _Name, store: ast.AST) -> list[ast.AST]:
        """Where a name is read that has what was stored in it, and nothing else."""
        places = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Name | ast.Attribute)
            and _last_name(node) == name[1]
            and self.name(node) == name
        ]
        home = self.within(store, _Function)
        line = getattr(store, "lineno", 0)
        others = [
            node.lineno
            for node in places
            if isinstance(node.ctx, ast.Store)
            and not isinstance(self.parents[node], ast.AugAssign)
            and self.within(node, _Function) is home
        ]
        first = max((other for other in others if other <= line), default=0)
        last = min((other for other in others if other > line), default=sys.maxsize)
        return [
            node
            for node in places
            if isinstance(node.ctx, ast.Load)
            and (
                isinstance(node, ast.Attribute)
                or self.within(node, _Function) is not home
                or first <= node.lineno <= last
            )
        ]


def _bound(node: ast.AST) -> set[str]:
    """The names that are bound in a function or loop, as far as it is not in others."""
    names: set[str] = set()
    if isinstance(node, _Function):
        every = node.args
        names = {each.arg for each in (*every.posonlyargs, *every.args)}
        names |= {each.arg for each in (*every.kwonlyargs, every.vararg) if each}
    free: set[str] = set()
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        child = waiting.pop()
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            names.add(child.id)
        elif isinstance(child, ast.Global | ast.Nonlocal):
            free.update(child.names)
        if not isinstance(child, _Function):
            waiting += ast.iter_child_nodes(child)
    return names - free


class _Flow:
    """Where a reading goes in its file."""

    def __init__(self, file: _File) -> None:
        self._file = file
        self._seen: set[_Name] = set()
        self._taken: ast.stmt | None = None
        self._asked: tuple[_File, ast.stmt | None] | None = None
        """Who called the function that takes the reading."""
        self.labels: list[str] = []
        """What the reading is called."""
        self.drops = False
        """The first of several is left out somewhere, or hardly counts."""
        self.mixes = False
        """The first of several counts like the others somewhere."""

    def run(self, span: Span, place: Place, caller: _File) -> None:
        self._taken = self._file.statement(place.line)
        if self._taken is None:
            return
        if span.caller is not None:
            asked = caller.statement(span.caller.line)
            self._asked = caller, asked
            function = self._file.within(self._taken, _Function)
            for call in _header(asked) if asked is not None else ():
                if isinstance(call, ast.Call) and (
                    isinstance(asked, ast.With)
                    or _called(call) == getattr(function, "name", None)
                ):
                    given = (*call.args, *(each.value for each in call.keywords))
                    self.labels += map(_text, given)
        for node in self._readings(self._taken, span):
            self._climb(node, True)

    def _readings(self, statement: ast.stmt, span: Span) -> Sequence[ast.AST]:
        """The expressions of a statement that are the reading."""
        inside = list(_header(statement))
        differences = [
            node
            for node in inside
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
        ]
        begun = self._file.statement(span.begin.line)
        names = {
            self._file.name(target) for target in (_targets(begun) if begun else ())
        }
        mine = [each for each in differences if self._file.name(each.right) in names]
        calls = [
            node
            for node in inside
            if isinstance(node, ast.Call) and _called(node) in _TIMES
        ]
        value = getattr(statement, "value", None)
        return mine or differences or calls or [value or statement]

    def _climb(self, node: ast.AST, direct: bool) -> None:
        """Follow an expression outwards.

        Args:
            node: It.
            direct: whether it is the reading, and not several of them.
        """
        for outer in self._file.around(node):
            if isinstance(outer, ast.Subscript) and node is outer.value:
                if _drops(outer.slice) or _is_sorted(node):
                    self.drops = True
                    return
            elif isinstance(outer, ast.Attribute):
                call = self._file.parents.get(outer)
                if isinstance(call, ast.Call) and node is outer.value:
                    if outer.attr in _KEEPS:
                        return
                    if outer.attr == "pop" and call.args:
                        self.drops = True
                    if self._reduced(outer.attr):
                        return
            elif isinstance(outer, ast.Call) and node is not outer.func:
                name = _called(outer)
                if direct:
                    self.labels += _words_of(outer, node)
                leaves = isinstance(self._file.parents[outer], ast.Expr)
                if not leaves and self._reduced(name):
                    return
                if name in _KEEPS and isinstance(outer.func, ast.Attribute):
                    self._keep(outer.func.value, outer, False)
                    return
                if (function := self._file.functions.get(name)) is not None:
                    self._enter(function, outer, node, direct)
            elif isinstance(outer, ast.keyword):
                if direct and outer.arg:
                    self.labels.append(outer.arg)
            elif isinstance(outer, ast.Dict) and direct:
                keys = zip(outer.keys, outer.values, strict=True)
                self.labels += [_text(key) for key, value in keys if value is node]
            elif isinstance(outer, ast.JoinedStr) and direct:
                self.labels += _before(outer, node)
            elif isinstance(outer, ast.Tuple) and isinstance(
                self._file.parents[outer], ast.Return
            ):
                continue  # which item it is
            elif isinstance(outer, ast.Tuple | ast.BinOp) and direct:
                form = (
                    self._file.parents[outer] if isinstance(outer, ast.Tuple) else outer
                )
                if isinstance(form, ast.BinOp) and isinstance(form.op, ast.Mod):
                    self.labels += _words_of(form, node)
            elif isinstance(outer, ast.Compare):
                return
            elif isinstance(outer, _Loop) and not isinstance(outer, ast.While):
                if node is outer.iter:
                    self._keep(outer.target, outer, False)
                return
            elif isinstance(outer, ast.Return):
                self._leave(outer, node, direct)
                return
            elif isinstance(outer, ast.stmt):
                several = isinstance(outer, ast.AugAssign)
                for target in _targets(outer):
                    self._keep(target, outer, direct and not several)
                return
            node = outer

    def _reduced(self, function: str) -> bool:
        """Whether a function makes one number of several, and what that means."""
        if _ROBUST.fullmatch(function):
            self.drops = True
            return True
        if _MIXED.fullmatch(function):
            self.mixes = True
            return True
        return False

    def _keep(self, target: ast.AST, store: ast.AST, direct: bool) -> None:
        """Follow what a name or a container is used for."""
        if any(
            isinstance(each, ast.Starred) for each in getattr(target, "elts", ())[1:]
        ):
            self.drops = True  # first, *others = times
        name = self._file.name(target)
        if direct:
            self.labels += map(_text, ast.walk(target))
            self.labels.append(name[1] if name else "")
        if self._is_chosen(store):
            self.drops = True
            return
        if name is None or name in self._seen:
            return
        self._seen.add(name)
        uses = self._file.uses(name, store)
        loop = self._file.within(store, _Loop)
        if isinstance(store, ast.Assign) and isinstance(target, ast.Name) and loop:
            # Only the last is left after the loop.
            inside = set(ast.walk(loop))
            self.drops |= bool(uses) and inside.isdisjoint(uses)
        for use in uses:
            if use is not target:
                self._climb(use, direct)

    def _is_chosen(self, store: ast.AST) -> bool:
        """Whether it depends on the turn of its loop, or on which call of its function
        it is, that the reading is kept.
        """
        around = [store, *self._file.around(store)]
        scope = self._file.within(store, (*_Loop, *_Function))
        if scope is None:
            return False
        changing = _changing(scope)
        begun, ended = (getattr(each, "lineno", 0) for each in (self._taken, store))
        tests = [
            node
            for node in ast.walk(scope)
            if isinstance(node, ast.If)
            and (
                node in around
                or (
                    begun < node.lineno < ended
                    and any(isinstance(e, ast.Continue | ast.Return) for e in node.body)
                )
            )
        ]
        for test in tests:
            inside = list(ast.walk(test.test))
            if any(node is self._taken for node in ast.walk(test)) or any(
                isinstance(node, ast.Mod) for node in inside
            ):
                continue
            if any(_last_name(node) in changing for node in inside):
                return True
        return False

    def _enter(
        self, function: ast.FunctionDef, call: ast.Call, node: ast.AST, direct: bool
    ) -> None:
        """Follow an argument into a function of the file."""
        arguments = [each.arg for each in function.args.args]
        if isinstance(call.func, ast.Attribute):
            arguments = arguments[1:]
        if node in call.args[: len(arguments)]:
            name = function, arguments[call.args.index(node)]
        elif isinstance(node, ast.keyword) and node.arg:
            name = function, node.arg
        else:
            return
        if name not in self._seen:
            self._seen.add(name)
            for use in self._file.uses(name, function.body[0]):
                self._climb(use, direct)

    def _leave(self, statement: ast.Return, node: ast.AST, direct: bool) -> None:
        """Follow what a function returns to who called it."""
        function = self._file.within(statement, _Function)
        if not isinstance(function, ast.FunctionDef) or (function, "") in self._seen:
            return
        self._seen.add((function, ""))
        items = getattr(statement.value, "elts", [])
        at = next((at for at, item in enumerate(items) if item is node), None)
        file, inside = self._file, ast.walk(self._file.tree)
        if self._asked is not None:
            file, asked = self._asked
            inside = _header(asked) if asked is not None else iter(())
            self._asked = None
        before, self._file = self._file, file
        for call in list(inside):
            if not isinstance(call, ast.Call) or _called(call) != function.name:
                continue
            parent = file.parents[call]
            if isinstance(parent, ast.Expr):
                self.drops = True
            targets = _targets(parent) if isinstance(parent, ast.stmt) else []
            if at is not None and targets and isinstance(targets[0], ast.Tuple):
                if at < len(targets[0].elts):
                    self._keep(targets[0].elts[at], parent, direct)
            else:
                self._climb(call, direct)
        self._file = before


def _header(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without the statements in it."""
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, ast.stmt):
            yield from ast.walk(child)


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    if isinstance(statement, ast.AugAssign | ast.AnnAssign):
        return [statement.target]
    return []


def _last_name(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _changing(scope: ast.AST) -> set[str]:
    """What differs between the turns of a loop, or the calls of a function."""
    names = _bound(scope) if isinstance(scope, _Loop) else set()
    for node in ast.walk(scope):
        if isinstance(node, ast.Global | ast.Nonlocal):
            names.update(node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return names


def _called(call: ast.Call) -> str:
    return _last_name(call.func)


def _text(node: ast.AST | None) -> str:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else ""


def _drops(index: ast.expr) -> bool:
    """Whether the first of several is not among these."""
    if isinstance(index, ast.Slice):
        lower = index.lower
        return lower is not None and not (
            isinstance(lower, ast.Constant) and not lower.value
        )
    return isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub)


def _is_sorted(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _called(node) == "sorted"


def _before(text: ast.JoinedStr, value: ast.AST) -> list[str]:
    """The words of an f-string that are about a value of it: those before it, or all
    where it is the only one.
    """
    formatted = [each for each in text.values if isinstance(each, ast.FormattedValue)]
    if len(formatted) == 1:
        return [_text(each) for each in text.values]
    place = next(at for at, each in enumerate(text.values) if each is value)
    return [_text(text.values[place - 1])] if place else []


def _words_of(outer: ast.Call | ast.BinOp, node: ast.AST) -> list[str]:
    """The words that a call or ``%`` has about a value."""
    if isinstance(outer, ast.BinOp):
        values = getattr(outer.right, "elts", [outer.right])
        return _slots(_text(outer.left), values, node)
    if isinstance(outer.func, ast.Attribute) and (text := _text(outer.func.value)):
        return _slots(text, outer.args, node)  # "…".format(…)
    if node not in outer.args:
        return []
    if outer.args and _SLOT.search(text := _text(outer.args[0])):
        return _slots(text, outer.args[1:], node)
    before = list(takewhile(lambda each: each is not node, outer.args))
    for each in reversed(before):
        words = _text(each) or " ".join(
            _text(part) for part in getattr(each, "values", ())
        )
        if words:
            return [words]
    return []


def _slots(text: str, values: list[ast.expr], node: ast.AST) -> list[str]:
    """The words before the value's place in a format, or all of one with one place."""
    parts = _SLOT.split(text)
    if len(parts) == 2:
        return [text]
    if node in values and (place := values.index(node)) < len(parts):
        return [parts[place]]
    return []
