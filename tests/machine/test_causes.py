"""What keeps JAX from starting, as XLA, jax and Python say it."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from jaxtui.machine import causes
from jaxtui.ui import words
from tests.machine.record import Recorded, messages


@pytest.mark.parametrize("recorded", messages("flag"), ids=lambda one: one.text[-40:])
def test_what_keeps_jax_from_starting(
    monkeypatch: pytest.MonkeyPatch, recorded: Recorded
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2**20, 2**20))
    remark = causes.find(recorded.text, recorded.environment)
    assert (remark.code if remark else "") == recorded.code
    assert recorded.sentence in (words.text(remark) if remark else "")


@pytest.mark.parametrize(
    ("file", "text", "modules"),
    [
        ("queue.py", "AttributeError: module 'queue' has no attribute", ("queue",)),
        ("queue/__init__.py", "cannot import name 'Queue' from 'queue'", ("queue",)),
        ("types.py", "ValueError: 3", ()),
        # Compiled code does not say what it imports.
        ("numpy.py", "ImportError: error while initializing it", ("numpy",)),
        ("numpy/__init__.py", "ImportError: error while initializing it", ()),
        ("mine.py", "ImportError: module 'mine' is mine", ()),
    ],
)
def test_a_file_that_hides_a_module(
    tmp_path: Path, file: str, text: str, modules: tuple[str, ...]
) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("")
    remark = causes.find(text, {"PYTHONPATH": f"{tmp_path / 'no'}:{tmp_path}"})
    assert (remark.facts["modules"] if remark else ()) == modules
    assert not remark or str(tmp_path / modules[0]) in words.text(remark)
    assert causes.find(text, {}) is None


def test_flags_that_xla_ignores() -> None:
    flags = "--xla_a=1 –-xla_b=2 xla_c=3 --xla_d=/xla_e"
    ignored = [*causes.ignored_flags({"XLA_FLAGS": flags})]
    assert [one.facts["flag"] for one in ignored] == ["–-xla_b=2", "xla_c=3"]
    assert "en dash" in words.text(ignored[0])
