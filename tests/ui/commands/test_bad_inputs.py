"""Whatever is mistyped gets one sentence and 64, and nothing is measured.

The golden document has what is typed, each with its sentence; to add a mistake, add its
line there and have the document written.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.fake_engine import FakeEngine
from tests.golden.test_documents import DOCUMENTS, check_frozen
from tests.ui.commands.fakes import complete, run

MISTAKES, PROMPT = DOCUMENTS / "mistakes.txt", "$ jaxtui "

FILES = {
    "mine.py": "def f(x): ...\ndef g(x): ...\n",
    "old.csv": "old",
    "void.json": "",
    "cut.json": "{",
    "list.json": "[1]",
    "empty.json": '{"schema": 1, "host": null, "measurements": []}',
    "other.json": '{"schema": 1, "measurements": [{"case": 1}]}',
    "newer.json": '{"schema": 3, "measurements": []}',
}


def test_mistakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    Path("folder.csv").mkdir()
    found = sorted(tmp_path.iterdir())
    lines = []
    for line in MISTAKES.read_text().splitlines():
        if not line.startswith(PROMPT):
            continue
        engine = FakeEngine(complete)
        assert run(engine, *shlex.split(line.removeprefix(PROMPT))) == 64, line
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("jaxtui: ")
        assert err.count("\n") == 1
        assert not engine.works
        assert engine.options is None or "close" in engine.calls
        lines += [line, err]
    assert sorted(tmp_path.iterdir()) == found
    assert Path("old.csv").read_text() == "old"
    check_frozen(MISTAKES, "\n".join(lines).replace(str(tmp_path), "HERE"))
