"""The two sides stay apart at run time too: what an import brings with it.

Each import runs in a process of its own; nothing else proves that a deferred import is
really deferred.
"""

from __future__ import annotations

import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jaxtui
from jaxtui.registry import FEATURES

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

LATER = {
    *("html.entities", "psutil", "plotext", "secrets", "statistics"),
    *(
        "jaxtui.features.bench.screen",
        "jaxtui.features.lessons.screen",
        "jaxtui.features.history.screen",
        "jaxtui.features.lessons.content",
    ),
    *(
        "jaxtui.features.audit.screen",
        "jaxtui.features.links.screen",
        "jaxtui.features.profile.screen",
        "jaxtui.features.timeline.screen",
    ),
    *(
        "jaxtui.features.audit.report",
        "jaxtui.features.profile.report",
    ),
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
"""
"""Names of our dataclasses; each costs a start as much as thirty structs."""

DRAW = """
from jaxtui.ui.plot import (Picture, Series)
Picture((Series('a', [1.0, 2.0], [1.0, 2.0]),)).rows(40, 10)
"""


def modules(*packages: str) -> str:
    """The statements that import every module of the packages."""
    names = [
        module.name for module in pkgutil.walk_packages(jaxtui.__path__, "jaxtui.")
    ]
    found = [
        name
        for package in packages
        for name in names
        if name == package or name.startswith(f"{package}.")
    ]
    assert len(found) >= len(packages)
    return "".join(f"import {name}\n" for name in found)


def brought(statement: str) -> set[str]:
    """All modules that are loaded after a statement in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import jaxtui", HEAVY | {"click", "msgspec"}),
        ("import jaxtui.cli", HEAVY),
        # The engine is spawned before Textual is imported.
        (SPAWN, HEAVY | {"asyncio", "jaxtui.core.model"}),
        (BARE, HEAVY | {"asyncio", "click", "json", "msgspec"}),
        (HELP, {"textual", *CORE}),
        (FIRST_FRAME, {*CORE} | LATER),
        ("import jaxtui.core.engine.client", HEAVY | {"jaxtui.tasks"}),
        ("import jaxtui.core.engine.process", HEAVY | {"asyncio", "msgspec"}),
        ("import jaxtui.core.engine.server", HEAVY | {"asyncio"}),
        (
            modules(
                "jaxtui.ui.app",
                "jaxtui.ui.commands",
                "jaxtui.ui.plot",
                "jaxtui.core.selection",
            )
            + DRAW,
            {*CORE},
        ),
    ],
    ids=[
        *(
            "package",
            "cli",
            "spawn",
            "bare",
            "help",
            "frame",
            "client",
            "process",
            "server",
            "ui",
        ),
    ],
)
def test_what_an_import_leaves_out(statement: str, absent: set[str]) -> None:
    assert not brought(statement) & absent


def test_the_first_frame_waits_for_no_dataclass_but_those_of_the_options() -> None:
    done = subprocess.run(
        [sys.executable, "-c", DATACLASSES],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    assert set(done.stdout.split()) == {"Common", "EngineOptions"}


def test_the_measuring_side_never_imports_the_ui() -> None:
    rooms = ("tasks", "timing", "features.bench.measure", "core.engine.server")
    found = brought(modules(*(f"jaxtui.{room}" for room in rooms)))
    assert not found & {*UI, "click"}
    # The check itself can fail.
    assert found >= {"jax", "numpy"}


def test_the_contract_of_the_bench_names_every_other_feature() -> None:
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    _, _, contract = project.partition('"The bench imports no other feature"')
    named = re.findall(r'"jaxtui\.features\.(\w+)",', contract.partition("[[")[0])
    assert sorted(named) == sorted({*FEATURES} - {"bench"})


def test_every_benchmark_can_be_imported() -> None:
    folder = Path(__file__).parent / "benchmarks"
    names = sorted(path.stem for path in folder.glob("*.py"))
    assert names
    found = brought(
        f"import sys; sys.path.insert(0, {str(folder)!r})\nimport {', '.join(names)}"
    )
    assert found >= {*names}


def test_public_names_are_there_and_others_are_not() -> None:
    for name in ("bench", "devices", "ops"):
        assert callable(getattr(jaxtui, name))
        assert name in dir(jaxtui)
    with pytest.raises(AttributeError, match="nosuch"):
        jaxtui.nosuch  # noqa: B018
