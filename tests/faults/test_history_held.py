"""A history that another process has and does not let go: nothing waits for it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from jaxtui.core.history.store import History
from tests.core.history.making import DEVICE, HOST, held, insert, measurement
from tests.processes import FAKE_PYTHON, Shell, marked

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc"
)

APP = f'{sys.executable} -m jaxtui --python "{FAKE_PYTHON}"; echo rc=$?; read end'


def test_the_app_opens_help_and_ends_and_says_what_it_could_not_keep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_OPS", "matmul")
    history = History(tmp_path / "history.db")
    insert(history, HOST, DEVICE, measurement())
    with held(history.path) as let_go:
        app = Shell(script=APP, data=tmp_path)
        app.shows("cpu:0")
        app.type("2")
        app.shows("what to time")
        app.type("r")
        app.shows("Done in")
        app.type("4")
        app.shows("Reading the history")
        # While the list is still waited for.
        app.type("?")
        app.shows("Words here")
        app.type("\x1b")
        app.until(lambda: "Words here" not in app.text, "the end of the help")
        app.type("q")
        app.writes("rc=0")
        assert re.search(r"\b[1-9]\d* measurements", " ".join(app.text.split()))
        assert marked(f"JAXTUI_DATA={tmp_path}") == [app.child.pid]
        let_go()
    assert history.count() == 1
    app.close()
