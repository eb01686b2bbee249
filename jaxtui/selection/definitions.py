"""What a module of Python defines, from its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from jaxtui.model.own import ARGS, MAKE_ARGS, NUMPY
from jaxtui.selection.functions import UNKNOWN, Factory, OwnFunction, Takes

TRANSFORMS = frozenset(
    {
        "checkpoint",
        "custom_jvp",
        "custom_vjp",
        "grad",
        "hessian",
        "jacfwd",
        "jacobian",
        "jacrev",
        "jit",
        "named_call",
        "pjit",
        "pmap",
        "remat",
        "value_and_grad",
        "vmap",
    }
)
"""What gives back a function that takes the arguments of the one it is given."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.Lambda, ast.ClassDef)


def functions(module: ast.Module) -> Iterator[OwnFunction]:
    """Everything in a module that is a function, or is made of one."""
    names = _names(module.body)
    for name, node in names.items():
        if _makes_function(node):
            yield _described(name, node, names)


# What the names of a module stand for.


def _names(body: Iterable[ast.stmt]) -> dict[str, ast.AST]:
    """What each name of the module stands for in the end."""
    names: dict[str, ast.AST] = {}
    for name, node in _named(body):
        # After `step = jax.jit(step)` it takes what it took before.
        again = isinstance(node, ast.Call) and _called(node) in TRANSFORMS
        given = node.args[:1] if isinstance(node, ast.Call) else []
        same = any(isinstance(one, ast.Name) and one.id == name for one in given)
        if not (again and same and name in names):
            names[name] = node
    return names


def _named(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.AST]]:
    """What each name is bound to when the file is imported, the last one last."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node
            case ast.Assign():
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        yield target.id, node.value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case ast.Import() | ast.ImportFrom():
                for one in node.names:
                    yield (one.asname or one.name).partition(".")[0], node
            case ast.If() if _never(node.test):
                yield from _named(node.orelse)
            case ast.If():
                yield from _named((*node.orelse, *node.body))
            case ast.Try():
                handled = [each for one in node.handlers for each in one.body]
                yield from _named((*handled, *node.body, *node.orelse, *node.finalbody))
            case ast.With():
                yield from _named(node.body)
            case _:
                pass


def _never(test: ast.expr) -> bool:
    """Whether a condition does not hold in an import: ``__name__ == "__main__"``."""
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    dotted = {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}
    return bool({"__name__", "TYPE_CHECKING"} & (names | dotted))


def _makes_function(node: ast.AST) -> bool:
    if isinstance(node, (*_FUNCTIONS, ast.Lambda)):
        return True
    return isinstance(node, ast.Call) and _called(node) in (*TRANSFORMS, "partial")


def _called(call: ast.Call) -> str:
    """The last part of the name that is called; of ``partial(jit, …)(f)``, ``jit``."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(args=[first, *_]) as inner if _called(inner) == "partial":
            return _called(ast.Call(func=first, args=[], keywords=[]))
        case _:
            return ""


# What is known of one of them.


def _described(name: str, node: ast.AST, names: dict[str, ast.AST]) -> OwnFunction:
    inner = _inner(node, names)
    taken = None if inner is None else inner.args
    certain = isinstance(inner, ast.Lambda) or (
        inner is not None and all(map(_keeps_arguments, inner.decorator_list))
    )
    takes = _takes(taken) if taken is not None and certain else None
    factory = _factory(name, names)
    return OwnFunction(
        name=name,
        signature=UNKNOWN if taken is None else f"({_written(taken)})",
        summary=_summary(inner),
        line=getattr(node, "lineno", 0),
        takes=takes,
        factory=factory,
        has_numpy=name + NUMPY in names,
        problem=_problem(inner, takes, factory) if certain else "",
    )


def _inner(
    node: ast.AST, names: dict[str, ast.AST], depth: int = 0
) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None:
    """The function that is defined, or that is given to ``jax.jit`` and the like."""
    if isinstance(node, (*_FUNCTIONS, ast.Lambda)):
        return node
    if depth > len(names):  # f = jit(f) refers to what f was before
        return None
    if isinstance(node, ast.Call) and _called(node) in TRANSFORMS and node.args:
        return _inner(node.args[0], names, depth + 1)
    if isinstance(node, ast.Name) and node.id in names:
        return _inner(names[node.id], names, depth + 1)
    return None


def _keeps_arguments(decorator: ast.expr) -> bool:
    """Whether what it gives back takes the same arguments, as far as one can know."""
    match decorator:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in TRANSFORMS
        case ast.Call(args=[first, *_]) if _called(decorator) == "partial":
            return _keeps_arguments(first)
        case ast.Call():
            return _called(decorator) in TRANSFORMS
        case _:
            return False


def _takes(taken: ast.arguments) -> Takes:
    positional = [one.arg for one in (*taken.posonlyargs, *taken.args)]
    required = positional[: len(positional) - len(taken.defaults)]
    pairs = zip(taken.kwonlyargs, taken.kw_defaults, strict=True)
    return Takes(
        names=tuple(required),
        most=None if taken.vararg else len(positional),
        by_keyword=tuple(one.arg for one, default in pairs if default is None),
    )


def _problem(
    inner: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None,
    takes: Takes | None,
    factory: Factory | None,
) -> str:
    if isinstance(inner, ast.AsyncFunctionDef):
        return "is async: calling it computes nothing yet."
    if isinstance(inner, ast.FunctionDef) and _yields(inner):
        return "is a generator: calling it computes nothing yet."
    if takes is not None and takes.by_keyword:
        names = ", ".join(takes.by_keyword)
        return f"must be given {names} by keyword, and arguments go by position."
    if takes is not None and takes.most == 0 and factory is None:
        return "takes no arguments, so XLA would compute its result while compiling it."
    return ""


def _yields(function: ast.FunctionDef) -> bool:
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, _SCOPES):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def _factory(name: str, names: dict[str, ast.AST]) -> Factory | None:
    found = next((one for one in (name + ARGS, MAKE_ARGS) if one in names), None)
    if found is None:
        return None
    node = _inner(names[found], names)
    if node is None:
        return Factory(found, f"{found}{UNKNOWN}")
    return Factory(found, f"{found}({_written(node.args)})", _needs_size(node.args))


def _needs_size(taken: ast.arguments) -> bool:
    """Whether its size, the first parameter that is not ``seed``, has no default."""
    positional = [one.arg for one in (*taken.posonlyargs, *taken.args)]
    required = positional[: len(positional) - len(taken.defaults)]
    return next((one for one in positional if one != "seed"), None) in required


def _summary(node: ast.AST | None) -> str:
    text = ast.get_docstring(node) if isinstance(node, _FUNCTIONS) else None
    return (text or "").strip().partition("\n")[0]


def _written(taken: ast.arguments) -> str:
    """The parameters without their annotations, which may be long."""
    bare = ast.arguments(
        posonlyargs=[ast.arg(one.arg) for one in taken.posonlyargs],
        args=[ast.arg(one.arg) for one in taken.args],
        vararg=taken.vararg and ast.arg(taken.vararg.arg),
        kwonlyargs=[ast.arg(one.arg) for one in taken.kwonlyargs],
        kw_defaults=taken.kw_defaults,
        kwarg=taken.kwarg and ast.arg(taken.kwarg.arg),
        defaults=taken.defaults,
    )
    return ast.unparse(bare)
