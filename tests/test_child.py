"""jaxtui's own processes, in this interpreter and in another."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from jaxtui import child
from tests.processes import LIMIT_SECONDS, environment

PROBE = """
import importlib.util

def main():
    print(importlib.util.find_spec("beside") is not None)
"""

COMMANDS = """
import json, sys
from jaxtui import child
mine = child.command("jaxtui.probe")
print(json.dumps([mine, child.command("jaxtui.probe", (sys.executable,))]))
"""
"""Its own, and that of another interpreter."""


def test_another_python_has_none_of_the_packages_of_this_one(tmp_path: Path) -> None:
    package = tmp_path / "jaxtui"
    package.mkdir()
    shutil.copy(child.__file__, package)
    (package / "__init__.py").touch()
    (package / "probe.py").write_text(PROBE)
    (tmp_path / "beside.py").touch()

    def output(*command: str, **variables: object) -> str:
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment(**variables),
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT_SECONDS,
        )
        return done.stdout.strip()

    found = output(sys.executable, "-c", COMMANDS, PYTHONPATH=tmp_path)
    here, elsewhere = json.loads(found)
    assert output(*here, PYTHONPATH="") == "True"
    assert output(*elsewhere, PYTHONPATH="") == "False"
