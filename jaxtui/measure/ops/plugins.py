"""Ops that installed packages offer, through the entry point group ``jaxtui.ops``.

    [project.entry-points."jaxtui.ops"]
    my_op = "my_package.ops:OP"            # an Op of jaxtui.measure.ops.base
    my_step = "my_package.training:step"   # a function, with step_args beside it

A package that cannot be loaded costs a sentence and nothing else.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from jaxtui.measure.ops.base import Op
from jaxtui.model import Fact, OpInfo, Remark
from jaxtui.text import visible

GROUP = "jaxtui.ops"

NAMES = re.compile(r"[a-z][a-z0-9_.-]*")
"""What can be typed as the name of an op."""


@dataclass
class Offers:
    ops: dict[str, Op] = field(default_factory=dict)
    functions: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of each function its module and its name there."""
    infos: list[OpInfo] = field(default_factory=list)
    """All of them described, those that cannot be run with the reason."""

    def problem(self, name: str) -> Remark | None:
        """Why the op of that name cannot be run; ``None`` if nothing is wrong."""
        return next((info.problem for info in self.infos if info.name == name), None)


@functools.cache
def offers() -> Offers:
    """What the packages of this environment offer; imports them, once."""
    return load(importlib.metadata.entry_points(group=GROUP))


def load(points: Iterable[importlib.metadata.EntryPoint]) -> Offers:
    found, names = Offers(), set[str]()
    for point in sorted(points, key=lambda point: point.name):
        package = _package(point)
        if not NAMES.fullmatch(point.name) or point.name in names:
            line = f"{package}: {point.name}: invalid name"
            print(visible(line), file=sys.stderr)  # noqa: T201
            continue
        names.add(point.name)
        try:
            _add(found, point, point.load())
        # A package may fail in every way there is, sys.exit included.
        except (Exception, SystemExit) as error:
            what = f"{type(error).__name__}: {error}".rstrip(": ")
            facts: dict[str, Fact] = {"op": point.name, "package": package}
            problem = Remark("op-not-loaded", {**facts, "error": what}, "error")
            found.infos.append(OpInfo.of_function(point.name, "", problem, package))
            print(visible(f"{package}: {point.name}: {what}"), file=sys.stderr)  # noqa: T201
    return found


def _add(found: Offers, point: importlib.metadata.EntryPoint, value: Any) -> None:
    if isinstance(value, Op):
        op = dataclasses.replace(value, name=point.name)
        info = msgspec.structs.replace(op.info(), package=_package(point))
        found.infos.append(info)
        found.ops[point.name] = op
    elif callable(value) and not isinstance(value, type):
        lines = (value.__doc__ or "").strip().splitlines()
        summary = lines[0] if lines else f"The function {point.value}."
        found.infos.append(
            OpInfo.of_function(point.name, summary, package=_package(point))
        )
        found.functions[point.name] = point.module, point.attr
    else:
        package, kind = _package(point), type(value).__name__
        facts: dict[str, Fact] = {"op": point.name, "package": package, "kind": kind}
        problem = Remark("op-of-other-kind", facts, "error")
        found.infos.append(OpInfo.of_function(point.name, "", problem, package))


def _package(point: importlib.metadata.EntryPoint) -> str:
    return point.dist.name if point.dist else point.module
