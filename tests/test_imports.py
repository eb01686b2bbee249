"""The two sides stay apart at run time too: what an import brings with it.

Each import runs in a process of its own; nothing else proves that a deferred import is
really deferred.
"""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

import jaxtui

UI = ("textual", "rich", "plotext")
CORE = ("jax", "jaxlib", "numpy", "ml_dtypes")

CORE_ONLY = ("jaxtui.measure", "jaxtui.engine.server")
"""Modules that belong to the measuring side, with everything below them."""


def modules(package: str) -> list[str]:
    """Every module of the package, by its full name."""
    found = pkgutil.walk_packages(jaxtui.__path__, "jaxtui.")
    names = ["jaxtui", *(module.name for module in found)]
    return [n for n in names if n == package or n.startswith(package + ".")]


def brought(statement: str, forbidden: tuple[str, ...]) -> set[str]:
    """Which of the forbidden modules are loaded after a statement in a new process."""
    script = f"{statement}\nimport sys\nprint(*(set({forbidden!r}) & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


def imports(names: list[str]) -> str:
    assert names
    return "\n".join(f"import {name}" for name in names)


def test_the_command_line_imports_nothing_heavy() -> None:
    heavy = (*CORE, *UI)
    assert brought("import jaxtui.cli", heavy) == set()


def test_a_bare_jaxtui_imports_nothing_that_reads_a_command_line() -> None:
    script = (
        "from jaxtui import __main__ as bare\n"
        "from jaxtui.commands import app\n"
        "bare.spawn_at_once = lambda arguments: object()\n"
        "app.open_on = lambda process: 0\n"
        "print(bare.main())"
    )
    assert brought(script, ("click", *UI, *CORE)) == set()


def test_help_imports_neither_jax_nor_the_screen() -> None:
    script = "from jaxtui.cli import main\nmain(['bench', '--help'])"
    assert brought(script, (*CORE, "textual")) == set()


def test_the_ui_never_imports_jax_or_numpy() -> None:
    names = modules("jaxtui.tui") + modules("jaxtui.commands")
    others = ["jaxtui.plot", "jaxtui.selection", "jaxtui.engine.client"]
    assert brought(imports(names + others), CORE) == set()


def test_drawing_a_plot_imports_no_numpy() -> None:
    draw = (
        "from jaxtui.plot import Picture, Series\n"
        "Picture((Series('a', [1.0, 2.0], [1.0, 2.0]),)).rows(40, 10)"
    )
    assert brought(draw, CORE) == set()


def test_the_measuring_side_never_imports_the_ui() -> None:
    names = [name for package in CORE_ONLY for name in modules(package)]
    assert brought(imports(names), (*UI, "click")) == set()


def test_the_engine_is_spawned_before_textual_is_imported() -> None:
    assert brought("import jaxtui.commands.app", ("textual", *CORE)) == set()


@pytest.mark.parametrize("name", ["bench", "devices", "ops"])
def test_public_names_are_lazy(name: str) -> None:
    assert brought("import jaxtui", (*CORE, *UI, "click", "msgspec")) == set()
    assert callable(getattr(jaxtui, name))
    assert name in dir(jaxtui)


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nosuch"):
        jaxtui.nosuch  # noqa: B018


def test_the_check_itself_can_fail() -> None:
    assert brought("import json", ("json", "jax")) == {"json"}
    assert brought(imports(modules("jaxtui.measure")), CORE) >= {"jax", "numpy"}
