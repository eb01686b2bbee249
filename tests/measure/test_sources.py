"""The digest of an own function's source, and the versions of its packages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from jaxtui.measure import own, sources
from jaxtui.model import SourceCode
from tests.measure import running

FILES = {
    "train.py": """
import os
import msgspec
import layered.layers

def step(x):
    import importlib

    return layered.layers.activate(x) * importlib.import_module("layered.late").FACTOR
""",
    "layered/__init__.py": "",
    "layered/layers.py": """
from . import sizes

def activate(x):
    return x * sizes.SIZE
""",
    "layered/sizes.py": "from .deep import SIZE",
    "layered/deep.py": "SIZE = 3",
    "layered/late.py": "FACTOR = 2.0",
    "layered/unused.py": "",
}

Find = Callable[..., SourceCode]


@pytest.fixture
def find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Find:
    """The source of ``step``, which was called once, in a folder and after edits."""
    monkeypatch.setattr(sys, "path", [*sys.path])

    def find(folder: str = "here", main: str = "train.py", **edits: str) -> SourceCode:
        for name, text in {**FILES, **edits}.items():
            path = tmp_path / folder / (main if name == "train.py" else name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        op = f"{tmp_path / folder / main}:step"
        # An engine that has run code of others runs nothing else: here it goes on.
        own._loaded.clear()
        for name in [name for name in sys.modules if name.startswith("layered")]:
            del sys.modules[name]
        source = own.source(op)
        assert source is not None
        assert own.load(source, None).call(1.0) == 6.0
        found = sources.of_op(op)
        assert found is not None
        return found

    return find


def test_the_folder_and_the_name_of_a_file_do_not_matter(find: Find) -> None:
    assert find("here") == find("there") == find("there", "other.py")


@pytest.mark.parametrize("name", sorted({*FILES} - {"layered/unused.py"}))
def test_an_edit_of_the_file_or_of_what_it_imports_is_another_source(
    find: Find, name: str
) -> None:
    before = find()
    assert find(**{name: f"{FILES[name]}\n# edited"}).digest != before.digest
    assert find(**{"layered/unused.py": "# edited"}) == before


def test_versions_are_those_of_installed_packages_that_were_imported(
    find: Find,
) -> None:
    assert find().packages == {"msgspec": msgspec.__version__}


@pytest.mark.usefixtures("brief")
def test_a_measurement_of_a_function_has_its_source() -> None:
    mine, theirs = running.measured(
        running.own("plus", "f32[8]"), running.case("selu", 8)
    )
    assert mine.source is not msgspec.UNSET
    assert mine.source.digest
    assert theirs.source is msgspec.UNSET
