"""The two sides stay apart at run time too: what an import brings with it.

Each import runs in a process of its own; nothing else proves that a deferred import is
really deferred.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import jaxtui
from jaxtui.registry import FEATURES
from tests import processes

UI = ("textual", "rich", "plotext")
CORE = ("jax", "jaxlib", "numpy", "ml_dtypes")
HEAVY = {*UI, *CORE}

SPAWN = """
from jaxtui import cli
from jaxtui.ui.commands import common
def spawn(options):
    import sys
    print(*sys.modules)
    sys.exit()
common.spawn_process = cli.app.spawn_process = spawn
cli.app.is_terminal = lambda stream: True
cli.main([])
"""
"""What is loaded when the engine of the app is spawned, after parsing options."""

BARE = """
import io, sys
from jaxtui.__main__ import main
from jaxtui.core.engine.process import EngineProcess
class Terminal(io.StringIO):
    isatty = lambda self: True
def spawn(options):
    print(*sys.modules)
    sys.exit()
EngineProcess.spawn = spawn
sys.argv = ['jaxtui']
sys.stdin = sys.stderr = Terminal()
main()
"""
"""The same where nothing was typed."""

HELP = "from jaxtui.cli import main\nmain(['bench', '--help'])"

FIRST_FRAME = (
    "from jaxtui import cli\nimport jaxtui.ui.app.run, jaxtui.core.engine.client"
)

LATER = {"html.entities", "psutil", "plotext", "secrets", "statistics"} | {
    f"jaxtui.features.{module}"
    for module in (
        *("audit.report", "audit.screen", "bench.screen", "history.screen"),
        *("lessons.content", "lessons.screen", "links.screen", "profile.report"),
        *("profile.screen", "timeline.screen"),
    )
}
"""What the first frame of the app does without."""

DATACLASSES = f"""
import sys
{FIRST_FRAME}
print(*{{
    name
    for module in [*sys.modules.values()]
    for name, value in vars(module).items()
    if hasattr(value, "__dataclass_fields__")
    and value.__module__.startswith("jaxtui.")
}})
print(*sys.modules)
"""
"""Names of our dataclasses; each costs a start as much as thirty structs."""

DRAW = """
from jaxtui.ui.plot import Picture, Series
Picture((Series('a', [1.0, 2.0], [1.0, 2.0]),)).rows(40, 10)
"""


def brought(statement: str) -> set[str]:
    """All modules that are loaded after a statement in a new process."""
    done = processes.python("-c", f"{statement}\nimport sys\nprint(*sys.modules)")
    assert not done.returncode, done.stderr
    return {*done.stdout.splitlines()[-1].split()}


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import jaxtui", HEAVY | {"click", "msgspec"}),
        ("import jaxtui.cli", HEAVY),
        # The engine is spawned before Textual is imported.
        (SPAWN, HEAVY | {"asyncio", "jaxtui.core.model"}),
        (BARE, HEAVY | {"asyncio", "click", "json", "msgspec"}),
        (HELP, {"textual", *CORE}),
        ("import jaxtui.core.engine.client", HEAVY | {"jaxtui.tasks"}),
        ("import jaxtui.core.engine.process", HEAVY | {"asyncio", "msgspec"}),
        ("import jaxtui.core.engine.server", HEAVY | {"asyncio"}),
        (DRAW, {*CORE}),
    ],
    ids=[
        "package",
        "cli",
        "spawn",
        "bare",
        "help",
        "client",
        "process",
        "server",
        "plot",
    ],
)
def test_what_an_import_leaves_out(statement: str, absent: set[str]) -> None:
    assert not brought(statement) & absent


def test_the_first_frame_waits_for_no_dataclass_but_those_of_the_options() -> None:
    done = processes.python("-c", DATACLASSES)
    dataclasses, modules = done.stdout.splitlines()
    assert {*dataclasses.split()} == {"Common", "EngineOptions"}
    assert not {*modules.split()} & ({*CORE} | LATER)


def test_the_contract_of_the_bench_names_every_other_feature() -> None:
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    _, _, contract = project.partition('"The bench imports no other feature"')
    named = re.findall(r'"jaxtui\.features\.(\w+)",', contract.partition("[[")[0])
    assert sorted(named) == sorted({*FEATURES} - {"bench"})


def test_public_names_are_there_and_others_are_not() -> None:
    for name in ("bench", "devices", "ops"):
        assert callable(getattr(jaxtui, name))
        assert name in dir(jaxtui)
    with pytest.raises(AttributeError, match="nosuch"):
        jaxtui.nosuch  # noqa: B018
