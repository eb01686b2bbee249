"""Last words, and characters that a terminal lacks."""

from __future__ import annotations

import io
import os
import stat
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from textual.css.query import NoMatches

from jaxtui.ui.app import base, plain_text, run
from jaxtui.ui.app.app import JaxtuiApp
from tests.fake_engine import FakeEngine
from tests.ui.app.driving import app_on


def test_a_crash_is_one_sentence_and_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    # Anybody can put a link where a file of a known name is going to be.
    planted = tmp_path / f"jaxtui-crash-{os.getpid()}.log"
    planted.symlink_to(tmp_path / "elsewhere")
    try:
        raise ValueError("planted \udce9")
    except ValueError as error:
        sentence = run.crash_report(error)
    (log,) = set(tmp_path.iterdir()) - {planted}
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert sentence.startswith("jaxtui: internal error: ValueError: planted \udce9.")
    assert str(log) in sentence
    assert "\n" not in sentence
    assert 'raise ValueError("planted' in log.read_text()


def test_a_crash_without_a_place_to_write_keeps_its_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/nowhere/at/all")
    assert "ValueError: planted" in run.crash_report(ValueError("planted"))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_cannot_be_encoded_keeps_its_width(encoding: str) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace")
    plain_text.prepare(stream)
    stream.write("0.17 ms ▶ ⣿")
    stream.flush()
    assert raw.getvalue().decode(encoding) == "0.17 ms ? *"


def test_utf8_is_left_alone() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="utf-8")
    plain_text.prepare(stream)
    assert stream.errors == "strict"


async def test_an_app_whose_terminal_is_gone_ends_also_under_nohup(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forced: list[int] = []
    monkeypatch.setattr(base, "exit_within", lambda _, code: forced.append(code))
    app = app_on(FakeEngine())
    async with app.run_test():
        monkeypatch.setattr(JaxtuiApp, "is_headless", False)
        for there in (True, False):
            terminal = SimpleNamespace(isatty=lambda there=there: there)
            monkeypatch.setattr(sys, "__stdin__", terminal)
            app.end_without_terminal()
            assert (app.return_code == base.HUNG_UP) is (not there)
    assert forced == [base.HUNG_UP]


async def test_what_an_app_that_ends_no_longer_finds_is_no_crash() -> None:
    """A signal while a screen opens takes its widgets away."""
    app = app_on(FakeEngine())
    async with app.run_test():
        app.exit(return_code=143)
        app._handle_exception(NoMatches("a widget"))
    assert (app.return_code, app.crash) == (143, None)
